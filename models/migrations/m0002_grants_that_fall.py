"""Version 2: grants fall while their grantee is still the old client's; a grant passed on is told as gone and come; an
id that a row was changed to is not handed out.

All of it is said by triggers, which are made anew after every migration, whatever a file had.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(2, "grants that fall are told to whose they were")
