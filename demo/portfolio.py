"""Generate a demo portfolio from a seed and a date. Equal arguments give equal portfolios.

The result is an archive for `flask import`: an object of table -> rows, with ids from 1 and no passwords.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from demo.cases import Case, CaseComposer, People, number_findings, number_visits
from demo.lead import LeadComposer
from demo.schedules import ScheduleComposer
from demo.visits import DAYS_PAST, Row, Sampler, VisitComposer
from demo.vocabulary import BUILDING_TYPES, COMPANIES, FIRM, INSPECTORS, LINKED_INSPECTORS, SUPER_ADMIN, Neighborhood

Portfolio = dict[str, list[Row]]

SEED = 1977
INSPECTIONS = 2_000
BUILDINGS_SINCE_DAYS = DAYS_PAST + 120
USER_ID_BASE = uuid.UUID("5ca1ab1e-0000-4000-8000-000000000000")


def compose(today: date, seed: int) -> Portfolio:
    """Return a portfolio: three years of inspections, schedules, cases, findings, readings and grants."""
    return _Composer(Sampler(today, seed)).compose()


class _Composer:
    """Generates the rows of one portfolio."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.visits = VisitComposer(sampler)
        self.schedules = ScheduleComposer(sampler, self.visits)
        self.cases = CaseComposer(sampler, self.visits)
        self.founded = sampler.day(-BUILDINGS_SINCE_DAYS)

    def compose(self) -> Portfolio:
        clients = [self._client(number) for number in range(1, len(COMPANIES) + 1)]
        users = self._users()
        buildings = self._buildings()
        accounts = self._accounts_of_inspectors(len(users))
        self.schedules.compose(buildings)
        cases = self._cases(buildings)
        visits = number_visits(cases)
        inspections = [visit.inspection for visit in visits]
        grants = self._grants(users, buildings, inspections)
        lead = LeadComposer(self.sampler)
        lead.compose(inspections)
        findings, events = self._findings(cases, people_of(users, accounts, grants))
        return {
            "clients": clients,
            "users": [*users, *accounts.values()],
            "inspectors": [self._inspector(number, accounts.get(number)) for number in range(1, len(INSPECTORS) + 1)],
            "buildings": buildings,
            "building_details": [*lead.details(buildings, [each["name"] for each in clients])],
            "inspections": inspections,
            "reports_lead": lead.readings,
            "calibration_checks": lead.checks,
            "xrf_instruments": [*lead.instruments(self.founded)],
            "schedules": self.schedules.schedules,
            "inspection_plans": [visit.planned for visit in visits if visit.planned is not None],
            "findings": findings,
            "finding_events": events,
            **grants,
        }

    def _client(self, number: int) -> Row:
        since = self.sampler.moment(self.founded, 9)
        name = COMPANIES[number - 1].name
        contact = {"address": f"{number} Harbor Road, Portland, ME 04101", "phone": f"+1 207 555 01{number:02}"}
        return {"id": number, "name": name, **contact, "created_at": since, "updated_at": since}

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

    def _accounts_of_inspectors(self, users: int) -> dict[int, Row]:
        """Return the users of the inspectors who sign in, by inspector. Their ids follow those of the other users."""
        return {
            inspector_id: self._user(
                number, INSPECTORS[inspector_id - 1], email_of(inspector_id), "client_manager", client
            )
            for number, (inspector_id, (client, _)) in enumerate(LINKED_INSPECTORS.items(), start=users + 1)
        }

    def _inspector(self, number: int, account: Row | None) -> Row:
        return {
            "id": number,
            "name": INSPECTORS[number - 1],
            "email": email_of(number),
            "user_id": account["id"] if account is not None else None,
            "license": f"LI-{20_400 + 17 * number}",
            "license_state": None,  # they work in several states
            "license_expires_on": self.sampler.day(100 * number - 60).isoformat(),
            **FIRM,
        }

    def _user(self, number: int, name: str, email: str, role: str, client_id: int | None) -> Row:
        since = self.sampler.moment(self.founded + timedelta(days=1), 9)
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
        building_type = self.sampler.rng.choices(BUILDING_TYPES, [each.weight for each in BUILDING_TYPES])[0]
        floors = self.sampler.rng.randint(*building_type.floors)
        since = self.sampler.moment(self.founded + timedelta(days=self.sampler.rng.randint(2, 70)), 11)
        return {
            "id": number,
            "name": name,
            "address": f"{self.sampler.rng.randint(11, 980)} {self.sampler.rng.choice(neighborhood.streets)}",
            "city": neighborhood.city,
            "state": neighborhood.state,
            "zip": neighborhood.zip,
            "client_id": client_id,
            "created_at": since,
            "updated_at": since,
            "latitude": round(neighborhood.latitude + self.sampler.rng.uniform(-0.006, 0.006), 6),
            "longitude": round(neighborhood.longitude + self.sampler.rng.uniform(-0.008, 0.008), 6),
            "building_type": building_type.name,
            "floors": floors,
            "units": floors * self.sampler.rng.randint(*building_type.units_a_floor),
        }

    def _cases(self, buildings: Sequence[Row]) -> list[Case]:
        """Return the inspections of schedules and others, each with its re-inspections."""
        cases: list[Case] = []
        number = 0
        for case in self._first_rounds(buildings):
            self.cases.add_rounds(case)
            case.visits = case.visits[: INSPECTIONS - number]
            number += len(case.visits)
            cases.append(case)
            if number == INSPECTIONS:
                break
        return cases

    def _first_rounds(self, buildings: Sequence[Row]) -> Iterator[Case]:
        yield from self.schedules.cases
        while True:
            yield Case([self.visits.unplanned(self.sampler.rng.choice(buildings))])

    def _findings(self, cases: Sequence[Case], people: People) -> tuple[list[Row], list[Row]]:
        failed = [case for case in cases if self.cases.has_case(case.visits[0])]
        return number_findings(history for case in failed for history in self.cases.histories(case, people))

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
            "assigned_at": self.sampler.moment(self.sampler.day(-self.sampler.count(1, 60)), 10),
        }


def email_of(inspector_id: int) -> str:
    return f"{INSPECTORS[inspector_id - 1].split()[0].lower()}@fieldwork.example"


def people_of(users: Sequence[Row], accounts: Mapping[int, Row], grants: Portfolio) -> People:
    """Return the users who work on findings."""
    return People(
        {user["client_id"]: user["id"] for user in users if user["role"] == "client_admin"},
        {grant["building_id"]: grant["manager_id"] for grant in grants["client_manager_building_access"]},
        {number: user["id"] for number, user in accounts.items()},
    )


def with_passwords(portfolio: Portfolio) -> tuple[Portfolio, dict[str, str]]:
    """Return the portfolio with a random password for each user, and the passwords by e-mail address."""
    passwords = {str(user["email"]): secrets.token_urlsafe(12) for user in portfolio["users"]}
    users = [{**user, "password": passwords[str(user["email"])]} for user in portfolio["users"]]
    return {**portfolio, "users": users}, passwords
