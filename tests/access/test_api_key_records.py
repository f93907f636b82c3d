"""What the service keeps of an API key: rows, log lines and audit entries."""

import logging
import pathlib
import time
from collections.abc import Iterator

import pytest

from access import session
from access.accounts import long_lived_tokens
from access.roles import GRANT_PROFILES, Role
from engine.interface.database import Transaction
from serving.logging import JsonLines
from tests.access.api_keys import OWN, make, of_user, read
from tests.conftest import ADA, MOE, ROOT
from tests.support import databases
from tests.support.signin import Service, reused_service


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


def test_database_export_and_log_hold_no_key(
    service: Service, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "walkthrough"):
        key = make(service, "ada")["key"]
        service.api(token=key).get(f"/buildings?name=eq.{key}")
        read(service, key)
        service.api(token=key + "x").get("/buildings")
        service.api(token=key).post("/buildings", "not json")
    archive = tmp_path / "export.json"
    assert service.app.test_cli_runner().invoke(args=["export", str(archive)]).exit_code == 0

    lines = "\n".join(map(JsonLines().format, caplog.records))
    stored = str(service.sql("SELECT * FROM tokens")) + str(service.sql("SELECT * FROM audit_log"))
    digest = session.key_digest(key)
    assert '"event": "request"' in lines
    assert key not in lines + stored + archive.read_text()
    assert digest is not None
    assert digest.text in stored
    assert digest.text not in lines + archive.read_text() + str(service.sql("SELECT * FROM audit_log"))


def test_audit_log_records_who_made_and_revoked_a_key(service: Service) -> None:
    made = make(service, "ada", of_user(MOE), read_only=True)
    service.api("root").delete(f"{of_user(MOE)}/{made['id']}")

    entries = service.api("ada").get("/audit_log?relation=eq.api_keys&order=id").json

    assert [(each["action"], each["actor_id"], each["client_id"]) for each in entries] == [
        ("create_api_key", ADA, 1),
        ("revoke_api_key", ROOT, 1),
    ]
    assert entries[0]["row_key"] == made["id"]
    assert entries[0]["after"] == {"user_id": MOE, "name": "MCP server", "read_only": True}


def test_use_is_recorded_after_the_response_and_once_a_minute(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(service, "moe")
    recorded = []
    monkeypatch.setattr(long_lived_tokens, "record_use", lambda database, key_id: recorded.append(key_id))
    app = service.app.test_client()
    headers = {"apikey": made["key"]}

    response = app.get("/buildings", headers=headers)
    assert (response.status_code, recorded) == (200, [])
    response.close()
    app.get("/buildings", headers=headers).close()
    service.api("moe").get("/buildings")

    assert recorded == [made["id"]]
    monkeypatch.setattr(long_lived_tokens, "USES", {made["id"]: time.monotonic() - 61})
    app.get("/buildings", headers=headers).close()
    # Werkzeug's test client may close a response twice; the statement itself stores at most one use a minute.
    assert recorded[1:]
    assert set(recorded) == {made["id"]}


def test_use_is_stored(service: Service) -> None:
    made = make(service, "moe")
    database = service.app.extensions["walkthrough"]

    long_lived_tokens.record_use(database, made["id"])

    first = service.sql("SELECT last_used_at FROM tokens")[0][0]
    assert abs(first - time.time()) < 5
    service.sql("UPDATE tokens SET last_used_at = ?", first - 30)
    long_lived_tokens.record_use(database, made["id"])
    assert service.sql("SELECT last_used_at FROM tokens") == [(first - 30,)]
    assert service.api("moe").get(OWN).json["api_keys"][0]["last_used_at"] is not None


@pytest.mark.sqlite
def test_use_is_not_recorded_while_the_write_lock_is_held(service: Service) -> None:
    made = make(service, "moe")
    database = service.app.extensions["walkthrough"]
    with database.hold_writer_lock(1.0):
        long_lived_tokens.record_use(database, made["id"])

    assert service.sql("SELECT last_used_at FROM tokens") == [(None,)]


def test_look_up_of_a_key_is_one_statement_and_cached(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = session.key_digest(make(service, "moe")["key"])
    assert digest is not None
    statements = []
    one = Transaction.one
    monkeypatch.setattr(Transaction, "one", lambda self, *sql: statements.append(sql) or one(self, *sql))
    database = service.app.extensions["walkthrough"]
    for _ in range(2):
        with database.reading() as transaction:
            caller = session.look_up_key(transaction, digest)
            assert (caller.id, caller.profile) == (MOE, GRANT_PROFILES[Role.CLIENT_MANAGER, True, True])

    assert len([sql for sql in statements if "tokens" in sql[0]]) == (1 if databases.SERVER is None else 2)
