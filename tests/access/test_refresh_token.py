"""The text of refresh tokens: derivation and malformed text."""

import uuid

import pytest

from access import session
from access.session import RefreshTokens

pytestmark = pytest.mark.one_engine

KEY, OTHER_KEY = 32 * b"k", 32 * b"o"
TOKENS = RefreshTokens([KEY])


def test_refresh_token_is_not_a_jwt_and_contains_session_and_counter() -> None:
    session_id = str(uuid.uuid4())

    token = TOKENS.issue(session_id, 7, "salt")

    read = session.parse_refresh_token(token)
    assert "." not in token
    assert read is not None
    assert (read.session_id, read.counter) == (session_id, 7)
    assert TOKENS.is_genuine(read, "salt")


def test_token_is_derived_from_session_counter_salt_and_key() -> None:
    session_id = str(uuid.uuid4())
    token = TOKENS.issue(session_id, 0, "salt")

    assert token == TOKENS.issue(session_id, 0, "salt")
    others = {
        TOKENS.issue(session_id, 1, "salt"),
        TOKENS.issue(session_id, 0, "other"),
        TOKENS.issue(str(uuid.uuid4()), 0, "salt"),
        RefreshTokens([OTHER_KEY]).issue(session_id, 0, "salt"),
    }
    assert len(others | {token}) == 5


@pytest.mark.parametrize(
    "text", ["", "~", "x", "x~y", "a.b.c", "é" * 27 + "~" + "a" * 43, "A" * 5_000, "A" * 27 + "=~a", "A" * 26]
)
def test_malformed_refresh_token_parses_to_none(text: str) -> None:
    assert session.parse_refresh_token(text) is None


def test_every_changed_character_invalidates_the_refresh_token() -> None:
    token = TOKENS.issue(str(uuid.uuid4()), 0, "salt")

    for place, character in enumerate(token[:-1]):
        for other in {"A", "b", "_", "~", "="} - {character}:
            read = session.parse_refresh_token(token[:place] + other + token[place + 1 :])
            assert read is None or not TOKENS.is_genuine(read, "salt"), (place, other)
