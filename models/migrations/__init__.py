"""How does an older file become one of today? By numbered steps, all in one transaction.

`schema.sql` makes a new file at today's version. A step takes a file from the version before it to its
own: a module `models/migrations/mNNNN_what.py` with `step = Step(NNNN, "what", function)`, and a line
in `STEPS`. A step that has been released is never changed again; the next one mends it.
"""

from __future__ import annotations

from models.migrations.step import Step

FIRST_VERSION = 1

STEPS: tuple[Step, ...] = ()
"""Every step, by version, without gaps. Version 1 is where the schema began."""


def schema_version() -> int:
    """The version that this program speaks."""
    return FIRST_VERSION + len(STEPS)
