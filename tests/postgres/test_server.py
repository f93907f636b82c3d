"""What only a server can do to us: end our sessions, hold its locks, stop our statements, be somebody else's."""

import pathlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from app import NotStarted
from engine.attach import attach_url
from engine.current import database
from engine.maintenance import check
from engine.postgres import session
from engine.postgres.errors import foreign_key_violation
from engine.query.constraints import CheckViolation, ForeignKeyViolation
from engine.storage import sqlite
from engine.storage.writer_lock import LockTimeout
from models.types import OutOfRange
from tests.conftest import MIA, Database, api_over
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import Service, open_service

pytestmark = pytest.mark.server("a file has no sessions")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


def end_sessions(service: Service) -> None:
    with databases.connected("postgres") as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            (databases.NAMES[service.file],),
        )


@pytest.mark.parametrize("round_", range(3))
def test_session_that_the_server_ended_is_nobodys_trouble(service: Service, round_: int) -> None:
    root = service.api("root")
    assert root.get("/buildings").status == 200

    end_sessions(service)

    assert root.get("/buildings").status == 200
    end_sessions(service)
    assert root.patch("/buildings?id=eq.1", {"name": "A"}).status == 204


def test_no_statement_is_compiled_past_its_time_limit(service: Service) -> None:
    """A compilation looks at no limit, and takes seconds for a statement of many embeds."""
    with service.app.app_context(), database().reading() as reading:
        assert reading.value("SHOW jit") == "off"
    with service.app.app_context(), database().writing() as writing:
        assert writing.value("SHOW jit") == "off"


def test_write_that_gets_no_turn_is_told_so_in_time(service: Service) -> None:
    with service.app.app_context(), databases.turn(service.file), pytest.raises(LockTimeout):  # noqa: SIM117
        with database().writing(wait_seconds_max=0.2):
            raise AssertionError("a turn that another holds")

    assert service.api("root").patch("/buildings?id=eq.1", {"name": "A"}).status == 204


