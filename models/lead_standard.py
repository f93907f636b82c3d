"""The standards by which paint is lead-based, by place and date."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column, references
from models.types import BIGINT, BOOLEAN, DATE, DOUBLE, TEXT, TIMESTAMP
from models.vocabulary import MG_CM2, PAINT, PERCENT, STANDARD_KINDS, STANDARD_UNITS

FEDERAL = "40 CFR 745.227(h)(1) and 42 U.S.C. 4851b(23)"
NEW_YORK_CITY = "New York City Administrative Code 27-2056.2, as amended by Local Law 66 of 2019; 28 RCNY chapter 11"
MARYLAND = (
    "Maryland Code, Environment 6-1001(c), as read for the state of 2024-11-01. Its first day was not found: an earlier"
    " date may be entered."
)
CITY = (
    "New York, New York City, Manhattan, Brooklyn, Bronx, The Bronx, Queens, Staten Island, Long Island City, Astoria,"
    " Flushing, Jamaica, Far Rockaway, Arverne, Bayside, Breezy Point, Cambria Heights, College Point, Corona,"
    " East Elmhurst, Elmhurst, Forest Hills, Fresh Meadows, Glen Oaks, Hollis, Howard Beach, Jackson Heights,"
    " Kew Gardens, Little Neck, Maspeth, Middle Village, Oakland Gardens, Ozone Park, Queens Village, Rego Park,"
    " Richmond Hill, Ridgewood, Rockaway Park, Rosedale, Saint Albans, St. Albans, South Ozone Park,"
    " South Richmond Hill, Springfield Gardens, Sunnyside, Whitestone, Woodhaven, Woodside"
)
"""The five boroughs, and the names in the postal addresses of Queens."""

SHIPPED_AT = "2026-11-29T00:00:00+00:00"


def shipped(
    unit: str,
    from_value: float,
    since: str,
    basis: str,
    *,
    state: str | None = None,
    city: str | None = None,
    is_exclusive: bool = False,
) -> dict[str, str | float | None]:
    """Return a standard of a new database."""
    return {
        "state": state, "city": city, "unit": unit, "from_value": from_value, "is_exclusive": is_exclusive,
        "valid_from": since, "basis": basis, "created_at": SHIPPED_AT, "updated_at": SHIPPED_AT,
    }  # fmt: skip


class LeadStandard(Model):
    """From which value on paint is lead-based, since when, and by which rule. The most specific row counts.

    Value, unit and first day stay after the insert, so reports of earlier visits keep what they say. Another value is
    another row.
    """

    __tablename__ = "lead_standards"
    tenant: ClassVar = "client_id"
    expected_rows: ClassVar = 100
    title_column: ClassVar = "basis"
    list_order: ClassVar = "id.asc"
    shipped: ClassVar = (
        shipped(MG_CM2, 1.0, "1992-10-28", FEDERAL),
        shipped(PERCENT, 0.5, "1992-10-28", FEDERAL),
        shipped(MG_CM2, 0.5, "2021-12-01", NEW_YORK_CITY, state="NY, New York", city=CITY),
        shipped(PERCENT, 0.25, "2021-12-01", NEW_YORK_CITY, state="NY, New York", city=CITY),
        shipped(MG_CM2, 0.7, "2024-11-01", MARYLAND, state="MD, Maryland", is_exclusive=True),
        shipped(PERCENT, 0.5, "2024-11-01", MARYLAND, state="MD, Maryland", is_exclusive=True),
    )
    checks: ClassVar = {
        "dates_check": "valid_to IS NULL OR valid_to >= valid_from",
        "place_check": "city IS NULL OR state IS NOT NULL",
    }

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    client_id = column(
        BIGINT, references("clients.id"), label="Client", help="Without a client, the standard is everybody's.",
        listed=True, example=1,
    )  # fmt: skip
    kind = column(
        TEXT, insert_only=True, required=True, stored_default=PAINT, allowed_values=STANDARD_KINDS, example=PAINT
    )
    state = column(
        TEXT, listed=True, narrow=True, searchable=True, example="NY",
        help="The state, as addresses spell it: several spellings are separated by commas. Empty: everywhere.",
    )  # fmt: skip
    city = column(
        TEXT, listed=True, searchable=True, help="The city. Several names are separated by commas.",
        example="New York, Brooklyn, Bronx",
    )  # fmt: skip
    unit = column(TEXT, insert_only=True, required=True, allowed_values=STANDARD_UNITS, listed=True, example=MG_CM2)
    from_value = column(
        DOUBLE, required=True, insert_only=True, minimum=0, maximum=100, label="Lead-based from", listed=True,
        narrow=True, example=0.5,
    )  # fmt: skip
    is_exclusive = column(
        BOOLEAN, insert_only=True, required=True, stored_default=False, label="More than",
        help="Whether paint with exactly this value is not lead-based.", listed=True, example=False,
    )  # fmt: skip
    valid_from = column(DATE, insert_only=True, required=True, listed=True, narrow=True, example="2021-12-01")
    valid_to = column(DATE, help="The last day.", listed=True, example="2030-12-31")
    basis = column(
        TEXT,
        required=True,
        label="Source",
        listed=True,
        searchable=True,
        multiline=True,
        example="40 CFR 745.227(h)(1)",
    )
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
