"""`python -m tests.support.extended_models OLD NEW`: migrate a database to models with more columns and tables.

OLD and NEW are URLs of empty databases. OLD gets today's schema and rows, then the migration of `tests/data/migration`.
NEW gets the schema of the extended models at once. A process of its own, since models cannot be taken back.
"""

import pathlib
import sys
from contextlib import closing
from dataclasses import replace
from typing import ClassVar

from engine.maintenance.check import ensure_schema
from engine.open import open_database
from engine.schema import migrations, script
from models import RESOURCES, Building, Inspection
from models.fields import ColumnDefault, Index, Model, column, references
from models.types import BIGINT, DOUBLE, INTEGER, TEXT, TIMESTAMP, UUID

ROWS = (
    "INSERT INTO clients (name, created_at, updated_at) VALUES ('a', '{now}', '{now}')",
    "INSERT INTO buildings (name, client_id, created_at, updated_at) VALUES ('b', 1, '{now}', '{now}')",
    "INSERT INTO inspectors (name) VALUES ('i')",
    """
    INSERT INTO inspections (building_id, client_id, inspection_type, created_at, updated_at)
    VALUES (1, 1, 'annual', '{now}', '{now}')
    """,
)
"""Rows that the migration keeps."""

FOLDER = pathlib.Path(__file__).parents[1] / "data" / "migration"


def extend() -> None:
    """Add columns to two tables, and three tables."""
    Building.heating = column(TEXT, allowed_values=("gas", "it's other"))
    Building.storeys = column(INTEGER, required=True, minimum=1, stored_default=1)
    Inspection.rating = column(DOUBLE, minimum=0, maximum=5)
    Inspection.reviewer_id = column(BIGINT, references("inspectors.id", on_delete="set null"))

    class Manufacturer(Model):
        """A company that makes keys. It belongs to no client."""

        __tablename__ = "manufacturers"
        unique: ClassVar = {"name_key": ("name",)}

        id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
        name = column(TEXT, required=True)

    class Key(Model):
        """A key of a building, held by a user."""

        __tablename__ = "keys"
        tenant: ClassVar = "building_id"
        unique: ClassVar = {"building_id_label_key": ("building_id", "label")}
        checks: ClassVar = {"check": "label <> secret"}
        indexes: ClassVar = (Index("keys_label", ("lower(label)",), comment="Searched for regardless of case."),)

        id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
        building_id = column(BIGINT, references("buildings.id", on_delete="cascade"), required=True)
        holder_id = column(UUID, references("users.id", on_delete="set null"))
        manufacturer_id = column(BIGINT, references("manufacturers.id"))
        label = column(TEXT, required=True)
        secret = column(TEXT, hidden=True)
        copies = column(INTEGER, minimum=0, maximum=99)
        created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)

    class Photo(Model):
        """A photo of a reading, whose table had no children before."""

        __tablename__ = "photos"
        tenant: ClassVar = "report_lead_id"

        id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
        report_lead_id = column(BIGINT, references("reports_lead.id", on_delete="cascade"), required=True)

    RESOURCES.update(keys=Key, photos=Photo, manufacturers=Manufacturer)
    script.render.cache_clear()


def main() -> None:
    old, new = sys.argv[1:]
    now = "2025-05-05T09:30:15+00:00"
    with closing(open_database(old)) as database:
        ensure_schema(database)
        with database.writing() as transaction:
            for statement in ROWS:
                transaction.run(statement.format(now=now))
    extend()
    [migration] = migrations.read_migrations(FOLDER)
    migrations.MIGRATIONS += (replace(migration, version=migrations.schema_version() + 1),)
    for url in (old, new):
        with closing(open_database(url)) as database:
            ensure_schema(database)


if __name__ == "__main__":
    main()
