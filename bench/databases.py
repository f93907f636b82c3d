"""The databases of one size: each is loaded once, and measured on copies.

A loaded database is compacted by its own means (`flask compact`, VACUUM). It carries a digest of the code that its
rows depend on; a different digest loads it anew. Measurements use copies: writes leave dead rows, larger indexes and
audit entries behind, which would slow down later rounds.
"""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.callers import Callers, choose_callers, load_callers, save_callers
from bench.dataset import COLUMNS, Dataset, Row, generate
from bench.pocketbase.store import fill_directory
from bench.servers import PROJECT, file_url, service_environ
from engine.storage.sqlite import driver

HERE: Final = Path(__file__).resolve().parent
LOADED: Final = "_loaded"  # the suffix of databases that are only copied
MIGRATIONS: Final = "../engine/schema/migrations/__init__.py"  # an older file would be migrated at its start
SQL_FILES: Final = ("schema.pg.sql", "policies.pg.sql")
SEQUENCED: Final = ("clients", "inspectors", "buildings", "inspections", "reports_lead")
ROLES: Final = """
do $$ begin
    if not exists (select from pg_roles where rolname = 'authenticator') then
        create role anon nologin; create role super_admin nologin;
        create role client_admin nologin; create role client_manager nologin;
        create role authenticator noinherit login;
        grant anon, super_admin, client_admin, client_manager to authenticator;
    end if;
end $$;
"""


@dataclass(frozen=True, slots=True)
class Databases:
    """One size: Walkthrough's file, its copy on PostgreSQL, PostgREST's database, PocketBase's directory if any."""

    size: int
    file: Path
    copy: str
    database: str
    callers: Callers
    pocketbase: Path | None = None

    def renew(self, psql: Psql) -> None:
        """Copy the loaded databases over the measured ones. No server may have them open."""
        for suffix in ("", "-wal", "-shm", ".lock", ".serving"):
            self.file.with_name(f"{self.file.name}{suffix}").unlink(missing_ok=True)
        shutil.copy(loaded(self.file), self.file)
        for name in (self.copy, self.database):
            clone(psql, name, name)
        if self.pocketbase is not None:
            shutil.rmtree(self.pocketbase, ignore_errors=True)
            shutil.copytree(loaded(self.pocketbase), self.pocketbase)
        os.sync()  # no copy is written back during a measurement


def loaded(path: Path) -> Path:
    """Return the path of the loaded original of a file or directory."""
    return path.with_stem(f"{path.stem}{LOADED}")


def clone(psql: Psql, original: str, name: str) -> None:
    """Make a database anew from a loaded one. No server may have it open."""
    psql.run("postgres", f"drop database if exists {name}")
    template = f"template {original}{LOADED} strategy file_copy"
    psql.run("postgres", f"create database {name} {template}")


