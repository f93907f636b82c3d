"""The calendar links of one's own account: made, shown once, listed, revoked."""

import html
import re
from collections.abc import Callable

import pytest
from icalendar import Calendar

from tests.conftest import ADA, MOE
from tests.console.conftest import Form

pytestmark = pytest.mark.one_engine

PAGE = "/console/account"


def make(client: object, name: str = "My phone") -> str:
    """Make a link; return its URL, which the page shows."""
    answer = client.send(f"{PAGE}/calendar", {"link_name": name}, form=PAGE)
    found = re.search(r'class="token">([^<]+\.ics)<', answer.text)
    assert found, answer.text
    return html.unescape(found[1])


def fetch(app: object, url: str) -> object:
    return app.test_client().get(url)


def test_link_is_shown_once_and_reads_the_calendar(app: object, browse: Callable) -> None:
    ada = browse("ada")

    url = make(ada)

    assert re.fullmatch(r"http://localhost/calendar/wtc_[A-Za-z0-9_-]{43}\.ics", url)
    assert "My phone" in ada.page(PAGE)
    assert url not in ada.page(PAGE)
    assert Calendar.from_ical(fetch(app, url).text)["name"] == "Inspections"


def test_new_link_opens_in_a_calendar_program(browse: Callable) -> None:
    answer = browse("ada").send(f"{PAGE}/calendar", {"link_name": "My phone"}, form=PAGE)

    assert 'href="webcal://localhost/calendar/wtc_' in answer.text
    assert 'data-copy="new-link"' in answer.text
    assert re.search(r'<svg class="qr" [^>]*aria-label="QR code of the new link"><path\s+d="M4 4h1v1h-1z', answer.text)


def test_link_is_revoked_after_a_question(app: object, browse: Callable) -> None:
    ada = browse("ada")
    url = make(ada)
    (link,) = re.findall(r'href="([^"]+/revocation)"', ada.page(PAGE))
    assert "Revoke the calendar link My phone?" in ada.page(link)
    assert fetch(app, url).status_code == 200

    sent = ada.send(link.replace("/revocation", "/revoke"), form=link)

    assert sent.headers["Location"] == PAGE
    page = ada.page(PAGE)
    assert "Calendar link revoked." in page
    assert "/revocation" not in page
    assert fetch(app, url).status_code == 404


def test_form_that_is_sent_twice_makes_one_link(browse: Callable) -> None:
    ada = browse("ada")
    fields = Form(ada.page(PAGE), f"{PAGE}/calendar").with_({"link_name": "My phone"})

    answers = [ada.client.post(f"{PAGE}/calendar", data=fields) for _ in range(2)]

    assert [each.status_code for each in answers] == [200, 303]
    assert "This calendar link was created before. It was shown once." in ada.page(PAGE)
    assert ada.page(PAGE).count("/revocation") == 1


def test_link_needs_a_name(browse: Callable) -> None:
    answer = browse("ada").send(f"{PAGE}/calendar", {"link_name": " "}, form=PAGE)

    assert (answer.status_code, "Name is required." in answer.text) == (400, True)


@pytest.mark.parametrize("who", ["root", "moe"])
def test_user_without_a_calendar_is_offered_no_link(browse: Callable, who: str) -> None:
    user = browse(who)

    assert "Make a link" not in user.page(PAGE)
    assert user.send(f"{PAGE}/calendar", {"csrf": user.token(PAGE), "link_name": "Phone"}).status_code == 403


def test_inspector_makes_a_link(app: object, api: Callable, browse: Callable) -> None:
    assert api("root").patch("/inspectors?id=eq.1", {"user_id": MOE}).status == 204

    assert fetch(app, make(browse("moe"))).status_code == 200


def test_administrator_sees_and_revokes_the_link_of_a_user(app: object, browse: Callable) -> None:
    url = make(browse("ada"))
    root, path = browse("root"), f"/console/people/{ADA}/api_keys"
    assert "<td>Calendar</td>" in root.page(path)
    (link,) = re.findall(r'href="([^"]+/revocation)"', root.page(path))

    sent = root.send(link.replace("/revocation", "/revoke"), form=link)

    assert "Calendar link revoked." in root.page(sent.headers["Location"])
    assert fetch(app, url).status_code == 404
