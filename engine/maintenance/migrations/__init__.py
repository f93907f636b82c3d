"""The migrations of both engines, in order.

`schema.sql` and its PostgreSQL twin make a database of the current version. A migration takes a database from the
version before to its own, by one script for each engine. Scripts change tables only. The upgrade then recreates
indexes, views, functions and triggers (`migrate.py`, and `engine/postgres/schema.py`).

A released migration never changes. The next one corrects it.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_VERSION = 1


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from `version - 1` to `version`. An engine whose tables stay as they are has an empty script."""

    version: int
    title: str
    sqlite: str = ""
    """Runs with foreign keys off, so that it can rebuild a table. Every foreign key is checked before the COMMIT."""
    postgresql: str = ""


MIGRATIONS: tuple[Migration, ...] = ()
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