def test_start_does_not_wait_while_another_has_the_turn(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import, or a copy, has it for an hour, in which workers are started anew."""
    monkeypatch.setattr(check, "START_SECONDS_MAX", 0.5)

    with databases.turn(service.file):
        app = open_app(service.file)

    assert Service(app, service.file).api("root").get("/buildings?id=eq.1").status == 200


def test_several_starts_make_the_tables_once() -> None:
    name = "started_at_once"
    url = databases.SERVER.format(database=name)
    databases.create(name, "template0")
    failures: list[Exception] = []

    def start() -> None:
        try:
            with closing(attach_url(url)) as found:
                check.ensure_schema(found)
        except check.MaintenanceError as refused:
            failures.append(refused)

    try:
        starts = [threading.Thread(target=start) for _ in range(4)]
        for each in starts:
            each.start()
        for each in starts:
            each.join()
        with databases.connected(name) as connection:
            facts = connection.execute("SELECT name FROM facts").fetchall()
    finally:
        with databases.connected("postgres") as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert failures == []
    assert facts == [("release_schema",)]


def test_statement_that_runs_too_long_is_stopped(service: Service) -> None:
    with service.app.app_context(), pytest.raises(sqlite.TimedOut):  # noqa: SIM117
        with database().reading(seconds_max=0.2) as transaction:
            transaction.run("SELECT pg_sleep(5)")

    assert service.api("root").get("/buildings").status == 200


def test_reader_cannot_write(service: Service) -> None:
    with service.app.app_context(), pytest.raises(Exception, match="is read-only"):  # noqa: SIM117
        with database().reading() as transaction:
            transaction.run("DELETE FROM inspections")


def test_sessions_that_only_read_are_left_once_others_may_write(service: Service) -> None:
    """A database that is told so, as some hosts do where a disk is almost full, tells each session as it begins."""
    name, root = databases.NAMES[service.file], service.api("root")
    with databases.connected("postgres") as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        end_sessions(service)
        told = root.patch("/buildings?id=eq.1", {"name": "A"})
        assert (told.status, told.code, told.headers["Retry-After"]) == (503, "08006", "1")
        assert root.get("/buildings?id=eq.1").status == 200

        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

    answers = [root.patch("/buildings?id=eq.1", {"name": "A"}).status for _ in range(2)]
    assert answers[-1] == 204


def test_a_pooler_that_keeps_settings_back_is_refused_in_one_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PgBouncer takes what a session is told as it begins for an error, or is told to ignore it."""
    monkeypatch.setattr(session, "SETTINGS", {})

    with pytest.raises(NotStarted, match=r"cannot be used: a pooler .* withholds session settings") as refused:
        open_app(tmp_path / "a.db")

    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("detail", "told"),
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
def test_a_key_is_told_whatever_language_the_server_speaks(detail: str, told: str) -> None:
    diagnosis = SimpleNamespace(
        table_name="inspections", constraint_name="inspections_building_id_fkey",
        message_primary="…", message_detail=detail,
    )  # fmt: skip

    fact = foreign_key_violation(SimpleNamespace(diag=diagnosis))

    assert fact.details == told


def test_a_server_that_lets_its_language_be_chosen_speaks_english(service: Service) -> None:
    with service.app.app_context(), database().reading() as reading:
        assert reading.value("SHOW lc_messages") == "C"


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        (f"UPDATE buildings SET floors = {2**31} WHERE id = 1", OutOfRange),
        ("UPDATE inspections SET building_id = 999 WHERE id = 1", ForeignKeyViolation),
        (f"INSERT INTO client_admin_building_access VALUES ('{MIA}', 1, NULL, now())", CheckViolation),
        ("UPDATE users SET role = 'client_admin', client_id = 1 WHERE role = 'super_admin'", CheckViolation),
    ],
    ids=["range", "key", "role", "last"],
)
def test_refusal_is_the_same_fact_as_on_a_file(service: Service, statement: str, fact: type) -> None:
    with service.app.app_context(), pytest.raises(fact):  # noqa: SIM117
        with database().writing() as transaction:
            transaction.run(statement)


AS_POSTGRESQL_18_SAYS_IT = """
DO $$ BEGIN
    RAISE EXCEPTION 'update or delete on table "buildings" violates RESTRICT setting of foreign key constraint
        "inspections_building_id_fkey" on table "inspections"'
        USING ERRCODE = 'restrict_violation', TABLE = 'inspections', CONSTRAINT = 'inspections_building_id_fkey',
        DETAIL = 'Key (id, client_id)=(1, 1) is referenced from table "inspections".';
END $$
"""


def test_what_others_need_is_told_alike_by_every_version(service: Service) -> None:
    """PostgreSQL 18 has a state of its own (23001) for what ON DELETE RESTRICT keeps; all before it say 23503."""
    said = []
    for statement in (AS_POSTGRESQL_18_SAYS_IT, "DELETE FROM buildings WHERE id = 1"):
        with service.app.app_context(), pytest.raises(ForeignKeyViolation) as refused:  # noqa: SIM117
            with database().writing() as transaction:
                transaction.run(statement)
        said.append((refused.value.message, refused.value.details, refused.value.hint))

    assert said[0] == said[1]
    assert said[0][1] == 'Key (id)=(1) is still referenced from table "inspections".'


def test_hidden_half_of_a_key_is_not_told(service: Service) -> None:
    answer = service.api("root").post("/inspections", {"building_id": 999, "inspection_type": "fire"})

    assert (answer.status, answer.code) == (409, "23503")
    assert answer.json["details"] == 'Key (building_id)=(999) is not present in table "buildings".'


def test_writers_at_once_all_get_their_turn(service: Service) -> None:
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


