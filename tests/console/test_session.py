"""Sign-in, the session cookie, CSRF tokens, and the end of a session."""

import random
import re
import string
from collections.abc import Callable

import pytest

from engine.query.statement import Action
from routes.console.session.auth import AGE_SECONDS_MAX, IDLE_SECONDS_MAX, RENEWED_AFTER_SECONDS
from tests.clients.server import password_of
from tests.conftest import ADA, BOB, MIA, MOE, Database, api_over
from tests.console.conftest import COOKIE, EMAILS
from tests.console.generic import generic_pages
from tests.support import tokens

pytestmark = pytest.mark.one_engine

USER = f"/auth/v1/admin/users/{ADA}"


def is_signed_in(person: object) -> bool:
    return person.get("/console/").status_code == 200


def test_session_cookie_flags(browse: Callable) -> None:
    answer = browse().sign_in("ada")

    set_cookie = next(each for each in answer.headers.getlist("Set-Cookie") if each.startswith(COOKIE))
    flags = {part.strip() for part in set_cookie.split(";")[1:]}
    assert flags == {"HttpOnly", "SameSite=Strict", "Path=/console"}


@pytest.mark.parametrize(
    ("trusted", "proto", "secure"),
    [("10.0.0.0/8", "https", True), ("10.0.0.0/8", "http", False), ("192.0.2.0/24", "https", False)],
)
def test_cookie_is_secure_behind_a_trusted_tls_proxy(
    app: object, browse: Callable, trusted: str, proto: str, secure: bool
) -> None:
    import ipaddress

    app.config["TRUSTED_PROXIES"] = (ipaddress.ip_network(trusted),)
    person = browse()
    csrf = person.token()
    answer = person.client.post(
        "/console/sign-in",
        data={"csrf": csrf, "email": EMAILS["ada"], "password": password_of("Ada")},
        headers={"X-Forwarded-Proto": proto},
        environ_overrides={"REMOTE_ADDR": "10.1.2.3"},
    )

    set_cookie = next(each for each in answer.headers.getlist("Set-Cookie") if each.startswith(COOKIE))
    assert ("Secure" in set_cookie) is secure


def test_api_ignores_and_sets_no_cookie(browse: Callable) -> None:
    ada = browse("ada")
    value = ada.cookie.value

    for path in ("/inspections", "/rest/v1/buildings", "/auth/v1/user", "/rpc/get_building_stats"):
        answer = ada.client.get(path, headers={"apikey": tokens.ANON_KEY, "Cookie": f"{COOKIE}={value}"})
        assert answer.status_code == 401
        assert "Set-Cookie" not in answer.headers


def test_wrong_password_and_unknown_email_have_equal_responses(browse: Callable) -> None:
    answers = []
    for email in (EMAILS["ada"], "nobody@not_found.example"):
        answer = browse().send("/console/sign-in", {"email": email, "password": "wrong wrong"})
        answers.append((answer.status_code, "The e-mail address or the password is wrong." in answer.text))

    assert answers == [(400, True), (400, True)]


def test_sign_in_is_throttled(browse: Callable) -> None:
    person = browse()
    statuses = [
        person.send("/console/sign-in", {"email": EMAILS["ada"], "password": "no"}).status_code for _ in range(11)
    ]

    assert statuses == [400] * 10 + [429]


