"""Small writes that came together share a COMMIT on a server, too: all are kept, or each is told that it is not."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from collections.abc import Iterator
from functools import partial

import pytest

from models import server_group
from models.db import Database
from models.db import database
from models.faults import Fault
from models.joint import Joint
from models.server_transaction import ServerTransaction
from models.sql.constraints import Locked
from models.sql.constraints import UniqueViolation
from models.sql.constraints import Unreachable
from models.sql.constraints import Unresolved
from models.transaction import Transaction
from tests import databases
from tests.conftest import CAST
from tests.sessions import WAITED_FOR
from tests.sessions import listen
from tests.signin import open_service

pytestmark = pytest.mark.server("a file's are in tests/durability/shared_commits")

INSERT = "INSERT INTO facts (name, value) VALUES ($1, 'there')"
KEPT = "SELECT name FROM facts WHERE value = 'there' ORDER BY name"

Work = Callable[[Transaction], object]
Told = dict[str, BaseException | None]


@pytest.fixture
def served(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(server_group, "GROUP_SECONDS_MAX", 30.0)  # however slow the machine
    service = open_service(tmp_path)
    with service.app.app_context():
        yield database()


@pytest.fixture
def write(served: Database) -> Callable[..., Told]:
    """`write(a=…, b=…)` does these works together; what each was told."""

    def do(**works: Work | None) -> Told:
        told: Told = {}

        def task(name: str, work: Work) -> None:
            try:
                with served.writing(is_brief=True) as transaction:
                    work(transaction)
            except (Fault, ZeroDivisionError) as error:
                told[name] = error
            else:
                told[name] = None

        works_of = {name: work or insert(name) for name, work in works.items()}
        Joint(lambda: None).work([partial(task, *each) for each in works_of.items()])
        return told

    return do


def insert(name: str) -> Work:
    return lambda transaction: transaction.run(INSERT, (name,))


def fail_after(*names: str) -> Work:
    """Insert these, and fail."""

    def work(transaction: Transaction) -> None:
        for name in names:
            transaction.run(INSERT, (name,))
        raise ZeroDivisionError

    return work


def fail_by_statement(transaction: Transaction) -> None:
    transaction.run(INSERT, ("half",))
    transaction.run(INSERT, ("half",))


def doom(transaction: Transaction) -> None:
    transaction.run(INSERT, ("doomed",))
    transaction.roll_back_at_end()


def end_session(transaction: Transaction) -> None:
    assert isinstance(transaction, ServerTransaction)
    pid = transaction.session.pgconn.backend_pid
    with databases.connected("postgres") as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def lose_session(transaction: Transaction) -> None:
    end_session(transaction)
    transaction.run(INSERT, ("lost",))


def kept(served: Database) -> list[str]:
    with served.reading() as transaction:
        return [name for (name,) in transaction.all(KEPT)]


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is waited for."""
    return listen(monkeypatch, *WAITED_FOR)


def beginnings(trips: list[str]) -> list[str]:
    return [each.split()[0] for each in trips]


def test_all_share_one_commit(served: Database, write: Callable[..., Told]) -> None:
    transactions: list[str] = []

    def insert_and_note(name: str) -> Work:
        def work(transaction: Transaction) -> None:
            transaction.run(INSERT, (name,))
            transactions.append(transaction.value("SELECT pg_current_xact_id()::text"))

        return work

    told = write(a=insert_and_note("a"), b=insert_and_note("b"), c=insert_and_note("c"))

    assert told == {"a": None, "b": None, "c": None}
    assert kept(served) == ["a", "b", "c"]
    assert len(transactions) == 3
    assert len(set(transactions)) == 1


def test_what_surrounds_a_unit_makes_no_trip(write: Callable[..., Told], trips: list[str]) -> None:
    write(a=None, b=None, c=None)

    assert beginnings(trips) == ["BEGIN", "INSERT", "INSERT", "INSERT", "COMMIT"]


@pytest.mark.parametrize("fails", [fail_after(), fail_after("half"), fail_by_statement])
def test_a_refused_unit_is_undone_alone(
    served: Database, write: Callable[..., Told], fails: Work
) -> None:
    """The first one has no savepoint: the transaction is undone, and the others have one of their own."""
    told = write(first=fails, a=None, b=None, middle=fails, next=fails, c=None, last=fails)

    assert {name for name, error in told.items() if error is not None} == {
        "first",
        "middle",
        "next",
        "last",
    }
    assert kept(served) == ["a", "b", "c"]


def test_a_refusal_is_the_same_fact_as_alone(served: Database, write: Callable[..., Told]) -> None:
    told = write(a=None, same=insert("a"), b=None)

    assert isinstance(told["same"], UniqueViolation)
    assert told["a"] is told["b"] is None


