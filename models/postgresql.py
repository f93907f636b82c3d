"""Make, recognise and check a PostgreSQL database. Loaded only where DATABASE_URL names one."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path

import psycopg
import sqlalchemy as sa

from models import copying
from models import upkeep
from models.faults import Fault
from models.migrations import EARLIER_VERSION
from models.migrations import pending
from models.migrations import schema_version
from models.server import ServerDatabase
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.constraints import Unreachable
from models.sql.spelling_postgresql import ANY_LANGUAGE
from models.standby import IDENTITY
from models.standby import AnotherDatabase
from models.transaction import Transaction

LOG = logging.getLogger("walkthrough")

SCHEMA = Path(__file__).resolve().parent / "sql" / "postgresql.sql"
VERSION_MIN = 150000
VERSION_FACT = "release_schema"
# Development versions counted to 12 under this name. The release counts from 1 under another one.
DEVELOPMENT_VERSION_FACT = "schema_version"
VERSION_KEPT = "SELECT value FROM facts WHERE name = $1"
MADE_ANEW = "-- What follows is made anew"
"""Before what of `SCHEMA` is no table: it stands over what was there."""


def attached(url: sa.URL, standbys: Sequence[sa.URL]) -> ServerDatabase:
    """The database of a URL, and its standbys. Nothing is opened yet; a URL that cannot be read is refused."""
    for each in (url, *standbys):
        try:
            postgresql.words_of(each)
        except sa.exc.ArgumentError as error:
            raise upkeep.RefusedFile(f"{shown(each)} cannot be used: {error}") from error
    return ServerDatabase(url, standbys)


EXPECTED: set[sa.URL] = set()
"""Databases that the process which forked this one has looked at, and means to serve."""


def expect(url: str) -> None:
    """Have processes that are forked from here serve a database also while it does not answer: a worker that could not
    begin would end the whole service, which nobody starts again when the server is back."""
    EXPECTED.add(sa.make_url(url))


@upkeep.ensure_schema.register
def ensure_schema(database: ServerDatabase, *, is_served_by_others: bool = False) -> None:
    """Make the tables in an empty database; refuse what is not ours. One that is expected need not answer."""
    name = shown(database.url)
    try:
        identity = look_over(database, name)
    except upkeep.RefusedFile:
        database.close()
        raise
    except Fault as fault:
        if isinstance(fault, Unreachable) and database.url in EXPECTED:
            LOG.error("%s: %s; it is served once it does", name, reason(fault))
            return
        database.close()
        raise upkeep.RefusedFile(f"{name} cannot be used: {reason(fault)}") from fault
    except postgresql.ERRORS as error:
        database.close()
        raise upkeep.RefusedFile(f"{name} cannot be used: {postgresql.message(error)}") from error
    know_standbys(database, identity)


REASONS = (
    (r"authentication failed|no password supplied", "the server refuses the user or the password"),
    (r'(database|role) "[^"]*" does not exist', "the server knows no such database or user"),
    (r"unsupported startup parameter", postgresql.NOT_TOLD),
)
"""What libpq says, which has no code for it, of a server that answers and lets nobody in."""


def reason(fault: Fault) -> str:
    """Why a server cannot be used, for whoever starts the service: requests are told that it does not answer. What we
    have no words for is told in libpq's, which hold no password."""
    said = str(fault.__cause__ or "") if isinstance(fault, Unreachable) else ""
    known = next((told for words, told in REASONS if re.search(words, said)), None)
    return known or (f"{fault} ({said.strip()})" if said else str(fault))


def look_over(database: ServerDatabase, name: str) -> str | None:
    """Look first: a start must not wait while somebody writes for long. Only who finds nothing takes the turn, and
    looks again: one start makes the tables, others wait. Returns what `learn` does."""
    with database.reading(seconds_max=upkeep.START_SECONDS_MAX) as transaction:
        if recognise(transaction, name) == "ours":
            return learn(database, transaction)
    with database.writing(upkeep.START_SECONDS_MAX, upkeep.START_SECONDS_MAX) as transaction:
        state = recognise(transaction, name)
        if state == "empty":
            make_tables(transaction)
        elif state == "older":
            migrate(transaction)
        return learn(database, transaction)


