"""The audit log: its events, who reads them, and that no event changes."""

from __future__ import annotations

import json
import pathlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.open import database
from engine.query.write import row_layout
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT
from tests.support.applications import open_app


def audit_lines(api: Callable, who: str = "root", **filters: str) -> list[dict]:
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    return api(who).get(f"/audit_log?order=id&action=neq.import&{query}").json


def test_insert_logs_the_whole_row_and_its_actor(api: Callable) -> None:
    api("ada").post("/inspections", {"building_id": 1, "inspection_type": "fire"})

    (line,) = audit_lines(api)

    assert (line["actor_id"], line["action"], line["relation"]) == (ADA, "insert", "inspections")
    assert line["row_key"] == "10"
    assert line["client_id"] == 1
    assert line["before"] is None
    assert line["after"]["inspection_type"] == "fire"
    assert "client_id" not in line["after"]


def test_update_logs_the_changed_columns_only(api: Callable) -> None:
    api("ada").patch("/buildings?id=eq.1", {"floors": 3})

    (line,) = audit_lines(api)

    assert line["before"]["floors"] == 12
    assert line["after"]["floors"] == 3
    assert set(line["before"]) == {"floors", "updated_at"}


@pytest.mark.parametrize("rewritten", [1, 4])
@pytest.mark.parametrize(("method", "body"), [("PATCH", {"notes": "all"}), ("DELETE", None)])
def test_rows_of_one_write_are_logged_in_key_order(
    api: Callable, rewritten: int, method: str, body: dict | None
) -> None:
    """The storage order depends on other rows, and must not matter."""
    api("root").patch(f"/inspections?id=eq.{rewritten}", {"notes": "first"})
    only = {"relation": "eq.inspections"}
    before = audit_lines(api, **only)

    api("root").send(method, "/inspections?id=not.is.null", body)

    logged = [int(line["row_key"]) for line in audit_lines(api, **only)[len(before) :]]
    assert logged == [*range(1, 10)]


# The deleted row, the row that is written first so that its key order differs, and the cascaded events.
CASCADES = {
    "readings": ("/inspections?id=eq.1", "/reports_lead?id=eq.1", {"result": "x"}, "reports_lead"),
    "grants of a user": (
        f"/users?id=eq.{MIA}",
        f"/client_manager_building_access?manager_id=eq.{MIA}&building_id=eq.1",
        {"assigned_by": None},
        "client_manager_building_access",
    ),
    "grants on a building": (
        "/buildings?id=eq.6",
        f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.6",
        {"assigned_by": None},
        "client_manager_building_access",
    ),
    "grants with a grantor": (
        f"/users?id=eq.{ADA}",
        f"/client_manager_building_access?manager_id=eq.{MIA}&building_id=eq.1",
        {"assigned_at": "2025-01-01T00:00:00+00:00"},
        "client_manager_building_access",
    ),
    "inspections of an inspector": ("/inspectors?id=eq.1", "/inspections?id=eq.1", {"status": "x"}, "inspections"),
}


@pytest.mark.parametrize(("deleted", "written", "change", "events"), CASCADES.values(), ids=CASCADES)
def test_cascaded_rows_are_logged_in_key_order(
    api: Callable, deleted: str, written: str, change: dict, events: str
) -> None:
    more = [{"inspection_id": 1, "gun_id": n} for n in range(3)]
    api("root").post("/reports_lead", more)
    grants = [(who, building) for who in (MOE, MIA) for building in (6, 3, 2, 1)]
    for who, building in grants:
        row = {"manager_id": who, "building_id": building, "assigned_by": ADA}
        api("ada").post("/client_manager_building_access", row, prefer="resolution=ignore-duplicates")
    assert api("root").patch(written, change).status == 204
    before = audit_lines(api, relation=f"eq.{events}")

    assert api("root").delete(deleted).status == 204

    lines = audit_lines(api, relation=f"eq.{events}")[len(before) :]
    keys = [(line["action"], *map(as_ordered, line["row_key"].split(","))) for line in lines]
    assert len(keys) > 1
    assert keys == sorted(keys)


