"""The domain rules of lead readings. `app.create_app` registers them."""

from __future__ import annotations

from engine.query.write.domain_rules import DOMAIN_RULES
from inspections.lead.calibration_checks import CalibrationCheckRule
from inspections.lead.readings import ReadingRule


def register_lead_rules() -> None:
    DOMAIN_RULES.update(reports_lead=ReadingRule(), calibration_checks=CalibrationCheckRule())
