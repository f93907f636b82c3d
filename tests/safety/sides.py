"""Sides: the way to a site's rows that does not lead through the service, on a file and on a server.

The rows are written by SQL and not by the service: a test of the rule must not rest on an import.
"""

import json
import pathlib
import re
from abc import ABC, abstractmethod
from typing import Any

from engine.storage.sqlite import driver
from tests.conftest import RESOURCES
from tests.support import databases, oracle
from tests.support.columns import COLUMNS

NOW = "2025-06-15T12:00:00+00:00"
SEQUENCE = 100_000  # the last id handed out, in every world, whatever rows it holds
SEQUENCED = ("clients", "inspectors", "buildings", "inspections", "reports_lead")
SIGN_IN = ("attempts", "origins", "sessions", "devices", "credentials")


class Side(ABC):
    """A session of one's own with a database that is served."""

    connection: Any
    refusals: type[Exception]
    """What it raises where the schema itself refuses."""

    @abstractmethod
    def sql(self, statement: str, values: object = ()) -> list[tuple]:
        """Run a statement; its places are `?`, or `:name` for those of a dictionary."""

    @abstractmethod
    def load(self, rows: dict[str, list[dict]]) -> None:
        """Make these the only rows, and the trail and the sign-in empty; the first user is a super admin."""

    @abstractmethod
    def rows(self, table: str) -> list[dict]:
        """A resource's rows as they are stored, in the order of its keys."""

    @abstractmethod
    def triggers(self) -> dict[str, str]:
        """The schema's triggers, and how each is made."""

    @abstractmethod
    def drop_trigger(self, name: str) -> None: ...

    @abstractmethod
    def plant(self, table: str, row: dict) -> None:
        """Insert a row past all triggers, as an older version's file may hold it."""

    def close(self) -> None:
        self.connection.close()

    def world(self) -> dict[str, list[dict]]:
        """Every row of every resource."""
        return {table: self.rows(table) for table in RESOURCES}


def beside(file: pathlib.Path) -> Side:
    """A side of the database that a file stands for."""
    return FileSide(file) if databases.SERVER is None else ServerSide(file)


