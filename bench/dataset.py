"""Generates the rows of the benchmark: deterministic, so a size gives the same rows on every machine.

Rows are tuples in the order of `COLUMNS`. Tables are generators: a million rows need no memory.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

SEED = 20_260
TODAY = date(2026, 6, 30)  # fixed: later inspections have the status scheduled
DAYS_BEHIND = 3 * 365
DAYS_AHEAD = 60

CLIENTS = 20
MANAGERS = 200
INSPECTORS = 200
INSPECTIONS_A_BUILDING = 100
# Independent of the size: a manager sees the same number of rows in every dataset.
BUILDINGS_A_MANAGER = (15, 35)
INSPECTIONS_A_MANAGER = 5
LEAD_READINGS = (1, 5)  # per lead inspection; other inspections have one reading or none
OTHER_READING_SHARE = 0.1

STATUSES = ("scheduled", "in_progress", "completed", "failed", "cancelled")
TYPES = ("annual", "fire", "lead", "structural", "emergency")
TYPE_WEIGHTS = (40, 20, 20, 12, 8)
PAST_STATUSES = ("completed", "failed", "cancelled", "in_progress", "scheduled")
PAST_WEIGHTS = (72, 11, 8, 4, 5)
RESULTS = ("negative", "positive", "inconclusive")
RESULT_WEIGHTS = (80, 15, 5)
STATES = ("NY", "NJ", "CT", "MA", "PA")
BUILDING_TYPES = ("residential", "office", "school", "warehouse", "mixed")
TREES = ("Alder", "Aspen", "Birch", "Cedar", "Elm", "Hazel", "Juniper", "Maple", "Oak", "Willow")
PLACES = ("Court", "Gardens", "Heights", "House", "Lofts", "Mews", "Plaza", "Row", "Tower", "Yard")
CITIES = tuple(f"{tree}{end}" for tree in TREES for end in ("ton", "ville", " Park", " Falls"))
NOTES = (
    "No deficiencies observed.",
    "Stairwell B emergency lighting failed its 90-minute test; the owner has 30 days to repair it.",
    "Access to units on the upper floors was refused, so a second visit is needed.",
    "Peeling paint on window sills in two units; samples were taken, and results are pending.",
    "Sprinkler riser pressure within limits. Tags current.",
    "Façade cracks unchanged since the last visit; crack gauges were read and photographed.",
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "clients": ("id", "name", "created_at", "updated_at"),
    "users": ("id", "email", "name", "role", "client_id", "created_at", "updated_at"),
    "inspectors": ("id", "name", "email"),
    "buildings": (
        "id", "name", "address", "city", "state", "zip", "client_id", "created_at", "updated_at",
        "latitude", "longitude", "building_type", "floors", "units",
    ),
    "inspections": (
        "id", "building_id", "inspection_type", "date_visited", "status", "inspector_id", "notes",
        "created_at", "updated_at",
    ),
    "reports_lead": ("id", "inspection_id", "gun_id", "result"),
    "client_manager_building_access": ("manager_id", "building_id", "assigned_by", "assigned_at"),
    "client_manager_inspection_access": (
        "manager_id", "inspection_id", "assigned_by", "assigned_at",
    ),
}  # fmt: skip
"""Parents before children."""

Value = str | int | float | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DatasetUser:
    """A user of the service."""

    id: str
    role: str
    client_id: int | None


@dataclass(frozen=True, slots=True)
class Dataset:
    """The rows of one size. Owners, users and grants are drawn at once, all other rows on demand."""

    inspection_count: int
    owners: tuple[int, ...]  # the client of building 1, 2, …
    users: tuple[DatasetUser, ...]
    grants: dict[str, tuple[int, ...]]  # manager -> buildings

    def rows(self, table: str) -> Iterator[Row]:
        """Yield a table's rows in the order of their key."""
        return ROWS[table](self)


def generate(inspection_count: int) -> Dataset:
    """Return the dataset with that many inspections."""
    building_count = max(CLIENTS * 5, inspection_count // INSPECTIONS_A_BUILDING)
    draw = _generator("owners")
    weights = [1 + client % 4 for client in range(CLIENTS)]
    # The first buildings go round robin: every client owns some.
    owners = [1 + position % CLIENTS for position in range(CLIENTS * 5)]
    owners += draw.choices(range(1, CLIENTS + 1), weights, k=building_count - len(owners))
    users = tuple(_users())
    return Dataset(inspection_count, tuple(owners), users, _grants(owners, users))


def _generator(purpose: str) -> random.Random:
    """Return a random generator for one purpose: a change to one table does not change the others."""
    return random.Random(f"{SEED} {purpose}")  # noqa: S311


def _users() -> Iterator[DatasetUser]:
    draw = _generator("people")
    yield _user(draw, "super_admin", None)
    for client in range(1, CLIENTS + 1):
        yield _user(draw, "client_admin", client)
    for position in range(MANAGERS):
        yield _user(draw, "client_manager", 1 + position % CLIENTS)


def _user(draw: random.Random, role: str, client_id: int | None) -> DatasetUser:
    return DatasetUser(str(uuid.UUID(int=draw.getrandbits(128), version=4)), role, client_id)


def _grants(owners: list[int], users: tuple[DatasetUser, ...]) -> dict[str, tuple[int, ...]]:
    draw = _generator("grants")
    owned: dict[int, list[int]] = {}
    for position, client in enumerate(owners):
        owned.setdefault(client, []).append(position + 1)
    managers = [user for user in users if user.role == "client_manager"]
    granted: dict[str, tuple[int, ...]] = {}
    for manager in managers:
        assert manager.client_id is not None
        buildings = owned[manager.client_id]
        count = min(len(buildings), draw.randint(*BUILDINGS_A_MANAGER))
        granted[manager.id] = tuple(sorted(draw.sample(buildings, count)))
    return granted


def _timestamp(day: date, draw: random.Random) -> str:
    """Return a random time of that day in ISO 8601, in UTC."""
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=draw.randrange(86_400))
    return at.isoformat()


