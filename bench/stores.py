"""How do the same rows come into both databases? They are loaded once a size, and copied whenever they were changed.

What was loaded is put in order by each side's own means (`flask compact`, VACUUM), and carries a mark, made of all that
its rows depend on: with another generator or schema it is made anew. Nothing is ever measured on it, but on copies:
what writes leave behind even where their rows are deleted again (a trail, dead rows, larger indexes) would slow down
the next run, and one side more than the other.
"""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import cast
from bench.cast import Cast
from bench.portfolio import COLUMNS
from bench.portfolio import Portfolio
from bench.portfolio import Row
from bench.portfolio import compose
from bench.servers import PROJECT
from bench.servers import file_url
from bench.servers import service_environ
from engine.storage.sqlite import driver

HERE: Final = Path(__file__).resolve().parent
LOADED: Final = "_loaded"  # how the names end of what is never measured on
VERSIONS: Final = "../models/migrations/__init__.py"  # one of an older version would be migrated by whoever is timed
PARTS: Final = ("schema.pg.sql", "policies.pg.sql")
SEQUENCED: Final = ("clients", "inspectors", "buildings", "inspections", "reports_lead")


@dataclass(frozen=True, slots=True)
class Store:
    """One size: the service's file, its copy on PostgreSQL, PostgREST's database there, and who asks."""

    size: int
    file: Path
    copy: str
    database: str
    cast: Cast

    def renew(self, psql: Psql) -> None:
        """Make all three as they were loaded; nobody may have them open."""
        for rest in ("", "-wal", "-shm", ".lock", ".serving"):
            self.file.with_name(f"{self.file.name}{rest}").unlink(missing_ok=True)
        shutil.copy(loaded(self.file), self.file)
        for name in (self.copy, self.database):
            clone(psql, name, name)
        os.sync()  # or what was copied would be written out while others are timed


def loaded(file: Path) -> Path:
    """The file that one is a copy of."""
    return file.with_stem(f"{file.stem}{LOADED}")


def clone(psql: Psql, kept: str, name: str) -> None:
    """A database as another was loaded; nobody may have it open."""
    psql.run("postgres", f"drop database if exists {name}")
    template = f"template {kept}{LOADED} strategy file_copy"
    psql.run("postgres", f"create database {name} {template}")


class Psql:
    """Runs SQL in the cluster behind a socket."""

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


def ensure_service_store(cache: Path, size: int) -> tuple[Path, Cast]:
    """The service's file of that many inspections, and who asks."""
    home = cache / f"sqlite-{size}"
    file, mark, kept = home / "walkthrough.db", home / "mark", home / "cast.json"
    expected = digest(
        "portfolio.py", "cast.py", "../schema.sql", VERSIONS, "../engine/storage/file_copies.py"
    )
    there = mark.exists() and kept.exists() and loaded(file).exists()
    if not (there and mark.read_text() == expected):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        say(f"loading {size:,} inspections into SQLite")
        portfolio = compose(size)
        fill_file(loaded(file), portfolio)
        run_command(file_url(loaded(file)), "compact")
        cast.keep(cast.choose(portfolio), kept)
        mark.write_text(expected)
    return file, cast.read(kept)


def ensure_postgresql_store(psql: Psql, size: int) -> str:
    """PostgreSQL's database of the same rows."""
    kept = f"walkthrough_{size}"
    database = f"{kept}{LOADED}"
    expected = digest("portfolio.py", *PARTS)
    if is_marked(psql, database, expected):
        return kept
    say(f"loading {size:,} inspections into PostgreSQL")
    psql.run(
        "postgres", f"drop database if exists {database};\n{ROLES}\ncreate database {database};"
    )
    for name in PARTS:
        psql.run(database, (HERE / name).read_text(encoding="utf-8"))
    portfolio = compose(size)
    for table, columns in COLUMNS.items():
        psql.copy(database, table, columns, portfolio.rows(table))
    for table in SEQUENCED:
        name = f"pg_get_serial_sequence('api.{table}', 'id')"
        psql.run(database, f"select setval({name}, max(id)) from api.{table}")  # noqa: S608
    psql.run(database, "vacuum (freeze, analyze)")
    psql.run(database, "checkpoint")
    psql.run("postgres", f"comment on database {database} is '{expected}'")
    return kept


def ensure_copy(psql: Psql, size: int, file: Path, url: Callable[[str], str]) -> str:
    """The service's own database on PostgreSQL, filled from its file by its own command."""
    kept = f"walkthrough_copy_{size}"
    database = f"{kept}{LOADED}"
    made_of = ("../schema.sql", "../engine/postgres/schema.sql", VERSIONS)
    expected = digest("portfolio.py", "cast.py", *made_of)
    if is_marked(psql, database, expected):
        return kept
    say(f"copying {size:,} inspections to PostgreSQL")
    psql.run("postgres", f"drop database if exists {database};\ncreate database {database};")
    run_command(file_url(loaded(file)), "copy", "--to", url(database))
    psql.run(database, "vacuum (freeze, analyze)")
    psql.run(database, "checkpoint")
    psql.run("postgres", f"comment on database {database} is '{expected}'")
    return kept


def is_marked(psql: Psql, database: str, expected: str) -> bool:
    """Whether a database is there, made of what it would be made of now."""
    marks = "select datname, shobj_description(oid, 'pg_database') from pg_database"
    return f"{database}|{expected}" in psql.run("postgres", marks).splitlines()


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


def fill_file(file: Path, portfolio: Portfolio) -> None:
    """Have the service make its tables, then insert every row in one transaction."""
    make_file(file)
    clients = dict(enumerate(portfolio.owners, 1))
    with closing(driver.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a cut here costs a second run, no more
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("BEGIN IMMEDIATE")
        # As an import does: the audit trail is not told of every row that was there to begin with.
        (context,) = connection.execute("SELECT at FROM audit_context").fetchall()
        connection.execute("DELETE FROM audit_context")
        owners: dict[int, int] = {}
        for table, columns in COLUMNS.items():
            rows: Iterator[Row] = portfolio.rows(table)
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
    """One of the service's own commands, on a database that nobody serves."""
    command = [sys.executable, "-m", "flask", "--app", "app", *words]
    environ = {**os.environ, **service_environ(url, port=0)}
    subprocess.run(command, cwd=PROJECT, env=environ, check=True, stdout=subprocess.DEVNULL)


def make_file(file: Path) -> None:
    """A process of its own makes the tables: the service's connections end with it."""
    words = [sys.executable, "-c", "from app import create_app; create_app()"]
    subprocess.run(words, cwd=PROJECT, env=service_environ(file_url(file), port=0), check=True)


def with_clients(
    rows: Iterator[Row], clients: dict[int, int], owners: dict[int, int]
) -> Iterator[Row]:
    """Inspections with their building's client; `owners` remembers it for their readings."""
    for row in rows:
        client = clients[int(str(row[1]))]
        owners[int(str(row[0]))] = client
        yield (*row, client)


def digest(*names: str) -> str:
    """What a store depends on, in short."""
    found = hashlib.sha256()
    for name in names:
        found.update((HERE / name).read_bytes())
    return found.hexdigest()[:32]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
