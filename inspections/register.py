"""The domain rules of the tables. `app.create_app` registers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.query.write.domain_rules import DOMAIN_RULES
from inspections.deadlines import finding_deadlines
from inspections.findings import FindingRule
from inspections.inspectors import InspectorRule
from inspections.schedules import ScheduleRule
from inspections.visits import InspectionRule


def register_rules(settings: Mapping[str, Any]) -> None:
    """Register the domain rules of the process, with its settings. Those of the last call hold."""
    DOMAIN_RULES.update(
        schedules=ScheduleRule(),
        inspections=InspectionRule(),
        findings=FindingRule(finding_deadlines(settings["FINDING_DEADLINES"])),
        inspectors=InspectorRule(),
    )
