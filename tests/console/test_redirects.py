"""Cross-site links, and the return to a page after a sign-in."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from tests.conftest import MOE
from tests.console.conftest import EMAILS

pytestmark = pytest.mark.one_engine

REFRESH = re.compile(r'<meta http-equiv="refresh" content="0; url=([^"]*)">')
CROSS = {"Sec-Fetch-Site": "cross-site"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/console/", "/console/"),
        ("/console/inspections?status=eq.failed", "/console/inspections?status=eq.failed"),
        ("/console/why?person=%22%3E%3Cb%3E;'x\"<b>", "/console/why?person=%22%3E%3Cb%3E;'x%22%3Cb%3E"),
        ("/console/sign-in?next=/console/why", "/console/sign-in?next=/console/why"),
        ("/console/kiosk", "/console/kiosk"),
        ("/console/people/%3Cscript%3E", "/console/people/%3Cscript%3E"),
    ],
)  # fmt: skip
def test_cross_site_link_without_cookies_is_reloaded(browse: Callable, path: str, url: str, site: str) -> None:
    answer = browse().get(path, headers={"Sec-Fetch-Site": site})

    assert (answer.status_code, "Set-Cookie" in answer.headers) == (200, False)
    (found,) = REFRESH.findall(answer.text)
    assert unescape(found) == url
    assert "<b>" not in answer.text
    assert "<script" not in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("site", [None, "none", "same-origin"])
def test_same_site_request_redirects_to_sign_in(browse: Callable, site: str | None) -> None:
    answer = browse().get("/console/why", headers={"Sec-Fetch-Site": site} if site else {})

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/console/sign-in?next=%2Fconsole%2Fwhy"


def test_cross_site_link_with_cookies_is_not_reloaded(browse: Callable) -> None:
    person = browse()
    person.client.set_cookie("walkthrough_console", "x", path="/console")

    assert person.get("/console/", headers=CROSS).status_code == 303
    assert browse("ada").get("/console/", headers=CROSS).status_code == 200


def test_kiosk_link_keeps_the_nonce_of_open_sign_in_pages(app: object, browse: Callable) -> None:
    """A link from elsewhere comes without the nonce that is there."""
    person = browse()
    csrf = person.token()
    stray = app.test_client(use_cookies=False).get("/console/kiosk/enter", headers=CROSS)
    (made,) = stray.headers.getlist("Set-Cookie")
    assert "Path=/console/kiosk" in made
    person.client.set_cookie("walkthrough_sign_in", made.partition("=")[2].partition(";")[0], path="/console/kiosk")

    given = {"csrf": csrf, "email": EMAILS["ada"], "password": "wrong wrong"}
    assert person.client.post("/console/sign-in", data=given).status_code == 400
    entered = person.send("/console/kiosk/enter", {"code": "ABCDEFGH"})
    assert entered.status_code == 401


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/console/inspections/1/edit", "/console/inspections/1/edit"),
        ("/console/inspections/1/status", "/console/inspections/1"),
        ("/console/reports_lead/new", "/console/reports_lead/new"),
        ("/console/people/new", "/console/people/new"),
        (f"/console/people/{MOE}/disable", f"/console/people/{MOE}"),
        ("/console/access", "/console/access"),
        ("/console/access/confirm", "/console/access"),
        ("/console/devices/x/revoke", "/console/devices"),
        ("/console/sign-out", ""),
    ],
)
def test_form_without_a_session_returns_to_its_page_after_sign_in(browse: Callable, path: str, wanted: str) -> None:
    person = browse()

    sent = person.client.post(path, data={"csrf": "x", "notes": "typed"}).headers["Location"]

    assert sent == ("/console/sign-in" + (f"?next={wanted.replace('/', '%2F')}" if wanted else ""))
    if wanted:
        assert f'name="next" value="{wanted}"' in person.page(sent)
