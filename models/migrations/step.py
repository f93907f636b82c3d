"""One step from a schema's version to the next: plain statements, run where foreign keys are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Run = Callable[..., Any]
"""Runs one statement: `run(sql)` or `run(sql, parameters)`; a cursor."""


def change_nothing(run: Run) -> None:
    """No table is another: indexes and triggers are made anew after every migration, whatever a file had."""


@dataclass(frozen=True, slots=True)
class Step:
    """From version - 1 to version. Foreign keys are off while it runs, so that a table may be made
    anew, and all of them are checked before it is kept."""

    version: int
    title: str
    change: Callable[[Run], None] = change_nothing
    server: str = ""
    """The same for a PostgreSQL server's tables, as a script."""
