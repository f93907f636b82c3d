"""The steps from an empty database to the first inspection and its reader, and which of them are done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.interface.transaction import Transaction


class FirstStep(StrEnum):
    """What a new database lacks, in the order in which it is made."""

    CLIENT = "client"
    BUILDING = "building"
    USER = "user"
    INSPECTOR = "inspector"
    SIGN_IN = "sign_in"
    INSPECTION = "inspection"
    GRANT = "grant"


QUERIES: Final = {
    FirstStep.CLIENT: "SELECT 1 FROM clients LIMIT 1",
    FirstStep.BUILDING: "SELECT 1 FROM buildings LIMIT 1",
    FirstStep.USER: "SELECT 1 FROM users WHERE client_id IS NOT NULL LIMIT 1",
    FirstStep.INSPECTOR: "SELECT 1 FROM inspectors LIMIT 1",
    FirstStep.SIGN_IN: "SELECT 1 FROM inspectors WHERE user_id IS NOT NULL LIMIT 1",
    FirstStep.INSPECTION: "SELECT 1 FROM inspections LIMIT 1",
    FirstStep.GRANT: "SELECT 1 FROM client_manager_building_access UNION ALL"
    " SELECT 1 FROM client_manager_inspection_access UNION ALL SELECT 1 FROM client_admin_building_access UNION ALL"
    " SELECT 1 FROM client_admin_inspection_access LIMIT 1",
}
OPTIONAL: Final = FirstStep.SIGN_IN
"""A step that neither keeps the list nor is the next."""


@dataclass(frozen=True, slots=True)
class StepState:
    """A step and whether it is done. `is_next` marks the first required step that is not."""

    step: FirstStep
    is_done: bool
    is_next: bool


def read_first_steps(transaction: Transaction) -> list[StepState]:
    """Return the steps, or no steps once all but the optional one are done.

    The answer counts every row, so show it only to a super admin.
    """
    done: dict[FirstStep, bool] = transaction.cached(
        "first_steps", lambda: {step: transaction.value(sql) is not None for step, sql in QUERIES.items()}
    )
    following = next((step for step in FirstStep if not done[step] and step is not OPTIONAL), None)
    return [StepState(step, done[step], step is following) for step in FirstStep] if following else []
