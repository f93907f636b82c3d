"""What there is to ask for: columns of each kind, the values that worlds hold, and how a value stands in a query."""

import random
from dataclasses import dataclass
from urllib.parse import quote

from tests.conftest import RESOURCES
from tests.support.columns import COLUMNS

TEXT = frozenset(
    [
        "name",
        "email",
        "role",
        "address",
        "city",
        "state",
        "zip",
        "building_type",
        "inspection_type",
        "status",
        "notes",
        "result",
    ]
)
UUIDS = frozenset(("admin_id", "manager_id", "assigned_by"))
TIMES = frozenset(("created_at", "updated_at", "assigned_at"))
DATES = frozenset(("date_visited",))


@dataclass(slots=True)
class Vocabulary:
    """What values there are to ask for: of each column those of some worlds, visible or not.

    `torn`: those that not all of the worlds hold; `seen`: those in rows that the caller sees. Both are
    drawn more often than chance would have it.
    """

    values: dict[tuple[str, str], list]
    torn: dict[tuple[str, str], list]
    seen: dict[tuple[str, str], list]

    @classmethod
    def of(cls, seen: dict, *worlds: dict) -> "Vocabulary":
        values: dict[tuple[str, str], list] = {}
        torn: dict[tuple[str, str], list] = {}
        for table in RESOURCES:
            for column in COLUMNS[table]:
                held = [dict.fromkeys(row[column] for row in world[table]) for world in worlds]
                known = list(dict.fromkeys(value for each in held for value in each))
                values[table, column] = [value for value in known if value is not None]
                torn[table, column] = [
                    value for value in values[table, column] if any(value not in each for each in held)
                ]
        shown = {key: [row[key[1]] for row in seen[key[0]] if row[key[1]] is not None] for key in values}
        return cls(values, torn, shown)

    def draw(self, rng: random.Random, table: str, column: str) -> object:
        """One of the column's values, or one that nobody has."""
        known = self.values[table, column]
        if (torn := self.torn[table, column]) and rng.random() < 0.3:
            return rng.choice(torn)
        if (shown := self.seen[table, column]) and rng.random() < 0.3:
            return rng.choice(shown)
        if known and rng.random() < 0.93:
            return rng.choice(known)
        if column in TEXT:
            return "nowhere"
        if column in UUIDS or (table, column) == ("users", "id"):
            return "00000000-0000-4000-9000-999999999999"
        if column in DATES:
            return "2025-02-28"
        return "2025-03-01T00:00:00+00:00" if column in TIMES else 999


def escaped(value: object) -> str:
    return quote(str(value), safe="*(){},:.-")


def quoted(value: object) -> str:
    """A value as it stands in a list or a tree."""
    return escaped('"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"')


def plain(text: str) -> str:
    """Text without what a pattern or a regular expression gives a meaning."""
    return "".join(c for c in text if c not in '\\*%_()[]{}+?.^$|",')
