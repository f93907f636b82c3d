"""The XRF analyzers, and the limits of their performance characteristic sheets by substrate."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.types import BIGINT, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP


class XrfInstrument(Model):
    """An XRF analyzer with the limits of its performance characteristic sheet. Readings name its `gun_id`."""

    __tablename__ = "xrf_instruments"
    tenant: ClassVar = "client_id"
    expected_rows: ClassVar = 200
    label: ClassVar = "XRF instrument"
    plural: ClassVar = "XRF instruments"
    title_column: ClassVar = "gun_id"
    checks: ClassVar = {
        "range_of_readings_check": "negative_below <= positive_from",
        "range_of_checks_check": "check_low <= check_high",
    }
    indexes: ClassVar = (
        Index(
            "xrf_instruments_gun_id_key", ("gun_id", "coalesce(client_id, 0)"), unique=True,
            comment="A number is unique for each client, and among the shared instruments.",
        ),
    )  # fmt: skip
    deciding_columns: ClassVar = ("gun_id",)

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    gun_id = column(
        INTEGER, required=True, label="XRF gun", help="The number of the device, which readings name.", listed=True,
        narrow=True, example=20417,
    )  # fmt: skip
    client_id = column(
        BIGINT, references("clients.id"), label="Client", help="Without a client, all clients share the instrument.",
        listed=True, example=1,
    )  # fmt: skip
    make = column(TEXT, required=True, listed=True, searchable=True, example="Niton")
    model = column(TEXT, required=True, listed=True, searchable=True, example="XLp 300A")
    serial = column(TEXT, required=True, listed=True, searchable=True, example="24093")
    mode = column(TEXT, help="The mode of measurement.", example="K+L standard")
    sheet = column(TEXT, help="The performance characteristic sheet.", example="Niton XLp 300, edition 1")
    sheet_on = column(DATE, label="Date of the sheet", example="2004-09-24")
    standard = column(
        DOUBLE, required=True, stored_default=1.02, minimum=0, maximum=50, label="Standard (mg/cm²)",
        help="The lead of the standard that checks measure.", example=1.02,
    )  # fmt: skip
    check_low = column(
        DOUBLE, required=True, stored_default=0.8, minimum=0, maximum=50, label="Lowest mean of a check", example=0.8
    )
    check_high = column(
        DOUBLE, required=True, stored_default=1.2, minimum=0, maximum=50, label="Highest mean of a check", example=1.2
    )
    check_minutes = column(
        INTEGER, required=True, stored_default=240, minimum=15, maximum=1_440, label="Minutes between checks",
        example=240,
    )  # fmt: skip
    negative_below = column(
        DOUBLE, required=True, stored_default=1.0, minimum=0, maximum=100, label="Negative below",
        help="Smaller values are negative.", example=0.9,
    )  # fmt: skip
    positive_from = column(
        DOUBLE, required=True, stored_default=1.0, minimum=0, maximum=100, label="Positive from",
        help="This value and larger ones are positive.", example=1.1,
    )  # fmt: skip
    serviced_on = column(DATE, label="Serviced", example="2026-01-31")
    service_due_on = column(DATE, label="Service due", listed=True, narrow=True, example="2027-01-31")
    leak_test_due_on = column(DATE, label="Leak test due", listed=True, narrow=True, example="2026-07-31")
    retired_on = column(DATE, label="Retired", listed=True, example="2030-12-31")
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")


class XrfLimit(Model):
    """The limits of an instrument for a substrate, a mode, or both, where its sheet has others. Case does not count."""

    __tablename__ = "xrf_limits"
    tenant: ClassVar = "client_id"
    expected_rows: ClassVar = 1_000
    label: ClassVar = "XRF limit"
    plural: ClassVar = "XRF limits"
    title_column: ClassVar = "substrate"
    checks: ClassVar = {
        "range_of_readings_check": "negative_below <= positive_from",
        "scope_check": "substrate IS NOT NULL OR mode IS NOT NULL",
    }
    indexes: ClassVar = (
        Index(
            "xrf_limits_instrument_id_key", ("instrument_id", "coalesce(substrate, '')", "coalesce(mode, '')"),
            unique=True,
        ),
    )  # fmt: skip

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    gun_id = column(
        INTEGER, required=True, insert_only=True, label="XRF gun", help="The number of the instrument.",
        listed=True, narrow=True, example=20417,
    )  # fmt: skip
    client_id = column(
        BIGINT, references("clients.id"), insert_only=True, default=ColumnDefault.COMPUTED, label="Client",
        help="The client of the instrument. By default it is the caller's, or the instrument is shared.", example=1,
    )  # fmt: skip
    instrument_id = column(
        BIGINT, references("xrf_instruments.id", on_delete="cascade"), required=True, service=True,
        default=ColumnDefault.COMPUTED, label="XRF instrument", help="The instrument of this number and client.",
        example=1,
    )  # fmt: skip
    substrate = column(TEXT, listed=True, narrow=True, searchable=True, example="wood")
    mode = column(TEXT, listed=True, searchable=True, help="The mode of the device.", example="Standard")
    negative_below = column(
        DOUBLE, required=True, minimum=0, maximum=100, label="Negative below", listed=True, example=0.9
    )
    positive_from = column(
        DOUBLE, required=True, minimum=0, maximum=100, label="Positive from", listed=True, example=1.1
    )
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