def learn(database: ServerDatabase, transaction: Transaction) -> str | None:
    """Let the clock go on from the last line of the trail; whose copies the standbys have to be, if there are any."""
    last = transaction.value("SELECT at FROM audit_log ORDER BY id DESC LIMIT 1")
    if last is not None:
        database.clock.advance(last)
    found: str | None = transaction.value(IDENTITY) if database.standbys is not None else None
    return found


def know_standbys(database: ServerDatabase, identity: str | None) -> None:
    """Refuse a standby of something else; one that does not answer may come later."""
    if database.standbys is None or identity is None:
        return
    try:
        database.standbys.know(identity)
    except AnotherDatabase as error:
        database.close()
        raise upkeep.RefusedFile(
            "DATABASE_READ_URL names a database that is no copy of DATABASE_URL's"
        ) from error
    except postgresql.NotTold as error:
        database.close()
        raise upkeep.RefusedFile(
            f"a database of DATABASE_READ_URL cannot be used: {error}"
        ) from error


def recognise(transaction: Transaction, name: str) -> str:
    """`empty`, `older` or `ours`; anything else is refused."""
    refuse_unsuited(transaction, name)
    refuse_hidden(transaction, name)
    tables = transaction.value("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")
    if not tables:
        return "empty"
    if transaction.value("SELECT to_regclass('facts')::text") is None:
        raise upkeep.RefusedFile(f"{name} is another program's database")
    version = transaction.value(VERSION_KEPT, (VERSION_FACT,))
    if version is None and transaction.value(VERSION_KEPT, (DEVELOPMENT_VERSION_FACT,)):
        raise upkeep.RefusedFile(f"{name} {EARLIER_VERSION}")
    if version is None:
        raise upkeep.RefusedFile(f"{name} is another program's database")
    if int(version) > schema_version():
        raise upkeep.RefusedFile(f"{name} was made by a later version (schema {version})")
    return "ours" if int(version) == schema_version() else "older"


SUITED = """
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
       EXISTS (SELECT 1 FROM pg_collation WHERE collname = $1)
"""


def refuse_unsuited(transaction: Transaction, name: str) -> None:
    """Refuse a database that would answer some requests and fail others: where texts are no Unicode, letters cannot be
    kept, or be compared whatever their case."""
    version, encoding, has_unicode = transaction.one(SUITED, (ANY_LANGUAGE,))
    if int(version) < VERSION_MIN:
        raise upkeep.RefusedFile("PostgreSQL 15 or later is needed")
    if encoding != "UTF8":
        raise upkeep.RefusedFile(
            f"{name} is kept in {encoding}, and UTF8 is needed: createdb --encoding=UTF8 --template=template0"
        )
    if not has_unicode:
        raise upkeep.RefusedFile(
            f'{name} has no collation "{ANY_LANGUAGE}": a PostgreSQL that was built with ICU is needed'
        )


HIDDEN = """
SELECT relnamespace::regnamespace::text, current_schema() FROM pg_class
WHERE oid = to_regclass('client_manager_inspection_access')
  AND relnamespace::regnamespace::text IS DISTINCT FROM quote_ident(current_schema())
"""


def refuse_hidden(transaction: Transaction, name: str) -> None:
    """Refuse a database whose tables are in another schema than new ones would be made in, as when its user was given
    one: empty ones would stand before them, and be served in their place, by those that serve it already, too."""
    for there, here in transaction.all(HIDDEN):
        raise upkeep.RefusedFile(
            f"{name} has its tables in the schema {there}, and search_path begins with {here}:"
            f" ALTER ROLE … SET search_path = {there}"
        )