FORMS = [
    "/console/inspections/1/issue",
    "/console/issued_reports/1/withdraw",
    "/console/findings/letter",
    "/console/notices/1/serve",
    "/console/inspections/1/reclassify",
    "/console/reports_lead/1/void",
    "/console/sign-out",
    "/console/inspections/new",
    "/console/inspections/1/edit",
    "/console/inspections/1/status",
    "/console/inspections/1/delete",
    "/console/inspections/1/access",
    "/console/inspections/1/start_visit",
    "/console/inspections/1/close_visit",
    "/console/buildings/1/defect",
    "/console/inspections/1/reinspect",
    "/console/inspections/1/take_back",
    "/console/inspections/1/skip_occurrence",
    "/console/inspections/1/add/findings",
    "/console/findings/move/fixed",
    "/console/inspections/change/status",
    "/console/inspections/change/status/confirm",
    "/console/schedules/1/end",
    "/console/schedules/apply",
    "/console/schedules/apply/confirm",
    "/console/import/buildings",
    "/console/reports_lead/new",
    "/console/reports_lead/1/edit",
    "/console/reports_lead/1/delete",
    "/console/buildings/new",
    "/console/buildings/1/edit",
    "/console/buildings/1/delete",
    "/console/people/new",
    f"/console/people/{MOE}/edit",
    f"/console/client_manager_building_access/{MOE},1/delete",
    f"/console/people/{MOE}/api_keys",
    f"/console/people/{MOE}/api_keys/x/revoke",
    f"/console/people/{MOE}/disable",
    f"/console/people/{MOE}/enable",
    f"/console/people/{MOE}/delete",
    "/console/access",
    "/console/access/confirm",
    "/console/devices",
    "/console/devices/x/revoke",
    "/console/account/api_keys",
    "/console/account/api_keys/x/revoke",
    "/console/account/name",
    "/console/account/calendar",
    "/console/account/password",
    "/console/account/own_password",
    "/console/account/sessions",
    "/console/account/sessions/x/end",
    "/console/inspections/1/files",
    "/console/inspectors/1/hand_over",
    "/console/audit_log/1/undo",
    "/console/files/x/delete",
]
FORMS += sorted({page.path for page in generic_pages() if page.action is not Action.READ} - set(FORMS))


@pytest.mark.parametrize("path", FORMS)
def test_form_without_csrf_token_is_403(browse_shared: Callable, path: str) -> None:
    ada = browse_shared("ada")

    for token in (None, "", "x", "öäü", "A" * 43):
        answer = ada.client.post(path, data={"a": "b"} if token is None else {"csrf": token})
        assert answer.status_code == 403

    assert is_signed_in(ada)


def test_every_form_is_covered(app: object) -> None:
    found = {
        re.sub("<int:[a-z]+>", "1", rule.rule)
        .replace("<key_id>", "<key>")
        .replace("<kind>", "fixed")
        .replace("<column>", "status")
        .replace("<table_name>", "findings")
        .replace("<target>", "buildings")
        .replace("<any(serve, withdraw):step>", "serve")
        .replace("<any(buildings, inspections):name>", "inspections")
        .replace("<any(inspections, findings, buildings):bucket>", "inspections")
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/console") and "POST" in rule.methods
    }

    covered = {re.sub("/(?:x|[^/]*[-,][^/]*)(?=/)", "/<key>", path) for path in FORMS}
    assert found - covered == {"/console/sign-in", "/console/kiosk/enter", "/console/kiosk/leave"}


def test_sign_in_without_csrf_token_is_403(browse: Callable) -> None:
    given = {"email": EMAILS["ada"], "password": password_of("Ada")}

    assert browse().client.post("/console/sign-in", data=given).status_code == 403
    for path in ("/console/sign-in", "/console/kiosk/enter", "/console/kiosk/leave"):
        stolen = browse().token()
        assert browse().client.post(path, data={"csrf": stolen, **given}).status_code == 403


def test_chosen_nonce_cannot_forge_other_signatures(app: object, browse: Callable) -> None:
    ada, other = browse("ada"), browse()
    with app.app_context():
        signer = app.extensions["walkthrough.cookie_signer"]
        session_id = signer.decode(ada.cookie.value).session_id
    for chosen in (session_id, f"session {session_id}"):
        other.client.set_cookie("walkthrough_sign_in", chosen, path="/console")
        csrf = other.token()
        answer = ada.client.post("/console/inspections/1/status", data={"csrf": csrf})
        assert answer.status_code == 403


def test_csrf_token_of_another_session_is_403(browse: Callable) -> None:
    ada, root = browse("ada"), browse("root")

    answer = ada.client.post(
        "/console/inspections/1/status", data={"csrf": root.token("/console/inspections/1"), "status": "failed"}
    )

    assert answer.status_code == 403


