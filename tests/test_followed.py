"""A dashboard that follows the trail tells what one that is counted anew would tell, and counts nothing anew."""

import datetime
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from access.caller import STANDINGS
from access.caller import Role
from access.policy import AccessRule
from models import followed
from models import statistics
from models.audit_log import AuditLog
from models.base import Model
from models.building import Building
from models.db import reading
from models.inspection import Inspection
from models.sql import counts
from models.sql.rule import Extent
from models.tally import Visible
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import DATASET
from tests.conftest import MAX
from tests.conftest import MOE
from tests.conftest import ROOT
from tests.conftest import Database

pytestmark = pytest.mark.sqlite("the trail of a server may be out of order")

DASHBOARD = "/rpc/get_inspections_dashboard_summary_fast"
ALONE = {
    "root": Visible(AccessRule(STANDINGS[Role.SUPER_ADMIN, False, False]), ROOT, None),
    "ada": Visible(AccessRule(STANDINGS[Role.CLIENT_ADMIN, False, False]), ADA, 1),
    "bob": Visible(AccessRule(STANDINGS[Role.CLIENT_ADMIN, False, False]), BOB, 2),
}
"""Who sees everything, or their client's and nothing else."""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Visible]:
    """Whose dashboards were counted anew."""
    asked: list[Visible] = []
    count_all = statistics.count_all

    def noting(transaction: object, visible: Visible) -> object:
        asked.append(visible)
        return count_all(transaction, visible)

    monkeypatch.setattr(statistics, "count_all", noting)
    return asked


@pytest.fixture
def shown(world: Callable) -> Callable:
    """`shown(who)` is a dashboard of the data set, without the grants that reach over to another client."""
    rows = json.loads(DATASET.read_text(encoding="utf-8"))
    own = {each["id"]: each["client_id"] for each in rows["users"]}
    owner = {each["id"]: each["client_id"] for each in rows["buildings"]}
    building = {each["id"]: each["building_id"] for each in rows["inspections"]}
    for table in ("client_admin_building_access", "client_admin_inspection_access"):
        rows[table] = [
            each for each in rows[table]
            if owner[each.get("building_id") or building[each["inspection_id"]]] == own[each["admin_id"]]
        ]  # fmt: skip
    rows["client_admin_inspection_access"] = []
    return world(rows)


def numbers(api: Callable, who: str) -> dict:
    found = api(who).get(DASHBOARD).json
    del found["generated_at"]
    return found


def numbers_anew(api: Callable, who: str) -> dict:
    """The same, counted by what counts everything, whatever is remembered."""
    with api(who).database.own.app_context(), reading() as transaction:
        everything = statistics.count_all(transaction, ALONE[who])
        found = statistics.dashboard_of(everything, "")
    fields = {name: getattr(found, name) for name in statistics.Dashboard.__slots__}
    del fields["generated_at"]
    return fields


def day(offset: int) -> str:
    return (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(offset)).isoformat()


DAYS = [None, "2020-02-29", day(-40), day(-1), day(0), day(1), day(29), day(30), day(31), day(400)]
STATUSES = [*counts.STATUSES, None, "other", "x" * 300, "x" * 299 + "y"]
TYPES = ["annual", "fire", "roof", "other", "y" * 250]


def anything(draw: random.Random) -> dict:
    return {
        "building_id": draw.randint(1, 6),
        "inspection_type": draw.choice(TYPES),
        "status": draw.choice(STATUSES),
        "date_visited": draw.choice(DAYS),
    }