def make_tables(transaction: Transaction) -> None:
    """Every statement at once: what fails leaves nothing."""
    assert isinstance(transaction, ServerTransaction)
    transaction.run_script(SCHEMA.read_text(encoding="utf-8"))
    transaction.run(
        "INSERT INTO facts (name, value) VALUES ($1, $2)", (VERSION_FACT, str(schema_version()))
    )


def migrate(transaction: Transaction) -> None:
    """Run the pending scripts, and recreate all functions and triggers, in the transaction under way."""
    assert isinstance(transaction, ServerTransaction)
    version = int(transaction.value(VERSION_KEPT, (VERSION_FACT,)))
    for migration in pending(version):
        if migration.postgresql:
            transaction.run_script(migration.postgresql)
    script = SCHEMA.read_text(encoding="utf-8")
    transaction.run_script(script[script.index(MADE_ANEW) :])
    transaction.run(
        "UPDATE facts SET value = $2 WHERE name = $1", (VERSION_FACT, str(schema_version()))
    )


def shown(url: sa.URL) -> str:
    return url.set(username=None, password=None, query={}).render_as_string()


@upkeep.check.register
def check(database: ServerDatabase, scan: upkeep.Scan = upkeep.Scan.FULL) -> list[str]:
    """What is wrong with the database; nothing, if it is sound. Its pages are the server's to check."""
    try:
        with database.reading(seconds_max=upkeep.CHECK_SECONDS_MAX) as transaction:
            problems = [*reckless(transaction), *unvalidated(transaction)]
            if scan is upkeep.Scan.FULL:
                problems += inert_grants(transaction)
    except Fault as error:
        return [f"the database cannot be read: {error.message}"]
    return problems


def reckless(transaction: Transaction) -> list[str]:
    """Settings of the server by which a power cut may take what was kept."""
    rows = transaction.all(
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')"
        " AND setting = 'off' ORDER BY name"
    )
    return [f"{name} is off" for (name,) in rows]


def unvalidated(transaction: Transaction) -> list[str]:
    """Constraints, triggers and indexes that are there and do not hold: a REINDEX CONCURRENTLY that was interrupted
    leaves such an index, to be kept up with at each write."""
    rows = transaction.all(
        "SELECT conname FROM pg_constraint WHERE NOT convalidated"
        " AND connamespace = current_schema()::regnamespace"
        " UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE tgenabled = 'D' AND relnamespace = current_schema()::regnamespace"
        " UNION ALL SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
    return [f"{name} is switched off, or not valid" for (name,) in rows]


def inert_grants(transaction: Transaction) -> list[str]:
    """Grants to somebody who has not, or no more, the role of the table: they open nothing."""
    problems = []
    for table, grantee in upkeep.GRANT_TABLES.items():
        role = "_".join(table.split("_")[:2])
        rows = transaction.all(
            f"SELECT g.{grantee}, count(*) FROM {table} g JOIN users u ON u.id = g.{grantee}"  # noqa: S608
            " WHERE u.role <> $1 GROUP BY 1 ORDER BY 1",
            (role,),
        )
        problems += [
            f"{table} holds {count} for user {user_id}, who is no {role}" for user_id, count in rows
        ]
    return problems


@upkeep.versions.register
def versions(database: ServerDatabase) -> dict[str, str]:
    """What is in use: driver, server, schema."""
    with database.reading() as transaction:
        server = transaction.value("SELECT current_setting('server_version')")
        schema = transaction.value(VERSION_KEPT, (VERSION_FACT,))
    return {"driver": f"psycopg {psycopg.__version__}", "postgresql": server, "schema": str(schema)}


@copying.wait_for_the_other.register
def wait_for_the_other(transaction: ServerTransaction) -> None:
    """While a table is read back from its target, a source says nothing; IDLE_MILLISECONDS_MAX would end it."""
    transaction.run_script("SET LOCAL idle_in_transaction_session_timeout = 0")
