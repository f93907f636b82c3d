"""A probe: one check of an instance's behaviour, which fails under some mutants of the policy."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from models.types import canonical_json
from tests.conftest import CAST, DATASET
from tests.safety.service_instances import HttpResponse, ServiceInstance, make_request
from tests.support.columns import MODELLED_TABLES
from tests.support.frozen_rows import cast_rows
from tests.support.worlds import with_all_columns

PEOPLE = ("root", "ada", "bob", "moe", "mia", "max")
ROLLBACK_PREFERENCE = "tx=rollback, return=representation"


class ProbeFailed(AssertionError):
    """A response differs from the promised one: the probe kills the mutant."""


class InvalidMutant(RuntimeError):
    """A mutant that causes server errors. The suite does not count it as killed."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One check, with tags for the tables, roles and features that it covers."""

    name: str
    tags: frozenset[str]
    run: Callable[[ServiceInstance], None]


def cast_world() -> dict:
    frozen = {
        table: [{**row, "content": canonical_json(row["content"])} for row in rows]
        for table, rows in cast_rows().items()
    }
    world = {**json.loads(DATASET.read_text()), **frozen}
    rows = {table: [with_all_columns(table, row) for row in world[table]] for table in MODELLED_TABLES}
    rows["users"].sort(key=lambda row: row["role"] != "super_admin")
    return rows


USERS = {row["id"]: row for row in cast_world()["users"]}


def send(
    instance: ServiceInstance, who: str | None, method: str, path: str, body: object = None, **rest: str
) -> HttpResponse:
    user = USERS[CAST[who].id] if who is not None else None
    response = instance.send(user, make_request(method, path, body, **rest))
    if response.status == 500:
        raise InvalidMutant(f"{who} {method} {path}\n{response}")
    return response


def expect(condition: bool, detail: object) -> None:
    if not condition:
        raise ProbeFailed(str(detail))


MGR_BUILDING, MGR_INSPECTION = "client_manager_building_access", "client_manager_inspection_access"
ADM_BUILDING, ADM_INSPECTION = "client_admin_building_access", "client_admin_inspection_access"
