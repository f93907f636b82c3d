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
def test_reads_are_the_standbys(world: World, who: str) -> None:
    until(lambda: world.server_of(who) == "standby")

    for path in ("/inspections?select=id,buildings(name)", "/rpc/get_building_stats_chart_fast"):
        answers = (world.api(who).get(path), world.on_primary(who).get(path))

        assert answers[0].whole == answers[1].whole
        assert world.served[-1] == "standby"
    assert world.api(who).head("/inspections", prefer="count=exact").status in (200, 206)
    assert world.served[-1] == "standby"


def test_writes_and_sign_in_never_ask_it(world: World) -> None:
    world.served.clear()

    assert world.api("ada").patch("/buildings?id=eq.1", {"floors": 3}).status == 204
    assert world.api("ada").get("/auth/v1/user").status == 200
    assert world.api("service").get("/auth/v1/admin/users").status == 200

    assert world.served == []


def test_ready_and_metrics_tell_which_server_is_used(world: World) -> None:
    until(lambda: world.api("nobody").get("/ready").json == {"status": "ready", "reads": "standby"})
    assert world.twin.test_client().get("/ready").json == {"status": "ready"}

    world.app.extensions["walkthrough"].replicas.all[0].back_off()

    assert world.api("nobody").get("/ready").json == {"status": "ready", "reads": "primary"}


def test_metrics_count_reads_by_server(world: World) -> None:
    meters = world.app.extensions["walkthrough.meters"]
    world.app.extensions["walkthrough"].observe_reads(meters.count_read)
    assert world.api("mia").get("/buildings").status == 200

    text = world.api("service").get("/metrics").text

    assert 'walkthrough_reads_total{reason="caught up",server="standby"} 1.0' in text
    assert "host=" not in text


# One's own writes


def missed(world: World, pairs: int) -> int:
    """How many of so many writes their writer does not find right after."""
    ada, bob, misses = world.api("ada"), world.api("bob"), 0
    for number in range(pairs):
        assert ada.patch("/inspections?id=eq.2", {"notes": f"note {number}"}).status == 204
        found = ada.get("/inspections?id=eq.2&select=notes").json
        misses += found != [{"notes": f"note {number}"}]
        assert bob.get("/inspections?id=eq.3&select=id").json == [{"id": 3}]
    return misses


def test_who_wrote_finds_it(world: World) -> None:
    world.served.clear()

    assert missed(world, PAIRS) == 0
    assert world.served.count("standby") > PAIRS // 2  # bob's, at the least, are hers no more


@pytest.mark.long
def test_who_wrote_finds_it_ten_thousand_times(world: World) -> None:
    assert missed(world, PAIRS_LONG) == 0
    assert "standby" in world.served


def test_pairs_notice_a_check_that_is_not_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicationPositions, "are_within", lambda positions, last, rights: True)
    with world.held_back():
        misses = missed(world, 20)

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
    world: World, method: str, path: str, body: dict
) -> None:
    with world.held_back():
        assert world.api("ada").send(method, path, body).status in (201, 204)

        assert world.server_of("ada") == "primary"
        assert world.reasons[-1] == "standby behind"
        for who in ("root", "bob", "moe", "mia"):
            assert world.server_of(who) == "standby"
        shown = "/inspections?select=*,buildings(*),reports_lead(*)&order=id"
        assert world.api("ada").get(shown).text == world.on_primary("ada").get(shown).text
    until(lambda: world.server_of("ada") == "standby")


def test_service_key_finds_what_it_wrote(world: World) -> None:
    with world.held_back():
        assert world.api("service").patch("/buildings?id=eq.1", {"floors": 9}).status == 204

        assert world.api("service").get("/buildings?id=eq.1&select=floors").json == [{"floors": 9}]
        assert world.server_of("mia") == "standby"


def test_what_is_remembered_is_of_the_snapshot_that_told_it(world: World) -> None:
    def inspections(api: Api) -> int:
        return api.get("/rpc/get_inspections_dashboard_summary_fast").json["total_inspections"]

    before = inspections(world.api("root"))
    with world.held_back():
        body = [{"building_id": 1, "inspection_type": "fire", "status": "completed"}] * 3
        assert world.api("ada").post("/inspections", body).status == 201

        own = inspections(world.on_primary("ada"))
        assert [inspections(world.api("ada")) for _ in range(2)] == [own, own]
        assert inspections(world.on_primary("root")) == before + 3
        assert inspections(world.api("root")) == before
        assert [inspections(world.api("ada")), inspections(world.api("root"))] == [own, before]
    until(lambda: inspections(world.api("root")) == before + 3)
    assert world.served[-1] == "standby"
