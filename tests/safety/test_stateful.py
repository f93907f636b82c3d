"""A long life in short: rows come, move and go, people are granted, demoted and shut out, in any order; after each step
every door shows each person what the oracle says, and the world is what the model says.
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

from engine.reporting import dashboard as dashboard_module
from tests.conftest import RESOURCES
from tests.safety import model
from tests.safety.examples import share, sized
from tests.safety.model import Delete, Insert, Step, Update, Where
from tests.safety.planted_looks import held_for_ever
from tests.safety.sides import NOW
from tests.safety.sites import Answer, Site, asking
from tests.safety.steps import written
from tests.safety.twins import dressed_world, seen_by
from tests.support import oracle
from tests.support.worlds import GRANTS

COMMIT = (40, 25)
LONG = (2_000, 60)
WORLDS = 6
STATUS = {"privilege": 403, "rule": 403, "23503": 409, "23505": 409, "23514": 400}

PASSWORD = "correct horse battery staple"

numbers = st.integers(0, 10_000)


class Life(RuleBasedStateMachine):
    """The machine; `site` is set by whoever runs it."""

    site: Site
    source: types.SimpleNamespace

    def __init__(self) -> None:
        super().__init__()
        self.world: dict = {}
        self.dead: set[str] = set()
        self.fresh = 0

    @initialize(seed=st.integers(1, WORLDS))
    def begin(self, seed: int) -> None:
        world, _ = dressed_world(seed)
        self.source.restart()
        self.site.load(world)
        self.world = self.site.world()

    # Who and what

    def someone(self, number: int, *roles: str) -> dict:
        people = [user for user in self.world["users"] if user["id"] not in self.dead]
        chosen = [user for user in people if user["role"] in roles] or people
        return chosen[number % len(chosen)]

    def one_of(self, table: str, number: int) -> dict | None:
        rows = self.world[table]
        return rows[number % len(rows)] if rows else None

    def id_of(self, table: str, number: int) -> object:
        row = self.one_of(table, number)
        return row["id"] if row is not None else 999

    def do(self, user: dict, step: Step) -> None:
        """Send a write and hold its end, and the world after it, against the model's."""
        end = model.end_of(self.world, user, step, NOW)
        answer = self.site.send(user, written(step))
        done = 201 if isinstance(step, Insert) else 204
        assert answer.status == STATUS.get(end.how, done), f"{user} {step} {end.how}\n{answer}"
        after = self.site.world()
        for table in RESOURCES:
            wanted, found = end.world[table], after[table]
            assert len(wanted) == len(found), f"{user} {step}: {table}\n{wanted}\n{found}"
            known = {oracle.key_of(table, row): row for row in wanted if row.get("id", 0) is not None}
            for row in found:
                expected = known.get(oracle.key_of(table, row), row)
                assert row == {**row, **expected}, f"{user} {step}: {row} should be {expected}"
        self.dead |= end.dead
        self.world = after

    # Rows come, change and go

    @rule(who=numbers, where=numbers, client=numbers)
    def create_building(self, who: int, where: int, client: int) -> None:
        self.fresh += 1
        row = {"name": f"Life {self.fresh}", "client_id": self.id_of("clients", client)}
        self.do(self.someone(who, "client_admin", "super_admin"), Insert("buildings", (row,)))

    @rule(who=numbers, building=numbers, inspector=numbers)
    def create_inspection(self, who: int, building: int, inspector: int) -> None:
        row = {
            "building_id": self.id_of("buildings", building),
            "inspection_type": "fire",
            "inspector_id": self.id_of("inspectors", inspector),
        }
        self.do(self.someone(who, "client_admin"), Insert("inspections", (row,)))

    @rule(who=numbers, inspection=numbers)
    def create_reading(self, who: int, inspection: int) -> None:
        row = {"inspection_id": self.id_of("inspections", inspection), "gun_id": 1}
        self.do(self.someone(who, "client_admin"), Insert("reports_lead", (row,)))

    @rule(who=numbers, client=numbers, role=st.sampled_from(("client_manager", "client_admin")))
    def create_user(self, who: int, client: int, role: str) -> None:
        self.fresh += 1
        row = {
            "email": f"life{self.fresh}@life.example",
            "name": f"Life {self.fresh}",
            "role": role,
            "client_id": self.id_of("clients", client),
        }
        self.do(self.someone(who, "client_admin", "super_admin"), Insert("users", (row,)))

    @rule(who=numbers, table=st.sampled_from(("buildings", "inspections", "reports_lead", "inspectors", "clients")),
          which=numbers)  # fmt: skip
    def delete_row(self, who: int, table: str, which: int) -> None:
        where = Where("id", (self.id_of(table, which),))
        self.do(self.someone(who, "client_admin", "super_admin"), Delete(table, where))

    @rule(who=numbers, which=numbers)
    def delete_user(self, who: int, which: int) -> None:
        where = Where("id", (self.id_of("users", which),))
        self.do(self.someone(who, "super_admin", "client_admin"), Delete("users", where))

    # They move

    @rule(who=numbers, which=numbers, client=numbers)
    def move_building(self, who: int, which: int, client: int) -> None:
        changes = {"client_id": self.id_of("clients", client)}
        where = Where("id", (self.id_of("buildings", which),))
        self.do(self.someone(who, "super_admin", "client_admin"), Update("buildings", where, changes))

    @rule(who=numbers, which=numbers, building=numbers)
    def move_inspection(self, who: int, which: int, building: int) -> None:
        changes = {"building_id": self.id_of("buildings", building)}
        where = Where("id", (self.id_of("inspections", which),))
        self.do(self.someone(who, "super_admin", "client_admin"), Update("inspections", where, changes))

    @rule(who=numbers, which=numbers, client=numbers)
    def move_user(self, who: int, which: int, client: int) -> None:
        changes = {"client_id": self.id_of("clients", client)}
        where = Where("id", (self.id_of("users", which),))
        self.do(self.someone(who, "super_admin", "client_admin"), Update("users", where, changes))

    @rule(who=numbers, which=numbers, role=st.sampled_from(("client_manager", "client_admin")))
    def change_role(self, who: int, which: int, role: str) -> None:
        where = Where("id", (self.id_of("users", which),))
        self.do(self.someone(who, "super_admin"), Update("users", where, {"role": role}))

    # Grants

    @rule(who=numbers, table=st.sampled_from(sorted(GRANTS)), grantee=numbers, row=numbers)
    def grant(self, who: int, table: str, grantee: int, row: int) -> None:
        role, grantee_column, targets, target_column = GRANTS[table]
        people = [user for user in self.world["users"] if user["role"] == role]
        if people:
            made = {grantee_column: people[grantee % len(people)]["id"], target_column: self.id_of(targets, row)}
            self.do(self.someone(who, "super_admin", "client_admin"), Insert(table, (made,)))

    @rule(who=numbers, table=st.sampled_from(sorted(GRANTS)), which=numbers)
    def revoke(self, who: int, table: str, which: int) -> None:
        if (row := self.one_of(table, which)) is not None:
            column = oracle.KEYS[table][which % 2]
            writer = self.someone(who, "super_admin", "client_admin")
            self.do(writer, Delete(table, Where(column, (row[column],))))

    @rule(who=numbers, manager=numbers, building=numbers, inspection=numbers)
    def assign(self, who: int, manager: int, building: int, inspection: int) -> None:
        user = self.someone(who, "super_admin", "client_admin")
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
        answer = self.site.send(user, asking("POST", "/rpc/assign_to_client_manager", body))
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
            assert answer.status == 400, answer
        elif not all(oracle.permits_new_row(self.world, user, table, row) for table, row in rows):
            assert answer.status == 403, answer
        else:
            assert answer.status == 200, answer
            for table, row in rows:
                held = {oracle.key_of(table, each) for each in expected[table]}
                if oracle.key_of(table, row) not in held:
                    expected[table] = [*expected[table], row]
        after = self.site.world()
        assert model.same_rows(expected, after) == []
        self.world = after

    # People sign in and out, and are shut out

    @rule(client=numbers, leaves=st.sampled_from(("sign out", "shut out", "delete", "move")))
    def a_session_lives_and_ends(self, client: int, leaves: str) -> None:
        """Somebody new signs in, sees nothing, and is out from the very next request on."""
        self.fresh += 1
        root, client_id = self.world["users"][0], self.id_of("clients", client)
        if client_id == 999:
            return
        body = {
            "email": f"life{self.fresh}@life.example",
            "password": PASSWORD,
            "app_metadata": {"role": "client_manager", "client_id": client_id},
        }
        made = self.site.send(root, asking("POST", "/auth/v1/admin/users", body))
        assert made.status == 200, made
        keys = {"email": body["email"], "password": PASSWORD}
        signed_in = self.site.send(None, asking("POST", "/auth/v1/token?grant_type=password", keys))
        assert signed_in.status == 200, signed_in
        token, refresh = (signed_in.json[name] for name in ("access_token", "refresh_token"))
        assert self.site.send(token, asking("GET", "/buildings")).json == []

        self.leave(leaves, root, made.json["id"], token)

        assert self.site.send(token, asking("GET", "/buildings")).status == 401
        again = asking("POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": refresh})
        assert self.site.send(None, again).status == 400
        self.world = self.site.world()
        self.dead.add(made.json["id"])

    def leave(self, how: str, root: dict, id_: str, token: str) -> None:
        one = f"/users?id=eq.{id_}"
        ended = {
            "sign out": lambda: self.site.send(token, asking("POST", "/auth/v1/logout")),
            "shut out": lambda: self.site.send(
                root, asking("PUT", f"/auth/v1/admin/users/{id_}", {"ban_duration": "876000h"})
            ),
            "delete": lambda: self.site.send(root, asking("DELETE", one)),
            "move": lambda: self.site.send(root, asking("PATCH", one, {"role": "client_admin"})),
        }[how]()
        assert ended.status in (200, 204), ended

    # Whoever was moved, demoted or deleted is out at once

    @precondition(lambda self: self.dead)
    @rule(number=numbers)
    def a_dead_token_stays_dead(self, number: int) -> None:
        id_ = sorted(self.dead)[number % len(self.dead)]
        found = oracle.find(self.world, "users", id_)
        user = found or {"id": id_, "role": "client_manager", "client_id": 1}
        answer = self.site.send(user, asking("GET", "/buildings"))
        assert answer.status == 401, answer

    # What must hold after every step

    @rule(number=numbers)
    def everyone_sees_their_own(self, number: int) -> None:
        """The six doors, for one person and one row of each kind."""
        if self.world:
            self.look(self.someone(number), number)

    @invariant()
    def a_manager_sees_their_own(self) -> None:
        if self.world:
            self.look(self.someone(self.fresh, "client_manager"), self.fresh, short=True)
            root = self.world["users"][0]
            dashboard = self.get(root, "/rpc/get_inspections_dashboard_summary_fast").json
            assert dashboard["total_inspections"] == len(self.world["inspections"])
            assert dashboard["total_buildings"] == len(self.world["buildings"])

    def get(self, user: dict, path: str, **headers: str) -> Answer:
        answer = self.site.send(user, asking("GET", path, **headers))
        assert answer.status in (200, 206), f"{user} {path}\n{answer}"
        return answer

    def look(self, user: dict, number: int, *, short: bool = False) -> None:
        seen = seen_by(self.world, user)
        tables = RESOURCES if not short else ("buildings", "inspections")
        for table in tables:
            answer = self.get(user, f"/{table}", prefer="count=exact")
            got = sorted(map(str, (oracle.key_of(table, row) for row in answer.json)))
            wanted = sorted(map(str, (oracle.key_of(table, row) for row in seen[table])))
            assert got == wanted, f"{user} {table}: {got} should be {wanted}"
            assert answer.header("content-range").endswith(f"/{len(wanted)}"), answer
        if short:
            return
        buildings = {row["id"] for row in seen["buildings"]}
        for row in self.get(user, "/inspections?select=building_id,buildings(id)").json:
            shown = {"id": row["building_id"]} if row["building_id"] in buildings else None
            assert row["buildings"] == shown
        dashboard = self.get(user, "/rpc/get_inspections_dashboard_summary_fast").json
        assert dashboard["total_inspections"] == len(seen["inspections"])
        assert dashboard["total_buildings"] == len(seen["buildings"])
        for kind in ("building", "inspection"):
            if (row := self.one_of(f"{kind}s", number)) is None:
                continue
            name = "check_building_access_v2" if kind == "building" else "check_inspection_access"
            query = f"p_{kind}_id={row['id']}&p_user_id={user['id']}"
            assert self.get(user, f"/rpc/{name}?{query}").json is (row in seen[f"{kind}s"])
            explained = self.get(user, f"/rpc/explain_{kind}_access?{query}").json
            assert explained["allowed"] is (row in seen[f"{kind}s"])

    @invariant()
    def no_grant_is_held_by_another_role(self) -> None:
        for table, (role, grantee, *_) in GRANTS.items():
            for row in self.world.get(table, ()):
                assert oracle.find(self.world, "users", row[grantee])["role"] == role


