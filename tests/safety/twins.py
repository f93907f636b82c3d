"""Two worlds that one caller cannot tell apart: the second differs from the first only in rows that the oracle calls
hidden from them. Every text of a world is unique, so that a value names its row.
"""

import copy
import itertools
import random

from tests.conftest import RESOURCES
from tests.support import oracle
from tests.support.worlds import CREATED_AT, GRANTS, STATUSES, TYPES, building_row, random_world, user_row

WORDS = ("Harbor", "Mill", "Ash", "Größe", "depot", "50% lot", "Öz", "vacant", "East", "(North)")
TEXTS = {
    "clients": ("name",),
    "users": ("name",),
    "inspectors": ("name", "email"),
    "buildings": ("name", "address", "city", "state", "zip", "building_type"),
    "inspections": ("notes",),
    "reports_lead": ("result",),
}
RARE = {"inspections": ("inspection_type", "status")}  # mostly common values, now and then a unique one
CHANGES = 16
ADDED_IDS = 500  # ids of rows that only the second world has begin here


class Writer:
    """Makes values that no other row has."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.numbers = itertools.count(1)

    def text(self) -> str:
        return f"{self.rng.choice(WORDS)} {next(self.numbers):05}"

    def dress(self, table: str, row: dict) -> dict:
        """Give a row unique texts, and numbers."""
        row = dict(row)
        for column in TEXTS.get(table, ()):
            required = column == "name"
            row[column] = self.text() if required or self.rng.random() < 0.8 else None
        for column in RARE.get(table, ()):
            if self.rng.random() < 0.3:
                row[column] = self.text()
        if table == "buildings":
            row["latitude"] = round(self.rng.uniform(-90, 90), 6)
            row["longitude"] = self.rng.choice((None, round(self.rng.uniform(-180, 180), 3)))
            row["floors"], row["units"] = self.rng.randrange(50), self.rng.choice((None, 7, 12))
        if table == "reports_lead":
            row["gun_id"] = self.rng.choice((None, self.rng.randrange(100)))
        if table == "users":
            row["email"] = f"{row['name'].split()[-1]}@{self.rng.choice(('acme', 'borough'))}.example"
        return row


def dressed_world(seed: int) -> tuple[dict, Writer]:
    """A random world whose texts are all different; of its grants some are signed by an admin."""
    rng = random.Random(seed)
    writer = Writer(rng)
    world = {table: [writer.dress(table, row) for row in rows] for table, rows in random_world(seed).items()}
    signers = [None, *(user["id"] for user in world["users"] if user["role"] != "client_manager")]
    for table in GRANTS:
        for row in world[table]:
            row["assigned_by"] = rng.choice(signers)
    return in_order(world), writer


def in_order(world: dict) -> dict:
    return {
        table: [world[table][0], *sorted(world[table][1:], key=lambda row: row["id"])]
        if table == "users"
        else sorted(world[table], key=lambda row: oracle.key_of(table, row))
        for table in RESOURCES
    }


def seen_by(world: dict, user: dict) -> dict[str, list[dict]]:
    """The rows that the oracle lets a user read."""
    return {table: [row for row in world[table] if oracle.visible(world, user, table, row)] for table in RESOURCES}


def other_world(world: dict, user: dict, writer: Writer) -> dict:
    """A world that looks the same to the user, and differs in as many hidden rows as may be."""
    seen = seen_by(world, user)
    changes = [writer.rng.choice(KINDS) for _ in range(CHANGES)]
    seeds = [writer.rng.random() for _ in changes]
    other = changed(world, user, writer, list(zip(changes, seeds, strict=True)))
    if seen_by(other, user) == seen:
        return in_order(other)
    other = world
    for change in zip(changes, seeds, strict=True):
        tried = changed(other, user, writer, [change])
        if seen_by(tried, user) == seen:
            other = tried
    return in_order(other)


def changed(world: dict, user: dict, writer: Writer, changes: list) -> dict:
    other = copy.deepcopy(world)
    for change, seed in changes:
        rng, writer.rng = writer.rng, random.Random(seed)
        change(other, user, writer)
        writer.rng = rng
    return other


def hidden_row(world: dict, user: dict, rng: random.Random) -> tuple[str, dict] | None:
    """Draw a row that the user cannot see; each table is as likely, small or large."""
    table = rng.choice(RESOURCES)
    rows = [row for row in world[table] if not oracle.visible(world, user, table, row)]
    rows = [row for row in rows if row.get("role") != "super_admin"]
    return (table, rng.choice(rows)) if rows else None


def alter(world: dict, user: dict, writer: Writer) -> None:
    """Change all that a hidden row says."""
    if (drawn := hidden_row(world, user, writer.rng)) is None:
        return
    table, row = drawn
    dressed = writer.dress(table, row)
    row.update(dressed)
    if table == "inspections":
        row["date_visited"] = writer.rng.choice((None, "2025-06-14", "2025-06-20", "2024-01-01"))
        row["inspector_id"] = some_inspector(world, writer.rng)


def move(world: dict, user: dict, writer: Writer) -> None:
    """Give a hidden building to a third client; the row rule has the last word on whether it shows."""
    hidden = [b for b in world["buildings"] if not oracle.visible(world, user, "buildings", b)]
    others = [c["id"] for c in world["clients"] if c["id"] != user["client_id"]]
    if hidden and others:
        writer.rng.choice(hidden)["client_id"] = writer.rng.choice(others)


def remove(world: dict, user: dict, writer: Writer) -> None:
    """Delete a hidden row and whatever hangs on it, if all of that is hidden too."""
    if (drawn := hidden_row(world, user, writer.rng)) is None:
        return
    doomed: list[tuple[str, dict]] = []
    gather(world, *drawn, doomed)
    if any(oracle.visible(world, user, table, row) for table, row in doomed):
        return
    if drawn[0] == "inspectors" and any(row["inspector_id"] == drawn[1]["id"] for row in world["inspections"]):
        return
    gone = {row["id"] for table, row in doomed if table == "users"}
    if any(grant["assigned_by"] in gone for table in GRANTS for grant in world[table]):
        return
    for table, row in doomed:
        if row in world[table]:
            world[table].remove(row)


HANGING = {
    "clients": (("buildings", "client_id"), ("users", "client_id")),
    "buildings": (
        ("inspections", "building_id"),
        ("client_admin_building_access", "building_id"),
        ("client_manager_building_access", "building_id"),
    ),
    "inspections": (
        ("reports_lead", "inspection_id"),
        ("client_admin_inspection_access", "inspection_id"),
        ("client_manager_inspection_access", "inspection_id"),
    ),
    "users": tuple((table, GRANTS[table][1]) for table in GRANTS),
}


def gather(world: dict, table: str, row: dict, doomed: list) -> None:
    doomed.append((table, row))
    for below, column in HANGING.get(table, ()):
        for other in world[below]:
            if other.get(column) == row["id"]:
                gather(world, below, other, doomed)


def add_building(world: dict, user: dict, writer: Writer) -> None:
    """A building of another client, with an inspection and a reading."""
    rng = writer.rng
    others = [c["id"] for c in world["clients"] if c["id"] != user["client_id"]]
    if not others:
        return
    building = building_row(free_id(world, "buildings", rng), rng.choice(others))
    world["buildings"].append(writer.dress("buildings", building))
    inspection = {
        "id": free_id(world, "inspections", rng),
        "building_id": building["id"],
        "inspection_type": rng.choice(TYPES),
        "date_visited": rng.choice(("2025-06-14", "2025-06-20", None)),
        "status": rng.choice(STATUSES),
        "inspector_id": some_inspector(world, rng),
        "notes": None,
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    }
    world["inspections"].append(writer.dress("inspections", inspection))
    reading = {"id": free_id(world, "reports_lead", rng), "inspection_id": inspection["id"]}
    world["reports_lead"].append(writer.dress("reports_lead", reading))


def add_person(world: dict, user: dict, writer: Writer) -> None:
    """A client with a user, or an inspector, or a user of a client that is there."""
    rng = writer.rng
    client_id = free_id(world, "clients", rng)
    if rng.random() < 0.5:
        times = {"created_at": CREATED_AT, "updated_at": CREATED_AT}
        client = {"id": client_id, "name": "", **times}
        world["clients"].append(writer.dress("clients", client))
    else:
        client_id = rng.choice(world["clients"])["id"]
    number = rng.randrange(1_000, 9_000)
    person = user_row(number, rng.choice(("client_admin", "client_manager")), client_id)
    if all(other["id"] != person["id"] for other in world["users"]):
        world["users"].append(writer.dress("users", person))
    inspector = {"id": free_id(world, "inspectors", rng), "name": "", "email": None}
    world["inspectors"].append(writer.dress("inspectors", inspector))


def add_grant(world: dict, user: dict, writer: Writer) -> None:
    """Grant anything to anybody: of a stranger's grant on one's own building nothing may show."""
    rng = writer.rng
    table = rng.choice(list(GRANTS))
    role, grantee, targets, target = GRANTS[table]
    people = [person for person in world["users"] if person["role"] == role]
    if not people or not world[targets]:
        return
    grant = {
        grantee: rng.choice(people)["id"],
        target: rng.choice(world[targets])["id"],
        "assigned_by": rng.choice(world["users"])["id"],
        "assigned_at": CREATED_AT,
    }
    if all(oracle.key_of(table, grant) != oracle.key_of(table, row) for row in world[table]):
        world[table].append(grant)


def some_inspector(world: dict, rng: random.Random) -> int | None:
    return rng.choice((None, *(row["id"] for row in world["inspectors"])))


def free_id(world: dict, table: str, rng: random.Random) -> int:
    taken = {row["id"] for row in world[table]}
    return next(n for n in iter(lambda: ADDED_IDS + rng.randrange(400), None) if n not in taken)


KINDS = (alter, alter, alter, move, remove, remove, add_building, add_person, add_grant, add_grant)
