"""Make, recognise and check the tables of a PostgreSQL database. Loaded only where DATABASE_URL names one."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path

import psycopg
import sqlalchemy as sa

from engine.maintenance import check as database_check
from engine.maintenance import copy as database_copy
from engine.maintenance.migrations import EARLIER_VERSION, pending, schema_version
from engine.postgres import errors
from engine.postgres.database import ServerDatabase
from engine.postgres.replicas import IDENTITY, AnotherDatabase
from engine.postgres.session import POOLER_REFUSED, PoolerRefused, connection_words
from engine.postgres.transaction import ServerTransaction
from engine.query.constraints import Unreachable
from engine.query.dialect.postgresql import UNICODE_COLLATION
from engine.storage.transaction import Transaction
from models.errors import Fault

LOG = logging.getLogger("walkthrough")

SCHEMA = Path(__file__).resolve().parent / "schema.sql"
VERSION_MIN = 150000
VERSION_FACT = "release_schema"
# Development versions counted to 12 under this name. The release counts from 1 under another one.
DEVELOPMENT_VERSION_FACT = "schema_version"
VERSION_KEPT = "SELECT value FROM facts WHERE name = $1"
RECREATED_MARKER = "-- Recreated by every upgrade"
"""A line of `SCHEMA`: functions and triggers follow, which replace those of an older version."""


def attached(url: sa.URL, replicas: Sequence[sa.URL]) -> ServerDatabase:
    """Return the database of a URL, with its replicas. Open nothing. Raise MaintenanceError for an unusable URL."""
    for each in (url, *replicas):
        try:
            connection_words(each)
        except sa.exc.ArgumentError as error:
            raise database_check.MaintenanceError(f"{shown(each)} cannot be used: {error}") from error
    return ServerDatabase(url, replicas)


EXPECTED: set[sa.URL] = set()
"""Databases that the parent process has checked before it forked."""


def expect(url: str) -> None:
    """Have forked processes serve a database also while it does not answer: a worker that cannot start would end the
    whole service, which would stay down when the server is back."""
    EXPECTED.add(sa.make_url(url))


@database_check.ensure_schema.register
def ensure_schema(database: ServerDatabase, *, is_served_by_others: bool = False) -> None:
    """Make the tables in an empty database. Raise MaintenanceError if another program owns the database, or it does not
    answer and is not expected later."""
    name = shown(database.url)
    try:
        identity = look_over(database, name)
    except database_check.MaintenanceError:
        database.close()
        raise
    except Fault as fault:
        if isinstance(fault, Unreachable) and database.url in EXPECTED:
            LOG.error("%s: %s; it is served once it does", name, reason(fault))
            return
        database.close()
        raise database_check.MaintenanceError(f"{name} cannot be used: {reason(fault)}") from fault
    except errors.ERRORS as error:
        database.close()
        raise database_check.MaintenanceError(f"{name} cannot be used: {errors.message(error)}") from error
    require_copies(database, identity)


REASONS = (
    (r"authentication failed|no password supplied", "the server refuses the user or the password"),
    (r'(database|role) "[^"]*" does not exist', "the server knows no such database or user"),
    (r"unsupported startup parameter", POOLER_REFUSED),
)
"""libpq's messages about a server that answers and refuses the connection; libpq has no codes for them."""


def reason(fault: Fault) -> str:
    """Return why a server cannot be used, for the log of a start: ours, or libpq's message, which holds no password."""
    said = str(fault.__cause__ or "") if isinstance(fault, Unreachable) else ""
    known = next((ours for pattern, ours in REASONS if re.search(pattern, said)), None)
    return known or (f"{fault} ({said.strip()})" if said else str(fault))


def look_over(database: ServerDatabase, name: str) -> str | None:
    """Recognise the tables, and make or migrate them. Returns what `learn` does.

    It reads first: a start must not wait for a long write. Only a start that finds no current tables takes the writer
    lock, and reads again: one start makes the tables, others wait."""
    with database.reading(seconds_max=database_check.START_SECONDS_MAX) as transaction:
        if recognise(transaction, name) == "current":
            return learn(database, transaction)
    with database.writing(database_check.START_SECONDS_MAX, database_check.START_SECONDS_MAX) as transaction:
        state = recognise(transaction, name)
        if state == "empty":
            make_tables(transaction)
        elif state == "older":
            migrate(transaction)
        return learn(database, transaction)


def learn(database: ServerDatabase, transaction: Transaction) -> str | None:
    """Advance the clock to the last line of the audit log. Returns the database's identity where there are replicas."""
    last = transaction.value("SELECT at FROM audit_log ORDER BY id DESC LIMIT 1")
    if last is not None:
        database.clock.advance(last)
    found: str | None = transaction.value(IDENTITY) if database.replicas is not None else None
    return found


def require_copies(database: ServerDatabase, identity: str | None) -> None:
    """Refuse a replica of another database; one that does not answer may come later."""
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


def recognise(transaction: Transaction, name: str) -> str:
    """Return `empty`, `older` or `ours`; MaintenanceError for anything else."""
    refuse_unsuited(transaction, name)
    refuse_hidden(transaction, name)
    tables = transaction.value("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")
    if not tables:
        return "empty"
    if transaction.value("SELECT to_regclass('facts')::text") is None:
        raise database_check.MaintenanceError(f"{name} is another program's database")
    version = transaction.value(VERSION_KEPT, (VERSION_FACT,))
    if version is None and transaction.value(VERSION_KEPT, (DEVELOPMENT_VERSION_FACT,)):
        raise database_check.MaintenanceError(f"{name} {EARLIER_VERSION}")
    if version is None:
        raise database_check.MaintenanceError(f"{name} is another program's database")
    if int(version) > schema_version():
        raise database_check.MaintenanceError(f"{name} was made by a later version (schema {version})")
    return "current" if int(version) == schema_version() else "older"


