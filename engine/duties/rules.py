"""The domain rules of the tables. Importing the module registers them."""

from __future__ import annotations

from engine.duties.findings import FindingRule
from engine.duties.inspectors import InspectorRule
from engine.duties.schedules import InspectionRule, ScheduleRule
from engine.query.write.domain_rules import DOMAIN_RULES

DOMAIN_RULES.update(
    schedules=ScheduleRule(), inspections=InspectionRule(), findings=FindingRule(), inspectors=InspectorRule()
)
