"""Changes of access rights take effect at once. Replay is paused, so that a standby keeps the old rights."""

import json
import pathlib
import re
import threading
from collections.abc import Callable

import pytest

from engine.interface.database import ReplicationPositions
from engine.query.catalog import catalog
from engine.schema.tables import columns_with_rights, tables_without_rights
from tests.conftest import ADA, CAST, MAX, MIA, MOE, RESOURCES, Api, Bearer, ids
from tests.postgres.cluster import BASE, Cluster
from tests.postgres.server_pair import ServerPair, connect_to
from tests.support.applications import import_rows
from tests.support.waiting import until

pytestmark = pytest.mark.server("a file has no standbys")

# Rights

READ_PATHS = (
    "/inspections?select=id,buildings(id,name),inspectors(name),reports_lead(id)&order=id",
    "/inspections?id=eq.3",
    "/inspections?id=eq.1",
    "/buildings?select=id,name,inspections(id)&order=id",
    "/buildings?select=count()",
    *(f"/{table}?order={','.join(catalog().relations[table].key)}" for table in RESOURCES),
    "/rpc/get_inspections_dashboard_summary_fast",
    f"/rpc/check_building_access_v2?user_id={MOE}&building_id=1",
)
GENERATED_AT = re.compile(r'"generated_at":"[^"]*"')
COUNTED_PATHS = ("/inspections", "/buildings", "/reports_lead", "/inspectors")


def responses_to_all(api_of: Callable[[str], Api]) -> dict[tuple, tuple]:
    found = {}
    for who in ("root", "ada", "bob", "moe", "mia", "max"):
        for path in READ_PATHS:
            answer = api_of(who).get(path)
            found[who, path] = (answer.status, GENERATED_AT.sub("", answer.text))
        for path in COUNTED_PATHS:
            answer = api_of(who).head(path, prefer="count=exact")
            found[who, "HEAD", path] = (answer.status, answer.headers.get("Content-Range"))
    return found


@pytest.fixture(scope="module")
def before(pair: ServerPair) -> dict[tuple, tuple]:
    """The responses to all users before any change."""
    cluster = Cluster(pair, BASE)
    found = responses_to_all(cluster.on_primary)
    cluster.close()
    return found


@pytest.mark.parametrize(
    ("who", "method", "path", "body"),
    [
        ("ada", "DELETE", f"/client_manager_building_access?manager_id=eq.{MOE}", None),
        ("ada", "DELETE", f"/client_manager_inspection_access?manager_id=eq.{MOE}", None),
        ("root", "DELETE", f"/client_admin_building_access?admin_id=eq.{ADA}", None),
        ("root", "DELETE", "/client_admin_inspection_access?inspection_id=eq.3", None),
        ("ada", "POST", "/client_manager_building_access", {"manager_id": MIA, "building_id": 2}),
        ("root", "POST", "/rpc/assign_buildings_to_client_admin", {"p_admin_id": ADA, "p_building_ids": [4]}),
        ("root", "PATCH", "/buildings?id=eq.2", {"client_id": 2}),
        ("root", "PATCH", "/inspections?id=eq.1", {"building_id": 4}),
        ("ada", "PATCH", "/inspections?id=eq.1", {"building_id": 2}),
        ("ada", "PATCH", "/inspections?id=eq.3", {"inspector_id": 3}),
        ("ada", "PATCH", "/inspections?id=eq.3", {"inspector_id": None}),
        ("root", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 3}),
        ("root", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 6}),
        ("root", "PATCH", "/inspections?id=eq.9", {"id": 99}),
        ("root", "PATCH", f"/users?id=eq.{ADA}", {"role": "client_manager"}),
        ("root", "PATCH", f"/users?id=eq.{MAX}", {"client_id": 1}),
        ("root", "DELETE", f"/users?id=eq.{MOE}", None),
        ("root", "DELETE", "/inspections?id=eq.3", None),
        ("root", "DELETE", "/inspectors?id=eq.1", None),
        ("root", "DELETE", "/buildings?id=eq.6", None),
    ],
)  # fmt: skip
def test_change_of_rights_takes_effect_at_once(
    cluster: Cluster, before: dict, who: str, method: str, path: str, body: object
) -> None:
    with cluster.replay_paused():
        answer = cluster.on_primary(who).send(method, path, body)
        assert answer.status in (200, 201, 204), answer.text
        cluster.servers.clear()

        after = responses_to_all(cluster.api)

        assert after == responses_to_all(cluster.on_primary)
        assert after != before
        assert set(cluster.servers) == {"primary"}
    until(lambda: cluster.server_of("root") == "standby")


