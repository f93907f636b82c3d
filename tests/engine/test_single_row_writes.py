"""The statement that writes a single row checks the rule, with the same errors as a bulk write."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from access.policy import AccessRule, permits
from access.roles import GRANT_PROFILES, GrantProfile, Role
from engine.interface.database import Transaction
from engine.query.catalog import catalog
from engine.query.shape import Filter, Node, Shape
from engine.query.statement import Action
from engine.query.write.statements import WriteBuilder
from engine.storage.transaction import SqliteTransaction
from models.fields import Model, Row
from models.inspection import Inspection
from postgres.transaction import ServerTransaction
from tests.conftest import ADA, BOB, MOE, uuid
from tests.contract.test_attacks_writes import unchanged_after
from tests.safety.plan_caches import clear_plan_caches
from tests.support import databases

GOOD = {
    "/inspections": {"building_id": 1, "inspection_type": "fire"},
    "/buildings": {"name": "Good", "client_id": 1},
    "/reports_lead": {"inspection_id": 1, "gun_id": 1},
    "/users": {"email": "good@x.example", "name": "g", "role": "client_manager", "client_id": 1},
    "/client_manager_building_access": {"manager_id": MOE, "building_id": 3, "assigned_by": ADA},
}  # fmt: skip

# path, and the values that make a row denied
REFUSED = {
    "a-building-of-another-client": ("/inspections", {"building_id": 4}),
    "a-building-that-is-not": ("/inspections", {"building_id": 999}),
    "another-client": ("/buildings", {"client_id": 2}),
    "a-client-that-is-not": ("/buildings", {"client_id": 999}),
    "an-inspection-of-another-client": ("/reports_lead", {"inspection_id": 6}),
    "an-inspection-that-is-not": ("/reports_lead", {"inspection_id": 999}),
    "a-user-of-another-client": ("/users", {"client_id": 2}),
    "a-user-of-another-role": ("/users", {"role": "client_admin"}),
    "a-user-of-no-client": ("/users", {"client_id": None}),
    "a-grant-to-somebody-else-s-user": ("/client_manager_building_access", {"manager_id": BOB}),
    "a-grant-on-another-client-s-building": ("/client_manager_building_access", {"building_id": 4}),
    "a-grant-signed-by-somebody-else": ("/client_manager_building_access", {"assigned_by": BOB}),
    "without-its-building": ("/inspections", {"building_id": None}),
    "refused-and-wrong": ("/inspections", {"building_id": 4, "inspection_type": None}),
}  # fmt: skip


@pytest.mark.parametrize(("path", "refused"), REFUSED.values(), ids=REFUSED)
def test_single_insert_is_denied_like_a_bulk_insert(api: Callable, path: str, refused: dict[str, object]) -> None:
    row = {**GOOD[path], **refused}

    alone = unchanged_after(api, "ada", "POST", path, row)
    among_others = unchanged_after(api, "ada", "POST", path, [GOOD[path], row])

    assert alone.refusal == among_others.refusal
    assert (alone.json["details"], among_others.json["details"]) == (None, "row 2")
    assert (alone.status, alone.json["code"]) == (403, "42501")
    assert api("ada").post(path, GOOD[path]).status == 201


@pytest.mark.parametrize(
    ("path", "one", "several", "change"),
    [
        ("/inspections", "id=eq.1", "id=in.(1,2)", {"building_id": 4}),
        ("/inspections", "id=eq.1", "id=in.(1,2)", {"building_id": 999}),
        ("/buildings", "id=eq.1", "id=in.(1,2)", {"client_id": 2}),
        ("/users", f"id=eq.{MOE}", f"id=in.({MOE},{uuid('82')})", {"role": "client_admin"}),
    ],
    ids=["away", "nowhere", "to-another-client", "to-another-role"],
)
def test_single_update_is_denied_like_a_bulk_update(
    api: Callable, path: str, one: str, several: str, change: dict[str, object]
) -> None:
    if path == "/users":
        other = {**GOOD[path], "id": uuid("82"), "email": "other@x.example"}
        assert api("root").post(path, other).status == 201

    alone = unchanged_after(api, "ada", "PATCH", f"{path}?{one}", change)
    among_others = unchanged_after(api, "ada", "PATCH", f"{path}?{several}", change)

    assert (alone.status, alone.json) == (among_others.status, among_others.json)
    assert (alone.status, alone.json["code"]) == (403, "42501")


@pytest.fixture
def deny_failed_status(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the rule deny a status, because the shipped rule depends on columns that relate rows only."""
    shipped = AccessRule.check

    def check(self: AccessRule, action: Action, model: type[Model], row: Row) -> sa.ColumnElement[bool]:
        allowed = shipped(self, action, model, row)
        return sa.and_(allowed, row.status != "failed") if model is Inspection else allowed

    monkeypatch.setattr(AccessRule, "check", check)
    clear_plan_caches()
    yield
    clear_plan_caches()


