"""What follows from writes of findings: the event of a new finding."""

from __future__ import annotations

from engine.query.write.domain_rules import DomainRule


class FindingRule(DomainRule):
    """A new finding has an event of the kind `made`."""
