"""import_csv: dry runs, errors with line and column, rows that exist already, and rights."""

import pathlib
from collections.abc import Callable

import pytest

from tests.conftest import MOE, Response, dump, rule

FILES = pathlib.Path(__file__).parent.parent / "data" / "imports"
IMPORT = "import_csv"
LAST_ENTRY = "/audit_log?select=id&order=id.desc&limit=1"
BUILDINGS = "name,address,city,floors\nNew House,1 First St,Boston,3\nOther House,2 First St,Boston,\n"


def call(api: Callable, who: str, text: str, target: str = "buildings", **arguments: object) -> Response:
    named = {f"p_{name}": value for name, value in arguments.items()}
    return api(who).rpc(IMPORT, {"p_target": target, "p_csv": text, **named})


def result(api: Callable, who: str, text: str, target: str = "buildings", **arguments: object) -> dict:
    answer = call(api, who, text, target, **arguments)
    assert answer.status == 200, answer.text
    return answer.json


def places(answer: dict) -> list[tuple]:
    """Return line, column and code of the errors."""
    return [(each["line"], each["column"], each["code"]) for each in answer["errors"]]


def building_rows(number: int, **bad: str) -> str:
    lines = [f"House {each},{each} First St,Boston,3,42.5" for each in range(number)]
    for place, line in bad.items():
        lines[int(place.removeprefix("at"))] = line
    return "name,address,city,floors,latitude\n" + "\n".join(lines) + "\n"


# Dry run and import


def test_dry_run_is_the_default_and_leaves_no_trace(api: Callable) -> None:
    before, first = dump(api), result(api, "ada", BUILDINGS, defaults={"client_id": 1})
    entries = api("root").get(LAST_ENTRY).json

    answer = result(api, "ada", BUILDINGS, defaults={"client_id": 1})

    assert answer == {
        "lines": 2,
        "header_line": 1,
        "mapping": {"name": "name", "address": "address", "city": "city", "floors": "floors"},
        "unmapped": [],
        "meta": {},
        "to_insert": 2,
        "already": 0,
        "checks": 0,
        "errors_total": 0,
        "errors": [],
        "sample": [
            {"client_id": 1, "name": "New House", "address": "1 First St", "city": "Boston", "floors": 3},
            {"client_id": 1, "name": "Other House", "address": "2 First St", "city": "Boston"},
        ],
        "inserted": 0,
        "skipped_total": 0,
        "skipped": [],
        "jobs": [],
    }
    assert dump(api) == before
    assert (answer, api("root").get(LAST_ENTRY).json) == (first, entries)


def test_dry_run_uses_no_id(api: Callable) -> None:
    row = {"name": "Before", "client_id": 1}
    before = api("root").post("/buildings", row, prefer="return=representation").json[0]["id"]

    result(api, "root", building_rows(100), defaults={"client_id": 1})

    assert api("root").post("/buildings", row, prefer="return=representation").json[0]["id"] == before + 1


def test_dry_run_takes_no_writer_lock(api: Callable) -> None:
    app = api("root").database.app_for("POST", "/buildings")
    with app.extensions["walkthrough"].writing() as transaction:
        transaction.run("UPDATE buildings SET city = 'Held' WHERE id = 1")

        answer = result(api, "ada", BUILDINGS, defaults={"client_id": 1})
        transaction.roll_back_at_end()

    assert answer["to_insert"] == 2


def test_import_writes_the_rows_with_their_audit_entries(api: Callable) -> None:
    answer = result(api, "ada", BUILDINGS, defaults={"client_id": 1}, dry_run=False)

    assert (answer["inserted"], answer["to_insert"], answer["already"]) == (2, 2, 0)
    rows = api("ada").get("/buildings?name=in.(New House,Other House)&select=id,name,floors&order=id").json
    assert [(row["name"], row["floors"]) for row in rows] == [("New House", 3), ("Other House", None)]
    entries = api("ada").get(f"/audit_log?relation=eq.buildings&row_key=eq.{rows[0]['id']}&select=action").json
    assert entries == [{"action": "insert"}]


