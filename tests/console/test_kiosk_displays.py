"""Kiosk displays: what they show, what ends them, and that they cannot write."""

import re
from collections.abc import Callable

import pytest

from access.accounts import kiosk_display, password
from routes.console.session.auth import IDLE_SECONDS_MAX, RENEWED_AFTER_SECONDS
from tests.clients.server import password_of
from tests.conftest import ADA, BOB, CAST, MAX, MOE, ROOT, Bearer
from tests.console.conftest import EMAILS

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

USER = f"/auth/v1/admin/users/{MOE}"


def create_kiosk_display(admin: object, person: str = MOE, days: str = "90", mode: str = "full") -> str:
    made = admin.send("/console/devices", {"name": "Hall", "person": person, "days": days, "mode": mode})
    assert (made.status_code, made.headers["Location"]) == (303, "/console/devices"), made.text
    answer = admin.get("/console/devices")
    found = re.search(r'class="token code">([2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4})<', answer.text)
    assert found, answer.text
    return found[1]


def enter(browse: Callable, code: str) -> object:
    display = browse()
    answer = display.send("/console/kiosk/enter", {"code": code})
    assert answer.status_code == 303, answer.text
    flags = next(each for each in answer.headers.getlist("Set-Cookie") if "kiosk" in each)
    assert "HttpOnly" in flags
    assert "SameSite=Strict" in flags
    assert "Path=/console/kiosk" in flags
    return display


def test_kiosk_display_shows_only_rows_of_its_user(browse: Callable) -> None:
    display = enter(browse, create_kiosk_display(browse("ada")))

    page = display.page("/console/kiosk")

    assert "Harbor House" in page
    assert "Ash, " not in page
    for path in ("/console/", "/console/inspections", "/console/buildings/1", "/console/why"):
        assert display.get(path).status_code == 303, path
    for path in ("/console/kiosk", "/console/kiosk/board"):
        assert display.client.post(path).status_code == 405


FLAT, DEFECT, TYPE = "Flat 3B", "A child of four lives here.", "Eviction of Mr Doe"
SECRET = {"place": FLAT, "item": FLAT, "description": DEFECT, "severity": "severe"}


@pytest.mark.parametrize(("mode", "is_public"), [("", True), ("public", True), ("full", False)])
def test_public_display_shows_counts_dates_and_buildings(
    browse: Callable, api: Callable, mode: str, is_public: bool
) -> None:
    for row in (SECRET | {"inspection_id": 1}, SECRET | {"inspection_id": 4}):
        assert api("service").post("/findings", row).status == 201
    assert api("service").patch("/inspections?id=eq.9", {"inspection_type": TYPE}).status == 204
    ada = browse("ada")

    page = enter(browse, create_kiosk_display(ada, ADA, mode=mode)).page("/console/kiosk")

    assert "Harbor House" in page
    shown = [text in page for text in (FLAT, DEFECT, TYPE, "Latest results", "viewed as")]
    assert shown == [not is_public] * 5
    assert re.findall(r">Severe</span>\s*<b>(\d+)", page) == ["3"] * is_public  # with that of building 5
    assert ("Counts, dates, buildings" in ada.page("/console/devices")) is is_public


def test_signed_in_user_sees_everything_on_the_display_page(browse: Callable) -> None:
    assert "viewed as Ada" in browse("ada").page("/console/kiosk").replace("\n", "").replace("  ", " ")


def test_kiosk_view_cannot_write(app: object, browse: Callable, monkeypatch: object) -> None:
    from engine.open import writing
    from routes.console.pages import kiosk

    display = enter(browse, create_kiosk_display(browse("ada")))
    refusals: list[str] = []

    def try_writes(caller: object) -> dict:
        from engine.open import reading

        for attempt_write in (lambda: writing().__enter__(), lambda: None):
            try:
                attempt_write()
                with reading() as transaction:
                    transaction.run("UPDATE buildings SET name = 'x'")
            except Exception as refusal:  # noqa: BLE001  (any exception is a refusal)
                refusals.append(type(refusal).__name__)
        return {}

    monkeypatch.setattr(kiosk, "kiosk_content", try_writes)
    display.get("/console/kiosk/board")

    assert len(refusals) == 2
    assert "x" not in re.findall(r'class="where">([^<]*)<', browse("ada").page("/console/"))