def as_ordered(part: str) -> str:
    return part.zfill(20)


def test_delete_logs_cascaded_rows(api: Callable) -> None:
    api("ada").delete("/inspections?id=eq.2")

    logged = {(line["action"], line["relation"], line["row_key"]) for line in audit_lines(api)}

    assert logged == {
        ("delete", "inspections", "2"),
        ("delete", "reports_lead", "1"),
        ("delete", "reports_lead", "2"),
        ("delete", "calibration_checks", "1"),
        ("delete", "inspection_plans", "2"),
        ("delete", "findings", "1"),
        ("delete", "finding_events", "1"),
    }


def test_client_admin_reads_the_entries_of_limits_of_own_instruments(api: Callable) -> None:
    """The entries of a limit are for the client of its instrument; those of a shared one for super admins."""
    for gun in (77, 78, 79):
        assert api("root").patch(f"/xrf_limits?gun_id=eq.{gun}", {"negative_below": 0.1}).status == 204
    assert api("root").patch("/xrf_instruments?gun_id=eq.78", {"client_id": 2}).status == 204
    assert api("root").delete("/xrf_instruments?gun_id=eq.79").status == 204

    seen = {
        who: [(line["action"], line["row_key"]) for line in audit_lines(api, who, relation="eq.xrf_limits")]
        for who in ("ada", "bob", "moe")
    }

    assert seen["ada"] == [("update", "2"), ("delete", "2")]
    assert sorted(seen["bob"]) == [("delete", "3"), ("insert", "2"), ("update", "3")]
    assert seen["moe"] == []
    everything = {(line["action"], line["row_key"]) for line in audit_lines(api, relation="eq.xrf_limits")}
    assert everything == {*seen["ada"], *seen["bob"], ("update", "1")}


def test_change_of_owner_is_logged_as_delete_and_insert(api: Callable) -> None:
    api("root").patch("/buildings?id=eq.6", {"client_id": 2})

    for_ada = audit_lines(api, "ada", relation="eq.buildings")
    for_bob = audit_lines(api, "bob", relation="eq.buildings")

    assert [line["action"] for line in for_ada] == ["delete"]
    assert [line["action"] for line in for_bob] == ["insert"]
    assert for_ada[0]["before"]["client_id"] == 1
    assert for_bob[0]["after"]["client_id"] == 2


def test_cascaded_grant_event_hides_actor_of_another_client(api: Callable) -> None:
    api("bob").delete("/inspections?building_id=eq.5")
    api("bob").delete("/buildings?id=eq.5")

    deleted = {"relation": "eq.client_admin_building_access", "row_key": f"eq.{ADA},5"}
    assert [line["actor_id"] for line in audit_lines(api, "root", **deleted)] == [BOB]
    assert BOB not in json.dumps(audit_lines(api, "ada"))


def test_grants_by_a_function_are_logged_with_their_grantor(api: Callable) -> None:
    api("ada").rpc("assign_to_client_manager", {"manager_id": MOE, "building_ids": [2, 3], "inspection_ids": []})

    lines = audit_lines(api, relation="eq.client_manager_building_access")

    assert [line["row_key"] for line in lines] == [f"{MOE},2", f"{MOE},3"]
    assert {line["actor_id"] for line in lines} == {ADA}


def test_admin_reads_events_of_their_client_and_manager_reads_none(api: Callable) -> None:
    api("root").patch("/buildings?id=eq.1", {"floors": 3})
    api("root").patch("/buildings?id=eq.4", {"floors": 3})
    api("root").patch("/inspectors?id=eq.1", {"name": "Ines V."})

    seen = {who: [line["row_key"] for line in audit_lines(api, who)] for who in ("root", "ada", "bob", "moe")}

    assert seen == {"root": ["1", "4", "1"], "ada": ["1"], "bob": ["4"], "moe": []}


