"""Version 7: in a file what happened to a row of one's client is found without a look at what happened to others'.

The index of what happened to a row knows the client. Indexes are made anew after every migration, as a new file has
them.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(7, "what happened to a row is found by its client, too")