class FileSide(Side):
    """A connection to a file; what it writes need not outlive a power cut."""

    refusals = driver.IntegrityError

    def __init__(self, file: pathlib.Path) -> None:
        self.connection = driver.connect(file, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")

    def sql(self, statement: str, values: Any = ()) -> list[tuple]:
        return self.connection.execute(statement, values).fetchall()

    def load(self, rows: dict[str, list[dict]]) -> None:
        """The first user is changed rather than made, since a super admin must always be left."""
        root = rows["users"][0]
        with self.connection:
            self.sql("BEGIN IMMEDIATE")
            trail = self.forget_trail()
            self.sql(f"INSERT OR IGNORE INTO users {named(root)}", root)
            self.sql("UPDATE users SET role = 'super_admin', client_id = NULL, email = id WHERE id = :id", root)
            for table in reversed(RESOURCES):
                others = " WHERE id <> :id" if table == "users" else ""
                self.sql(f"DELETE FROM {table}{others}", {"id": root["id"]})
            for table in (*SIGN_IN, "sqlite_sequence"):
                self.sql(f"DELETE FROM {table}")
            changes = ", ".join(f"{column} = :{column}" for column in COLUMNS["users"])
            self.sql(f"UPDATE users SET {changes} WHERE id = :id", root)
            for table in RESOURCES:
                made = rows[table][1:] if table == "users" else rows[table]
                if made:
                    self.connection.executemany(f"INSERT INTO {table} {named(made[0])}", made)
            for table in SEQUENCED:
                self.sql("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                self.sql("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, SEQUENCE))
            for statement in trail:
                self.sql(statement)
        assert not self.sql("PRAGMA foreign_key_check")

    def forget_trail(self) -> list[str]:
        """Empty the audit trail, which lets nobody, and stop it; what sets it going again."""
        kept = self.sql("SELECT sql FROM sqlite_schema WHERE name = 'audit_log_no_delete'")
        if kept:  # a mutant may lack it
            self.drop_trigger("audit_log_no_delete")
        self.sql("DELETE FROM audit_log")
        self.sql("DELETE FROM audit_context")
        begin = f"INSERT INTO audit_context (one, at) VALUES (1, '{NOW}')"
        kept = [sql for (sql,) in kept]
        return [*kept, begin, f"INSERT INTO sqlite_sequence VALUES ('audit_log', {SEQUENCE})"]

    def rows(self, table: str) -> list[dict]:
        columns = COLUMNS[table]
        found = self.connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order(table)}")
        return [dict(zip(columns, row, strict=True)) for row in found]

    def triggers(self) -> dict[str, str]:
        return dict(self.sql("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))

    def drop_trigger(self, name: str) -> None:
        self.sql(f"DROP TRIGGER {name}")

    def plant(self, table: str, row: dict) -> None:
        found = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?"
        kept = self.sql(found, (table,))
        for name, _ in kept:
            self.drop_trigger(name)
        self.sql(f"INSERT INTO {table} {named(row)}", row)
        for _, sql in kept:
            self.sql(sql)


class ServerSide(Side):
    """A session with a server. As a replica's, it fires no triggers and asks for no keys while it loads."""

    def __init__(self, file: pathlib.Path) -> None:
        import psycopg

        databases.url(file)
        self.refusals = psycopg.errors.IntegrityError
        self.connection = databases.connect_to(databases.DATABASE_NAMES[file])
        self.connection.execute("SET TimeZone = 'UTC'")
        self.made: dict[str, str] = {}
        """Which trigger is of which table: there its name is its own, here its table's."""

    def sql(self, statement: str, values: Any = ()) -> list[tuple]:
        spelled = re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement.replace("?", "%s"))
        cursor = self.connection.execute(spelled, values or None)
        return cursor.fetchall() if cursor.description is not None else []

    def load(self, rows: dict[str, list[dict]]) -> None:
        with self.connection.transaction():
            self.sql("SET LOCAL session_replication_role = replica")
            for table in (*SIGN_IN, "audit_log", *RESOURCES):
                self.sql(f"DELETE FROM {table}")
            for table in RESOURCES:
                self.sql(
                    f"INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, ?)",
                    (json.dumps(rows[table]),),
                )
            for table in (*SEQUENCED, "audit_log"):
                self.sql("SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", (table, SEQUENCE))

    def rows(self, table: str) -> list[dict]:
        return self.world_of((table,))[table]

    def world(self) -> dict[str, list[dict]]:
        return self.world_of(RESOURCES)

    def world_of(self, tables: tuple[str, ...]) -> dict[str, list[dict]]:
        """In one trip, since it is asked for after each write."""
        every = ", ".join(
            f"(SELECT coalesce(json_agg(r), '[]') FROM"
            f" (SELECT {', '.join(COLUMNS[table])} FROM {table} ORDER BY {order(table)}) AS r)"
            for table in tables
        )
        [found] = self.sql(f"SELECT {every}")
        return {table: json.loads(rows) for table, rows in zip(tables, found, strict=True)}

    def triggers(self) -> dict[str, str]:
        found = self.sql(
            "SELECT tgname, pg_get_triggerdef(oid), tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
        )
        self.made.update((name, table) for name, _, table in found)
        assert len({name for name, *_ in found}) == len(found)
        return {name: sql for name, sql, _ in found}

    def drop_trigger(self, name: str) -> None:
        self.sql(f"DROP TRIGGER {name} ON {self.made[name]}")

    def plant(self, table: str, row: dict) -> None:
        with self.connection.transaction():
            self.sql("SET LOCAL session_replication_role = replica")
            self.sql(f"INSERT INTO {table} {named(row)}", row)


def named(row: dict) -> str:
    """The columns of an INSERT and a place for each."""
    return f"({', '.join(row)}) VALUES ({', '.join(':' + column for column in row)})"


def order(table: str) -> str:
    return ", ".join(oracle.KEYS.get(table, ("id",)))
