"""Reads on a standby: one's own writes are there, no right is late, and its troubles are nobody's.

A real primary and a real standby, whose replay can be held back: what is late then is late for good.
"""

import json
import os
import pathlib
import re
import signal
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from models.marks import Marks
from tests import databases
from tests.conftest import ADA
from tests.conftest import CAST
from tests.conftest import DATASET
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import RESOURCES
from tests.conftest import Api
from tests.conftest import Database
from tests.conftest import Response
from tests.conftest import ids
from tests.conftest import import_rows
from tests.standby_pair import Pair
from tests.standby_pair import running_pair
from tests.standby_pair import until
from tests.tokens import ANON_KEY
from tests.tokens import SECRET_KEY
from tests.tokens import SERVICE_KEY

pytestmark = pytest.mark.server("a file has no standbys")

PAIRS = 300
PAIRS_LONG = 10_000
ANSWER_SECONDS_MAX = 1.0
BASE = "base"
NUMBERS = count(1)


def open_over(pair: Pair, name: str, *standbys: str) -> object:
    from app import create_app

    return create_app(
        {
            "TESTING": True,
            "DATABASE_URL": pair.url(name, pair.primary),
            "DATABASE_READ_URL": list(standbys),
            "SECRET_KEY": SECRET_KEY,
            "ANON_KEY": ANON_KEY,
            "SERVICE_KEY": SERVICE_KEY,
        }
    )


class World:
    """A database of the primary, the service over both servers, and a twin of it that knows one."""

    def __init__(self, pair: Pair, name: str) -> None:
        self.pair = pair
        self.name = name
        self.app = open_over(pair, name, pair.url(name, pair.standby))
        self.twin = open_over(pair, name)
        self.served: list[str] = []
        self.reasons: list[str] = []
        self.app.extensions["walkthrough"].tell_reads_to(self.note)

    def note(self, server: str, reason: str) -> None:
        self.served.append(server)
        self.reasons.append(reason)

    def api(self, who: str) -> Api:
        return Api(Database(lambda: self.app, None, self.app), CAST[who])

    def on_primary(self, who: str) -> Api:
        return Api(Database(lambda: self.twin, None, self.twin), CAST[who])

    def server_of(self, who: str, path: str = "/buildings") -> str:
        """Which server answers somebody."""
        assert self.api(who).get(path).status == 200
        return self.served[-1]

    def use_standby(self) -> None:
        """Wait until the standby answers whoever wrote nothing."""
        until(lambda: self.server_of("mia") == "standby")

    @contextmanager
    def held_back(self) -> Iterator[None]:
        with self.pair.held_back():
            self.use_standby()
            yield

    def close(self) -> None:
        for app in (self.app, self.twin):
            app.extensions["walkthrough"].close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with running_pair() as found:
        make_base(found)
        yield found


def make_base(pair: Pair) -> None:
    pair.sql(pair.primary, "postgres", f"CREATE DATABASE {BASE}")
    app = open_over(pair, BASE)
    import_rows(app, DATASET)
    app.extensions["walkthrough"].close()


@pytest.fixture
def world(pair: Pair) -> Iterator[World]:
    name = f"world{next(NUMBERS)}"
    pair.sql(pair.primary, "postgres", f"CREATE DATABASE {name} TEMPLATE {BASE}")
    pair.catch_up()
    made = World(pair, name)
    try:
        made.use_standby()
        yield made
    finally:
        made.close()


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
    assert world.api("root").get("/auth/v1/admin/users", content_type=None).status in (200, 401)

    assert world.served == []


def test_ready_and_metrics_tell_which_server_is_used(world: World) -> None:
    until(lambda: world.api("nobody").get("/ready").json == {"status": "ready", "reads": "standby"})
    assert world.twin.test_client().get("/ready").json == {"status": "ready"}

    world.app.extensions["walkthrough"].standbys.all[0].leave_alone()

    assert world.api("nobody").get("/ready").json == {"status": "ready", "reads": "primary"}


def test_metrics_count_reads_by_server(world: World) -> None:
    meters = world.app.extensions["walkthrough.meters"]
    world.app.extensions["walkthrough"].tell_reads_to(meters.count_read)
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


def test_pairs_notice_a_check_that_is_not_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Marks, "are_within", lambda marks, last, rights: True)
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


# Rights

QUESTIONS = (
    "/inspections?select=id,buildings(id,name),inspectors(name),reports_lead(id)&order=id",
    "/inspections?id=eq.3",
    "/inspections?id=eq.1",
    "/buildings?select=id,name,inspections(id)&order=id",
    "/buildings?select=count()",
    "/inspectors?order=id",
    "/reports_lead?order=id",
    "/users?order=id",
    "/clients",
    "/client_admin_building_access",
    "/client_manager_building_access",
    "/client_admin_inspection_access",
    "/client_manager_inspection_access",
    "/rpc/get_inspections_dashboard_summary_fast",
    f"/rpc/check_building_access_v2?user_id={MOE}&building_id=1",
)
GENERATED_AT = re.compile(r'"generated_at":"[^"]*"')
COUNTED = ("/inspections", "/buildings", "/reports_lead", "/inspectors")


