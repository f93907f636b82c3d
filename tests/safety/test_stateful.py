"""Stateful tests: rows, grants, users and sessions change in random order.

After each step, responses agree with the oracle and stored rows with the model.
"""

import types

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from inspections.reporting import dashboard as dashboard_module
from tests.safety import write_model
from tests.safety.database_access import NOW
from tests.safety.hypothesis_settings import deterministic_settings, scaled_count
from tests.safety.planted_faults import caller_cached_by_claims
from tests.safety.service_instances import HttpResponse, ServiceInstance, make_request
from tests.safety.step_generator import write_request
from tests.safety.world_pairs import random_unique_world, visible_rows
from tests.safety.write_model import Delete, Insert, Step, Update, Where
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES
from tests.support.worlds import GRANTS

COMMIT_SIZE = (40, 25)
LONG_SIZE = (2_000, 60)
WORLDS = 6
STATUS = {"privilege": 403, "rule": 403, "23503": 409, "23505": 409, "23514": 400}

PASSWORD = "correct horse battery staple"

numbers = st.integers(0, 10_000)


class AccessStateMachine(RuleBasedStateMachine):
    """The state machine. `run` sets `instance` and `uuid_source` in a subclass."""

    instance: ServiceInstance
    uuid_source: types.SimpleNamespace

    def __init__(self) -> None:
        super().__init__()
        self.world: dict = {}
        self.revoked_ids: set[str] = set()
        self.serial = 0

    @initialize(seed=st.integers(1, WORLDS))
    def begin(self, seed: int) -> None:
        world, _ = random_unique_world(seed)
        self.uuid_source.restart()
        self.instance.load(world)
        self.world = self.instance.world()

    # Users and rows

    def user_of_roles(self, number: int, *roles: str) -> dict:
        people = [user for user in self.world["users"] if user["id"] not in self.revoked_ids]
        chosen = [user for user in people if user["role"] in roles] or people
        return chosen[number % len(chosen)]

    def row_at(self, table: str, number: int) -> dict | None:
        rows = self.world[table]
        return rows[number % len(rows)] if rows else None

    def id_of(self, table: str, number: int) -> object:
        row = self.row_at(table, number)
        return row["id"] if row is not None else 999

    def write(self, user: dict, step: Step) -> None:
        """Send a write, and compare its status and the stored rows with the model."""
        outcome = write_model.expected_outcome(self.world, user, step, NOW)
        response = self.instance.send(user, write_request(step))
        done = 201 if isinstance(step, Insert) else 204
        assert response.status == STATUS.get(outcome.result, done), f"{user} {step} {outcome.result}\n{response}"
        after = self.instance.world()
        for table in MODELLED_TABLES:
            wanted, found = outcome.world[table], after[table]
            assert len(wanted) == len(found), f"{user} {step}: {table}\n{wanted}\n{found}"
            known = {oracle.key_of(table, row): row for row in wanted if row.get("id", 0) is not None}
            for row in found:
                expected = known.get(oracle.key_of(table, row), row)
                assert row == {**row, **expected}, f"{user} {step}: {row} should be {expected}"
        self.revoked_ids |= outcome.revoked_ids
        self.world = after

    # Create and delete

    @rule(who=numbers, where=numbers, client=numbers)
    def create_building(self, who: int, where: int, client: int) -> None:
        self.serial += 1
        row = {"name": f"Row {self.serial}", "client_id": self.id_of("clients", client)}
        self.write(self.user_of_roles(who, "client_admin", "super_admin"), Insert("buildings", (row,)))

    @rule(who=numbers, building=numbers, inspector=numbers)
    def create_inspection(self, who: int, building: int, inspector: int) -> None:
        row = {
            "building_id": self.id_of("buildings", building),
            "inspection_type": "fire",
            "inspector_id": self.id_of("inspectors", inspector),
        }
        self.write(self.user_of_roles(who, "client_admin"), Insert("inspections", (row,)))

    @rule(who=numbers, inspection=numbers)
    def create_reading(self, who: int, inspection: int) -> None:
        row = {"inspection_id": self.id_of("inspections", inspection), "gun_id": 1}
        self.write(self.user_of_roles(who, "client_admin"), Insert("reports_lead", (row,)))

    @rule(who=numbers, client=numbers, role=st.sampled_from(("client_manager", "client_admin")))
    def create_user(self, who: int, client: int, role: str) -> None:
        self.serial += 1
        row = {
            "email": f"user{self.serial}@state.example",
            "name": f"Row {self.serial}",
            "role": role,
            "client_id": self.id_of("clients", client),
        }
        self.write(self.user_of_roles(who, "client_admin", "super_admin"), Insert("users", (row,)))

    @rule(who=numbers, table=st.sampled_from(("buildings", "inspections", "reports_lead", "inspectors", "clients")),
          which=numbers)  # fmt: skip
    def delete_row(self, who: int, table: str, which: int) -> None:
        where = Where("id", (self.id_of(table, which),))
        self.write(self.user_of_roles(who, "client_admin", "super_admin"), Delete(table, where))

    @rule(who=numbers, which=numbers)
    def delete_user(self, who: int, which: int) -> None:
        where = Where("id", (self.id_of("users", which),))
        self.write(self.user_of_roles(who, "super_admin", "client_admin"), Delete("users", where))

    # Move

    @rule(who=numbers, which=numbers, client=numbers)
    def move_building(self, who: int, which: int, client: int) -> None:
        changes = {"client_id": self.id_of("clients", client)}
        where = Where("id", (self.id_of("buildings", which),))
        self.write(self.user_of_roles(who, "super_admin", "client_admin"), Update("buildings", where, changes))

    @rule(who=numbers, which=numbers, building=numbers)
    def move_inspection(self, who: int, which: int, building: int) -> None:
        changes = {"building_id": self.id_of("buildings", building)}
        where = Where("id", (self.id_of("inspections", which),))
        self.write(self.user_of_roles(who, "super_admin", "client_admin"), Update("inspections", where, changes))

    @rule(who=numbers, which=numbers, client=numbers)
    def move_user(self, who: int, which: int, client: int) -> None:
        changes = {"client_id": self.id_of("clients", client)}
        where = Where("id", (self.id_of("users", which),))
        self.write(self.user_of_roles(who, "super_admin", "client_admin"), Update("users", where, changes))

    @rule(who=numbers, which=numbers, role=st.sampled_from(("client_manager", "client_admin")))
    def change_role(self, who: int, which: int, role: str) -> None:
        where = Where("id", (self.id_of("users", which),))
        self.write(self.user_of_roles(who, "super_admin"), Update("users", where, {"role": role}))

    # Grants

    @rule(who=numbers, table=st.sampled_from(sorted(GRANTS)), grantee=numbers, row=numbers)
    def grant(self, who: int, table: str, grantee: int, row: int) -> None:
        role, grantee_column, targets, target_column = GRANTS[table]
        people = [user for user in self.world["users"] if user["role"] == role]
        if people:
            made = {grantee_column: people[grantee % len(people)]["id"], target_column: self.id_of(targets, row)}
            self.write(self.user_of_roles(who, "super_admin", "client_admin"), Insert(table, (made,)))

    @rule(who=numbers, table=st.sampled_from(sorted(GRANTS)), which=numbers)
    def revoke(self, who: int, table: str, which: int) -> None:
        if (row := self.row_at(table, which)) is not None:
            column = oracle.KEYS[table][which % 2]
            writer = self.user_of_roles(who, "super_admin", "client_admin")
            self.write(writer, Delete(table, Where(column, (row[column],))))

    @rule(who=numbers, manager=numbers, building=numbers, inspection=numbers)
    def assign(self, who: int, manager: int, building: int, inspection: int) -> None:
        user = self.user_of_roles(who, "super_admin", "client_admin")
        managers = [each for each in self.world["users"] if each["role"] == "client_manager"]
        buildings, inspections = self.world["buildings"], self.world["inspections"]
        if not managers or not buildings or not inspections:
            return
        grantee = managers[manager % len(managers)]
        body = {
            "manager_id": grantee["id"],
            "building_ids": [buildings[building % len(buildings)]["id"]],
            "inspection_ids": [inspections[inspection % len(inspections)]["id"]],
        }
        response = self.instance.send(user, make_request("POST", "/rpc/assign_to_client_manager", body))
        expected = dict(self.world)
        pairs = (
            ("client_manager_building_access", "building_id", body["building_ids"][0]),
            ("client_manager_inspection_access", "inspection_id", body["inspection_ids"][0]),
        )
        rows = [
            (table, {"manager_id": grantee["id"], column: id_, "assigned_by": user["id"], "assigned_at": NOW})
            for table, column, id_ in pairs
        ]
        if not oracle.visible(self.world, user, "users", grantee):
            assert response.status == 400, response
        elif not all(oracle.permits_new_row(self.world, user, table, row) for table, row in rows):
            assert response.status == 403, response
        else:
            assert response.status == 200, response
            for table, row in rows:
                held = {oracle.key_of(table, each) for each in expected[table]}
                if oracle.key_of(table, row) not in held:
                    expected[table] = [*expected[table], row]
        after = self.instance.world()
        assert write_model.differing_tables(expected, after) == []
        self.world = after

    # Sign-in and revocation

    @rule(client=numbers, ending=st.sampled_from(("sign out", "ban", "delete", "move")))
    def sign_in_and_end_session(self, client: int, ending: str) -> None:
        """A new user signs in and sees no rows. Every ending revokes the session immediately."""
        self.serial += 1
        root, client_id = self.world["users"][0], self.id_of("clients", client)
        if client_id == 999:
            return
        body = {
            "email": f"user{self.serial}@state.example",
            "password": PASSWORD,
            "app_metadata": {"role": "client_manager", "client_id": client_id},
        }
        made = self.instance.send(root, make_request("POST", "/auth/v1/admin/users", body))
        assert made.status == 200, made
        keys = {"email": body["email"], "password": PASSWORD}
        signed_in = self.instance.send(None, make_request("POST", "/auth/v1/token?grant_type=password", keys))
        assert signed_in.status == 200, signed_in
        token, refresh = (signed_in.json[name] for name in ("access_token", "refresh_token"))
        assert self.instance.send(token, make_request("GET", "/buildings")).json == []

        self.end_session(ending, root, made.json["id"], token)

        assert self.instance.send(token, make_request("GET", "/buildings")).status == 401
        again = make_request("POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": refresh})
        assert self.instance.send(None, again).status == 400
        self.world = self.instance.world()
        self.revoked_ids.add(made.json["id"])

    def end_session(self, how: str, root: dict, id_: str, token: str) -> None:
        one = f"/users?id=eq.{id_}"
        ended = {
            "sign out": lambda: self.instance.send(token, make_request("POST", "/auth/v1/logout")),
            "ban": lambda: self.instance.send(
                root, make_request("PUT", f"/auth/v1/admin/users/{id_}", {"ban_duration": "876000h"})
            ),
            "delete": lambda: self.instance.send(root, make_request("DELETE", one)),
            "move": lambda: self.instance.send(root, make_request("PATCH", one, {"role": "client_admin"})),
        }[how]()
        assert ended.status in (200, 204), ended

    # Revoked tokens

    @precondition(lambda self: self.revoked_ids)
    @rule(number=numbers)
    def revoked_token_is_refused(self, number: int) -> None:
        id_ = sorted(self.revoked_ids)[number % len(self.revoked_ids)]
        found = oracle.find(self.world, "users", id_)
        user = found or {"id": id_, "role": "client_manager", "client_id": 1}
        response = self.instance.send(user, make_request("GET", "/buildings"))
        assert response.status == 401, response

    # Invariants

    @rule(number=numbers)
    def user_reads_visible_rows(self, number: int) -> None:
        """Compare lists, embeds, dashboard, checks and explanations of one user with the oracle."""
        if self.world:
            self.check_reads(self.user_of_roles(number), number)

    @invariant()
    def manager_reads_visible_rows(self) -> None:
        if self.world:
            self.check_reads(self.user_of_roles(self.serial, "client_manager"), self.serial, lists_only=True)
            root = self.world["users"][0]
            dashboard = self.get(root, "/rpc/get_inspections_dashboard_summary_fast").json
            assert dashboard["total_inspections"] == len(self.world["inspections"])
            assert dashboard["total_buildings"] == len(self.world["buildings"])

    def get(self, user: dict, path: str, **headers: str) -> HttpResponse:
        response = self.instance.send(user, make_request("GET", path, **headers))
        assert response.status in (200, 206), f"{user} {path}\n{response}"
        return response

    def check_reads(self, user: dict, number: int, *, lists_only: bool = False) -> None:
        seen = visible_rows(self.world, user)
        tables = MODELLED_TABLES if not lists_only else ("buildings", "inspections")
        for table in tables:
            response = self.get(user, f"/{table}", prefer="count=exact")
            got = sorted(map(str, (oracle.key_of(table, row) for row in response.json)))
            wanted = sorted(map(str, (oracle.key_of(table, row) for row in seen[table])))
            assert got == wanted, f"{user} {table}: {got} should be {wanted}"
            assert response.header("content-range").endswith(f"/{len(wanted)}"), response
        if lists_only:
            return
        buildings = {row["id"] for row in seen["buildings"]}
        for row in self.get(user, "/inspections?select=building_id,buildings(id)").json:
            shown = {"id": row["building_id"]} if row["building_id"] in buildings else None
            assert row["buildings"] == shown
        dashboard = self.get(user, "/rpc/get_inspections_dashboard_summary_fast").json
        assert dashboard["total_inspections"] == len(seen["inspections"])
        assert dashboard["total_buildings"] == len(seen["buildings"])
        for kind in ("building", "inspection"):
            if (row := self.row_at(f"{kind}s", number)) is None:
                continue
            name = "check_building_access_v2" if kind == "building" else "check_inspection_access"
            query = f"p_{kind}_id={row['id']}&p_user_id={user['id']}"
            assert self.get(user, f"/rpc/{name}?{query}").json is (row in seen[f"{kind}s"])
            explained = self.get(user, f"/rpc/explain_{kind}_access?{query}").json
            assert explained["allowed"] is (row in seen[f"{kind}s"])

    @invariant()
    def grantee_has_role_of_grant(self) -> None:
        for table, (role, grantee, *_) in GRANTS.items():
            for row in self.world.get(table, ()):
                assert oracle.find(self.world, "users", row[grantee])["role"] == role


