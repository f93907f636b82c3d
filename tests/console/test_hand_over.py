"""An inspector's open visits are handed over to another inspector: preview, one write, undo."""

import html
import re
from collections.abc import Callable

import pytest

from tests.console.conftest import Form, FormClient
from tests.console.inspection_rows import TODAY, YESTERDAY, set_clock

PAGE = "/console/inspectors/1/hand_over"
CONFIRM = "/console/inspections/change/inspector_id/confirm"
OF_ANOTHER_CLIENT, READ_ONLY = 6, 8
INES, IVO = 1, 2
LATE, FIRST, SECOND, UNDATED, CLOSED = 61, 62, 63, 64, 65


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    """Give Ines open visits, two of which belong to another client."""
    set_clock(app)
    root = api("service")
    days = {LATE: YESTERDAY, FIRST: TODAY, SECOND: "2026-03-20", UNDATED: None, CLOSED: TODAY}
    plain = {"building_id": 6, "inspection_type": "fire", "inspector_id": INES}
    rows = [
        {**plain, "id": key, "date_visited": day, "status": "completed" if key == CLOSED else "scheduled"}
        for key, day in days.items()
    ]
    assert root.post("/inspections", rows).status == 201
    foreign = {"inspector_id": INES, "status": "scheduled", "date_visited": TODAY}
    assert root.patch(f"/inspections?id=in.({OF_ANOTHER_CLIENT},{READ_ONLY})", foreign).status == 204


def inspectors(api: Callable) -> dict[int, int]:
    return {row["id"]: row["inspector_id"] for row in api("service").get("/inspections?select=id,inspector_id").json}


def preview(user: FormClient, first: str, last: str = "", to: int = IVO) -> str:
    typed = {"first_day": first, "last_day": last, "inspector_id": str(to)}
    return html.unescape(user.fill_in(PAGE, typed).text)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (TODAY, "", {FIRST, SECOND}),
        (TODAY, TODAY, {FIRST}),
        ("", TODAY, {3, LATE, FIRST}),
        ("", "", {3, LATE, FIRST, SECOND, UNDATED}),
    ],
)
def test_visits_of_the_days_are_handed_over_and_back(
    browse: Callable, api: Callable, first: str, last: str, expected: set[int]
) -> None:
    ada, before = browse("ada"), inspectors(api)
    assert f'href="{PAGE}">Hand over</a>' in ada.page("/console/inspectors/1")

    page = preview(ada, first, last)
    assert inspectors(api) == before
    assert "Ines Vega → Ivo Kral" in page
    done = ada.client.post(CONFIRM, data=Form(page, CONFIRM).with_({}))
    assert done.headers["Location"] == "/console/inspectors/1"
    shown = ada.page("/console/inspectors/1")

    assert inspectors(api) == before | dict.fromkeys(expected, IVO)
    assert f"{len(expected)} inspection{'s' if len(expected) > 1 else ''} assigned to Ivo Kral." in shown
    ada.client.post(CONFIRM, data=Form(shown, CONFIRM).with_({}))
    assert inspectors(api) == before


def test_rows_of_another_client_are_neither_shown_nor_changed(browse: Callable, api: Callable) -> None:
    """Ada reads inspection 8 by a grant, and inspection 6 not at all."""
    ada, before = browse("ada"), inspectors(api)

    page = preview(ada, "", "")

    edits = re.findall(r'name="edit" value="1:2:([\d,]+)"', page)
    assert {OF_ANOTHER_CLIENT, READ_ONLY}.isdisjoint(map(int, edits[0].split(",")))
    assert "Größe" not in page
    assert "Ash" not in page
    for key in (OF_ANOTHER_CLIENT, READ_ONLY, 999):
        sent = Form(page, CONFIRM).with_({"edit": f"1:2:{FIRST},{key}"})
        answer = ada.client.post(CONFIRM, data=sent)
        assert answer.status_code == 409
    assert inspectors(api) == before


@pytest.mark.parametrize(
    ("first", "last", "to", "text"),
    [
        ("2040-01-01", "", IVO, "No open visits on these days"),
        ("x", "", IVO, 'role="alert"'),
        (TODAY, "", 999, "There is no such inspector"),
    ],
)
def test_form_says_what_is_wrong(browse: Callable, first: str, last: str, to: int, text: str) -> None:
    ada = browse("ada")
    csrf = ada.token(PAGE)
    typed = {"csrf": csrf, "first_day": first, "last_day": last, "inspector_id": str(to)}
    answer = ada.client.post(PAGE, data=typed)
    assert answer.status_code in (400, 409)
    assert text in html.unescape(answer.text)


def test_more_visits_than_one_change_takes_are_refused(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routes.console.pages.inspections.CHOSEN_MAX", 1)
    assert "These are more than 1 visits. Choose fewer days" in preview(browse("ada"), TODAY)


@pytest.mark.parametrize("who", ["moe", "mia"])
def test_managers_hand_nothing_over(browse: Callable, api: Callable, who: str) -> None:
    user, before = browse(who), inspectors(api)
    assert "hand_over" not in user.get("/console/inspectors/1").text
    assert user.get(PAGE).status_code == 403
    assert user.send(PAGE, {"inspector_id": "2"}, form="/console/").status_code == 403
    assert inspectors(api) == before