def answers_of(ask: Callable[[str], Api]) -> dict[tuple, tuple]:
    found = {}
    for who in ("root", "ada", "bob", "moe", "mia", "max"):
        for path in QUESTIONS:
            answer = ask(who).get(path)
            found[who, path] = (answer.status, GENERATED_AT.sub("", answer.text))
        for path in COUNTED:
            answer = ask(who).head(path, prefer="count=exact")
            found[who, "HEAD", path] = (answer.status, answer.headers.get("Content-Range"))
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
def test_no_right_is_late(world: World, who: str, method: str, path: str, body: object) -> None:
    before = answers_of(world.api)
    with world.held_back():
        answer = world.on_primary(who).send(method, path, body)
        assert answer.status in (200, 201, 204), answer.text
        world.served.clear()

        after = answers_of(world.api)

        assert after == answers_of(world.on_primary)
        assert after != before
        assert set(world.served) == {"primary"}
    until(lambda: world.server_of("root") == "standby")
    assert answers_of(world.api) == answers_of(world.on_primary)


def test_revoked_grant_opens_nothing_on_any_way(world: World) -> None:
    moe = world.api("moe")
    assert 1 in ids(moe.get("/buildings"))
    with world.held_back():
        revoked = world.on_primary("ada").delete(
            f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.1"
        )

        assert revoked.status == 204
        assert moe.get("/buildings").json == []
        assert moe.get("/buildings?id=eq.1").json == []
        assert moe.get("/inspections?select=id,buildings(name)").json == [
            {"id": 3, "buildings": None}
        ]
        assert moe.head("/inspections", prefer="count=exact").total == "1"


def test_signed_out_banned_and_demoted_are_refused_at_once(world: World) -> None:
    with world.held_back():
        assert world.on_primary("moe").post("/auth/v1/logout?scope=global").status == 204
        banned = world.on_primary("service").send(
            "PUT", f"/auth/v1/admin/users/{MIA}", {"ban_duration": "1h"}
        )
        assert banned.status == 200

        assert world.api("moe").get("/buildings").status == 401
        assert world.api("mia").get("/buildings").status == 401


def test_right_that_a_hand_takes_counts_too(world: World) -> None:
    with world.held_back():
        world.pair.sql(world.pair.primary, world.name, "DELETE FROM client_manager_building_access")

        assert world.api("moe").get("/buildings").json == []


def test_line_of_a_hand_waits_for_the_turn_before_it_has_a_number(world: World) -> None:
    from tests.standby_pair import connected

    done = threading.Event()

    def rename() -> None:
        world.pair.sql(
            world.pair.primary, world.name, "UPDATE buildings SET name = 'B' WHERE id = 2"
        )
        done.set()

    with connected(world.pair.primary, world.name) as other, other.transaction():
        other.execute("UPDATE buildings SET name = 'A' WHERE id = 1")
        by_hand = threading.Thread(target=rename)
        by_hand.start()

        assert not done.wait(0.3)
    by_hand.join()

    lines = "SELECT row_key FROM audit_log ORDER BY id DESC LIMIT 2"
    assert world.pair.sql(world.pair.primary, world.name, lines) == [("2",), ("1",)]


