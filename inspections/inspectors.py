"""The link of an inspector to a user."""

from __future__ import annotations

from collections.abc import Sequence

from access.accounts.api_key import end_calendar_links
from access.policy import INSPECTOR_ROLE
from engine.interface.database import Transaction
from engine.query.statement import UNRESTRICTED
from engine.query.write.rules import DomainRule, Key
from engine.rows import read_rows
from inspections import retention
from inspections.faults import InspectorNotManager

LINKED_ROLE = INSPECTOR_ROLE.value


class InspectorRule(DomainRule):
    """The user of an inspector is a client manager. Their calendar links end with the link between the two.

    The inspector of a visit with an issued report is kept for some years.
    """

    def __init__(self, retention_years: int) -> None:
        self.retention_years = retention_years

    def inserted(
        self, transaction: Transaction, keys: Sequence[Key], service_columns: frozenset[str] = frozenset()
    ) -> None:
        self.require_managers(transaction, keys)

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        if "user_id" in columns:
            self.require_managers(transaction, keys)
            end_calendar_links(transaction)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        retention.require_released(transaction, "inspectors", keys, self.retention_years)
        for (inspector_id,) in keys:
            assert isinstance(inspector_id, int)
            end_calendar_links(transaction, without=inspector_id)

    def require_managers(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        """Raise InspectorNotManager if an inspector's user has another role."""
        inspectors = read_rows(transaction, UNRESTRICTED, "inspectors", ("user_id",), id=[key[0] for key in keys])
        users = [each["user_id"] for each in inspectors if each["user_id"] is not None]
        if any(
            user["role"] != LINKED_ROLE for user in read_rows(transaction, UNRESTRICTED, "users", ("role",), id=users)
        ):
            raise InspectorNotManager
