"""Version 8: in a file an inspection stands in four indexes instead of five, all but one of which begin with a client.

None is by type, and that of inspectors is another. Indexes are made anew after every migration, as a new file has them.
"""

from __future__ import annotations

from models.migrations.step import Step

step = Step(8, "inspections are looked for client by client")
