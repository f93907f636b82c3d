"""Generate a demo portfolio from a seed and a date. Equal arguments give equal portfolios.

The result is an archive for `flask import`: an object of table -> rows, with ids from 1 and no passwords.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from demo.vocabulary import (
    BUILDING_TYPES,
    COMPANIES,
    INSPECTORS,
    NOTES,
    NOTES_CANCELLED,
    NOTES_OPEN,
    NOTES_UNDER_WAY,
    SUPER_ADMIN,
    Neighborhood,
)

Row = dict[str, object]
Portfolio = dict[str, list[Row]]

SEED = 1977
INSPECTIONS = 2_000
DAYS_PAST = 3 * 365
DAYS_AHEAD = 60
DAYS_UNDER_WAY = 14  # the longest time in progress
DAYS_OVERDUE = 45  # the longest time scheduled and overdue
BUILDINGS_SINCE_DAYS = DAYS_PAST + 120

TYPES = ("annual", "fire", "lead", "structural", "emergency")
TYPE_WEIGHTS = (42, 22, 15, 12, 9)
USER_ID_BASE = uuid.UUID("5ca1ab1e-0000-4000-8000-000000000000")


def compose(today: date, seed: int) -> Portfolio:
    """Return clients, users, inspectors, buildings, three years of inspections, readings and grants."""
    return _Composer(today, random.Random(seed)).compose()  # noqa: S311  (no secrets)


class _Composer:
    """Generates the rows of one portfolio."""

    def __init__(self, today: date, rng: random.Random) -> None:
        self.today = today
        self.rng = rng
        self.founded = today - timedelta(days=BUILDINGS_SINCE_DAYS)

    def compose(self) -> Portfolio:
        clients = [self._client(number) for number in range(1, len(COMPANIES) + 1)]
        users = self._users()
        buildings = self._buildings()
        inspections = self._inspections(buildings)
        return {
            "clients": clients,
            "users": users,
            "inspectors": [_inspector(number) for number in range(1, len(INSPECTORS) + 1)],
            "buildings": buildings,
            "inspections": inspections,
            "reports_lead": self._readings(inspections),
            **self._grants(users, buildings, inspections),
        }

    def _client(self, number: int) -> Row:
        since = self._moment(self.founded, 9)
        name = COMPANIES[number - 1].name
        return {"id": number, "name": name, "created_at": since, "updated_at": since}

    def _users(self) -> list[Row]:
        name, email = SUPER_ADMIN
        users = [self._user(1, name, email, "super_admin", None)]
        for client_id, company in enumerate(COMPANIES, start=1):
            people = [(company.admin, "client_admin")]
            people += [(manager, "client_manager") for manager in company.managers]
            for name, role in people:
                email = f"{name.split()[0].lower()}@{company.domain}"
                users.append(self._user(len(users) + 1, name, email, role, client_id))
        return users

    def _user(self, number: int, name: str, email: str, role: str, client_id: int | None) -> Row:
        since = self._moment(self.founded + timedelta(days=1), 9)
        return {
            "id": str(uuid.UUID(int=USER_ID_BASE.int + number)),
            "email": email,
            "name": name,
            "role": role,
            "client_id": client_id,
            "created_at": since,
            "updated_at": since,
        }

    def _buildings(self) -> list[Row]:
        rows: list[Row] = []
        for client_id, company in enumerate(COMPANIES, start=1):
            for index, name in enumerate(company.buildings):
                neighborhood = company.neighborhoods[index % len(company.neighborhoods)]
                rows.append(self._building(len(rows) + 1, client_id, name, neighborhood))
        return rows

    def _building(self, number: int, client_id: int, name: str, neighborhood: Neighborhood) -> Row:
        building_type = self.rng.choices(BUILDING_TYPES, [each.weight for each in BUILDING_TYPES])[0]
        floors = self.rng.randint(*building_type.floors)
        since = self._moment(self.founded + timedelta(days=self.rng.randint(2, 70)), 11)
        return {
            "id": number,
            "name": name,
            "address": f"{self.rng.randint(11, 980)} {self.rng.choice(neighborhood.streets)}",
            "city": neighborhood.city,
            "state": neighborhood.state,
            "zip": neighborhood.zip,
            "client_id": client_id,
            "created_at": since,
            "updated_at": since,
            "latitude": round(neighborhood.latitude + self.rng.uniform(-0.006, 0.006), 6),
            "longitude": round(neighborhood.longitude + self.rng.uniform(-0.008, 0.008), 6),
            "building_type": building_type.name,
            "floors": floors,
            "units": floors * self.rng.randint(*building_type.units_a_floor),
        }

    def _inspections(self, buildings: Sequence[Row]) -> list[Row]:
        rows = [self._inspection(self.rng.choice(buildings)) for _ in range(INSPECTIONS)]
        rows.sort(key=lambda row: (str(row["created_at"]), str(row["date_visited"])))
        return [{"id": number, **row} for number, row in enumerate(rows, start=1)]

    def _inspection(self, building: Row) -> Row:
        kind = self.rng.choices(TYPES, TYPE_WEIGHTS)[0]
        day = self._working_day(emergency=kind == "emergency")
        status = self._status(kind, day)
        # An emergency is created on its day. Other inspections are booked weeks before, on a past day.
        notice = 0 if kind == "emergency" else self.rng.randint(5, 42)
        booked = min(day - timedelta(days=notice), self.today - timedelta(days=1))
        created = self._moment(booked, 8)
        settled = status in ("completed", "failed", "in_progress")
        return {
            "building_id": building["id"],
            "inspection_type": kind,
            "date_visited": day.isoformat(),
            "status": status,
            "inspector_id": self._inspector_of(building, day),
            "notes": self._notes(kind, status, building),
            "created_at": created,
            "updated_at": self._moment(day, 16) if settled and day < self.today else created,
        }

    def _working_day(self, *, emergency: bool) -> date:
        ahead = -1 if emergency else DAYS_AHEAD
        day = self.today + timedelta(days=self.rng.randint(-DAYS_PAST, ahead))
        if emergency or day.weekday() < 5:
            return day
        return day - timedelta(days=day.weekday() - 4)

    def _status(self, kind: str, day: date) -> str:
        age_days = (self.today - day).days
        if kind == "emergency":
            return self._weighted_choice(in_progress=50 if age_days < 4 else 0, completed=80, failed=20)
        if age_days < 0:
            return self._weighted_choice(scheduled=96, cancelled=4)
        if age_days <= DAYS_UNDER_WAY:
            return self._weighted_choice(scheduled=15, in_progress=25, completed=50, failed=7, cancelled=3)
        if age_days <= DAYS_OVERDUE:
            return self._weighted_choice(scheduled=10, completed=75, failed=10, cancelled=5)
        return self._weighted_choice(completed=84, failed=11, cancelled=5)

    def _weighted_choice(self, **weights: int) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def _inspector_of(self, building: Row, day: date) -> int | None:
        """Choose an inspector of the region. Half of the inspections more than three weeks ahead have none."""
        if day > self.today + timedelta(days=21) and self.rng.random() < 0.5:
            return None
        region = int(str(building["client_id"])) * 2  # two inspectors for each client, two for all
        return self.rng.choice((region - 1, region, 7, 8))

    def _notes(self, kind: str, status: str, building: Row) -> str | None:
        notes_by_status = {"scheduled": NOTES_OPEN, "in_progress": NOTES_UNDER_WAY, "cancelled": NOTES_CANCELLED}
        templates = notes_by_status.get(status) or NOTES[kind, status]
        if self.rng.random() < (0.75 if status == "scheduled" else 0.1):
            return None
        floors = int(str(building["floors"]))
        floor = self.rng.randint(1, floors)
        unit = f"{floor}{self.rng.choice('ABCDEF')}"
        return self.rng.choice(templates).format(floor=floor, floors=floors, unit=unit)

    def _readings(self, inspections: Sequence[Row]) -> list[Row]:
        """Return XRF readings. A failed lead inspection has a positive reading; a completed one has none."""
        rows: list[Row] = []
        for inspection in inspections:
            status = inspection["status"]
            if inspection["inspection_type"] != "lead" or status not in ("completed", "failed"):
                continue
            gun_id = self.rng.choice((20417, 20418, 31122, 40950))
            results = [self._weighted_choice(negative=95, inconclusive=5) for _ in range(self._count(6, 18))]
            if status == "failed":
                for index in self.rng.sample(range(len(results)), self._count(1, 4)):
                    results[index] = "positive"
            for result in results:
                rows.append(
                    {"id": len(rows) + 1, "inspection_id": inspection["id"], "gun_id": gun_id, "result": result}
                )
        return rows

    def _count(self, least: int, most: int) -> int:
        return self.rng.randint(least, most)

    def _grants(self, users: Sequence[Row], buildings: Sequence[Row], inspections: Sequence[Row]) -> Portfolio:
        """Grant each client's buildings to its managers, and some rows of one client to the admin of another."""
        root = users[0]
        admins = {user["client_id"]: user for user in users if user["role"] == "client_admin"}
        managers = [user for user in users if user["role"] == "client_manager"]
        to_managers: list[Row] = []
        to_managers_single: list[Row] = []
        for client_id, admin in admins.items():
            team = [manager for manager in managers if manager["client_id"] == client_id]
            own = [building for building in buildings if building["client_id"] == client_id]
            for index, building in enumerate(own[:-1]):  # the last building has no manager
                to_managers.append(self._grant("manager", team[index % len(team)], building, admin))
            visits = [visit for visit in inspections if visit["building_id"] == own[-1]["id"]]
            to_managers_single += [self._grant("manager", team[0], visit, admin) for visit in visits[-2:]]
        neighbour, foreign = admins[1], [row for row in buildings if row["client_id"] == 2]
        foreign_inspections = [row for row in inspections if row["building_id"] == foreign[-1]["id"]]
        return {
            "client_admin_building_access": [self._grant("admin", neighbour, foreign[0], root)],
            "client_manager_building_access": to_managers,
            "client_admin_inspection_access": [self._grant("admin", neighbour, foreign_inspections[-1], root)],
            "client_manager_inspection_access": to_managers_single,
        }

    def _grant(self, grantee: str, user: Row, target: Row, grantor: Row) -> Row:
        key = "inspection_id" if "inspection_type" in target else "building_id"
        return {
            f"{grantee}_id": user["id"],
            key: target["id"],
            "assigned_by": grantor["id"],
            "assigned_at": self._moment(self.today - timedelta(days=self._count(1, 60)), 10),
        }

    def _moment(self, day: date, hour: int) -> str:
        moment = datetime.combine(day, time(hour, self._count(0, 59)), UTC)
        return moment.isoformat()


def _inspector(number: int) -> Row:
    name = INSPECTORS[number - 1]
    local = name.split()[0].lower()
    return {"id": number, "name": name, "email": f"{local}@fieldwork.example"}
