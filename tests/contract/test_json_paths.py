"""JSON paths into the audit log, equal to PostgreSQL's on both engines."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from tests.conftest import DATASET, Database, api_over
from tests.support import databases
from tests.support.applications import import_rows, open_app

CHANGES = {
    "status": "failed",
    "notes": 'said "no", 50% of 3 [floors] \\ Größe',
    "date_visited": None,
    "inspector_id": 2,
}


@pytest.fixture
def line(api: Callable) -> Callable[[str], object]:
    """Return the response to a select of one audit log line among others."""
    api("ada").patch("/inspections?id=eq.2", {"status": "scheduled"})
    api("ada").patch("/inspections?id=eq.1", CHANGES)
    api("ada").patch("/buildings?id=eq.1", {"latitude": 42.50, "name": "A"})

    def answer(select: str, who: str = "root") -> object:
        path = "/audit_log?relation=eq.inspections&row_key=eq.1&action=eq.update"
        response = api(who).get(f"{path}&select={select}")
        assert response.status == 200, response.text
        return response.json

    return answer


@pytest.mark.parametrize(
    ("select", "row"),
    [
        ("after->>status", {"status": "failed"}),
        ("after->status", {"status": "failed"}),
        ("old:before->>status", {"old": "completed"}),
        ("after->>notes", {"notes": CHANGES["notes"]}),
        ("after->>inspector_id", {"inspector_id": "2"}),
        ("after->inspector_id", {"inspector_id": 2}),
        ("after->>inspector_id::int", {"inspector_id": 2}),
        ("after->>date_visited", {"date_visited": None}),
        ("after->date_visited", {"date_visited": None}),
        ("after->>nothing", {"nothing": None}),
        ("after->nothing", {"nothing": None}),
        ("after->status->>0", {"status": None}),
        ("after->0", {"after": None}),
        ("after->-1", {"after": None}),
        ("after->>99999999999", {"after": None}),
        ("after->>-0", {"after": None}),
        (f"after->>{'9' * 5_000}", {"after": None}),
        (f"after->-{'9' * 5_000}", {"after": None}),
        ('after->>"sta""tus"', None),
        ('x:after->>"a.b[0]$"', {"x": None}),
        ('x:after->>"a\\"b"', {"x": None}),
        ('x:after->>"a\'b"', {"x": None}),
        ("x:after->>größe", {"x": None}),
        ("x:row_key->>status", {"x": None}),
    ],
)
def test_json_path_selects_values(line: Callable, api: Callable, select: str, row: dict | None) -> None:
    if row is None:
        assert api("root").get(f"/audit_log?select={select}").code == "PGRST100"
    else:
        assert line(select) == [row]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("after->>status=eq.failed", ["1"]),
        ("after->>status=neq.failed", ["2"]),
        ("after->>status=in.(failed,scheduled)", ["1", "2"]),
        ("after->>status=not.in.(failed)", ["2"]),
        ("after->>status=like.*ed", ["1", "2"]),
        ("after->>status=is.null", ["1", "2"]),
        ("before->>latitude=is.not_null", ["1"]),
        ("after->>latitude=eq.42.5", ["1"]),
        ("before->status=not.is.null", ["1", "2"]),
        ("or=(after->>status.eq.failed,after->>name.eq.A)", ["1", "1"]),
        ("before->>status=eq.completed&after->>inspector_id=eq.2", ["1"]),
    ],
)
@pytest.mark.parametrize("who", ["root", "ada"])
def test_filter_by_json_path(line: Callable, api: Callable, who: str, query: str, keys: list[str]) -> None:
    path = f"/audit_log?select=row_key&action=eq.update&{query}"

    page = api(who).get(path, prefer="count=exact")

    assert sorted(each["row_key"] for each in page.json) == keys
    assert page.total == str(len(keys))


def test_order_and_group_by_json_path(line: Callable, api: Callable) -> None:
    updates = "/audit_log?action=eq.update&relation=eq.inspections"

    ordered = api("root").get(f"{updates}&select=row_key&order=after->>status.desc").json
    grouped = api("root").get(f"{updates}&select=after->>status,count()").json

    assert [each["row_key"] for each in ordered] == ["2", "1"]
    assert sorted((each["status"], each["count"]) for each in grouped) == [("failed", 1), ("scheduled", 1)]


@pytest.mark.parametrize("path", ["after->>status", "row_key->>status"])
def test_order_by_json_path_with_key_filter(line: Callable, api: Callable, path: str) -> None:
    updates = "/audit_log?action=eq.update&relation=eq.inspections"

    grouped = api("ada").get(f"{updates}&select=row_key,id,count()&order={path}.desc,id")

    assert grouped.status == 200, grouped.text
    assert [each["row_key"] for each in grouped.json] == ["2", "1"]


@pytest.mark.parametrize(
    ("select", "order", "expected"),
    [
        ("after->>status", "after->>status.desc", ["scheduled", "failed"]),
        ("status:after->>status", "after->>status", ["failed", "scheduled"]),
        ("status:after->>status", "status.desc", ["scheduled", "failed"]),
    ],
)
def test_order_groups_by_their_json_path(
    line: Callable, api: Callable, select: str, order: str, expected: list[str]
) -> None:
    updates = "/audit_log?action=eq.update&relation=eq.inspections"

    grouped = api("root").get(f"{updates}&select={select},count()&order={order}")

    assert grouped.status == 200, grouped.text
    assert [each["status"] for each in grouped.json] == expected


@pytest.mark.parametrize("order", ["after->>notes", "before->>status", "action->>x"])
def test_order_groups_by_other_json_path_is_refused(api: Callable, order: str) -> None:
    """The order names the column, or another path of it."""
    select = "after:before->>notes,action,after->>status,count()"

    response = api("root").get(f"/audit_log?select={select}&order={order}")

    assert (response.status, response.code) == (400, "42803")


@pytest.mark.parametrize(
    "query",
    [
        "after->status=eq.failed",
        "order=after->status",
        "select=after->status,count()",
        "select=after->>status->x",
        "select=row_key->>status->x",
        "order=after->>status->>x",
        "after->>status->>x=eq.1",
    ],
)
def test_json_operand_of_unsupported_operator_is_refused(api: Callable, query: str) -> None:
    response = api("root").get(f"/audit_log?{query}")

    assert (response.status, response.code) == (404, "42883")


def test_json_path_filter_respects_access(line: Callable, api: Callable) -> None:
    answer = api("bob").get("/audit_log?after->>status=eq.failed", prefer="count=exact")

    assert (answer.json, answer.total) == ([], "0")


@pytest.mark.server("a file compares texts by code point alone")
def test_json_text_is_compared_by_code_point(tmp_path: pathlib.Path) -> None:
    """Text columns compare by code point too. A PostgreSQL database otherwise uses its cluster's collation."""
    with databases.connect_to("postgres") as connection:
        connection.execute("CREATE DATABASE of_a_language TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de'")
    app = open_app(tmp_path / "a.db", DATABASE_URL=databases.SERVER.format(database="of_a_language"))
    try:
        import_rows(app, DATASET)
        root = api_over(Database(lambda: app, None, app))("root")
        for name in ("a", "B", "Ä", "C"):
            assert root.patch("/buildings?id=eq.1", {"name": name}).status == 204
        lines = "/audit_log?relation=eq.buildings&action=eq.update&select=after->>name"

        ordered = root.get(f"{lines}&order=after->>name").json
        later = root.get(f"{lines}&after->>name=gt.C&order=id").json

        assert [line["name"] for line in ordered] == ["B", "C", "a", "Ä"]
        assert [line["name"] for line in later] == ["a", "Ä"]
    finally:
        app.extensions["walkthrough"].close()
        with databases.connect_to("postgres") as connection:
            connection.execute("DROP DATABASE of_a_language WITH (FORCE)")


@pytest.mark.parametrize(
    ("latitude", "text"),
    [(42.0, "42"), (-71.25, "-71.25"), (1 / 3, "0.3333333333333333"), (1e-05, "1e-05"), (5e-324, "5e-324")],
)
def test_json_number_as_text_equals_column_text(api: Callable, latitude: float, text: str) -> None:
    api("ada").patch("/buildings?id=eq.1", {"latitude": latitude})
    stored = api("ada").get("/buildings?id=eq.1&select=latitude::text").json
    lines = "/audit_log?action=eq.update&relation=eq.buildings"

    expected = api("ada").get(f"{lines}&select=after->>latitude").json
    found = api("ada").get(f"{lines}&select=row_key&after->>latitude=eq.{text.replace('+', '%2B')}")

    assert expected == stored == [{"latitude": text}]
    assert found.json == [{"row_key": "1"}]
