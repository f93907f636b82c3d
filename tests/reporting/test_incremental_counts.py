"""Incremental counts equal full counts, and no full count runs for a small change."""

import datetime
import json
import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from access.caller import VisibleRows
from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine.current import reading
from engine.query.rule import ReadScope
from engine.storage.versioned_cache import VersionedCache
from inspections.reporting import changes, chart, chart_counts, chart_statements, counts, dashboard, incremental_counts
from models.audit_log import AuditLog
from models.building import Building
from models.fields import Model
from models.finding import Finding
from models.inspection import Inspection
from tests.conftest import ADA, BOB, DATASET, MAX, MOE, ROOT, Database
from tests.support import databases

pytestmark = [pytest.mark.sqlite("the audit log of a server may be out of commit order"), pytest.mark.slow]

DASHBOARD = "/rpc/get_inspections_dashboard_summary_fast"
CHART = "/rpc/get_building_stats_chart_fast"
WITHOUT_GRANTS = {
    "root": VisibleRows(AccessRule(GRANT_PROFILES[Role.SUPER_ADMIN, False, False]), ROOT, None),
    "ada": VisibleRows(AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, False, False]), ADA, 1),
    "bob": VisibleRows(AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, False, False]), BOB, 2),
}
"""Visible rows of callers without grants."""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[VisibleRows]:
    """The visible rows of each full count."""
    asked: list[VisibleRows] = []

    def note(module: ModuleType, name: str) -> None:
        counts_all = getattr(module, name)

        def noting(transaction: object, visible: VisibleRows, *how: object) -> object:
            asked.append(visible)
            return counts_all(transaction, visible, *how)

        monkeypatch.setattr(module, name, noting)

    note(dashboard, "count_all")
    note(chart, "read_points")
    return asked


@pytest.fixture
def shown(world: Callable) -> Callable:
    """`shown(who)` is a client of the data set without grants for rows of other clients."""
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


def read_dashboard_response(api: Callable, who: str) -> dict:
    found = api(who).get(DASHBOARD).json
    del found["generated_at"]
    return found


def count_dashboard(api: Callable, who: str) -> dict:
    """Return the dashboard of a full count."""
    with api(who).database.own.app_context(), reading() as transaction:
        everything = dashboard.count_all(transaction, WITHOUT_GRANTS[who])
        found = dashboard.to_dashboard(everything, transaction)
    fields = {name: getattr(found, name) for name in dashboard.Dashboard.__slots__}
    del fields["generated_at"]
    return fields


def read_chart_response(api: Callable, who: str, days: tuple[str, str]) -> dict:
    start, end = days
    return api(who).get(f"{CHART}?start_date={start}&end_date={end}").json


def count_chart(api: Callable, who: str, days: tuple[str, str]) -> dict:
    """Return the chart of a full count."""
    with api(who).database.own.app_context(), reading() as transaction:
        transaction.cache = VersionedCache()
        found = asdict(chart.read_chart(transaction, WITHOUT_GRANTS[who], *days))
    return json.loads(json.dumps(found))


def day(offset: int) -> str:
    return (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(offset)).isoformat()


WINDOWS = [(day(-5), day(5)), (day(-60), day(60)), ("2020-02-01", day(400)), (day(31), day(31))]
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


def a_finding(draw: random.Random) -> dict:
    due_at = draw.choice([f"{day(-3)}T00:00:00Z", f"{day(3)}T00:00:00Z", None])
    return {"inspection_id": draw.randint(1, 12), "description": "x", "severity": "low", "due_at": due_at}


