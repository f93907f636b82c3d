"""A remembered result is exact: it is asked for again as soon as any row has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from access.caller import STANDINGS
from access.caller import Role
from access.policy import AccessRule
from engine.query import execute
from engine.query.catalog import catalog
from engine.query.statement import Binding
from engine.reporting.chart import is_light
from engine.reporting.chart_counts import Points
from engine.storage.database import writing
from engine.storage.versioned_cache import VersionedCache
from models import remembered
from routes.postgrest.querystring import parse
from tests.conftest import MIA
from tests.conftest import Database
from tests.waiting import until

DASHBOARD = "get_inspections_dashboard_summary_fast"


def total_shown(api: Callable, who: str) -> int:
    return api(who).get(f"/rpc/{DASHBOARD}").json["total_inspections"]


def total_counted(api: Callable, who: str) -> int:
    return counted(api, who, "/inspections")


def counted(api: Callable, who: str, path: str) -> int:
    """The number of rows as the head of a page's answer says it; HEAD, which asks for nothing else, agrees."""
    page = f"{path}{'&' if '?' in path else '?'}limit=1&offset=1"
    found = {ask(page, prefer="count=exact").total for ask in (api(who).get, api(who).head)}
    assert len(found) == 1
    return int(found.pop())


any_total = pytest.mark.parametrize("total", [total_shown, total_counted])


def test_answer_is_kept_until_something_changes() -> None:
    kept, asked = VersionedCache(), []

    answers = [
        kept.get(change, "question", lambda change=change: asked.append(change) or change)
        for change in (1, 1, 2, 2, 1)
    ]

    assert answers == [1, 1, 2, 2, 1]
    assert asked == [1, 2, 1]


def test_the_least_lately_asked_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "RESULTS_MAX", 2)
    kept, asked = VersionedCache(), []

    for question in ("a", "b", "a", "c", "a", "b"):
        kept.get(1, question, lambda question=question: asked.append(question))

    assert asked == ["a", "b", "c", "b"]


class Failed(Exception):
    """What a question may end in."""


