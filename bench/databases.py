"""The databases of one size: each is loaded once, and measured on copies.

The loaded databases are compacted by their own means (`flask compact`, VACUUM). A digest of the code that their rows
depend on is beside them; a different digest loads them anew. Measurements use copies: writes leave dead rows, larger
indexes and audit entries behind, which would slow down later rounds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.dataset import COLUMNS, Callers, Dataset, choose_callers, generate
from bench.measure import log
from bench.servers import POSTGRESQL, PROJECT, Servers, file_url, service_environ
from engine.storage.sqlite import driver

HERE: Final = Path(__file__).resolve().parent
LOADED: Final = "_loaded"  # the suffix of databases that are only copied
SOURCES: Final = (
    *(f"bench/{name}" for name in ("dataset.py", "schema.pg.sql", "policies.pg.sql")),
    "schema.sql", "postgres/schema.sql", "engine/storage/file_copies.py",
    "engine/schema/migrations/__init__.py",  # an older file would be migrated at its start
)  # fmt: skip
"""The files that the loaded databases depend on."""

DERIVED_CLIENT: Final = {"inspections": "buildings", "reports_lead": "inspections"}
"""The parents, named in the second column, whose client a row has."""

PRE_REQUEST: Final = "rule.begin"
"""The function of shared_tables.pg.sql that PostgREST calls in each request."""


@dataclass(frozen=True, slots=True)
class Psql:
    """Runs SQL in the cluster behind a socket, by the psql client."""

    sockets: Path

    def run(self, database: str, sql: str) -> str:
        words = [
            str(POSTGRESQL / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
            "-h", str(self.sockets), "-U", "postgres", "-d", database,
        ]  # fmt: skip
        done = subprocess.run(
            words,
            input=f"set client_min_messages = error;\n{sql}",
            cwd=HERE,  # of the files that the SQL includes
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        return done.stdout.strip()

    def clone(self, original: str, name: str) -> None:
        """Make a database anew from another one. No server may have them open."""
        self.run("postgres", f"drop database if exists {name}")
        self.run("postgres", f"create database {name} template {original} strategy file_copy")


@dataclass(frozen=True, slots=True)
class Databases:
    """One size: Walkthrough's file, and names of databases on PostgreSQL."""

    size: int
    file: Path
    callers: Callers

    @property
    def copy(self) -> str:
        """Walkthrough's database on PostgreSQL."""
        return f"walkthrough_{self.size}"

    @property
    def postgrest(self) -> str:
        """PostgREST's database: the same rows in the tables of schema.pg.sql."""
        return f"postgrest_{self.size}"

    @property
    def shared(self) -> str:
        """Walkthrough's tables, served by PostgREST."""
        return f"shared_{self.size}"

    @property
    def loaded_file(self) -> Path:
        return self.file.with_stem(f"{self.file.stem}{LOADED}")

    def renew(self, psql: Psql) -> None:
        """Copy the loaded databases over the measured ones. No server may have them open."""
        for suffix in ("", "-wal", "-shm", ".lock", ".serving"):
            self.file.with_name(f"{self.file.name}{suffix}").unlink(missing_ok=True)
        shutil.copy(self.loaded_file, self.file)
        for original, name in ((self.copy, self.copy), (self.postgrest, self.postgrest), (self.copy, self.shared)):
            psql.clone(f"{original}{LOADED}", name)
        psql.run(self.shared, "\\i shared_tables.pg.sql")
        os.sync()  # no copy is written back during a measurement

    def load(self, psql: Psql, servers: Servers, dataset: Dataset) -> None:
        """Make the loaded databases: the file, its copy on PostgreSQL, and PostgREST's tables from the copy."""
        fill_file(self.loaded_file, dataset)
        run_command(file_url(self.loaded_file), "compact")
        copy, postgrest = f"{self.copy}{LOADED}", f"{self.postgrest}{LOADED}"
        psql.run("postgres", f"drop database if exists {copy};\ncreate database {copy};")
        run_command(file_url(self.loaded_file), "copy", "--to", servers.url(copy))
        psql.clone(copy, postgrest)
        psql.run(postgrest, "\\i schema.pg.sql\n\\i policies.pg.sql")
        for name in (copy, postgrest):
            psql.run(name, "vacuum (freeze, analyze)")
            psql.run(name, "checkpoint")


def ensure_databases(cache: Path, psql: Psql, servers: Servers, size: int) -> Databases:
    """Return the measured databases of that many inspections; load them if they are missing."""
    home = cache / f"sqlite-{size}"
    mark = home / "digest"
    dataset = generate(size)
    databases = Databases(size, home / "walkthrough.db", choose_callers(dataset))
    digest = hashlib.sha256(b"".join((PROJECT / name).read_bytes() for name in SOURCES)).hexdigest()
    if not (mark.exists() and mark.read_text() == digest):
        log(f"loading {size:,} inspections")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        databases.load(psql, servers, dataset)
        mark.write_text(digest)
    databases.renew(psql)
    return databases


def fill_file(file: Path, dataset: Dataset) -> None:
    """Make Walkthrough's tables, then insert every row in one transaction."""
    run_command(file_url(file), "keys")  # any command makes the tables
    with closing(driver.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # after a power cut the file is loaded anew
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("BEGIN IMMEDIATE")
        # As an import does: without a context the triggers write no audit entries.
        (context,) = connection.execute("SELECT at FROM audit_context").fetchall()
        connection.execute("DELETE FROM audit_context")
        for table, columns in COLUMNS.items():
            values = ", ".join(f"?{number}" for number in range(1, len(columns) + 1))
            if table in DERIVED_CLIENT:
                columns = (*columns, "client_id")
                values += f", (SELECT client_id FROM {DERIVED_CLIENT[table]} WHERE id = ?2)"  # noqa: S608
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608
            connection.executemany(insert, dataset.rows(table))
        connection.execute("INSERT INTO audit_context (one, at) VALUES (1, ?)", context)
        connection.execute("COMMIT")
        assert connection.execute("PRAGMA foreign_key_check").fetchone() is None
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def run_command(url: str, *words: str) -> None:
    """Run one of Walkthrough's commands on a database that no server has open."""
    command = [sys.executable, "-m", "flask", "--app", "app", *words]
    environ = {**os.environ, **service_environ(url, port=0)}
    subprocess.run(command, cwd=PROJECT, env=environ, check=True, stdout=subprocess.DEVNULL)