GENERATE_AND_SHRINK = (Phase.generate, Phase.shrink)
GENERATE_ONLY = (Phase.generate,)


def run(
    instance: ServiceInstance,
    uuid_source: types.SimpleNamespace,
    size: tuple[int, int],
    phases: tuple[Phase, ...] = GENERATE_AND_SHRINK,
) -> None:
    runs, steps = size
    machine = type("ConfiguredMachine", (AccessStateMachine,), {"instance": instance, "uuid_source": uuid_source})
    run_state_machine_as_test(machine, settings=deterministic_settings(runs, stateful_step_count=steps, phases=phases))


def test_state_sequences_agree_with_model(instance: ServiceInstance, uuid_source: types.SimpleNamespace) -> None:
    run(instance, uuid_source, (scaled_count(COMMIT_SIZE[0]), COMMIT_SIZE[1]))


@pytest.mark.long
def test_state_sequences_agree_with_model_long(instance: ServiceInstance, uuid_source: types.SimpleNamespace) -> None:
    run(instance, uuid_source, LONG_SIZE)


@pytest.mark.control
def test_stale_dashboard_is_detected(
    instance: ServiceInstance, uuid_source: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, counted = dashboard_module.count_dashboard, {}

    def count_once(transaction: object, visible: object) -> object:
        return counted.setdefault(visible, count(transaction, visible))

    monkeypatch.setattr(dashboard_module, "count_dashboard", count_once)

    with pytest.raises(AssertionError):
        run(instance, uuid_source, COMMIT_SIZE, GENERATE_ONLY)


@pytest.mark.control
def test_cached_grants_are_detected(
    instance: ServiceInstance, uuid_source: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller_cached_by_claims(monkeypatch, instance)

    # The faulty cache survives a run, so a repeated run can differ. Hypothesis reports that as Flaky.
    with pytest.raises((AssertionError, Flaky)):
        run(instance, uuid_source, COMMIT_SIZE, GENERATE_ONLY)
