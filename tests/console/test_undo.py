"""The undo of a deletion and of an applied schedule: for a day, and only for rows that have not changed since."""

import html
import re
import time
from collections.abc import Callable

import pytest

from inspections.undo import deleted_row
from tests.conftest import MOE
from tests.console.conftest import Form, FormClient
from tests.console.inspection_rows import IVO, set_clock

APPLY = "/console/schedules/apply"
TYPED = {"inspection_type": "fire", "title": "Exits", "every": "1", "unit": "year", "first_due": "2026-05-01"}
OF_ANOTHER_CLIENT = 6
TABLES = (
    "inspections", "inspection_plans", "findings", "finding_events", "reports_lead", "calibration_checks", "schedules",
    "buildings", "building_details",
)  # fmt: skip
CHECK = {
    "inspection_id": 2,
    "gun_id": 20417,
    "taken_at": "2026-03-09T12:00:00Z",
    "first": 1.0,
    "second": 1.1,
    "third": 1.0,
}


@pytest.fixture(autouse=True)
def clock(app: object) -> object:
    return set_clock(app)


def everything(api: Callable) -> dict[str, list]:
    return {each: api("service").get(f"/{each}").json for each in TABLES}


def delete(user: FormClient, path: str) -> str:
    """Delete a row and return the page that follows."""
    return user.page(user.fill_in(f"{path}/delete", {}).headers["Location"])


def apply_schedule(user: FormClient) -> str:
    """Apply a schedule to the buildings of Boston and return the page that follows."""
    confirmation = user.fill_in(f"{APPLY}?buildings=id%3Din.(1,2)", TYPED).text
    path = re.search(r'action="([^"]+confirm[^"]+)"', confirmation)
    assert path
    form = Form(confirmation, html.unescape(path[1]))
    answer = user.client.post(html.unescape(path[1]), data=form.with_({}))
    return user.page(answer.headers["Location"])


def undo(user: FormClient, page: str) -> object:
    path = re.search(r'action="(/console/audit_log/\d+/undo)"', page)
    assert path, page
    return user.client.post(path[1], data=Form(page, path[1]).with_({}))


def entry(api: Callable, relation: str, action: str) -> int:
    text = f"/audit_log?relation=eq.{relation}&action=eq.{action}&order=id.desc&limit=1"
    return api("service").get(text).json[0]["id"]


@pytest.mark.parametrize("who", ["root", "ada"])
@pytest.mark.parametrize(
    "path",
    ["/console/inspections/1", "/console/inspections/2", "/console/findings/3", "/console/buildings/6",
     "/console/reports_lead/1"],
)  # fmt: skip
def test_deleted_rows_come_back_as_they_were(browse: Callable, api: Callable, who: str, path: str) -> None:
    assert api("service").post("/calibration_checks", CHECK).status == 201
    user, before = browse(who), everything(api)

    page = delete(user, path)
    assert everything(api) != before
    answer = undo(user, page)

    assert answer.status_code == 303, answer.text
    assert everything(api) == before
    assert " restored." in user.page(answer.headers["Location"])


def test_page_of_the_entry_offers_the_undo_for_a_day(browse: Callable, api: Callable, clock: object) -> None:
    ada, before = browse("ada"), everything(api)
    delete(ada, "/console/findings/3")
    path = f"/console/audit_log/{entry(api, 'findings', 'delete')}"
    assert f'href="{path}/undo">Undo</a>' in ada.page(path)
    assert re.search(r"<h1>Restore \d deleted rows?\?</h1>", ada.page(f"{path}/undo"))

    clock.unix += 86_400
    again = browse("ada")
    assert f"{path}/undo" not in again.page(path)
    assert again.get(f"{path}/undo").status_code == 404
    assert again.send(f"{path}/undo", form="/console/").status_code == 404
    assert everything(api) != before


