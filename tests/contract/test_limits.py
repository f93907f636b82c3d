"""Each limit accepts its value and refuses one more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from access import access_token
from access.accounts import kiosk_display, password, people, sign_in
from access.accounts.sign_in import SessionRow
from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from access.session import RefreshToken
from engine import execute
from engine.interface.database import ResponseTooLarge, Transaction
from engine.query.write import row_layout
from routes.gotrue import users
from routes.http.faults import InvalidBody
from routes.postgrest import representation
from tests.conftest import ADA, MOE
from tests.support import databases
from tests.support.applications import open_app

ADMIN = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])


@pytest.fixture
def transaction(base_file: object, tmp_path: object) -> Iterator[Transaction]:
    """A write transaction, whose timestamp is constant."""
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    with app.app_context(), app.extensions["walkthrough"].writing() as writing:
        yield writing


# Queries


@pytest.mark.parametrize("select", ["{}", "id,inspections({})", "...clients({})", "...inspections({})"])
def test_columns_per_level_are_limited_to_60(api: Callable, select: str) -> None:
    def asked(columns: int) -> str:
        named = ",".join(f"c{place}:id" for place in range(columns))
        return f"/buildings?limit=1&select={select.format(named)}"

    taken, refused = api("root").get(asked(60)), api("root").get(asked(61))

    assert taken.status == 200
    assert (refused.status, refused.code) == (400, "54011")
    assert "60 columns" in refused.message


@pytest.mark.parametrize(("select", "depth"), [("...inspections({})", 1), ("...inspections(...reports_lead({}))", 2)])
def test_arrays_per_select_are_limited_to_100(api: Callable, select: str, depth: int) -> None:
    def asked(first: int, second: int) -> str:
        named = [",".join(f"c{place}:id" for place in range(n)) for n in (first, second)]
        inner = f"{select.format(named[0])},clients(...buildings({named[1]}))"
        return f"/buildings?limit=1&select={inner}"

    taken = api("root").get(asked(50 // depth, 50))
    refused = api("root").get(asked(50 // depth, 51))

    assert taken.status == 200
    assert (refused.status, refused.code) == (400, "54011")
    assert "100 arrays" in refused.message


@pytest.mark.parametrize("letter", ["x", "ü"])
def test_response_bytes_are_limited(monkeypatch: pytest.MonkeyPatch, letter: str) -> None:
    rows = [letter * 3, letter, ""]
    size_bytes = len("".join(rows).encode())
    answering = SimpleNamespace(each=lambda sql, values: iter([(row,) for row in rows]))

    monkeypatch.setattr(execute, "VALUE_BYTES_MAX", size_bytes)
    assert execute.fetch_rows(answering, "", ()) == rows
    monkeypatch.setattr(execute, "VALUE_BYTES_MAX", size_bytes - 1)
    with pytest.raises(ResponseTooLarge):
        execute.fetch_rows(answering, "", ())


@pytest.mark.parametrize(("letter", "size"), [('"', 2), ("\\", 1), ("x", 1), ("ü", 2)])
def test_csv_bytes_are_limited(monkeypatch: pytest.MonkeyPatch, letter: str, size: int) -> None:
    """CSV may be more than twice as long as the JSON rows."""
    rows = [json.dumps({"a": f"{letter * 10} "}, ensure_ascii=False)] * 3

    monkeypatch.setattr(representation, "VALUE_BYTES_MAX", 3 * (10 * size + 3))
    assert len(representation.csv_text(rows, ["a"]).splitlines()) == 4
    monkeypatch.setattr(representation, "VALUE_BYTES_MAX", 3 * (10 * size + 3) - 1)
    with pytest.raises(ResponseTooLarge):
        representation.csv_text(rows, ["a"])


@pytest.mark.parametrize(("characters", "is_repeated"), [(2_000, True), (2_001, False)])
def test_preflight_header_names_are_limited(api: Callable, characters: int, *, is_repeated: bool) -> None:
    asked = "x" * characters
    headers = {"Origin": "http://localhost:3000", "Access-Control-Request-Headers": asked}

    answer = api("nobody").send("OPTIONS", "/buildings", headers=headers)

    assert answer.headers["Access-Control-Allow-Headers"] == (asked if is_repeated else "")


def test_preflight_response_has_no_content_type(api: Callable) -> None:
    headers = {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"}

    answer = api("nobody").send("OPTIONS", "/buildings", headers=headers)

    assert (answer.status, answer.text) == (204, "")
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
    assert "Content-Type" not in answer.headers


def test_lenient_max_affected_of_a_call_is_ignored(api: Callable) -> None:
    """A strict one is refused, since a function's value is not a number of rows."""
    asked = {"building_id": 1, "user_id": MOE}

    answer = api("ada").rpc("check_building_access_v2", asked, prefer="max-affected=1")
    refused = api("ada").rpc("check_building_access_v2", asked, prefer="max-affected=1,handling=strict")

    assert (answer.status, answer.text) == (200, "true")
    assert "Preference-Applied" not in answer.headers
    assert (refused.status, refused.code) == (400, "PGRST128")