@pytest.mark.parametrize(
    ("target", "text", "defaults"),
    [
        ("buildings", BUILDINGS, {"client_id": 1}),
        ("inspections", "Type,Date,Status\nfire,2026-01-05,Completed\nfire,,\n", {"building_id": 1}),
        ("findings", "Item,description,severity\nAlarm,None,low\nAlarm,None,low\n", {"inspection_id": 2}),
        ("schedules", "Type,title,every,unit,first_due\nfire,Alarms,1,year,2027-01-05\n", {"building_id": 1}),
    ],
)
def test_same_file_again_exists_already(api: Callable, target: str, text: str, defaults: dict) -> None:
    first = result(api, "ada", text, target, defaults=defaults, dry_run=False)
    before = dump(api)
    second = result(api, "ada", text, target, defaults=defaults, dry_run=False)

    assert (first["errors"], second["errors"]) == ([], [])
    assert (first["inserted"], first["already"]) == (first["lines"], 0)
    assert (second["inserted"], second["to_insert"], second["already"]) == (0, 0, first["lines"])
    assert dump(api) == before


def test_given_key_says_which_rows_are_the_same(api: Callable) -> None:
    text = "name,city\nMill Court,Elsewhere\nNew Court,Boston\nNew Court,Boston\n"

    by_name = result(api, "ada", text, defaults={"client_id": 1}, key=["name"])
    none = result(api, "ada", text, defaults={"client_id": 1}, key=[])

    assert (by_name["to_insert"], by_name["already"]) == (1, 2)
    assert (none["to_insert"], none["already"]) == (3, 0)


def test_lines_of_one_key_with_other_values_are_an_error(api: Callable) -> None:
    text = "name,city\nNew Court,Boston\nNew Court,Lynn\n"

    answer = result(api, "ada", text, defaults={"client_id": 1}, key=["name"], dry_run=False)

    assert places(answer) == [(3, "name", "21000")]
    assert answer["inserted"] == 0


def test_unknown_fields_are_refused(api: Callable) -> None:
    for arguments in ({"mapping": {"name": "nam"}}, {"defaults": {"client_id": 1, "towers": 2}}, {"key": ["nam"]}):
        answer = call(api, "ada", BUILDINGS, **arguments)
        assert (answer.status, answer.code) == (400, "PGRST204"), arguments


# Mapping


def test_proposed_mapping_is_accepted_back(api: Callable) -> None:
    text = (FILES / "violations.csv").read_text()
    arguments = {"defaults": {"inspection_id": 2}, "date_format": "mdy"}
    proposed = result(api, "ada", text, "findings", **arguments)

    assert result(api, "ada", text, "findings", mapping=proposed["mapping"], **arguments) == proposed


def test_given_mapping_is_the_only_one(api: Callable) -> None:
    text = "House,city,address\nNew House,Boston,1 First St\n"

    answer = result(api, "ada", text, mapping={"House": "name", "address": None}, defaults={"client_id": 1})

    assert (answer["mapping"], answer["unmapped"]) == ({"House": "name"}, ["city", "address"])
    assert answer["sample"] == [{"client_id": 1, "name": "New House"}]


@pytest.mark.parametrize(
    "mapping", [{}, {"Tower": "name"}, {"name": "floors", "floors": "floors"}], ids=["empty", "absent", "twice"]
)
def test_mapping_that_does_not_fit_the_file_is_refused(api: Callable, mapping: dict) -> None:
    answer = call(api, "ada", BUILDINGS, mapping=mapping, defaults={"client_id": 1})

    assert (answer.status, answer.code) == (400, "22023")


def test_violations_become_findings(api: Callable) -> None:
    text = (FILES / "violations.csv").read_text()

    answer = result(
        api, "ada", text, "findings", defaults={"inspection_id": 2}, date_format="mdy", closed="verified", dry_run=False
    )

    assert answer["errors"] == []
    found = (
        api("ada").get("/findings?code=like.9*&select=code,place,severity,status,due_at,description&order=code").json
    )
    assert found == [
        {
            "code": "9000001", "place": "3D, story 3", "severity": "life_threatening", "status": "open",
            "due_at": "2013-10-21T23:59:59+00:00", "description": "SMOKE DETECTOR MISSING, BATHROOM",
        },
        {
            "code": "9000002", "place": "story 1", "severity": "moderate", "status": "verified",
            "due_at": "2013-11-27T23:59:59+00:00",
            "description": "REPAIR THE BROKEN PLASTERED SURFACES\nAND PAINT IN THE 1st ROOM",
        },
    ]  # fmt: skip