def a_step(draw: random.Random, api: Callable, *, moves_keys: bool) -> None:
    """Send one random write, which may be refused."""
    root = api("root")
    key = draw.randint(1, 30)
    part = dict(draw.sample(sorted(anything(draw).items()), draw.randint(1, 3)))
    merge = "resolution=merge-duplicates"
    target = draw.choice(({"p_to": "fixed"}, {"p_to": "waived", "p_note": "x"}, {"p_to": "open", "p_note": "x"}))
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
        lambda: root.patch(f"/buildings?id=eq.{draw.randint(1, 6)}", {"name": f"Renamed {key}"}),
        lambda: root.post("/buildings", {"name": "New", "client_id": draw.randint(1, 2)}),
        lambda: root.delete(f"/buildings?id=eq.{draw.randint(1, 9)}"),
        lambda: root.delete(f"/inspectors?id=eq.{draw.randint(1, 3)}"),
        lambda: api("moe").post("/inspections", anything(draw)),
        lambda: root.patch("/users?role=eq.client_manager", {"name": str(key)}),
        lambda: root.post("/findings", [a_finding(draw), a_finding(draw)]),
        lambda: root.post("/findings", {"id": key, **a_finding(draw)}, prefer=merge),
        lambda: root.patch(f"/findings?id=eq.{key}", {**a_finding(draw), "due_at": f"{day(-1)}T00:00:00Z"}),
        lambda: root.delete(f"/findings?id=eq.{key}"),
        lambda: root.rpc("move_findings", {"p_finding_ids": [draw.randint(1, 6)], **target}),
    ]  # fmt: skip
    if moves_keys:
        choices += [
            lambda: root.patch(f"/inspections?id=eq.{key}", {"id": draw.randint(1, 40)}),
            lambda: root.patch(f"/buildings?id=eq.{draw.randint(1, 9)}", {"id": draw.randint(1, 9)}),
        ]
    draw.choice(choices)()


