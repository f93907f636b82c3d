"""import_csv: files with an unknown header, exported rows, and a city's violations."""

import pathlib
from collections.abc import Callable

import pytest

from tests.conftest import MOE
from tests.contract.test_rpc_import_csv import places, result

FILES = pathlib.Path(__file__).parent.parent / "data" / "imports"


def test_header_that_nothing_knows_is_a_mapping_to_fill_in(api: Callable) -> None:
    text = (FILES / "city-unknown.csv").read_text()

    answer = result(api, "ada", text, "findings", defaults={"inspection_id": 2}, dry_run=False)

    names = ["CASE NO", "VIOLATION DATE", "VIOLATION DESCRIPTION", "VIOLATION STATUS", "ADDRESS LINE"]
    assert [*answer["mapping"], *answer["unmapped"]] == [
        "VIOLATION STATUS",
        *(n for n in names if n != "VIOLATION STATUS"),
    ]
    assert [(each["line"], each["column"], each["value"]) for each in answer["errors"]] == [
        (2, "CASE NO", "77"), (2, "VIOLATION DATE", "09/16/2026"), (2, "VIOLATION DESCRIPTION", "REPAIR PORCH STAIR"),
        (2, "ADDRESS LINE", "1 EXAMPLE ST"),
    ]  # fmt: skip
    assert {each["code"] for each in answer["errors"]} == {"22P04"}
    assert (answer["errors_total"], answer["to_insert"], answer["inserted"], answer["lines"]) == (4, 0, 0, 2)


def test_filled_in_mapping_imports_the_file(api: Callable) -> None:
    text = (FILES / "city-unknown.csv").read_text()
    mapping = {"CASE NO": "code", "VIOLATION DATE": "found_at", "VIOLATION DESCRIPTION": "description"}
    arguments = {"mapping": mapping, "date_format": "mdy", "defaults": {"inspection_id": 2, "severity": "low"}}

    refused = result(api, "ada", text, "findings", **arguments)
    written = result(api, "ada", text.replace("/26,", "/2026,"), "findings", **arguments, dry_run=False)

    [error] = [each for each in refused["errors"] if each["code"] != "01000"]
    assert (error["line"], error["column"], error["code"]) == (3, "VIOLATION DATE", "22007")
    assert error["message"] == 'the year of "09/16/26" has two digits: write it with four'
    assert (written["errors_total"], written["inserted"]) == (0, 2)


# Exported rows


def exported(api: Callable, path: str) -> str:
    return api("ada").get(path, accept="text/csv").text


def test_exported_rows_with_changes_name_the_ids_of_the_existing_rows(api: Callable) -> None:
    rows = api("ada").get("/buildings?select=id,name,address&order=id&client_id=eq.1").json
    text = exported(api, "/buildings?select=id,name,address,client_id&order=id&client_id=eq.1")
    first = str(rows[0]["address"])
    changed = text.replace(first, "9 Corrected St", 1)

    answer = result(api, "ada", changed, dry_run=False)
    ids = result(api, "ada", changed, key=["id"], dry_run=False)
    by_name = result(api, "ada", changed, key=["name"], dry_run=False)

    assert [(each["line"], each["column"], each["value"], each["code"]) for each in answer["errors"]] == [
        (2, "id", str(rows[0]["id"]), "23505")
    ]
    assert (answer["inserted"], answer["already"]) == (0, len(rows) - 1)
    assert (ids["errors_total"], ids["already"], ids["to_insert"]) == (0, len(rows), 0)
    assert by_name["errors_total"] == 0
    assert api("ada").get("/buildings?select=id,name,address&order=id&client_id=eq.1").json == rows


def test_id_of_a_hidden_row_is_that_of_no_row(api: Callable) -> None:
    """The buildings 5 and 999 are a hidden and a missing one."""
    for row_id in (4, 999):
        answer = result(api, "bob", f"id,name,city\n{row_id},New Court,Lynn\n", defaults={"client_id": 2}, key=["id"])
        assert (answer["already"], answer["to_insert"]) in ((0, 1), (1, 0))
        hidden = not api("bob").get(f"/buildings?id=eq.{row_id}").json
        assert answer["to_insert"] == int(hidden)


# Violations


def class_rows(api: Callable, **arguments: object) -> dict:
    text = (FILES / "violations-class.csv").read_text()
    return result(api, "service", text, "findings", defaults={"inspection_id": 2}, **arguments)


def visit_rows(**visit: object) -> dict:
    return {
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [{"id": 2, "building_id": 1, "inspection_type": "annual", **visit}],
    }


STARTED = {"status": "in_progress", "date_visited": "2026-06-20"}
MOES_VISIT = 3
BY_SEVERITY = {"Description": "description", "InspectionDate": "found_at", "Severity": "severity"}
NEW_YORK = {"TIMEZONE": "America/New_York"}


