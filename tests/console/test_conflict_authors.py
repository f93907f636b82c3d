"""Conflicts of edits say who changed the row and when, as far as the caller may read that."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import MIA

EDIT = "/console/inspections/1/edit"
WHEN = r"at \d+ \w{3} \d{4}, \d\d:\d\d UTC"


def conflict(browse: Callable, who: str, change: Callable[[], object], path: str = EDIT, field: str = "notes") -> str:
    """Return the message of a form that was open while `change` changed a field."""
    user = browse(who)
    page = user.page(path)
    change()
    answer = user.fill_in(path, {field: "mine"}, page)
    assert answer.status_code == 409
    message = re.search(r'<p class="wrong"[^>]*>([^<]+)</p>', answer.text)
    assert message
    return message[1]


@pytest.mark.parametrize(
    ("who", "by", "expected"),
    [
        pytest.param("root", "ada", f"Notes was changed by Ada {WHEN} to “theirs”.", id="a user in sight"),
        pytest.param("ada", "root", f"Notes was changed by another user {WHEN} to “theirs”.", id="a hidden user"),
        pytest.param("ada", "ada", f"Notes was changed by you in another tab, {WHEN}, to “theirs”.", id="oneself"),
        pytest.param("ada", "service", f"Notes was changed by another user {WHEN} to “theirs”.", id="a program"),
    ],
)
def test_conflict_says_who_changed_the_field_and_when(
    browse: Callable, api: Callable, who: str, by: str, expected: str
) -> None:
    found = conflict(browse, who, lambda: api(by).patch("/inspections?id=eq.1", {"notes": "theirs"}))

    assert re.fullmatch(f"{expected} Submit the form again to overwrite it.", found), found


def test_conflict_names_who_changed_the_field_and_not_the_row(browse: Callable, api: Callable) -> None:
    def change() -> None:
        api("ada").patch("/inspections?id=eq.1", {"notes": "theirs"})
        api("root").patch("/inspections?id=eq.1", {"status": "failed"})

    assert "Notes was changed by Ada at " in conflict(browse, "root", change)


@pytest.mark.parametrize(("by", "expected"), [("ada", "by another user to"), ("mia", "by you in another tab, at ")])
def test_user_without_the_audit_log_learns_only_of_their_own_change(
    browse: Callable, api: Callable, by: str, expected: str
) -> None:
    """Mia records findings of her own visit, and reads no entry."""
    service = api("service")
    assert service.patch("/inspectors?id=eq.2", {"user_id": MIA}).status == 204
    assert service.patch("/inspections?id=eq.2", {"status": "in_progress"}).status == 204

    found = conflict(
        browse,
        "mia",
        lambda: api(by).patch("/findings?id=eq.1", {"description": "theirs"}),
        "/console/findings/1/edit",
        "description",
    )

    assert expected in found
    assert "Ada" not in found


def test_conflict_about_a_user_names_its_author(browse: Callable, api: Callable) -> None:
    path = f"/console/people/{MIA}/edit"

    found = conflict(browse, "root", lambda: api("ada").patch(f"/users?id=eq.{MIA}", {"name": "Maria"}), path, "name")

    assert re.match(f"Name was changed by Ada {WHEN} to “Maria”", found)