def test_revoked_grant_hides_rows_on_every_path(cluster: Cluster) -> None:
    moe = cluster.api("moe")
    assert 1 in ids(moe.get("/buildings"))
    with cluster.replay_paused():
        revoked = cluster.on_primary("ada").delete(
            f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.1"
        )

        assert revoked.status == 204
        assert moe.get("/buildings").json == []
        assert moe.get("/buildings?id=eq.1").json == []
        assert moe.get("/inspections?select=id,buildings(name)").json == [{"id": 3, "buildings": None}]
        assert moe.head("/inspections", prefer="count=exact").total == "1"


def test_missing_rights_check_is_detected(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicationPositions, "are_within", lambda positions, has_own, rights: has_own)
    with cluster.replay_paused():
        moved = cluster.on_primary("ada").patch("/inspections?id=eq.1", {"building_id": 2})

        assert moved.status == 204
        assert 1 in ids(cluster.api("moe").get("/inspections"))
        assert 1 not in ids(cluster.on_primary("moe").get("/inspections"))


@pytest.mark.parametrize(
    ("has_own", "rights", "is_enough"),
    [
        pytest.param(True, "4@1.5", True, id="same"),
        pytest.param(False, "4@1.5", False, id="own-write-missing"),
        pytest.param(True, "3@1.0", False, id="rights-late"),
        pytest.param(True, "11@2.0", False, id="rights-ahead"),
        pytest.param(True, "4@1.6", False, id="another-line-of-that-id"),
        pytest.param(False, None, False, id="empty"),
    ],
)
def test_snapshot_needs_equal_rights_and_own_writes(has_own: bool, rights: str | None, is_enough: bool) -> None:
    assert ReplicationPositions(9, "4@1.5").are_within(has_own, rights) is is_enough


def test_signed_out_and_banned_are_refused_at_once(cluster: Cluster) -> None:
    # Tokens from before the sign-out: it does not end tokens that are signed 2 s later.
    moe, mia = (Bearer(CAST[name].authorization()) for name in ("moe", "mia"))
    with cluster.replay_paused():
        assert cluster.on_primary("moe").post("/auth/v1/logout?scope=global").status == 204
        banned = cluster.on_primary("service").send("PUT", f"/auth/v1/admin/users/{MIA}", {"ban_duration": "1h"})
        assert banned.status == 200

        assert cluster.api(moe).get("/buildings").status == 401
        assert cluster.api(mia).get("/buildings").status == 401


def test_rights_changed_by_direct_sql_take_effect_at_once(cluster: Cluster) -> None:
    with cluster.replay_paused():
        cluster.pair.sql(cluster.pair.primary, cluster.name, "DELETE FROM client_manager_building_access")

        assert cluster.api("moe").get("/buildings").json == []


def test_audit_line_of_direct_sql_is_numbered_after_the_lock(cluster: Cluster) -> None:
    done = threading.Event()

    def rename() -> None:
        cluster.pair.sql(cluster.pair.primary, cluster.name, "UPDATE buildings SET name = 'B' WHERE id = 2")
        done.set()

    with connect_to(cluster.pair.primary, cluster.name) as other, other.transaction():
        other.execute("UPDATE buildings SET name = 'A' WHERE id = 1")
        direct_writer = threading.Thread(target=rename)
        direct_writer.start()

        assert not done.wait(0.3)
    direct_writer.join()

    lines = "SELECT row_key FROM audit_log ORDER BY id DESC LIMIT 2"
    assert cluster.pair.sql(cluster.pair.primary, cluster.name, lines) == [("2",), ("1",)]


def test_import_changes_rights(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "grant.json"
    at = "2025-01-01T00:00:00+00:00"
    grant = {"manager_id": MIA, "building_id": 1, "assigned_by": None, "assigned_at": at}
    source.write_text(json.dumps({"client_manager_building_access": [grant]}))
    with cluster.replay_paused():
        import_rows(cluster.primary_app, source)

        assert ids(cluster.api("mia").get("/buildings")) == {1}


def test_all_columns_of_predicates_decide_rights(cluster: Cluster) -> None:
    """Each entry of users and grants changes rights. A new column of a predicate belongs into `columns_with_rights`."""
    import sqlalchemy as sa

    from access.policy import POLICIES
    from access.roles import GRANT_PROFILES

    read = set()
    for profile in GRANT_PROFILES.values():
        for model, policies in POLICIES.items():
            row = model.__table__.alias()
            condition = policies[profile.role].read(profile, row.c)
            found = sa.select(row.c[next(iter(row.primary_key)).name]).where(condition)
            columns = (each for each in sa.sql.visitors.iterate(found) if hasattr(each, "table"))
            # A column of a subquery is not counted: the subquery's own columns are visited too.
            tables = ((each.table.element, each.name) for each in columns)
            read |= {(table.name, name) for table, name in tables if isinstance(table, sa.Table)}

    deciding = {name for name, _ in columns_with_rights()}
    without_rights = {model.__tablename__ for model in tables_without_rights()}
    assert {("buildings", "client_id"), ("inspections", "inspector_id"), ("users", "role")} <= read
    assert {(table, name) for table, name in read if table in without_rights and name not in deciding} == set()