SUITED = """
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
       EXISTS (SELECT 1 FROM pg_collation WHERE collname = $1)
"""


def refuse_unsuited(transaction: Transaction, name: str) -> None:
    """Refuse a database that would fail some requests: without UTF-8 it cannot store all letters, without ICU it cannot
    fold their case."""
    version, encoding, has_unicode = transaction.one(SUITED, (UNICODE_COLLATION,))
    if int(version) < VERSION_MIN:
        raise database_check.MaintenanceError("PostgreSQL 15 or later is needed")
    if encoding != "UTF8":
        raise database_check.MaintenanceError(
            f"{name} is kept in {encoding}, and UTF8 is needed: createdb --encoding=UTF8 --template=template0"
        )
    if not has_unicode:
        raise database_check.MaintenanceError(
            f'{name} has no collation "{UNICODE_COLLATION}": a PostgreSQL that was built with ICU is needed'
        )


HIDDEN = """
SELECT relnamespace::regnamespace::text, current_schema() FROM pg_class
WHERE oid = to_regclass('client_manager_inspection_access')
  AND relnamespace::regnamespace::text IS DISTINCT FROM quote_ident(current_schema())
"""


def refuse_hidden(transaction: Transaction, name: str) -> None:
    """Refuse a database whose tables are in another schema than new ones would be made in: empty tables would hide
    them, also from the processes that serve the database already."""
    for there, here in transaction.all(HIDDEN):
        raise database_check.MaintenanceError(
            f"{name} has its tables in the schema {there}, and search_path begins with {here}:"
            f" ALTER ROLE … SET search_path = {there}"
        )


def make_tables(transaction: Transaction) -> None:
    """Make all tables or none."""
    assert isinstance(transaction, ServerTransaction)
    transaction.run_script(SCHEMA.read_text(encoding="utf-8"))
    transaction.run("INSERT INTO facts (name, value) VALUES ($1, $2)", (VERSION_FACT, str(schema_version())))


def migrate(transaction: Transaction) -> None:
    """Run the pending scripts, and recreate all functions and triggers, in the transaction under way."""
    assert isinstance(transaction, ServerTransaction)
    version = int(transaction.value(VERSION_KEPT, (VERSION_FACT,)))
    for migration in pending(version):
        if migration.postgresql:
            transaction.run_script(migration.postgresql)
    script = SCHEMA.read_text(encoding="utf-8")
    transaction.run_script(script[script.index(RECREATED_MARKER) :])
    transaction.run("UPDATE facts SET value = $2 WHERE name = $1", (VERSION_FACT, str(schema_version())))


def shown(url: sa.URL) -> str:
    return url.set(username=None, password=None, query={}).render_as_string()


@database_check.check.register
def check(database: ServerDatabase, scan: database_check.Scan = database_check.Scan.FULL) -> list[str]:
    """Return what is wrong with the database. The server checks its own pages."""
    try:
        with database.reading(seconds_max=database_check.CHECK_SECONDS_MAX) as transaction:
            problems = [*reckless(transaction), *unvalidated(transaction)]
            if scan is database_check.Scan.FULL:
                problems += ineffective_grants(transaction)
    except Fault as error:
        return [f"the database cannot be read: {error.message}"]
    return problems


def reckless(transaction: Transaction) -> list[str]:
    """Return settings of the server with which a power cut may lose committed rows."""
    rows = transaction.all(
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name"
    )
    return [f"{name} is off" for (name,) in rows]


def unvalidated(transaction: Transaction) -> list[str]:
    """Return constraints, triggers and indexes that are disabled or not valid. An interrupted REINDEX CONCURRENTLY
    leaves such an index, which each write updates."""
    rows = transaction.all(
        "SELECT conname FROM pg_constraint WHERE NOT convalidated"
        " AND connamespace = current_schema()::regnamespace"
        " UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE tgenabled = 'D' AND relnamespace = current_schema()::regnamespace"
        " UNION ALL SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
    return [f"{name} is switched off, or not valid" for (name,) in rows]


def ineffective_grants(transaction: Transaction) -> list[str]:
    """Return grants to users without the role of the table: they have no effect."""
    problems = []
    for table, grantee in database_check.GRANT_TABLES.items():
        role = "_".join(table.split("_")[:2])
        rows = transaction.all(
            f"SELECT g.{grantee}, count(*) FROM {table} g JOIN users u ON u.id = g.{grantee}"  # noqa: S608
            " WHERE u.role <> $1 GROUP BY 1 ORDER BY 1",
            (role,),
        )
        problems += [f"{table} holds {count} for user {user_id}, whose role is not {role}" for user_id, count in rows]
    return problems


@database_check.versions.register
def versions(database: ServerDatabase) -> dict[str, str]:
    """Return the versions of driver, server and schema."""
    with database.reading() as transaction:
        server = transaction.value("SELECT current_setting('server_version')")
        schema = transaction.value(VERSION_KEPT, (VERSION_FACT,))
    return {"driver": f"psycopg {psycopg.__version__}", "postgresql": server, "schema": str(schema)}


@database_copy.keep_transaction_open.register
def keep_transaction_open(transaction: ServerTransaction) -> None:
    """Let a source be idle while its rows are compared with the target's."""
    transaction.run("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
