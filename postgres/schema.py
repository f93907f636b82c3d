"""Create, identify and check the tables of a PostgreSQL database. Imported only if DATABASE_URL names one."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import psycopg
import sqlalchemy as sa

from engine.interface.database import Transaction, Unreachable
from engine.maintenance import check as database_check
from engine.maintenance import import_export
from engine.schema import migrations
from engine.schema.migrations import EARLIER_VERSION, pending, schema_version
from engine.schema.script import schema_script, upgrade_script
from engine.schema.tables import POSTGRESQL
from models import RESOURCES
from models.fields import Model
from models.types import Fault
from postgres import session
from postgres.database import IDENTITY, AnotherDatabase, ServerDatabase
from postgres.dialect import UNICODE_COLLATION
from postgres.session import POOLER_REFUSED, PoolerRefused, connection_settings
from postgres.transaction import ServerTransaction

LOG = logging.getLogger("walkthrough")

VERSION_MIN = 150000
VERSION_FACT = "release_schema"
# Development versions counted to 12 under this name. The release counts from 1 under another one.
DEVELOPMENT_VERSION_FACT = "schema_version"
STORED_VERSION = "SELECT value FROM facts WHERE name = $1"


def attached(url: sa.URL, replicas: Sequence[sa.URL]) -> ServerDatabase:
    """Return the database of a URL, with its replicas. Open nothing. Raise MaintenanceError for an unusable URL."""
    for each in (url, *replicas):
        try:
            connection_settings(each)
        except sa.exc.ArgumentError as error:
            raise database_check.MaintenanceError(f"{without_credentials(each)} cannot be used: {error}") from error
    return ServerDatabase(url, replicas)


EXPECTED: set[sa.URL] = set()
"""Databases that the parent process has checked before it forked."""


def expect(url: str) -> None:
    """Let forked processes start while the database does not answer.

    A worker that cannot start would end the whole service, and the service would stay down once the server is back.
    """
    EXPECTED.add(sa.make_url(url))


@database_check.ensure_schema.register
def ensure_schema(database: ServerDatabase, *, is_served_by_others: bool = False, repairs: bool = False) -> None:
    """Create the tables in an empty database, or migrate older ones.

    Raise MaintenanceError for a database of another program, and for one that does not answer and is not expected.
    """
    name = without_credentials(database.url)
    try:
        identity = open_schema(database, name)
    except database_check.MaintenanceError:
        database.close()
        raise
    except Fault as fault:
        if isinstance(fault, Unreachable) and database.url in EXPECTED:
            LOG.error("%s: %s; it is served once it answers", name, reason(fault))
            return
        database.close()
        raise database_check.MaintenanceError(f"{name} cannot be used: {reason(fault)}") from fault
    except session.ERRORS as error:
        database.close()
        raise database_check.MaintenanceError(f"{name} cannot be used: {session.message(error)}") from error
    require_copies(database, identity)


REASONS = (
    (r"authentication failed|no password supplied", "the server refuses the user or the password"),
    (r'(database|role) "[^"]*" does not exist', "the server knows no such database or user"),
    (r"unsupported startup parameter", POOLER_REFUSED),
)
"""libpq's messages about a server that answers and refuses the connection; libpq has no codes for them."""


def reason(fault: Fault) -> str:
    """Return why a server cannot be used: a known reason, or libpq's message, which holds no password."""
    message = str(fault.__cause__ or "") if isinstance(fault, Unreachable) else ""
    known = next((text for pattern, text in REASONS if re.search(pattern, message)), None)
    return known or (f"{fault} ({message.strip()})" if message else str(fault))


