"""What follows from writes of schedules and of their inspections: plans, and the next inspection."""

from __future__ import annotations

from engine.query.write.domain_rules import DomainRule


class ScheduleRule(DomainRule):
    """A new schedule makes its first inspection; an ended one deletes an inspection that nobody has edited."""


class InspectionRule(DomainRule):
    """A closed inspection gives its plan an outcome and makes the next inspection of its schedule."""
