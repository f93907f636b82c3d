"""A probe: one question to a site, and what kills whoever answers it otherwise. Of whom, and how, probes ask."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.conftest import CAST, DATASET, RESOURCES
from tests.safety.sites import Answer, Site, asking
from tests.support.columns import COLUMNS

PEOPLE = ("root", "ada", "bob", "moe", "mia", "max")
UNDONE = "tx=rollback, return=representation"


class Killed(AssertionError):
    """A probe that was answered otherwise than is promised."""


class Broken(RuntimeError):
    """A mutant that does not run: it was not killed by the suite, but never alive."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question, what it is about, and how it is asked."""

    name: str
    about: frozenset[str]
    run: Callable[[Site], None]


def cast_world() -> dict:
    world = json.loads(DATASET.read_text())
    rows = {
        table: [{column: row.get(column) for column in COLUMNS[table]} for row in world[table]] for table in RESOURCES
    }
    rows["users"].sort(key=lambda row: row["role"] != "super_admin")
    return rows


USERS = {row["id"]: row for row in cast_world()["users"]}


def send(site: Site, who: str | None, method: str, path: str, body: object = None, **rest: str) -> Answer:
    user = USERS[CAST[who].id] if who is not None else None
    answer = site.send(user, asking(method, path, body, **rest))
    if answer.status == 500:
        raise Broken(f"{who} {method} {path}\n{answer}")
    return answer


def expect(claim: bool, what: object) -> None:
    if not claim:
        raise Killed(str(what))


MGR_BUILDING, MGR_INSPECTION = "client_manager_building_access", "client_manager_inspection_access"
ADM_BUILDING, ADM_INSPECTION = "client_admin_building_access", "client_admin_inspection_access"
