"""Behaviour specific to a server: ended sessions, held locks, cancelled statements, foreign databases."""

import pathlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from app import NotStarted
from engine.interface.database import LockTimeout, TimedOut
from engine.maintenance import check
from engine.open import database, open_database
from engine.query.catalog import CheckViolation, ForeignKeyViolation
from models.types import OutOfRange
from postgres import session
from postgres.session import foreign_key_violation
from tests.conftest import MIA, Database, api_over
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import Service, open_service

pytestmark = pytest.mark.server("a file has no sessions")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


def end_sessions(service: Service) -> None:
    with databases.connect_to("postgres") as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            (databases.DATABASE_NAMES[service.file],),
        )


@pytest.mark.parametrize("repetition", range(3))
def test_ended_session_fails_no_request(service: Service, repetition: int) -> None:
    root = service.api("root")
    assert root.get("/buildings").status == 200

    end_sessions(service)

    assert root.get("/buildings").status == 200
    end_sessions(service)
    assert root.patch("/buildings?id=eq.1", {"name": "A"}).status == 204


def test_jit_compilation_is_off(service: Service) -> None:
    """A JIT compilation ignores the time limit and takes seconds for a statement with many embeds."""
    with service.app.app_context(), database().reading() as reading:
        assert reading.value("SHOW jit") == "off"
    with service.app.app_context(), database().writing() as writing:
        assert writing.value("SHOW jit") == "off"


def test_write_without_the_lock_times_out(service: Service) -> None:
    with service.app.app_context(), databases.hold_writer_lock(service.file), pytest.raises(LockTimeout):  # noqa: SIM117
        with database().writing(wait_seconds_max=0.2):
            raise AssertionError("a lock that another session holds")

    assert service.api("root").patch("/buildings?id=eq.1", {"name": "A"}).status == 204


def test_start_does_not_wait_for_the_writer_lock(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import or a copy can hold the lock for an hour, and workers may restart in this time."""
    monkeypatch.setattr(check, "START_SECONDS_MAX", 0.5)

    with databases.hold_writer_lock(service.file):
        app = open_app(service.file)

    assert Service(app, service.file).api("root").get("/buildings?id=eq.1").status == 200


def test_concurrent_starts_create_the_tables_once() -> None:
    name = "started_at_once"
    url = databases.SERVER.format(database=name)
    databases.create(name, "template0")
    failures: list[Exception] = []

    def start() -> None:
        try:
            with closing(open_database(url)) as found:
                check.ensure_schema(found)
        except check.MaintenanceError as refused:
            failures.append(refused)

    try:
        starts = [threading.Thread(target=start) for _ in range(4)]
        for each in starts:
            each.start()
        for each in starts:
            each.join()
        with databases.connect_to(name) as connection:
            facts = connection.execute("SELECT name FROM facts").fetchall()
    finally:
        with databases.connect_to("postgres") as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert failures == []
    assert facts == [("release_schema",)]


def test_statement_beyond_its_time_limit_is_cancelled(service: Service) -> None:
    with service.app.app_context(), pytest.raises(TimedOut):  # noqa: SIM117
        with database().reading(seconds_max=0.2) as transaction:
            transaction.run("SELECT pg_sleep(5)")

    assert service.api("root").get("/buildings").status == 200


def test_reader_cannot_write(service: Service) -> None:
    with service.app.app_context(), pytest.raises(Exception, match="is read-only"):  # noqa: SIM117
        with database().reading() as transaction:
            transaction.run("DELETE FROM inspections")


def test_read_only_sessions_are_replaced(service: Service) -> None:
    """Some providers set this default on a database whose disk is almost full. It applies to new sessions."""
    name, root = databases.DATABASE_NAMES[service.file], service.api("root")
    with databases.connect_to("postgres") as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        end_sessions(service)
        refusal = root.patch("/buildings?id=eq.1", {"name": "A"})
        assert (refusal.status, refusal.code, refusal.headers["Retry-After"]) == (503, "08006", "1")
        assert root.get("/buildings?id=eq.1").status == 200

        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

    answers = [root.patch("/buildings?id=eq.1", {"name": "A"}).status for _ in range(2)]
    assert answers[-1] == 204


def test_pooler_without_session_settings_is_refused_in_one_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PgBouncer refuses the startup parameters of a session, or is configured to ignore them."""
    monkeypatch.setattr(session, "SETTINGS", {})

    with pytest.raises(NotStarted, match=r"cannot be used: a pooler .* withholds session settings") as refused:
        open_app(tmp_path / "a.db")

    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        (
            "Schlüssel (building_id, client_id)=(999, 0) ist nicht in Tabelle »buildings« vorhanden.",
            'Key (building_id)=(999) is not present in table "buildings".',
        ),
        (
            "La clé (id, client_id)=(1, 1) est toujours référencée à partir de la table « inspections ».",
            'Key (id)=(1) is still referenced from table "inspections".',
        ),
    ],
    ids=["missing", "referenced"],
)
def test_key_violation_is_reported_in_any_language(detail: str, message: str) -> None:
    diagnosis = SimpleNamespace(
        table_name="inspections", constraint_name="inspections_building_id_fkey",
        message_primary="…", message_detail=detail,
    )  # fmt: skip

    error = foreign_key_violation(SimpleNamespace(diag=diagnosis))

    assert error.details == message


