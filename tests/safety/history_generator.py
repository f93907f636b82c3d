"""Random histories: reverted changes of hidden rows, and creation, changes and deletion of rows, grants and users."""

import random
from dataclasses import dataclass

from tests.safety.service_instances import HttpRequest, make_request
from tests.support import oracle, tokens
from tests.support.worlds import GRANTS

SERVICE = tokens.SERVICE_KEY
EDITED_COLUMNS = {
    "clients": "name",
    "users": "name",
    "inspectors": "name",
    "buildings": "name",
    "inspections": "notes",
    "building_details": "parcel",
    "reports_lead": "result",
    "calibration_checks": "note",
    "xrf_instruments": "mode",
    "xrf_limits": "negative_below",
}
TEMPORARY_IDS_START = 700  # ids of rows that are created and deleted

Sender = dict | str
Event = tuple[Sender, HttpRequest]
"""A request and its sender: a user or the service key."""


@dataclass(slots=True)
class HistoryGenerator:
    """Draw requests that change a world, for comparisons of what one user sees."""

    rng: random.Random
    user: dict
    serial: int = 0

    def choose(self, rows: list[dict]) -> dict | None:
        return self.rng.choice(rows) if rows else None

    def hidden_rows(self, world: dict, table: str) -> list[dict]:
        """Return the rows that the user does not see, without super admins: the service key sends these requests."""
        rows = [row for row in world[table] if not oracle.visible(world, self.user, table, row)]
        return [row for row in rows if row.get("role") != "super_admin"]

    def users_of_other_clients(self, world: dict, role: str) -> list[dict]:
        people = [each for each in world["users"] if each["client_id"] != self.user["client_id"]]
        return [each for each in people if each["role"] == role]

    def other_clients(self, world: dict) -> list[int]:
        """Return the ids of all clients except the user's."""
        return [row["id"] for row in world["clients"] if row["id"] != self.user["client_id"]]

    # Reverted requests

    def reverted_requests(self, world: dict) -> list[Event]:
        """Return requests that restore the world and that the user never sees, or an empty list."""
        self.serial += 1
        draw = self.rng.choice((
            self.rename_hidden_row, self.rename_hidden_row, self.grant_and_revoke,
            self.create_and_delete_inspection, self.create_and_delete_building, self.move_building_and_back,
            self.move_manager_and_back, self.ban_and_unban, self.refused_write,
        ))  # fmt: skip
        return draw(world)

    def change_and_revert(self, table: str, row: dict, changes: dict, sender: Sender = SERVICE) -> list[Event]:
        original = {name: row[name] for name in (*changes, "updated_at") if name in row}
        columns = oracle.PRIMARY_KEYS.get(table, ("id",))
        path = f"/{table}?{'&'.join(f'{name}=eq.{row[name]}' for name in columns)}"
        return [(sender, make_request("PATCH", path, changes)), (sender, make_request("PATCH", path, original))]

    def rename_hidden_row(self, world: dict) -> list[Event]:
        table = self.rng.choice(list(EDITED_COLUMNS))
        row = self.choose(self.hidden_rows(world, table))
        if row is None:
            return []
        value = 0.25 if table == "xrf_limits" else f"Temporary {self.serial}"
        return self.change_and_revert(table, row, {EDITED_COLUMNS[table]: value})

    def grant_and_revoke(self, world: dict) -> list[Event]:
        """Grant a row, possibly a row of the user's client, to a user of another client, and revoke the grant."""
        table = self.rng.choice(list(GRANTS))
        role, grantee, targets, target = GRANTS[table]
        other_user, row = self.choose(self.users_of_other_clients(world, role)), self.choose(world[targets])
        if other_user is None or row is None:
            return []
        grant = {grantee: other_user["id"], target: row["id"]}
        if any(grant.items() <= each.items() for each in world[table]):
            return []
        query = "&".join(f"{name}=eq.{value}" for name, value in grant.items())
        return [
            (SERVICE, make_request("POST", f"/{table}", grant)),
            (SERVICE, make_request("DELETE", f"/{table}?{query}")),
        ]

    def create_and_delete_inspection(self, world: dict) -> list[Event]:
        building = self.choose(self.hidden_rows(world, "buildings"))
        if building is None:
            return []
        inspection = {"building_id": building["id"], "inspection_type": "temporary", "status": "completed"}
        return self.create_and_delete("inspections", {**inspection, "date_visited": "2025-06-14"})

    def create_and_delete_building(self, world: dict) -> list[Event]:
        return self.create_and_delete(
            "buildings", {"name": "Temporary", "client_id": self.rng.choice(self.other_clients(world))}
        )

    def create_and_delete(self, table: str, row: dict) -> list[Event]:
        key = TEMPORARY_IDS_START + self.serial
        return [
            (SERVICE, make_request("POST", f"/{table}", {**row, "id": key})),
            (SERVICE, make_request("DELETE", f"/{table}?id=eq.{key}")),
        ]

    def move_building_and_back(self, world: dict) -> list[Event]:
        """Move a building to another client and back, if no grant depends on the building."""
        granted_ids = {grant.get("building_id") for table in GRANTS for grant in world[table]}
        granted_inspection_ids = {grant.get("inspection_id") for table in GRANTS for grant in world[table]}
        granted_ids |= {row["building_id"] for row in world["inspections"] if row["id"] in granted_inspection_ids}
        ungranted = [row for row in self.hidden_rows(world, "buildings") if row["id"] not in granted_ids]
        building = self.choose(ungranted)
        if building is None:
            return []
        change = {"client_id": self.rng.choice(self.other_clients(world))}
        return self.change_and_revert("buildings", building, change)

    def move_manager_and_back(self, world: dict) -> list[Event]:
        """Move a manager without grants to another client and back."""
        granted_ids = {grant.get("manager_id") for table in GRANTS for grant in world[table]}
        ungranted = [
            row for row in self.users_of_other_clients(world, "client_manager") if row["id"] not in granted_ids
        ]
        other_user = self.choose(ungranted)
        if other_user is None:
            return []
        return self.change_and_revert("users", other_user, {"client_id": self.rng.choice(self.other_clients(world))})

    def ban_and_unban(self, world: dict) -> list[Event]:
        other_user = self.choose(self.users_of_other_clients(world, "client_manager"))
        if other_user is None:
            return []
        path = f"/auth/v1/admin/users/{other_user['id']}"
        return [(SERVICE, make_request("PUT", path, {"ban_duration": each})) for each in ("1h", "none")]

    def refused_write(self, world: dict) -> list[Event]:
        admin = self.choose(self.users_of_other_clients(world, "client_admin"))
        if admin is None:
            return []
        row = {"name": "Temporary", "client_id": self.user["client_id"]}
        return [(admin, make_request("POST", "/buildings", row))]

    # Events

    def event(self, world: dict) -> Event | None:
        """Return a request that may be visible to the user. The service key or an admin of any client sends it."""
        self.serial += 1
        draw = self.rng.choice((
            self.move_building, self.move_building, self.move_user, self.move_user,
            self.create_grant, self.create_grant, self.delete_row, self.delete_row,
            self.delete_grant, self.move_inspection, self.edit_text,
        ))  # fmt: skip
        found = draw(world)
        admin = self.choose([each for each in world["users"] if each["role"] == "client_admin"])
        return (admin, found[1]) if found and admin and self.rng.random() < 0.25 else found

    def preferred_client_id(self, world: dict) -> int:
        """Return the user's client with more than uniform probability, otherwise any client."""
        return self.rng.choice((self.user["client_id"], self.rng.choice(world["clients"])["id"]))

    def other_user(self, world: dict) -> dict:
        people = [each for each in world["users"] if each["role"] != "super_admin"]
        return self.rng.choice([each for each in people if each["id"] != self.user["id"]])

    def move_building(self, world: dict) -> Event | None:
        return self.update_row("buildings", self.choose(world["buildings"]), client_id=self.preferred_client_id(world))

    def move_user(self, world: dict) -> Event | None:
        role = self.rng.choice(("client_admin", "client_manager"))
        return self.update_row("users", self.other_user(world), client_id=self.preferred_client_id(world), role=role)

    def move_inspection(self, world: dict) -> Event | None:
        building = self.rng.choice(world["buildings"])["id"] if world["buildings"] else 0
        return self.update_row("inspections", self.choose(world["inspections"]), building_id=building)

    def edit_text(self, world: dict) -> Event | None:
        table = self.rng.choice(("buildings", "inspections", "clients"))
        changes = {EDITED_COLUMNS[table]: f"Edited {self.serial}"}
        return self.update_row(table, self.choose(world[table]), **changes)

    def update_row(self, table: str, row: dict | None, **changes: object) -> Event | None:
        if row is None:
            return None
        return SERVICE, make_request("PATCH", f"/{table}?id=eq.{row['id']}", changes)

    def create_grant(self, world: dict) -> Event | None:
        table = self.rng.choice(list(GRANTS))
        role, grantee, targets, target = GRANTS[table]
        people = [each for each in world["users"] if each["role"] == role]
        other_user, row = self.choose(people), self.choose(world[targets])
        if other_user is None or row is None:
            return None
        sender = self.rng.choice(world["users"])["id"]
        grant = {grantee: other_user["id"], target: row["id"], "assigned_by": sender}
        return SERVICE, make_request("POST", f"/{table}", grant)

    def delete_grant(self, world: dict) -> Event | None:
        table = self.rng.choice(list(GRANTS))
        grant = self.choose(world[table])
        if grant is None:
            return None
        query = "&".join(f"{name}=eq.{grant[name]}" for name in oracle.KEYS[table])
        return SERVICE, make_request("DELETE", f"/{table}?{query}")

    def delete_row(self, world: dict) -> Event | None:
        table = self.rng.choice(("buildings", "inspections", "inspectors", "users"))
        row = self.other_user(world) if table == "users" else self.choose(world[table])
        return (SERVICE, make_request("DELETE", f"/{table}?id=eq.{row['id']}")) if row else None