def test_rolled_back_write_logs_nothing(api: Callable) -> None:
    api("ada").patch("/buildings?id=eq.1", {"floors": 3}, prefer="tx=rollback")
    api("ada").post(
        "/inspections", [{"building_id": 1, "inspection_type": "fire"}, {"building_id": 4, "inspection_type": "fire"}]
    )

    assert [line["action"] for line in audit_lines(api)] == ["refused"]


def test_refusal_is_logged(api: Callable) -> None:
    api("moe").patch("/buildings?id=eq.1", {"floors": 3})
    api("ada").patch("/buildings?id=eq.1", {"client_id": 2})

    first, second = audit_lines(api)

    assert (first["action"], first["actor_id"], first["relation"]) == ("refused", MOE, "buildings")
    assert first["after"] == {"message": "permission denied for table buildings"}
    assert (second["actor_id"], second["client_id"]) == (ADA, 1)


@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "/buildings?id=eq.1"), ("POST", "/inspections"), ("DELETE", "/clients?id=eq.1")]
)
def test_refusal_does_not_wait_for_the_writer_lock(api: Callable, method: str, path: str) -> None:
    app = api("root").database.app_for("POST", "/buildings")
    locked, released = threading.Event(), threading.Event()

    def hold_lock() -> None:
        with app.app_context(), database().writing() as transaction:
            transaction.run("UPDATE buildings SET floors = 3 WHERE id = 1")
            locked.set()
            released.wait(10)

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(hold_lock)
        assert locked.wait(10)
        answers = [api(who).send(method, path, {"floors": 3}) for who in ("moe", "mia")]
        released.set()
        writer.result()

    assert [answer.status for answer in answers] == [403, 403]
    app.extensions["walkthrough.denials"].wait()
    assert [line["actor_id"] for line in audit_lines(api) if line["action"] == "refused"] == [MOE, MIA]


def test_refused_assignment_and_refused_user_change_are_logged(api: Callable) -> None:
    user = f"/auth/v1/admin/users/{MOE}"
    assigned = {"manager_id": MOE, "building_ids": [4], "inspection_ids": []}
    answers = [
        api("ada").rpc("assign_to_client_manager", assigned),
        api("ada").put(user, {"app_metadata": {"role": "super_admin", "client_id": None}}),
        api("ada").put(f"/auth/v1/admin/users/{ADA}", {"ban_duration": "1h"}),
        api("ada").rpc("assign_to_client_manager", {**assigned, "manager_id": ADA}),
    ]

    assert [answer.status for answer in answers] == [403, 403, 403, 400]
    assert [(line["action"], line["actor_id"], line["client_id"]) for line in audit_lines(api)] == [
        ("refused", ADA, 1)
    ] * 3
    assert [line["relation"] for line in audit_lines(api)] == [
        "rpc/assign_to_client_manager",
        user.strip("/"),
        f"auth/v1/admin/users/{ADA}",
    ]


def test_refusals_are_logged_60_times_a_minute_and_user(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_layout, "REFUSALS_PER_MINUTE_MAX", 3)

    for _ in range(5):
        api("moe").patch("/buildings?id=eq.1", {"floors": 3})
    api("mia").patch("/buildings?id=eq.1", {"floors": 3})
    refused = [line["actor_id"] for line in audit_lines(api)]

    assert refused.count(MOE) == 3
    assert len(refused) == 4


@pytest.mark.parametrize("who", ["root", "ada", "moe", "service"])
@pytest.mark.parametrize("method", ["post", "patch", "delete", "put"])
def test_no_role_may_change_the_audit_log(api: Callable, who: str, method: str) -> None:
    path = "/audit_log?id=eq.1"

    answer = api(who).delete(path) if method == "delete" else getattr(api(who), method)(path, {"action": "x"})

    assert (answer.status, answer.code) == (403, "42501")


@pytest.mark.parametrize("statement", ["UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"])
def test_triggers_refuse_changes_of_the_audit_log(tmp_path: pathlib.Path, statement: str) -> None:
    app = open_app(tmp_path / "walkthrough.db")

    with app.app_context(), database().writing() as transaction:
        transaction.run("INSERT INTO audit_log (at, action, relation) VALUES ('2025-01-01T00:00:00+00:00', 'x', 'x')")
    with (
        app.app_context(),
        pytest.raises(Exception, match="audit_log_append_only_check"),
        database().writing() as transaction,
    ):
        transaction.run(statement)


