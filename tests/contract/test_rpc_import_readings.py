"""import_csv of XRF readings: exports of instruments, calibration checks, and measurements that are not invented."""

import pathlib
from collections.abc import Callable

import pytest

from tests.conftest import dump
from tests.contract.test_rpc_import_csv import call, places, result

FILES = pathlib.Path(__file__).parent.parent / "data" / "imports"
VIKEN, NITON = (FILES / "viken.csv").read_text(), (FILES / "niton.csv").read_text()
DEFAULTS = {"inspection_id": 2, "gun_id": 777}
COLUMNS = (
    "select=reading_no,taken_at,room,wall,component,substrate,color,condition,lead_mg_cm2,qualifier,result"
    "&gun_id=eq.777&order=id"
)
HEADER = "Reading No,Time,Component,Results,PbC,Units\n"


def readings(api: Callable, text: str, **arguments: object) -> dict:
    return result(api, "ada", text, "reports_lead", defaults=DEFAULTS, **arguments)


def check_lines(*values: str, minute: int = 0) -> str:
    return "".join(f"{minute + n},2026-05-04 09:{minute + n:02},cal,,{value},\n" for n, value in enumerate(values, 1))


@pytest.mark.parametrize("preset", [None, "viken_pb200i"])
def test_readings_of_a_viken_are_imported(api: Callable, preset: str | None) -> None:
    answer = readings(api, VIKEN, preset=preset, dry_run=False)

    assert (answer["errors"], answer["inserted"], answer["header_line"]) == ([], 2, 7)
    assert answer["meta"]["Serial Num"] == "1170"
    assert answer["mapping"]["Concentra"] == "lead_mg_cm2"
    rows = api("ada").get(f"/reports_lead?{COLUMNS}").json
    assert rows == [
        {
            "reading_no": 1, "taken_at": None, "room": "Kitchen 1", "wall": None, "component": "Wall-Ceiling",
            "substrate": "Plaster", "color": "White", "condition": None, "lead_mg_cm2": 0.4, "qualifier": None,
            "result": "negative",
        },
        {
            "reading_no": 2, "taken_at": None, "room": "Bedroom 2", "wall": None, "component": "Window Sill",
            "substrate": "Wood", "color": "White", "condition": None, "lead_mg_cm2": 1.2, "qualifier": None,
            "result": "positive",
        },
    ]  # fmt: skip


