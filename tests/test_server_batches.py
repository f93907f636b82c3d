"""A small write to a server is one trip, and so are several that came together: kept if all of it is right, and told
as if each had been alone.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import psycopg
import pytest

from models import server
from models.db import Database
from models.db import WrongGuess
from models.db import database
from models.guesses import NotGuessed
from models.joint import Joint
from models.sql import direct
from models.transaction import Transaction
from tests import databases
from tests.conftest import CAST
from tests.sessions import WAITED_FOR
from tests.sessions import listen
from tests.signin import Service
from tests.signin import open_service
from tests.together import ROW
from tests.together import ROW_OF_BOB
from tests.together import post
from tests.together import together
from tests.together import written
from tests.waiting import TIMED
from tests.waiting import until

pytestmark = pytest.mark.server("a file is no trip away")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    """One that has been written to by those who write here, and so knows them."""
    made = open_service(tmp_path)
    for who in ("root", "ada", "bob"):
        assert made.api(who).patch("/inspections?id=eq.-1", {"status": "passed"}).status == 204
    return made


@pytest.fixture
def trips(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is waited for, once each statement has its name."""
    service.api("ada").post("/inspections", {**ROW, "notes": "old"})
    service.api("ada").post("/inspections", {**ROW, "notes": "old"}, prefer="return=representation")
    for prefer in (None, "return=representation"):
        service.api("ada").patch("/inspections?id=eq.1", {"status": "passed"}, prefer=prefer)
    return listen(monkeypatch, *WAITED_FOR)


# Trips


def test_a_write_alone_is_one_trip(service: Service, trips: list[str]) -> None:
    assert service.api("ada").post("/inspections", ROW).status == 201
    assert service.api("ada").patch("/inspections?id=eq.1", {"status": "failed"}).status == 204

    inserted, updated = trips
    assert [each.split()[0] for each in inserted.split("; ")] == ["SELECT", "WITH"]
    assert [each.split()[0] for each in updated.split("; ")] == ["SELECT", "WITH"]


def test_what_no_rule_judges_is_proved_before_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no gate."""
    root = service.api("root")
    root.post("/inspections", ROW)  # so that each statement has its name
    trips = listen(monkeypatch, *WAITED_FOR)

    assert root.post("/inspections", ROW).status == 201

    [said] = trips
    assert [each.split()[0] for each in said.split("; ")] == ["SELECT", "SELECT", "INSERT"]


def test_a_new_row_comes_back_with_it(service: Service, trips: list[str]) -> None:
    answer = service.api("ada").post("/inspections", ROW, prefer="return=representation")

    assert answer.json[0]["notes"] == "new"
    [said] = trips
    assert [each.split()[0] for each in said.split("; ")] == ["SELECT", "WITH", "SELECT"]


def test_a_changed_row_comes_back_with_it(service: Service, trips: list[str]) -> None:
    answer = service.api("ada").patch(
        "/inspections?id=eq.1", {"status": "new"}, prefer="return=representation"
    )

    assert answer.json[0]["status"] == "new"
    [said] = trips
    assert [each.split()[0] for each in said.split("; ")] == ["SELECT", "WITH", "SELECT"]


@TIMED
def test_those_that_came_together_are_one_trip(service: Service, trips: list[str]) -> None:
    ada, bob = service.api("ada"), service.api("bob")

    answers = together(post(ada, ROW), post(bob, ROW_OF_BOB), post(ada, ROW))

    assert [each.status for each in answers] == [201, 201, 201]
    assert [each.split(";")[0].split("(")[0] for each in trips] == ["SELECT pg_advisory_xact_lock"]
    assert written(service) == [1, 4, 1]


def test_one_whose_guess_is_wrong_leaves_the_others(service: Service, trips: list[str]) -> None:
    """It does nothing, and is written again by itself; what came with it is kept."""
    ada, bob = service.api("ada"), service.api("bob")
    service.sql(f"UPDATE users SET role = 'client_manager' WHERE id = '{CAST['ada'].id}'")

    answers = together(post(ada, ROW), post(bob, ROW_OF_BOB), post(bob, ROW_OF_BOB))

    assert answers[0].status in (401, 403)
    assert [each.status for each in answers[1:]] == [201, 201]
    assert written(service) == [4, 4]
    first, *later = trips
    assert first.count("INSERT INTO inspections") == 3
    assert not any("INSERT INTO inspections" in each for each in later)


# The turn, and the session


def wait_for(service: Service, count: int) -> None:
    """Until so many wait for the turn."""
    until(lambda: databases.waiting(service.file) == count)


def test_it_waits_for_the_turn(service: Service, trips: list[str]) -> None:
    waits: list[float] = []
    service.app.extensions["walkthrough"].tell_wait = waits.append
    with ThreadPoolExecutor(1) as pool:
        with databases.turn(service.file):
            answer = pool.submit(post(service.api("ada"), ROW))
            wait_for(service, 1)
        assert answer.result(30).status == 201

    assert len(trips) == len(waits) == 1
    assert waits[0] > 0


def test_a_turn_that_does_not_come_is_waited_for_in_the_other_way(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "READ_SECONDS_MAX", 0.1)
    service.app.extensions["walkthrough"].forget_sessions()
    said = listen(monkeypatch, "say")
    with ThreadPoolExecutor(1) as pool:
        with databases.turn(service.file):
            answer = pool.submit(post(service.api("ada"), ROW))
            until(lambda: any("pg_advisory_xact_lock" in each for each in said))
        assert answer.result(30).status == 201
    assert written(service) == [1]


def end_sessions(service: Service) -> None:
    with databases.connected("postgres") as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            (databases.NAMES[service.file],),
        )


def test_a_session_that_was_left_is_nobodys_trouble(service: Service) -> None:
    for number in range(1, 4):
        end_sessions(service)
        assert service.api("ada").post("/inspections", ROW).status == 201
        assert written(service) == [1] * number


def test_a_session_that_was_not_used_for_a_while_is_asked(
    service: Service, monkeypatch: pytest.MonkeyPatch, trips: list[str]
) -> None:
    """A wall between two machines may have ended it without a word."""
    monkeypatch.setattr(direct, "UNUSED_SECONDS", -1.0)
    monkeypatch.setattr(direct, "is_silent", lambda pgconn: True)
    assert service.api("ada").post("/inspections", ROW).status == 201
    assert [each.split("(")[0] for each in trips] == ["SELECT", "SELECT pg_advisory_xact_lock"]

    end_sessions(service)
    assert service.api("ada").post("/inspections", ROW).status == 201
    assert written(service) == [1, 1]


def test_a_session_is_looked_at_no_longer_than_an_answer_may_take(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has fallen silent has not answered the COMMIT of the last read, either: a `Watch` ends the wait."""
    ends: list[float] = []

    def never(pgconn: object) -> None:
        ends.extend(each.gives_up_at for each in opened.watch.open_sessions())
        raise psycopg.OperationalError("given up")

    opened = service.app.extensions["walkthrough"]
    opened.guesses.found.clear()
    assert service.api("ada").get("/inspections?limit=1").status == 200  # its end is not waited for
    monkeypatch.setattr(direct, "result_of", never)
    assert service.api("ada").post("/inspections", ROW).status == 201
    assert min(ends) < direct.NEVER