def test_cross_site_form_is_403(browse: Callable) -> None:
    ada = browse("ada")
    csrf = ada.token("/console/inspections/1")
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 303)):
        answer = ada.client.post(
            "/console/inspections/1/status", data={"csrf": csrf, "status": "failed"}, headers={"Sec-Fetch-Site": site}
        )
        assert answer.status_code == status


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data; boundary=x"])
def test_other_content_types_are_415(browse: Callable, kind: str) -> None:
    answer = browse("ada").client.post("/console/inspections/new", data=b"{}", content_type=kind)

    assert answer.status_code == 415


def test_sign_out_ends_the_session(browse: Callable) -> None:
    ada = browse("ada")
    value = ada.cookie.value

    assert ada.send("/console/sign-out", form="/console/").status_code == 303

    assert ada.cookie is None
    ada.client.set_cookie(COOKIE, value, path="/console")
    assert not is_signed_in(ada)


def test_get_does_not_sign_out(browse: Callable) -> None:
    ada = browse("ada")

    assert ada.get("/console/sign-out").status_code in (404, 405)
    assert is_signed_in(ada)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda api: api("root").patch(f"/users?id=eq.{ADA}", {"role": "client_manager"}), id="demoted"),
        pytest.param(lambda api: api("root").patch(f"/users?id=eq.{ADA}", {"client_id": 2}), id="moved"),
        pytest.param(lambda api: api("root").delete(f"/users?id=eq.{ADA}"), id="deleted"),
        pytest.param(lambda api: api("root").put(USER, {"ban_duration": "24h"}), id="disabled"),
        pytest.param(lambda api: api("root").put(USER, {"password": "another one"}), id="new password"),
        pytest.param(lambda api: api("ada").post("/auth/v1/logout?scope=global"), id="signed out everywhere"),
    ],
)  # fmt: skip
def test_session_ends_at_the_next_request(app: object, browse: Callable, end: Callable) -> None:
    api = api_over(Database(lambda: app, None, app))
    ada = browse("ada")
    csrf = ada.token("/console/inspections/1")
    assert is_signed_in(ada)

    assert end(api).status < 300

    assert not is_signed_in(ada)
    assert (
        ada.client.post("/console/inspections/1/status", data={"csrf": csrf, "status": "failed"})
        .headers["Location"]
        .startswith("/console/sign-in")
    )
    assert api("root").get("/inspections?id=eq.1&select=status").json == [{"status": "completed"}]


def test_promotion_ends_the_session(app: object, browse: Callable) -> None:
    api = api_over(Database(lambda: app, None, app))
    moe = browse("moe")

    api("root").patch(f"/users?id=eq.{MOE}", {"role": "client_admin"})

    assert not is_signed_in(moe)


@pytest.mark.parametrize("seconds", [IDLE_SECONDS_MAX, AGE_SECONDS_MAX])
def test_session_expires(app: object, browse: Callable, seconds: int) -> None:
    ada = browse("ada")
    clock = app.extensions["walkthrough.clock"]

    app.extensions["walkthrough.clock"] = lambda: clock() + seconds + 1

    assert not is_signed_in(ada)


def test_active_session_ends_at_the_maximum_age(app: object, browse: Callable) -> None:
    ada = browse("ada")
    clock = app.extensions["walkthrough.clock"]
    step = IDLE_SECONDS_MAX - 60
    hours = 0
    while is_signed_in(ada):
        hours += step
        app.extensions["walkthrough.clock"] = lambda: clock() + hours  # noqa: B023
        assert hours < 2 * AGE_SECONDS_MAX

    assert AGE_SECONDS_MAX <= hours < AGE_SECONDS_MAX + step


@pytest.mark.parametrize("value", ["", "x", "a.b", "ö", "e30.e30", '"'])
def test_invalid_cookie_is_rejected(browse: Callable, value: str) -> None:
    person = browse()
    person.client.set_cookie(COOKIE, value, path="/console")

    assert person.get("/console/").status_code == 303


def test_tampered_cookie_is_rejected(browse: Callable) -> None:
    ada = browse("ada")
    value = ada.cookie.value
    for place in range(0, len(value), 7):
        other = "A" if value[place] != "A" else "B"
        ada.client.set_cookie(COOKIE, value[:place] + other + value[place + 1 :], path="/console")
        assert not is_signed_in(ada)