@pytest.mark.parametrize("preset", [None, "niton"])
def test_readings_and_checks_of_a_niton_are_imported(api: Callable, preset: str | None) -> None:
    answer = readings(api, NITON, preset=preset, dry_run=False)

    assert (answer["errors"], answer["inserted"], answer["checks"]) == ([], 2, 1)
    rows = api("ada").get(f"/reports_lead?{COLUMNS}").json
    assert [(row["reading_no"], row["lead_mg_cm2"], row["qualifier"], row["room"]) for row in rows] == [
        (4, 0.03, "<", "KITCHEN, floor 1"),
        (5, 6.2, None, "HALL, floor 1"),
    ]
    [check] = api("ada").get("/calibration_checks?gun_id=eq.777&select=inspection_id,taken_at,first,second,third").json
    assert check == {
        "inspection_id": 2, "taken_at": "2026-05-04T09:12:00+00:00", "first": 1.0, "second": 1.1, "third": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("text", [VIKEN, NITON])
def test_same_file_again_exists_already(api: Callable, text: str) -> None:
    first = readings(api, text, dry_run=False)
    before = dump(api)
    second = readings(api, text, dry_run=False)

    assert (second["to_insert"], second["already"], second["checks"]) == (0, first["inserted"], 0)
    assert dump(api) == before


def test_equal_readings_without_numbers_are_all_imported(api: Callable) -> None:
    text = "Component,PbC\nDoor,0.4\nDoor,0.4\nDoor,0.5\n"

    first = readings(api, text, dry_run=False)
    longer = readings(api, text + "Door,0.4\n")

    assert (first["inserted"], first["already"]) == (3, 0)
    assert (longer["to_insert"], longer["already"]) == (1, 3)


def test_repeated_number_is_one_reading_or_an_error(api: Callable) -> None:
    line, changed = "7,2026-05-04 09:20,Door,,0.4,\n", "7,2026-05-04 09:20,Door,,0.5,\n"

    same, other = readings(api, HEADER + line + line), readings(api, HEADER + line + changed)

    assert (same["to_insert"], same["already"], same["errors"]) == (1, 1, [])
    assert [(each["line"], each["code"]) for each in other["errors"]] == [(3, "21000")]


def test_measurement_is_never_invented(api: Callable) -> None:
    text = HEADER + "1,,Door,Negative,,\n2,,Door,,Negative,\n3,,Door,Negative,< LOD,mg/cm2\n"

    assert readings(api, text, dry_run=False)["inserted"] == 3
    rows = api("ada").get(f"/reports_lead?{COLUMNS}").json
    assert [(row["lead_mg_cm2"], row["qualifier"], row["result"]) for row in rows] == [
        (None, None, "negative"), (None, None, "negative"), (None, "<", "negative"),
    ]  # fmt: skip


def test_other_unit_is_an_error(api: Callable) -> None:
    text = HEADER + "1,,Door,,1.5,ppm\n2,,Door,,1.5 ppm,\n3,,Door,,1.5,mg / cm ^2\n"

    assert places(readings(api, text)) == [(2, "Units", "22P02"), (3, "PbC", "22P02")]


def test_times_are_those_of_the_service_zone(world: Callable) -> None:
    rows = {
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [{"id": 2, "building_id": 1, "inspection_type": "lead"}],
    }
    api = world(rows, TIMEZONE="America/New_York")

    answer = result(
        api, "service", HEADER + "1,5/4/2026 9:12 PM,Door,,1,\n", "reports_lead", defaults=DEFAULTS, date_format="mdy"
    )

    assert answer["sample"][0]["taken_at"] == "2026-05-05T01:12:00+00:00"


def test_imported_readings_and_checks_have_results(api: Callable) -> None:
    """The domain rules of a POST apply."""
    text = HEADER + check_lines("1.0", "1.1", "1.0") + "20,,Door,,0.3,\n21,,Door,,1.4,\n"

    assert readings(api, text, dry_run=False)["errors"] == []
    rows = api("ada").get("/reports_lead?gun_id=eq.777&select=result,classification&order=id").json
    assert [tuple(row.values()) for row in rows] == [("negative", "negative"), ("positive", "positive")]
    assert api("ada").get("/calibration_checks?gun_id=eq.777&select=mean,result").json == [
        {"mean": 1.033, "result": "pass"}
    ]


# Calibration checks


def test_checks_are_made_in_threes(api: Callable) -> None:
    door = "20,2026-05-04 09:30,Door,,0.4,\n"
    text = HEADER + check_lines("1.0", "1.1", "0.9", "1.2", "1.2", "1.2") + door + check_lines("1", "1", "1", minute=40)

    answer = readings(api, text, dry_run=False)

    assert (answer["inserted"], answer["checks"], answer["errors"]) == (1, 3, [])
    checks = api("ada").get("/calibration_checks?gun_id=eq.777&select=first,second,third&order=taken_at").json
    assert [tuple(each.values()) for each in checks] == [(1.0, 1.1, 0.9), (1.2, 1.2, 1.2), (1.0, 1.0, 1.0)]


@pytest.mark.parametrize(("number", "lines"), [(1, "2"), (2, "2, 3"), (4, "2, 3, 4, 5"), (5, "2, 3, 4, 5, 6")])
def test_other_numbers_of_check_lines_are_an_error_that_asks(api: Callable, number: int, lines: str) -> None:
    """A check that failed may hide in them."""
    text = HEADER + check_lines(*["1.0"] * number) + "20,2026-05-04 09:30,Door,,0.4,\n"

    answer = readings(api, text, dry_run=False)

    assert [(each["line"], each["column"], each["code"]) for each in answer["errors"]] == [
        (number + 1, "Component", "22P02")
    ]
    assert f"lines {lines} are {number}: say which lines are left out (p_skip_lines)" in answer["errors"][0]["message"]
    assert (answer["errors_total"], answer["inserted"]) == (1, 0)


def test_lines_are_left_out_as_asked(api: Callable) -> None:
    text = HEADER + check_lines("1.4", "1.0", "1.0", "1.0") + "20,2026-05-04 09:30,Door,,0.4,\n"

    answer = readings(api, text, skip_lines=[2], dry_run=False)

    assert (answer["errors"], answer["inserted"], answer["checks"]) == ([], 1, 1)
    assert (answer["skipped_total"], answer["skipped"]) == (1, [{"line": 2, "reason": "left out as asked"}])


def test_errors_of_a_check_name_the_line_of_its_reading(api: Callable) -> None:
    text = HEADER + check_lines("1.0", "77", "1.0", "1.0", "", "x") + check_lines("1", "1", "<1", minute=20)

    answer = readings(api, text)

    assert places(answer) == [(3, "PbC", "23514"), (6, "PbC", "23502"), (7, "PbC", "22P02"), (10, "PbC", "22P02")]
    assert (answer["errors_total"], answer["checks"]) == (4, 0)


def test_check_needs_its_time(api: Callable) -> None:
    answer = readings(api, "Component,PbC\ncal,1\ncal,1\ncal,1\nDoor,0.4\n", dry_run=False)

    assert places(answer) == [(2, "taken_at", "23502")]
    assert answer["inserted"] == 0


def test_checks_have_a_file_of_their_own(api: Callable) -> None:
    text = "gun_id,taken_at,first,second,third\n777,2026-05-04 09:12,1.0,1.1,x\n777,2026-05-04 10:12,1.0,1.1,1.0\n"

    answer = result(api, "ada", text, "calibration_checks", defaults={"inspection_id": 2})

    assert places(answer) == [(2, "third", "22P02")]
    assert answer["to_insert"] == 1


# Rights


def test_readings_of_a_hidden_visit_are_errors_without_a_trace_of_it(api: Callable) -> None:
    """The visit 6 of another client and the missing visit 999 have the same answer."""
    answers = [
        result(api, "ada", NITON, "reports_lead", defaults={"inspection_id": visit, "gun_id": 20417}, dry_run=False)
        for visit in (6, 999)
    ]

    assert {code for answer in answers for _, _, code in places(answer)} == {"42501"}
    for answer in answers:
        assert (answer["already"], answer["to_insert"], answer["inserted"], answer["checks"]) == (0, 0, 0, 0)
        for each in answer["errors"]:
            each["value"] = None
    assert answers[0]["errors"] == answers[1]["errors"]


def test_large_file_is_imported_in_one_transaction(api: Callable) -> None:
    lines = "".join(
        f"{n},2026-05-04 {n // 600:02}:{n // 10 % 60:02},Door {n % 50},,{n % 30 / 10},\n" for n in range(1, 10_001)
    )

    answer = readings(api, HEADER + lines, dry_run=False)

    assert (answer["inserted"], answer["errors"]) == (10_000, [])
    [counted] = api("ada").get("/reports_lead?gun_id=eq.777&select=count()").json
    assert counted == {"count": 10_000}
    entries = api("root").get("/audit_log?relation=eq.reports_lead&action=eq.insert&select=at,count()").json
    assert [each["count"] for each in entries] == [10_000]


# Files of the field


def test_failed_shots_of_a_viken_are_skipped(api: Callable) -> None:
    text = (FILES / "viken-failed.csv").read_text()

    asked = readings(api, text)

    assert asked["skipped"] == [
        {"line": 12, "reason": "the shot failed: null"}, {"line": 13, "reason": "the shot failed: aborted"}
    ]  # fmt: skip
    [error] = [each for each in asked["errors"] if each["column"] == "COMPONENT"]
    assert (error["line"], error["code"]) == (16, "22P02")
    assert "lines 15, 16 are 2" in error["message"]


def test_lines_of_a_niton_that_are_no_readings_are_skipped_or_checks(api: Callable) -> None:
    text = (FILES / "niton-standards.csv").read_text()

    asked = readings(api, text)
    written = readings(api, text, skip_lines=[8], dry_run=False)

    assert asked["skipped"] == [{"line": 2, "reason": "the instrument tested itself: SHUTTER_CAL"}]
    assert (asked["errors_total"], asked["errors"][-1]["line"]) == (1, 11)
    assert (written["errors_total"], written["inserted"], written["checks"]) == (0, 2, 2)
    rows = api("ada").get("/reports_lead?gun_id=eq.777&select=component,lead_mg_cm2,qualifier,result&order=id").json
    assert [tuple(row.values()) for row in rows] == [
        ("Door frame", None, "<", "negative"), ("Door frame", 5.0, ">", "positive"),
    ]  # fmt: skip
    checks = api("ada").get("/calibration_checks?gun_id=eq.777&select=first,second,third,result&order=taken_at").json
    assert [tuple(each.values()) for each in checks] == [(1.0, 1.1, 1.0, "pass"), (1.3, 1.2, 1.3, "fail")]


@pytest.mark.parametrize("name", ["viken-failed.csv", "niton-standards.csv"])
def test_file_with_skipped_lines_exists_already_the_second_time(api: Callable, name: str) -> None:
    text = (FILES / name).read_text()
    lines = {"viken-failed.csv": [7, 13, 15, 16], "niton-standards.csv": [11]}[name]
    changed = text.replace("-0.1", "0.1")

    first = readings(api, changed, skip_lines=lines, dry_run=False)
    second = readings(api, changed, skip_lines=lines, dry_run=False)

    assert (first["errors_total"], first["already"]) == (0, 0)
    assert (second["already"], second["to_insert"], second["checks"]) == (first["inserted"], 0, 0)


def test_line_in_counts_per_second_is_no_reading(api: Callable) -> None:
    text = HEADER + "1,,Door,,4.2,cps\n2,,Door,,4.2 cps,\n3,,Door,,0.4,\n"

    answer = readings(api, text)

    assert [each["line"] for each in answer["skipped"]] == [2, 3]
    assert (answer["to_insert"], answer["errors"]) == (1, [])


def test_shutter_of_a_building_is_a_reading(api: Callable) -> None:
    """The shutter of an instrument has neither a place nor a substrate."""
    text = "Reading No,Component,Substrate,PbC\n1,Shutter,,0\n2,Shutter,Wood,2.1\n3,Standard door,Wood,2.0\n"

    answer = readings(api, text)

    assert [each["line"] for each in answer["skipped"]] == [2]
    assert [row["lead_mg_cm2"] for row in answer["sample"]] == [2.1, 2.0]


def test_standards_of_two_names_are_two_sets(api: Callable) -> None:
    lines = [f"{n},2026-05-04 09:{n:02},{'1.02 STD' if n < 3 else 'NIST 1.0'},,1.0,\n" for n in range(1, 7)]

    answer = readings(api, HEADER + "".join(lines))

    assert [(each["line"], each["code"]) for each in answer["errors"]] == [(3, "22P02"), (7, "22P02")]


def test_result_of_the_instrument_that_differs_is_a_warning(api: Callable) -> None:
    text = HEADER + "1,,Sill,Positive,0.6,\n2,,Sill,Negative,0.6,\n3,,Sill,NEG,1.2,\n"

    answer = readings(api, text)

    assert [(each["line"], each["column"], each["code"]) for each in answer["errors"]] == [
        (2, "Results", "01000"), (4, "Results", "01000"),
    ]  # fmt: skip
    assert answer["errors"][0]["message"].startswith("the result is positive, and by its limits the value is negative")
    assert (answer["errors_total"], answer["to_insert"]) == (0, 3)


def test_result_in_another_word_is_an_error(api: Callable) -> None:
    text = HEADER + "1,,Sill,Perhaps,0.6,\n2,,Sill,Négatif,0.6,\n3,,Sill,,POS,\n"

    answer = readings(api, text)

    assert places(answer) == [(2, "Results", "22P02")]
    assert [row.get("result") for row in answer["sample"]] == ["negative", "positive"]


def test_other_unit_of_the_header_is_an_error(api: Callable) -> None:
    assert places(readings(api, "Reading No,Component,PbC (ppm)\n1,Sill,900\n")) == [(2, "PbC (ppm)", "22P02")]
    assert places(readings(api, "Reading No,Component,PbC (mg/cm2)\n1,Sill,0.9\n")) == []


# Decimal marks and jobs


def test_two_jobs_ask_for_their_visits(api: Callable) -> None:
    text = (FILES / "two-jobs.csv").read_text()

    points = readings(api, text)
    asked = readings(api, text, decimal="comma")

    assert [(line, column) for line, column, _ in places(points)] == [(2, "PbC"), (2, "Job"), (3, "PbC")]
    assert places(asked) == [(2, "Job", "22P02")]
    assert asked["errors"][0]["message"] == (
        'the column has several values: "J1", "J2". Say the visit of each (p_split)'
    )
    assert (asked["jobs"], asked["inserted"]) == (["J1", "J2"], 0)


def test_each_job_goes_to_its_visit(api: Callable) -> None:
    text = (FILES / "two-jobs.csv").read_text()

    first = readings(api, text, decimal="comma", split={"J1": 2, "J2": 1}, dry_run=False)
    second = readings(api, text, decimal="comma", split={"J1": 2, "J2": 1}, dry_run=False)

    assert (first["errors"], first["inserted"], second["already"], second["to_insert"]) == ([], 2, 2, 0)
    rows = api("ada").get("/reports_lead?gun_id=eq.777&select=inspection_id,lead_mg_cm2&order=id").json
    assert [tuple(row.values()) for row in rows] == [(2, 0.2), (1, 1.7)]


def test_rights_are_checked_for_the_visit_of_each_job(api: Callable) -> None:
    """The visit 6 belongs to another client."""
    text = (FILES / "two-jobs.csv").read_text()

    answer = readings(api, text, decimal="comma", split={"J1": 2, "J2": 6}, dry_run=False)

    assert [code for _, _, code in places(answer)] == ["42501"]
    assert (answer["to_insert"], answer["inserted"]) == (1, 0)


def test_split_of_other_jobs_is_refused(api: Callable) -> None:
    text = (FILES / "two-jobs.csv").read_text()

    missing = readings(api, text, decimal="comma", split={"J1": 2})
    unknown = call(api, "ada", text, "reports_lead", decimal="comma", split={"J3": 2})
    elsewhere = call(api, "ada", "name,city\nA,B\n", split={"J1": 2})

    assert places(missing) == [(3, "Job", "22P02")]
    assert (unknown.code, elsewhere.code) == ("22023", "22023")


def test_one_job_asks_nothing(api: Callable) -> None:
    text = "Site,Reading No,Component,PbC\nA,1,Door,0.4\nA,2,Door,0.4\n,3,Door,0.4\n"

    assert readings(api, text)["errors"] == []


def test_column_of_several_values_that_fills_nothing_is_a_warning(api: Callable) -> None:
    text = "Reading No,Component,PbC,Weather,Sequence\n1,Door,0.4,Rain,Final\n2,Door,0.4,Sun,First\n"

    answer = readings(api, text)
    named = readings(api, text, mapping={**answer["mapping"], "Weather": None})
    same = readings(api, text.replace("Sun", "Rain"))

    assert [(each["line"], each["column"], each["code"]) for each in answer["errors"]] == [(1, "Weather", "01000")]
    assert (answer["errors_total"], named["errors"], same["errors"]) == (0, [], [])


# Readings in a lead visit


@pytest.fixture
def visit(world: Callable) -> Callable:
    """The lead visit 2 of May 4, and the instrument 777 with another limit in its quick mode."""
    rows = {
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [
            {
                "id": 2, "building_id": 1, "inspection_type": "lead", "status": "in_progress",
                "date_visited": "2026-05-04",
            }
        ],
        "xrf_instruments": [{"id": 1, "gun_id": 777, "make": "Viken", "model": "Pb200i", "serial": "1170"}],
        "xrf_limits": [{"gun_id": 777, "mode": "Quick", "negative_below": 0.4, "positive_from": 0.4}],
    }  # fmt: skip
    return world(rows, "2026-05-04T21:00:00+00:00")


def imported(visit: Callable, text: str, **arguments: object) -> dict:
    answer = result(visit, "service", text, "reports_lead", defaults=DEFAULTS, dry_run=False, **arguments)
    assert (answer["errors_total"], answer["inserted"]) == (0, answer["to_insert"])
    return answer


def test_positive_of_the_instrument_counts_until_somebody_decides(visit: Callable) -> None:
    """Skipped shots, a value below zero, and a second check that the inspector enters by hand."""
    answer = imported(visit, (FILES / "viken-failed.csv").read_text(), skip_lines=[15, 16])
    check = {"inspection_id": 2, "gun_id": 777, "first": 1.0, "second": 1.0, "third": 1.1}
    assert visit("service").post("/calibration_checks", {**check, "taken_at": "2026-05-04T10:40:00Z"}).status == 201

    assert (answer["inserted"], answer["checks"]) == (2, 1)
    rows = visit("service").get("/reports_lead?select=reading_no,dwelling,lead_mg_cm2,result,classification").json
    assert [tuple(row.values()) for row in rows] == [
        (4, "3D", 0.6, "positive", "negative"), (7, "3D", -0.1, "negative", "negative"),
    ]  # fmt: skip
    summary = visit("service").rpc("lead_summary", {"p_inspection_id": 2}).json
    assert summary["validity"] == {"valid": 2, "open": 0, "late": 0, "doubtful": 0, "no_check": 0}
    assert (summary["positive"], summary["negative"], summary["complete"]) == (1, 1, False)
    assert [(each["code"], each["readings"]) for each in summary["problems"]] == [("conflict", 1)]
    assert "conflict" in visit("service").rpc("report_gaps", {"p_inspection_id": 2, "p_rule": "federal"}).json
    report = visit("service").get("/reports/inspections/2?kind=lead", accept="application/json").json
    assert [each["component"] for each in report["positives"]] == ["Window sill"]


def test_given_times_are_those_of_the_order(visit: Callable) -> None:
    text = "Reading No,Time,Component,PbC\n1,,A,0.1\n2,,B,0.1\n3,2026-05-04 10:00,C,0.1\n4,,D,0.1\n"

    imported(visit, text, taken_from="2026-05-04T09:00", taken_to="2026-05-04T11:00")

    rows = visit("service").get("/reports_lead?select=taken_at,time_is_by_order&order=reading_no").json
    assert [tuple(row.values()) for row in rows] == [
        ("2026-05-04T09:00:00+00:00", True), ("2026-05-04T09:30:00+00:00", True),
        ("2026-05-04T10:00:00+00:00", False), ("2026-05-04T11:00:00+00:00", True),
    ]  # fmt: skip


def test_mode_of_a_file_chooses_the_limits(visit: Callable) -> None:
    imported(visit, "Reading No,Mode,Component,PbC\n1,quick,A,0.6\n2,,B,0.6\n3,quick,C,< LOD\n")

    columns = "mode,lead_mg_cm2,qualifier,classification,positive_from,limits_from"
    rows = visit("service").get(f"/reports_lead?select={columns}&order=reading_no").json
    assert [tuple(row.values()) for row in rows] == [
        ("quick", 0.6, None, "positive", 0.4, "sheet"), (None, 0.6, None, "negative", 1.0, "sheet"),
        ("quick", None, "<", "negative", 0.4, "sheet"),
    ]  # fmt: skip


def test_detection_limit_is_no_gap_of_the_report(visit: Callable) -> None:
    """The fourth line of the second set is left out; its mean is too high."""
    imported(visit, (FILES / "niton-standards.csv").read_text(), skip_lines=[11])

    summary = visit("service").rpc("lead_summary", {"p_inspection_id": 2}).json
    assert [(each["code"], each["readings"]) for each in summary["problems"]] == [("failed_check", 2)]
    assert summary["validity"]["doubtful"] == 2
