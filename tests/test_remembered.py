"""A remembered result is exact: it is asked for again as soon as any row has changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import remembered
from models.remembered import Remembered
from tests.conftest import MIA

DASHBOARD = "get_inspections_dashboard_summary_fast"


def total(api: Callable, who: str) -> int:
    return api(who).get(f"/rpc/{DASHBOARD}").json["total_inspections"]


def test_answer_is_kept_until_something_changes() -> None:
    kept, asked = Remembered(), []

    answers = [
        kept.get(change, "question", lambda change=change: asked.append(change) or change)
        for change in (1, 1, 2, 2, 1)
    ]

    assert answers == [1, 1, 2, 2, 1]
    assert asked == [1, 2, 1]


def test_the_least_lately_asked_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "RESULTS_MAX", 2)
    kept, asked = Remembered(), []

    for question in ("a", "b", "a", "c", "a", "b"):
        kept.get(1, question, lambda question=question: asked.append(question))

    assert asked == ["a", "b", "c", "b"]


def test_dashboard_shows_a_new_inspection_at_once(api: Callable) -> None:
    before = total(api, "ada"), total(api, "moe"), total(api, "bob")

    api("ada").post("/inspections", {"building_id": 1, "inspection_type": "fire"})

    assert (total(api, "ada"), total(api, "moe"), total(api, "bob")) == (
        before[0] + 1,
        before[1] + 1,
        before[2],
    )


def test_dashboard_shows_a_grant_and_its_end_at_once(api: Callable) -> None:
    seen = [total(api, "mia")]
    api("ada").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 1})
    seen.append(total(api, "mia"))
    api("ada").delete(f"/client_manager_building_access?manager_id=eq.{MIA}")
    seen.append(total(api, "mia"))

    assert seen == [0, 3, 0]


def test_what_was_rolled_back_is_not_remembered(api: Callable) -> None:
    before = total(api, "ada")

    api("ada").delete("/inspections?id=eq.1", prefer="tx=rollback")

    assert total(api, "ada") == before
    api("ada").delete("/inspections?id=eq.1")
    assert total(api, "ada") == before - 1


def test_nobody_is_told_what_another_was_answered(api: Callable) -> None:
    assert [total(api, who) for who in ("root", "ada", "moe", "mia", "bob", "max")] == [
        9,
        7,
        4,
        0,
        4,
        2,
    ]
