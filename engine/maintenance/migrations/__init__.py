"""The migrations of both engines, in order.

`schema.sql` and its PostgreSQL twin make a database of the current version. A migration takes a database from the
version before to its own, by one script for each engine. Scripts change tables only. The upgrade then recreates
indexes, views, functions and triggers (`migrate.py`, and `engine/postgres/schema.py`); the indexes of PostgreSQL are
part of its script.

A migration is two files of this folder, `0002_title_in_words.sqlite.sql` and `0002_title_in_words.postgresql.sql`.
`flask schema --migration TITLE` drafts both.

A released migration never changes. The next one corrects it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FIRST_VERSION = 1


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


def script_path(version: int, title: str, engine: str, folder: Path = FOLDER) -> Path:
    """Return the path of a migration's script.

    >>> script_path(2, "Heating of buildings", "sqlite").name
    '0002_heating_of_buildings.sqlite.sql'
    """
    words = re.sub(r"\W+", "_", title.lower()).strip("_")
    return folder / f"{version:04}_{words}.{engine}.sql"


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
    " and `flask --app app import FILE` with this one over a new database"
)
"""Why a database of a development version is refused, and the way out."""


def schema_version() -> int:
    """Return the version that this program uses."""
    return FIRST_VERSION + len(MIGRATIONS)


def pending(version: int) -> list[Migration]:
    """Return the migrations that a database of this version lacks."""
    return [migration for migration in MIGRATIONS if migration.version > version]