OPENED = TODAY - timedelta(days=DAYS_BEHIND + 400)
"""Clients, users and buildings are older than the first inspection."""


def _client_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("clients")
    for client in range(1, CLIENTS + 1):
        at = _timestamp(OPENED, draw)
        yield client, f"{TREES[client % 10]} {PLACES[client // 10]} Holdings", at, at


def _user_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("users")
    for position, user in enumerate(dataset.users):
        at = _timestamp(OPENED, draw)
        email = f"{user.role}{position}@example.org"
        yield user.id, email, f"User {position}", user.role, user.client_id, at, at


def _inspector_rows(dataset: Dataset) -> Iterator[Row]:
    for inspector in range(1, INSPECTORS + 1):
        yield (inspector, f"{TREES[inspector % 10]} Inspector {inspector}", f"i{inspector}@example.org")


def _building_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("buildings")
    for position, owner in enumerate(dataset.owners):
        building = position + 1
        at = _timestamp(OPENED + timedelta(days=draw.randrange(300)), draw)
        name = f"{draw.choice(TREES)} {draw.choice(PLACES)} {building}"
        street = f"{draw.randrange(1, 999)} {draw.choice(TREES)} Street"
        city = draw.choice(CITIES)
        floors = draw.randrange(1, 40)
        yield (
            building, name, street, city, draw.choice(STATES), f"{draw.randrange(10_000, 20_000)}",
            owner, at, at, round(draw.uniform(40, 43), 6), round(draw.uniform(-76, -71), 6),
            draw.choice(BUILDING_TYPES), floors, floors * draw.randrange(2, 8),
        )  # fmt: skip


def _inspection_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("inspections")
    building_count = len(dataset.owners)
    types = draw.choices(TYPES, TYPE_WEIGHTS, k=1_000)
    past = draw.choices(PAST_STATUSES, PAST_WEIGHTS, k=1_000)
    for inspection in range(1, dataset.inspection_count + 1):
        fraction = draw.random()
        day = TODAY + timedelta(days=int(fraction * (DAYS_BEHIND + DAYS_AHEAD)) - DAYS_BEHIND)
        noted = draw.getrandbits(16)
        at = _timestamp(day - timedelta(days=noted % 30), draw)
        yield (
            inspection,
            1 + int(draw.random() * building_count),
            types[int(draw.random() * 1_000)],
            day.isoformat(),
            "scheduled" if day > TODAY else past[int(draw.random() * 1_000)],
            None if noted % 50 == 0 else 1 + noted % INSPECTORS,
            None if noted % 5 < 2 else f"{NOTES[noted % 6]} (visit {inspection})",
            at,
            at,
        )


def _reading_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("readings")
    reading = 0
    for row in _inspection_rows(dataset):
        count = draw.randint(*LEAD_READINGS) if row[2] == "lead" else int(draw.random() < OTHER_READING_SHARE)
        for _ in range(count):
            reading += 1
            yield reading, row[0], draw.randrange(1, 40), draw.choices(RESULTS, RESULT_WEIGHTS)[0]


def _admin_of(dataset: Dataset, client_id: int | None) -> str:
    return next(
        user.id for user in dataset.users
        if user.role == "client_admin" and user.client_id == client_id
    )  # fmt: skip


def _building_grant_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("building grants")
    clients = {user.id: user.client_id for user in dataset.users}
    for manager, buildings in dataset.grants.items():
        grantor = _admin_of(dataset, clients[manager])
        for building in buildings:
            yield (manager, building, grantor, _timestamp(TODAY - timedelta(days=draw.randrange(900)), draw))


def _inspection_grant_rows(dataset: Dataset) -> Iterator[Row]:
    """Yield a few grants a manager, drawn from the first inspections of the manager's client."""
    draw = _generator("inspection grants")
    wanted: dict[int, list[int]] = {client: [] for client in range(1, CLIENTS + 1)}
    for row in _inspection_rows(dataset):
        assert isinstance(row[0], int)
        assert isinstance(row[1], int)
        found = wanted[dataset.owners[row[1] - 1]]
        if len(found) < INSPECTIONS_A_MANAGER * 20:
            found.append(row[0])
        if all(len(each) >= INSPECTIONS_A_MANAGER * 20 for each in wanted.values()):
            break
    for user in dataset.users:
        if user.role != "client_manager" or user.client_id is None:
            continue
        grantor = _admin_of(dataset, user.client_id)
        candidates = wanted[user.client_id]
        for inspection in sorted(draw.sample(candidates, min(INSPECTIONS_A_MANAGER, len(candidates)))):
            yield user.id, inspection, grantor, _timestamp(TODAY, draw)


ROWS = {
    "clients": _client_rows,
    "users": _user_rows,
    "inspectors": _inspector_rows,
    "buildings": _building_rows,
    "inspections": _inspection_rows,
    "reports_lead": _reading_rows,
    "client_manager_building_access": _building_grant_rows,
    "client_manager_inspection_access": _inspection_grant_rows,
}
