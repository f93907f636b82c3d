"""The common intervals of inspections, with the rule that requires each. This module does not use Flask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from models.vocabulary import ANNUAL, FIRE, LEAD, MONTH, YEAR


@dataclass(frozen=True, slots=True)
class CommonInterval:
    """An interval that the form of a schedule offers."""

    inspection_type: str
    title: str
    every: int
    unit: str
    basis: str


COMMON_INTERVALS: Final = (
    CommonInterval(FIRE, "High hazard", 1, YEAR, "NFPA 1, 10.2.7"),
    CommonInterval(FIRE, "Moderate hazard", 2, YEAR, "NFPA 1, 10.2.7"),
    CommonInterval(FIRE, "Low hazard", 3, YEAR, "NFPA 1, 10.2.7"),
    CommonInterval(FIRE, "Extinguishers, inspection", 1, MONTH, "NFPA 10, 7.2"),
    CommonInterval(FIRE, "Extinguishers, maintenance", 1, YEAR, "NFPA 10, 7.3"),
    CommonInterval(FIRE, "Sprinklers, quarterly", 3, MONTH, "NFPA 25, 5.1"),
    CommonInterval(FIRE, "Sprinklers, annual", 1, YEAR, "NFPA 25, 5.2"),
    CommonInterval(FIRE, "Sprinklers, internal", 5, YEAR, "NFPA 25, 14.2"),
    CommonInterval(FIRE, "Alarms", 1, YEAR, "NFPA 72, 14.4"),
    CommonInterval(LEAD, "Reevaluation", 2, YEAR, "24 CFR 35.1355"),
    CommonInterval(ANNUAL, "HQS", 2, YEAR, "24 CFR 982.405"),
)
