"""How long the correction of a finding may take."""

from __future__ import annotations

from typing import ClassVar, Final

from models.fields import ColumnDefault, Index, Model, column, references
from models.types import BIGINT, DATE, INTEGER, TEXT, TIMESTAMP
from models.vocabulary import (
    DEADLINE_STARTS,
    DEADLINE_UNITS,
    FIRE,
    INSPECTION_TYPES,
    LIFE_THREATENING,
    LOW,
    MODERATE,
    SEVERE,
    SEVERITIES,
)

HOURS, DAYS = DEADLINE_UNITS
NSPIRE: Final = "NSPIRE, public and multifamily housing (HUD, 88 FR 40832)"
LIFE_THREATENING_BASIS: Final = f"{NSPIRE}; also 24 CFR 982.404, vouchers"
SEVERE_BASIS: Final = f"{NSPIRE}. Vouchers have 30 days (24 CFR 982.404)"
MODERATE_BASIS: Final = "24 CFR 982.404, vouchers: all that is not life-threatening. NSPIRE is to be checked"
LOW_BASIS: Final = f"{NSPIRE}: 60 days is its longest time. Vouchers have 30 days (24 CFR 982.404)"
SHIPPED_AT: Final = "2026-11-29T00:00:00+00:00"


def shipped_rule(severity: str, amount: int, unit: str, basis: str) -> dict[str, str | float]:
    return {
        "severity": severity, "amount": amount, "unit": unit, "basis": basis, "created_at": SHIPPED_AT,
        "updated_at": SHIPPED_AT,
    }  # fmt: skip


class DeadlineRule(Model):
    """How long the correction of a finding may take. Of the rules that are valid on the day of the finding, one of its
    client precedes one of everybody, and one of its inspection type one of any type. The latest `valid_from` follows.
    """

    __tablename__ = "deadline_rules"
    tenant: ClassVar = "client_id"
    expected_rows: ClassVar = 200
    label: ClassVar = "Deadline rule"
    plural: ClassVar = "Deadline rules"
    title_column: ClassVar = "severity"
    list_order: ClassVar = "client_id.asc.nullsfirst,inspection_type.asc.nullsfirst,severity.asc,valid_from.asc"
    indexes: ClassVar = (Index("deadline_rules_client_id", ("client_id", "severity"), distinct=(8, 2)),)
    checks: ClassVar = {"longest_check": f"amount <= CASE unit WHEN '{HOURS}' THEN 8760 ELSE 3660 END"}
    shipped: ClassVar = (
        shipped_rule(LIFE_THREATENING, 24, HOURS, LIFE_THREATENING_BASIS),
        shipped_rule(SEVERE, 24, HOURS, SEVERE_BASIS),
        shipped_rule(MODERATE, 30, DAYS, MODERATE_BASIS),
        shipped_rule(LOW, 60, DAYS, LOW_BASIS),
    )

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    client_id = column(
        BIGINT, references("clients.id"), label="Client", help="Without a client, the rule is everybody's.",
        listed=True, example=1,
    )  # fmt: skip
    inspection_type = column(
        TEXT, common_values=INSPECTION_TYPES, label="Inspection type", help="Without a type, the rule is for any.",
        listed=True, searchable=True, example=FIRE,
    )  # fmt: skip
    severity = column(
        TEXT, required=True, allowed_values=SEVERITIES, ranked=True, listed=True, narrow=True, searchable=True,
        example=MODERATE,
    )  # fmt: skip
    amount = column(INTEGER, required=True, minimum=1, listed=True, narrow=True, example=30)
    unit = column(
        TEXT, required=True, allowed_values=DEADLINE_UNITS, listed=True, narrow=True,
        help="Hours (h), or days (d), which end at 23:59:59 in TIMEZONE.", example=DAYS,
    )  # fmt: skip
    basis = column(
        TEXT, listed=True, searchable=True, multiline=True, help="The law or contract that says so.", example=NSPIRE
    )
    valid_from = column(
        DATE, label="Valid from", help="Without a day, the rule has always been valid.", listed=True,
        example="2026-01-01",
    )  # fmt: skip
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
    counts_from = column(
        TEXT, required=True, stored_default=DEADLINE_STARTS[0], allowed_values=DEADLINE_STARTS, label="Counts from",
        help="Whether the time counts from the finding, or from the service of the letter about it.",
        example=DEADLINE_STARTS[0],
    )  # fmt: skip
