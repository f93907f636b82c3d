"""Small writes that came together are run in a row, on a file and on a server; each is told what it would be alone."""

from __future__ import annotations

import pathlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from models import file_batch
from models import group_commit
from tests import databases
from tests.conftest import CAST
from tests.signin import Service
from tests.signin import open_service
from tests.together import NEW
from tests.together import ROW
from tests.together import ROW_OF_BOB
from tests.together import post
from tests.together import together
from tests.together import written
from tests.waiting import SECONDS_MAX
from tests.waiting import until

LONG = 4_000_000_000
NO_BUILDING = {"building_id": 999, "inspection_type": "fire", "notes": "new"}


@pytest.fixture
def service(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """One that has been written to by everybody who writes here, and so knows them; its disk is quick."""
    monkeypatch.setattr(group_commit, "SLOW_SECONDS", SECONDS_MAX)
    made = open_service(tmp_path)
    nothing = {"status": "passed"}
    people = [made.api(who) for who in ("root", "ada", "bob")]
    together(*(partial(each.patch, "/inspections?id=eq.999", nothing) for each in people))
    return made


def test_each_is_told_its_own_row(service: Service) -> None:
    ada, bob = service.api("ada"), service.api("bob")
    whole = "return=representation"

    answers = together(
        post(ada, {**ROW, "status": "a"}, whole),
        post(bob, {**ROW_OF_BOB, "status": "b"}, "return=headers-only"),
        post(ada, {**ROW, "status": "c"}),
        post(bob, {**ROW_OF_BOB, "status": "d"}, whole),
        partial(ada.patch, "/inspections?id=eq.1", {"notes": "new", "status": "e"}, prefer=whole),
        partial(ada.patch, "/inspections?id=eq.1", {"notes": "new", "status": "f"}, prefer=whole),
    )

    assert [each.json[0]["status"] for each in answers if each.text] == ["a", "d", "e", "f"]
    kept = {each["status"]: each["id"] for each in service.api("root").get(NEW).json}
    assert set(kept) == set("abcdf")
    assert answers[1].headers["Location"] == f"/inspections?id=eq.{kept['b']}"


def test_the_trail_names_each(service: Service) -> None:
    ada, bob, root = (service.api(who) for who in ("ada", "bob", "root"))

    together(
        post(ada, ROW), post(bob, ROW_OF_BOB), post(service.api("service"), ROW), post(root, ROW)
    )

    lines = service.api("root").get("/audit_log?action=eq.insert&order=id.desc&limit=4").json
    assert [each["actor_id"] for each in reversed(lines)] == [
        CAST["ada"].id, CAST["bob"].id, None, CAST["root"].id,
    ]  # fmt: skip
    made = service.api("root").get("/inspections?notes=eq.new&select=created_at&order=id.desc").json
    assert [each["at"] for each in lines] == [each["created_at"] for each in made]


# What goes wrong


REFUSED = {
    "of another client": ROW_OF_BOB,
    "of no building": NO_BUILDING,
    "without a type": {"building_id": 1},
    "no date": {**ROW, "date_visited": "2026-02-30"},
    "no such column": {**ROW, "nothing": 1},
    "a chosen id": {**ROW, "id": 1},
}


@pytest.mark.parametrize("fault", REFUSED)
def test_one_that_is_refused_is_refused_alone(service: Service, fault: str) -> None:
    """Whichever of them it is; and it is told what it would be told by itself."""
    ada = service.api("ada")
    alone = ada.post("/inspections", REFUSED[fault])
    assert alone.status >= 400

    for place in range(3):
        calls = [post(ada, ROW), post(ada, ROW, "return=representation")]
        calls.insert(place, post(ada, REFUSED[fault]))
        answers = together(*calls)

        refused = answers.pop(place)
        assert (refused.status, refused.json) == (alone.status, alone.json)
        assert [each.status for each in answers] == [201, 201]
        assert written(service) == [1, 1] * (place + 1)


@pytest.mark.sqlite("a file's batch")
def test_a_bug_in_a_batch_refuses_nothing_and_is_told_to_the_log(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ada = service.api("ada")
    monkeypatch.setattr(file_batch, "in_time", lambda values, now: 1 / 0)

    answers = together(post(ada, ROW), post(ada, ROW))

    assert [each.status for each in answers] == [201, 201]
    assert len(written(service)) == 2
    assert [type(each.exc_info[1]) for each in caplog.records] == [ZeroDivisionError]


def test_a_change_of_what_is_not_there_is_told_alone(service: Service) -> None:
    ada = service.api("ada")
    one = "application/vnd.pgrst.object+json"

    answers = together(
        post(ada, ROW),
        partial(ada.patch, "/inspections?id=eq.999", {"status": "passed"}),
        partial(ada.patch, "/inspections?id=eq.999", {"status": "passed"}, accept=one),
        post(ada, ROW),
    )

    assert [each.status for each in answers] == [201, 204, 406, 201]
    assert written(service) == [1, 1]


@pytest.mark.parametrize(
    "prefer", ["tx=rollback", "handling=strict,max-affected=0", "return=representation,tx=rollback"]
)
def test_one_that_is_to_leave_nothing_leaves_nothing(service: Service, prefer: str) -> None:
    ada = service.api("ada")
    alone = ada.post("/inspections", ROW, prefer=prefer)

    answers = together(post(ada, ROW), post(ada, {**ROW, "notes": "never"}, prefer), post(ada, ROW))

    assert [each.status for each in answers] == [201, alone.status, 201]
    assert written(service) == [1, 1]
    assert service.api("root").get("/inspections?notes=eq.never").json == []


def test_one_of_several_rows_stands_beside_them(service: Service) -> None:
    ada = service.api("ada")
    several = partial(ada.post, "/inspections", [{**ROW, "building_id": 2}] * 3)

    answers = together(post(ada, ROW), several, post(ada, ROW, "return=representation"), several)

    assert [each.status for each in answers] == [201] * 4
    assert sorted(written(service)) == [1, 1, 2, 2, 2, 2, 2, 2]


# Who asks

CHANGES = {
    "moved": "UPDATE users SET client_id = 2 WHERE id = ?",
    "another role": "UPDATE users SET role = 'client_manager' WHERE id = ?",
    "gone": "DELETE FROM users WHERE id = ?",
    "shut out": f"UPDATE credentials SET disabled_until = {LONG} WHERE user_id = ?",
    "older than a sign-out": f"UPDATE credentials SET tokens_since = {LONG} WHERE user_id = ?",
}


@pytest.mark.parametrize("prefer", ["", "return=representation"])
@pytest.mark.parametrize("change", CHANGES)
def test_who_may_no_more_writes_no_more(service: Service, change: str, prefer: str) -> None:
    """Rights change past the service: the very next write is refused, and those beside it are kept."""
    ada, bob = service.api("ada"), service.api("bob")
    known = together(post(ada, {**ROW, "notes": "old"}), post(bob, {**ROW_OF_BOB, "notes": "old"}))
    assert [each.status for each in known] == [201, 201]
    service.sql(CHANGES[change], CAST["ada"].id)

    answers = together(
        post(bob, ROW_OF_BOB, prefer),
        post(ada, ROW, prefer),
        partial(ada.patch, "/inspections?id=eq.1", {"notes": "new"}, prefer=prefer),
        post(bob, ROW_OF_BOB, prefer),
    )

    assert [each.status for each in answers] == [201, 401, 401, 201]
    assert written(service) == [4, 4]
    assert ada.post("/inspections", ROW, prefer=prefer).status == 401


@pytest.mark.parametrize("prefer", ["", "return=representation"])
@pytest.mark.parametrize("change", CHANGES)
def test_who_loses_their_right_during_the_wait_writes_nothing(
    service: Service, change: str, prefer: str
) -> None:
    """What was true when it was made ready is looked up again in the turn."""
    ada, bob = service.api("ada"), service.api("bob")
    calls = post(bob, ROW_OF_BOB, prefer), post(ada, ROW, prefer), post(bob, ROW_OF_BOB, prefer)
    with ThreadPoolExecutor(1) as pool:
        with databases.turn(service.file) as run:
            answers = pool.submit(together, *calls)
            until(lambda: databases.waiting(service.file))
            run(CHANGES[change], CAST["ada"].id)
        assert [each.status for each in answers.result(SECONDS_MAX)] == [201, 401, 201]

    assert written(service) == [4, 4]


def test_whose_new_grant_changes_the_plan_is_answered_by_it(service: Service) -> None:
    bob = service.api("bob")
    change = partial(bob.patch, "/inspections?id=eq.999", {"status": "x"})
    first = change().status
    service.sql(
        "INSERT INTO client_admin_building_access (admin_id, building_id, assigned_at) VALUES (?, 1, ?)",
        CAST["bob"].id,
        "2026-01-01T00:00:00+00:00",
    )

    assert bob.patch("/inspections?id=eq.1", {"status": "x"}).status == 204
    assert change().status == first
    assert service.api("root").get("/inspections?id=eq.1&select=status").json != [{"status": "x"}]
