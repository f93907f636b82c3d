"""The visible columns of each resource, in their order, and the resources of the random tests."""

from engine.query.catalog import catalog
from models.types import JSON
from tests.conftest import RESOURCES
from tests.support import oracle

COLUMNS = {table: tuple(catalog().relations[table].attributes) for table in RESOURCES}

PLAIN_COLUMNS = {
    table: tuple(name for name in columns if catalog().relations[table].attributes[name].type is not JSON)
    for table, columns in COLUMNS.items()
}
"""Those that requests may compare."""

TABLES_WITH_RULES = (
    "building_details", "calibration_checks", "xrf_instruments", "xrf_limits", "lead_standards", "schedules",
    "inspection_plans", "deadline_rules", "findings", "finding_events", "notices", "issued_reports",
)  # fmt: skip
"""The tables of inspections/, whose writes have further effects or decide them. tests/inspections covers them."""

MODELLED_TABLES = tuple(table for table in RESOURCES if table in oracle.TABLES)
"""The tables with rules in the oracle, parents first."""