def a_step(draw: random.Random, api: Callable) -> None:
    """One write of any kind; what it meets is left to chance, and so is whether it is refused."""
    root = api("root")
    key = draw.randint(1, 30)
    part = dict(draw.sample(sorted(anything(draw).items()), draw.randint(1, 3)))
    merge = "resolution=merge-duplicates"
    choices: list[Callable] = [
        lambda: root.post("/inspections", anything(draw)),
        lambda: root.post("/inspections", [anything(draw) for _ in range(draw.randint(2, 5))]),
        lambda: root.post("/inspections", {"id": key, **anything(draw)}, prefer=merge),
        lambda: root.post("/inspections", [{"id": key + n, **anything(draw)} for n in (0, 1)], prefer=merge),
        lambda: root.patch(f"/inspections?id=eq.{key}", part),
        lambda: root.patch(f"/inspections?id=lt.{key}", part),
        lambda: root.patch(f"/inspections?id=eq.{key}", {"notes": str(key)}),
        lambda: root.delete(f"/inspections?id=eq.{key}"),
        lambda: root.delete(f"/inspections?id=gt.{key + 8}"),
        lambda: root.delete("/inspections?id=eq.1", prefer="tx=rollback"),
        lambda: root.patch(f"/buildings?id=eq.{draw.randint(1, 6)}", {"client_id": draw.randint(1, 2)}),
        lambda: root.post("/buildings", {"name": "New", "client_id": draw.randint(1, 2)}),
        lambda: root.delete(f"/buildings?id=eq.{draw.randint(1, 9)}"),
        lambda: root.delete(f"/inspectors?id=eq.{draw.randint(1, 3)}"),
        lambda: api("moe").post("/inspections", anything(draw)),
        lambda: root.patch("/users?role=eq.client_manager", {"name": str(key)}),
    ]  # fmt: skip
    draw.choice(choices)()


@pytest.mark.parametrize("seed", range(8))
def test_numbers_that_follow_are_those_counted_anew(
    shown: Callable, counted: list[Visible], seed: int
) -> None:
    draw = random.Random(seed)
    for who in ALONE:
        numbers(shown, who)
    asked = len(counted)

    for _ in range(25):
        for _ in range(draw.choice((1, 1, 1, 3))):
            a_step(draw, shown)
        for who in draw.sample(sorted(ALONE), 2):
            found, before = numbers(shown, who), len(counted)
            assert found == numbers_anew(shown, who), who
            del counted[before:]

    assert len(counted) == asked == len(ALONE), "nothing was counted a second time"


def test_a_day_that_turns_is_counted_anew(shown: Callable, counted: list[Visible]) -> None:
    """What was overdue, or soon, is so no more, though no row has changed."""
    row = {"building_id": 1, "inspection_type": "fire", "status": "scheduled"}
    shown("root").post("/inspections", {**row, "date_visited": day(0)})
    before = numbers(shown, "root")
    shown("root").post("/inspections", {**row, "date_visited": day(60)})
    app = shown("root").database.own
    app.extensions["walkthrough"].clock.advance(f"{day(1)}T00:00:00+00:00")

    with app.app_context(), reading() as transaction:
        after = statistics.dashboard(transaction, ALONE["root"])

    assert (after.overdue, after.upcoming) == (before["overdue"] + 1, before["upcoming"] - 1)
    assert len(counted) == 2


def test_many_changes_are_counted_anew(shown: Callable, counted: list[Visible]) -> None:
    numbers(shown, "root")
    rows = [{"building_id": 1, "inspection_type": "fire"}] * (followed.LINES_MIN + 1)

    shown("root").post("/inspections", rows)

    assert numbers(shown, "root")["total_inspections"] == 9 + len(rows)
    assert len(counted) == 2


# what more than so many pairs of type and status there are, and what comes: one of the most frequent, or of none
LABELS = [
    (-1, {"inspection_type": "annual", "status": "completed"}),
    (0, {"inspection_type": "new"}),
]


@pytest.mark.parametrize(("more", "row"), LABELS, ids=["told apart no more", "one too many"])
def test_so_are_more_labels_than_are_told_apart(
    shown: Callable, counted: list[Visible], monkeypatch: pytest.MonkeyPatch, more: int, row: dict
) -> None:
    pairs = "/inspections?select=inspection_type,status,count()"
    monkeypatch.setattr(counts, "LABELS_MAX", len(shown("root").get(pairs).json) + more)
    counts.plan_tally.cache_clear()
    try:
        numbers(shown, "root")
        shown("root").post("/inspections", {"building_id": 1, **row})
        assert numbers(shown, "root") == numbers_anew(shown, "root")
    finally:
        counts.plan_tally.cache_clear()

    assert len(counted) == 3


