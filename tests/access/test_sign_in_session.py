"""Sign-in sessions: refresh-token rotation, the end of sessions, and the secrets that the database stores."""

import pathlib
import random
from collections.abc import Iterator

import pytest

from access import session as refresh_token
from access.accounts import people, sign_in
from access.accounts.people import claims_for
from access.accounts.sign_in import (
    IssuedSession,
    RefreshTokenNotFound,
    RefreshTokenUsed,
    Scope,
    SessionExpired,
    SessionRow,
    UserBanned,
)
from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from access.session import RefreshTokens, SessionGone
from engine.open import database
from models.types import Fault
from tests.conftest import MIA, MOE
from tests.support import databases
from tests.support.signin import Service, open_service

OLD_KEY, NEW_KEY = (b"an old key of more than 32 bytes 0001", b"a new key of more than 32 bytes 00002")
TOKENS = RefreshTokens([OLD_KEY])
DAY = 24 * 3_600


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    opened = open_service(tmp_path)
    with opened.app.app_context():
        yield opened


def begin(user_id: str = MOE) -> IssuedSession:
    with database().writing() as transaction:
        return sign_in.create_session(transaction, TOKENS, user_id)


def refresh(token: str, tokens: RefreshTokens = TOKENS) -> IssuedSession | Fault:
    with database().writing() as transaction:
        return sign_in.refresh_session(transaction, tokens, token)


def refreshed_token(token: str, tokens: RefreshTokens = TOKENS) -> str:
    refreshed = refresh(token, tokens)
    assert isinstance(refreshed, IssuedSession), refreshed
    return refreshed.refresh_token


def sign_out(session: IssuedSession | None, scope: Scope, user_id: str = MOE) -> None:
    profile = GRANT_PROFILES[Role.CLIENT_MANAGER, False, False]
    caller = Caller(user_id, 1, profile, session.session_id if session is not None else None)
    with database().writing() as transaction:
        sign_in.sign_out(transaction, caller, scope)


def line(service: Service, length: int, seconds_apart: int = 60) -> list[str]:
    """A session's tokens, each used to make the next, none of them within half a minute of now."""
    tokens = [begin().refresh_token]
    for _ in range(length - 1):
        tokens.append(refreshed_token(tokens[-1]))
        service.age(seconds_apart)
    return tokens


# The line


def test_refresh_with_the_newest_token_returns_its_successor(service: Service) -> None:
    session = begin()

    tokens = [session.refresh_token]
    for _ in range(5):
        tokens.append(refreshed_token(tokens[-1]))

    assert len(set(tokens)) == 6
    assert service.sql("SELECT id, counter FROM sessions") == [(session.session_id, 5)]


def test_predecessor_of_the_newest_refresh_token_is_accepted_at_any_time(service: Service) -> None:
    first = begin().refresh_token
    second = refreshed_token(first)
    service.age(20 * DAY)

    assert refreshed_token(first) == second
    assert refreshed_token(first) == second
    assert refreshed_token(second) != second


def test_refresh_token_reused_within_30_s_returns_the_newest_token(service: Service) -> None:
    first = begin().refresh_token
    newest = refreshed_token(refreshed_token(refreshed_token(first)))
    service.age(29)

    assert refreshed_token(first) == newest


def test_two_clients_with_one_refresh_token_get_the_same_successors(service: Service) -> None:
    mine = yours = begin().refresh_token

    for _ in range(10):
        mine, yours = refreshed_token(mine), refreshed_token(yours)
        assert mine == yours

    assert service.sql("SELECT count(*) FROM sessions") == [(1,)]


def test_used_refresh_token_ends_the_session_after_30_s(service: Service) -> None:
    oldest, *_, newest = line(service, 4)

    assert isinstance(refresh(oldest), RefreshTokenUsed)
    assert isinstance(refresh(newest), RefreshTokenNotFound)
    assert service.sql("SELECT count(*) FROM sessions") == [(0,)]


