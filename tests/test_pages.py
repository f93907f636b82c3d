"""A list that is asked for again is the one that a new process would tell: until anybody has committed anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from engine.query import execute
from engine.storage.sqlite import driver
from models import pages as module
from tests import databases
from tests.applications import open_app
from tests.conftest import CAST
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import Api
from tests.conftest import Database

LIST = "/inspections?select=id,status,buildings(name)&order=date_visited.desc"


class Asked:
    """Which statements were run for rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        fetch = execute.fetch

        def counted(*arguments: object) -> list[str]:
            self.count += 1
            return fetch(*arguments)

        monkeypatch.setattr(execute, "fetch", counted)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


@pytest.fixture
def file(tmp_path: Path, base_file: Path) -> Path:
    copy = tmp_path / "walkthrough.db"
    databases.copy(base_file, copy)
    return copy


@pytest.fixture
def workers(file: Path) -> list[Callable[[str], Api]]:
    """Two applications on one file, as two workers are."""
    return [people_of(open_app(file)) for _ in range(2)]


def people_of(app: Flask) -> Callable[[str], Api]:
    return lambda who: Api(Database(lambda: app, None), CAST[who])


# What is kept


def test_a_question_is_known_in_its_snapshot_only() -> None:
    pages = Pages()
    pages.keep(("connection", 1), ("question",), ["row"])

    assert pages.get(("connection", 1), ("question",)) == ["row"]
    assert pages.get(("connection", 1), ("another",)) is None
    assert pages.get(("connection", 2), ("question",)) is None
    assert pages.get(("another", 1), ("question",)) is None


def test_another_snapshot_leaves_nothing_of_the_last_one() -> None:
    pages = Pages()
    for version in (1, 2, 1):
        assert pages.get(version, ("question",)) is None
        pages.keep(version, ("question",), [f"of {version}"])

    assert pages.get(1, ("question",)) == ["of 1"]
    assert len(pages.pages) == 1


def test_an_empty_list_is_one() -> None:
    pages = Pages()
    pages.keep(1, ("question",), [])

    assert pages.get(1, ("question",)) == []


def test_the_least_lately_asked_for_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    row = "x" * 1_000
    monkeypatch.setattr(module, "PAGES_BYTES_MAX", 3_500)
    pages = Pages()
    for question in ("a", "b"):
        pages.keep(1, (question,), [row])
    pages.get(1, ("a",))
    pages.keep(1, ("c",), [row])

    assert [pages.get(1, (question,)) is not None for question in "abc"] == [True, False, True]
    assert pages.bytes <= 3_500


@pytest.mark.parametrize("rows", [[], ["row"]])
def test_many_questions_are_bounded_whatever_they_find(rows: list[str]) -> None:
    """Of those that find nothing there would be no end: each takes what it was asked with."""
    pages = Pages()
    for number in range(20_000):
        pages.keep(1, ("the statement", "x" * 500, number), rows)

    assert len(pages.pages) * 1_000 <= module.PAGES_BYTES_MAX


def test_what_two_threads_have_asked_for_counts_once() -> None:
    pages = Pages()
    for _ in range(2):
        pages.keep(1, ("question",), ["row"])

    (_, size), *_ = pages.pages.values()
    assert pages.bytes == size


def test_a_large_one_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_BYTES_MAX", 500)
    pages = Pages()
    pages.keep(1, ("question",), ["x" * 600])

    assert pages.get(1, ("question",)) is None
    assert pages.bytes == 0


# What is asked


@pytest.mark.sqlite("a server is asked each time")
@pytest.mark.parametrize(
    "accept", ["*/*", "text/csv", "application/vnd.pgrst.array+json;nulls=stripped"]
)
def test_a_list_is_asked_for_once_and_answered_alike(
    workers: list[Callable[[str], Api]], asked: Asked, accept: str
) -> None:
    first, *others = [workers[0]("moe").get(LIST, headers={"Accept": accept}) for _ in range(3)]

    assert [(other.status, other.text) for other in others] == [(first.status, first.text)] * 2
    assert asked.count == 1


@pytest.mark.sqlite("a server is asked each time")
@pytest.mark.parametrize(
    "path", ["/inspections?id=eq.1", f"/inspections?status=not.in.({'x' * 2_001})"]
)
def test_a_row_by_its_key_and_a_long_question_are_asked_for_each_time(
    workers: list[Callable[[str], Api]], asked: Asked, path: str
) -> None:
    for _ in range(2):
        workers[0]("ada").get(path)

    assert asked.count == 2


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia", "max"])
def test_each_gets_their_own_whoever_asked_before(api: Callable, who: str) -> None:
    alone = api(who).get(LIST).json
    for other in ("root", "ada", "bob", "moe", "mia", "max"):
        api(other).get(LIST)

    assert api(who).get(LIST).json == alone


CHANGES = {
    "insert": ("ada", "POST", "/inspections", {"building_id": 1, "inspection_type": "fire"}),
    "change": ("ada", "PATCH", "/inspections?id=eq.1", {"status": "cancelled"}),
    "delete": ("ada", "DELETE", "/inspections?id=eq.1", None),
    "rename": ("ada", "PATCH", "/buildings?id=eq.1", {"name": "Renamed"}),
    "grant": ("ada", "POST", "/client_manager_building_access", {"manager_id": MIA, "building_id": 1}),
    "revoke": ("ada", "DELETE", f"/client_manager_building_access?manager_id=eq.{MOE}", None),
    "revoke-one": ("ada", "DELETE", f"/client_manager_inspection_access?manager_id=eq.{MOE}", None),
    "move": ("root", "PATCH", "/buildings?id=eq.1", {"client_id": 2}),
    "demote": ("root", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}),
    "remove": ("root", "DELETE", f"/users?id=eq.{MOE}", None),
}  # fmt: skip


@pytest.mark.parametrize("by", [0, 1], ids=["same-worker", "other-worker"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_by_the_next_request(
    workers: list[Callable[[str], Api]], file: Path, change: tuple[str, str, str, object], by: int
) -> None:
    reader, people = workers[0], ("root", "ada", "bob", "moe", "mia", "max")
    before = [answered(reader(who)) for who in people for _ in range(2)][::2]
    who, method, path, body = change
    assert workers[by](who).send(method, path, body).status in (201, 204)

    after = [answered(reader(who)) for who in people]

    anew = people_of(open_app(file))
    assert after == [answered(anew(who)) for who in people]
    assert after != before


@pytest.mark.sqlite("reaches into the file")
def test_what_another_program_commits_is_seen_by_the_next_request(
    workers: list[Callable[[str], Api]], file: Path
) -> None:
    for _ in range(2):
        workers[0]("moe").get(LIST)
    other = driver.connect(str(file), isolation_level=None)
    other.execute("DELETE FROM audit_context")  # and leaves no line in the trail
    other.execute("DELETE FROM client_manager_building_access")
    other.close()

    assert [row["id"] for row in workers[0]("moe").get(LIST).json] == [3]


def test_what_is_rolled_back_is_never_shown(api: Callable) -> None:
    before = api("moe").get(LIST).json
    api("ada").delete("/inspections?id=eq.1", prefer="tx=rollback")

    assert api("moe").get(LIST).json == before


def answered(person: Api) -> tuple[int, str]:
    answer = person.get(LIST)
    return answer.status, answer.text
