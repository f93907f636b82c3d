"""Direct access to an instance's rows by SQL, on SQLite and on PostgreSQL.

Tests of the rule write rows by SQL, so they do not depend on the service's import.
"""

import json
import pathlib
import re
from abc import ABC, abstractmethod
from typing import Any

from engine.query.catalog import catalog
from engine.storage.sqlite import driver
from models.types import BOOLEAN, JSON, canonical_json
from tests.support import databases, oracle
from tests.support.columns import COLUMNS, MODELLED_TABLES

NOW = "2025-06-15T12:00:00+00:00"
LAST_ID = 100_000  # the last assigned id in every world
SEQUENCED_TABLES = (
    "clients", "inspectors", "buildings", "inspections", "reports_lead", "calibration_checks", "xrf_instruments",
    "xrf_limits", "lead_standards", "schedules", "deadline_rules", "findings", "finding_events", "issued_reports",
    "notices",
)  # fmt: skip
SIGN_IN_TABLES = ("attempts", "origins", "sessions", "tokens", "credentials")
EMPTIED_TABLES = ("files", "visit_closings", *SIGN_IN_TABLES)
"""The tables without rows in a loaded world."""


class DirectDatabaseAccess(ABC):
    """A separate session with the served database."""

    connection: Any
    constraint_errors: type[Exception]
    """The exceptions for violations of the schema."""

    @abstractmethod
    def sql(self, statement: str, values: object = ()) -> list[tuple]:
        """Run a statement and return its rows. Placeholders are `?`, or `:name` with a dictionary."""

    @abstractmethod
    def load(self, rows: dict[str, list[dict]]) -> None:
        """Replace all rows, and clear the audit log and sign-in tables. The first user is a super admin."""

    @abstractmethod
    def rows(self, table: str) -> list[dict]:
        """Return a resource's stored rows in key order."""

    @abstractmethod
    def triggers(self) -> dict[str, str]:
        """Return the definitions of the schema's triggers by name."""

    @abstractmethod
    def drop_trigger(self, name: str) -> None: ...

    @abstractmethod
    def act_as(self, user_id: str | None) -> None:
        """Set the actor of the following statements, which triggers read."""

    @abstractmethod
    def compact(self, table: str) -> None:
        """Remove the room of deleted rows. On a server a row that changes afterwards comes last."""

    @abstractmethod
    def plant(self, table: str, row: dict) -> None:
        """Insert a row without triggers, as a file of an older version may contain it."""

    def close(self) -> None:
        self.connection.close()

    def world(self) -> dict[str, list[dict]]:
        """Return every row of every resource."""
        return {table: self.rows(table) for table in MODELLED_TABLES}


def open_direct_access(file: pathlib.Path) -> DirectDatabaseAccess:
    """Return direct access to the database of a file path."""
    return SqliteAccess(file) if databases.SERVER is None else PostgresqlAccess(file)


