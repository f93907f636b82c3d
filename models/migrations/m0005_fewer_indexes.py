"""Version 5: in a file an inspection stands in seven indexes instead of nine.

Indexes are made anew after every migration, as a new file has them.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(5, "an inspection stands in fewer indexes")
