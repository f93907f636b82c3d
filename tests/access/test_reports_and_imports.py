"""Reports and summaries show no row that a list hides; an import writes no row that a POST could not."""

from collections.abc import Callable, Iterator

import pytest

from tests.access.test_access_matrix import EVERYTHING, READABLE
from tests.conftest import MOE, dump

INSPECTIONS = sorted(EVERYTHING["inspections"])
GUNS = {1: 77, 2: 78, 3: 79, 4: 80}
"""The numbers of the instruments of the data set."""


@pytest.mark.parametrize("who", READABLE)
def test_reports_and_summaries_have_the_rows_that_the_role_reads(api: Callable, who: str) -> None:
    caller, readable = api(who), READABLE[who]
    for key in INSPECTIONS:
        asked = {"p_inspection_id": key}
        answers = [
            caller.get(f"/reports/inspections/{key}?kind=lead", accept="application/json"),
            caller.get(f"/reports/inspections/{key}?kind=findings", accept="application/json"),
            caller.rpc("lead_summary", asked),
            caller.rpc("report_gaps", {**asked, "p_rule": "federal"}),
        ]
        if key not in readable["inspections"]:
            assert [each.refusal for each in answers] == [(404, "PT404", "Inspection not found")] * 4
            continue
        lead, findings, summary, gaps = (each.json for each in answers)
        assert lead["visit"]["id"] == findings["visit"]["id"] == key
        assert [each["code"] for each in lead["gaps"]] == gaps
        assert shown_ids(caller, "reports_lead", key) == [each["id"] for each in lead["readings"]]
        assert shown_ids(caller, "calibration_checks", key) == [each["id"] for each in lead["checks"]]
        assert shown_ids(caller, "findings", key) == [
            each["id"] for group in findings["severities"] for each in group["findings"]
        ]
        building = next(iter(caller.get(f"/inspections?id=eq.{key}&select=building_id").json))["building_id"]
        assert lead["building"]["id"] == (building if building in readable["buildings"] else None)
        visible_guns = {GUNS[each] for each in readable["xrf_instruments"]}
        known = {each["gun_id"] for each in lead["instruments"] if each["serial"] is not None}
        assert known == {each["gun_id"] for each in summary["guns"] if each["serial"] is not None} <= visible_guns


def shown_ids(caller: object, table: str, inspection_id: int) -> list[int]:
    return [each["id"] for each in caller.get(f"/{table}?inspection_id=eq.{inspection_id}&select=id&order=id").json]


# target, the column of the parent, its values, and the other values
ROWS: dict[str, tuple[str, list[int], dict]] = {
    "buildings": ("client_id", [1, 2, 999], {"name": "New", "city": "Boston"}),
    "inspections": ("building_id", [1, 2, 4, 5, 999], {"inspection_type": "lead", "notes": "New"}),
    "reports_lead": ("inspection_id", [1, 3, 5, 6, 8, 999], {"gun_id": 77, "lead_mg_cm2": 0.5, "room": "Hall"}),
    "calibration_checks": (
        "inspection_id",
        [1, 3, 5, 6, 8, 999],
        {"gun_id": 77, "taken_at": "2026-01-31T14:00:00Z", "first": 1, "second": 1, "third": 1},
    ),
    "findings": ("inspection_id", [1, 3, 5, 6, 8, 999], {"description": "New", "severity": "low"}),
    "schedules": (
        "building_id",
        [1, 2, 4, 5, 999],
        {"inspection_type": "roof", "title": "New", "every": 1, "unit": "year", "first_due": "2027-01-31"},
    ),
}


@pytest.fixture(scope="module")
def linked_api(unchanging_api: Callable) -> Iterator[Callable]:
    """moe conducts inspection 5 as the inspector Uma."""
    assert unchanging_api("root").patch("/inspectors?id=eq.3", {"user_id": MOE}).status == 204
    return unchanging_api


@pytest.mark.parametrize("target", ROWS)
@pytest.mark.parametrize("who", READABLE)
def test_import_and_post_have_the_same_outcome(linked_api: Callable, who: str, target: str) -> None:
    caller, before = linked_api(who), dump(linked_api)
    column, parents, values = ROWS[target]
    for parent in parents:
        row = {column: parent, **values}
        posted = caller.post(f"/{target}", row, prefer="tx=rollback")
        lines = [",".join(row), ",".join(map(str, row.values())), ""]
        asked = {"p_target": target, "p_csv": "\n".join(lines), "p_mapping": {name: name for name in row}}
        for is_dry in (True, False):
            imported = caller.rpc("import_csv", {**asked, "p_dry_run": is_dry}, prefer="tx=rollback")
            if imported.status == 200:
                codes = [each["code"] for each in imported.json["errors"]]
                assert codes == ([] if posted.status == 201 else [posted.code]), (row, posted.text, imported.text)
                assert imported.json["inserted"] == int(posted.status == 201 and not is_dry)
            else:
                assert imported.refusal == posted.refusal
    assert dump(linked_api) == before


def test_import_of_readings_with_checks_needs_both_privileges(linked_api: Callable) -> None:
    """moe writes both in own visits, mia none of them."""
    lines = ["1,Cal,1.0", "2,Cal,1.1", "3,Cal,1.0", "4,Door,0.3"]
    asked = {
        "p_target": "reports_lead",
        "p_csv": "\n".join(("Reading #,Component,Concentration", *lines, "")),
        "p_defaults": {"inspection_id": 5, "gun_id": 77, "taken_at": "2026-01-31T14:00:00Z"},
    }

    assert linked_api("mia").rpc("import_csv", asked).refusal[:2] == (403, "42501")
    assert linked_api("moe").rpc("import_csv", asked).json["checks"] == 1
    elsewhere = {**asked, "p_defaults": {**asked["p_defaults"], "inspection_id": 2}}
    assert {each["code"] for each in linked_api("moe").rpc("import_csv", elsewhere).json["errors"]} == {"42501"}