@pytest.mark.parametrize("who", ["ada", "bob", "max", "moe"])
def test_who_holds_grants_is_counted_for_anew(
    api: Callable, counted: list[Visible], who: str
) -> None:
    row = {"building_id": 1, "inspection_type": "fire"}
    for _ in range(2):
        api("root").post("/inspections", row)
        numbers(api, who)

    people = {"ada": ADA, "bob": BOB, "max": MAX, "moe": MOE}
    assert [each.caller_id for each in counted] == [people[who]] * 2


def test_rows_that_were_imported_are_counted_anew(
    database: Database, shown: Callable, counted: list[Visible], tmp_path: Path
) -> None:
    """An import is one line of the trail."""
    for who in ALONE:
        numbers(shown, who)
    app = shown("root").database.own
    archive = tmp_path / "archive.json"
    row = {"id": 77, "building_id": 1, "inspection_type": "fire"}
    archive.write_text(json.dumps({"inspections": [row]}))

    ran = app.test_cli_runner().invoke(args=["import", str(archive)])

    assert ran.exit_code == 0, ran.output
    for who in ALONE:
        before = len(counted)
        assert numbers(shown, who) == numbers_anew(shown, who)
        assert len(counted) == before + 2


def outside(api: Callable, *statements: str) -> None:
    """Have another program change the file."""
    with closing(sqlite3.connect(api("root").database.own.extensions["walkthrough"].path)) as shell:
        for statement in statements:
            shell.execute(statement)
        shell.commit()


def test_a_row_that_went_without_a_line_is_counted_anew(shown: Callable) -> None:
    """SQLite's REPLACE deletes without a word to triggers; the service does not use it, a shell may."""
    numbers(shown, "root")
    shown("root").patch("/inspections?id=eq.1", {"status": "failed"})

    outside(shown, "DROP TRIGGER inspections_audit_delete", "DELETE FROM inspections WHERE id = 1")

    assert numbers(shown, "root") == numbers_anew(shown, "root")


def test_so_is_one_that_came_without_a_line(shown: Callable) -> None:
    numbers(shown, "root")
    outside(
        shown,
        "DROP TRIGGER inspections_audit_insert",
        "INSERT INTO inspections (building_id, inspection_type, created_at, updated_at, client_id)"
        " SELECT building_id, 'odd', created_at, updated_at, client_id FROM inspections WHERE id = 1",
    )

    shown("root").delete("/inspections?inspection_type=eq.odd")

    assert numbers(shown, "root") == numbers_anew(shown, "root")


# role, holds buildings, holds inspections: how far is read
EXTENTS = [
    (Role.SUPER_ADMIN, False, False, Extent.EVERYTHING),
    (Role.SUPER_ADMIN, True, True, Extent.EVERYTHING),
    (Role.CLIENT_ADMIN, False, False, Extent.OWN_CLIENT),
    (Role.CLIENT_ADMIN, True, False, None),
    (Role.CLIENT_ADMIN, False, True, None),
    (Role.CLIENT_MANAGER, False, False, None),
    (Role.CLIENT_MANAGER, True, True, None),
]


@pytest.mark.parametrize(("role", "buildings", "inspections", "extent"), EXTENTS)
@pytest.mark.parametrize("model", [Inspection, Building, AuditLog])
def test_how_far_reads_reach(
    model: type[Model], role: Role, *, buildings: bool, inspections: bool, extent: Extent | None
) -> None:
    found = AccessRule(STANDINGS[role, buildings, inspections]).extent(model)

    own = role is Role.CLIENT_ADMIN
    if model is AuditLog:
        assert found is (Extent.OWN_CLIENT if own else extent)
    elif model is Building and own and not buildings:
        assert found is Extent.OWN_CLIENT
    else:
        assert found is extent
