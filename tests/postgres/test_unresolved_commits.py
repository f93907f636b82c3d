"""Commits of a server: acknowledged ones are durable, unresolved ones are reported and not retried."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from engine.interface.database import Unresolved
from engine.maintenance import check
from engine.open import database
from tests.support import databases, private_server
from tests.support.applications import open_app
from tests.support.signin import Service, open_service

pytestmark = pytest.mark.server("a COMMIT of a file is never unresolved")


PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


@contextmanager
def synchronous_commit_set(service: Service, synchronous_commit: str) -> Iterator[None]:
    """Set synchronous_commit for the service's role in this database."""
    name = databases.DATABASE_NAMES[service.file]
    role = f'ALTER ROLE CURRENT_USER IN DATABASE "{name}"'
    with databases.connect_to("postgres") as connection:
        connection.execute(f"{role} SET synchronous_commit = '{synchronous_commit}'")
        try:
            yield
        finally:
            connection.execute(f"{role} RESET synchronous_commit")


@pytest.mark.parametrize(
    ("setting", "effective"),
    [
        ("off", "on"),
        ("false", "on"),
        ("on", "on"),
        ("local", "on"),
        ("remote_write", "on"),
        ("remote_apply", "remote_apply"),
    ],
)
def test_commit_waits_at_least_for_the_disk(service: Service, setting: str, effective: str) -> None:
    with synchronous_commit_set(service, setting):
        service.app.extensions["walkthrough"].close()
        with service.app.app_context(), database().writing() as transaction:
            assert transaction.value("SELECT current_setting('synchronous_commit')") == effective


def test_check_reports_settings_without_durability(service: Service) -> None:
    """The server of the tests runs without fsync."""
    result = service.app.test_cli_runner().invoke(args=["check"])

    assert result.exit_code == 1
    assert result.output == "walkthrough: fsync is off; full_page_writes is off\n"


def test_check_reports_invalid_indexes(service: Service) -> None:
    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("CREATE UNIQUE INDEX CONCURRENTLY left_over ON inspections (client_id)")
        try:
            with service.app.app_context():
                problems = check.check(database())
        finally:
            connection.execute("DROP INDEX left_over")

    assert "left_over is disabled or not valid" in problems


def test_check_of_a_durable_server_succeeds(tmp_path: pathlib.Path) -> None:
    programs = private_server.find_programs()
    assert programs is not None, "the tests run on a PostgreSQL server"
    settings = {"fsync": "on", "full_page_writes": "on", "max_connections": "20"}
    with private_server.running_server(programs, **settings) as directory:
        url = f"postgresql+psycopg://walkthrough@/postgres?host={directory}"
        app = open_app(tmp_path / "careful.db", DATABASE_URL=url)
        with app.app_context():
            assert check.check(database()) == []
        app.extensions["walkthrough"].close()


INSERT_CLIENT = "INSERT INTO clients (name, created_at, updated_at) VALUES ($1, now(), now())"


def test_commit_without_its_standby_is_unresolved_and_releases_the_lock(tmp_path: pathlib.Path) -> None:
    programs = private_server.find_programs()
    assert programs is not None, "the tests run on a PostgreSQL server"
    with private_server.running_server(programs) as directory:
        url = f"postgresql+psycopg://walkthrough@/postgres?host={directory}"
        app = open_app(tmp_path / "alone.db", DATABASE_URL=url)
        with psycopg.connect(f"user=walkthrough dbname=postgres host={directory}", autocommit=True) as other:
            other.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
            other.execute("SELECT pg_reload_conf()")
            with app.app_context():
                for name in ("Perhaps", "Perhaps as well"):
                    with pytest.raises(Unresolved), database().writing(seconds_max=1.0) as transaction:
                        transaction.run(
                            "INSERT INTO clients (name, created_at, updated_at) VALUES ($1, now(), now())", (name,)
                        )
            other.execute("ALTER SYSTEM RESET synchronous_standby_names")
            other.execute("SELECT pg_reload_conf()")
            names = other.execute("SELECT name FROM clients ORDER BY id").fetchall()
        app.extensions["walkthrough"].close()

    assert names == [("Perhaps",), ("Perhaps as well",)]


END_AT_COMMIT = """
CREATE FUNCTION pg_temp.end_session() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER ends_at_commit AFTER INSERT ON clients INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION pg_temp.end_session()
"""


def test_unresolved_commit_has_no_retry_after(service: Service) -> None:
    with service.app.app_context(), database().writing() as transaction:
        transaction.run_script(END_AT_COMMIT)

    answer = service.api("root").post("/clients", {"name": "Perhaps"})

    assert answer.status == 503
    assert answer.json == {
        "code": "08007",
        "message": "the database did not say whether it kept the write",
        "details": None,
        "hint": "Look whether it is there before sending it again.",
    }
    assert "Retry-After" not in answer.headers
    assert service.api("root").get("/clients?name=eq.Perhaps").json == []


def test_write_lost_before_its_commit_has_retry_after(service: Service) -> None:
    with service.app.app_context(), database().writing() as transaction:
        transaction.run_script(END_AT_COMMIT.replace("INITIALLY DEFERRED", ""))

    answer = service.api("root").post("/clients", {"name": "Perhaps"})

    assert (answer.status, answer.code) == (503, "08006")
    assert answer.headers["Retry-After"] == "1"


def test_documented_statement_after_a_restore_ends_all_sessions(service: Service) -> None:
    """docs/SCALING.md has the statement. Some sessions may have ended after the backup."""
    words = (PROJECT / "docs" / "SCALING.md").read_text(encoding="utf-8")
    session = service.sign_in("moe")
    for api in (service.api(token=session["access_token"]), service.api("ada")):
        assert api.get("/buildings").status == 200

    with databases.connect_to(databases.DATABASE_NAMES[service.file]) as connection:
        connection.execute(words.split("```sql\n")[1].split("```")[0])

    for api in (service.api(token=session["access_token"]), service.api("ada")):
        assert api.get("/buildings").status == 401
    assert service.refresh(session["refresh_token"]).status == 400