def test_reuse_window_starts_at_the_first_use_of_each_token(service: Service) -> None:
    tokens = line(service, 3)
    newest = refreshed_token(refreshed_token(tokens[-1]))

    assert refreshed_token(tokens[-1]) == newest
    assert isinstance(refresh(tokens[0]), RefreshTokenUsed)


def test_reuse_does_not_extend_the_reuse_window(service: Service) -> None:
    first = begin().refresh_token
    refreshed_token(refreshed_token(first))
    service.age(20)
    refreshed_token(first)
    service.age(20)

    assert isinstance(refresh(first), RefreshTokenUsed)


def test_refresh_token_newer_than_the_session_row_ends_the_session(service: Service) -> None:
    first = begin().refresh_token
    third = refreshed_token(refreshed_token(first))
    service.sql("UPDATE sessions SET counter = 0, rotations = '[]'")

    assert isinstance(refresh(third), RefreshTokenUsed)


@pytest.mark.parametrize("seed", range(20))
def test_rotations_per_second_accept_the_same_tokens_as_all_rotations(seed: int) -> None:
    """The session keeps one pair a second; beside it a list of every first use, and both must agree."""
    choose = random.Random(seed)
    now, rotations, first_used = 1_000_000, [], {}
    session = SessionRow("", "", "", 0, 0, 0, rotations)
    for _ in range(200):
        now += choose.choice([0, 0, 0, 1, 1, 5, 20, 40])
        counter = choose.randint(0, session.counter)
        token = refresh_token.RefreshToken("", counter, b"")

        expected = counter >= session.counter - 1 or now - first_used[counter] <= 30

        assert sign_in.is_accepted(session, token, now) is expected
        if counter == session.counter:
            first_used[counter] = now
            session = SessionRow("", "", "", counter + 1, 0, 0, sign_in.rotations_after(session, now))
            assert len(session.rotations) <= 31


# What ends it


def test_session_ends_thirty_days_after_its_last_use(service: Service) -> None:
    token = begin().refresh_token
    for _ in range(3):
        service.age(29 * DAY)
        token = refreshed_token(token)

    service.age(30 * DAY)

    assert isinstance(refresh(token), SessionExpired)
    assert isinstance(refresh(token), RefreshTokenNotFound)


def test_expired_sessions_are_deleted_at_the_next_sign_in(service: Service) -> None:
    begin(MIA)
    service.age(30 * DAY)

    begin(MOE)

    assert service.sql("SELECT user_id FROM sessions") == [(MOE,)]


def test_new_session_replaces_the_least_recently_used_at_the_limit(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "SESSIONS_MAX", 3)
    others = begin(MIA)
    mine = []
    for _ in range(4):
        service.age(1)
        mine.append(begin())

    oldest, *rest = mine
    assert isinstance(refresh(oldest.refresh_token), RefreshTokenNotFound)
    for each in (others, *rest):
        refreshed_token(each.refresh_token)


def test_refresh_of_a_disabled_user_fails_until_the_ban_ends(service: Service) -> None:
    token = begin().refresh_token
    service.sql("UPDATE credentials SET disabled_until = unixepoch() + 60 WHERE user_id = ?", MOE)
    assert isinstance(refresh(token), UserBanned)

    service.sql("UPDATE credentials SET disabled_until = 0")

    refreshed_token(token)


@pytest.mark.parametrize(
    ("statement", "ends"),
    [
        pytest.param(f"UPDATE users SET role = 'client_admin' WHERE id = '{MOE}'", True, id="role"),
        pytest.param(f"UPDATE users SET client_id = 2 WHERE id = '{MOE}'", True, id="client"),
        pytest.param(f"UPDATE users SET name = 'Moses' WHERE id = '{MOE}'", False, id="name"),
        pytest.param(f"DELETE FROM users WHERE id = '{MOE}'", True, id="gone"),
    ],
)
def test_session_ends_if_its_user_is_deleted_or_changes_role_or_client(
    service: Service, statement: str, ends: bool
) -> None:
    token = begin().refresh_token

    with database().writing() as transaction:
        transaction.run(statement)

    assert isinstance(refresh(token), RefreshTokenNotFound) is ends


