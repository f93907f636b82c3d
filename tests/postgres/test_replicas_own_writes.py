"""Routing of reads: to a standby, unless it lacks a write of the caller."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from engine.interface.database import ReplicationPositions
from tests.conftest import ADA, Api
from tests.postgres.cluster import Cluster
from tests.support.waiting import until

pytestmark = pytest.mark.server("a file has no standbys")

WRITES = 300
WRITES_LONG = 10_000


# Routing


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia", "service"])
def test_reads_use_the_standby(cluster: Cluster, who: str) -> None:
    until(lambda: cluster.server_of(who) == "standby")

    for path in ("/inspections?select=id,buildings(name)", "/rpc/get_building_stats_chart_fast"):
        answers = (cluster.api(who).get(path), cluster.on_primary(who).get(path))

        assert answers[0].whole == answers[1].whole
        assert cluster.servers[-1] == "standby"
    assert cluster.api(who).head("/inspections", prefer="count=exact").status in (200, 206)
    assert cluster.servers[-1] == "standby"


def test_writes_and_sign_in_use_the_primary(cluster: Cluster) -> None:
    cluster.servers.clear()

    assert cluster.api("ada").patch("/buildings?id=eq.1", {"floors": 3}).status == 204
    assert cluster.api("ada").get("/auth/v1/user").status == 200
    assert cluster.api("service").get("/auth/v1/admin/users").status == 200

    assert cluster.servers == []


def test_ready_reports_the_server_of_reads(cluster: Cluster) -> None:
    until(lambda: cluster.api("nobody").get("/ready").json == {"status": "ready", "reads": "standby"})
    assert cluster.primary_app.test_client().get("/ready").json == {"status": "ready"}

    cluster.app.extensions["walkthrough"].replicas.all[0].back_off()

    assert cluster.api("nobody").get("/ready").json == {"status": "ready", "reads": "primary"}


def test_metrics_count_reads_by_server(cluster: Cluster) -> None:
    meters = cluster.app.extensions["walkthrough.meters"]
    cluster.app.extensions["walkthrough"].observe_reads(meters.count_read)
    assert cluster.api("mia").get("/buildings").status == 200

    text = cluster.api("service").get("/metrics").text

    assert 'walkthrough_reads_total{reason="caught up",server="standby"} 1.0' in text
    assert "host=" not in text


# Own writes


def missed_reads(cluster: Cluster, writes: int) -> int:
    """Return how many of a number of writes their writer does not read immediately afterwards."""
    ada, bob, misses = cluster.api("ada"), cluster.api("bob"), 0
    for number in range(writes):
        assert ada.patch("/inspections?id=eq.2", {"notes": f"note {number}"}).status == 204
        found = ada.get("/inspections?id=eq.2&select=notes").json
        misses += found != [{"notes": f"note {number}"}]
        assert bob.get("/inspections?id=eq.3&select=id").json == [{"id": 3}]
    return misses


def test_writer_reads_own_writes(cluster: Cluster) -> None:
    cluster.servers.clear()

    assert missed_reads(cluster, WRITES) == 0
    assert cluster.servers.count("standby") > WRITES // 2  # at least the reads of bob


@pytest.mark.long
def test_writer_reads_10_000_own_writes(cluster: Cluster) -> None:
    assert missed_reads(cluster, WRITES_LONG) == 0
    assert "standby" in cluster.servers


def test_missing_position_check_is_detected(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicationPositions, "are_within", lambda positions, has_own, rights: True)
    with cluster.replay_paused():
        misses = missed_reads(cluster, 20)

    assert misses == 20


def test_later_entry_of_another_client_is_no_proof_of_an_own_write(cluster: Cluster) -> None:
    """Writers of two clients commit in the other order than that of their entries."""
    stored = cluster.app.extensions["walkthrough"]
    with ExitStack() as paused, ThreadPoolExecutor(1) as pool:
        with stored.writing(client_id=1) as transaction:
            transaction.set_actor(ADA)
            transaction.run("UPDATE inspections SET notes = 'own' WHERE id = 2")
            assert (
                pool.submit(cluster.api("bob").patch, "/inspections?id=eq.6", {"notes": "later"}).result().status == 204
            )
            pool.submit(paused.enter_context, cluster.replay_paused()).result()

        assert cluster.api("ada").get("/inspections?id=eq.2&select=notes").json == [{"notes": "own"}]
        assert cluster.servers[-1] == "primary"
        assert cluster.server_of("bob") == "standby"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("PATCH", "/inspections?id=eq.2", {"notes": "new"}, id="change"),
        pytest.param("POST", "/inspections", {"building_id": 1, "inspection_type": "fire"}, id="insert"),
        pytest.param("PATCH", "/buildings?id=eq.1", {"name": "New House"}, id="building"),
        pytest.param("POST", "/reports_lead", {"inspection_id": 1, "gun_id": 7}, id="reading"),
    ],
)  # fmt: skip
def test_only_the_writer_reads_from_the_primary(cluster: Cluster, method: str, path: str, body: dict) -> None:
    with cluster.replay_paused():
        assert cluster.api("ada").send(method, path, body).status in (201, 204)

        assert cluster.server_of("ada") == "primary"
        assert cluster.routing_reasons[-1] == "standby behind"
        for who in ("root", "bob", "moe", "mia"):
            assert cluster.server_of(who) == "standby"
        path_with_embeds = "/inspections?select=*,buildings(*),reports_lead(*)&order=id"
        assert cluster.api("ada").get(path_with_embeds).text == cluster.on_primary("ada").get(path_with_embeds).text
    until(lambda: cluster.server_of("ada") == "standby")


def test_service_key_reads_its_own_writes(cluster: Cluster) -> None:
    with cluster.replay_paused():
        assert cluster.api("service").patch("/buildings?id=eq.1", {"floors": 9}).status == 204

        assert cluster.api("service").get("/buildings?id=eq.1&select=floors").json == [{"floors": 9}]
        assert cluster.server_of("mia") == "standby"


def test_cached_results_belong_to_one_snapshot(cluster: Cluster) -> None:
    def inspections(api: Api) -> int:
        return api.get("/rpc/get_inspections_dashboard_summary_fast").json["total_inspections"]

    before = inspections(cluster.api("root"))
    with cluster.replay_paused():
        body = [{"building_id": 1, "inspection_type": "fire", "status": "completed"}] * 3
        assert cluster.api("ada").post("/inspections", body).status == 201

        own = inspections(cluster.on_primary("ada"))
        assert [inspections(cluster.api("ada")) for _ in range(2)] == [own, own]
        assert inspections(cluster.on_primary("root")) == before + 3
        assert inspections(cluster.api("root")) == before
        assert [inspections(cluster.api("ada")), inspections(cluster.api("root"))] == [own, before]
    until(lambda: inspections(cluster.api("root")) == before + 3)
    assert cluster.servers[-1] == "standby"
