"""Migrations to the next version, which tests register."""

from engine.schema import migrations
from engine.schema.migrations import Migration

NEXT = migrations.schema_version() + 1

REBUILD_CLIENTS = """
CREATE TABLE clients_rebuilt (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, address TEXT, phone TEXT, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, mobile TEXT
) STRICT;
INSERT INTO clients_rebuilt SELECT *, 'none' FROM clients;
DROP TABLE clients;
ALTER TABLE clients_rebuilt RENAME TO clients;
"""
ADD_MOBILE = Migration(
    NEXT,
    "inspectors and clients have a mobile",
    sqlite=f"ALTER TABLE inspectors ADD COLUMN mobile TEXT DEFAULT 'none';{REBUILD_CLIENTS}",
    postgresql="""
        ALTER TABLE inspectors ADD COLUMN mobile text COLLATE "C" DEFAULT 'none';
        ALTER TABLE clients ADD COLUMN mobile text COLLATE "C" DEFAULT 'none';
    """,
)
FAIL = Migration(
    NEXT,
    "fails after its first statement",
    sqlite=f"{ADD_MOBILE.sqlite} UPDATE missing SET name = 1;",
    postgresql=f"{ADD_MOBILE.postgresql} UPDATE missing SET name = 1;",
)
LOSE_CLIENTS = Migration(NEXT, "loses rows that others refer to", sqlite="DELETE FROM clients;")
