"""Closing a visit: notes, the warning before, what the page says afterwards, and taking the result back."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import BOB, ROOT
from tests.console.conftest import Form
from tests.console.inspection_rows import CLOSED_VISIT, LATE_VISIT, TODAY, VISIT, add_visits, set_clock

PAGE = f"/console/inspections/{VISIT}"
WARNING = "1 life-threatening or severe finding of this case is open."
FINDING = {"inspection_id": VISIT, "description": "Gas leak.", "severity": "life_threatening"}


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)


def inspection(api: Callable, key: int = VISIT) -> dict[str, object]:
    [row] = api("service").get(f"/inspections?id=eq.{key}&select=status,date_visited,notes").json
    return row


def test_inspector_writes_notes(browse: Callable, api: Callable) -> None:
    assert api("service").patch(f"/inspections?id=eq.{VISIT}", {"notes": "Ring twice."}).status == 204

    closed = browse("mia").fill_in(f"{PAGE}/close_visit", {"status": "completed", "notes": "All doors open."})

    assert closed.status_code == 303
    assert inspection(api)["notes"] == "Ring twice.\nAll doors open."


def test_empty_notes_leave_those_of_the_visit(browse: Callable, api: Callable) -> None:
    assert api("service").patch(f"/inspections?id=eq.{VISIT}", {"notes": "Ring twice."}).status == 204

    assert browse("mia").fill_in(f"{PAGE}/close_visit", {"status": "failed", "notes": " "}).status_code == 303

    assert inspection(api)["notes"] == "Ring twice."


def test_life_threatening_finding_is_named_before_the_visit_is_completed(browse: Callable, api: Callable) -> None:
    assert api("service").post("/findings", FINDING).status == 201
    mia, path = browse("mia"), f"{PAGE}/close_visit"

    assert WARNING in mia.page(path)
    asked = mia.fill_in(path, {"status": "completed", "notes": "Kept."})

    assert (asked.status_code, WARNING in asked.text, "Kept." in asked.text) == (400, True, True)
    assert inspection(api)["status"] == "scheduled"


@pytest.mark.parametrize("result", ["failed", "completed"])
def test_one_tap_closes_the_visit_after_the_warning(browse: Callable, api: Callable, result: str) -> None:
    assert api("service").post("/findings", FINDING).status == 201

    closed = browse("mia").send(
        f"{PAGE}/close_visit",
        {
            "status": "completed",
            "result": result,
            "notes": "Evacuated.",
            "date_visited": TODAY,
            "reason": "Gas is off.",
        },
    )

    assert closed.status_code == 303
    assert inspection(api) == {"status": result, "date_visited": TODAY, "notes": "Evacuated."}


def test_completed_visit_needs_a_reason_after_the_warning(browse: Callable, api: Callable) -> None:
    assert api("service").post("/findings", {**FINDING, "severity": "severe"}).status == 201

    asked = browse("mia").send(
        f"{PAGE}/close_visit", {"status": "completed", "result": "completed", "date_visited": TODAY}
    )

    assert (asked.status_code, "Say why the visit is completed all the same." in asked.text) == (400, True)
    assert inspection(api)["status"] == "scheduled"


def test_other_findings_need_no_answer(browse: Callable, api: Callable) -> None:
    assert api("service").post("/findings", {**FINDING, "severity": "moderate"}).status == 201

    assert "life-threatening or severe finding" not in browse("mia").page(f"{PAGE}/close_visit")
    assert browse("mia").fill_in(f"{PAGE}/close_visit", {"status": "completed"}).status_code == 303


@pytest.mark.parametrize(
    ("function", "typed", "field", "problem"),
    [
        ("close_visit", {"status": "failed", "date_visited": "2030-01-01"}, "date_visited", "today is 2026-03-10"),
        (
            "close_visit",
            {"status": "failed", "date_visited": TODAY, "reinspect_on": "2026-03-09"},
            "reinspect_on",
            "precedes the visit",
        ),
    ],
)
def test_date_out_of_order_is_shown_at_its_field(
    browse: Callable, function: str, typed: dict[str, str], field: str, problem: str
) -> None:
    answer = browse("mia").send(f"{PAGE}/{function}", {**typed, "notes": "Kept."})

    wrong = answer.text.partition(f'<p class="wrong" id="d-{field}">')[2].partition("</p>")[0]
    assert (answer.status_code, problem in wrong, "Kept." in answer.text) == (400, True, True)
    assert all(f'value="{text}"' in answer.text for text in typed.values())


def test_date_of_a_reinspection_is_shown_at_its_field(browse: Callable) -> None:
    answer = browse("ada").send(f"/console/inspections/{CLOSED_VISIT}/reinspect", {"date_visited": "2026-02-01"})

    wrong = answer.text.partition('<p class="wrong" id="d-date_visited">')[2].partition("</p>")[0]
    assert (answer.status_code, "precedes the visit" in wrong) == (400, True)


# Afterwards


def test_closed_visit_says_when_and_by_whom(browse: Callable) -> None:
    mia, ada = browse("mia"), browse("ada")
    assert mia.fill_in(f"{PAGE}/close_visit", {"status": "completed"}).status_code == 303

    assert "This visit is closed: Completed by Mia (inspector: Ivo Kral) on 10 Mar 2026, 12:00 UTC." in ada.page(PAGE)
    assert "This visit is closed: Completed. Visited on 10 Mar 2026." in mia.page(PAGE)
    assert "This visit is closed" not in ada.page(f"/console/inspections/{LATE_VISIT}")


def close(browse: Callable, api: Callable, who: str) -> None:
    """Complete the visit, as a user of the console or by the service key."""
    if who == "service":
        done = api(who).rpc("close_visit", {"p_inspection_id": VISIT, "p_status": "completed"})
        assert done.status == 200
    else:
        assert browse(who).fill_in(f"{PAGE}/close_visit", {"status": "completed"}).status_code == 303


BY_MIA = "Completed by Mia (inspector: Ivo Kral) on 10 Mar 2026, 12:00 UTC."
BY_ROOT = "Completed by Root on 10 Mar 2026, 12:00 UTC."
BY_ANOTHER = "Completed by another user on 10 Mar 2026, 12:00 UTC."
VISITED = "Completed. Visited on 10 Mar 2026."


@pytest.mark.parametrize(("closer", "texts"), [("mia", (BY_MIA, BY_MIA)), ("root", (BY_ROOT, BY_ANOTHER)),
                                           ("service", (BY_ANOTHER, BY_ANOTHER))])  # fmt: skip
def test_closer_is_named_to_who_reads_the_user(browse: Callable, api: Callable, closer: str, texts: tuple) -> None:
    """A client admin of another client, who reads the visit by a grant, learns no more than a manager."""
    grant = {"admin_id": BOB, "inspection_id": VISIT}
    assert api("service").post("/client_admin_inspection_access", grant).status == 201
    close(browse, api, closer)

    for who, text in zip(("root", "ada", "bob", "mia"), (*texts, VISITED, VISITED), strict=True):
        assert f"This visit is closed: {text}" in browse(who).page(PAGE), who


def test_deletion_of_a_hidden_user_changes_no_page(browse: Callable, api: Callable) -> None:
    """Else the text would tell a deleted user from a hidden one, and from the service key."""
    close(browse, api, "root")
    ada = browse("ada")
    before = ada.page(PAGE).partition("This visit is closed")[2].partition("</p>")[0]
    new = {"email": "new@example.com", "name": "New", "role": "super_admin"}
    assert api("service").post("/users", new).status == 201

    assert api("service").delete(f"/users?id=eq.{ROOT}").status == 204

    assert ada.page(PAGE).partition("This visit is closed")[2].partition("</p>")[0] == before
    assert f": {BY_ANOTHER}" in before


def test_restored_visit_stays_closed_by_its_inspector(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    close(browse, api, "mia")
    page = ada.page(ada.fill_in(f"{PAGE}/delete", {}).headers["Location"])
    path = re.search(r'action="(/console/audit_log/\d+/undo)"', page)
    assert path is not None
    assert ada.client.post(path[1], data=Form(page, path[1]).with_({})).status_code == 303

    assert f"This visit is closed: {BY_MIA}" in ada.page(PAGE)


def test_close_form_of_a_closed_visit_does_not_open(browse: Callable) -> None:
    mia = browse("mia")
    path = f"/console/inspections/{CLOSED_VISIT}"

    answer = mia.get(f"{path}/close_visit")

    assert answer.status_code == 303
    assert "The visit is completed already and cannot be closed again." in mia.page(answer.headers["Location"])
    assert mia.send(f"{path}/close_visit", {"status": "failed"}, form=path).status_code == 400


def test_findings_of_a_closed_visit_are_added_by_admins(browse: Callable, api: Callable) -> None:
    path = f"/console/inspections/{CLOSED_VISIT}"
    typed = {"description": "Late.", "severity": "severe"}

    assert "Add finding" not in browse("mia").page(path)
    page = browse("ada").page(path)
    assert "A finding that you add belongs to the closed visit." in page
    assert "Add finding" in page
    assert browse("ada").send(f"{path}/add/findings", typed, form=path).status_code == 303
    assert len(api("service").get(f"/findings?inspection_id=eq.{CLOSED_VISIT}").json) == 1


# Taking the result back


@pytest.fixture
def planned(api: Callable) -> int:
    """Return the visit of a new schedule."""
    schedule = {"building_id": 1, "inspection_type": "annual", "title": "Boiler", "every": 1, "unit": "month"}
    assert api("service").post("/schedules", {**schedule, "id": 77, "first_due": "2026-03-01"}).status == 201
    [plan] = api("service").get("/inspection_plans?schedule_id=eq.77").json
    return plan["inspection_id"]


def test_result_of_a_planned_visit_is_taken_back(browse: Callable, api: Callable, planned: int) -> None:
    ada, path = browse("ada"), f"/console/inspections/{planned}"
    assert "Take the result back" not in ada.page(path)
    assert ada.fill_in(f"{path}/close_visit", {"status": "completed"}).status_code == 303
    assert "Take the result back" in ada.page(path)

    back = ada.send(f"{path}/take_back", form=path)

    assert "Result taken back." in ada.page(back.headers["Location"])
    plans = api("service").get("/inspection_plans?schedule_id=eq.77&select=inspection_id,outcome").json
    assert plans == [{"inspection_id": planned, "outcome": None}]


def test_result_is_taken_back_for_a_day_by_admins(app: object, browse: Callable, planned: int, api: Callable) -> None:
    path = f"/console/inspections/{planned}"
    assert browse("ada").fill_in(f"{path}/close_visit", {"status": "completed"}).status_code == 303
    assert api("service").patch(f"/inspections?id=eq.{planned}", {"inspector_id": 2}).status == 204

    assert "Take the result back" not in browse("mia").page(path)
    assert browse("mia").send(f"{path}/take_back", form="/console/visits").status_code == 403
    set_clock(app, "2026-03-11T12:00:01+00:00")
    assert "Take the result back" not in browse("ada").page(path)


def test_touched_next_visit_is_linked(app: object, browse: Callable, api: Callable, planned: int) -> None:
    ada, path = browse("ada"), f"/console/inspections/{planned}"
    assert ada.fill_in(f"{path}/close_visit", {"status": "completed"}).status_code == 303
    [plan] = api("service").get("/inspection_plans?schedule_id=eq.77&outcome=is.null").json
    following = plan["inspection_id"]
    set_clock(app, "2026-03-10T12:05:00+00:00")
    assert api("service").patch(f"/inspections?id=eq.{following}", {"notes": "Booked."}).status == 204

    answer = ada.send(f"{path}/take_back", form=path)

    assert answer.status_code == 409
    assert f'href="/console/inspections/{following}">Open the next visit</a>' in answer.text
    assert inspection(api, planned)["status"] == "completed"
