"""The visible columns of each resource, in their order, and the resources of the random tests."""

from engine.query.catalog import catalog
from tests.conftest import RESOURCES
from tests.support import oracle

COLUMNS = {table: tuple(catalog().relations[table].attributes) for table in RESOURCES}

TABLES_WITH_RULES = (
    "building_details", "calibration_checks", "xrf_instruments", "xrf_limits", "lead_standards", "schedules",
    "inspection_plans", "deadline_rules", "findings", "finding_events",
)  # fmt: skip
"""The tables of inspections/, whose writes have further effects or decide them. tests/inspections covers them."""

MODELLED_TABLES = tuple(table for table in RESOURCES if table in oracle.TABLES)
"""The tables with rules in the oracle, parents first."""
