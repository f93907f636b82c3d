"""Version 10: on a server the inspections of a building stand in the order of lists, their ids included.

A list of several buildings can then leave each of them at its first row beyond the page, as in a file.
"""

from __future__ import annotations

from models.migrations.step import Run
from models.migrations.step import Step

SERVER = """
DROP INDEX inspections_building_id;
CREATE INDEX inspections_building_id ON inspections (building_id, date_visited, id);
"""


def change(run: Run) -> None:
    """A file has such an index."""


step = Step(10, "on a server lists of several buildings leave each at its page", change, SERVER)