class Slow:
    """A question whose answers take until they are let go, each by its number."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails  # the first time
        self.asked: list[int] = []
        self.let_go = [threading.Event() for _ in range(3)]
        self.mutex = threading.Lock()

    def __call__(self) -> str:
        with self.mutex:
            number = len(self.asked)
            self.asked.append(number)
        assert self.let_go[number].wait(10)
        if number == 0 and self.fails:
            raise Failed
        return f"answer {number}"


def asking(kept: Remembered, change: int, answer: Slow, pool: ThreadPoolExecutor) -> Future[str]:
    return pool.submit(kept.get, change, "question", answer)


def test_what_many_ask_at_once_is_answered_once() -> None:
    kept, slow = VersionedCache(), Slow()
    with ThreadPoolExecutor(8) as pool:
        asked = [asking(kept, 1, slow, pool) for _ in range(8)]
        until(lambda: slow.asked == [0])
        assert kept.get(1, "another question", lambda: "at once") == "at once"
        slow.let_go[0].set()

        assert [each.result(10) for each in asked] == ["answer 0"] * 8
    assert slow.asked == [0]
    assert kept.underway == {}


def test_a_change_is_not_waited_for_by_who_has_seen_the_next() -> None:
    kept, slow = VersionedCache(), Slow()
    with ThreadPoolExecutor(2) as pool:
        before = asking(kept, 1, slow, pool)
        until(lambda: slow.asked == [0])
        after = asking(kept, 2, slow, pool)
        slow.let_go[1].set()

        assert after.result(10) == "answer 1"
        slow.let_go[0].set()
        assert before.result(10) == "answer 0"


def test_who_waits_for_an_answer_that_failed_looks_for_it() -> None:
    kept, slow = VersionedCache(), Slow(fails=True)
    with ThreadPoolExecutor(4) as pool:
        first = asking(kept, 1, slow, pool)
        until(lambda: slow.asked == [0])
        others = [asking(kept, 1, slow, pool) for _ in range(3)]
        for event in slow.let_go:
            event.set()

        with pytest.raises(Failed):
            first.result(10)
        assert [each.result(10) for each in others] == ["answer 1"] * 3
    assert slow.asked == [0, 1]


def test_who_has_waited_as_long_as_a_read_may_take_looks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "WAIT_SECONDS_MAX", 0.05)
    kept, slow = VersionedCache(), Slow()
    with ThreadPoolExecutor(2) as pool:
        first = asking(kept, 1, slow, pool)
        until(lambda: slow.asked == [0])
        slow.let_go[1].set()

        assert asking(kept, 1, slow, pool).result(10) == "answer 1"
        slow.let_go[0].set()
        assert first.result(10) == "answer 0"


@any_total
def test_a_new_inspection_is_counted_at_once(api: Callable, total: Callable) -> None:
    before = total(api, "ada"), total(api, "moe"), total(api, "bob")

    api("ada").post("/inspections", {"building_id": 1, "inspection_type": "fire"})

    assert (total(api, "ada"), total(api, "moe"), total(api, "bob")) == (
        before[0] + 1,
        before[1] + 1,
        before[2],
    )


@any_total
def test_a_grant_and_its_end_count_at_once(api: Callable, total: Callable) -> None:
    seen = [total(api, "mia")]
    api("ada").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 1})
    seen.append(total(api, "mia"))
    api("ada").delete(f"/client_manager_building_access?manager_id=eq.{MIA}")
    seen.append(total(api, "mia"))

    assert seen == [0, 3, 0]


def test_a_building_that_moves_takes_its_inspections_out_of_the_count_at_once(
    api: Callable,
) -> None:
    before = total_counted(api, "ada"), total_counted(api, "bob")

    api("root").patch("/buildings?id=eq.1", {"client_id": 2})

    assert (total_counted(api, "ada"), total_counted(api, "bob")) == (before[0] - 3, before[1] + 3)


@any_total
def test_what_was_rolled_back_is_not_remembered(api: Callable, total: Callable) -> None:
    before = total(api, "ada")

    api("ada").delete("/inspections?id=eq.1", prefer="tx=rollback")

    assert total(api, "ada") == before
    api("ada").delete("/inspections?id=eq.1")
    assert total(api, "ada") == before - 1


def test_what_a_write_counts_for_itself_is_not_remembered(
    database: Database, api: Callable
) -> None:
    """What is rolled back leaves its number to the next change."""
    before = total_counted(api, "root")
    inspections = catalog().relations["inspections"]
    count = partial(execute.count, relation=inspections, query=parse(b""), total=True)
    rule, everything = AccessRule(STANDINGS[Role.SUPER_ADMIN, False, False]), Binding(limit=1_000)
    with database.app_for("DELETE", "/inspections").app_context(), writing() as transaction:
        transaction.run("DELETE FROM inspections WHERE id = 9")
        assert count(transaction, rule, everything).total == before - 1
        transaction.roll_back_at_end()

    api("root").patch("/inspections?id=eq.9", {"notes": "still there"})

    assert total_counted(api, "root") == before


@any_total
def test_nobody_is_told_what_another_was_answered(api: Callable, total: Callable) -> None:
    everybody = ("root", "ada", "moe", "mia", "bob", "max")

    assert [total(api, who) for who in everybody] == [9, 7, 4, 0, 4, 2]


FILTERS = {
    "another-column": ("inspection_type=eq.fire", "status=eq.fire"),
    "another-value": ("id=gt.1", "id=gt.2"),
    "the-opposite": ("id=gt.3", "id=not.gt.3"),
    "another-embed": ("select=id,buildings!inner(id)&buildings.id=eq.1",
                      "select=id,buildings!inner(id)&buildings.id=eq.2"),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), FILTERS.values(), ids=FILTERS)
def test_a_count_is_of_its_own_filters(api: Callable, one: str, other: str) -> None:
    first = [counted(api, "root", f"/inspections?{query}") for query in (one, other)]
    rows = [len(api("root").get(f"/inspections?{query}").json) for query in (one, other)]

    again = [counted(api, "root", f"/inspections?{query}") for query in (one, other)]

    assert first == again == rows
    assert rows[0] != rows[1]


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is counted, each time it is."""
    asked: list[object] = []
    get = Remembered.get

    def noting(kept: Remembered, change: int, question: object, answer: Callable) -> object:
        return get(kept, change, question, lambda: asked.append(question) or answer())

    monkeypatch.setattr(Remembered, "get", noting)
    return asked


def test_pages_of_one_list_are_counted_once(api: Callable, questions: list[object]) -> None:
    for offset in (1, 2, 3):
        page = f"/inspections?id=lt.1000003&order=id&limit=1&offset={offset}"
        assert api("ada").get(page, prefer="count=exact").headers["Content-Range"].endswith("/7")

    assert len(questions) == 1


def test_long_filters_are_counted_and_not_kept(api: Callable, questions: list[object]) -> None:
    assert counted(api, "ada", "/inspections?notes=neq." + "x" * 2_001) > 0

    assert questions == []


def test_what_is_heavy_is_not_kept() -> None:
    known = VersionedCache()
    answers = iter(["heavy", "light", "none"])

    asked = [
        known.get(1, "chart", lambda: next(answers), lambda found: found == "light")
        for _ in range(3)
    ]

    assert asked == ["heavy", "light", "light"]


def test_a_chart_of_a_thousand_statuses_is_not_kept() -> None:
    usual = {("2025-05-05", status): 1 for status in ("completed", None)}
    many = {("2025-05-05", f"{number:04}" * 50): 1 for number in range(1_000)}

    assert is_light(Points(usual, []))
    assert not is_light(Points(many, []))