@pytest.mark.parametrize("token", ["", "x", "wtk_", "wtk_" + "A" * 43, "ö", "A" * 3_000])
def test_invalid_kiosk_token_is_401(browse: Callable, token: str) -> None:
    display = browse()
    assert display.send("/console/kiosk/enter", {"code": token}).status_code == 401
    if token.isascii():
        display.client.set_cookie("walkthrough_kiosk", token, path="/console/kiosk")
        assert display.get("/console/kiosk/board").status_code == 401


def revoke_kiosk_display(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    found = re.search(r"/console/devices/([^/]+)/revocation", ada.page("/console/devices"))
    assert found
    ada.send(f"/console/devices/{found[1]}/revoke", form="/console/devices")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(revoke_kiosk_display, id="revoked"),
        pytest.param(lambda browse, api: api("root").delete(f"/users?id=eq.{MOE}"), id="user deleted"),
        pytest.param(lambda browse, api: api("root").put(USER, {"role": "client_admin"}), id="promoted"),
        pytest.param(lambda browse, api: api("root").put(USER, {"ban_duration": "24h"}), id="disabled"),
        pytest.param(lambda browse, api: api("root").put(USER, {"password": "another one"}), id="new password"),
    ],
)  # fmt: skip
def test_kiosk_token_is_revoked_with_its_user(browse: Callable, api: Callable, end: Callable) -> None:
    display = enter(browse, create_kiosk_display(browse("ada")))
    assert display.get("/console/kiosk/board").status_code == 200

    end(browse, api)

    assert display.get("/console/kiosk/board").status_code == 401


def test_kiosk_token_expires(app: object, browse: Callable) -> None:
    import time

    import engine.storage.database

    display = enter(browse, create_kiosk_display(browse("ada"), days="30"))
    real = time.time
    try:
        engine.storage.database.time.time = lambda: real() + 30 * 86_400 + 1
        assert display.get("/console/kiosk/board").status_code == 401
    finally:
        engine.storage.database.time.time = real


def test_kiosk_token_is_not_a_bearer_token_and_is_stored_as_digest(
    app: object, browse: Callable, api: Callable
) -> None:
    from tests.conftest import Bearer

    display = enter(browse, create_kiosk_display(browse("ada")))
    token = display.client.get_cookie("walkthrough_kiosk", path="/console/kiosk").value
    assert token.startswith("wtk_")

    assert api(Bearer(f"Bearer {token}")).get("/inspections").status == 401
    with app.app_context():
        from engine.open import reading

        with reading() as transaction:
            rows = transaction.all("SELECT * FROM tokens")
    assert len(rows) == 1
    assert token not in str(rows)


@pytest.mark.parametrize(
    ("who", "person", "made"),
    [
        ("ada", MOE, True),
        ("ada", ADA, True),
        ("ada", BOB, False),
        ("ada", MAX, False),
        ("ada", ROOT, False),
        ("root", BOB, True),
        ("root", ROOT, True),
    ],
)
def test_kiosk_display_requires_update_privilege_on_its_user(
    browse: Callable, who: str, person: str, made: bool
) -> None:
    admin = browse(who)
    answer = admin.send("/console/devices", {"name": "Hall", "person": person, "days": "30"})

    assert (answer.status_code == 303) is made
    assert ('class="token code"' in admin.page("/console/devices")) is made


def test_revoking_a_hidden_kiosk_display_is_404(browse: Callable) -> None:
    root, ada = browse("root"), browse("ada")
    display = enter(browse, create_kiosk_display(root, BOB))
    found = re.search(r"/console/devices/([^/]+)/revocation", root.page("/console/devices"))
    assert found
    assert found[1] not in ada.page("/console/devices")

    answer = ada.send(f"/console/devices/{found[1]}/revoke", form="/console/devices")

    assert answer.status_code == 404
    assert display.get("/console/kiosk/board").status_code == 200


def test_code_is_shown_once_and_the_form_is_empty(browse: Callable) -> None:
    ada = browse("ada")
    create_kiosk_display(ada)

    again = ada.page("/console/devices")

    assert 'class="token code"' not in again
    assert again.count("/revocation") == 1
    assert 'name="name" required maxlength="80" value=""' in again


def test_page_shows_no_code_without_a_signature(browse: Callable) -> None:
    ada = browse("ada")
    ada.client.set_cookie("walkthrough_code", "ABCDEFGH.x", path="/console/devices")

    assert 'class="token code"' not in ada.page("/console/devices")