class Psql:
    """Runs SQL in the cluster behind a socket, by the psql client."""

    def __init__(self, programs: Path, sockets: Path) -> None:
        self.words = [
            str(programs / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
            "-h", str(sockets), "-U", "postgres", "-d",
        ]  # fmt: skip

    def run(self, database: str, sql: str) -> str:
        done = subprocess.run(
            [*self.words, database],
            input=f"set client_min_messages = error;\n{sql}",
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        return done.stdout.strip()

    def copy(self, database: str, table: str, columns: Iterable[str], rows: Iterator[Row]) -> None:
        command = f"copy api.{table} ({', '.join(columns)}) from stdin (format csv)"
        words = [*self.words, database, "-c", command]
        with subprocess.Popen(words, stdin=subprocess.PIPE, encoding="utf-8") as process:
            assert process.stdin is not None
            csv.writer(process.stdin).writerows(rows)
            process.stdin.close()
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, words)


def ensure_file(cache: Path, size: int) -> tuple[Path, Callers]:
    """Return Walkthrough's file of that many inspections, and its callers; load the file if it is missing."""
    home = cache / f"sqlite-{size}"
    file, mark, saved = home / "walkthrough.db", home / "digest", home / "callers.json"
    expected = digest("dataset.py", "callers.py", "../schema.sql", MIGRATIONS, "../engine/storage/file_copies.py")
    exists = mark.exists() and saved.exists() and loaded(file).exists()
    if not (exists and mark.read_text() == expected):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        log(f"loading {size:,} inspections into SQLite")
        dataset = generate(size)
        fill_file(loaded(file), dataset)
        run_command(file_url(loaded(file)), "compact")
        save_callers(choose_callers(dataset), saved)
        mark.write_text(expected)
    return file, load_callers(saved)


def ensure_pocketbase(program: Path, cache: Path, size: int) -> Path:
    """Return PocketBase's data directory of the same rows; fill it if it is missing."""
    home = cache / f"pocketbase-{size}"
    mark = home / "digest"
    sources = ("dialect.py", "store.py", "pb_migrations/1_collections.js")
    expected = digest("dataset.py", *(f"pocketbase/{name}" for name in sources))
    if not (mark.exists() and mark.read_text() == expected):
        mark.unlink(missing_ok=True)
        log(f"loading {size:,} inspections into PocketBase")
        fill_directory(program, loaded(home / "data"), generate(size))
        mark.write_text(expected)
    return home / "data"


def ensure_postgrest_database(psql: Psql, size: int) -> str:
    """Return the name of PostgREST's database of the same rows; load it if it is missing."""
    name = f"walkthrough_{size}"
    database = f"{name}{LOADED}"
    expected = digest("dataset.py", *SQL_FILES)
    if has_digest(psql, database, expected):
        return name
    log(f"loading {size:,} inspections into PostgreSQL")
    psql.run("postgres", f"drop database if exists {database};\n{ROLES}\ncreate database {database};")
    for path in SQL_FILES:
        psql.run(database, (HERE / path).read_text(encoding="utf-8"))
    dataset = generate(size)
    for table, columns in COLUMNS.items():
        psql.copy(database, table, columns, dataset.rows(table))
    for table in SEQUENCED:
        sequence = f"pg_get_serial_sequence('api.{table}', 'id')"
        psql.run(database, f"select setval({sequence}, max(id)) from api.{table}")  # noqa: S608
    psql.run(database, "vacuum (freeze, analyze)")
    psql.run(database, "checkpoint")
    psql.run("postgres", f"comment on database {database} is '{expected}'")
    return name


def ensure_copy(psql: Psql, size: int, file: Path, url: Callable[[str], str]) -> str:
    """Return the name of Walkthrough's database on PostgreSQL; fill it by `flask copy` if it is missing."""
    name = f"walkthrough_copy_{size}"
    database = f"{name}{LOADED}"
    sources = ("../schema.sql", "../engine/postgres/schema.sql", MIGRATIONS)
    expected = digest("dataset.py", "callers.py", *sources)
    if has_digest(psql, database, expected):
        return name
    log(f"copying {size:,} inspections to PostgreSQL")
    psql.run("postgres", f"drop database if exists {database};\ncreate database {database};")
    run_command(file_url(loaded(file)), "copy", "--to", url(database))
    psql.run(database, "vacuum (freeze, analyze)")
    psql.run(database, "checkpoint")
    psql.run("postgres", f"comment on database {database} is '{expected}'")
    return name


def has_digest(psql: Psql, database: str, expected: str) -> bool:
    """Return whether a database exists and its comment is the expected digest."""
    comments = "select datname, shobj_description(oid, 'pg_database') from pg_database"
    return f"{database}|{expected}" in psql.run("postgres", comments).splitlines()


def fill_file(file: Path, dataset: Dataset) -> None:
    """Make Walkthrough's tables, then insert every row in one transaction."""
    make_file(file)
    clients = dict(enumerate(dataset.owners, 1))
    with closing(driver.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # after a power cut the file is loaded anew
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("BEGIN IMMEDIATE")
        # As an import does: without a context the triggers write no audit entries.
        (context,) = connection.execute("SELECT at FROM audit_context").fetchall()
        connection.execute("DELETE FROM audit_context")
        owners: dict[int, int] = {}
        for table, columns in COLUMNS.items():
            rows: Iterator[Row] = dataset.rows(table)
            if table == "inspections":
                columns = (*columns, "client_id")
                rows = with_clients(rows, clients, owners)
            elif table == "reports_lead":
                columns = (*columns, "client_id")
                rows = ((*row, owners[int(str(row[1]))]) for row in rows)
            places = ", ".join("?" * len(columns))
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608
            connection.executemany(insert, rows)
        connection.execute("INSERT INTO audit_context (one, at) VALUES (1, ?)", context)
        connection.execute("COMMIT")
        assert connection.execute("PRAGMA foreign_key_check").fetchone() is None
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def run_command(url: str, *words: str) -> None:
    """Run one of Walkthrough's commands on a database that no server has open."""
    command = [sys.executable, "-m", "flask", "--app", "app", *words]
    environ = {**os.environ, **service_environ(url, port=0)}
    subprocess.run(command, cwd=PROJECT, env=environ, check=True, stdout=subprocess.DEVNULL)


def make_file(file: Path) -> None:
    """Make the tables in a process of its own, which closes its connections at its end."""
    words = [sys.executable, "-c", "from app import create_app; create_app()"]
    subprocess.run(words, cwd=PROJECT, env=service_environ(file_url(file), port=0), check=True)


def with_clients(rows: Iterator[Row], clients: dict[int, int], owners: dict[int, int]) -> Iterator[Row]:
    """Yield inspections with their building's client, and store it in `owners` for the readings."""
    for row in rows:
        client = clients[int(str(row[1]))]
        owners[int(str(row[0]))] = client
        yield (*row, client)


def digest(*names: str) -> str:
    """Return a digest of the files that a database depends on."""
    found = hashlib.sha256()
    for name in names:
        found.update((HERE / name).read_bytes())
    return found.hexdigest()[:32]


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
