"""The bound on large results: how many a process builds at once, and when their slots are free again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from engine.query import statement
from engine.query.statement import SLOTS, SLOTS_MAX
from tests.support.functions import one_building

LARGE = "/inspections?select=notes&order=id"
SMALL = f"{LARGE}&limit=10"
NOTES = "a" * 65_000
ROWS = 20


@pytest.fixture(scope="module")
def api(shared_world: Callable) -> Callable:
    world = one_building(*[("completed", None)] * ROWS)
    for row in world["inspections"]:
        row["notes"] = NOTES
    return shared_world(world)


@pytest.fixture
def taken_slots(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    """All slots are taken until the stack closes, and requests do not wait."""
    monkeypatch.setattr(statement, "WAIT_SECONDS_MAX", 0)
    with ExitStack() as stack:
        for _ in range(SLOTS_MAX):
            stack.enter_context(SLOTS)
        yield stack


def free_slots() -> int:
    """Return how many slots are free."""
    with ExitStack() as stack:
        count = 0
        while SLOTS.acquire(blocking=False):
            stack.callback(SLOTS.release)
            count += 1
    return count


def test_large_response_is_refused_without_a_slot(api: Callable, taken_slots: ExitStack) -> None:
    refused = api("root").get(LARGE)
    taken_slots.close()

    assert (refused.status, refused.code, refused.headers["Retry-After"]) == (503, "53200", "1")
    assert api("root").get(LARGE).status == 200
    assert free_slots() == SLOTS_MAX


def test_small_response_needs_no_slot(api: Callable, taken_slots: ExitStack) -> None:
    assert len(api("root").get(SMALL).json) == 10


@pytest.mark.parametrize(
    ("path", "options"),
    [
        (LARGE, {}),
        (LARGE, {"accept": "text/csv"}),
        (LARGE, {"accept": "application/vnd.pgrst.object+json"}),  # refused after the rows are read
        (f"{LARGE}&offset=30", {"prefer": "count=exact"}),
        ("/buildings?select=inspections(notes)", {}),
    ],
)
def test_slot_is_free_after_the_response(api: Callable, path: str, options: dict) -> None:
    for _ in range(SLOTS_MAX + 1):
        assert api("root").get(path, **options).status != 503

    assert free_slots() == SLOTS_MAX


def test_write_with_a_large_representation_takes_a_slot_or_changes_nothing(
    world: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = one_building(*[("scheduled", None)] * ROWS)
    api = world(rows)
    change = {"status": "completed", "notes": NOTES}
    with ExitStack() as stack:
        for _ in range(SLOTS_MAX):
            stack.enter_context(SLOTS)
        refused = api("root").patch("/inspections?id=gt.0", change, prefer="return=representation")

    assert (refused.status, refused.code) == (503, "53200")
    assert api("root").get("/inspections?status=eq.completed").json == []
    assert api("root").patch("/inspections?id=gt.0", change, prefer="return=representation").status == 200
    assert free_slots() == SLOTS_MAX


def test_body_releases_the_slot_once() -> None:
    assert SLOTS.acquire(blocking=False)
    statement.HELD.is_set = True
    body = statement.ReleasingBody([b"a"])

    assert list(body) == [b"a"]
    body.close()

    assert free_slots() == SLOTS_MAX