def test_messages_are_english_if_the_server_permits(service: Service) -> None:
    with service.app.app_context(), database().reading() as reading:
        assert reading.value("SHOW lc_messages") == "C"


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        (f"UPDATE buildings SET floors = {2**31} WHERE id = 1", OutOfRange),
        ("UPDATE inspections SET building_id = 999 WHERE id = 1", ForeignKeyViolation),
        (f"INSERT INTO client_admin_building_access VALUES ('{MIA}', 1, NULL, now())", CheckViolation),
        ("UPDATE users SET role = 'client_admin', client_id = 1 WHERE role = 'super_admin'", CheckViolation),
    ],
    ids=["range", "key", "role", "last"],
)
def test_violations_raise_the_same_errors_as_sqlite(service: Service, statement: str, error: type) -> None:
    with service.app.app_context(), pytest.raises(error):  # noqa: SIM117
        with database().writing() as transaction:
            transaction.run(statement)


RESTRICT_VIOLATION_OF_POSTGRESQL_18 = """
DO $$ BEGIN
    RAISE EXCEPTION 'update or delete on table "buildings" violates RESTRICT setting of foreign key constraint
        "inspections_building_id_fkey" on table "inspections"'
        USING ERRCODE = 'restrict_violation', TABLE = 'inspections', CONSTRAINT = 'inspections_building_id_fkey',
        DETAIL = 'Key (id, client_id)=(1, 1) is referenced from table "inspections".';
END $$
"""


def test_referenced_row_error_is_the_same_in_every_version(service: Service) -> None:
    """PostgreSQL 18 reports 23001 for ON DELETE RESTRICT, earlier versions 23503."""
    errors = []
    for statement in (RESTRICT_VIOLATION_OF_POSTGRESQL_18, "DELETE FROM buildings WHERE id = 1"):
        with service.app.app_context(), pytest.raises(ForeignKeyViolation) as refused:  # noqa: SIM117
            with database().writing() as transaction:
                transaction.run(statement)
        errors.append((refused.value.message, refused.value.details, refused.value.hint))

    assert errors[0] == errors[1]
    assert errors[0][1] == 'Key (id)=(1) is still referenced from table "inspections".'


def test_hidden_column_of_a_key_is_not_reported(service: Service) -> None:
    answer = service.api("root").post("/inspections", {"building_id": 999, "inspection_type": "fire"})

    assert (answer.status, answer.code) == (409, "23503")
    assert answer.json["details"] == 'Key (building_id)=(999) is not present in table "buildings".'


