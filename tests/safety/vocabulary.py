"""Values for requests: columns of each kind, the values of worlds, and their spelling in a query."""

import random
from dataclasses import dataclass
from urllib.parse import quote

from tests.support.columns import COLUMNS, MODELLED_TABLES

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
        "license",
        "license_state",
        "firm",
        "firm_address",
        "firm_phone",
        "firm_certificate",
        "title",
        "unit",
        "counted_from",
        "basis",
        "outcome",
        "place",
        "item",
        "code",
        "description",
        "severity",
        "kind",
        "note",
        "phone",
        "parcel",
        "owner_name",
        "owner_address",
        "owner_phone",
        "child_occupied",
        "hazard_class",
        "dwelling",
        "room",
        "wall",
        "component",
        "substrate",
        "color",
        "condition",
        "qualifier",
        "method",
        "classification",
        "voided",
        "make",
        "model",
        "serial",
        "mode",
        "sheet",
        "rule",
        "number",
        "sha256",
        "signed_name",
        "signature",
        "withdrawn_note",
        "to_name",
        "to_address",
        "served_how",
        "content",
    ]
)
UUIDS = frozenset(("admin_id", "manager_id", "assigned_by", "user_id", "ref", "issued_by", "withdrawn_by"))
TIMES = frozenset(
    ("created_at", "updated_at", "assigned_at", "due_at", "closed_at", "at", "taken_at", "issued_at", "withdrawn_at")
)
DATES = frozenset(
    (
        "date_visited", "first_due", "ended_on", "due_on", "license_expires_on", "sheet_on", "serviced_on",
        "service_due_on", "leak_test_due_on", "retired_on", "answer_by", "served_on",
    )
)  # fmt: skip


@dataclass(slots=True)
class Vocabulary:
    """The values of each column in some worlds, visible or hidden.

    `differing` holds the values that some of the worlds lack, `seen` the values of visible rows. Both are drawn more
    often.
    """

    values: dict[tuple[str, str], list]
    differing: dict[tuple[str, str], list]
    seen: dict[tuple[str, str], list]

    @classmethod
    def from_worlds(cls, seen: dict, *worlds: dict) -> "Vocabulary":
        values: dict[tuple[str, str], list] = {}
        differing: dict[tuple[str, str], list] = {}
        for table in MODELLED_TABLES:
            for column in COLUMNS[table]:
                held = [dict.fromkeys(row[column] for row in world[table]) for world in worlds]
                known = list(dict.fromkeys(value for each in held for value in each))
                values[table, column] = [value for value in known if value is not None]
                differing[table, column] = [
                    value for value in values[table, column] if any(value not in each for each in held)
                ]
        visible = {key: [row[key[1]] for row in seen[key[0]] if row[key[1]] is not None] for key in values}
        return cls(values, differing, visible)

    def draw(self, rng: random.Random, table: str, column: str) -> object:
        """Return one of the column's values, or a value that no row has."""
        known = self.values[table, column]
        if (differing := self.differing[table, column]) and rng.random() < 0.3:
            return rng.choice(differing)
        if (visible := self.seen[table, column]) and rng.random() < 0.3:
            return rng.choice(visible)
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
    """Return a value as it is written in a list or a logical condition."""
    return escaped('"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"')


def without_pattern_characters(text: str) -> str:
    """Return the text without characters that have a meaning in patterns or regular expressions."""
    return "".join(c for c in text if c not in '\\*%_()[]{}+?.^$|",')
