"""The open and overdue findings of the dashboard: open ones are neither verified nor waived."""

from collections.abc import Callable

import pytest

from tests.inspections.case_world import FAILED, MOMENT, OPEN, case_rows, finding
from tests.support.functions import DASHBOARD

SOON, LATER = "2026-11-20T14:30:00+00:00", "2026-11-20T15:30:00+00:00"
PAST = "2026-11-20T14:04:59.5+00:00"


@pytest.fixture
def case(world: Callable) -> Callable:
    """Provide a world in which FAILED has six open findings, two of them fixed; HIDDEN is of another client."""
    rows = case_rows()
    rows["findings"] += [finding(10, FAILED, due_at=PAST), finding(11, FAILED, due_at=SOON)]
    rows["findings"] += [finding(12, FAILED, due_at=LATER), finding(13, FAILED, "fixed", due_at=PAST)]
    return world(rows, MOMENT)


def counted(case: Callable, who: str) -> tuple[int, int]:
    body = case(who).rpc(DASHBOARD).json
    return body["open_findings"], body["findings_overdue"]


def set_clock(case: Callable, moment: str) -> None:
    case("root").database.own.extensions["walkthrough"].clock.set(moment)


@pytest.mark.parametrize(
    ("who", "numbers"),
    [("root", (7, 1)), ("ada", (6, 1)), ("bob", (7, 1)), ("moe", (6, 1)), ("mia", (6, 1)), ("max", (0, 0))],
)
def test_visible_open_findings_are_counted(case: Callable, who: str, numbers: tuple[int, int]) -> None:
    assert counted(case, who) == numbers


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia"])
def test_a_deadline_that_passes_is_counted_without_a_change(case: Callable, who: str) -> None:
    found = [counted(case, who)[1]]
    for moment in (SOON, "2026-11-20T14:30:00.5+00:00", "2026-11-20T14:31:00+00:00", "2026-11-20T16:00:00+00:00"):
        set_clock(case, moment)
        found.append(counted(case, who)[1])

    assert found == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia"])
def test_moved_and_new_findings_are_counted(case: Callable, who: str) -> None:
    new = {"inspection_id": FAILED, "description": "New", "severity": "low"}
    steps = [
        lambda: case("ada").rpc("move_findings", {"p_finding_ids": [10], "p_to": "fixed"}),
        lambda: case("ada").rpc("move_findings", {"p_finding_ids": [10], "p_to": "open", "p_note": "x"}),
        lambda: case("ada").post("/findings", [{**new, "due_at": PAST}, {**new, "due_at": None}]),
        lambda: case("ada").rpc(
            "move_findings", {"p_finding_ids": [10], "p_to": "open", "p_note": "x", "p_due_at": LATER}
        ),
        lambda: case("ada").delete(f"/findings?id=eq.{OPEN}"),
        lambda: case("root").delete(f"/inspections?id=eq.{FAILED}"),
    ]
    before = counted(case, who)

    found = []
    for step in steps:
        assert step().status in (200, 201, 204)
        after = counted(case, who)
        found.append((after[0] - before[0], after[1] - before[1]))

    assert found == [(0, -1), (0, 0), (2, 1), (2, 0), (1, 0), (-6, -1)]


def test_findings_of_a_moved_building_are_counted_for_the_new_client(case: Callable) -> None:
    before = [counted(case, who) for who in ("root", "ada")]

    assert case("root").patch("/buildings?id=eq.2", {"client_id": 1}).status == 204

    assert before == [(7, 1), (6, 1)]
    assert [counted(case, who) for who in ("root", "ada")] == [(7, 1), (7, 1)]
