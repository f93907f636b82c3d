"""How does a worker leave its database? Closed, with the log folded into the file if nobody reads it."""

from __future__ import annotations

from typing import Any

FOLD_SECONDS_MAX = (
    3.0  # of the graceful time that is left; what is not folded now is at the next start
)


def close_database(application: object) -> None:
    """Close what a worker's application had open; an application without a database has none."""
    found = database_of(application)
    if found is not None:
        found.shut_down(FOLD_SECONDS_MAX)


def database_of(application: object) -> Any:
    """An application's database, if it has one."""
    return getattr(application, "extensions", {}).get("walkthrough")
