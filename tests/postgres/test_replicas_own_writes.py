"""Who serves a read: a standby, but where the caller would miss what they wrote."""

import pytest

from engine.storage.replication_positions import ReplicationPositions
from tests.conftest import Api
from tests.postgres.world import World
from tests.support.waiting import until

pytestmark = pytest.mark.server("a file has no standbys")

PAIRS = 300
PAIRS_LONG = 10_000


# Who serves


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia", "service"])
def test_reads_are_the_standbys(cluster: World, who: str) -> None:
    until(lambda: cluster.server_of(who) == "standby")

    for path in ("/inspections?select=id,buildings(name)", "/rpc/get_building_stats_chart_fast"):
        answers = (cluster.api(who).get(path), cluster.on_primary(who).get(path))

        assert answers[0].whole == answers[1].whole
        assert cluster.served[-1] == "standby"
    assert cluster.api(who).head("/inspections", prefer="count=exact").status in (200, 206)
    assert cluster.served[-1] == "standby"


def test_writes_and_sign_in_never_ask_it(cluster: World) -> None:
    cluster.served.clear()

    assert cluster.api("ada").patch("/buildings?id=eq.1", {"floors": 3}).status == 204
    assert cluster.api("ada").get("/auth/v1/user").status == 200
    assert cluster.api("service").get("/auth/v1/admin/users").status == 200

    assert cluster.served == []


def test_ready_and_metrics_tell_which_server_is_used(cluster: World) -> None:
    until(lambda: cluster.api("nobody").get("/ready").json == {"status": "ready", "reads": "standby"})
    assert cluster.twin.test_client().get("/ready").json == {"status": "ready"}

    cluster.app.extensions["walkthrough"].replicas.all[0].back_off()

    assert cluster.api("nobody").get("/ready").json == {"status": "ready", "reads": "primary"}


def test_metrics_count_reads_by_server(cluster: World) -> None:
    meters = cluster.app.extensions["walkthrough.meters"]
    cluster.app.extensions["walkthrough"].observe_reads(meters.count_read)
    assert cluster.api("mia").get("/buildings").status == 200

    text = cluster.api("service").get("/metrics").text

    assert 'walkthrough_reads_total{reason="caught up",server="standby"} 1.0' in text
    assert "host=" not in text


# One's own writes


def missed(cluster: World, pairs: int) -> int:
    """How many of so many writes their writer does not find right after."""
    ada, bob, misses = cluster.api("ada"), cluster.api("bob"), 0
    for number in range(pairs):
        assert ada.patch("/inspections?id=eq.2", {"notes": f"note {number}"}).status == 204
        found = ada.get("/inspections?id=eq.2&select=notes").json
        misses += found != [{"notes": f"note {number}"}]
        assert bob.get("/inspections?id=eq.3&select=id").json == [{"id": 3}]
    return misses


def test_who_wrote_finds_it(cluster: World) -> None:
    cluster.served.clear()

    assert missed(cluster, PAIRS) == 0
    assert cluster.served.count("standby") > PAIRS // 2  # bob's, at the least, are hers no more


@pytest.mark.long
def test_who_wrote_finds_it_ten_thousand_times(cluster: World) -> None:
    assert missed(cluster, PAIRS_LONG) == 0
    assert "standby" in cluster.served


def test_pairs_notice_a_check_that_is_not_made(cluster: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicationPositions, "are_within", lambda positions, last, rights: True)
    with cluster.held_back():
        misses = missed(cluster, 20)

    assert misses == 20


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("PATCH", "/inspections?id=eq.2", {"notes": "new"}, id="change"),
        pytest.param("POST", "/inspections", {"building_id": 1, "inspection_type": "fire"}, id="insert"),
        pytest.param("PATCH", "/buildings?id=eq.1", {"name": "New House"}, id="building"),
        pytest.param("POST", "/reports_lead", {"inspection_id": 1, "gun_id": 7}, id="reading"),
    ],
)  # fmt: skip
def test_who_wrote_is_served_by_the_primary_and_nobody_else_is(
    cluster: World, method: str, path: str, body: dict
) -> None:
    with cluster.held_back():
        assert cluster.api("ada").send(method, path, body).status in (201, 204)

        assert cluster.server_of("ada") == "primary"
        assert cluster.reasons[-1] == "standby behind"
        for who in ("root", "bob", "moe", "mia"):
            assert cluster.server_of(who) == "standby"
        shown = "/inspections?select=*,buildings(*),reports_lead(*)&order=id"
        assert cluster.api("ada").get(shown).text == cluster.on_primary("ada").get(shown).text
    until(lambda: cluster.server_of("ada") == "standby")


def test_service_key_finds_what_it_wrote(cluster: World) -> None:
    with cluster.held_back():
        assert cluster.api("service").patch("/buildings?id=eq.1", {"floors": 9}).status == 204

        assert cluster.api("service").get("/buildings?id=eq.1&select=floors").json == [{"floors": 9}]
        assert cluster.server_of("mia") == "standby"


def test_what_is_remembered_is_of_the_snapshot_that_told_it(cluster: World) -> None:
    def inspections(api: Api) -> int:
        return api.get("/rpc/get_inspections_dashboard_summary_fast").json["total_inspections"]

    before = inspections(cluster.api("root"))
    with cluster.held_back():
        body = [{"building_id": 1, "inspection_type": "fire", "status": "completed"}] * 3
        assert cluster.api("ada").post("/inspections", body).status == 201

        own = inspections(cluster.on_primary("ada"))
        assert [inspections(cluster.api("ada")) for _ in range(2)] == [own, own]
        assert inspections(cluster.on_primary("root")) == before + 3
        assert inspections(cluster.api("root")) == before
        assert [inspections(cluster.api("ada")), inspections(cluster.api("root"))] == [own, before]
    until(lambda: inspections(cluster.api("root")) == before + 3)
    assert cluster.served[-1] == "standby"
