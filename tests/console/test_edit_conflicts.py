"""Concurrent edits of a row (decision 0023): unedited fields follow the row, and conflicting edits are reported."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.open import writing
from routes.console.components import records
from routes.console.pages import users
from tests.conftest import ADA, BOB, MOE
from tests.console.conftest import Form

pytestmark = pytest.mark.slow

EDIT = "/console/inspections/1/edit"
BUILDING = "/console/buildings/1/edit"
PERSON = f"/console/people/{MOE}/edit"


def without_times(page: str) -> str:
    return re.sub(r" at \d+ \w{3} \d{4}, \d\d:\d\d UTC", "", page)


def in_thread(act: Callable[[], object]) -> None:
    """Run another request in its own thread, as the server does."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(act).result()


def one(api: Callable, path: str) -> dict:
    (row,) = api("root").get(path).json
    return row


def inspection(api: Callable, columns: str = "*") -> dict:
    return one(api, f"/inspections?id=eq.1&select={columns}")


def count_audit_lines(api: Callable) -> int:
    return len(api("root").get("/audit_log?action=in.(insert,update,delete)&select=id").json)


def test_concurrent_edits_of_other_fields_are_merged(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    api("root").patch("/inspections?id=eq.1", {"status": "failed", "date_visited": None})

    answer = ada.fill_in(EDIT, {"notes": "mine"}, page)

    assert answer.status_code == 303
    assert inspection(api, "status,date_visited,notes") == {"status": "failed", "date_visited": None, "notes": "mine"}


def test_concurrent_edit_of_a_field_is_a_conflict_until_resubmitted(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    api("root").patch("/inspections?id=eq.1", {"notes": "theirs", "status": "failed"})

    first = ada.fill_in(EDIT, {"notes": "mine", "inspection_type": "fire"}, page)

    assert first.status_code == 409
    assert "Notes was changed by another user to “theirs”. Submit the form again to overwrite it." in without_times(
        first.text
    )
    assert inspection(api, "notes,inspection_type") == {"notes": "theirs", "inspection_type": "annual"}  # fmt: skip
    shown = dict(Form(first.text).fields)
    assert (shown["notes"], shown["inspection_type"], shown["status"]) == ("mine", "fire", "failed")
    second = ada.fill_in(EDIT, {}, first.text)
    assert second.status_code == 303
    assert inspection(api, "notes,inspection_type,status") == {
        "notes": "mine",
        "inspection_type": "fire",
        "status": "failed",
    }


def test_conflict_message_shows_labels_and_cuts_long_values(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    api("root").patch("/inspections?id=eq.1", {"building_id": 2, "inspector_id": None, "notes": "y" * 90})  # fmt: skip

    answer = ada.fill_in(EDIT, {"building_id": "3", "inspector_id": "2", "notes": "mine"}, page)

    assert answer.status_code == 409
    assert "Building was changed by another user to “Mill Court”." in without_times(answer.text)
    assert "Inspector was changed by another user to no value." in without_times(answer.text)
    assert f"to “{'y' * 80}…”" in answer.text


def test_conflict_takes_precedence_over_other_problems(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    api("root").patch("/inspections?id=eq.1", {"date_visited": "2025-12-24"})

    first = ada.fill_in(EDIT, {"date_visited": "2026-02-30"}, page)
    again = Form(first.text).with_({}) | {"date_visited": ["2026-02-30"]}
    second = ada.client.post(EDIT, data=again)

    assert (first.status_code, second.status_code) == (409, 400)
    assert "to “24 Dec 2025”" in first.text
    assert ": this day does not exist." in second.text


def test_equal_concurrent_edits_are_not_a_conflict(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    api("root").patch("/inspections?id=eq.1", {"status": "failed"})
    lines = count_audit_lines(api)

    assert ada.fill_in(EDIT, {"status": "failed"}, page).status_code == 303
    assert count_audit_lines(api) == lines


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"city": "", "address": "1 Quay\r\nBack door"}, id="no text, and two lines"),
        pytest.param({"name": "a\rb", "zip": "\n", "state": " MA "}, id="line ends and spaces"),
        pytest.param({"name": ""}, id="a name that is needed and none"),
        pytest.param({"latitude": 42.0, "longitude": -1e-7}, id="numbers"),
        pytest.param({"building_type": "<b>\"&amp;'"}, id="signs of HTML"),
    ],
)
def test_values_that_inputs_cannot_show_are_kept(browse: Callable, api: Callable, changes: dict[str, object]) -> None:
    api("root").patch("/buildings?id=eq.1", changes)
    before = one(api, "/buildings?id=eq.1")
    ada = browse("ada")

    assert ada.fill_in(BUILDING, {"floors": "77"}).status_code == 303

    after = one(api, "/buildings?id=eq.1")
    assert after == {**before, "floors": 77, "updated_at": after["updated_at"]}


@pytest.mark.parametrize(
    "notes", ["", "\n\nlead", "\r\nlead", "\rlead", "a\r\nb\rc\n", "  x\t", "</textarea>"]
)  # fmt: skip
def test_unedited_form_writes_nothing(browse: Callable, api: Callable, notes: str) -> None:
    api("root").patch("/inspections?id=eq.1", {"notes": notes, "status": ""})
    before, lines = inspection(api), count_audit_lines(api)
    ada = browse("ada")

    answer = ada.fill_in(EDIT, {})

    assert "Changes saved." in ada.page(answer.headers["Location"])
    assert (inspection(api), count_audit_lines(api)) == (before, lines)


def test_equivalent_spelling_is_not_a_change(browse: Callable, api: Callable) -> None:
    api("root").patch("/buildings?id=eq.1", {"latitude": 42.5})
    lines = count_audit_lines(api)

    assert browse("ada").fill_in(BUILDING, {"latitude": "+42.50"}).status_code == 303
    assert count_audit_lines(api) == lines


def test_concurrent_edits_of_readings_are_merged(browse: Callable, api: Callable) -> None:
    path = "/console/reports_lead/1/edit"
    ada = browse("ada")
    page = ada.page(path)
    api("root").patch("/reports_lead?id=eq.1", {"result": "theirs"})

    assert ada.fill_in(path, {"gun_id": "5"}, page).status_code == 303
    assert ada.fill_in(path, {"result": "mine"}, page).status_code == 409
    row = one(api, "/reports_lead?id=eq.1&select=gun_id,result")
    assert row == {"gun_id": 5, "result": "theirs"}


def test_form_without_digests_overwrites_all_fields(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    given = {"building_id": "1", "inspection_type": "fire", "notes": "mine"}

    wrong = ada.send(EDIT, {**given, "date_visited": "x"})
    assert ada.send(EDIT, given).status_code == 303

    assert "notes=" in "".join(value for name, value in Form(wrong.text).fields if name == "seen")
    assert inspection(api, "notes,status,inspector_id") == {"notes": "mine", "status": None, "inspector_id": None}


SMALL, STATUS = "/console/inspections/1", "/console/inspections/1/status"


@pytest.mark.parametrize("status", [None, "", " failed ", "a\nb", "\n", "super_admin", "in progress"])
def test_unedited_status_form_writes_nothing(browse: Callable, api: Callable, status: str | None) -> None:
    api("root").patch("/inspections?id=eq.1", {"status": status})
    before, lines, ada = inspection(api), count_audit_lines(api), browse("ada")
    form = Form(ada.page(SMALL), STATUS)

    assert ada.client.post(STATUS, data=form.with_({})).status_code == 303
    assert (inspection(api), count_audit_lines(api)) == (before, lines)


def test_concurrent_status_change_is_kept_or_a_conflict(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    form = Form(ada.page(SMALL), STATUS)
    api("root").patch("/inspections?id=eq.1", {"status": "failed"})

    left = ada.client.post(STATUS, data=form.with_({}))
    assert (left.status_code, inspection(api, "status")) == (303, {"status": "failed"})

    first = ada.client.post(STATUS, data=form.with_({"status": "cancelled"}))
    assert (first.status_code, inspection(api, "status")) == (409, {"status": "failed"})
    assert "Status was changed by another user to “Failed”. Submit the form again" in without_times(first.text)
    again = ada.client.post(STATUS, data=Form(first.text).with_({}))
    assert (again.status_code, again.headers["Location"].partition("?")[0]) == (303, SMALL)
    assert inspection(api, "status") == {"status": "cancelled"}


# Users


def test_renaming_a_user_does_not_revert_a_role_change(browse: Callable, api: Callable) -> None:
    path = f"/console/people/{BOB}/edit"
    root = browse("root")
    page = root.page(path)
    api("root").patch(f"/users?id=eq.{BOB}", {"role": "client_manager"})

    assert root.fill_in(path, {"name": "Robert"}, page).status_code == 303

    row = one(api, f"/users?id=eq.{BOB}&select=name,role,client_id")
    assert row == {"name": "Robert", "role": "client_manager", "client_id": 2}


def test_concurrent_role_change_is_a_conflict(browse: Callable, api: Callable) -> None:
    root = browse("root")
    page = root.page(PERSON)
    api("ada").patch(f"/users?id=eq.{MOE}", {"name": "Maurice"})
    api("service").patch(f"/users?id=eq.{MOE}", {"role": "client_admin"})

    first = root.fill_in(PERSON, {"role": "super_admin", "client_id": ""}, page)

    assert first.status_code == 409
    assert "Role was changed by another user to “Client admin”." in without_times(first.text)
    assert one(api, f"/users?id=eq.{MOE}&select=role,name") == {"role": "client_admin", "name": "Maurice"}
    assert root.fill_in(PERSON, {}, first.text).status_code == 303
    assert one(api, f"/users?id=eq.{MOE}&select=role,name") == {"role": "super_admin", "name": "Maurice"}


def test_password_can_change_alone_and_is_never_shown(browse: Callable, api: Callable) -> None:
    api("root").patch(f"/users?id=eq.{MOE}", {"email": "Moe@ACME.example"})
    lines, ada = count_audit_lines(api), browse("ada")
    page = ada.page(PERSON)

    assert ada.fill_in(PERSON, {"password": "a new one of his"}, page).status_code == 303

    assert not [value for name, value in Form(page).fields if value.startswith("password=")]
    assert count_audit_lines(api) == lines
    given = {"email": "moe@acme.example", "password": "a new one of his"}
    assert browse().send("/console/sign-in", given).status_code == 303


# Changes during the save


@pytest.fixture
def run_before_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that runs an action between the read of a row and its write transaction."""

    def before_write(act: Callable[[], object]) -> None:
        def wait(*arguments: object, **named: object) -> object:
            monkeypatch.undo()
            in_thread(act)
            return writing(*arguments, **named)

        monkeypatch.setattr(records, "writing", wait)

    return before_write


def test_change_during_save_is_a_conflict_and_merges_on_resubmit(
    browse: Callable, api: Callable, run_before_write: Callable
) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    run_before_write(lambda: api("root").patch("/inspections?id=eq.1", {"status": "cancelled"}))

    first = ada.fill_in(EDIT, {"notes": "mine"}, page)

    assert first.status_code == 409
    assert "This was changed at the same time. Submit the form again." in first.text
    assert inspection(api, "status,notes") == {"status": "cancelled", "notes": "all fine"}
    assert Form(first.text).with_({})["seen"] == Form(page).with_({})["seen"]
    assert ada.fill_in(EDIT, {}, first.text).status_code == 303
    assert inspection(api, "status,notes") == {"status": "cancelled", "notes": "mine"}


def test_row_deleted_during_save_is_404(browse: Callable, api: Callable, run_before_write: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    run_before_write(lambda: api("root").delete("/inspections?id=eq.1"))

    assert ada.fill_in(EDIT, {"notes": "mine"}, page).status_code == 404


def test_privilege_revoked_during_save_is_enforced(browse: Callable, api: Callable, run_before_write: Callable) -> None:
    ada = browse("ada")
    page = ada.page(EDIT)
    run_before_write(lambda: api("root").patch(f"/users?id=eq.{ADA}", {"client_id": 2}))

    answer = ada.fill_in(EDIT, {"notes": "mine"}, page)

    assert (answer.status_code, "Nothing is saved yet" in answer.text) == (401, True)
    assert inspection(api, "notes") == {"notes": "all fine"}


def test_user_changed_during_save_is_a_conflict_and_merges_on_resubmit(
    browse: Callable, api: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = browse("root")
    page = root.page(PERSON)

    def hash_slowly(*arguments: object) -> None:
        monkeypatch.undo()
        in_thread(lambda: api("root").patch(f"/users?id=eq.{MOE}", {"role": "client_admin"}))

    monkeypatch.setattr(users, "hash_new_password", hash_slowly)
    first = root.fill_in(PERSON, {"name": "Maurice"}, page)

    assert first.status_code == 409
    assert "This was changed at the same time." in first.text
    assert one(api, f"/users?id=eq.{MOE}&select=name") == {"name": "Moe"}
    assert root.fill_in(PERSON, {}, first.text).status_code == 303
    row = one(api, f"/users?id=eq.{MOE}&select=name,role")
    assert row == {"name": "Maurice", "role": "client_admin"}