@pytest.mark.parametrize("moves_keys", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_updated_dashboards_equal_full_counts(
    shown: Callable, counted: list[VisibleRows], monkeypatch: pytest.MonkeyPatch, seed: int, *, moves_keys: bool
) -> None:
    monkeypatch.setattr(changes, "ENTRIES_MIN", changes.ENTRIES_MAX)
    draw = random.Random(seed)
    for who in WITHOUT_GRANTS:
        read_dashboard_response(shown, who)
    asked = len(counted)

    for _ in range(25):
        for _ in range(draw.choice((1, 1, 1, 3))):
            a_step(draw, shown, moves_keys=moves_keys)
        for who in draw.sample(sorted(WITHOUT_GRANTS), 2):
            found, before = read_dashboard_response(shown, who), len(counted)
            assert found == count_dashboard(shown, who), who
            del counted[before:]

    assert moves_keys or len(counted) == asked == len(WITHOUT_GRANTS), "nothing was counted a second time"


@pytest.mark.parametrize("most", [2, 3, 20])
@pytest.mark.parametrize("seed", range(4))
def test_updated_charts_equal_full_counts(
    shown: Callable, counted: list[VisibleRows], monkeypatch: pytest.MonkeyPatch, seed: int, most: int
) -> None:
    """Includes a full list of busiest buildings: if one drops out, the next one takes a full count."""
    for module in (chart_statements, incremental_counts):
        monkeypatch.setattr(module, "BUSIEST_MAX", most)
    monkeypatch.setattr(changes, "ENTRIES_MIN", changes.ENTRIES_MAX)
    chart_statements.plan_busiest.cache_clear()
    draw = random.Random(seed)
    asked = [(who, days) for who in WITHOUT_GRANTS for days in WINDOWS]
    try:
        for who, days in asked:
            read_chart_response(shown, who, days)
        for _ in range(25):
            a_step(draw, shown, moves_keys=most < 20)
            for who, days in draw.sample(asked, 3):
                found, before = read_chart_response(shown, who, days), len(counted)
                assert found == count_chart(shown, who, days), (who, days)
                del counted[before:]
    finally:
        chart_statements.plan_busiest.cache_clear()

    assert most < 20 or len(counted) == len(asked), "nothing was counted a second time"


def test_a_new_day_takes_a_full_count(shown: Callable, counted: list[VisibleRows]) -> None:
    """Overdue and upcoming counts change with the day, without a change of a row."""
    row = {"building_id": 1, "inspection_type": "fire", "status": "scheduled"}
    shown("root").post("/inspections", {**row, "date_visited": day(0)})
    before = read_dashboard_response(shown, "root")
    shown("root").post("/inspections", {**row, "date_visited": day(60)})
    app = shown("root").database.own
    app.extensions["walkthrough"].clock.advance(f"{day(1)}T00:00:00+00:00")

    with app.app_context(), reading() as transaction:
        after = dashboard.read_dashboard(transaction, WITHOUT_GRANTS["root"])

    assert (after.overdue, after.upcoming) == (before["overdue"] + 1, before["upcoming"] - 1)
    assert len(counted) == 2


@pytest.mark.parametrize("path", ["/inspections", "/buildings"])
def test_a_new_row_with_a_changed_id_is_counted(shown: Callable, path: str) -> None:
    days = (day(-1), day(1))
    read_dashboard_response(shown, "root")
    read_chart_response(shown, "root", days)
    inspection = {"building_id": 1, "inspection_type": "fire", "date_visited": day(0)}
    row = inspection if path == "/inspections" else {"name": "New", "client_id": 1}

    made = shown("root").post(path, {"id": 70, **row})
    moved = shown("root").patch(f"{path}?id=eq.70", {"id": 71})

    assert (made.status, moved.status) == (201, 204)
    assert read_dashboard_response(shown, "root") == count_dashboard(shown, "root")
    assert read_chart_response(shown, "root", days) == count_chart(shown, "root", days)


@pytest.mark.parametrize(("more", "again"), [(0, []), (1, ["root", "ada"])])
def test_many_changes_take_a_full_count(
    shown: Callable, counted: list[VisibleRows], more: int, again: list[str]
) -> None:
    """Only visible changes count. Other clients' changes have no effect."""
    before = [read_dashboard_response(shown, who)["total_inspections"] for who in WITHOUT_GRANTS]
    rows = [{"building_id": 1, "inspection_type": "fire"}] * (changes.ENTRIES_MIN + more)

    shown("root").post("/inspections", rows)
    after = [read_dashboard_response(shown, who)["total_inspections"] for who in WITHOUT_GRANTS]

    assert after == [before[0] + len(rows), before[1] + len(rows), before[2]]
    assert counted[len(WITHOUT_GRANTS) :] == [WITHOUT_GRANTS[who] for who in again]


# what more than so many pairs of type and status there are, and what comes: one of the most frequent, or of none
LABELS = [(-1, {"inspection_type": "annual", "status": "completed"}), (0, {"inspection_type": "new"})]


@pytest.mark.parametrize(("more", "row"), LABELS, ids=["told apart no more", "one too many"])
def test_too_many_labels_take_a_full_count(
    shown: Callable, counted: list[VisibleRows], monkeypatch: pytest.MonkeyPatch, more: int, row: dict
) -> None:
    pairs = "/inspections?select=inspection_type,status,count()"
    monkeypatch.setattr(counts, "LABELS_MAX", len(shown("root").get(pairs).json) + more)
    counts.plan_status_counts.cache_clear()
    try:
        read_dashboard_response(shown, "root")
        shown("root").post("/inspections", {"building_id": 1, **row})
        assert read_dashboard_response(shown, "root") == count_dashboard(shown, "root")
    finally:
        counts.plan_status_counts.cache_clear()

    assert len(counted) == 3


def test_too_many_points_take_a_full_count(shown: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    days = ("2025-01-01", "2025-12-31")
    series = read_chart_response(shown, "root", days)["series"]
    told_apart = sum(count > 0 for point in series for count in point["by_status"].values())
    for module in (chart_statements, chart_counts):
        monkeypatch.setattr(module, "POINT_LABELS_MAX", told_apart)
    row = {"building_id": 1, "inspection_type": "fire", "date_visited": "2025-12-24"}
    shown("root").post("/inspections", {**row, "status": "unheard of"})

    refused = shown("root").get(f"{CHART}?start_date={days[0]}&end_date={days[1]}")

    assert (refused.status, refused.json["code"]) == (400, "54000")


@pytest.mark.parametrize("who", ["ada", "bob", "max", "moe"])
def test_callers_with_grants_take_a_full_count(api: Callable, counted: list[VisibleRows], who: str) -> None:
    row = {"building_id": 1, "inspection_type": "fire"}
    for _ in range(2):
        api("root").post("/inspections", row)
        read_dashboard_response(api, who)
        read_chart_response(api, who, WINDOWS[0])

    people = {"ada": ADA, "bob": BOB, "max": MAX, "moe": MOE}
    assert [each.caller_id for each in counted] == [people[who]] * 4


def test_an_import_takes_a_full_count(
    database: Database, shown: Callable, counted: list[VisibleRows], tmp_path: Path
) -> None:
    """An import is one entry of the audit log."""
    for who in WITHOUT_GRANTS:
        read_dashboard_response(shown, who)
    app = shown("root").database.own
    archive = tmp_path / "archive.json"
    row = {"id": 77, "building_id": 1, "inspection_type": "fire"}
    archive.write_text(json.dumps({"inspections": [row]}))

    ran = app.test_cli_runner().invoke(args=["import", str(archive)])

    assert ran.exit_code == 0, ran.output
    for who in WITHOUT_GRANTS:
        before = len(counted)
        assert read_dashboard_response(shown, who) == count_dashboard(shown, who)
        assert len(counted) == before + 2


def outside(api: Callable, *statements: str) -> None:
    """Change the file by another program."""
    for statement in statements:
        databases.sql(api("root").database.own.extensions["walkthrough"].path, statement)


def test_a_row_deleted_without_an_audit_entry_takes_a_full_count(shown: Callable) -> None:
    """SQLite's REPLACE deletes rows without firing triggers. Only other programs use it."""
    read_dashboard_response(shown, "root")
    shown("root").patch("/inspections?id=eq.1", {"status": "failed"})

    outside(shown, "DROP TRIGGER inspections_audit_delete", "DELETE FROM inspections WHERE id = 1")

    assert read_dashboard_response(shown, "root") == count_dashboard(shown, "root")


def test_a_row_inserted_without_an_audit_entry_takes_a_full_count(shown: Callable) -> None:
    days = (day(-1), day(1))
    read_dashboard_response(shown, "root")
    read_chart_response(shown, "root", days)
    outside(
        shown,
        "DROP TRIGGER inspections_audit_insert",
        "INSERT INTO inspections (building_id, inspection_type, date_visited, created_at, updated_at, client_id)"
        f" SELECT building_id, 'odd', '{day(0)}', created_at, updated_at, client_id FROM inspections WHERE id = 1",
    )

    shown("root").delete("/inspections?inspection_type=eq.odd")

    assert read_dashboard_response(shown, "root") == count_dashboard(shown, "root")
    assert read_chart_response(shown, "root", days) == count_chart(shown, "root", days)


# role, holds buildings, holds inspections: how far is read
READ_SCOPES = [
    (Role.SUPER_ADMIN, False, False, ReadScope.EVERYTHING),
    (Role.SUPER_ADMIN, True, True, ReadScope.EVERYTHING),
    (Role.CLIENT_ADMIN, False, False, ReadScope.OWN_CLIENT),
    (Role.CLIENT_ADMIN, True, False, None),
    (Role.CLIENT_ADMIN, False, True, None),
    (Role.CLIENT_MANAGER, False, False, None),
    (Role.CLIENT_MANAGER, True, True, None),
]


@pytest.mark.parametrize(("role", "buildings", "inspections", "read_scope"), READ_SCOPES)
@pytest.mark.parametrize("model", [Inspection, Building, Finding, AuditLog])
def test_read_scope_by_role_and_grants(
    model: type[Model], role: Role, *, buildings: bool, inspections: bool, read_scope: ReadScope | None
) -> None:
    found = AccessRule(GRANT_PROFILES[role, buildings, inspections]).read_scope(model)

    own = role is Role.CLIENT_ADMIN
    if model is AuditLog:
        assert found is (ReadScope.OWN_CLIENT if own else read_scope)
    elif model is Building and own and not buildings:
        assert found is ReadScope.OWN_CLIENT
    else:
        assert found is read_scope
