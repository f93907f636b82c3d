"""Version 11: in a file the index of a building's inspections has them among its client's.

Indexes are made anew after every migration, as a new file has them.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(11, "a building's inspections stand among its client's")