@pytest.mark.parametrize("visit", [{}, STARTED], ids=["scheduled", "started"])
def test_deadlines_of_classes_are_those_of_the_city(world: Callable, visit: dict) -> None:
    """The city found them before the visit."""
    api = world(visit_rows(**visit), **NEW_YORK)

    asked = class_rows(api)
    written = class_rows(api, closed="skip", dry_run=False)
    again = class_rows(api, closed="skip", dry_run=False)

    assert places(asked) == [(4, "CurrentStatus", "22P02")]
    assert (written["errors"], written["inserted"]) == ([], 3)
    assert written["skipped"] == [{"line": 4, "reason": "the city has closed the violation"}]
    assert (again["already"], again["to_insert"]) == (3, 0)
    found = api("service").get("/findings?select=code,severity,status,found_at,due_at&order=code").json
    assert [tuple(row.values()) for row in found] == [
        ("900001", "moderate", "open", "2026-05-01T04:00:00+00:00", "2026-06-01T03:59:59+00:00"),
        ("900002", "life_threatening", "open", "2026-05-01T04:00:00+00:00", "2026-06-11T03:59:59+00:00"),
        ("900004", "low", "open", "2026-05-01T04:00:00+00:00", None),
    ]


@pytest.mark.parametrize(
    ("zone", "severity", "due_at"),
    [
        ("America/New_York", "moderate", "2026-06-01T03:59:59+00:00"),
        ("Asia/Tokyo", "low", "2026-06-30T14:59:59+00:00"),
        ("America/New_York", "severe", "2026-05-02T04:00:00+00:00"),
    ],
)
@pytest.mark.parametrize("found", ["in the file", "in the defaults"])
def test_deadline_follows_from_the_severity_of_the_defaults(
    world: Callable, zone: str, severity: str, due_at: str, found: str
) -> None:
    """30 days from 1 May end on 31 May, by the calendar of TIMEZONE."""
    api, defaults = world(visit_rows(), TIMEZONE=zone), {"inspection_id": 2, "severity": severity}
    text = "NOVDescription,InspectionDate\nNo light,05/01/2026\n"
    if found == "in the defaults":
        text, defaults = "NOVDescription,Story\nNo light,3\n", {**defaults, "found_at": "2026-05-01"}

    answer = result(api, "service", text, "findings", defaults=defaults, date_format="mdy", dry_run=False)

    assert (answer["errors"], answer["sample"][0]["due_at"]) == ([], due_at)
    [row] = api("service").get("/findings?description=eq.No light&select=severity,due_at").json
    assert row == {"severity": severity, "due_at": due_at}


def test_closed_violations_are_imported_as_verified(world: Callable) -> None:
    api = world(visit_rows(**STARTED), **NEW_YORK)

    assert class_rows(api, closed="verified", dry_run=False)["inserted"] == 4

    [row] = (
        api("service")
        .get("/findings?code=eq.900003&select=status,found_at,due_at,closed_at,finding_events(kind,note)")
        .json
    )
    assert row == {
        "status": "verified", "found_at": "2013-05-01T04:00:00+00:00", "due_at": "2013-07-31T03:59:59+00:00",
        "closed_at": "2013-07-02T04:00:00+00:00",
        "finding_events": [
            {"kind": "made", "note": None}, {"kind": "verified", "note": "Imported as VIOLATION CLOSED."},
        ],
    }  # fmt: skip


@pytest.fixture
def inspector(api: Callable) -> Callable:
    """moe conducts the visit MOES_VISIT as the inspector Ines."""
    assert api("root").patch("/inspectors?id=eq.1", {"user_id": MOE}).status == 204
    return api


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_finding_of_the_first_year_is_refused(world: Callable, zone: str) -> None:
    """0001-01-01 in UTC has no local time west of it."""
    api, day = world(visit_rows(), TIMEZONE=zone), "0001-01-01T00:00:00Z"

    posted = api("service").post(
        "/findings", {"inspection_id": 2, "description": "x", "severity": "low", "found_at": day}
    )
    text = f"Description,InspectionDate,Severity,Class\nx,{day},low,\ny,2013-05-01,low,\n"
    asked = result(api, "service", text, "findings", mapping=BY_SEVERITY, defaults={"inspection_id": 2})

    assert (posted.status, posted.code) == (400, "23514")
    assert posted.json["details"] == "findings_found_at_check: found_at lies before 1900-01-01T00:00:00+00:00"
    assert places(asked) == [(2, "InspectionDate", "23514")]


def test_finding_of_the_future_is_an_error_of_its_line(api: Callable) -> None:
    text = "Description,Found,Severity\nx,2013-10-09,low\ny,2999-10-09,low\n"

    answer = result(api, "ada", text, "findings", defaults={"inspection_id": 2}, dry_run=False)

    assert places(answer) == [(3, "Found", "23514")]
    assert (answer["to_insert"], answer["inserted"]) == (1, 0)


def test_later_deadlines_than_the_rule_are_errors_of_their_lines(inspector: Callable) -> None:
    """moe may not extend findings: the 90 days of class A are more than the 60 of the rule."""
    text = (
        "ViolationID,NOVDescription,Class,InspectionDate,NewCorrectByDate\n"
        "1,x,A,2026-05-01,\n2,y,B,2026-05-01,2026-07-30\n3,z,B,2026-05-01,\n4,i,I,2026-05-01,\n"
    )

    asked = result(inspector, "moe", text, "findings", defaults={"inspection_id": MOES_VISIT})
    refused = result(inspector, "moe", text, "findings", defaults={"inspection_id": MOES_VISIT}, dry_run=False)
    of_admin = result(inspector, "ada", text, "findings", defaults={"inspection_id": MOES_VISIT})

    assert places(asked) == [(2, "Class", "23514"), (3, "NewCorrectByDate", "23514")]
    assert [each["value"] for each in asked["errors"]] == ["A", "2026-07-30"]
    assert refused == asked
    assert of_admin["errors"] == []
