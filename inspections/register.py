"""The domain rules of the tables. `app.create_app` registers them."""

from __future__ import annotations

from engine.query.write.rules import DOMAIN_RULES
from inspections.findings import FindingRule
from inspections.inspectors import InspectorRule
from inspections.retention import RetentionRule
from inspections.schedules import BuildingDetailRule, ScheduleRule
from inspections.visits import InspectionRule, PlanRule


def register_rules(retention_years: int) -> None:
    """Register the domain rules of the process. `retention_years`: how long issued reports are kept."""
    DOMAIN_RULES.update(
        schedules=ScheduleRule(),
        inspections=InspectionRule(retention_years),
        inspection_plans=PlanRule(),
        building_details=BuildingDetailRule(),
        findings=FindingRule(),
        buildings=RetentionRule("buildings", retention_years),
        clients=RetentionRule("clients", retention_years),
        inspectors=InspectorRule(retention_years),
    )
