"""Findings: the list by deadline, the page of one, and the forms that move one or many."""

import html
import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest

from tests.console.conftest import Form
from tests.console.inspection_rows import (
    DUE_THIS_WEEK,
    DUE_TODAY,
    FIXED,
    LATE,
    VISIT,
    add_findings,
    add_visits,
    set_clock,
    start_reinspection,
)

LIST, MOVE = "/console/findings", "/console/findings/move"


@pytest.fixture(autouse=True)
def findings(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)
    add_findings(api)


def row(api: Callable, key: int) -> dict:
    return api("service").get(f"/findings?id=eq.{key}").json[0]


def events(api: Callable, key: int) -> list[tuple]:
    found = api("service").get(f"/finding_events?finding_id=eq.{key}&order=id").json
    return [(each["kind"], each["inspection_id"], each["note"]) for each in found if each["kind"] != "made"]


def buttons(page: str) -> list[str]:
    return re.findall(rf"{MOVE}/(\w+)", page)


def test_quick_views_count_the_rows_that_they_list(browse: Callable) -> None:
    ada = browse("ada")
    views = re.search(r'<nav class="views".*?</nav>', ada.page(LIST), re.DOTALL)
    assert views
    found = re.findall(r'href="([^"]+)"[^>]*>([^<]+) <b>(\d+)<', views[0])

    assert [(label, number) for _, label, number in found] == [
        ("Open", "3"), ("Late", "1"), ("Today", "1"), ("This week", "2"), ("To verify", "1"),
        ("Closed buildings", "0"), ("All", "4"),
    ]  # fmt: skip
    for link, label, number in found:
        page = ada.page(html.unescape(link))
        assert f"of {number}</p>" in page or number == "0", label
        assert re.search(rf'aria-current="page">{label} ', page), label


def test_navigation_opens_all_open_findings(browse: Callable) -> None:
    assert f'<a href="{LIST}?status=eq.open&amp;closed=no">Findings</a>' in browse("ada").page("/console/")


def test_list_says_how_late_a_finding_is_and_where(browse: Callable) -> None:
    page = browse("ada").page(f"{LIST}?order=id")

    for text in ("late by 3 days", "in 6 hours", "in 4 days", "Fire at Harbor House, 9 Mar 2026"):
        assert text in page


def test_file_has_the_rows_of_a_quick_view(browse: Callable) -> None:
    lines = browse("ada").page(f"{LIST}.csv?status=eq.open&due_at=late").splitlines()

    assert [line.split(",")[0] for line in lines[1:]] == [str(LATE)]