def test_import_logs_one_event(api: Callable) -> None:
    (line,) = api("root").get("/audit_log?action=eq.import").json

    assert line["after"]["buildings"] == 6
    assert line["actor_id"] is None


@pytest.mark.parametrize("is_brief", [False, True])
def test_write_without_an_actor_is_not_logged_for_the_previous_actor(tmp_path: pathlib.Path, is_brief: bool) -> None:
    app = open_app(tmp_path / "walkthrough.db")

    with app.app_context():
        with database().writing() as transaction:
            now = transaction.now
            transaction.run(f"INSERT INTO clients (id, name, created_at, updated_at) VALUES (1, 'A', '{now}', '{now}')")
        with database().writing() as transaction:
            transaction.set_actor(BOB)
        with database().writing(is_brief=is_brief) as transaction:
            transaction.run("UPDATE clients SET name = 'B' WHERE id = 1")
        with database().reading() as transaction:
            actors = transaction.all("SELECT actor_id FROM audit_log WHERE action = 'update'")

    assert actors == [(None,)]


def test_audit_log_contains_no_secret(api: Callable) -> None:
    body = {
        "email": "new@acme.example", "password": "a-very-secret-word", "app_metadata": {"role": "client_manager"},
    }  # fmt: skip
    api("ada").post("/auth/v1/admin/users", body)

    text = json.dumps(audit_lines(api))

    assert "new@acme.example" in text
    assert "a-very-secret-word" not in text
    assert "argon2" not in text
    assert ROOT not in text


GRANTS_OF_MANAGERS = "in.(client_manager_building_access,client_manager_inspection_access)"


@pytest.mark.parametrize(
    ("who", "method", "change"),
    [("root", "PATCH", {"client_id": 2}), ("root", "PATCH", {"role": "client_admin"}), ("ada", "DELETE", None)],
    ids=["another-client", "another-role", "deleted"],
)
def test_grants_deleted_with_their_grantee_are_logged_for_the_grantees_client(
    api: Callable, who: str, method: str, change: dict | None
) -> None:
    assert api(who).send(method, f"/users?id=eq.{MOE}", change).status == 204

    for_ada = audit_lines(api, "ada", relation=GRANTS_OF_MANAGERS)
    for_bob = audit_lines(api, "bob", relation=GRANTS_OF_MANAGERS)

    assert [(line["action"], line["row_key"]) for line in for_ada] == [("delete", f"{MOE},1"), ("delete", f"{MOE},3")]
    assert for_bob == []


def test_grant_moved_to_another_client_reveals_no_user_of_the_first(api: Callable) -> None:
    grants = "/client_manager_building_access"
    assert api("root").post(grants, {"manager_id": MOE, "building_id": 5}).status == 201
    path = f"{grants}?manager_id=eq.{MOE}&building_id=eq.5"
    assert api("root").patch(path, {"manager_id": MAX}).status == 204

    for_ada = audit_lines(api, "ada", relation="eq.client_manager_building_access")
    for_bob = audit_lines(api, "bob", relation="eq.client_manager_building_access")

    assert [(line["action"], line["row_key"]) for line in for_ada] == [("insert", f"{MOE},5"), ("delete", f"{MOE},5")]
    assert [(line["action"], line["row_key"]) for line in for_bob] == [("insert", f"{MAX},5")]
    assert MOE not in json.dumps(for_bob)


def test_grant_of_another_row_to_the_same_user_is_logged_as_an_update(api: Callable) -> None:
    path = f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.1"
    assert api("root").patch(path, {"building_id": 2}).status == 204

    (line,) = audit_lines(api, "ada", relation="eq.client_manager_building_access")

    assert (line["action"], line["before"], line["after"]) == ("update", {"building_id": 1}, {"building_id": 2})
