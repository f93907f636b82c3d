"""Version 6: in a file an inspection stands in five indexes instead of seven.

One of the two that go is a key of the table, for which both tables are made anew; triggers keep a reading's client.
"""

from __future__ import annotations

from models.migrations.step import Run
from models.migrations.step import Step
from models.sql import sqlite

KEY = "    CONSTRAINT inspections_id_client_id_key UNIQUE (id, client_id),\n"
COMPOUND = """FOREIGN KEY (inspection_id, client_id)
        REFERENCES inspections (id, client_id)"""
PLAIN = """FOREIGN KEY (inspection_id)
        REFERENCES inspections (id)"""


def change(run: Run) -> None:
    """Both tables without the key. Indexes and triggers are made anew afterwards."""
    triggers = run("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for (name,) in triggers:  # one that tells of a table which is not there yet stops its renaming
        run(f"DROP TRIGGER {name}")
    make_anew(run, "inspections", KEY, "")
    make_anew(run, "reports_lead", COMPOUND, PLAIN)


def make_anew(run: Run, table: str, old: str, new: str) -> None:
    """A table with other words in its statement, its rows, and its sequence, which may be beyond the last of them."""
    question = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
    made: str = run(question, (table,)).fetchone()[0]
    if old not in made:
        raise sqlite.driver.DatabaseError(f"{table} is not as version 5 has it")
    named = f"CREATE TABLE {table}_anew ("
    run(made.replace(old, new).replace(f"CREATE TABLE {table} (", named))
    run(f"INSERT INTO {table}_anew SELECT * FROM {table} ORDER BY id")  # noqa: S608
    run("DELETE FROM sqlite_sequence WHERE name = ?", (f"{table}_anew",))
    run("UPDATE sqlite_sequence SET name = ? WHERE name = ?", (f"{table}_anew", table))
    run(f"DROP TABLE {table}")
    run(f"ALTER TABLE {table}_anew RENAME TO {table}")


step = Step(6, "a reading follows its inspection by triggers", change)
