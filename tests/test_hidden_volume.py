"""However many rows are hidden from a caller, what they ask takes as many steps: none are looked at, named or not.

Two files that differ in nothing but how much is hidden from four people: a hidden building's inspections, a hidden
inspection's readings, grants to others, their accounts, their trail. Every column that can be compared is filtered and
ordered by, with values that are hidden and seen.
"""
# ruff: noqa: N802  (a test of the attack catalogue carries its number as it is written there)

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from itertools import permutations
from pathlib import Path

import pytest
from flask import Flask

from engine.query.catalog import catalog
from engine.storage.database import Database
from tests.applications import import_rows
from tests.applications import open_app
from tests.conftest import ADA
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import uuid
from tests.costs import STATUSES
from tests.costs import WHO
from tests.costs import Steps
from tests.costs import portfolio
from tests.costs import steps
from tests.tokens import ANON_KEY
from tests.tokens import token_for

pytestmark = pytest.mark.sqlite("counts the steps of SQLite's engine")

EVE, HAL, HEN = uuid("e1"), uuid("e2"), uuid("e3")
FEW, MANY = 10, 600
HIDDEN_BUILDING, HIDDEN_INSPECTION, GRANTED_INSPECTION = 5, 100, 81  # that building's, all of them

PEOPLE = {
    "ada": WHO["ada"],
    "moe": WHO["moe"],
    "eve": token_for(EVE, "client_admin", 1),
    "mia": token_for(MIA, "client_manager", 1),
}
"""An administrator and a manager, and the same with a grant beyond their company, within the hidden building."""

ONE_IN = 9  # of the requests there are, by default
AS_COUNTED = 60  # what a look more or less makes, and the one row that a key names


def number(value: int) -> str:
    return f"00000000-0000-4000-8000-{value:012x}"


def world(hidden: int) -> dict[str, list[dict]]:
    """The small portfolio, and so much more that none of the four sees."""
    rows = portfolio(3)
    hidden_inspections = range(100_001, 100_001 + hidden)
    rows["users"] += [
        {"id": EVE, "email": "eve@x", "name": "Eve", "role": "client_admin", "client_id": 1},
        {"id": MIA, "email": "mia@x", "name": "Mia", "role": "client_manager", "client_id": 1},
        {"id": HAL, "email": "hal@x", "name": "Hal", "role": "client_admin", "client_id": 2},
        {"id": HEN, "email": "hen@x", "name": "Hen", "role": "client_manager", "client_id": 2},
        *({"id": number(each), "email": f"u{each}@x", "name": "U", "role": "client_manager",
           "client_id": 2} for each in hidden_inspections),
    ]  # fmt: skip
    rows["buildings"] += [
        {"id": each, "name": f"B{each % 10}", "client_id": 2, "city": "Troy"}
        for each in hidden_inspections
    ]
    rows["inspections"] += [
        {"id": each, "building_id": HIDDEN_BUILDING, "inspection_type": "annual",
         "status": STATUSES[each % 5], "inspector_id": 1 + each % 3,
         "date_visited": f"20{20 + each % 5}-{1 + each % 12:02}-{1 + each % 28:02}"}
        for each in hidden_inspections
    ]  # fmt: skip
    rows["reports_lead"] += [
        {"inspection_id": HIDDEN_INSPECTION, "gun_id": 1, "result": "negative"}
        for _ in hidden_inspections
    ]
    rows["client_admin_building_access"] = [
        {"admin_id": EVE, "building_id": 6}, {"admin_id": HAL, "building_id": HIDDEN_BUILDING}
    ]  # fmt: skip
    rows["client_admin_inspection_access"] = [
        {"admin_id": EVE, "inspection_id": GRANTED_INSPECTION},
        {"admin_id": HAL, "inspection_id": HIDDEN_INSPECTION},
    ]
    rows["client_manager_building_access"] += [
        {"manager_id": MIA, "building_id": 1},
        *({"manager_id": number(each), "building_id": HIDDEN_BUILDING, "assigned_by": HAL}
          for each in hidden_inspections),
        *({"manager_id": HEN, "building_id": each} for each in hidden_inspections),
    ]  # fmt: skip
    rows["client_manager_inspection_access"] += [
        {"manager_id": MIA, "inspection_id": 41},
        {"manager_id": MIA, "inspection_id": GRANTED_INSPECTION},
        *({"manager_id": number(each), "inspection_id": HIDDEN_INSPECTION}
          for each in hidden_inspections),
        *({"manager_id": HEN, "inspection_id": each} for each in hidden_inspections),
    ]  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Flask]:
    made = {}
    for hidden in (FEW, MANY):
        folder: Path = tmp_path_factory.mktemp(str(hidden))
        source = folder / "world.json"
        source.write_text(json.dumps(world(hidden)))
        made[hidden] = open_app(folder / "walkthrough.db")
        import_rows(made[hidden], source)
        for building in (1, HIDDEN_BUILDING):  # the trail of what is seen before what is hidden
            sent = made[hidden].test_client().patch(
                f"/inspections?building_id=eq.{building}",
                json={"notes": "x"},
                headers={"apikey": ANON_KEY, "Authorization": f"Bearer {WHO['root']}"},
            )  # fmt: skip
            assert sent.status_code == 204
    return made


VALUES = {
    "id": ("1", str(HIDDEN_BUILDING), str(HIDDEN_INSPECTION)),
    "building_id": ("1", str(HIDDEN_BUILDING), "6"),
    "inspection_id": ("1", str(GRANTED_INSPECTION), str(HIDDEN_INSPECTION)),
    "inspector_id": ("1",),
    "client_id": ("1", "2"),
    "manager_id": (MOE, HEN),
    "admin_id": (ADA, HAL),
    "assigned_by": (HAL,),
    "actor_id": (HAL,),
    "row_key": ("1", str(HIDDEN_INSPECTION)),
    "relation": ("inspections",),
    "action": ("UPDATE", "refused"),
    "role": ("client_manager",),
    "email": ("u100001@x",),
    "city": ("Troy",),
    "name": ("B1",),
    "status": ("completed",),
    "inspection_type": ("annual",),
    "date_visited": ("2021-02-02",),
}

