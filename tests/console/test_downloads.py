"""CSV downloads: complete, in bounded memory and short transactions, and marked if incomplete."""

import csv
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from engine.interface.database import CONNECTIONS_MAX, CURRENT, TimedOut
from routes.console.components import lists
from routes.console.components.list_query import ListQuery
from tests.conftest import MOE, WRITABLE, dump

pytestmark = pytest.mark.slow

FILE = "/console/inspections.csv"


@pytest.fixture
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat lists of two rows or more as long, and read two rows at a time."""
    monkeypatch.setattr(lists, "AT_ONCE_ROWS_MAX", 1)
    monkeypatch.setattr(lists, "DOWNLOAD_PAGE_ROWS", 2)


def in_thread(act: Callable[[], object]) -> None:
    """Run another request in its own thread, as the server does."""
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
    "query", ["", "status=eq.scheduled", "order=inspection_type.asc", "id=gt.2&id=lt.9", "q=harbor"]
)
def test_long_csv_contains_each_matching_row_once(
    browse_shared: Callable, who: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = browse_shared(who).get(f"{FILE}?{query}")
    monkeypatch.undo()
    short = browse_shared(who).get(f"{FILE}?{query}")

    assert long.status_code == short.status_code == 200
    assert long.headers["Content-Disposition"] == 'attachment; filename="inspections.csv"'
    assert sorted(rows_of(long.text)) == sorted(rows_of(short.text))
    assert numbers(long.text) == sorted(numbers(short.text))


def test_short_csv_keeps_the_order_of_the_list(browse_shared: Callable) -> None:
    page = browse_shared("root").get(f"{FILE}?order=date_visited.asc.nullsfirst").text

    assert numbers(page) == [4, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.usefixtures("long_lists")
def test_long_csv_escapes_formulas(browse: Callable, api: Callable) -> None:
    api("root").patch("/inspections?id=eq.5", {"notes": "=cmd|' /C calc'!A0"})

    answer = browse("ada").get(FILE)

    assert "'=cmd" in answer.text
    assert ",=cmd" not in answer.text


@pytest.mark.usefixtures("long_lists")
def test_long_csv_skips_gaps_between_ids(browse: Callable, api: Callable) -> None:
    far = [10**6, 10**12, 2**52]
    rows = [{"id": key, "building_id": 1, "inspection_type": "x"} for key in far]
    assert api("root").post("/inspections", rows).status == 201

    assert numbers(browse("root").get(FILE).text) == [*range(1, 10), *far]


@pytest.mark.usefixtures("long_lists")
def test_no_snapshot_is_open_while_rows_are_sent(app: object, browse: Callable) -> None:
    root = browse("root")
    pages = 0

    with root.client.get(FILE, buffered=False) as answer:
        for _ in answer.response:
            pages += 1
            assert CURRENT.get() is None
            database = app.extensions["walkthrough"]
            if database.path is not None:
                watchers = CONNECTIONS_MAX + 2 - database.readers.free._value
                assert watchers in (1, 2)  # the connection of `database.data_version`, and at times the checkpointer's

    assert pages == 1 + 5


@pytest.mark.usefixtures("long_lists")
def test_csv_ends_with_the_session(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    pages = iter(ada.client.get(FILE, buffered=False).response)
    sent = [next(pages), next(pages)]

    in_thread(lambda: ada.send("/console/sign-out", form="/console/"))
    sent += pages

    text = b"".join(sent).decode()
    assert numbers(text) == [1, 2]
    assert "NOT COMPLETE. Ends after number 2: Sign in to continue" in text


@pytest.mark.usefixtures("long_lists")
def test_csv_omits_rows_revoked_during_the_download(browse: Callable, api: Callable) -> None:
    moe = browse("moe")
    pages = iter(moe.client.get(FILE, buffered=False).response)
    sent = [next(pages), next(pages)]

    grants = f"/client_manager_building_access?manager_id=eq.{MOE}"
    in_thread(lambda: api("root").delete(grants))
    sent += pages

    assert numbers(b"".join(sent).decode()) == [1, 2, 3]


@pytest.mark.usefixtures("long_lists")
def test_csv_at_the_time_limit_links_to_the_rest(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10_000, 10))
    monkeypatch.setattr(lists, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(lists, "SECONDS_MAX", 25)
    root = browse_shared("root")

    first = root.get(f"{FILE}?building_id=in.(1,2,3,4)").text
    monkeypatch.setattr(lists, "SECONDS_MAX", 10_000)

    *_, last = rows_of(first)
    assert len(last) == 1
    assert last[0].startswith("NOT COMPLETE. Ends after number 4: the download reached its time limit.")
    assert last[0].endswith(f"The rest: http://localhost{FILE}?building_id=in.(1,2,3,4)&id=gt.4")
    rest = root.get(last[0].partition("http://localhost")[2]).text
    assert "NOT COMPLETE" not in rest
    assert numbers(first) + numbers(rest) == [1, 2, 3, 4, 5, 6, 7, 9]


@pytest.mark.usefixtures("long_lists")
@pytest.mark.parametrize("size_max", [1, 0])
def test_timed_out_page_is_split(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch, size_max: int) -> None:
    page = lists.read_page

    def slow(query: ListQuery, after: int | None, size: int) -> tuple:
        if size > size_max:
            raise TimedOut()
        return page(query, after, size)

    monkeypatch.setattr(lists, "read_page", slow)
    text = browse_shared("root").get(FILE).text

    assert numbers(text) == (list(range(1, 10)) if size_max else [])
    assert ("NOT COMPLETE" in text) is not size_max


@pytest.mark.usefixtures("long_lists")
def test_timed_out_sort_falls_back_to_id_order(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*arguments: object, **named: object) -> None:
        raise TimedOut()

    monkeypatch.setattr(lists, "find_rows", time_out)

    assert numbers(browse_shared("root").get(FILE).text) == list(range(1, 10))


@pytest.mark.usefixtures("long_lists")
def test_concurrent_long_downloads_are_limited(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "DOWNLOADS_MAX", 1)
    root = browse("root")
    first = root.client.get(FILE, buffered=False)

    refused = root.get(FILE)
    first.close()
    looked_at = root.client.head(FILE)
    looked_at.close()

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "Other long downloads are in progress" in refused.text
    assert (looked_at.status_code, looked_at.text) == (200, "")
    assert numbers(root.get(FILE).text) == list(range(1, 10))


@pytest.mark.usefixtures("long_lists")
def test_invalid_csv_query_is_400(browse_shared: Callable) -> None:
    for query in ("nope=eq.1", "order=nope", "id=eq.x"):
        assert browse_shared("ada").get(f"{FILE}?{query}").status_code == 400


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_formula_prefixes_are_escaped(start: str) -> None:
    assert lists.escape_formula(f"{start}1+1") == f"'{start}1+1"


ODD_TEXTS = ("=1+1", "'=1+1", "''-5", "- loose", "it's", "'quoted'", "", "NULL", 'a "b"\r\nc', "\ufeffx", "\ttab", None)


@pytest.mark.parametrize("table", [each for each in WRITABLE if each != "users"])
def test_api_takes_the_file_of_every_table_back_unchanged(browse: Callable, api: Callable, table: str) -> None:
    for key, text in enumerate(ODD_TEXTS[:9], 1):
        api("root").patch(f"/inspections?id=eq.{key}", {"notes": text, "inspection_type": ODD_TEXTS[-key] or "-x"})
    for key, text in enumerate(ODD_TEXTS[:6], 1):
        api("root").patch(f"/buildings?id=eq.{key}", {"address": text, "city": ODD_TEXTS[-key], "latitude": -71.5})
        api("root").patch(f"/inspectors?id=eq.{key}", {"email": text})
    before = dump(api)

    file = browse("root").get(f"/console/{table}.csv").data
    answer = api("root").post(
        f"/{table}", file, content_type="text/csv; charset=utf-8", prefer="resolution=merge-duplicates"
    )

    assert (answer.status, answer.text) == (200, "")
    assert dump(api) == before


def test_api_takes_the_file_of_users_back_unchanged(browse: Callable, api: Callable) -> None:
    before = dump(api)

    file = browse("root").get("/console/people.csv").data
    answer = api("root").post("/users", file, content_type="text/csv", prefer="resolution=merge-duplicates")

    assert (answer.status, answer.text) == (200, "")
    assert dump(api) == before


def test_file_names_referred_rows_beside_their_ids(browse: Callable) -> None:
    header = rows_of(browse("root").get("/console/inspections.csv").text)[0]
    grants = rows_of(browse("root").get("/console/client_manager_building_access.csv").text)[0]

    assert header[:3] == ["id", "building_id", "building"]
    assert header[header.index("inspector_id") + 1] == "inspector"
    assert grants == [
        "manager_id", "manager", "building_id", "building", "assigned_by", "assigned_by_title", "assigned_at"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        pytest.param("building_id,building,inspection_type\n1,Anything,fire\n", 201, id="beside the id"),
        pytest.param("building,inspection_type\nHarbor House,fire\n", 400, id="without the id"),
        pytest.param("building_id,place,inspection_type\n1,Harbor House,fire\n", 400, id="another name"),
    ],
)
def test_title_column_needs_its_id(api: Callable, body: str, answer: int) -> None:
    assert api("root").post("/inspections", body, content_type="text/csv").status == answer


@pytest.mark.parametrize(("mark", "notes"), [("\ufeff", "=1+1"), ("", "'=1+1")])
def test_escape_of_a_formula_is_removed_after_a_mark_only(api: Callable, mark: str, notes: str) -> None:
    body = f"{mark}building_id,inspection_type,notes\n1,fire,'=1+1\n"

    written = api("root").post("/inspections", body.encode(), content_type="text/csv", prefer="return=representation")

    assert written.json[0]["notes"] == notes
