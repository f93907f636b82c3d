"""Controls of the oracle: it matches the hand-written access matrix and detects rules that are wrong on purpose.

These tests do not run the service.
"""

import json
from collections.abc import Callable

import pytest

from tests.access.test_access_matrix import READABLE
from tests.access.test_frozen_rows import LETTERS, REPORTS
from tests.conftest import ADA, BOB, CAST, DATASET, MAX, MIA, MOE, ROOT
from tests.support import oracle
from tests.support.frozen_rows import cast_rows
from tests.support.worlds import random_world

pytestmark = pytest.mark.one_engine

WORLD = {**json.loads(DATASET.read_text()), **cast_rows()}
PEOPLE = [who for who in READABLE if who != "service"]
SEEDS = range(1, 21)


def user(who: str) -> dict:
    return oracle.find(WORLD, "users", CAST[who].id)


@pytest.mark.parametrize("table", oracle.TABLES)
@pytest.mark.parametrize("who", PEOPLE)
def test_oracle_matches_the_access_matrix(who: str, table: str) -> None:
    seen = {oracle.key_of(table, row) for row in WORLD[table] if oracle.visible(WORLD, user(who), table, row)}

    assert {key if len(key) > 1 else key[0] for key in seen} == {
        **READABLE[who],
        "issued_reports": REPORTS[who],
        "notices": LETTERS[who],
    }[table]


BUILDING = {"name": "N", "client_id": 1}
INSPECTION = {"inspection_type": "x"}
MANAGER = {"role": "client_manager", "client_id": 1}
GRANTS = "client_manager_building_access"

# user, action, table, id of the existing row, the new row, verdict
VERDICTS = [
    ("root", "insert", "clients", None, {"name": "N"}, "ok"),
    ("ada", "insert", "clients", None, {"name": "N"}, "privilege"),
    ("ada", "insert", "inspectors", None, {"name": "N"}, "privilege"),
    ("moe", "insert", "buildings", None, BUILDING, "privilege"),
    ("ada", "insert", "buildings", None, BUILDING, "ok"),
    ("bob", "insert", "buildings", None, BUILDING, "rule"),
    ("ada", "update", "buildings", 1, {**BUILDING, "client_id": 2}, "rule"),
    ("ada", "update", "buildings", 5, BUILDING, "unmatched"),
    ("ada", "delete", "buildings", 4, None, "unmatched"),
    ("ada", "insert", "inspections", None, {**INSPECTION, "building_id": 5}, "rule"),
    ("ada", "insert", "inspections", None, {**INSPECTION, "building_id": 999}, "rule"),
    ("ada", "update", "inspections", 8, {**INSPECTION, "building_id": 1}, "unmatched"),
    ("bob", "update", "inspections", 3, {**INSPECTION, "building_id": 4}, "unmatched"),
    ("bob", "insert", "reports_lead", None, {"inspection_id": 3}, "rule"),
    ("bob", "insert", "reports_lead", None, {"inspection_id": 8}, "ok"),
    ("ada", "update", "users", MOE, {"id": MOE, **MANAGER}, "ok"),
    ("ada", "update", "users", MOE, {"id": MOE, **MANAGER, "role": "client_admin"}, "rule"),
    ("ada", "update", "users", ADA, {"id": ADA, **MANAGER}, "unmatched"),
    ("ada", "delete", "users", MAX, None, "unmatched"),
    ("ada", "insert", GRANTS, None, {"manager_id": MIA, "building_id": 2}, "ok"),
    ("ada", "insert", GRANTS, None, {"manager_id": MIA, "building_id": 5}, "rule"),
    ("ada", "insert", GRANTS, None, {"manager_id": MAX, "building_id": 2}, "rule"),
    ("ada", "insert", GRANTS, None, {"manager_id": BOB, "building_id": 2}, "rule"),
    ("ada", "insert", GRANTS, None, {"manager_id": MIA, "building_id": 2, "assigned_by": ROOT}, "rule"),
]  # fmt: skip


@pytest.mark.parametrize(("who", "verb", "table", "id_", "new", "verdict"), VERDICTS)
def test_oracle_decides_writes_as_specified(
    who: str, verb: str, table: str, id_: object, new: dict | None, verdict: str
) -> None:
    old = None if id_ is None else oracle.find(WORLD, table, id_)

    assert oracle.result_of_write(WORLD, user(who), verb, table, old, new) == verdict


# ── wrong rules ─────────────────────────────────────────────────────────────────────────────────────


def inspection_grant_shows_its_building(world: dict, user: dict, building: dict) -> bool:
    return SEES_BUILDING(world, user, building) or any(
        inspection["building_id"] == building["id"]
        and oracle.has_grant(world, user, oracle.INSPECTION_GRANTS, "inspection_id", inspection["id"])
        for inspection in world["inspections"]
    )


def building_grant_hides_its_inspections(world: dict, user: dict, inspection: dict) -> bool:
    building = oracle.find(world, "buildings", inspection["building_id"])
    own = user["role"] == oracle.ADMIN and building["client_id"] == user["client_id"]
    held = oracle.has_grant(world, user, oracle.INSPECTION_GRANTS, "inspection_id", inspection["id"])
    return own or held


def grants_end_at_the_client(world: dict, user: dict, building: dict) -> bool:
    return SEES_BUILDING(world, user, building) and building["client_id"] == user["client_id"]


SEES_BUILDING = oracle.sees_building
WRONG_READERS = {
    "inspection-grant-shows-its-building": ("buildings", inspection_grant_shows_its_building),
    "building-grant-hides-its-inspections": ("inspections", building_grant_hides_its_inspections),
    "grants-end-at-the-client": ("buildings", grants_end_at_the_client),
}


def visible_rows() -> list[bool]:
    """Return the rows that each user of each random world may read."""
    return [
        oracle.visible(world, somebody, table, row)
        for world in map(random_world, SEEDS)
        for somebody in world["users"]
        for table in ("buildings", "inspections")
        for row in world[table]
    ]


@pytest.mark.parametrize(("table", "wrong"), WRONG_READERS.values(), ids=WRONG_READERS)
def test_random_worlds_detect_a_wrong_read_rule(monkeypatch: pytest.MonkeyPatch, table: str, wrong: Callable) -> None:
    right = visible_rows()

    monkeypatch.setitem(oracle.SEES, table, wrong)

    assert visible_rows() != right


def test_random_worlds_detect_a_wrong_write_rule() -> None:
    """An admin may read another client's building by a grant, but may not write it."""
    readable_only = [
        (world, somebody, building)
        for world in map(random_world, SEEDS)
        for somebody in world["users"]
        if somebody["role"] == oracle.ADMIN
        for building in world["buildings"]
        if oracle.visible(world, somebody, "buildings", building) and building["client_id"] != somebody["client_id"]
    ]

    verdicts = {
        oracle.result_of_write(world, somebody, "delete", "buildings", building, None)
        for world, somebody, building in readable_only
    }
    assert verdicts == {"unmatched"}
    assert len(readable_only) > 10


def test_random_worlds_are_deterministic() -> None:
    assert random_world(7) == random_world(7)
    assert random_world(7) != random_world(8)