def test_one_that_is_to_leave_nothing_leaves_nothing(
    served: Database, write: Callable[..., Told]
) -> None:
    told = write(first=doom, a=None, middle=doom, b=None, last=doom)

    assert set(told.values()) == {None}
    assert kept(served) == ["a", "b"]


def test_a_lost_session_is_told_to_each(served: Database, write: Callable[..., Told]) -> None:
    told = write(a=None, lost=lose_session, b=None)

    assert isinstance(told["lost"], Unreachable)
    assert isinstance(told["a"], Locked)
    # It came after the loss, and had a turn of its own.
    assert told["b"] is None
    assert kept(served) == ["b"]


def test_a_session_that_is_lost_between_units_is_told_to_each(
    served: Database, write: Callable[..., Told]
) -> None:
    told = write(a=None, b=end_session, c=None, d=None)

    assert {type(told[name]) for name in "ab"} <= {Locked, Unreachable, Unresolved}
    assert told["c"] is told["d"] is None
    assert kept(served) == ["c", "d"]


def test_a_session_that_is_lost_behind_the_first_unit_is_told_to_each(
    served: Database, write: Callable[..., Told]
) -> None:
    told = write(a=end_session, b=None, c=None)

    assert {type(told[name]) for name in "ab"} <= {Locked, Unreachable, Unresolved}
    assert told["c"] is None
    assert kept(served) == ["c"]


def test_a_commit_that_fails_is_told_to_each(served: Database, write: Callable[..., Told]) -> None:
    with served.writing() as transaction:
        assert isinstance(transaction, ServerTransaction)
        transaction.run_script(
            "CREATE FUNCTION pg_temp.full() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$;"
            "CREATE CONSTRAINT TRIGGER full_at_commit AFTER INSERT ON facts INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.full()"
        )

    told = write(a=None, same=insert("a"), b=None)

    assert {type(each).__name__ for each in told.values()} == {"DiskFull"}
    assert kept(served) == []


def test_a_commit_that_is_not_answered_is_told_to_each(
    served: Database, write: Callable[..., Told]
) -> None:
    """Those that were refused, too: what they were told may rest on what was not kept."""
    with served.writing() as transaction:
        assert isinstance(transaction, ServerTransaction)
        transaction.run_script(
            "CREATE FUNCTION pg_temp.end_session() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"
            "CREATE CONSTRAINT TRIGGER ends_at_commit AFTER INSERT ON facts INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.end_session()"
        )

    told = write(a=None, same=insert("a"), b=None)

    assert {type(each) for each in told.values()} == {Unresolved}
    assert len({id(each) for each in told.values()}) == 3
    assert kept(served) == []


def test_a_group_ends_when_others_have_waited_long_enough(
    served: Database, write: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_group, "GROUP_SECONDS_MAX", 0.0)
    turns: list[float] = []
    served.tell_wait = turns.append

    assert write(a=None, b=None) == {"a": None, "b": None}

    assert len(turns) == 2
    assert kept(served) == ["a", "b"]


def test_each_unit_acts_on_its_own_behalf(served: Database, write: Callable[..., Told]) -> None:
    """Who says nothing acts for nobody, not for the one before."""

    def rename(name: str, actor: str | None) -> Work:
        def work(transaction: Transaction) -> None:
            if actor is not None:
                transaction.act_as(CAST[actor].id)
            transaction.run("UPDATE clients SET name = $1 WHERE id = 1", (name,))

        return work

    write(a=rename("A", "root"), nobody=rename("B", None), b=rename("C", "ada"))

    with served.reading() as transaction:
        lines = transaction.all(
            "SELECT after ->> 'name', actor_id FROM audit_log"
            " WHERE action = 'update' AND relation = 'clients' ORDER BY id"
        )
    assert lines == [("A", CAST["root"].id), ("B", None), ("C", CAST["ada"].id)]


def test_a_write_of_somebody_new_makes_four_trips(tmp_path: pathlib.Path, trips: list[str]) -> None:
    """Begin, who asks, the row if they may, the end. Who is known makes one (tests/test_server_batches.py)."""
    service = open_service(tmp_path)
    ada = service.api("ada")
    known = service.app.extensions["walkthrough"].guesses.found
    row = {"building_id": 1, "inspection_type": "fire"}
    assert ada.post("/inspections", row).status == 201
    assert ada.patch("/inspections?id=eq.1", {"status": "passed"}).status == 204
    trips.clear()
    known.clear()

    assert ada.post("/inspections", row).status == 201
    assert beginnings(trips) == ["BEGIN", "SELECT", "INSERT", "COMMIT"]

    trips.clear()
    known.clear()
    assert ada.patch("/inspections?id=eq.1", {"status": "failed"}).status == 204
    assert beginnings(trips) == ["BEGIN", "SELECT", "UPDATE", "COMMIT"]