def open_schema(database: ServerDatabase, name: str) -> str | None:
    """Identify the tables, and create or migrate them. Return the result of `read_state`.

    A start reads first, without waiting for a long write. It takes the writer lock only if there are no current tables,
    and reads again: another start may have created them.
    """
    with database.reading(seconds_max=database_check.START_SECONDS_MAX) as transaction:
        if identify(transaction, name) == "current":
            require_columns(transaction, name)
            return read_state(database, transaction)
    with database.writing(database_check.START_SECONDS_MAX, database_check.START_SECONDS_MAX) as transaction:
        state = identify(transaction, name)
        if state == "empty":
            create_tables(transaction)
        elif state == "older":
            migrate(transaction, name)
        return read_state(database, transaction)


COLUMNS = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"


def require_columns(transaction: Transaction, name: str) -> None:
    """Raise MaintenanceError if a database of this version lacks a table or a column."""
    present = {(table, column) for table, column in transaction.all(COLUMNS)}
    absent: dict[str, set[str]] = {}
    for table in Model.metadata.sorted_tables:
        for column in table.c:
            if (table.name, column.name) not in present:
                absent.setdefault(table.name, set()).add(column.name)
    if absent:
        lacking = migrations.lacking(absent, {table for table, _ in present})
        raise database_check.MaintenanceError(f"{name} lacks {lacking}: it {EARLIER_VERSION}")


def read_state(database: ServerDatabase, transaction: Transaction) -> str | None:
    """Advance the clock to the last entry of the audit log; return the database's identity if there are replicas."""
    last = transaction.value("SELECT at FROM audit_log ORDER BY id DESC LIMIT 1")
    if last is not None:
        database.clock.advance(last)
    identity: str | None = transaction.value(IDENTITY) if database.replicas is not None else None
    return identity


def require_copies(database: ServerDatabase, identity: str | None) -> None:
    """Raise MaintenanceError for a replica of another database. A replica that does not answer may come later."""
    if database.replicas is None or identity is None:
        return
    try:
        database.replicas.require_copies(identity)
    except AnotherDatabase as error:
        database.close()
        raise database_check.MaintenanceError(
            "DATABASE_READ_URL names a database that is no copy of DATABASE_URL's"
        ) from error
    except PoolerRefused as error:
        database.close()
        raise database_check.MaintenanceError(f"a database of DATABASE_READ_URL cannot be used: {error}") from error


def identify(transaction: Transaction, name: str) -> str:
    """Return `empty`, `older` or `current`; raise MaintenanceError for any other database."""
    require_features(transaction, name)
    require_search_path(transaction, name)
    tables = transaction.value("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")
    if not tables:
        return "empty"
    if transaction.value("SELECT to_regclass('facts')::text") is None:
        raise database_check.MaintenanceError(f"{name} is another program's database")
    version = transaction.value(STORED_VERSION, (VERSION_FACT,))
    if version is None and transaction.value(STORED_VERSION, (DEVELOPMENT_VERSION_FACT,)):
        raise database_check.MaintenanceError(f"{name} {EARLIER_VERSION}")
    if version is None:
        raise database_check.MaintenanceError(f"{name} is another program's database")
    if int(version) > schema_version():
        raise database_check.MaintenanceError(f"{name} was made by a later version (schema {version})")
    return "current" if int(version) == schema_version() else "older"


FEATURES = """
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
       EXISTS (SELECT 1 FROM pg_collation WHERE collname = $1)
"""


def require_features(transaction: Transaction, name: str) -> None:
    """Raise MaintenanceError for an old server, and for a database without UTF-8 or ICU.

    UTF-8 stores all letters, and ICU folds their case.
    """
    version, encoding, has_unicode = transaction.one(FEATURES, (UNICODE_COLLATION,))
    if int(version) < VERSION_MIN:
        raise database_check.MaintenanceError("PostgreSQL 15 or later is needed")
    if encoding != "UTF8":
        raise database_check.MaintenanceError(
            f"{name} has the encoding {encoding}, and UTF8 is needed: createdb --encoding=UTF8 --template=template0"
        )
    if not has_unicode:
        raise database_check.MaintenanceError(
            f'{name} has no collation "{UNICODE_COLLATION}": a PostgreSQL that was built with ICU is needed'
        )


GRANTS = next(name for name, model in RESOURCES.items() if model.grant is not None)
"""A table whose name no other application has."""

