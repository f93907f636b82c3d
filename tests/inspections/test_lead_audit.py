"""The audit log of readings and calibration checks: one entry for each change of a row."""

from collections.abc import Callable

import pytest

from engine import rows
from tests.inspections.lead_world import MOMENT, RETURN, at, check, lead_rows, make, reading, stored

MERGE = "resolution=merge-duplicates"
REF = "6f1d2c1e-0c55-4f8a-8a3c-111111111111"


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(lead_rows(), MOMENT)


def entries(api: Callable, table: str, id_: int) -> list[tuple[dict, dict]]:
    """Return the values before and after each logged update of a row, without timestamps."""
    path = f"/audit_log?relation=eq.{table}&row_key=eq.{id_}&action=eq.update&order=id"
    logged = api("root").get(path).json
    return [
        tuple(
            {name: value for name, value in each[side].items() if name != "updated_at"} for side in ("before", "after")
        )
        for each in logged
    ]


def doors(api: Callable, table: str, row: dict, changes: dict) -> dict[str, Callable]:
    body = {name: value for name, value in row.items() if name in ("inspection_id", "gun_id", "taken_at", "ref")}
    body |= {name: row[name] for name in ("first", "second", "third", "lead_mg_cm2") if name in row} | changes
    computed = {"mean", "check_low", "check_high", "result", "classification"}
    whole = {name: None if name in computed else value for name, value in (row | changes).items()}
    return {
        "patch": lambda: api("ada").patch(f"/{table}?id=eq.{row['id']}", changes),
        "patch by a filter": lambda: api("ada").patch(f"/{table}?ref=eq.{REF}", changes),
        "upsert": lambda: api("ada").post(f"/{table}?on_conflict=ref", body, prefer=MERGE),
        "upsert of two": lambda: api("ada").post(
            f"/{table}?on_conflict=ref", [body, {**body, "ref": REF.replace("1", "2")}], prefer=MERGE
        ),
        "put": lambda: api("root").put(f"/{table}?id=eq.{row['id']}", whole),
    }


DOORS = ["patch", "patch by a filter", "upsert", "upsert of two", "put"]


@pytest.mark.parametrize("door", DOORS)
def test_change_of_a_check_is_one_entry(lead: Callable, door: str) -> None:
    [made] = make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0), ref=REF))

    changed = doors(lead, "calibration_checks", made, {"first": 3.0})[door]()

    assert changed.status < 300, changed.text
    assert entries(lead, "calibration_checks", made["id"]) == [
        ({"first": 1.0, "mean": 1.0, "result": "pass"}, {"first": 3.0, "mean": 1.667, "result": "fail"})
    ]
    row = stored(lead, "calibration_checks", made["id"])
    assert (row["mean"], row["result"]) == (1.667, "fail")


@pytest.mark.parametrize("door", DOORS)
def test_change_of_a_reading_is_one_entry(lead: Callable, door: str) -> None:
    [made] = make(lead, "reports_lead", {**reading(0.3), "ref": REF})

    changed = doors(lead, "reports_lead", made, {"lead_mg_cm2": 1.4})[door]()

    assert changed.status < 300, changed.text
    was = {"lead_mg_cm2": 0.3, "classification": "negative", "result": "negative"}
    becomes = {"lead_mg_cm2": 1.4, "classification": "positive", "result": "positive"}
    assert entries(lead, "reports_lead", made["id"]) == [(was, becomes)]


def test_each_row_of_a_patch_is_one_entry(lead: Callable) -> None:
    readings = [(0.3, None), (1.4, None), (0.3, "see note")]
    made = make(lead, "reports_lead", [reading(value, result=result) for value, result in readings])

    changed = lead("ada").patch("/reports_lead?inspection_id=eq.2000", {"qualifier": ">"}, prefer=RETURN).json

    assert [(each["classification"], each["result"]) for each in changed] == [
        ("inconclusive", "inconclusive"), ("positive", "positive"), ("inconclusive", "see note")
    ]  # fmt: skip
    assert [len(entries(lead, "reports_lead", each["id"])) for each in made] == [1, 1, 1]


