"""The work of summaries and reports of the largest inspections: counted lines and steps of SQLite, never time.

Five times the rows may cost five times the work, and some.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.inspections.case_world import inspection, times
from tests.inspections.lead_world import DAY, MOMENT, lead_rows
from tests.support.costs import Work, work_of
from tests.support.reports import CHECK, READING

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sqlite("the lines of Python are the same on both engines, and a server's steps are not counted"),
]

PARTS = 5
WORK_GROWTH_MAX = 1.1 * PARTS
SPREAD, HEAPED, GUNS, CHECKED_GUNS, SHOTS = range(3_000, 3_010, 2)
"""Inspections with a fifth of the rows; the number after each has all of them."""

FINDINGS, FILES, GUN_NUMBERS, READINGS = 4_000, 9_900, 8_000, 9_990
PAIRS = (SPREAD, HEAPED, GUNS, CHECKED_GUNS, SHOTS)


def minute(number: int) -> str:
    return f"{DAY}T{8 + number // 60 % 12:02}:{number % 60:02}:{number // 720 % 60:02}+00:00"


def findings_of(visit: int, number: int, ids: Iterator[int]) -> list[dict]:
    return [
        {"id": next(ids), "inspection_id": visit, "case_id": visit, "description": "Loose rail", "severity": "severe",
         "status": "open", "due_at": MOMENT, "found_at": MOMENT, **times()}
        for _ in range(number)
    ]  # fmt: skip


def files_of(findings: list[dict], number: int) -> list[dict]:
    """Return files of findings, each of the next one."""
    keys = [each["id"] for each in findings]
    return [
        {"id": f"00000000-0000-4000-8000-{keys[0]:06}{each:06}", "bucket": "findings",
         "finding_id": keys[each % len(keys)], "name": f"{keys[each % len(keys)]}/{each}.pdf", "sha256": f"{each:064x}",
         "size": 9, "mimetype": "application/pdf", **times()}
        for each in range(number)
    ]  # fmt: skip


def readings_of(visit: int, number: int, gun_id: Callable[[int], int], ids: Iterator[int]) -> list[dict]:
    return [
        {**READING, "id": next(ids), "inspection_id": visit, "gun_id": gun_id(each), "reading_no": each,
         "taken_at": minute(each), "classification": READING["result"]}
        for each in range(number)
    ]  # fmt: skip


def checks_of(visit: int, number: int, gun_id: Callable[[int], int], ids: Iterator[int]) -> list[dict]:
    """Return checks, each third one failed."""
    return [
        {**CHECK, "id": next(ids), "inspection_id": visit, "gun_id": gun_id(each), "taken_at": minute(each),
         "result": "fail" if each % 3 == 0 else "pass"}
        for each in range(number)
    ]  # fmt: skip


def large_rows() -> dict:
    rows = lead_rows()
    for name in ("findings", "files", "reports_lead", "calibration_checks"):
        rows.setdefault(name, [])
    rows["inspections"] += [
        inspection(visit + whole, 1, "in_progress", DAY, inspection_type="annual" if visit < GUNS else "lead")
        for visit in PAIRS
        for whole in (0, 1)
    ]
    ids = iter(range(10_000, 1_000_000))
    for whole, parts in ((0, PARTS), (1, 1)):
        for visit in (SPREAD, HEAPED):
            made = findings_of(visit + whole, FINDINGS // parts, ids)
            rows["findings"] += made
            rows["files"] += files_of(made if visit == SPREAD else made[-1:], FILES // parts)
        for visit, gun_id, readings, checks in (
            (GUNS, lambda each: each + 1, GUN_NUMBERS, 0),
            (CHECKED_GUNS, lambda each: each + 1, GUN_NUMBERS, GUN_NUMBERS),
            (SHOTS, lambda each: 20417, READINGS, READINGS),
        ):
            rows["reports_lead"] += readings_of(visit + whole, readings // parts, gun_id, ids)
            rows["calibration_checks"] += checks_of(visit + whole, checks // parts, gun_id, ids)
    return rows


@pytest.fixture(scope="module")
def part_and_whole(shared_world: Callable) -> Callable[[str, int], tuple[Work, Work]]:
    """Return the work of a request about the inspection with a part of the rows, and about the one with all."""
    api = shared_world(large_rows())
    app = api("ada").database.pristine

    def measure(path: str, visit: int) -> tuple[Work, Work]:
        def ask(key: int) -> int:
            return api("ada").get(path.format(key)).status

        assert ask(visit) == 200  # the caches of statements are filled
        return work_of(app, lambda: ask(visit)), work_of(app, lambda: ask(visit + 1))

    return measure


@pytest.mark.parametrize(
    ("path", "visit"),
    [
        *(("/reports/inspections/{}?kind=findings", visit) for visit in (SPREAD, HEAPED)),
        *(("/rpc/lead_summary?p_inspection_id={}", visit) for visit in PAIRS[2:]),
        *(("/reports/inspections/{}?kind=lead", visit) for visit in (CHECKED_GUNS, SHOTS)),
    ],
)
def test_work_grows_no_faster_than_the_rows(part_and_whole: Callable, path: str, visit: int) -> None:
    part, whole = part_and_whole(path, visit)

    assert (part.result, whole.result) == (200, 200)
    assert 2 * part.lines < whole.lines < WORK_GROWTH_MAX * part.lines
    assert whole.steps <= WORK_GROWTH_MAX * part.steps
