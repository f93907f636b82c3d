"""What follows from writes of findings: the event of a new finding."""

from __future__ import annotations

from collections.abc import Sequence

from engine.query.write.domain_rules import DomainRule
from engine.query.write.insert import Key
from engine.storage.transaction import Transaction
from inspections.writes import insert_rows, read_rows

MADE = "made"


class FindingRule(DomainRule):
    """A new finding has an event of the kind `made`, with the caller as its user."""

    def inserted(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        findings = read_rows(transaction, "findings", ("id", "inspection_id"), "id", [key[0] for key in keys])
        events = [{"finding_id": each["id"], "kind": MADE, "inspection_id": each["inspection_id"]} for each in findings]
        insert_rows(transaction, "finding_events", events)

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Add the event to the findings that have none: the new ones."""
        ids = [key[0] for key in keys]
        known = {
            each["finding_id"] for each in read_rows(transaction, "finding_events", ("finding_id",), "finding_id", ids)
        }
        self.inserted(transaction, [key for key in keys if key[0] not in known])