@pytest.mark.usefixtures("deny_failed_status")
@pytest.mark.parametrize("who", ["ada", "root"])
def test_update_of_one_column_is_denied_like_a_bulk_update(api: Callable, who: str) -> None:
    change = {"status": "failed"}

    alone = unchanged_after(api, who, "PATCH", "/inspections?id=eq.1", change)
    among_others = unchanged_after(api, who, "PATCH", "/inspections?id=in.(1,2)", change)

    assert (alone.status, alone.json) == (among_others.status, among_others.json)
    assert (alone.status, alone.json["code"]) == (403, "42501")
    assert api(who).patch("/inspections?id=eq.1", {"status": "passed"}).status == 204


# filters on inspection 1 by its key, and whether they match
NAMED = {
    "id=eq.1": True,
    "id=eq.1&status=eq.completed": True,
    "id=eq.1&status=eq.failed": False,
    "id=eq.1&id=eq.2": False,
    "id=eq.1&building_id=in.(1,2)": True,
    "id=eq.1&or=(status.eq.completed,status.eq.failed)": True,
    "id=eq.1&limit=1&order=id": True,
    "id=eq.1&limit=1&offset=1&order=id": False,
    "id=eq.1&select=id,buildings!inner(name)&buildings.name=eq.nowhere": False,
    "id=eq.6": False,
    "id=eq.8": False,
    "id=eq.999": False,
}


@pytest.mark.parametrize(("filters", "found"), NAMED.items(), ids=NAMED)
def test_update_by_key_applies_the_other_filters(api: Callable, filters: str, found: bool) -> None:
    prefer = {"Prefer": "return=representation,count=exact"}
    whole = "/inspections?select=id,notes&order=id"
    before = {row["id"]: row["notes"] for row in api("root").get(whole).json}

    answer = api("ada").patch(f"/inspections?{filters}", {"notes": "changed"}, headers=prefer)

    assert answer.status == 200, answer.json
    assert [row["id"] for row in answer.json] == ([1] if found else [])
    assert answer.headers["Content-Range"] == ("0-0/1" if found else "*/0")
    expected = before | ({1: "changed"} if found else {})
    assert {row["id"]: row["notes"] for row in api("root").get(whole).json} == expected


def test_update_by_compound_key_changes_one_row(api: Callable) -> None:
    path = "/client_manager_building_access"
    grants = api("root").get(f"{path}?order=manager_id,building_id").json
    named = grants[0]
    filters = f"manager_id=eq.{named['manager_id']}&building_id=eq.{named['building_id']}"
    at = "2020-01-01T00:00:00+00:00"

    assert api("root").patch(f"{path}?{filters}", {"assigned_at": at}).status == 204

    now = api("root").get(f"{path}?order=manager_id,building_id").json
    assert now == [{**named, "assigned_at": at}, *grants[1:]]


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the first words of each statement, without BEGIN and COMMIT."""
    run: list[str] = []
    for kind in (SqliteTransaction, ServerTransaction):
        original = vars(kind)["run"]

        def recording(self: Transaction, sql: str, parameters: object = (), original: Callable = original) -> object:
            run.extend({"SELECT", "INSERT", "UPDATE"} & {sql.split()[0]})
            return original(self, sql, parameters)

        monkeypatch.setattr(kind, "run", recording)
    return run


def test_single_write_runs_two_statements(api: Callable, kinds: list[str]) -> None:
    """The statements look up the caller and write the row. On SQLite, a third one reads the file's clock."""
    asked = ["SELECT", "SELECT"] if databases.SERVER is None else ["SELECT"]
    ada = api("ada")

    assert ada.post("/inspections", GOOD["/inspections"]).status == 201
    kinds.clear()
    assert ada.post("/inspections", GOOD["/inspections"]).status == 201
    assert kinds == [*asked, "INSERT"]

    kinds.clear()
    assert ada.patch("/inspections?id=eq.1", {"status": "failed"}).status == 204
    assert kinds == [*asked, "UPDATE"]


class RuleWithoutCheck(AccessRule):
    """An access rule that does not check written rows."""

    def check(self, action: Action, model: type[Model], row: Row) -> sa.ColumnElement[bool]:
        return sa.true()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("profile", GRANT_PROFILES.values(), ids=map(str, range(len(GRANT_PROFILES))))
def test_single_and_bulk_statements_check_the_same_rules(database: str, profile: GrantProfile) -> None:
    for name, relation in catalog().relations.items():
        if not permits(profile, Action.INSERT, relation.model):
            continue
        columns = tuple(relation.attributes)
        statements = [
            make(WriteBuilder(database, name, AccessRule(profile)), columns)
            for make in (WriteBuilder.denied, WriteBuilder.insert_if_allowed, WriteBuilder.denied_update)
        ]
        key = tuple(Filter(each, "eq", value=place) for place, each in enumerate(relation.key))
        at_once = [
            WriteBuilder(database, name, rule).update_if_allowed(columns, Shape(Node(conditions=key)))
            for rule in (AccessRule(profile), RuleWithoutCheck(profile))
        ]

        is_judged = profile.role is not Role.SUPER_ADMIN
        assert [each is not None for each in statements] == [is_judged] * 3
        assert (at_once[0].sql != at_once[1].sql) is is_judged