# Users


def test_email_is_limited_to_254_characters() -> None:
    longest = f"{'x' * 64}@{'y' * 62}.{'y' * 62}.{'y' * 63}"

    assert len(longest) == 254
    assert people.read_email(longest) == longest
    with pytest.raises(people.InvalidEmail):
        people.read_email(longest.replace("@y", "@yy"))


@pytest.mark.parametrize("letter", ["x", "ü"])
def test_metadata_is_limited_to_16384_bytes(letter: str) -> None:
    room_bytes = 16_384 - len('{"a":""}')
    text = letter * (room_bytes // len(letter.encode()))

    assert len(people.write_metadata({"a": text}).encode()) == 16_384
    with pytest.raises(people.InvalidUserAccount):
        people.write_metadata({"a": text + "x"})


def test_ban_is_limited_to_290_years() -> None:
    longest_hours = 290 * 365 * 24

    assert users.read_ban(f"{longest_hours}h") == longest_hours * 3_600
    with pytest.raises(InvalidBody):
        users.read_ban(f"{longest_hours}h1s")


# Sign-in


@pytest.mark.parametrize(("seconds", "is_in_line"), [(30, True), (31, False)])
def test_reused_refresh_token_is_accepted_for_30_seconds(seconds: int, *, is_in_line: bool) -> None:
    now = 1_000_000
    session = SessionRow("", "", "", 9, 0, 0, [[now - seconds, 3]])

    assert sign_in.is_accepted(session, RefreshToken("", 3, b""), now) is is_in_line


@pytest.mark.parametrize(("seconds", "is_known"), [(30 * 86_400 - 1, True), (30 * 86_400, False)])
def test_known_address_expires_after_30_days(transaction: Transaction, seconds: int, *, is_known: bool) -> None:
    here, elsewhere = (
        password.sign_in_attempt("moe@acme.example", origin, MOE) for origin in ("192.0.2.1", "192.0.2.9")
    )
    password.remember_origin(transaction, MOE, here.origin)
    transaction.run(f"UPDATE origins SET at = {transaction.unix - seconds}")
    for _ in range(password.ACCOUNT_ATTEMPTS_MAX):
        password.record_sign_in_attempt(transaction, elsewhere)

    if is_known:
        password.require_attempts_left(transaction, here)
    else:
        with pytest.raises(password.RateLimitExceeded):
            password.require_attempts_left(transaction, here)


@pytest.mark.parametrize("claim", ["iat", "nbf"])
def test_timestamp_must_fit_a_double(claim: str) -> None:
    for taken in (0, 0.0, 0.5, 2**53 - 1):
        assert access_token.numeric_date({claim: taken}, claim) == int(taken)
    for refused in (-1, -0.5, 2**53, float(2**53)):
        with pytest.raises(access_token.RefusedClaims):
            access_token.numeric_date({claim: refused}, claim)


# Kiosk displays and the audit log


@pytest.mark.parametrize(("seconds", "is_due"), [(3_599, False), (3_600, True)])
def test_kiosk_display_use_is_recorded_hourly(transaction: Transaction, seconds: int, *, is_due: bool) -> None:
    _, code = kiosk_display.create_display(transaction, ADMIN, MOE, "Lobby", 1)
    token = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    transaction.run(f"UPDATE tokens SET last_used_at = {transaction.unix - seconds}")

    assert kiosk_display.authenticate_display(transaction, token).is_due is is_due


@pytest.mark.parametrize(("seconds", "more"), [(59.999, 0), (60, 0), (60.001, 1)])
def test_audited_refusals_per_minute_are_limited(transaction: Transaction, seconds: float, more: int) -> None:
    def refuse() -> None:
        row_layout.record_refusal(transaction, "buildings", actor_id=MOE, client_id=1, message="no")

    transaction.began = float(int(transaction.began))
    for _ in range(row_layout.REFUSALS_PER_MINUTE_MAX + 1):
        refuse()
    transaction.began += seconds
    refuse()

    count = transaction.value("SELECT count(*) FROM audit_log WHERE action = 'refused'")
    assert count == row_layout.REFUSALS_PER_MINUTE_MAX + more