def test_chosen_findings_are_moved_together(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    path = f"{MOVE}/fixed?ids={LATE}&ids={DUE_TODAY}&back=/findings%3Fstatus%3Deq.open"
    assert "Mark fixed: 2 findings" in ada.page(path)

    moved = ada.fill_in(path, {"note": "New door"})

    assert moved.headers["Location"] == f"{LIST}?status=eq.open"
    assert "2 findings fixed." in ada.page(moved.headers["Location"])
    assert [row(api, key)["status"] for key in (LATE, DUE_TODAY, DUE_THIS_WEEK)] == ["fixed", "fixed", "open"]
    assert events(api, DUE_TODAY) == [("fixed", None, "New door")]


@pytest.mark.parametrize(("who", "kind", "key"), [("mia", "fixed", LATE), ("ada", "verified", FIXED)])
def test_undo_reopens_the_finding(browse: Callable, api: Callable, who: str, kind: str, key: int) -> None:
    start_reinspection(api)
    user = browse(who)
    how = {"how": "photo"} if kind == "verified" else {}
    moved = user.fill_in(f"{MOVE}/{kind}?ids={key}&back=/findings/{key}", how)
    page = user.page(moved.headers["Location"])

    undone = user.client.post(f"{MOVE}/reopened", data=Form(page, f"{MOVE}/reopened").with_({}))

    assert (row(api, key)["status"], events(api, key)[-1]) == ("open", ("reopened", None, "Undo"))
    again = user.page(undone.headers["Location"])
    assert ("1 finding reopened." in again, "note undo" in again) == (True, False)


def test_undo_is_offered_only_for_what_the_caller_moved_and_may_reopen(browse: Callable) -> None:
    moe, ada = browse("moe"), browse("ada")
    fixed = moe.page(moe.fill_in(f"{MOVE}/fixed?ids={LATE}", {}).headers["Location"])
    answer = ada.send(f"{MOVE}/fixed", {"ids": str(FIXED)}, form=f"{MOVE}/fixed?ids={LATE}")
    again = ada.page(answer.headers["Location"])

    for page, number in ((fixed, 1), (again, 0)):
        assert f"{number} finding" in page
        assert "note undo" not in page


def test_telephone_shows_the_place_of_a_finding(browse: Callable) -> None:
    assert '<small class="slim" aria-hidden="true">3D</small>' in browse("ada").page(LIST)


def test_all_findings_of_a_list_are_ticked(browse: Callable) -> None:
    ada = browse("ada")
    ticked = re.findall(r'name="ids" value="(\d+)" checked', ada.page(f"{LIST}?status=eq.open&ticked=all"))

    assert "Waive: 3 findings" in ada.page(f"{MOVE}/waived?ids={'&ids='.join(ticked)}")
    answer = ada.get(f"{MOVE}/waived")
    assert "Tick at least one finding, then press Waive." in ada.page(answer.headers["Location"])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("fixed", "Tick at least one finding, then press Mark fixed."),
        ("fixed?all=&back=/findings", "Tick at least one finding, then press Mark fixed."),
        ("fixed?ids=x", "Tick other findings, then press Mark fixed."),
        (f"waived?ids={LATE},42", "The others are still ticked: press Waive."),
    ],
)
def test_list_says_what_to_tick(browse: Callable, api: Callable, query: str, text: str) -> None:
    """Ada reads finding 42 of another client by a grant."""
    granted = {"id": 42, "inspection_id": 8, "description": "Of another client", "severity": "low"}
    assert api("service").post("/findings", granted).status == 201
    ada = browse("ada")

    answer = ada.get(f"{MOVE}/{query}")

    assert answer.headers["Location"].startswith("/console/findings")
    page = ada.page(answer.headers["Location"])
    assert text in page
    assert ("You may not move" in page) is ("42" in query)
    assert ('value="31" checked' in page) is ("42" in query)


def test_verified_findings_name_the_last_started_visit_of_their_case(browse: Callable, api: Callable) -> None:
    other = {"id": 41, "inspection_id": VISIT, "description": "Of another case", "severity": "low"}
    assert api("service").post("/findings", other).status == 201
    first, second = start_reinspection(api), start_reinspection(api, VISIT)

    verified = browse("ada").fill_in(f"{MOVE}/verified?ids={FIXED},41", {"how": "certificate"})

    assert verified.status_code == 303, verified.text
    assert events(api, FIXED)[-1] == ("verified", first, None)
    assert events(api, 41) == [("verified", second, None)]
    shown = browse("ada").page(f"{LIST}/41")
    assert "Certificate" in shown


def test_a_finding_without_a_later_visit_is_not_verified(browse: Callable, api: Callable) -> None:
    before = row(api, FIXED)

    answer = browse("ada").fill_in(f"{MOVE}/verified?ids={FIXED}", {"how": "visit"})

    assert (answer.status_code, row(api, FIXED)) == (400, before)
    assert "cannot be moved in this way" in answer.text


