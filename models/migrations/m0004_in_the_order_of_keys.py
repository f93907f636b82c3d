"""Version 4: on a server what goes with a row goes in the order of its keys; bodies of many rows cost it less.

All of it is said by a server's functions and triggers, which are made anew after every migration.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(4, "on a server what goes with a row goes in the order of its keys")
