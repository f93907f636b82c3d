"""Failures of a standby do not fail requests: it stops, hangs, conflicts with replay, or is a foreign one."""

import os
import pathlib
import signal
import threading
from itertools import count

import pytest

from engine.interface.database import TimedOut
from engine.open import database, reading
from postgres.database import ReplicaTransaction
from tests.conftest import CAST, Api, Database, ids
from tests.postgres.cluster import BASE, Cluster, create_base, open_over
from tests.postgres.server_pair import ServerPair, running_server_pair
from tests.support import databases
from tests.support.waiting import until

pytestmark = pytest.mark.server("a file has no standbys")


# Failures


def test_restart_of_the_standby_fails_no_request(cluster: Cluster) -> None:
    stop, statuses = threading.Event(), []
    # A recent checkpoint shortens the restart, which replays from the last checkpoint.
    cluster.pair.sql(cluster.pair.primary, "postgres", "CHECKPOINT")
    cluster.pair.catch_up()
    cluster.pair.sql(cluster.pair.standby, "postgres", "CHECKPOINT")

    def read(who: str) -> None:
        while not stop.wait(0.003):
            statuses.append(cluster.api(who).get("/inspections?select=id,buildings(id)").status)

    def write() -> None:
        for number in count():
            if stop.wait(0.003):
                return
            answer = cluster.api("ada").patch("/buildings?id=eq.1", {"floors": number % 9})
            statuses.append(answer.status)

    threads = [threading.Thread(target=read, args=(who,)) for who in ("root", "ada", "moe")]
    threads.append(threading.Thread(target=write))
    for each in threads:
        each.start()
    try:
        until(lambda: "standby" in cluster.servers[-20:])
        cluster.pair.stop()
        mark = len(statuses)
        until(lambda: len(statuses) > mark + 200)
        cluster.pair.start()
        cluster.servers.clear()
        until(lambda: "standby" in cluster.servers)
    finally:
        stop.set()
        for each in threads:
            each.join()

    assert set(statuses) <= {200, 204}


def test_failover_clears_the_caches(cluster: Cluster) -> None:
    """Another server and its standbys may have a different audit log."""
    with cluster.app.app_context():
        opened = database()
        for cache in (opened.cache, opened.replicas.cache):
            assert cache.get(7, "q", lambda: "old") == "old"

        opened.forget_sessions()

        for cache in (opened.cache, opened.replicas.cache):
            assert cache.get(7, "q", lambda: "new") == "new"


def test_unresponsive_standby_backs_off(cluster: Cluster) -> None:
    """This happens within the time limit of a read."""
    pids = [pid for (pid,) in cluster.pair.sql(
        cluster.pair.standby, cluster.name,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'walkthrough'",
    )]  # fmt: skip
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        answers = [cluster.api("mia").get("/buildings") for _ in range(5)]

        assert [answer.status for answer in answers] == [200] * 5
        assert cluster.routing_reasons[-1] == "standby away"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    cluster.use_standby()


def test_body_of_a_request_is_received_once_when_the_standby_fails(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: ReplicaTransaction, sql: str, parameters: object = ()) -> None:
        raise TimedOut

    monkeypatch.setattr(ReplicaTransaction, "run", fail)
    calls = {"/storage/v1/object/list/buildings": {"prefix": "1"}, "/rpc/get_building_stats": {"building_id": 1}}

    answers = [cluster.api("ada").send("POST", path, body) for path, body in calls.items()]

    assert [each.status for each in answers] == [200, 200]
    assert cluster.routing_reasons[-2:] == ["standby failed"] * 2


LOCK_BUILDINGS = "DO $$ BEGIN LOCK TABLE buildings IN ACCESS EXCLUSIVE MODE; END $$"


def test_read_cancelled_by_replay_is_retried_on_the_primary(cluster: Cluster) -> None:
    in_recovery = []
    # Replay cancels conflicting reads at once.
    cluster.pair.sql(cluster.pair.standby, "postgres", "ALTER SYSTEM SET max_standby_streaming_delay = 0")
    cluster.pair.sql(cluster.pair.standby, "postgres", "SELECT pg_reload_conf()")

    def read() -> object:
        with reading() as transaction:
            in_recovery.append(transaction.value("SELECT pg_is_in_recovery()"))
            transaction.value("SELECT name FROM buildings WHERE id = 1")
            if in_recovery[-1]:
                primary, name = cluster.pair.primary, cluster.name
                cluster.pair.sql(primary, name, LOCK_BUILDINGS)
                cluster.pair.catch_up()
            return transaction.value("SELECT count(*) FROM buildings")

    with cluster.app.app_context(), database().reading() as primary:
        assert database().on_any_server(primary, read) == 6

    assert in_recovery == [True, False]
    assert cluster.routing_reasons[-1] == "standby failed"
    cluster.pair.sql(cluster.pair.standby, "postgres", "ALTER SYSTEM RESET max_standby_streaming_delay")
    cluster.pair.sql(cluster.pair.standby, "postgres", "SELECT pg_reload_conf()")
    cluster.use_standby()


def test_slow_read_is_retried_on_the_primary_and_the_standby_is_kept(cluster: Cluster) -> None:
    in_recovery = []

    def read() -> object:
        with reading() as transaction:
            in_recovery.append(transaction.value("SELECT pg_is_in_recovery()"))
            return transaction.value(f"SELECT 6 FROM pg_sleep({5 if in_recovery[-1] else 0})")

    with cluster.app.app_context(), database().reading() as primary:
        assert database().on_any_server(primary, read) == 6

    assert in_recovery == [True, False]
    assert cluster.server_of("mia") == "standby"


def test_invalid_request_is_not_retried(cluster: Cluster) -> None:
    answer = cluster.api("mia").get("/buildings?name=match.(")

    assert answer.refusal == cluster.on_primary("mia").get("/buildings?name=match.(").refusal
    assert not cluster.app.extensions["walkthrough"].replicas.all[0].backs_off


def test_missing_standby_does_not_prevent_the_start(pair: ServerPair, tmp_path: pathlib.Path) -> None:
    app = open_over(pair, BASE, pair.url(BASE, tmp_path), pair.url(BASE, pair.standby))
    answers = Api(Database(lambda: app, None, app), CAST["mia"])
    servers: list[str] = []
    app.extensions["walkthrough"].observe_reads(lambda server, reason: servers.append(server))

    until(lambda: answers.get("/buildings").status == 200 and "standby" in servers)
    app.extensions["walkthrough"].close()


def test_identity_of_the_standby_is_checked_later(cluster: Cluster) -> None:
    """A worker may start while the primary is not available."""
    cluster.use_standby()
    (standby,) = cluster.app.extensions["walkthrough"].replicas.all
    standby.drop_idle()
    standby.identity = None

    cluster.use_standby()


def test_replica_of_another_database_is_refused_in_one_line(pair: ServerPair) -> None:
    with pytest.raises(Exception, match="no copy of DATABASE_URL's") as refused:
        open_over(pair, BASE, databases.SERVER.format(database="postgres"))

    assert "host=" not in str(refused.value)


def test_promoted_standby_is_not_read_from() -> None:
    with running_server_pair() as pair:
        create_base(pair)
        pair.catch_up()
        cluster = Cluster(pair, BASE)
        cluster.use_standby()

        pair.promote()
        pair.sql(pair.standby, BASE, "DELETE FROM buildings WHERE id = 6")

        assert 6 in ids(cluster.api("root").get("/buildings"))
        assert cluster.servers[-1] == "primary"
        cluster.close()
