"""A standby's troubles are nobody's: it goes, falls silent, stands in the way, is somebody else's."""

import os
import pathlib
import signal
import threading
from itertools import count

import pytest

from engine.current import database, reading
from tests.conftest import CAST, Api, Database, ids
from tests.postgres.server_pair import Pair, running_pair
from tests.postgres.world import BASE, World, make_base, open_over
from tests.support import databases
from tests.support.waiting import until

pytestmark = pytest.mark.server("a file has no standbys")


# Its troubles


def test_standby_that_stops_and_comes_back_is_nobodys_trouble(cluster: World) -> None:
    stop, statuses = threading.Event(), []
    # So that it comes back soon: what was replayed since the last one is replayed again.
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
        until(lambda: "standby" in cluster.served[-20:])
        cluster.pair.stop()
        mark = len(statuses)
        until(lambda: len(statuses) > mark + 200)
        cluster.pair.start()
        cluster.served.clear()
        until(lambda: "standby" in cluster.served)
    finally:
        stop.set()
        for each in threads:
            each.join()

    assert set(statuses) <= {200, 204}


def test_what_standbys_told_is_forgotten_where_another_server_may_have_taken_over(cluster: World) -> None:
    """To another server a line of the trail is another one, to its standbys, too."""
    with cluster.app.app_context():
        served = database()
        for remembered in (served.cache, served.replicas.cache):
            assert remembered.get(7, "q", lambda: "old") == "old"

        served.forget_sessions()

        for remembered in (served.cache, served.replicas.cache):
            assert remembered.get(7, "q", lambda: "new") == "new"


def test_standby_that_falls_silent_backs_off(cluster: World) -> None:
    """Within the time of a read: a little longer, and its answer would be that it was stopped."""
    silent = [pid for (pid,) in cluster.pair.sql(
        cluster.pair.standby, cluster.name,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'walkthrough'",
    )]  # fmt: skip
    assert silent
    for pid in silent:
        os.kill(pid, signal.SIGSTOP)
    try:
        answers = [cluster.api("mia").get("/buildings") for _ in range(5)]

        assert [answer.status for answer in answers] == [200] * 5
        assert cluster.reasons[-1] == "standby away"
    finally:
        for pid in silent:
            os.kill(pid, signal.SIGCONT)
    cluster.use_standby()


LOCK = "DO $$ BEGIN LOCK TABLE buildings IN ACCESS EXCLUSIVE MODE; END $$"


def test_read_that_is_in_the_way_of_replay_ends_on_the_primary(cluster: World) -> None:
    tries = []
    # Replay waits for nobody in this test.
    cluster.pair.sql(cluster.pair.standby, "postgres", "ALTER SYSTEM SET max_standby_streaming_delay = 0")
    cluster.pair.sql(cluster.pair.standby, "postgres", "SELECT pg_reload_conf()")

    def read() -> object:
        with reading() as transaction:
            tries.append(transaction.value("SELECT pg_is_in_recovery()"))
            transaction.value("SELECT name FROM buildings WHERE id = 1")
            if tries[-1]:
                primary, name = cluster.pair.primary, cluster.name
                cluster.pair.sql(primary, name, LOCK)
                cluster.pair.catch_up()
            return transaction.value("SELECT count(*) FROM buildings")

    with cluster.app.app_context(), database().reading() as primary:
        assert database().on_any_server(primary, read) == 6

    assert tries == [True, False]
    assert cluster.reasons[-1] == "standby failed"
    cluster.pair.sql(cluster.pair.standby, "postgres", "ALTER SYSTEM RESET max_standby_streaming_delay")
    cluster.pair.sql(cluster.pair.standby, "postgres", "SELECT pg_reload_conf()")
    cluster.use_standby()


def test_read_that_takes_too_long_there_is_done_again_and_the_standby_kept(cluster: World) -> None:
    tries = []

    def read() -> object:
        with reading() as transaction:
            tries.append(transaction.value("SELECT pg_is_in_recovery()"))
            return transaction.value(f"SELECT 6 FROM pg_sleep({5 if tries[-1] else 0})")

    with cluster.app.app_context(), database().reading() as primary:
        assert database().on_any_server(primary, read) == 6

    assert tries == [True, False]
    assert cluster.server_of("mia") == "standby"


def test_what_is_asked_wrongly_is_refused_once_and_alike(cluster: World) -> None:
    answer = cluster.api("mia").get("/buildings?name=match.(")

    assert answer.refusal == cluster.on_primary("mia").get("/buildings?name=match.(").refusal
    assert not cluster.app.extensions["walkthrough"].replicas.all[0].backs_off


def test_standby_that_is_not_there_keeps_nothing_from_starting(pair: Pair, tmp_path: pathlib.Path) -> None:
    app = open_over(pair, BASE, pair.url(BASE, tmp_path), pair.url(BASE, pair.standby))
    answers = Api(Database(lambda: app, None, app), CAST["mia"])
    served: list[str] = []
    app.extensions["walkthrough"].observe_reads(lambda server, reason: served.append(server))

    until(lambda: answers.get("/buildings").status == 200 and "standby" in served)
    app.extensions["walkthrough"].close()


def test_whose_copy_it_is_may_be_learnt_later(cluster: World) -> None:
    """By a worker that came while the primary was away."""
    cluster.use_standby()
    (standby,) = cluster.app.extensions["walkthrough"].replicas.all
    standby.drop_idle()
    standby.identity = None

    cluster.use_standby()


def test_another_database_is_refused_in_one_line(pair: Pair) -> None:
    with pytest.raises(Exception, match="no copy of DATABASE_URL's") as refused:
        open_over(pair, BASE, databases.SERVER.format(database="postgres"))

    assert "host=" not in str(refused.value)


def test_promoted_standby_is_not_read_from() -> None:
    with running_pair() as pair:
        make_base(pair)
        pair.catch_up()
        cluster = World(pair, BASE)
        cluster.use_standby()

        pair.promote()
        pair.sql(pair.standby, BASE, "DELETE FROM buildings WHERE id = 6")

        assert 6 in ids(cluster.api("root").get("/buildings"))
        assert cluster.served[-1] == "primary"
        cluster.close()
