"""Calls of Supabase's clients that the service does not support."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

UNKNOWN = "00000000-0000-4000-8000-000000000099"

# method, path, and a word of the message
CALLS = [
    ("GET", "/realtime/v1/websocket?apikey=x&vsn=2.0.0", "polling"),
    ("POST", "/realtime/v1/api/broadcast", "polling"),
    ("POST", "/functions/v1/hello", "rpc"),
    ("POST", "/graphql/v1", "GraphQL"),
    ("POST", "/auth/v1/otp", "password"),
    ("POST", "/auth/v1/magiclink", "password"),
    ("POST", "/auth/v1/verify", "mail"),
    ("POST", "/auth/v1/resend", "mail"),
    ("POST", "/auth/v1/recover?redirect_to=x", "mail"),
    ("POST", "/auth/v1/invite", "admin/users"),
    ("POST", "/auth/v1/admin/generate_link", "mail"),
    ("GET", "/auth/v1/reauthenticate", "current_password"),
    ("GET", "/auth/v1/authorize?provider=google", "OAuth"),
    ("POST", "/auth/v1/sso", "OAuth"),
    ("GET", "/auth/v1/user/identities/authorize?provider=google", "OAuth"),
    ("DELETE", f"/auth/v1/user/identities/{UNKNOWN}", "OAuth"),
    ("POST", "/auth/v1/factors", "Multi-factor"),
    ("POST", f"/auth/v1/factors/{UNKNOWN}/challenge", "Multi-factor"),
    ("GET", f"/auth/v1/admin/users/{UNKNOWN}/factors", "Multi-factor"),
]


@pytest.mark.parametrize(("method", "path", "word"), CALLS, ids=[" ".join(call[:2]) for call in CALLS])
@pytest.mark.parametrize("who", ["nobody", "root"])
def test_unsupported_call_is_answered_clearly(api: Callable, who: str, method: str, path: str, word: str) -> None:
    answer = api(who).send(method, path, {} if method == "POST" else None)

    assert answer.status == 404
    assert word in answer.message
    expected = {"code", "message", "details", "hint"}
    if path.startswith("/auth/v1/"):
        expected |= {"error_code", "msg"}
        assert answer.json["msg"] == answer.message
        assert answer.code == "not_found"
    else:
        assert answer.code == "PGRST125"
    assert set(answer.json) == expected


def test_unsupported_call_needs_no_key(api: Callable) -> None:
    answer = api("nobody").get("/auth/v1/authorize?provider=google", headers={"apikey": None})

    assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("apikey", [None, "wrong"])
def test_key_set_is_empty(api: Callable, apikey: str | None) -> None:
    answer = api("nobody").get("/auth/v1/.well-known/jwks.json", headers={"apikey": apikey})

    assert (answer.status, answer.json) == (200, {"keys": []})


def test_other_grants_name_the_supported_ones(api: Callable) -> None:
    answer = api("nobody").post("/auth/v1/token?grant_type=pkce", {"auth_code": "x", "code_verifier": "y"})

    assert answer.code == "unsupported_grant_type"
    assert "password or refresh_token" in answer.json["hint"]