def test_a_server_that_leaves_every_session_is_not_tried_for_ever(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(service.api("ada"), {**ROW, "notes": "old"})()
    monkeypatch.setattr(direct.DirectSession, "is_left", lambda session: True)
    answer = service.api("ada").post("/inspections", ROW)
    assert answer.status == 503
    assert written(service) == []


def test_one_that_the_server_ends_before_it_is_kept_is_written_once(service: Service) -> None:
    """It says so, and so all of them are written again."""
    ada = service.api("ada")
    with ThreadPoolExecutor(1) as pool:
        with databases.turn(service.file):
            answers = pool.submit(together, post(ada, ROW), post(ada, ROW))
            wait_for(service, 1)
            with databases.connected("postgres") as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000)"
                    " FROM pg_locks JOIN pg_database ON pg_database.oid = database"
                    " WHERE locktype = 'advisory' AND NOT granted AND datname = %s",
                    (databases.NAMES[service.file],),
                )
        assert [each.status for each in answers.result(30)] == [201, 201]
    assert written(service) == [1, 1]


@pytest.mark.parametrize("prefer", [None, "return=representation"])
def test_one_whose_end_nobody_hears_is_not_written_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, prefer: str | None
) -> None:
    """The server has kept it, and the wire breaks: who is told to look finds it once."""
    ada = service.api("ada")
    post(ada, {**ROW, "notes": "old"})()
    original = direct.run_together

    def hear_nothing(*asked: object) -> object:
        original(*asked)
        raise psycopg.OperationalError("the wire is cut")

    monkeypatch.setattr(direct, "run_together", hear_nothing)

    answers = together(
        partial(ada.post, "/inspections", ROW, prefer=prefer),
        partial(ada.patch, "/inspections?id=eq.1", {"status": "new"}, prefer=prefer),
    )

    monkeypatch.undo()
    assert [(each.status, each.code) for each in answers] == [(503, "08007")] * 2
    assert written(service) == [1]
    assert service.api("root").get("/inspections?id=eq.1&select=status").json == [{"status": "new"}]