OF_ITS_TYPE = {
    "bigint": "1",
    "integer": "1",
    "double precision": "1.5",
    "text": "x",
    "date": "2021-02-02",
    "timestamp with time zone": "2025-01-01T00:00:00Z",
    "uuid": HAL,
}
"""Any value, for every other column that can be compared: JSON cannot."""

ACCOUNTS = {"id": (ADA, HAL)}
"""The same of users, whose ids are no numbers."""

FILTERS = (
    "{0}=eq.{1}", "{0}=in.({1})", "{0}=gt.{1}", "{0}=lt.{1}", "{0}=neq.{1}", "{0}=not.eq.{1}",
    "{0}=eq(any).{{{1}}}", "and=({0}.eq.{1})", "or=({0}.eq.{1},{0}.is.null)",
)  # fmt: skip
ENDS = ("", "&limit=5", "&order={}.desc&limit=5", "&order={}&limit=5", "&select=count()")
PAIRS = (
    "{0}=eq.{1}&{2}=eq.{3}", "{0}=eq.{1}&{2}=gt.{3}&limit=5", "{0}=gt.{1}&{2}=lt.{3}&limit=5",
    "or=({0}.eq.{1},{2}.eq.{3})", "{0}=gt.{1}&order={2}.desc&limit=5",
)  # fmt: skip


def questions(relation: str) -> Iterator[str]:
    """Every way to ask for its rows by one column, and some by two that indexes or keys know."""
    columns = catalog().relations[relation].attributes
    values = VALUES | (ACCOUNTS if relation == "users" else {})
    for column, attribute in columns.items():
        of_its_type = OF_ITS_TYPE.get(attribute.type.name)
        yield f"order={column}&limit=20"
        yield f"order={column}.desc&limit=20"
        for value in values.get(column, (of_its_type,) if of_its_type else ()):
            for said in FILTERS:
                yield from (said.format(column, value) + end.format(column) for end in ENDS)
    for one, other in permutations((name for name in columns if name in values), 2):
        for value in values[one][:2]:
            for beside in values[other][:2]:
                yield from (pair.format(one, value, other, beside) for pair in PAIRS)


def told(apps: dict[int, Flask], who: str, relation: str, *, one_in: int) -> list[str]:
    """The questions, one of so many, that take longer where more is hidden."""
    found = []
    for query in islice(questions(relation), 0, None, one_in):
        path = f"/{relation}?{query}"
        few, many = (steps(apps[hidden], PEOPLE[who], path) for hidden in (FEW, MANY))
        if many > few + AS_COUNTED:
            found.append(f"{path}: {few} and {many} steps")
    return found


READ = [
    (who, relation)
    for who in PEOPLE
    for relation in catalog().relations
    if not (relation == "audit_log" and who in ("moe", "mia"))
]


@pytest.mark.parametrize(("who", "relation"), READ)
def test_O15_what_is_hidden_is_not_looked_at(
    apps: dict[int, Flask], who: str, relation: str
) -> None:
    """Attack catalogue, O15: the scope's index drives every scan."""
    assert told(apps, who, relation, one_in=ONE_IN) == []


@pytest.mark.long
@pytest.mark.parametrize(("who", "relation"), READ)
def test_what_is_hidden_is_not_looked_at_however_it_is_asked(
    apps: dict[int, Flask], who: str, relation: str
) -> None:
    assert told(apps, who, relation, one_in=1) == []


@pytest.mark.parametrize("who", ["ada", "eve"])
@pytest.mark.parametrize(
    "path",
    [
        f"/inspections?building_id=eq.{HIDDEN_BUILDING}&id=neq.{GRANTED_INSPECTION}",
        f"/reports_lead?inspection_id=eq.{HIDDEN_INSPECTION}",
        f"/client_manager_building_access?manager_id=eq.{HEN}",
        f"/client_manager_inspection_access?inspection_id=eq.{HIDDEN_INSPECTION}",
        "/buildings?client_id=eq.2&id=neq.6",
    ],
)
def test_O15_nor_is_it_where_rows_are_to_be_deleted(
    apps: dict[int, Flask], who: str, path: str
) -> None:
    headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {PEOPLE[who]}"}
    counted = []
    for app in apps.values():
        database: Database = app.extensions["walkthrough"]
        spent = Steps()
        with database.connections.checked_out(database.writer) as connection:
            spent.begin(connection)
        sent = app.test_client().delete(path, headers=headers | {"Prefer": "count=exact"})
        with database.connections.checked_out(database.writer) as connection:
            spent.end(connection)
        assert sent.headers["Content-Range"] == "*/0"
        counted.append(spent.count)

    assert 0 < counted[1] <= counted[0] + AS_COUNTED


def test_every_column_that_can_be_compared_is_filtered_by() -> None:
    for name, relation in catalog().relations.items():
        asked = "&".join(questions(name))
        for column, attribute in relation.attributes.items():
            assert (f"{column}=eq." in asked) is (attribute.type.name != "json"), (name, column)


def test_a_guard_that_cannot_fail_is_none(apps: dict[int, Flask]) -> None:
    """The control: who sees all of it takes longer, the more there is."""
    path = f"/inspections?building_id=eq.{HIDDEN_BUILDING}&select=count()"

    few, many = (steps(apps[hidden], WHO["root"], path) for hidden in (FEW, MANY))

    assert many > few + AS_COUNTED