def test_kiosk_display_has_its_location_as_title(browse: Callable) -> None:
    page = enter(browse, create_kiosk_display(browse("ada"))).page("/console/kiosk")

    assert "<title>Hall · Walkthrough</title>" in page
    assert "<h1>Hall</h1>" in page


def test_severest_findings_come_first(browse: Callable, api: Callable) -> None:
    for severity, day in (("low", 1), ("severe", 3), ("life_threatening", 9), ("severe", 2)):
        row = {"inspection_id": 1, "description": f"{severity} {day}", "severity": severity, "place": "Cellar"}
        made = api("service").post("/findings", row | {"due_at": f"2020-01-0{day}T00:00:00Z"})
        assert made.status == 201, made.text
    page = browse("ada").page("/console/kiosk")

    places = [page.index(each) for each in ("life_threatening 9", "severe 2", "severe 3", "low 1")]
    assert places == sorted(places)
    assert "Cellar: severe 2" in page


def clocked(app: object, seconds: int) -> None:
    clock = app.extensions["walkthrough.clock"]
    app.extensions["walkthrough.clock"] = lambda: clock() + seconds


@pytest.mark.parametrize("path", ["/console/kiosk", "/console/kiosk/board"])
def test_kiosk_refresh_does_not_extend_the_session(app: object, browse: Callable, path: str) -> None:
    ada = browse("ada")
    clocked(app, RENEWED_AFTER_SECONDS + 1)

    display, page = ada.get(path), ada.get("/console/")

    assert (display.status_code, "Set-Cookie" in display.headers) == (200, False)
    assert (page.status_code, "Set-Cookie" in page.headers) == (200, True)
    clocked(app, IDLE_SECONDS_MAX - 60)
    assert ada.get(path).status_code == 200
    clocked(app, 61)
    assert ada.get(path).status_code == 303