def test_local_sign_out_ends_this_session_only(service: Service) -> None:
    one, two = begin(), begin()

    sign_out(one, Scope.LOCAL)

    assert isinstance(refresh(one.refresh_token), RefreshTokenNotFound)
    refreshed_token(two.refresh_token)


def test_sign_out_of_others_keeps_this_session_and_those_of_other_users(service: Service) -> None:
    one, two, others = begin(), begin(), begin(MIA)

    sign_out(one, Scope.OTHERS)

    assert isinstance(refresh(two.refresh_token), RefreshTokenNotFound)
    refreshed_token(one.refresh_token)
    refreshed_token(others.refresh_token)


def test_global_sign_out_ends_all_sessions_of_the_user(service: Service) -> None:
    one, two, others = begin(), begin(), begin(MIA)

    sign_out(one, Scope.GLOBAL)

    for each in (one, two):
        assert isinstance(refresh(each.refresh_token), RefreshTokenNotFound)
    refreshed_token(others.refresh_token)


@pytest.mark.parametrize("scope", [Scope.LOCAL, Scope.OTHERS])
def test_sign_out_without_a_session_is_session_not_found(service: Service, scope: Scope) -> None:
    with pytest.raises(SessionGone):
        sign_out(None, scope)


def test_sign_out_of_others_from_the_only_session_succeeds(service: Service) -> None:
    only = begin()

    sign_out(only, Scope.OTHERS)

    refreshed_token(only.refresh_token)


def test_new_password_ends_all_sessions_except_one(service: Service) -> None:
    one, two = begin(), begin()

    with database().writing() as transaction:
        people.replace_password(transaction, MOE, "hash", one.session_id)

    refreshed_token(one.refresh_token)
    assert isinstance(refresh(two.refresh_token), RefreshTokenNotFound)


# Tokens without a session


def test_global_sign_out_ends_tokens_of_the_same_second(service: Service) -> None:
    with database().writing() as transaction:
        before = claims_for(people.by_id(transaction, MOE), transaction.unix, 60)
        people.end_tokens(transaction, MOE)
        person = people.by_id(transaction, MOE)
        after = claims_for(person, transaction.unix, 60)

    assert before["iat"] < person.tokens_since <= after["iat"] <= before["iat"] + 1


def test_second_global_sign_out_in_one_second_ends_tokens_issued_between(service: Service) -> None:
    with database().writing() as transaction:
        people.end_tokens(transaction, MOE)
        between = claims_for(people.by_id(transaction, MOE), transaction.unix, 60)
        people.end_tokens(transaction, MOE)

        assert between["iat"] < people.by_id(transaction, MOE).tokens_since


def test_clock_set_back_does_not_revive_ended_tokens(service: Service) -> None:
    service.sql(
        "INSERT INTO credentials (user_id, tokens_since) VALUES (?, 9999999999)"
        " ON CONFLICT (user_id) DO UPDATE SET tokens_since = excluded.tokens_since",
        MOE,
    )

    with database().writing() as transaction:
        people.end_tokens(transaction, MOE)

        assert people.by_id(transaction, MOE).tokens_since >= 9999999999


# Keys and copies


def test_refresh_token_of_an_older_key_is_accepted_while_the_key_is_listed(service: Service) -> None:
    token = begin().refresh_token
    both, new = RefreshTokens([OLD_KEY, NEW_KEY]), RefreshTokens([NEW_KEY])

    rotated = refreshed_token(token, both)

    assert isinstance(refresh(token, new), RefreshTokenNotFound)
    assert refreshed_token(rotated, new)


def test_database_stores_no_usable_token_or_password(service: Service) -> None:
    token = refreshed_token(begin().refresh_token)

    kept = "\n".join(
        str(row) for table in databases.tables(service.file) for row in service.sql(f"SELECT * FROM {table}")
    )

    assert token.split("~")[1] not in kept
    assert token.split("~")[0] not in kept
    stolen = service.sql("SELECT id, counter, salt FROM sessions")[0]
    forged = RefreshTokens([b"a guess at the key, which is not kept here"]).issue(*stolen)
    assert isinstance(refresh(forged), RefreshTokenNotFound)
