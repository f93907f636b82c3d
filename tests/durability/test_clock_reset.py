"""A clock that was once set far ahead: the way back, and nothing that had ended lives again."""

import json
import time
from pathlib import Path

import pytest

from engine.storage.server_lock import ServingLock
from engine.storage.transaction import stored_timestamp
from tests.conftest import CAST, ROOT
from tests.support import databases, tokens
from tests.support.applications import open_app

YEARS = 73 * 365 * 86_400 + 43_200  # half a day, so that no second counts
OLD_KEY = "an-old-key-of-more-than-32-bytes-0000001"


@pytest.fixture
def place(base_file: Path, tmp_path: Path) -> Path:
    """A file whose last change was in a year far ahead, and beside it the keys."""
    found = tmp_path / "walkthrough.db"
    databases.copy(base_file, found)
    kept = {"SECRET_KEY": OLD_KEY, "ANON_KEY": tokens.ANON_KEY, "SERVICE_KEY": tokens.SERVICE_KEY}
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(kept))
    keys.chmod(0o600)
    app = open_app(found)
    late = int(time.time()) + YEARS
    app.extensions["walkthrough.clock"].advance(stored_timestamp(late))
    with app.app_context(), app.extensions["walkthrough"].writing() as transaction:
        for sql, values in (
            ("UPDATE inspectors SET name = name || '.'", ()),
            ("INSERT INTO facts (name, value) VALUES ('write_probe', ?)", (str(late),)),
            (
                "INSERT INTO sessions (id, user_id, salt, created_at, last_used_at)"  # noqa: ISC004
                " VALUES ('00000000-0000-4000-8000-00000000aaaa', ?, 's', ?, ?)",
                (ROOT, late, late),
            ),
            (
                "INSERT INTO devices (id, user_id, name, token_digest, created_at, expires_at)"  # noqa: ISC004
                " VALUES ('d', ?, 'hall', 'x', ?, ?)",
                (ROOT, 1, late - 1),
            ),
            ("INSERT INTO attempts (kind, subject, origin, at) VALUES ('sign_in', 's', 'o', ?)", (late,)),
            (
                "INSERT INTO credentials (user_id, tokens_since) VALUES (?, ?)"  # noqa: ISC004
                " ON CONFLICT (user_id) DO UPDATE SET tokens_since = excluded.tokens_since",
                (ROOT, late),
            ),
        ):
            transaction.run(sql, values)
    app.extensions["walkthrough"].close()
    return found


def run(place: Path, *words: str, **settings: object) -> tuple[int, str]:
    app = open_app(place, **settings)
    done = app.test_cli_runner().invoke(args=list(words))
    app.extensions["walkthrough"].close()
    return done.exit_code, done.output.strip()


def kept_key(place: Path) -> str:
    return json.loads((place.parent / "keys.json").read_text())["SECRET_KEY"]


def ask(place: Path, token: str, key: str) -> int:
    app = open_app(place, SECRET_KEY=key)
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {token}"}
    answer = app.test_client().get("/buildings?limit=1", headers=headers)
    app.extensions["walkthrough"].close()
    return answer.status_code


def test_a_check_says_how_far_the_time_of_a_file_is_ahead(place):
    status, said = run(place, "check")

    assert status == 0
    assert said.splitlines()[-1] == "sound"
    assert "clock: the database's time is 26645 days, " in said
    assert run(place, "clock")[1].startswith("the database's time is 26645 days, ")


def test_the_time_is_set_back_and_goes_on_from_there(place):
    status, said = run(place, "clock", "--set-back", SECRET_KEY=OLD_KEY)

    assert (status, said.endswith("; all users must sign in again")) == (0, True)
    app = open_app(place)
    assert app.extensions["walkthrough.clock"].seconds_before_system() < 1
    app.extensions["walkthrough"].close()
    assert run(place, "check")[1].count("clock:") == 0
    assert databases.sql(place, "SELECT count(*) FROM attempts WHERE at > unixepoch()") == [(0,)]
    lines = databases.sql(place, "SELECT action, before, after FROM audit_log ORDER BY id DESC LIMIT 1")
    assert lines[0][0] == "reset_clock"
    assert json.loads(lines[0][2])["from"] > "2090"
    assert run(place, "clock", "--set-back", SECRET_KEY=kept_key(place))[0] == 1


def test_nothing_that_had_ended_lives_again(place):
    """Tokens that were expired, revoked, or signed for a time ahead; sessions and boards."""
    root, now = CAST["root"], int(time.time())
    claims = tokens.claims_of(root.id, root.role, None)
    session = "00000000-0000-4000-8000-00000000aaaa"
    dead = [
        tokens.sign({**claims, **more}, OLD_KEY)
        for more in ({}, {"session_id": session, "exp": now + YEARS + 3_600}, {"iat": now + 3, "exp": now + YEARS})
    ]

    assert run(place, "clock", "--set-back", SECRET_KEY=OLD_KEY)[0] == 0

    key = kept_key(place)
    assert key != OLD_KEY
    assert [ask(place, each, key) for each in dead] == [401, 401, 401]
    again = [tokens.sign({**claims, "session_id": session}, key), tokens.sign(claims, key)]
    assert [ask(place, each, key) for each in again] == [401, 401]
    assert databases.sql(place, "SELECT count(*) FROM devices") == [(0,)]
    assert ask(place, tokens.sign({**claims, "iat": int(time.time()) + 2}, key), key) == 200


def test_it_is_refused_while_the_file_is_served(place):
    lock = ServingLock.take(place)

    status, said = run(place, "clock", "--set-back", SECRET_KEY=OLD_KEY)

    lock.give_back()
    assert (status, "is being served by another process" in said) == (1, True)
    assert kept_key(place) == OLD_KEY
    assert run(place, "clock")[1] != "the database's time is this machine's"


def test_a_key_that_is_not_the_files_has_to_be_changed_where_it_is_set(place):
    status, said = run(place, "clock", "--set-back")

    assert status == 1
    assert "the SECRET_KEY in use is not the one in" in said
    assert said.endswith("add --key-is-new")
    assert said.count("\n") == 0
    assert kept_key(place) == OLD_KEY
    assert run(place, "clock", "--set-back", "--key-is-new")[0] == 0


def test_a_mark_of_a_bad_end_stays(place):
    mark = place.with_name(f"{place.name}.serving")
    mark.touch()

    assert run(place, "clock", "--set-back", SECRET_KEY=OLD_KEY)[0] == 0

    assert mark.exists()