@pytest.mark.parametrize(
    ("wanted", "location"),
    [
        ("/console/buildings?city=eq.Lynn", "/console/buildings?city=eq.Lynn"),
        ("//evil.example/console/", "/console/"),
        ("https://evil.example/", "/console/"),
        ("/console/\\evil", "/console/"),
        ("/inspections", "/console/"),
        ("/console/sign-out", "/console/"),
        ("/console/static/console.css", "/console/"),
        ("//[", "/console/"),
        ("//[/console/", "/console/"),
        ("/console/why?person=[", "/console/why?person=%5B"),
        ("/console/é", "/console/"),
        ("/console/\t", "/console/"),
    ],
)
def test_sign_in_redirects_within_the_console_only(browse: Callable, wanted: str, location: str) -> None:
    given = {"email": EMAILS["bob"], "password": password_of("Bob"), "next": wanted}

    person = browse()
    answer = person.send("/console/sign-in", given)

    assert (answer.status_code, answer.headers["Location"]) == (303, location)
    assert person.get("/console/sign-in", query_string={"next": wanted}).status_code == 200


def test_key_rotation_keeps_sessions(app: object, browse: Callable) -> None:
    from routes.console.session.auth import CookieSigner

    ada = browse("ada")
    app.extensions["walkthrough.cookie_signer"] = CookieSigner([tokens.SECRET_KEY.encode(), b"n" * 48])
    assert is_signed_in(ada)
    app.extensions["walkthrough.cookie_signer"] = CookieSigner([b"n" * 48])
    assert not is_signed_in(ada)


def test_dashboard_shows_the_name_of_the_user(browse: Callable) -> None:
    assert "Bob" in browse("bob").page("/console/")
    assert BOB != ADA


@pytest.mark.parametrize(
    "letters",
    [
        pytest.param(string.ascii_letters, id="letters"),
        pytest.param("".join(map(chr, range(0x4E00, 0x9FA6))), id="Han"),
        pytest.param("".join(map(chr, range(0x1F600, 0x1F650))), id="faces"),
    ],
)
def test_long_name_fits_into_the_cookie(app: object, browse: Callable, api: Callable, letters: str) -> None:
    name = "".join(random.Random(letters).choices(letters, k=3_000))
    assert api("root").patch(f"/users?id=eq.{ADA}", {"name": name}).status == 204

    ada = browse()
    answers = [ada.sign_in("ada")]
    clock = app.extensions["walkthrough.clock"]
    app.extensions["walkthrough.clock"] = lambda: clock() + RENEWED_AFTER_SECONDS + 1
    answers.append(ada.get("/console/"))

    assert [answer.status_code for answer in answers] == [303, 200]
    for answer in answers:
        (set_cookie,) = (each for each in answer.headers.getlist("Set-Cookie") if each.startswith(COOKIE))  # fmt: skip
        assert len(set_cookie) < 4_096
    assert name[:80] in answers[1].text
    assert name[:81] not in answers[1].text


def test_long_name_is_cut_in_messages(browse: Callable, api: Callable) -> None:
    api("root").patch(f"/users?id=eq.{MIA}", {"name": "\N{GRINNING FACE}" * 9_000})
    ada, given, form = browse("ada"), {"person": MIA, "do": "give"}, "/console/"

    sent = ada.send("/console/inspections/2/access", given, form=form)

    assert len(sent.headers["Location"]) < 3_000
    page = ada.page(sent.headers["Location"])
    assert "Inspection granted to \N{GRINNING FACE}" in page
    assert "\N{GRINNING FACE}….</p>" in page


@pytest.mark.parametrize("typed", ["özgür@acme.example", "Özgür@acme.example", "ÖZGÜR@ACME.EXAMPLE "])
def test_email_is_case_insensitive_beyond_ascii(browse: Callable, typed: str) -> None:
    given = {"name": "Özgür", "email": "Özgür@acme.example", "password": "özgür walks too"}
    assert browse("ada").send("/console/people/new", given).status_code == 303

    person = browse()
    person.sign_in_first(typed, given["password"])

    assert is_signed_in(person)
    assert 'name="email" type="text" inputmode="email"' in browse().page("/console/sign-in")