BOTH = (Phase.generate, Phase.shrink)
FOUND_IS_ENOUGH = (Phase.generate,)


def run(site: Site, source: types.SimpleNamespace, size: tuple[int, int], phases: tuple[Phase, ...] = BOTH) -> None:
    runs, steps = size
    machine = type("LifeHere", (Life,), {"site": site, "source": source})
    run_state_machine_as_test(machine, settings=sized(runs, stateful_step_count=steps, phases=phases))


def test_every_life_ends_as_the_model_says(site: Site, still: types.SimpleNamespace) -> None:
    run(site, still, (share(COMMIT[0]), COMMIT[1]))


@pytest.mark.long
def test_every_life_ends_as_the_model_says_at_length(site: Site, still: types.SimpleNamespace) -> None:
    run(site, still, LONG)


@pytest.mark.control
def test_numbers_that_are_remembered_too_long_are_found(
    site: Site, still: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard_module, "last_event_id", lambda transaction: 1)

    with pytest.raises(AssertionError):
        run(site, still, COMMIT, FOUND_IS_ENOUGH)


@pytest.mark.control
def test_grants_that_are_remembered_are_found(
    site: Site, still: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_for_ever(monkeypatch, site)

    # The fault outlives a run, so a second run may differ, and Hypothesis then reports that.
    with pytest.raises((AssertionError, Flaky)):
        run(site, still, COMMIT, FOUND_IS_ENOUGH)