def test_number_that_was_taken_since_refuses_the_undo(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = delete(ada, "/console/findings/3")
    row = {"id": 3, "inspection_id": 1, "description": "Another", "severity": "low"}
    assert api("service").post("/findings", row).status == 201

    assert undo(ada, page).status_code == 409
    assert api("service").get("/findings?id=eq.3").json[0]["description"] == "Another"


def test_applied_schedule_is_taken_back(browse: Callable, api: Callable) -> None:
    ada, before = browse("ada"), everything(api)

    page = apply_schedule(ada)
    assert "2 schedules created" in page
    answer = undo(ada, page)

    assert answer.status_code == 303, answer.text
    assert everything(api) == before
    assert "2 schedules deleted." in ada.page(answer.headers["Location"])


@pytest.mark.parametrize("touched", ["schedule", "visit", "finding"])
def test_touched_schedule_stays(browse: Callable, api: Callable, clock: object, touched: str) -> None:
    ada, root = browse("ada"), api("service")
    page = apply_schedule(ada)
    [made] = root.get("/inspection_plans?select=inspection_id,schedule_id&order=inspection_id.desc&limit=1").json
    clock.unix += 60
    row = {"inspection_id": made["inspection_id"], "description": "A crack.", "severity": "low"}
    changes = {
        "schedule": lambda: root.patch(f"/schedules?id=eq.{made['schedule_id']}", {"basis": "NFPA 1"}),
        "visit": lambda: root.patch(f"/inspections?id=eq.{made['inspection_id']}", {"notes": "x"}),
        "finding": lambda: root.post("/findings", row),
    }
    assert changes[touched]().status in (201, 204)
    before = everything(api)

    assert undo(ada, page).status_code == 409
    assert everything(api) == before


def test_change_of_another_client_is_not_undone(browse: Callable, api: Callable) -> None:
    delete(browse("root"), f"/console/inspections/{OF_ANOTHER_CLIENT}")
    path = f"/console/audit_log/{entry(api, 'inspections', 'delete')}/undo"
    before = everything(api)

    for who in ("ada", "moe", "mia"):
        user = browse(who)
        answers = [user.send(each, form="/console/") for each in (path, "/console/audit_log/999999/undo")]
        assert [each.status_code for each in answers] == [404, 404]
        assert user.get(path).status_code in (403, 404)

    assert everything(api) == before


def test_grants_are_not_given_back(browse: Callable, api: Callable) -> None:
    """Mia has a grant on inspection 3, and Moe on building 1."""
    root = api("service")
    grants = "/client_manager_inspection_access?order=inspection_id"
    granted = root.get(grants).json
    key = granted[0]["inspection_id"]
    user = browse("root")

    assert undo(user, delete(user, f"/console/inspections/{key}")).status_code == 303

    assert root.get(f"/inspections?id=eq.{key}&select=id").json == [{"id": key}]
    assert root.get(grants).json == [each for each in granted if each["inspection_id"] != key]


def closings(app: object) -> list[str]:
    with app.extensions["walkthrough"].reading() as transaction:
        return [str(row) for row in transaction.all("SELECT * FROM visit_closings ORDER BY inspection_id")]


def test_restored_visits_were_closed_by_whom_and_when_they_were(
    browse: Callable, api: Callable, app: object, clock: object
) -> None:
    """Inspections 1 and 2 are of an archive: nothing says who closed them. The id of Moe is of another user now."""
    clock.unix = int(time.time())
    root, ada = api("root"), api("ada")
    visit = {"building_id": 1, "inspection_type": "fire", "inspector_id": IVO}
    others = [{**visit, "status": each} for each in ("scheduled", "failed", "failed", "cancelled")]
    person = {"id": MOE, "email": "moe@acme.example", "name": "Moe", "role": "client_manager", "client_id": 1}
    steps = [
        lambda: api("service").post("/inspections", {**visit, "id": 900, "status": "completed"}),
        lambda: ada.post("/inspections", others),
        lambda: ada.rpc("close_visit", {"p_inspection_id": 9, "p_status": "completed"}),
        lambda: root.patch("/inspections?id=in.(901,902)", {"status": "completed"}),
        lambda: ada.patch("/inspections?id=in.(902,903)", {"status": "scheduled"}),
        lambda: ada.patch("/inspections?id=eq.902", {"status": "completed", "inspection_type": "annual"}),
        lambda: ada.patch("/inspections?id=in.(900,901,902)", {"notes": "Key at the office."}),
        lambda: root.patch(f"/inspectors?id=eq.{IVO}", {"user_id": MOE}),
        lambda: api("moe").rpc("close_visit", {"p_inspection_id": 903, "p_status": "failed"}),
        lambda: root.delete(f"/users?id=eq.{MOE}"),
        lambda: api("service").post("/users", person),
    ]
    for step in steps:
        clock.unix += 60
        answer = step()
        assert answer.status < 300, answer.text
    before, user = closings(app), browse("ada")
    assert len(before) == 6, before

    for query in ("building_id=eq.1", "id=eq.902", "building_id=eq.1"):
        clock.unix += 60
        assert ada.delete(f"/inspections?{query}").status == 204
        assert closings(app) != before
        clock.unix += 60
        path = f"/console/audit_log/{entry(api, 'inspections', 'delete')}/undo"
        assert user.send(path, form="/console/").status_code == 303
        assert closings(app) == before


def test_numbers_of_earlier_entries_are_truth_values() -> None:
    for number, flag in ((0, False), (1, True), (False, False), (True, True), (None, None)):
        row = {"id": 1, "gun_id": 1, "time_is_by_order": number}
        assert str(deleted_row({"relation": "reports_lead", "before": row})) == str({**row, "time_is_by_order": flag})


@pytest.mark.parametrize("path", ["/console/inspectors/3", "/console/clients/2"])
def test_other_deletions_have_no_undo(browse: Callable, path: str) -> None:
    user = browse("root")
    answer = user.fill_in(f"{path}/delete", {})
    assert "/undo" not in (user.page(answer.headers["Location"]) if answer.status_code == 303 else answer.text)


@pytest.mark.parametrize(
    ("path", "change", "status"),
    [("/buildings?id=eq.2", {"client_id": 2}, 404), ("/inspections?id=eq.3", {"building_id": 4}, 404)],
)
def test_rows_that_moved_to_another_client_are_not_restored(
    browse: Callable, api: Callable, clock: object, path: str, change: dict, status: int
) -> None:
    clock.unix = int(time.time())
    root = api("service")
    row = {"description": "A crack.", "severity": "low"}
    rows = [{**row, "id": 900, "inspection_id": 1}, {**row, "id": 901, "inspection_id": 3}]
    assert root.post("/findings", rows).status == 201
    assert api("ada").delete("/findings?id=in.(900,901)").status == 204
    assert root.patch(path, change).status == 204
    undo_path = f"/console/audit_log/{entry(api, 'findings', 'delete')}/undo"

    assert browse("ada").send(undo_path, form="/console/").status_code == status

    assert root.get("/findings?id=in.(900,901)").json == []


def test_move_to_another_client_is_no_deletion(browse: Callable, api: Callable, clock: object) -> None:
    clock.unix = int(time.time())
    root = api("service")
    assert root.patch("/buildings?id=eq.3", {"client_id": 2}).status == 204
    ada = browse("ada")
    shown = api("ada").get("/audit_log?action=eq.delete&relation=eq.buildings&row_key=eq.3&select=id").json

    assert len(shown) == 1
    path = f"/console/audit_log/{shown[0]['id']}"
    assert f"{path}/undo" not in ada.page(path)
    assert ada.send(f"{path}/undo", form="/console/").status_code == 404
    assert root.get("/buildings?id=eq.3&select=client_id").json == [{"client_id": 2}]


def test_more_rows_come_back_than_a_filter_may_list(browse: Callable, api: Callable) -> None:
    root = api("root")
    rows = [{"inspection_id": 3, "description": f"Crack {each}", "severity": "low"} for each in range(700)]
    assert all(api("service").post("/findings", rows).status == 201 for _ in range(2))
    user, before = browse("ada"), root.get("/findings?select=count()").json

    assert undo(user, delete(user, "/console/inspections/3")).status_code == 303
    assert root.get("/findings?select=count()").json == before


def test_visit_with_large_findings_is_deleted(browse: Callable, api: Callable) -> None:
    rows = [{"inspection_id": 3, "description": f"{each} {'x' * 9_000}", "severity": "low"} for each in range(100)]
    for _ in range(40):
        assert api("service").post("/findings", rows).status == 201

    page = delete(browse("ada"), "/console/inspections/3")

    assert "deleted" in page