def test_part_of_a_text_says_what_it_is(api: Callable) -> None:
    answer = result(
        api, "ada", "Story,NOVDescription,Rent\n3,x,y\n", "findings", defaults={"inspection_id": 2, "severity": "low"}
    )

    assert answer["sample"][0]["place"] == "story 3"


def test_deadline_follows_from_the_day_of_the_violation(api: Callable) -> None:
    text = "ViolationID,ViolationClass,InspectionDate,NOVDescription\n1,B,10/09/2013,x\n"

    answer = result(api, "ada", text, "findings", defaults={"inspection_id": 2}, date_format="mdy")

    assert answer["sample"][0]["due_at"] == "2013-11-08T23:59:59+00:00"


def test_own_csv_is_imported(api: Callable) -> None:
    printed = api("ada").get("/buildings?client_id=eq.1", accept="text/csv").text

    answer = result(api, "ada", printed, preset="walkthrough")

    assert answer["errors"] == []
    assert (answer["already"], answer["to_insert"]) == (answer["lines"], 0)
    assert answer["unmapped"] == ["id", "created_at", "updated_at"]


# Errors


def test_three_bad_cells_are_three_errors_and_nothing_is_written(api: Callable) -> None:
    text = building_rows(
        1_000,
        at10="House 10,1 First St,Boston,three,42.5",
        at500="House 500,1 First St,Boston,3,142.5",
        at998=",1 First St,Boston,3,42.5",
    )
    before = dump(api)

    answer = result(api, "ada", text, defaults={"client_id": 1}, dry_run=False)

    assert answer["errors"] == [
        {
            "line": 12, "column": "floors", "value": "three", "code": "22P02",
            "message": 'invalid input syntax for type integer: "three"',
        },
        {
            "line": 502, "column": "latitude", "value": "142.5", "code": "23514",
            "message": 'new row for relation "buildings" violates check constraint "buildings_latitude_check"',
        },
        {
            "line": 1000, "column": "name", "value": "", "code": "23502",
            "message": 'null value in column "name" of relation "buildings" violates not-null constraint',
        },
    ]  # fmt: skip
    assert (answer["errors_total"], answer["lines"], answer["inserted"]) == (3, 1000, 0)
    assert dump(api) == before


def test_dates_are_never_guessed(api: Callable) -> None:
    text = "building_id,Type,Date\n1,fire,10/09/2026\n1,fire,13/09/2026\n1,fire,2026-09-13\n"

    assert places(result(api, "ada", text, "inspections")) == [(2, "Date", "22007"), (3, "Date", "22007")]
    assert places(result(api, "ada", text, "inspections", date_format="mdy")) == [(3, "Date", "22008")]
    assert places(result(api, "ada", text, "inspections", date_format="dmy")) == []


def test_listed_errors_are_limited_and_all_are_counted(api: Callable) -> None:
    answer = result(api, "ada", "name,floors\n" + "x,y\n" * 300, defaults={"client_id": 1})

    assert (len(answer["errors"]), answer["errors_total"]) == (200, 300)


def test_surplus_cells_are_an_error(api: Callable) -> None:
    answer = result(api, "ada", "name,city\nA,B,,\nA,B,C\nD\n", defaults={"client_id": 1})

    assert [(each["line"], each["message"]) for each in answer["errors"]] == [(3, "3 cells, and the header has 2")]
    assert answer["to_insert"] == 2


def test_duplicate_of_a_unique_column_is_an_error(api: Callable) -> None:
    ref = "00000000-0000-4000-a000-000000000001"
    row = {"inspection_id": 2, "description": "x", "severity": "low", "ref": ref}
    assert api("ada").post("/findings", row).status == 201
    text = f"ref,description,severity\n{ref},y,low\n{ref[:-1]}2,y,low\n{ref[:-1]}2,z,low\n"

    answer = result(api, "ada", text, "findings", defaults={"inspection_id": 2})

    assert places(answer) == [(2, "ref", "23505"), (4, "ref", "23505")]


def test_reference_to_no_row_is_an_error_of_its_cell(api: Callable) -> None:
    text = "building_id,Type,inspector_id\n1,fire,1\n999,fire,1\n1,fire,998\n"

    answer = result(api, "root", text, "inspections")

    assert places(answer) == [(3, "building_id", "23503"), (4, "inspector_id", "23503")]


