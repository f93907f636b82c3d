"""Lists as files: all that fits, in bounded memory and short transactions, and never cut without a word."""

import csv
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from engine.storage.sqlite import TimedOut
from engine.storage.transaction import CURRENT
from routes.console.components import downloads
from routes.console.components import search as searching
from tests.conftest import MOE

FILE = "/console/inspections.csv"


@pytest.fixture
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are long from two rows on, and their pages two rows."""
    monkeypatch.setattr(downloads, "AT_ONCE_ROWS_MAX", 1)
    monkeypatch.setattr(downloads, "PAGE_ROWS", 2)


def meanwhile(act: Callable[[], object]) -> None:
    """Another request, in a thread of its own, as the server has it."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(act).result()


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))


def numbers(text: str) -> list[int]:
    heading, *rows = rows_of(text)
    assert heading[0] == "id"
    return [int(row[0]) for row in rows if row[0].isdigit()]


@pytest.mark.usefixtures("long_lists")
@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia"])
@pytest.mark.parametrize(
    "query",
    [
        "",
        "status=eq.scheduled",
        "order=inspection_type.asc",
        "id=gt.2&id=lt.9",
        'or=(notes.ilike."*harbor*",sought.not.is.null)&sought.name=ilike.*harbor*',
    ],
)
def test_every_row_that_fits_comes_once(
    office: Callable, who: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = office(who).get(f"{FILE}?{query}")
    monkeypatch.undo()
    short = office(who).get(f"{FILE}?{query}")

    assert long.status_code == short.status_code == 200
    assert long.headers["Content-Disposition"] == 'attachment; filename="inspections.csv"'
    assert sorted(rows_of(long.text)) == sorted(rows_of(short.text))
    assert numbers(long.text) == sorted(numbers(short.text))


def test_a_short_list_keeps_its_order(office: Callable) -> None:
    page = office("root").get(f"{FILE}?order=date_visited.asc.nullsfirst").text

    assert numbers(page) == [4, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.usefixtures("long_lists")
def test_long_files_hold_no_formula_either(desk: Callable, api: Callable) -> None:
    api("root").patch("/inspections?id=eq.5", {"notes": "=cmd|' /C calc'!A0"})

    answer = desk("ada").get(FILE)

    assert "'=cmd" in answer.text
    assert ",=cmd" not in answer.text


@pytest.mark.usefixtures("long_lists")
def test_gaps_between_numbers_are_passed_over(desk: Callable, api: Callable) -> None:
    far = [10**6, 10**12, 2**52]
    rows = [{"id": key, "building_id": 1, "inspection_type": "x"} for key in far]
    assert api("root").post("/inspections", rows).status == 201

    assert numbers(desk("root").get(FILE).text) == [*range(1, 10), *far]


@pytest.mark.usefixtures("long_lists")
def test_no_snapshot_is_held_while_rows_are_sent(app: object, desk: Callable) -> None:
    desk_of_root = desk("root")
    pages = 0

    with desk_of_root.client.get(FILE, buffered=False) as answer:
        for _ in answer.response:
            pages += 1
            assert CURRENT.get() is None
            database = app.extensions["walkthrough"]
            if database.path is not None:
                idle = database.connections.idle[database.reader]
                watcher = 1  # the connection of `database.data_version`
                assert database.reader.pool.checkedout() == len(idle) + watcher

    assert pages == 1 + 5


@pytest.mark.usefixtures("long_lists")
def test_a_file_ends_with_the_session(desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    pages = iter(ada.client.get(FILE, buffered=False).response)
    sent = [next(pages), next(pages)]

    meanwhile(lambda: ada.send("/console/sign-out", form="/console/"))
    sent += pages

    text = b"".join(sent).decode()
    assert numbers(text) == [1, 2]
    assert "NOT COMPLETE, it ends after number 2: Please sign in" in text


@pytest.mark.usefixtures("long_lists")
def test_what_is_revoked_meanwhile_is_not_sent(desk: Callable, api: Callable) -> None:
    moe = desk("moe")
    pages = iter(moe.client.get(FILE, buffered=False).response)
    sent = [next(pages), next(pages)]

    grants = f"/client_manager_building_access?manager_id=eq.{MOE}"
    meanwhile(lambda: api("root").delete(grants))
    sent += pages

    assert numbers(b"".join(sent).decode()) == [1, 2, 3]


@pytest.mark.usefixtures("long_lists")
def test_a_file_that_takes_too_long_says_so_and_where_the_rest_is(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(0, 10_000, 10))
    monkeypatch.setattr(downloads, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(downloads, "SECONDS_MAX", 45)
    root = office("root")

    first = root.get(f"{FILE}?id=gt.0&building_id=in.(1,2,3,4)").text
    monkeypatch.setattr(downloads, "SECONDS_MAX", 10_000)

    *_, last = rows_of(first)
    assert len(last) == 1
    assert last[0].startswith("NOT COMPLETE, it ends after number 4: it took too long")
    assert last[0].endswith(f"The rest: http://localhost{FILE}?building_id=in.(1,2,3,4)&id=gt.4")
    rest = root.get(last[0].partition("http://localhost")[2]).text
    assert "NOT COMPLETE" not in rest
    assert numbers(first) + numbers(rest) == [1, 2, 3, 4, 5, 6, 7, 9]


@pytest.mark.usefixtures("long_lists")
@pytest.mark.parametrize("span_max", [1, 0])
def test_what_takes_too_long_is_asked_in_smaller_parts(
    office: Callable, monkeypatch: pytest.MonkeyPatch, span_max: int
) -> None:
    page = downloads.page

    def slow(file: downloads.File, after: int, last: int) -> list:
        if last - after > span_max:
            raise TimedOut("canceling statement due to statement timeout")
        return page(file, after, last)

    monkeypatch.setattr(downloads, "page", slow)
    text = office("root").get(FILE).text

    assert numbers(text) == (list(range(1, 10)) if span_max else [])
    assert ("NOT COMPLETE" in text) is not span_max


@pytest.mark.usefixtures("long_lists")
def test_what_takes_too_long_to_sort_is_had_by_number(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tire(*arguments: object, **named: object) -> None:
        raise TimedOut("canceling statement due to statement timeout")

    monkeypatch.setattr(searching, "find", tire)

    assert numbers(office("root").get(FILE).text) == list(range(1, 10))


@pytest.mark.usefixtures("long_lists")
def test_long_downloads_leave_the_service_time_for_others(
    desk: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "DOWNLOADS_MAX", 1)
    root = desk("root")
    first = root.client.get(FILE, buffered=False)

    refused = root.get(FILE)
    first.close()
    looked_at = root.client.head(FILE)
    looked_at.close()

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "Others are downloading" in refused.text
    assert (looked_at.status_code, looked_at.text) == (200, "")
    assert numbers(root.get(FILE).text) == list(range(1, 10))


@pytest.mark.usefixtures("long_lists")
def test_a_wrong_address_is_no_file(office: Callable) -> None:
    for query in ("nope=eq.1", "order=nope", "id=eq.x"):
        assert office("ada").get(f"{FILE}?{query}").status_code == 400


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_begins_as_a_formula_does(start: str) -> None:
    assert downloads.harmless(f"{start}1+1") == f"'{start}1+1"
