"""The users that send requests, each with rows that the user can read. Requests are composed from them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bench.dataset import Dataset, DatasetUser

INSPECTIONS_A_CALLER: Final = 200  # 40,000 for 200 managers
SUPER_ADMIN_FACTOR: Final = 10
STRIDE: Final = 7_919  # a prime: inspections are drawn from the whole table, not from its start


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
        caller = DatasetCaller(user, _buildings(dataset, user), [])
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


def _buildings(dataset: Dataset, user: DatasetUser) -> list[int]:
    if user.role == "client_manager":
        return list(dataset.grants[user.id])
    return [
        position + 1 for position, owner in enumerate(dataset.owners)
        if user.client_id in (None, owner)
    ]  # fmt: skip


def save_callers(callers: Callers, path: Path) -> None:
    path.write_text(json.dumps(asdict(callers)), encoding="utf-8")


def load_callers(path: Path) -> Callers:
    saved = json.loads(path.read_text(encoding="utf-8"))
    by_role = {
        role: [DatasetCaller(DatasetUser(**each["user"]), each["buildings"], each["inspections"]) for each in callers]
        for role, callers in saved["by_role"].items()
    }
    return Callers(saved["inspection_count"], by_role)