def test_a_commit_that_fails_leaves_nothing(service: Service) -> None:
    service.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$"
    )
    service.sql(
        "CREATE CONSTRAINT TRIGGER full_at_commit AFTER INSERT ON inspections INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    try:
        ada = service.api("ada")
        answers = together(post(ada, ROW), post(ada, ROW))
    finally:
        service.sql("DROP TRIGGER full_at_commit ON inspections")
        service.sql("DROP FUNCTION full_disk")

    assert {(each.status, each.code) for each in answers} == {(503, "53100")}
    assert written(service) == []


# What may be guessed at all

INSERT = "INSERT INTO facts (name, value) VALUES ($1, 'there')"
KEPT = "SELECT name FROM facts WHERE value = 'there' ORDER BY name"

Work = Callable[[Transaction], object]


def look_first(transaction: Transaction) -> None:
    transaction.value("SELECT 1")
    transaction.run(INSERT, ("looked",))


def write_twice(transaction: Transaction) -> None:
    transaction.run(INSERT, ("once",))
    transaction.run(INSERT, ("twice",))


def write_many(transaction: Transaction) -> None:
    transaction.insert_many(INSERT, [("x",), ("y",)])


def run_script(transaction: Transaction) -> None:
    transaction.run_script("SELECT 1")


def delete(transaction: Transaction) -> None:
    transaction.run("DELETE FROM facts WHERE name = $1", ("a",))


def fail_after(transaction: Transaction) -> None:
    transaction.run(INSERT, ("half",))
    raise ZeroDivisionError


def roll_back(transaction: Transaction) -> None:
    transaction.run(INSERT, ("half",))
    transaction.roll_back_at_end()


def write_nothing(transaction: Transaction) -> None:
    """Nor say anything."""


def write_none(transaction: Transaction) -> None:
    transaction.run("UPDATE facts SET value = $1 WHERE name = 'none'", ("x",))


def foresee_nothing(transaction: Transaction) -> None:
    transaction.foresee(None)
    transaction.run(INSERT, ("unseen",))


UNFIT: tuple[Work, ...] = (
    foresee_nothing,
    look_first,
    write_many,
    run_script,
    delete,
    write_nothing,
    write_none,
)
UNFIT_LATER: tuple[Work, ...] = (write_twice, fail_after, roll_back)


def name_of(work: object) -> str:
    return getattr(work, "__name__", str(work))


@pytest.mark.parametrize("work", UNFIT, ids=name_of)
def test_what_is_more_than_one_row_is_not_for_a_guess(service: Service, work: Work) -> None:
    with service.app.app_context():
        served = database()
        with pytest.raises(WrongGuess), served.writing(is_brief=True, guessed=True) as unit:
            work(unit)
        assert kept(served) == []
        with served.writing(is_brief=True, guessed=True) as unit:
            unit.run(INSERT, ("after",))
        assert kept(served) == ["after"]


@pytest.mark.parametrize("work", UNFIT, ids=name_of)
@pytest.mark.parametrize("place", range(3))
def test_one_that_is_not_for_a_guess_leaves_the_others(
    service: Service, trips: list[str], work: Work, place: int
) -> None:
    """Those before it are sent without it, and so are those behind it; each session is there for the next."""
    told: dict[str, type | None] = {}

    def task(served: Database, name: str, work: Work) -> None:
        try:
            with served.writing(is_brief=True, guessed=True) as unit:
                work(unit)
        except WrongGuess:
            told[name] = WrongGuess
        else:
            told[name] = None

    def insert(name: str) -> Work:
        return lambda transaction: transaction.run(INSERT, (name,))

    with service.app.app_context():
        served = database()
        idle = len(served.idle_sessions)
        works = [("a", insert("a")), ("b", insert("b"))]
        works.insert(place, ("unfit", work))
        Joint(lambda: None).work([partial(task, served, *each) for each in works])

        assert told == {"a": None, "b": None, "unfit": WrongGuess}
        assert kept(served) == ["a", "b"]
        assert len(served.idle_sessions) == idle
    assert len([each for each in trips if "INSERT" in each]) <= 2


def test_what_cannot_be_sent_is_not_untold(service: Service) -> None:
    with service.app.app_context():
        served = database()
        with pytest.raises(WrongGuess), served.writing(is_brief=True, guessed=True) as unit:
            unit.run(INSERT, ("\0",))


@pytest.mark.parametrize("work", UNFIT_LATER, ids=name_of)
def test_what_fails_once_it_is_kept_is_not_written_again(service: Service, work: Work) -> None:
    """Whoever says that there is one statement, and has another behind it, is at fault."""
    with service.app.app_context():
        served = database()
        with (
            pytest.raises((NotGuessed, ZeroDivisionError)),
            served.writing(is_brief=True, guessed=True) as unit,
        ):
            work(unit)
        assert len(kept(served)) == 1


def test_a_wrong_guess_that_is_swallowed_is_raised_at_the_end(service: Service) -> None:
    with service.app.app_context():
        served = database()
        with pytest.raises(WrongGuess):
            write_and_swallow(served)


def write_and_swallow(served: Database) -> None:
    with served.writing(is_brief=True, guessed=True) as unit, suppress(WrongGuess):
        write_none(unit)


def kept(served: Database) -> list[str]:
    with served.reading() as transaction:
        return [name for (name,) in transaction.all(KEPT)]


def test_a_session_reads_what_was_left_whatever_the_default(service: Service) -> None:
    name = databases.NAMES[service.file]
    with databases.connected("postgres") as connection:
        connection.execute(
            f'ALTER DATABASE "{name}" SET default_transaction_isolation = serializable'
        )
    try:
        service.app.extensions["walkthrough"].forget_sessions()
        with service.app.app_context(), database().reading() as transaction:
            assert transaction.value("SHOW default_transaction_isolation") == "read committed"
    finally:
        with databases.connected("postgres") as connection:
            connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_isolation')
