"""The common intervals of inspections, with the rule that requires each. This module does not use Flask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CommonInterval:
    """An interval that the form of a schedule offers."""

    inspection_type: str
    title: str
    every: int
    unit: str
    basis: str


COMMON_INTERVALS: Final = (
    CommonInterval("fire", "High hazard", 1, "year", "NFPA 1, 10.2.7"),
    CommonInterval("fire", "Moderate hazard", 2, "year", "NFPA 1, 10.2.7"),
    CommonInterval("fire", "Low hazard", 3, "year", "NFPA 1, 10.2.7"),
    CommonInterval("fire", "Extinguishers, inspection", 1, "month", "NFPA 10, 7.2"),
    CommonInterval("fire", "Extinguishers, maintenance", 1, "year", "NFPA 10, 7.3"),
    CommonInterval("fire", "Sprinklers, quarterly", 3, "month", "NFPA 25, 5.1"),
    CommonInterval("fire", "Sprinklers, annual", 1, "year", "NFPA 25, 5.2"),
    CommonInterval("fire", "Sprinklers, internal", 5, "year", "NFPA 25, 14.2"),
    CommonInterval("fire", "Alarms", 1, "year", "NFPA 72, 14.4"),
    CommonInterval("lead", "Reevaluation", 2, "year", "24 CFR 35.1355"),
    CommonInterval("annual", "HQS", 2, "year", "24 CFR 982.405"),
)
