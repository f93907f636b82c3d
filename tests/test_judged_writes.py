"""A single row is judged by the statement that writes it: refused is what is refused among others, and so told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from access.caller import STANDINGS
from access.caller import Role
from access.caller import Standing
from access.policy import AccessRule
from access.policy import permits
from models.server_transaction import ServerTransaction
from models.sql.catalog import catalog
from models.sql.rule import Action
from models.sql.writer import Writer
from models.transaction import Transaction
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MOE
from tests.conftest import uuid
from tests.test_catalogue_write import unchanged_after

GOOD = {
    "/inspections": {"building_id": 1, "inspection_type": "fire"},
    "/buildings": {"name": "Good", "client_id": 1},
    "/reports_lead": {"inspection_id": 1, "gun_id": 1},
    "/users": {"email": "good@x.example", "name": "g", "role": "client_manager", "client_id": 1},
    "/client_manager_building_access": {"manager_id": MOE, "building_id": 3, "assigned_by": ADA},
}  # fmt: skip

# path, what makes the good row a refused one
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
def test_a_row_is_refused_alone_as_it_is_among_others(
    api: Callable, path: str, refused: dict[str, object]
) -> None:
    row = {**GOOD[path], **refused}

    alone = unchanged_after(api, "ada", "POST", path, row)
    among_others = unchanged_after(api, "ada", "POST", path, [GOOD[path], row])

    assert (alone.status, alone.json) == (among_others.status, among_others.json)
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
def test_a_change_is_refused_alone_as_it_is_among_others(
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
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the statements begin that are run, but for those around a transaction."""
    run: list[str] = []
    for kind in (Transaction, ServerTransaction):
        original = vars(kind)["run"]

        def noting(
            self: Transaction, sql: str, parameters: object = (), original: Callable = original
        ) -> object:
            run.extend({"SELECT", "INSERT", "UPDATE"} & {sql.split()[0]})
            return original(self, sql, parameters)

        monkeypatch.setattr(kind, "run", noting)
    return run


def test_no_question_is_asked_beside_the_write(api: Callable, kinds: list[str]) -> None:
    """Who asks, and the row; of a change, its key between them."""
    ada = api("ada")
    assert ada.post("/inspections", GOOD["/inspections"]).status == 201
    kinds.clear()
    assert ada.post("/inspections", GOOD["/inspections"]).status == 201
    assert kinds == ["SELECT", "INSERT"]

    kinds.clear()
    assert ada.patch("/inspections?id=eq.1", {"status": "failed"}).status == 204
    assert kinds == ["SELECT", "SELECT", "UPDATE"]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("standing", STANDINGS.values(), ids=map(str, range(len(STANDINGS))))
def test_whatever_is_judged_among_others_is_judged_alone(database: str, standing: Standing) -> None:
    for name, relation in catalog().relations.items():
        if not permits(standing.role, Action.INSERT, relation.model):
            continue
        columns = tuple(relation.attributes)
        statements = [
            make(Writer(database, name, AccessRule(standing)), columns)
            for make in (Writer.denied, Writer.insert_judged, Writer.update_judged)
        ]

        is_judged = standing.role is not Role.SUPER_ADMIN
        assert [each is not None for each in statements] == [is_judged] * 3
