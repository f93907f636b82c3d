"""Version 10: on a server the index of a building's inspections by date holds their ids, too.

A list of several buildings is then found in the index alone, and its page fetched.
"""

from __future__ import annotations

from models.migrations.step import Step

# In this order only writes wait while it is made: whoever reads waits for the moment in which the old one goes.
SERVER = """
CREATE INDEX inspections_building_date ON inspections (building_id, date_visited, id);
DROP INDEX inspections_building_id;
ALTER INDEX inspections_building_date RENAME TO inspections_building_id;
"""


step = Step(10, "on a server lists of several buildings are found in an index alone", server=SERVER)