class SqliteAccess(DirectDatabaseAccess):
    """A connection to a file, without fsync."""

    constraint_errors = driver.IntegrityError

    def __init__(self, file: pathlib.Path) -> None:
        self.connection = driver.connect(file, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")

    def sql(self, statement: str, values: Any = ()) -> list[tuple]:
        return self.connection.execute(statement, values).fetchall()

    def load(self, rows: dict[str, list[dict]]) -> None:
        """Replace all rows. The first user is updated instead of replaced: a super admin must always exist."""
        root = rows["users"][0]
        with self.connection:
            self.sql("BEGIN IMMEDIATE")
            statements = self.clear_audit_log()
            self.sql(f"INSERT OR IGNORE INTO users {columns_and_placeholders(root)}", root)
            self.sql("UPDATE users SET role = 'super_admin', client_id = NULL, email = id WHERE id = :id", root)
            for table in reversed(MODELLED_TABLES):
                others = " WHERE id <> :id" if table == "users" else ""
                self.sql(f"DELETE FROM {table}{others}", {"id": root["id"]})
            for table in (*EMPTIED_TABLES, "sqlite_sequence"):
                self.sql(f"DELETE FROM {table}")
            changes = ", ".join(f"{column} = :{column}" for column in COLUMNS["users"])
            self.sql(f"UPDATE users SET {changes} WHERE id = :id", root)
            for table in MODELLED_TABLES:
                inserted = rows[table][1:] if table == "users" else rows[table]
                if inserted:
                    self.connection.executemany(
                        f"INSERT INTO {table} {columns_and_placeholders(inserted[0])}", inserted
                    )
            for table in SEQUENCED_TABLES:
                self.sql("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                self.sql("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, LAST_ID))
            for statement in statements:
                self.sql(statement)
        assert not self.sql("PRAGMA foreign_key_check")

    def clear_audit_log(self) -> list[str]:
        """Clear the audit log and stop it. Return the statements that start it again."""
        triggers_kept = self.sql("SELECT sql FROM sqlite_schema WHERE name = 'audit_log_no_delete'")
        if triggers_kept:  # a mutant may have dropped it
            self.drop_trigger("audit_log_no_delete")
        self.sql("DELETE FROM audit_log")
        self.sql("DELETE FROM audit_context")
        begin = f"INSERT INTO audit_context (one, at) VALUES (1, '{NOW}')"
        triggers_kept = [sql for (sql,) in triggers_kept]
        return [*triggers_kept, begin, f"INSERT INTO sqlite_sequence VALUES ('audit_log', {LAST_ID})"]

    def rows(self, table: str) -> list[dict]:
        columns = COLUMNS[table]
        found = self.connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order(table)}")
        kinds = catalog().relations[table].attributes
        flags = [name for name in columns if kinds[name].type is BOOLEAN]
        rows = [dict(zip(columns, row, strict=True)) for row in found]
        return [{**row, **{name: bool(row[name]) for name in flags}} for row in rows]

    def triggers(self) -> dict[str, str]:
        return dict(self.sql("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))

    def drop_trigger(self, name: str) -> None:
        self.sql(f"DROP TRIGGER {name}")

    def act_as(self, user_id: str | None) -> None:
        self.sql("UPDATE audit_context SET actor_id = ?", (user_id,))

    def compact(self, table: str) -> None:
        """Do nothing: a file keeps its rows in key order."""

    def plant(self, table: str, row: dict) -> None:
        found = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?"
        triggers_kept = self.sql(found, (table,))
        for name, _ in triggers_kept:
            self.drop_trigger(name)
        self.sql(f"INSERT INTO {table} {columns_and_placeholders(row)}", row)
        for _, sql in triggers_kept:
            self.sql(sql)


class PostgresqlAccess(DirectDatabaseAccess):
    """A session with a server. While it loads, the replica role disables triggers and foreign keys."""

    def __init__(self, file: pathlib.Path) -> None:
        import psycopg

        databases.url(file)
        self.constraint_errors = psycopg.errors.IntegrityError
        self.connection = databases.connect_to(databases.DATABASE_NAMES[file])
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute(f"SET walkthrough.at = '{NOW}'")  # of the entries of the audit log
        self.trigger_tables: dict[str, str] = {}
        """The table of each trigger, which DROP TRIGGER needs."""

    def sql(self, statement: str, values: Any = ()) -> list[tuple]:
        converted = re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement.replace("?", "%s"))
        cursor = self.connection.execute(converted, values or None)
        return cursor.fetchall() if cursor.description is not None else []

    def load(self, rows: dict[str, list[dict]]) -> None:
        with self.connection.transaction():
            self.sql("SET LOCAL session_replication_role = replica")
            for table in (*EMPTIED_TABLES, "audit_log", *MODELLED_TABLES):
                self.sql(f"DELETE FROM {table}")
            for table in MODELLED_TABLES:
                self.sql(
                    f"INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, ?)",
                    (json.dumps([with_parsed_json(table, row) for row in rows[table]]),),
                )
            for table in (*SEQUENCED_TABLES, "audit_log"):
                self.sql("SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", (table, LAST_ID))

    def rows(self, table: str) -> list[dict]:
        return self.world_of((table,))[table]

    def world(self) -> dict[str, list[dict]]:
        return self.world_of(MODELLED_TABLES)

    def world_of(self, tables: tuple[str, ...]) -> dict[str, list[dict]]:
        """Return the rows of the tables in one statement: tests call this after each write."""
        every = ", ".join(
            f"(SELECT coalesce(json_agg(r), '[]') FROM"
            f" (SELECT {', '.join(COLUMNS[table])} FROM {table} ORDER BY {order(table)}) AS r)"
            for table in tables
        )
        [found] = self.sql(f"SELECT {every}")
        parsed = zip(tables, map(json.loads, found), strict=True)
        return {table: [with_json_as_text(table, row) for row in rows] for table, rows in parsed}

    def triggers(self) -> dict[str, str]:
        found = self.sql(
            "SELECT tgname, pg_get_triggerdef(oid), tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
        )
        self.trigger_tables.update((name, table) for name, _, table in found)
        assert len({name for name, *_ in found}) == len(found)
        return {name: sql for name, sql, _ in found}

    def drop_trigger(self, name: str) -> None:
        self.sql(f"DROP TRIGGER {name} ON {self.trigger_tables[name]}")

    def act_as(self, user_id: str | None) -> None:
        self.sql("SELECT set_config('walkthrough.actor', ?, false)", (user_id or "",))

    def compact(self, table: str) -> None:
        self.sql(f"VACUUM FULL {table}")

    def plant(self, table: str, row: dict) -> None:
        with self.connection.transaction():
            self.sql("SET LOCAL session_replication_role = replica")
            self.sql(f"INSERT INTO {table} {columns_and_placeholders(row)}", row)


def columns_and_placeholders(row: dict) -> str:
    """Return the column list and the placeholders of an INSERT."""
    return f"({', '.join(row)}) VALUES ({', '.join(':' + column for column in row)})"


def json_columns(table: str) -> list[str]:
    return [name for name, each in catalog().relations[table].attributes.items() if each.type is JSON]


def with_parsed_json(table: str, row: dict) -> dict:
    return row | {name: json.loads(row[name]) for name in json_columns(table) if row[name] is not None}


def with_json_as_text(table: str, row: dict) -> dict:
    return row | {name: canonical_json(row[name]) for name in json_columns(table) if row[name] is not None}


def order(table: str) -> str:
    return ", ".join(oracle.PRIMARY_KEYS.get(table, ("id",)))