TABLES_ELSEWHERE = """
SELECT relnamespace::regnamespace::text, current_schema() FROM pg_class
WHERE oid = to_regclass($1)
  AND relnamespace::regnamespace::text IS DISTINCT FROM quote_ident(current_schema())
"""


def require_search_path(transaction: Transaction, name: str) -> None:
    """Raise MaintenanceError if the tables are in another schema than the first of `search_path`.

    New, empty tables would hide them, also from processes that serve the database.
    """
    for actual, current in transaction.all(TABLES_ELSEWHERE, (GRANTS,)):
        raise database_check.MaintenanceError(
            f"{name} has its tables in the schema {actual}, and search_path begins with {current}:"
            f" ALTER ROLE … SET search_path = {actual}"
        )


def create_tables(transaction: Transaction) -> None:
    """Create all tables or none."""
    assert isinstance(transaction, ServerTransaction)
    transaction.run_script(schema_script(POSTGRESQL))
    transaction.run("INSERT INTO facts (name, value) VALUES ($1, $2)", (VERSION_FACT, str(schema_version())))


def migrate(transaction: Transaction, name: str) -> None:
    """Run the pending migrations and replace all functions and triggers, in the current transaction.

    Raise MaintenanceError if the result lacks a table or a column.
    """
    assert isinstance(transaction, ServerTransaction)
    version = int(transaction.value(STORED_VERSION, (VERSION_FACT,)))
    for migration in pending(version):
        if migration.postgresql:
            transaction.run_script(migration.postgresql)
    require_columns(transaction, name)
    transaction.run_script(upgrade_script())
    transaction.run("UPDATE facts SET value = $2 WHERE name = $1", (VERSION_FACT, str(schema_version())))


def without_credentials(url: sa.URL) -> str:
    return url.set(username=None, password=None, query={}).render_as_string()


@database_check.check.register
def check(database: ServerDatabase, scan: database_check.Scan = database_check.Scan.FULL) -> list[str]:
    """Return the problems of the database. The server checks its own pages."""
    try:
        with database.reading(seconds_max=database_check.CHECK_SECONDS_MAX) as transaction:
            problems = [*unsafe_settings(transaction), *unvalidated(transaction)]
            require_columns(transaction, without_credentials(database.url))
            if scan is database_check.Scan.FULL:
                problems += database_check.ineffective_grants(transaction)
    except Fault as error:
        return [f"the database cannot be read: {error.message}"]
    except database_check.MaintenanceError as error:
        return [str(error)]
    return problems


def unsafe_settings(transaction: Transaction) -> list[str]:
    """Return the server's settings that lose committed rows in a power cut."""
    rows = transaction.all(
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name"
    )
    return [f"{name} is off" for (name,) in rows]


def unvalidated(transaction: Transaction) -> list[str]:
    """Return constraints, triggers and indexes that are disabled or not valid.

    An interrupted REINDEX CONCURRENTLY leaves such an index, which each write updates.
    """
    rows = transaction.all(
        "SELECT conname FROM pg_constraint WHERE NOT convalidated"
        " AND connamespace = current_schema()::regnamespace"
        " UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE tgenabled = 'D' AND relnamespace = current_schema()::regnamespace"
        " UNION ALL SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
    return [f"{name} is disabled or not valid" for (name,) in rows]


@database_check.versions.register
def versions(database: ServerDatabase) -> dict[str, str]:
    """Return the versions of driver, server and schema."""
    with database.reading() as transaction:
        server = transaction.value("SELECT current_setting('server_version')")
        schema = transaction.value(STORED_VERSION, (VERSION_FACT,))
    return {"driver": f"psycopg {psycopg.__version__}", "postgresql": server, "schema": str(schema)}


@import_export.keep_transaction_open.register
def keep_transaction_open(transaction: ServerTransaction) -> None:
    """Let the source's transaction be idle while its rows are compared with the target's."""
    transaction.run("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
