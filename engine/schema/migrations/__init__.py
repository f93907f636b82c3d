"""The migrations of both engines, in order.

`schema.sql` and its PostgreSQL twin make a database of the current version. A migration takes a database from the
version before to its own, by one script for each engine. Scripts change tables only; those of PostgreSQL also make the
indexes of their tables. The upgrade then recreates indexes, views, functions and triggers
(`engine/maintenance/migrate.py`, `postgres/schema.py`). A person writes both scripts, such as
`0003_limits_of_readings.sqlite.sql` and `0003_limits_of_readings.postgresql.sql`. A released migration never changes.
The next one corrects it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

FIRST_VERSION = 1

# Development versions wrote "WALK" and counted `user_version` up to 12. The release counts from 1 again. Another id
# keeps the two apart, and stops a development version from opening a file of the release.
APPLICATION_ID = 0x574C4B31  # "WLK1"
DEVELOPMENT_APPLICATION_ID = 0x57414C4B  # "WALK"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from `version - 1` to `version`. An engine whose tables stay as they are has an empty script."""

    version: int
    title: str
    sqlite: str = ""
    """Runs with foreign keys off, so that it can rebuild a table. Every foreign key is checked before the COMMIT."""
    postgresql: str = ""


FOLDER = Path(__file__).resolve().parent
SCRIPT = re.compile(r"(\d{4})_(\w+)\.(sqlite|postgresql)\.sql")


def read_migrations(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """Return the migrations of a folder by version."""
    scripts: dict[tuple[int, str], dict[str, str]] = {}
    for path in sorted(folder.glob("*.sql")):
        if name := SCRIPT.fullmatch(path.name):
            title = name[2].replace("_", " ")
            scripts.setdefault((int(name[1]), title), {})[name[3]] = path.read_text(encoding="utf-8")
    return tuple(Migration(version, title, **texts) for (version, title), texts in scripts.items())


MIGRATIONS: tuple[Migration, ...] = read_migrations()
"""Every migration, by version, without gaps. Version 1 is the schema of the first release."""

EARLIER_VERSION = (
    "was made by a development version from before 0.1.0: run `flask --app app export FILE` with that version,"
    " and `flask --app app import FILE` with this one over a new database; an export leaves out passwords, API keys,"
    " calendar links, kiosk displays, sessions and the audit log, so keep that database, and set new passwords"
)
"""Why a database of a development version is refused, the way out, and what is lost on it."""


def lacking(absent: Mapping[str, Collection[str]], present: Collection[str]) -> str:
    """Return what a database of this version lacks: whole tables, else columns.

    >>> lacking({"keys": {"id"}, "notes": {"id"}, "users": {"name"}}, {"users"})
    'the tables keys and notes'
    >>> lacking({"users": {"name"}}, {"users"})
    'the column users.name'
    """
    tables = sorted(set(absent) - set(present))
    columns = sorted(f"{table}.{column}" for table, names in absent.items() for column in names)
    named, noun = (tables, "table") if tables else (columns, "column")
    listed = named if len(named) <= NAMED_MAX else [*named[:NAMED_MAX], f"{len(named) - NAMED_MAX} more"]
    text = " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
    return f"the {noun}{'s' * (len(named) > 1)} {text}"


NAMED_MAX = 3


def schema_version() -> int:
    """Return the version that this program uses."""
    return FIRST_VERSION + len(MIGRATIONS)


def pending(version: int) -> list[Migration]:
    """Return the migrations that a database of this version lacks."""
    return [migration for migration in MIGRATIONS if migration.version > version]