def test_another_programs_database_is_refused_in_one_line(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "foreign.db"
    databases.url(file)
    databases.sql(file, "ALTER TABLE facts RENAME TO others")

    with pytest.raises(Exception, match="another program's database"):
        open_app(file)

    databases.sql(file, "ALTER TABLE others RENAME TO facts")


def test_server_that_is_not_there_is_told_in_one_line(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Exception, match="does not answer"):
        open_app(tmp_path / "a.db", DATABASE_URL=f"postgresql+psycopg://nobody@/none?host={tmp_path}")


@pytest.fixture
def empty() -> Iterator[Callable]:
    """Makes databases like `CREATE DATABASE … {how}`, and a user who owns nothing; returns its URL for that user."""
    made = []

    def make(how: str, *statements: str) -> str:
        made.append(f"empty_{len(made)}")
        with databases.connected("postgres") as connection:
            connection.execute(f"CREATE DATABASE {made[-1]} TEMPLATE template0 {how}")
        with databases.connected(made[-1]) as connection:
            for statement in ("CREATE ROLE visitor LOGIN", *statements):
                connection.execute(statement)
        return databases.SERVER.format(database=made[-1]).replace("walkthrough@", "visitor@")

    yield make
    with databases.connected("postgres") as connection:
        for name in made:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute("DROP ROLE visitor")


@pytest.mark.parametrize(
    ("how", "statements", "told"),
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
def test_a_database_that_cannot_be_served_is_told_in_one_line(
    empty: Callable, tmp_path: pathlib.Path, how: str, statements: tuple, told: str
) -> None:
    url = empty(how, *statements)

    with pytest.raises(NotStarted, match=re.escape(told)) as refused:
        open_app(tmp_path / "a.db", DATABASE_URL=url)
    copied = open_app(tmp_path / "b.db").test_cli_runner().invoke(args=["copy", "--to", url])

    assert "\n" not in refused.value.message
    assert copied.output == f"walkthrough: {refused.value.message}\n"


def test_a_schema_of_its_users_own_does_not_hide_the_tables(empty: Callable, tmp_path: pathlib.Path) -> None:
    """search_path is "$user", public unless told otherwise: a schema by the user's name comes to stand before it."""
    url = empty("", "GRANT ALL ON SCHEMA public TO visitor")
    open_app(tmp_path / "a.db", DATABASE_URL=url).extensions["walkthrough"].close()
    with databases.connected("empty_0") as connection:
        connection.execute("CREATE SCHEMA AUTHORIZATION visitor")

    with pytest.raises(NotStarted) as refused:
        open_app(tmp_path / "b.db", DATABASE_URL=url)

    assert refused.value.message.endswith(
        "has its tables in the schema public, and search_path begins with visitor:"
        " ALTER ROLE … SET search_path = public"
    )
    with databases.connected("empty_0") as connection:
        made = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'visitor'")
        assert made.fetchone() == (0,)
        connection.execute("ALTER ROLE visitor SET search_path = public")
    open_app(tmp_path / "c.db", DATABASE_URL=url).extensions["walkthrough"].close()


def test_a_right_that_was_taken_is_told_as_one(service: Service) -> None:
    """By whoever looks after the server: a request is no reason for it."""
    name = databases.NAMES[service.file]
    with databases.connected(name) as connection:
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
        with databases.connected(name) as connection:
            connection.execute("DROP OWNED BY visitor")
            connection.execute("DROP ROLE visitor")

    assert done.exit_code == 1
    assert done.output.startswith(
        "walkthrough: the service's database user lacks a privilege that it needs: permission denied for"
    )
    assert done.output.count("\n") == 1
    assert answer.refusal == (500, "42501", "the service's database user lacks a privilege that it needs")
    assert "permission denied" not in answer.text


def test_pattern_folds_case_as_unicode_does(world: Callable) -> None:
    at = "2025-01-01T00:00:00+00:00"
    api = world({"clients": [{"id": 1, "name": "GRÖSSE", "created_at": at, "updated_at": at}]})

    assert api("service").get("/clients?name=ilike.größe").json == []
    assert len(api("service").get("/clients?name=ilike.grösse").json) == 1
    assert len(api("service").get("/clients?name=imatch.grösse").json) == 1
