"""Version 9: in a file an inspection stands in three indexes, not four: a client's are by date within each status.

Indexes are made anew after every migration, as a new file has them.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(9, "inspections by date are looked for status by status")