@pytest.mark.parametrize(
    ("text", "code"), [("a\nc\n", "22P04"), ("", "22P04"), ('name,city\n"x', "22P04"), ("name,city\nx\0,y", "22P05")]
)
def test_file_without_a_table_is_refused(api: Callable, text: str, code: str) -> None:
    answer = call(api, "ada", text)

    assert (answer.status, answer.code) == (400, code)


def test_file_and_call_are_limited(api: Callable) -> None:
    assert call(api, "ada", "x" * (5 << 20) + "y").refusal[:2] == (400, "22023")
    assert call(api, "ada", "x" * (6 << 20)).status == 413


# Rights


def test_row_rule_is_an_error_of_the_cell_that_names_the_parent(api: Callable) -> None:
    """A hidden building and a missing one have the same error."""
    text = "building_id,Type\n1,fire\n4,fire\n999,fire\n5,fire\n"

    answer = result(api, "ada", text, "inspections", dry_run=False)

    assert places(answer) == [(3, "building_id", "42501"), (4, "building_id", "42501"), (5, "building_id", "42501")]
    assert {each["message"] for each in answer["errors"]} == {rule("inspections")[2]}


def test_row_that_the_rule_denies_has_no_other_error(api: Callable) -> None:
    """The error of a constraint could reveal that a hidden row exists."""
    text = "building_id,Type,inspector_id,title,every,unit,first_due\n4,fire,999,Alarms,0,year,2027-01-01\n"

    assert places(result(api, "ada", text, "schedules")) == [(2, "building_id", "42501")]


def test_error_of_a_default_is_listed_once(api: Callable) -> None:
    text = "Type,Date\nfire,2026-01-05\nfire,2026-01-06\n"

    answer = result(api, "ada", text, "inspections", defaults={"building_id": 4}, dry_run=False)

    assert places(answer) == [(2, "building_id", "42501")]
    assert (answer["to_insert"], answer["inserted"]) == (0, 0)


def test_hidden_rows_do_not_count_as_existing(api: Callable) -> None:
    """ada reads a building of another client, and bob reads none of hers."""
    text = "name,address\nGröße Straße,\n"

    assert result(api, "ada", text, defaults={"client_id": 1}, key=["name"])["already"] == 1
    assert (
        result(api, "bob", "name\nHarbor House\n", defaults={"client_id": 2}, key=["name"], mapping={"name": "name"})[
            "already"
        ]
        == 0
    )


@pytest.mark.parametrize("who", ["moe", "mia"])
def test_caller_without_the_privilege_is_denied(api: Callable, who: str) -> None:
    answer = call(api, who, BUILDINGS, defaults={"client_id": 1})

    assert answer.refusal == (403, "42501", "permission denied for table buildings")


def test_inspector_imports_into_own_visits_only(api: Callable) -> None:
    """moe reads the visits 2 and 3, and conducts the visit 3 as the inspector Ines."""
    assert api("root").patch("/inspectors?id=eq.1", {"user_id": MOE}).status == 204
    text = "inspection_id,description,severity\n3,No alarm,low\n2,No alarm,low\n4,No alarm,low\n"

    refused = result(api, "moe", text, "findings", dry_run=False)
    written = result(api, "moe", text.rpartition("2,")[0], "findings", dry_run=False)

    assert places(refused) == [(3, "inspection_id", "42501"), (4, "inspection_id", "42501")]
    assert (refused["inserted"], written["inserted"]) == (0, 1)


def test_protected_columns_are_refused(api: Callable) -> None:
    text = "id,name\n7000,New House\n"

    answer = call(api, "ada", text, mapping={"id": "id", "name": "name"}, defaults={"client_id": 1})

    assert (answer.status, answer.code) == (400, "428C9")
    assert result(api, "root", text, mapping={"id": "id", "name": "name"}, defaults={"client_id": 1})["to_insert"] == 1


def test_rolled_back_import_writes_nothing(api: Callable) -> None:
    before = dump(api)
    arguments = {"p_target": "buildings", "p_csv": BUILDINGS, "p_defaults": {"client_id": 1}, "p_dry_run": False}

    answer = api("ada").rpc(IMPORT, arguments, prefer="tx=rollback")

    assert answer.json["inserted"] == 2
    assert dump(api) == before
