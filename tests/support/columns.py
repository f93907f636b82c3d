"""The visible columns of each resource, in their order."""

from engine.query.catalog import catalog
from tests.conftest import RESOURCES

COLUMNS = {table: tuple(catalog().relations[table].attributes) for table in RESOURCES}
