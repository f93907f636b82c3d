"""What may have happened before, and what happens then: hidden rows that change and become what they were, and rows,
grants and people that come, move and go, whose ever they are.
"""

import random
from dataclasses import dataclass

from tests.safety.sites import Asking, asking
from tests.support import oracle, tokens
from tests.support.worlds import GRANTS

SERVICE = tokens.SERVICE_KEY
SAID_OF = {
    "clients": "name",
    "users": "name",
    "inspectors": "name",
    "buildings": "name",
    "inspections": "notes",
    "reports_lead": "result",
}
FIRST_ID = 700  # of rows that come and go

Who = dict | str
Event = tuple[Who, Asking]
"""A request, and who sends it: a user, or the service key."""


@dataclass(slots=True)
class Past:
    """Draws what happens, in a world as it is by then, before and beside one user."""

    rng: random.Random
    user: dict
    drawn: int = 0

    def some(self, rows: list[dict]) -> dict | None:
        return self.rng.choice(rows) if rows else None

    def hidden(self, world: dict, table: str) -> list[dict]:
        """Rows that the user does not see; but for super admins, whose door this comes through."""
        rows = [row for row in world[table] if not oracle.visible(world, self.user, table, row)]
        return [row for row in rows if row.get("role") != "super_admin"]

    def strangers(self, world: dict, role: str) -> list[dict]:
        people = [each for each in world["users"] if each["client_id"] != self.user["client_id"]]
        return [each for each in people if each["role"] == role]

    def others(self, world: dict) -> list[int]:
        """The clients that are not the user's."""
        return [row["id"] for row in world["clients"] if row["id"] != self.user["client_id"]]

    # There and back

    def detour(self, world: dict) -> list[Event]:
        """Requests that end where they began, and of which the user sees nothing; none where nothing is hidden."""
        self.drawn += 1
        draw = self.rng.choice((
            self.renamed, self.renamed, self.granted, self.inspected, self.made, self.moved,
            self.transferred, self.banned, self.refused,
        ))  # fmt: skip
        return draw(world)

    def back_and_forth(self, table: str, row: dict, changes: dict, by: Who = SERVICE) -> list[Event]:
        was = {name: row[name] for name in (*changes, "updated_at") if name in row}
        named = f"/{table}?id=eq.{row['id']}"
        return [(by, asking("PATCH", named, changes)), (by, asking("PATCH", named, was))]

    def renamed(self, world: dict) -> list[Event]:
        table = self.rng.choice(list(SAID_OF))
        row = self.some(self.hidden(world, table))
        if row is None:
            return []
        return self.back_and_forth(table, row, {SAID_OF[table]: f"Passing {self.drawn}"})

    def granted(self, world: dict) -> list[Event]:
        """A stranger is granted something, which may be the user's, and it is taken back."""
        table = self.rng.choice(list(GRANTS))
        role, grantee, targets, target = GRANTS[table]
        person, row = self.some(self.strangers(world, role)), self.some(world[targets])
        if person is None or row is None:
            return []
        grant = {grantee: person["id"], target: row["id"]}
        if any(grant.items() <= each.items() for each in world[table]):
            return []
        named = "&".join(f"{name}=eq.{value}" for name, value in grant.items())
        return [(SERVICE, asking("POST", f"/{table}", grant)), (SERVICE, asking("DELETE", f"/{table}?{named}"))]

    def inspected(self, world: dict) -> list[Event]:
        building = self.some(self.hidden(world, "buildings"))
        if building is None:
            return []
        visit = {"building_id": building["id"], "inspection_type": "passing", "status": "completed"}
        return self.come_and_gone("inspections", {**visit, "date_visited": "2025-06-14"})

    def made(self, world: dict) -> list[Event]:
        return self.come_and_gone("buildings", {"name": "Passing", "client_id": self.rng.choice(self.others(world))})

    def come_and_gone(self, table: str, row: dict) -> list[Event]:
        key = FIRST_ID + self.drawn
        return [
            (SERVICE, asking("POST", f"/{table}", {**row, "id": key})),
            (SERVICE, asking("DELETE", f"/{table}?id=eq.{key}")),
        ]

    def moved(self, world: dict) -> list[Event]:
        """A building is another client's for a while, if that takes no grant with it."""
        held = {grant.get("building_id") for table in GRANTS for grant in world[table]}
        on_visits = {grant.get("inspection_id") for table in GRANTS for grant in world[table]}
        held |= {row["building_id"] for row in world["inspections"] if row["id"] in on_visits}
        free = [row for row in self.hidden(world, "buildings") if row["id"] not in held]
        building = self.some(free)
        if building is None:
            return []
        to = {"client_id": self.rng.choice(self.others(world))}
        return self.back_and_forth("buildings", building, to)

    def transferred(self, world: dict) -> list[Event]:
        """The same of a manager, who keeps no token."""
        held = {grant.get("manager_id") for table in GRANTS for grant in world[table]}
        free = [row for row in self.strangers(world, "client_manager") if row["id"] not in held]
        person = self.some(free)
        if person is None:
            return []
        return self.back_and_forth("users", person, {"client_id": self.rng.choice(self.others(world))})

    def banned(self, world: dict) -> list[Event]:
        person = self.some(self.strangers(world, "client_manager"))
        if person is None:
            return []
        named = f"/auth/v1/admin/users/{person['id']}"
        return [(SERVICE, asking("PUT", named, {"ban_duration": each})) for each in ("1h", "none")]

    def refused(self, world: dict) -> list[Event]:
        admin = self.some(self.strangers(world, "client_admin"))
        if admin is None:
            return []
        row = {"name": "Passing", "client_id": self.user["client_id"]}
        return [(admin, asking("POST", "/buildings", row))]

    # What happens then

    def event(self, world: dict) -> Event | None:
        """Something that the user may see, be it done by the service key or by an admin of whichever client."""
        self.drawn += 1
        draw = self.rng.choice((
            self.handed_over, self.handed_over, self.joined, self.joined, self.given, self.given,
            self.deleted, self.deleted, self.ended, self.put_elsewhere, self.said,
        ))  # fmt: skip
        found = draw(world)
        admin = self.some([each for each in world["users"] if each["role"] == "client_admin"])
        return (admin, found[1]) if found and admin and self.rng.random() < 0.25 else found

    def client(self, world: dict) -> int:
        """The user's, more often than chance would have it."""
        return self.rng.choice((self.user["client_id"], self.rng.choice(world["clients"])["id"]))

    def person(self, world: dict) -> dict:
        people = [each for each in world["users"] if each["role"] != "super_admin"]
        return self.rng.choice([each for each in people if each["id"] != self.user["id"]])

    def handed_over(self, world: dict) -> Event | None:
        return self.changed("buildings", self.some(world["buildings"]), client_id=self.client(world))

    def joined(self, world: dict) -> Event | None:
        role = self.rng.choice(("client_admin", "client_manager"))
        return self.changed("users", self.person(world), client_id=self.client(world), role=role)

    def put_elsewhere(self, world: dict) -> Event | None:
        building = self.rng.choice(world["buildings"])["id"] if world["buildings"] else 0
        return self.changed("inspections", self.some(world["inspections"]), building_id=building)

    def said(self, world: dict) -> Event | None:
        table = self.rng.choice(("buildings", "inspections", "clients"))
        said = {SAID_OF[table]: f"Said {self.drawn}"}
        return self.changed(table, self.some(world[table]), **said)

    def changed(self, table: str, row: dict | None, **changes: object) -> Event | None:
        if row is None:
            return None
        return SERVICE, asking("PATCH", f"/{table}?id=eq.{row['id']}", changes)

    def given(self, world: dict) -> Event | None:
        table = self.rng.choice(list(GRANTS))
        role, grantee, targets, target = GRANTS[table]
        people = [each for each in world["users"] if each["role"] == role]
        person, row = self.some(people), self.some(world[targets])
        if person is None or row is None:
            return None
        by = self.rng.choice(world["users"])["id"]
        grant = {grantee: person["id"], target: row["id"], "assigned_by": by}
        return SERVICE, asking("POST", f"/{table}", grant)

    def ended(self, world: dict) -> Event | None:
        table = self.rng.choice(list(GRANTS))
        grant = self.some(world[table])
        if grant is None:
            return None
        named = "&".join(f"{name}=eq.{grant[name]}" for name in oracle.KEYS[table])
        return SERVICE, asking("DELETE", f"/{table}?{named}")

    def deleted(self, world: dict) -> Event | None:
        table = self.rng.choice(("buildings", "inspections", "inspectors", "users"))
        row = self.person(world) if table == "users" else self.some(world[table])
        return (SERVICE, asking("DELETE", f"/{table}?id=eq.{row['id']}")) if row else None
