"""Letters in the console: the form that writes one, its page to print, the list, its service and its withdrawal."""

import datetime
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

FINDING, OTHER, HIDDEN = 1, 3, 999
FORM = f"/console/findings/letter?ids={FINDING}"
TYPED = {"to_name": "Pier <b>Trust", "to_address": "1 Harbor Road\nPortland", "answer_by": "2999-12-31"}


def write(user: object) -> str:
    """Write a letter, and return the path of its page."""
    sent = user.fill_in(FORM, TYPED)
    assert sent.status_code == 303, sent.text
    return sent.headers["Location"]


@pytest.mark.parametrize(("who", "is_offered"), [("root", True), ("ada", True), ("moe", False)])
def test_who_may_write_has_the_buttons(browse: Callable, who: str, is_offered: bool) -> None:
    user = browse(who)

    assert ("/console/findings/letter" in user.page(f"/console/findings/{FINDING}")) is is_offered
    assert ("/console/findings/letter" in user.page("/console/findings")) is is_offered


def test_letter_is_written_printed_served_and_withdrawn(browse: Callable) -> None:
    ada, today = browse("ada"), datetime.datetime.now(datetime.UTC).date()
    path = write(ada)

    page = ada.page(path)
    number = f"{today.year}-000001"
    assert f"Letter {number} is written. Print it." in page
    assert "Not served" in page
    letter = ada.get(f"{path}/letter")
    assert "Pier &lt;b&gt;Trust<br>1 Harbor Road\nPortland" in letter.data.decode().replace("\r", "")
    assert "<script" not in letter.text
    assert "default-src 'none'" in letter.headers["Content-Security-Policy"]
    assert letter.headers["Vary"] == "Cookie"

    served = ada.fill_in(f"{path}/serve", {"how": "hand"})
    assert (served.status_code, served.headers["Location"]) == (303, path)
    page = ada.page(path)
    assert f"Letter {number} was served on" in page
    assert f"{path}/serve" not in page

    assert ada.fill_in(f"{path}/withdraw", {"note": "Wrong owner."}).status_code == 303
    page = ada.page(path)
    assert "Withdrawn" in page
    assert f"{path}/withdraw" not in page
    assert ada.get(f"{path}/letter").data == letter.data


def test_form_keeps_what_is_typed(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    answer = ada.fill_in(FORM, {**TYPED, "answer_by": "2020-01-01"})

    assert answer.status_code == 400
    assert "The answer is expected today" in answer.text
    assert "Pier &lt;b&gt;Trust" in answer.text
    assert api("service").get("/notices").json == []


def test_addressee_is_the_owner_by_default(browse: Callable, api: Callable) -> None:
    details = {"building_id": 1, "owner_name": "Elm Ltd", "owner_address": "2 Elm Street"}
    api("service").delete("/building_details?building_id=eq.1")
    assert api("service").post("/building_details", details).status == 201

    page = browse("ada").page(FORM)

    assert 'value="Elm Ltd"' in page
    assert "2 Elm Street" in page


def test_form_is_sent_once(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(FORM)

    paths = {ada.fill_in(FORM, TYPED, page).headers["Location"] for _ in range(2)}

    assert len(paths) == 1
    assert len(api("service").get("/notices").json) == 1


def test_findings_out_of_reach_have_no_form(browse: Callable) -> None:
    ada = browse("ada")

    assert ada.get(f"/console/findings/letter?ids={HIDDEN}").status_code == 404
    assert ada.send("/console/findings/letter", {**TYPED, "ids": HIDDEN}, form=FORM).status_code == 404
    assert browse("moe").get(FORM).status_code == 403


def test_findings_without_a_letter_return_to_the_list(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    waived = {"p_finding_ids": [FINDING], "p_to": "waived", "p_note": "Proven."}
    assert api("ada").rpc("move_findings", waived).status == 200

    assert ada.get(FORM).status_code == 303
    assert "A letter is about findings that are open or fixed." in ada.page("/console/findings")


def test_no_ticks_ask_for_ticks(browse: Callable) -> None:
    ada = browse("ada")

    assert ada.get("/console/findings/letter").status_code == 303
    assert "Tick at least one finding, then press Write letter." in ada.page("/console/findings")


@pytest.mark.parametrize("step", ["", "/letter", "/serve", "/withdraw"])
def test_letters_out_of_reach_have_no_page(browse: Callable, step: str) -> None:
    path = write(browse("ada"))

    for who, place in (("bob", path), ("max", path), ("ada", "/console/notices/999")):
        assert browse(who).get(place + step).status_code == 404, who


def test_list_has_states_and_the_event_has_words(browse: Callable) -> None:
    ada = browse("ada")
    path = write(ada)

    page = ada.page("/console/notices?served_on=is.null&withdrawn_at=is.null")
    assert path in page
    assert "Not served" in page
    assert path not in ada.page("/console/notices?served_on=not.is.null&withdrawn_at=is.null")
    assert "Named in a letter" in ada.page(f"/console/findings/{FINDING}")
    assert path in ada.page("/console/buildings/1")
    assert browse("moe").page(path)
    assert browse("moe").get(f"{path}/serve").status_code == 403
