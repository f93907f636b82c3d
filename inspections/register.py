"""The domain rules of the tables. `app.create_app` registers them."""

from __future__ import annotations

from engine.query.write.rules import DOMAIN_RULES
from inspections.findings import FindingRule
from inspections.inspectors import InspectorRule
from inspections.schedules import BuildingDetailRule, ScheduleRule
from inspections.visits import InspectionRule, PlanRule


def register_rules() -> None:
    """Register the domain rules of the process."""
    DOMAIN_RULES.update(
        schedules=ScheduleRule(),
        inspections=InspectionRule(),
        inspection_plans=PlanRule(),
        building_details=BuildingDetailRule(),
        findings=FindingRule(),
        inspectors=InspectorRule(),
    )
