"""The domain rules of the tables. `app.create_app` registers them."""

from __future__ import annotations

from engine.query.write.domain_rules import DOMAIN_RULES
from inspections.finding_rule import FindingRule
from inspections.inspectors import InspectorRule
from inspections.schedules import InspectionRule, ScheduleRule


def register_rules() -> None:
    """Register the domain rules. Repeated calls change nothing."""
    DOMAIN_RULES.update(
        schedules=ScheduleRule(), inspections=InspectionRule(), findings=FindingRule(), inspectors=InspectorRule()
    )