@pytest.mark.parametrize("door", ["upsert", "put"])
def test_null_result_beside_a_new_value_is_the_classification(lead: Callable, door: str) -> None:
    [made] = make(lead, "reports_lead", {**reading(0.3), "ref": REF, "result": "see note"})

    doors(lead, "reports_lead", made, {"lead_mg_cm2": 1.4, "result": None})[door]()

    row = stored(lead, "reports_lead", made["id"])
    assert (row["classification"], row["result"]) == ("positive", "positive")


def test_refused_change_leaves_no_entry(lead: Callable) -> None:
    [made] = make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0), ref=REF))

    for changes in ({"first": 51}, {"first": None}, {"inspection_id": 77_777}):
        for door in DOORS[:3]:
            refused = doors(lead, "calibration_checks", made, changes)[door]()
            assert 400 <= refused.status < 500, refused.text

    assert stored(lead, "calibration_checks", made["id"]) == made
    assert entries(lead, "calibration_checks", made["id"]) == []


@pytest.mark.parametrize("gun_id", [555, 556])
@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, None), (None, 2)])
def test_limits_of_a_moved_instrument_are_recorded_for_both_clients(
    lead: Callable, old: int | None, new: int | None, gun_id: int
) -> None:
    body = {"gun_id": 555, "client_id": old, "make": "Niton", "model": "XLp 300A", "serial": "S-555"}
    [moved] = make(lead, "xrf_instruments", body, "root")
    limits = {"gun_id": 555, "client_id": old, "substrate": "wood", "negative_below": 1, "positive_from": 1}
    [limit] = make(lead, "xrf_limits", limits, "root")

    changes = {"client_id": new, "gun_id": gun_id}
    assert lead("root").patch(f"/xrf_instruments?id=eq.{moved['id']}", changes).status == 204

    for table, row_id in (("xrf_instruments", moved["id"]), ("xrf_limits", limit["id"])):
        logged = lead("root").get(f"/audit_log?relation=eq.{table}&row_key=eq.{row_id}&order=id").json
        assert [(each["action"], each["client_id"]) for each in logged] == [
            ("insert", old), ("delete", old), ("insert", new)
        ]  # fmt: skip
        assert logged[-1]["after"]["gun_id"] == gun_id


def test_limits_of_an_instrument_with_another_number_are_recorded(lead: Callable) -> None:
    body = {"gun_id": 555, "client_id": 1, "make": "Niton", "model": "XLp 300A", "serial": "S-555"}
    [renamed] = make(lead, "xrf_instruments", body, "root")
    limits = {"gun_id": 555, "client_id": 1, "substrate": "wood", "negative_below": 1, "positive_from": 1}
    [limit] = make(lead, "xrf_limits", limits, "root")

    assert lead("root").patch(f"/xrf_instruments?id=eq.{renamed['id']}", {"gun_id": 556}).status == 204

    assert entries(lead, "xrf_limits", limit["id"]) == [({"gun_id": 555}, {"gun_id": 556})]
    assert lead("ada").get(f"/audit_log?relation=eq.xrf_limits&row_key=eq.{limit['id']}&action=eq.update").json


def test_truth_values_are_logged_as_such(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", reading(0.3))
    database = lead("root").database.app_for("POST", "/").extensions["walkthrough"]
    for flag in (True, False):
        with database.writing() as transaction:
            rows.update_rows(transaction, "reports_lead", [(made["id"],)], {"time_is_by_order": flag})
    assert lead("service").delete(f"/reports_lead?id=eq.{made['id']}").status == 204

    sides = ",".join(f"{side}:{side}->time_is_by_order" for side in ("before", "after"))
    path = f"/audit_log?relation=eq.reports_lead&row_key=eq.{made['id']}&order=id&select={sides}"
    logged = [(each["before"], each["after"]) for each in lead("root").get(path).json]
    assert str(logged) == str([(None, False), (False, True), (True, False), (False, None)])
