"""Generates the rows of the benchmark: deterministic, so a size gives the same rows on every machine.

Rows are tuples in the order of `COLUMNS`. Tables are generators: a million rows need no memory.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

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
OPENED = "2022-05-27T08:00:00+00:00"
"""Clients, users, buildings and grants are older than the first inspection."""

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

INSPECTIONS_A_CALLER = 200  # 40,000 for 200 managers
SUPER_ADMIN_FACTOR = 10
STRIDE = 7_919  # a prime: inspections are drawn from the whole table, not from its start

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
    "reports_lead": ("id", "inspection_id", "gun_id", "result", "updated_at"),
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
    grants: dict[str, list[int]]  # manager -> buildings

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
    roles: list[tuple[str, int | None]] = [("super_admin", None)]
    roles += [("client_admin", client) for client in range(1, CLIENTS + 1)]
    roles += [("client_manager", 1 + position % CLIENTS) for position in range(MANAGERS)]
    for role, client in roles:
        yield DatasetUser(str(uuid.UUID(int=draw.getrandbits(128), version=4)), role, client)


def _grants(owners: list[int], users: tuple[DatasetUser, ...]) -> dict[str, list[int]]:
    draw = _generator("grants")
    owned: dict[int | None, list[int]] = {}
    for position, client in enumerate(owners):
        owned.setdefault(client, []).append(position + 1)
    granted: dict[str, list[int]] = {}
    for manager in users:
        if manager.role == "client_manager":
            buildings = owned[manager.client_id]
            count = min(len(buildings), draw.randint(*BUILDINGS_A_MANAGER))
            granted[manager.id] = sorted(draw.sample(buildings, count))
    return granted


def _client_rows(dataset: Dataset) -> Iterator[Row]:
    for client in range(1, CLIENTS + 1):
        yield client, f"{TREES[client % 10]} {PLACES[client // 10]} Holdings", OPENED, OPENED


def _user_rows(dataset: Dataset) -> Iterator[Row]:
    for position, user in enumerate(dataset.users):
        email = f"{user.role}{position}@example.org"
        yield user.id, email, f"User {position}", user.role, user.client_id, OPENED, OPENED


def _inspector_rows(dataset: Dataset) -> Iterator[Row]:
    for inspector in range(1, INSPECTORS + 1):
        yield inspector, f"{TREES[inspector % 10]} Inspector {inspector}", f"i{inspector}@example.org"


def _building_rows(dataset: Dataset) -> Iterator[Row]:
    draw = _generator("buildings")
    for position, owner in enumerate(dataset.owners):
        building = position + 1
        name = f"{draw.choice(TREES)} {draw.choice(PLACES)} {building}"
        street = f"{draw.randrange(1, 999)} {draw.choice(TREES)} Street"
        city = draw.choice(CITIES)
        floors = draw.randrange(1, 40)
        yield (
            building, name, street, city, draw.choice(STATES), f"{draw.randrange(10_000, 20_000)}",
            owner, OPENED, OPENED, round(draw.uniform(40, 43), 6), round(draw.uniform(-76, -71), 6),
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
        at = f"{day - timedelta(days=noted % 30)}T{noted % 24:02}:00:00+00:00"
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
            yield reading, row[0], draw.randrange(1, 40), draw.choices(RESULTS, RESULT_WEIGHTS)[0], OPENED


def _building_grant_rows(dataset: Dataset) -> Iterator[Row]:
    for manager, buildings in dataset.grants.items():
        for building in buildings:
            yield manager, building, None, OPENED


def _inspection_grant_rows(dataset: Dataset) -> Iterator[Row]:
    """Yield the grants of the first inspections of each client, to its managers in turn."""
    waiting: dict[int | None, list[str]] = {}
    for user in dataset.users:
        if user.role == "client_manager":
            waiting.setdefault(user.client_id, []).extend([user.id] * INSPECTIONS_A_MANAGER)
    for row in _inspection_rows(dataset):
        managers = waiting[dataset.owners[int(str(row[1])) - 1]]
        if managers:
            yield managers.pop(), row[0], None, OPENED


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


@dataclass(frozen=True, slots=True)
class DatasetCaller:
    """A user, ids of buildings that the user owns or is granted, and ids of readable inspections."""

    user: DatasetUser
    buildings: list[int]
    inspections: list[int]


@dataclass(frozen=True, slots=True)
class Callers:
    """All callers by role, and the number of inspections in their database."""

    inspection_count: int
    by_role: dict[str, list[DatasetCaller]]


def choose_callers(dataset: Dataset) -> Callers:
    """Return a caller for every user, with inspections spread evenly over the table."""
    readers: dict[int, list[DatasetCaller]] = {}
    by_role: dict[str, list[DatasetCaller]] = {}
    for user in dataset.users:
        owned = [number for number, owner in enumerate(dataset.owners, 1) if user.client_id in (None, owner)]
        caller = DatasetCaller(user, dataset.grants.get(user.id, owned), [])
        by_role.setdefault(user.role, []).append(caller)
        for building in caller.buildings:
            readers.setdefault(building, []).append(caller)
    rows = [(int(str(row[0])), int(str(row[1]))) for row in dataset.rows("inspections")]
    for position in range(len(rows)):
        inspection, building = rows[position * STRIDE % len(rows)]
        for caller in readers[building]:
            factor = SUPER_ADMIN_FACTOR if caller.user.client_id is None else 1
            if len(caller.inspections) < INSPECTIONS_A_CALLER * factor:
                caller.inspections.append(inspection)
    return Callers(dataset.inspection_count, by_role)