def test_import_counts_as_a_change_of_rights(world: World, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "grant.json"
    at = "2025-01-01T00:00:00+00:00"
    grant = {"manager_id": MIA, "building_id": 1, "assigned_by": None, "assigned_at": at}
    source.write_text(json.dumps({"client_manager_building_access": [grant]}))
    with world.held_back():
        import_rows(world.twin, source)

        assert ids(world.api("mia").get("/buildings")) == {1}


def test_every_column_that_the_rule_reads_is_weighed(world: World) -> None:
    """A column more in a predicate has to be thought of in `decides_rights`, then here."""
    import sqlalchemy as sa

    from access.caller import STANDINGS
    from access.policy import POLICIES

    read = set()
    for standing in STANDINGS.values():
        for model, policies in POLICIES.items():
            row = model.__table__.alias()
            condition = policies[standing.role].read(standing, row.c)
            found = sa.select(row.c[next(iter(row.primary_key)).name]).where(condition)
            read |= {each.name for each in sa.sql.visitors.iterate(found) if hasattr(each, "table")}

    assert read == {
        "id", "role", "client_id", "building_id", "inspection_id", "inspector_id", "admin_id", "manager_id",
    }  # fmt: skip


# Its troubles


def timed(ask: Callable[[], Response]) -> tuple[Response, float]:
    began = time.monotonic()
    return ask(), time.monotonic() - began


def test_standby_that_stops_and_comes_back_is_nobodys_trouble(world: World) -> None:
    stop, answers = threading.Event(), []

    def read(who: str) -> None:
        while not stop.is_set():
            answer, seconds = timed(
                lambda: world.api(who).get("/inspections?select=id,buildings(id)")
            )
            answers.append((answer.status, seconds))

    def write() -> None:
        for number in count():
            if stop.is_set():
                return
            answer, seconds = timed(
                lambda n=number: world.api("ada").patch("/buildings?id=eq.1", {"floors": n % 9})
            )
            answers.append((answer.status, seconds))

    threads = [threading.Thread(target=read, args=(who,)) for who in ("root", "ada", "moe")]
    threads.append(threading.Thread(target=write))
    for each in threads:
        each.start()
    try:
        until(lambda: "standby" in world.served[-20:])
        world.pair.stop()
        mark = len(answers)
        until(lambda: len(answers) > mark + 200)
        world.pair.start()
        world.served.clear()
        until(lambda: "standby" in world.served)
    finally:
        stop.set()
        for each in threads:
            each.join()

    assert {status for status, _ in answers} <= {200, 204}
    assert max(seconds for _, seconds in answers) < 2 * ANSWER_SECONDS_MAX


def test_standby_that_falls_silent_is_left_alone(world: World) -> None:
    silent = [pid for (pid,) in world.pair.sql(
        world.pair.standby, world.name,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'walkthrough'",
    )]  # fmt: skip
    assert silent
    for pid in silent:
        os.kill(pid, signal.SIGSTOP)
    try:
        answers = [timed(lambda: world.api("mia").get("/buildings")) for _ in range(5)]

        assert [answer.status for answer, _ in answers] == [200] * 5
        assert max(seconds for _, seconds in answers) < ANSWER_SECONDS_MAX
        assert world.reasons[-1] == "standby away"
    finally:
        for pid in silent:
            os.kill(pid, signal.SIGCONT)
    world.use_standby()


LOCK = "DO $$ BEGIN LOCK TABLE buildings IN ACCESS EXCLUSIVE MODE; END $$"


def test_read_that_is_in_the_way_of_replay_ends_on_the_primary(world: World) -> None:
    from models.db import database
    from models.db import reading

    tries = []
    # Replay waits for nobody in this test.
    world.pair.sql(
        world.pair.standby, "postgres", "ALTER SYSTEM SET max_standby_streaming_delay = 0"
    )
    world.pair.sql(world.pair.standby, "postgres", "SELECT pg_reload_conf()")

    def read() -> object:
        with reading() as transaction:
            tries.append(transaction.value("SELECT pg_is_in_recovery()"))
            transaction.value("SELECT name FROM buildings WHERE id = 1")
            if tries[-1]:
                primary, name = world.pair.primary, world.name
                world.pair.sql(primary, name, LOCK)
                world.pair.catch_up()
            return transaction.value("SELECT count(*) FROM buildings")

    with world.app.app_context(), database().reading() as primary:
        assert database().anywhere(primary, read) == 6

    assert tries == [True, False]
    assert world.reasons[-1] == "standby failed"
    world.pair.sql(world.pair.standby, "postgres", "ALTER SYSTEM RESET max_standby_streaming_delay")
    world.pair.sql(world.pair.standby, "postgres", "SELECT pg_reload_conf()")
    world.use_standby()


def test_what_is_asked_wrongly_is_refused_once_and_alike(world: World) -> None:
    answer = world.api("mia").get("/buildings?name=match.(")

    assert answer.refusal == world.on_primary("mia").get("/buildings?name=match.(").refusal
    assert not world.app.extensions["walkthrough"].standbys.all[0].is_left_alone


def test_standby_that_is_not_there_keeps_nothing_from_starting(
    pair: Pair, tmp_path: pathlib.Path
) -> None:
    app = open_over(pair, BASE, pair.url(BASE, tmp_path), pair.url(BASE, pair.standby))
    answers = Api(Database(lambda: app, None, app), CAST["mia"])
    served: list[str] = []
    app.extensions["walkthrough"].tell_reads_to(lambda server, reason: served.append(server))

    until(lambda: answers.get("/buildings").status == 200 and "standby" in served)
    app.extensions["walkthrough"].close()


def test_another_database_is_refused_in_one_line(pair: Pair) -> None:
    with pytest.raises(Exception, match="no copy of DATABASE_URL's") as refused:
        open_over(pair, BASE, databases.SERVER.format(database="postgres"))

    assert "host=" not in str(refused.value)


def test_promoted_standby_is_not_read_from() -> None:
    with running_pair() as pair:
        make_base(pair)
        pair.catch_up()
        world = World(pair, BASE)
        world.use_standby()

        pair.promote()
        pair.sql(pair.standby, BASE, "DELETE FROM buildings WHERE id = 6")

        assert 6 in ids(world.api("root").get("/buildings"))
        assert world.served[-1] == "primary"
        world.close()


def test_every_table_is_asked_about() -> None:
    assert all(any(name in path for path in QUESTIONS) for name in RESOURCES)