def test_severity_is_changed_with_a_note(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    lacking = ada.fill_in(f"{MOVE}/regraded?ids={LATE}", {"severity": "low"})
    graded = ada.fill_in(f"{MOVE}/regraded?ids={LATE}&back=/findings/{LATE}", {"severity": "low", "note": "Cosmetic."})

    assert (lacking.status_code, "Note is required." in lacking.text) == (400, True)
    assert graded.status_code == 303
    assert (row(api, LATE)["severity"], row(api, LATE)["due_at"]) == ("low", "2026-05-09T23:59:59+00:00")
    shown = ada.page(f"{LIST}/{LATE}")
    assert all(text in shown for text in ("1 finding regraded.", "Severity changed", "Cosmetic."))


@pytest.mark.parametrize("kind", ["waived", "reopened", "extended"])
def test_move_without_a_note_returns_the_form(browse: Callable, api: Callable, kind: str) -> None:
    key = FIXED if kind == "reopened" else LATE
    before = row(api, key)

    answer = browse("ada").fill_in(f"{MOVE}/{kind}?ids={key}", {"due_at": "2026-04-01"} if kind == "extended" else {})

    assert (answer.status_code, "Note is required." in answer.text) == (400, True)
    assert row(api, key) == before


def test_waived_and_reopened_finding(browse: Callable, api: Callable) -> None:
    ada, page = browse("ada"), f"{LIST}/{LATE}"

    assert ada.fill_in(f"{MOVE}/waived?ids={LATE}&back=/findings/{LATE}", {"note": "Sold"}).status_code == 303
    assert set(buttons(ada.page(page))) == {"reopened", "remark"}
    assert ada.fill_in(f"{MOVE}/reopened?ids={LATE}", {"note": "Not sold"}).status_code == 303

    assert row(api, LATE)["status"] == "open"
    shown = ada.page(page)
    assert all(text in shown for text in ("Waived", "Sold", "Reopened", "Not sold"))


def test_new_deadline_ends_with_the_day_of_the_time_zone(app: object, browse: Callable, api: Callable) -> None:
    app.extensions["walkthrough"].time_zone = ZoneInfo("America/New_York")

    extended = browse("ada").fill_in(f"{MOVE}/extended?ids={LATE}", {"due_at": "2026-04-01", "note": "Parts"})

    assert extended.status_code == 303, extended.text
    assert row(api, LATE)["due_at"] == "2026-04-02T03:59:59+00:00"
    assert "in 22 days, 1 Apr 2026" in browse("ada").page(f"{LIST}/{LATE}")


def test_invalid_date_returns_the_form_with_its_input(browse: Callable) -> None:
    sent = {"ids": str(LATE), "due_at": "soon", "note": "Parts"}

    answer = browse("ada").send(f"{MOVE}/extended", sent, form=f"{MOVE}/extended?ids={LATE}")

    assert (answer.status_code, "Parts" in answer.text) == (400, True)


@pytest.mark.parametrize(
    ("who", "offered"),
    [
        ("root", {"fixed", "verified", "waived", "extended", "regraded", "remark"}),
        ("ada", {"fixed", "verified", "waived", "extended", "regraded", "remark"}),
        ("mia", {"fixed", "verified", "regraded", "remark"}),
        ("moe", {"fixed", "remark"}),
    ],
)
def test_buttons_are_those_that_the_function_allows(browse: Callable, who: str, offered: set[str]) -> None:
    user = browse(who)

    assert set(buttons(user.page(f"{LIST}/{LATE}"))) == offered - {"verified"}  # no later visit
    for kind in ("fixed", "verified", "waived", "extended", "regraded", "remark"):
        assert user.get(f"{MOVE}/{kind}?ids={LATE}").status_code == (200 if kind in offered else 403), kind
    assert set(buttons(user.page(LIST))) == offered | ({"reopened"} if "verified" in offered else set())


def test_remark_is_an_event_and_moves_nothing(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    path = f"{MOVE}/remark?ids={LATE}&back=/findings/{LATE}"

    said = mia.fill_in(path, {"note": "The owner has the key."})

    assert said.status_code == 303
    assert row(api, LATE)["status"] == "open"
    assert events(api, LATE) == [("remark", None, "The owner has the key.")]
    assert "The owner has the key." in mia.page(f"{LIST}/{LATE}")


def test_refused_and_hidden_findings_stay(browse: Callable, api: Callable) -> None:
    assert (
        api("service").post("/findings", {"id": 42, "inspection_id": 6, "description": "x", "severity": "low"}).status
        == 201
    )
    moe = browse("moe")

    statuses = [
        moe.send(f"{MOVE}/{kind}", {"ids": ids, "note": "x"}, form="/console/").status_code
        for kind, ids in (("verified", str(LATE)), ("fixed", f"{LATE},42"), ("fixed", "999"), ("other", str(LATE)))
    ]

    assert statuses == [403, 404, 404, 404]
    assert moe.get(f"{MOVE}/fixed?ids=42").text == moe.get(f"{MOVE}/fixed?ids=999").text
    assert row(api, LATE)["status"] == "open"


def test_form_of_a_finding_leaves_deadline_and_status_to_moves(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(f"{LIST}/{LATE}/edit")

    assert not re.search(r'name="(ref|status|severity|found_at|due_at|case_id)"', page)
    assert ada.fill_in(f"{LIST}/{LATE}/edit", {"code": "NSPIRE Door"}).status_code == 303
    assert row(api, LATE)["code"] == "NSPIRE Door"
