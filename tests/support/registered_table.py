"""A pytest plugin that registers a table that the project does not have: `pytest -p tests.support.registered_table`.

It contains the touches of a new table: the model, the line of the registry, the policy and the row of the access
matrix. A process of its own, since a model cannot be taken back.
"""

from typing import ClassVar

from access import policy, predicates
from access.policy import EVERYTHING, Policy
from access.predicates import client_ownership
from access.roles import Role
from models import RESOURCES
from models.fields import ColumnDefault, Model, column, references
from models.types import BIGINT, INTEGER, TEXT


class Elevator(Model):
    """An elevator of a building."""

    __tablename__ = "elevators"
    tenant: ClassVar = "building_id"
    unique: ClassVar = {"building_id_name_key": ("building_id", "name")}

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    building_id = column(BIGINT, references("buildings.id"), required=True, label="Building", listed=True)
    inspector_id = column(BIGINT, references("inspectors.id", on_delete="set null"), label="Checked by", listed=True)
    name = column(TEXT, required=True, listed=True, searchable=True, example="North")
    kind = column(TEXT, required=True, allowed_values=("passengers", "goods"), listed=True)
    persons = column(INTEGER, minimum=1, maximum=50, help="The most persons at a time.", listed=True, example=8)
    access_code = column(TEXT, hidden=True)


RESOURCES["elevators"] = Elevator
policy.POLICIES[Elevator] = {
    Role.SUPER_ADMIN: EVERYTHING,
    Role.CLIENT_ADMIN: Policy(read=client_ownership, write=client_ownership),
    Role.CLIENT_MANAGER: Policy(read=predicates.no_row),
}


def pytest_configure() -> None:
    """Add the row of the access matrix, whose module reads the registry when it is imported."""
    from tests.access.test_access_matrix import RIGHTS

    RIGHTS["elevators"] = ("rw", "", "", "")
