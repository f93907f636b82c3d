"""import_csv of XRF readings: exports of instruments, calibration checks, and measurements that are not invented."""

import pathlib
from collections.abc import Callable

import pytest

from tests.conftest import dump
from tests.contract.test_rpc_import_csv import places, result

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
    assert {(row["lead_mg_cm2"], row["qualifier"], row["result"]) for row in rows} == {(None, None, "negative")}


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


@pytest.mark.parametrize(("number", "checks", "left_out"), [(1, 0, "2"), (2, 0, "2, 3"), (5, 1, "5, 6")])
def test_other_numbers_of_check_lines_are_left_out_with_a_warning(
    api: Callable, number: int, checks: int, left_out: str
) -> None:
    text = HEADER + check_lines(*["1.0"] * number) + "20,2026-05-04 09:30,Door,,0.4,\n"

    answer = readings(api, text, dry_run=False)

    assert [(each["code"], each["message"]) for each in answer["errors"]] == [
        ("01000", f"a calibration check has 3 readings: line {left_out} is not imported")
    ]
    assert (answer["errors_total"], answer["inserted"], answer["checks"]) == (0, 1, checks)
    assert len(api("ada").get("/calibration_checks?gun_id=eq.777").json) == checks


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
