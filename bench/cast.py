"""Who asks for what? Enough of a portfolio to compose requests from, small enough to keep beside it."""

from __future__ import annotations

import json
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path

from bench.portfolio import Person
from bench.portfolio import Portfolio

KEPT_A_PERSON = 200  # inspections by which somebody may ask; two hundred managers make it 40,000


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody, buildings they own or see, and inspections that they can read."""

    person: Person
    buildings: list[int]
    inspections: list[int]


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody who asks, by role."""

    inspection_count: int
    askers: dict[str, list[Asker]]


def choose(portfolio: Portfolio) -> Cast:
    """Choose rows for everybody, evenly over the table, so that no page of it is asked for twice in a row."""
    readers: dict[int, list[Asker]] = {}
    askers: dict[str, list[Asker]] = {}
    for person in portfolio.people:
        asker = Asker(person, _buildings(portfolio, person), [])
        askers.setdefault(person.role, []).append(asker)
        for building in asker.buildings:
            readers.setdefault(building, []).append(asker)
    # Starting at many places rather than at row 1, else everybody asks for the oldest rows.
    rows = [(int(str(row[0])), int(str(row[1]))) for row in portfolio.rows("inspections")]
    step = 7_919
    for place in range(len(rows)):
        inspection, building = rows[place * step % len(rows)]
        for asker in readers[building]:
            if len(asker.inspections) < KEPT_A_PERSON * (
                10 if asker.person.client_id is None else 1
            ):
                asker.inspections.append(inspection)
    return Cast(portfolio.inspection_count, askers)


def _buildings(portfolio: Portfolio, person: Person) -> list[int]:
    if person.role == "client_manager":
        return list(portfolio.grants[person.id])
    return [
        place + 1 for place, owner in enumerate(portfolio.owners)
        if person.client_id in (None, owner)
    ]  # fmt: skip


def keep(cast: Cast, path: Path) -> None:
    path.write_text(json.dumps(asdict(cast)), encoding="utf-8")


def read(path: Path) -> Cast:
    kept = json.loads(path.read_text(encoding="utf-8"))
    askers = {
        role: [
            Asker(Person(**each["person"]), each["buildings"], each["inspections"])
            for each in found
        ]
        for role, found in kept["askers"].items()
    }
    return Cast(kept["inspection_count"], askers)
