"""The statements that create a new file: the tables of schema.sql and the triggers of the audit log."""

from __future__ import annotations

from pathlib import Path

from engine import audit
from engine.storage import sqlite

SCHEMA = Path(__file__).resolve().parents[2] / "schema.sql"

FOREIGN_KEY_VIOLATIONS = """
    SELECT "table" || coalesce(' row ' || rowid, '') || ' references no row of ' || parent
    FROM pragma_foreign_key_check
"""
"""Returns the rows that violate a foreign key. Another program may write with foreign keys off."""

CLIENT_MISMATCHES = """
    SELECT 'reports_lead row ' || reading.id || ' has another client than its inspection'
    FROM reports_lead AS reading JOIN inspections AS inspection ON inspection.id = reading.inspection_id
    WHERE reading.client_id <> inspection.client_id
"""
"""Returns the readings whose client differs from the inspection's. Triggers enforce this, not a foreign key."""


def schema() -> list[str]:
    """Return every statement, in order."""
    return [*statements(SCHEMA.read_text(encoding="utf-8")), *audit.triggers()]


def statements(script: str) -> list[str]:
    """Split a script into statements, each of which ends a line. A trigger's body holds semicolons of its own.

    Raise ValueError if the last statement has no semicolon.
    """
    complete: list[str] = []
    pending = ""
    for line in script.splitlines():
        code = line.split("--")[0].rstrip()
        pending = f"{pending}\n{code}" if pending else code
        if code.endswith(";") and sqlite.driver.complete_statement(pending):
            complete.append(pending)
            pending = ""
    if pending.strip():
        raise ValueError(f"the last statement has no semicolon: {pending.strip()}")
    return complete