def test_revoked_kiosk_token_falls_back_to_the_session(app: object, browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    code = create_kiosk_display(ada, ADA)
    assert ada.send("/console/kiosk/enter", {"code": code}).status_code == 303
    assert "viewed as Ada" in ada.page("/console/kiosk")
    revoke_kiosk_display(browse, api)

    assert "viewed as Ada" in ada.page("/console/kiosk")
    assert ada.get("/console/kiosk/board").status_code == 200

    ada.send("/console/sign-out", form="/console/")
    assert ada.get("/console/kiosk/board").status_code == 401


def test_active_kiosk_token_takes_precedence_over_the_session(browse: Callable) -> None:
    ada = browse("ada")
    code = create_kiosk_display(ada)
    assert ada.send("/console/kiosk/enter", {"code": code}).status_code == 303

    assert "viewed as Moe" in ada.page("/console/kiosk")


def test_reactivation_restores_no_session_and_no_token(browse: Callable, api: Callable) -> None:
    """The cookie, the refresh token, the token without a session and the display stay invalid."""
    ada, moe, path = browse("ada"), browse("moe"), f"/console/people/{MOE}"
    code = create_kiosk_display(ada)
    display = enter(browse, code)
    given = {"email": EMAILS["moe"], "password": password_of("Moe")}
    signed_in = api("nobody").post("/auth/v1/token?grant_type=password", given).json
    tokens = (f"Bearer {signed_in['access_token']}", CAST["moe"].authorization())
    bearers = [Bearer(each) for each in tokens]
    assert [api(each).get("/buildings").status for each in bearers] == [200, 200]

    ada.send(f"{path}/disable", form=path)
    assert ada.send(f"{path}/enable", form=path).status_code == 303

    assert moe.get("/console/").status_code == 303
    refresh = {"refresh_token": signed_in["refresh_token"]}
    refreshed = api("nobody").post("/auth/v1/token?grant_type=refresh_token", refresh)
    assert (refreshed.status, refreshed.code) == (400, "refresh_token_not_found")
    assert [api(each).get("/buildings").status for each in bearers] == [401, 401]
    assert display.get("/console/kiosk/board").status_code == 401
    assert browse().send("/console/kiosk/enter", {"code": code}).status_code == 401
    assert browse("moe").get("/console/").status_code == 200
    assert enter(browse, create_kiosk_display(ada)).get("/console/kiosk/board").status_code == 200


@pytest.mark.parametrize(
    ("site", "by_itself"),
    [(None, True), ("none", True), ("same-origin", True), ("same-site", False), ("cross-site", False)],
)
def test_kiosk_link_submits_automatically_unless_cross_site(
    browse: Callable, site: str | None, by_itself: bool
) -> None:
    headers = {"Sec-Fetch-Site": site} if site else {}

    page = browse().get("/console/kiosk/enter", headers=headers).text

    assert ("data-auto-submit" in page, 'id="code"' in page) == (by_itself, True)


def test_kiosk_link_does_not_replace_a_session_or_display(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    display = enter(browse, create_kiosk_display(ada))

    assert "data-auto-submit" not in ada.page("/console/kiosk/enter")
    assert "data-auto-submit" not in display.page("/console/kiosk/enter")

    revoke_kiosk_display(browse, api)
    assert "data-auto-submit" in display.page("/console/kiosk/enter")
    assert 'href="/console/kiosk/enter">Sign in again' in display.get("/console/kiosk").text


def test_kiosk_sign_out_affects_one_browser(browse: Callable) -> None:
    code = create_kiosk_display(browse("ada"))
    display, other = enter(browse, code), enter(browse, create_kiosk_display(browse("ada")))
    assert "Sign out" not in display.page("/console/kiosk")  # nobody touches the screen
    assert 'href="/console/kiosk/enter"' in browse("ada").page("/console/devices")

    refused = display.client.post("/console/kiosk/leave", data={"csrf": "x"})
    assert (refused.status_code, display.get("/console/kiosk").status_code) == (403, 200)
    answer = display.send("/console/kiosk/leave", form="/console/kiosk/enter")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/kiosk/enter")
    assert display.get("/console/kiosk").status_code == 401
    assert "Sign out this browser" not in display.page("/console/kiosk/enter")
    assert other.get("/console/kiosk").status_code == 200


REFRESH = '<meta http-equiv="refresh" content="30">'


def test_kiosk_display_resumes_after_a_temporary_ban(browse: Callable, api: Callable) -> None:
    display = enter(browse, create_kiosk_display(browse("ada")))

    assert api("root").put(USER, {"ban_duration": "24h"}).status == 200
    banned = display.get("/console/kiosk")
    assert (banned.status_code, banned.text.count(REFRESH)) == (401, 1)
    assert "This kiosk display is signed out" in banned.text
    assert not banned.headers.getlist("Set-Cookie")
    assert REFRESH not in display.page("/console/kiosk/enter")

    assert api("root").put(USER, {"ban_duration": "none"}).status == 200
    shown = display.page("/console/kiosk")
    assert "viewed as Moe" in shown
    assert f"<noscript>{REFRESH}</noscript>" in shown


def test_kiosk_error_page_reloads(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.interface.database import LockTimeout
    from routes.console.pages import kiosk

    def fail(caller: object) -> dict:
        raise LockTimeout

    display, ada = enter(browse, create_kiosk_display(browse("ada"))), browse("ada")
    monkeypatch.setattr(kiosk, "kiosk_content", fail)

    answers = [each.get("/console/kiosk") for each in (display, ada)]
    assert [(each.status_code, REFRESH in each.text) for each in answers] == [(503, True), (503, False)]
    assert REFRESH not in display.get("/console/not_found").text


def test_code_pairs_one_browser(browse: Callable) -> None:
    ada = browse("ada")
    code = create_kiosk_display(ada)
    assert "Not paired" in ada.page("/console/devices")

    enter(browse, f" {code.lower().replace('-', ' ')} ")

    assert "Not paired" not in ada.page("/console/devices")
    again = browse().send("/console/kiosk/enter", {"code": code})
    assert (again.status_code, "This code is not valid." in again.text) == (401, True)


def test_code_is_valid_for_ten_minutes(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kiosk_display, "CODE_SECONDS", 0)

    ada = browse("ada")
    code = create_kiosk_display(ada)

    assert browse().send("/console/kiosk/enter", {"code": code}).status_code == 401
    assert "No kiosk displays." in ada.page("/console/devices")


def test_wrong_codes_are_limited(browse: Callable) -> None:
    code, guesser = create_kiosk_display(browse("ada")), browse()
    guesses_max = password.ORIGIN_ATTEMPTS_MAX

    statuses = [guesser.send("/console/kiosk/enter", {"code": f"A{n}"}).status_code for n in range(guesses_max)]
    refused = guesser.send("/console/kiosk/enter", {"code": "ABCDEFGH"})

    assert statuses == [401] * guesses_max
    assert refused.status_code == 429
    assert guesser.send("/console/kiosk/enter", {"code": code}).status_code == 303
    assert int(refused.headers["Retry-After"]) > 0
