"""`flask clock --set-back` after a clock that was far ahead. Expired and revoked tokens stay invalid."""

import json
import time
from pathlib import Path

import pytest

from engine.interface.database import stored_timestamp
from engine.storage.database import ServingLock
from tests.conftest import CAST, ROOT
from tests.support import databases, tokens
from tests.support.applications import open_app

AHEAD_SECONDS = 73 * 365 * 86_400 + 43_200  # half a day more, so that seconds do not matter
OLD_KEY = "an-old-key-of-more-than-32-bytes-0000001"


@pytest.fixture
def database_file(base_file: Path, tmp_path: Path) -> Path:
    """A database whose last change is 73 years ahead, beside its `keys.json`."""
    found = tmp_path / "walkthrough.db"
    databases.copy(base_file, found)
    kept = {"SECRET_KEY": OLD_KEY, "ANON_KEY": tokens.ANON_KEY, "SERVICE_KEY": tokens.SERVICE_KEY}
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(kept))
    keys.chmod(0o600)
    app = open_app(found)
    late = int(time.time()) + AHEAD_SECONDS
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
                "INSERT INTO tokens (id, use, user_id, name, digest, read_only, created_at, expires_at)"  # noqa: ISC004
                " VALUES ('d', 'display', ?, 'hall', 'x', 1, ?, ?)",
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


def run(database_file: Path, *words: str, **settings: object) -> tuple[int, str]:
    app = open_app(database_file, **settings)
    done = app.test_cli_runner().invoke(args=list(words))
    app.extensions["walkthrough"].close()
    return done.exit_code, done.output.strip()


def stored_key(database_file: Path) -> str:
    return json.loads((database_file.parent / "keys.json").read_text())["SECRET_KEY"]


def status_of_read(database_file: Path, token: str, key: str) -> int:
    app = open_app(database_file, SECRET_KEY=key)
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {token}"}
    answer = app.test_client().get("/buildings?limit=1", headers=headers)
    app.extensions["walkthrough"].close()
    return answer.status_code


def test_check_reports_a_clock_that_is_ahead(database_file):
    status, output = run(database_file, "check")

    assert status == 0
    assert output.splitlines()[-1] == "sound"
    assert "clock: the database's time is 26645 days, " in output
    assert run(database_file, "clock")[1].startswith("the database's time is 26645 days, ")


def test_clock_is_set_back_to_the_system_time(database_file):
    status, output = run(database_file, "clock", "--set-back", SECRET_KEY=OLD_KEY)

    assert (status, output.endswith("; all users must sign in again")) == (0, True)
    app = open_app(database_file)
    assert app.extensions["walkthrough.clock"].seconds_ahead() == 0
    app.extensions["walkthrough"].close()
    assert run(database_file, "check")[1].count("clock:") == 0
    assert databases.sql(database_file, "SELECT count(*) FROM attempts WHERE at > unixepoch()") == [(0,)]
    lines = databases.sql(database_file, "SELECT action, before, after FROM audit_log ORDER BY id DESC LIMIT 1")
    assert lines[0][0] == "reset_clock"
    assert json.loads(lines[0][2])["from"] > "2090"
    assert run(database_file, "clock", "--set-back", SECRET_KEY=stored_key(database_file))[0] == 1


def test_clock_reset_revives_no_credentials(database_file):
    """Expired and revoked tokens, tokens signed for later, sessions and kiosk displays stay invalid."""
    root, now = CAST["root"], int(time.time())
    claims = tokens.claims_of(root.id, root.role, None)
    session = "00000000-0000-4000-8000-00000000aaaa"
    dead = [
        tokens.sign({**claims, **more}, OLD_KEY)
        for more in (
            {},
            {"session_id": session, "exp": now + AHEAD_SECONDS + 3_600},
            {"iat": now + 3, "exp": now + AHEAD_SECONDS},
        )
    ]

    assert run(database_file, "clock", "--set-back", SECRET_KEY=OLD_KEY)[0] == 0

    key = stored_key(database_file)
    assert key != OLD_KEY
    assert [status_of_read(database_file, each, key) for each in dead] == [401, 401, 401]
    again = [tokens.sign({**claims, "session_id": session}, key), tokens.sign(claims, key)]
    assert [status_of_read(database_file, each, key) for each in again] == [401, 401]
    assert databases.sql(database_file, "SELECT count(*) FROM tokens") == [(0,)]
    assert status_of_read(database_file, tokens.sign({**claims, "iat": int(time.time()) + 2}, key), key) == 200


def test_clock_reset_is_refused_while_the_file_is_served(database_file):
    lock = ServingLock.take(database_file)

    status, output = run(database_file, "clock", "--set-back", SECRET_KEY=OLD_KEY)

    lock.give_back()
    assert (status, "is being served by another process" in output) == (1, True)
    assert stored_key(database_file) == OLD_KEY
    assert run(database_file, "clock")[1] != "the database's time is this machine's"


def test_clock_reset_requires_a_new_key_if_it_is_configured(database_file):
    status, output = run(database_file, "clock", "--set-back")

    assert status == 1
    assert "the SECRET_KEY in use is not the one in" in output
    assert output.endswith("add --key-is-new")
    assert output.count("\n") == 0
    assert stored_key(database_file) == OLD_KEY
    assert run(database_file, "clock", "--set-back", "--key-is-new")[0] == 0


def test_clock_reset_keeps_the_unclean_stop_marker(database_file):
    marker = database_file.with_name(f"{database_file.name}.serving")
    marker.touch()

    assert run(database_file, "clock", "--set-back", SECRET_KEY=OLD_KEY)[0] == 0

    assert marker.exists()
