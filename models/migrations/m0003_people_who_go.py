"""Version 3: grants of somebody who is deleted are told to whose they were; tokens of somebody who was deleted do not
come back to life with another of the same id.

All of it is said by triggers, which are made anew after every migration, whatever a file had.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(3, "who is deleted leaves no grant untold, and no token")