def test_concurrent_writers_all_succeed(service: Service) -> None:
    root = service.api("root")
    answers: list[int] = []

    def write() -> None:
        answers.extend(root.post("/clients", {"name": "C"}).status for _ in range(10))

    writers = [threading.Thread(target=write) for _ in range(8)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()

    assert answers == [201] * 80


def test_database_of_another_program_is_refused(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "foreign.db"
    databases.url(file)
    databases.sql(file, "ALTER TABLE facts RENAME TO others")

    with pytest.raises(Exception, match="another program's database"):
        open_app(file)

    databases.sql(file, "ALTER TABLE others RENAME TO facts")


def test_missing_server_is_reported(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Exception, match="does not answer"):
        open_app(tmp_path / "a.db", DATABASE_URL=f"postgresql+psycopg://nobody@/none?host={tmp_path}")


@pytest.fixture
def empty_database() -> Iterator[Callable]:
    """`empty_database(options)` creates a database and returns its URL for a user who owns nothing."""
    made = []

    def make(options: str, *statements: str) -> str:
        made.append(f"empty_{len(made)}")
        with databases.connect_to("postgres") as connection:
            connection.execute(f"CREATE DATABASE {made[-1]} TEMPLATE template0 {options}")
        with databases.connect_to(made[-1]) as connection:
            for statement in ("CREATE ROLE visitor LOGIN", *statements):
                connection.execute(statement)
        return databases.SERVER.format(database=made[-1]).replace("walkthrough@", "visitor@")

    yield make
    with databases.connect_to("postgres") as connection:
        for name in made:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute("DROP ROLE visitor")


@pytest.mark.parametrize(
    ("options", "statements", "message"),
    [
        pytest.param(
            "ENCODING 'LATIN1' LOCALE 'C'", (), "has the encoding LATIN1, and UTF8 is needed:", id="latin1"
        ),
        pytest.param(
            "ENCODING 'SQL_ASCII' LOCALE 'C'", (), "has the encoding SQL_ASCII, and UTF8 is needed:",
            id="sql-ascii",
        ),
        pytest.param(
            "", ("DROP COLLATION \"und-x-icu\"",),
            'has no collation "und-x-icu": a PostgreSQL that was built with ICU is needed', id="icu",
        ),
        pytest.param(
            "", (),
            "the service's database user lacks a privilege that it needs: permission denied for schema public",
            id="no-right-to-create",
        ),
        pytest.param(
            "",
            ("GRANT ALL ON SCHEMA public TO visitor",
             "ALTER ROLE visitor SET default_transaction_read_only = on"),
            "cannot be used: the database is read-only:", id="only-reads",
        ),
        pytest.param(
            "", ("ALTER ROLE visitor SET search_path = nowhere",),
            "cannot be used: no schema has been selected to create in", id="no-schema",
        ),
    ],
)  # fmt: skip
def test_unusable_database_is_reported_in_one_line(
    empty_database: Callable, tmp_path: pathlib.Path, options: str, statements: tuple, message: str
) -> None:
    url = empty_database(options, *statements)

    with pytest.raises(NotStarted, match=re.escape(message)) as refused:
        open_app(tmp_path / "a.db", DATABASE_URL=url)
    copied = open_app(tmp_path / "b.db").test_cli_runner().invoke(args=["copy", "--to", url])

    assert "\n" not in refused.value.message
    assert copied.output == f"walkthrough: {refused.value.message}\n"


def test_schema_of_the_user_does_not_hide_the_tables(empty_database: Callable, tmp_path: pathlib.Path) -> None:
    """The default search_path has the schema with the user's name before `public`."""
    url = empty_database("", "GRANT ALL ON SCHEMA public TO visitor")
    open_app(tmp_path / "a.db", DATABASE_URL=url).extensions["walkthrough"].close()
    with databases.connect_to("empty_0") as connection:
        connection.execute("CREATE SCHEMA AUTHORIZATION visitor")

    with pytest.raises(NotStarted) as refused:
        open_app(tmp_path / "b.db", DATABASE_URL=url)

    assert refused.value.message.endswith(
        "has its tables in the schema public, and search_path begins with visitor:"
        " ALTER ROLE … SET search_path = public"
    )
    with databases.connect_to("empty_0") as connection:
        made = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'visitor'")
        assert made.fetchone() == (0,)
        connection.execute("ALTER ROLE visitor SET search_path = public")
    open_app(tmp_path / "c.db", DATABASE_URL=url).extensions["walkthrough"].close()


def test_revoked_privilege_is_reported(service: Service) -> None:
    """An administrator of the server revoked the privilege."""
    name = databases.DATABASE_NAMES[service.file]
    with databases.connect_to(name) as connection:
        connection.execute("CREATE ROLE visitor LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO visitor")
    try:
        visited = databases.url(service.file).replace("walkthrough@", "visitor@")
        app = open_app(service.file.with_name("other.db"), DATABASE_URL=visited)
        done = app.test_cli_runner().invoke(
            args=["create-user", "a@x.example", "--role", "super_admin", "--password", "-"]
        )
        answer = api_over(Database(lambda: app, None, app))("root").post("/clients", {"name": "X"})
        app.extensions["walkthrough"].close()
    finally:
        with databases.connect_to(name) as connection:
            connection.execute("DROP OWNED BY visitor")
            connection.execute("DROP ROLE visitor")

    assert done.exit_code == 1
    assert done.output.startswith(
        "walkthrough: the service's database user lacks a privilege that it needs: permission denied for"
    )
    assert done.output.count("\n") == 1
    assert answer.refusal == (500, "42501", "the service's database user lacks a privilege that it needs")
    assert "permission denied" not in answer.text


def test_pattern_folds_case_by_unicode_rules(world: Callable) -> None:
    at = "2025-01-01T00:00:00+00:00"
    api = world({"clients": [{"id": 1, "name": "GRÖSSE", "created_at": at, "updated_at": at}]})

    assert api("service").get("/clients?name=ilike.größe").json == []
    assert len(api("service").get("/clients?name=ilike.grösse").json) == 1
    assert len(api("service").get("/clients?name=imatch.grösse").json) == 1
