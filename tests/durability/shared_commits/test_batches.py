"""Writes of one row that came together are made ready before their turn, and run in a row within it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from models import file_batch
from models import group_commit
from models.db import Database
from models.db import WrongGuess
from models.faults import Fault
from models.guesses import NotGuessed
from models.joint import Joint
from models.sql import sqlite
from models.sql.constraints import Locked
from models.sql.turns import NoTurn
from models.sql.turns import no_turn
from models.transaction import Question
from models.transaction import Transaction
from tests.durability.shared_commits.writers import FOREVER
from tests.durability.shared_commits.writers import INSERT
from tests.durability.shared_commits.writers import Disk
from tests.durability.shared_commits.writers import insert
from tests.durability.shared_commits.writers import names

Work = Callable[[Transaction], object]
Told = dict[str, object]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk is quick, however slow the machine."""
    monkeypatch.setattr(group_commit, "SLOW_SECONDS", FOREVER)


@pytest.fixture
def write(database: Database) -> Callable[..., Told]:
    """`write(a=…, b=…)` does these works together; what each was told: WrongGuess says that it is to be done again."""

    def do(**works: Work | None) -> Told:
        told: Told = {}
        tasks = [
            partial(task, database, told, name, work or insert(name))
            for name, work in works.items()
        ]
        Joint(lambda: None).work(tasks)
        return told

    return do


def task(database: Database, told: Told, name: str, work: Work) -> None:
    guessed = not name.startswith("unguessed")
    try:
        with database.writing(
            wait_seconds_max=FOREVER, is_brief=True, guessed=guessed
        ) as transaction:
            work(transaction)
    except (Fault, WrongGuess, NotGuessed, ZeroDivisionError) as error:
        told[name] = type(error)
    else:
        told[name] = None


def test_all_share_one_commit(database: Database, disk: Disk, write: Callable[..., Told]) -> None:
    assert write(a=None, b=None, c=None) == {"a": None, "b": None, "c": None}
    assert names(database) == ["a", "b", "c"]
    assert disk.commits == 1
    assert not database.turns.taken


def test_nobody_is_told_before_the_commit(
    database: Database, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Told = {}
    told_before: list[Told] = []
    monkeypatch.setattr(Disk, "commit", lambda disk: told_before.append(dict(told)))

    works = {"a": insert("a"), "refused": insert("a"), "b": insert("b")}
    Joint(lambda: None).work([partial(task, database, told, *each) for each in works.items()])

    assert told_before == [{}]
    assert told == {"a": None, "refused": WrongGuess, "b": None}


def test_nothing_else_is_run_in_the_turn(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each does around its write it does before the turn is taken, or after it has passed on."""
    happened: list[str] = []
    take, pass_on = database.turns.take, database.turns.pass_on

    def taking(seconds: float, *, joins: bool = False) -> None:
        happened.append("turn")
        take(seconds, joins=joins)

    def passing(*, lingers: bool = True) -> None:
        happened.append("over")
        pass_on(lingers=lingers)

    monkeypatch.setattr(database.turns, "take", taking)
    monkeypatch.setattr(database.turns, "pass_on", passing)

    def noted(name: str) -> Work:
        def work(transaction: Transaction) -> None:
            happened.append(f"{name} comes")
            transaction.run(INSERT, (name,))
            happened.append(f"{name} goes")

        return work

    Joint(lambda: None).work([partial(task, database, {}, name, noted(name)) for name in "abc"])

    assert happened == [
        "a comes", "b comes", "c comes", "turn", "over", "a goes", "b goes", "c goes",
    ]  # fmt: skip


def test_one_that_a_constraint_refuses_is_left_out(
    database: Database, write: Callable[..., Told]
) -> None:
    for place in range(3):
        works: dict[str, Work | None] = {f"a{place}": None, f"b{place}": None}
        items = list(works.items())
        items.insert(place, ("again", insert("a0" if place else "b0")))
        if not place:
            write(first=insert("b0"))
            items = [("again", insert("b0")), ("a0", None), ("c0", None)]
        told = write(**dict(items))

        assert told.pop("again") is WrongGuess
        assert set(told.values()) == {None}


def test_a_commit_that_fails_is_told_to_each(
    database: Database, disk: Disk, write: Callable[..., Told]
) -> None:
    disk.failure = "database or disk is full"

    told = write(a=None, b=None, unguessed=None, c=None)

    assert {each.__name__ for each in told.values()} == {"DiskFull"}
    disk.failure = None
    assert names(database) == []
    assert write(a=None) == {"a": None}


def test_a_transaction_that_is_lost_is_written_again_by_each(
    database: Database, write: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ended it, and at whichever of them: nothing is kept, and nobody is told what is another's."""
    plain = file_batch.Post.run

    def run(post: file_batch.Post, transaction: Transaction) -> None:
        plain(post, transaction)
        if post.values == ("b",):
            transaction.connection.driver_connection.execute("ROLLBACK")
            raise sqlite.DiskFailed("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(file_batch.Post, "run", run)
        told = write(a=None, b=None, c=None)

    assert told == dict.fromkeys("abc", WrongGuess)
    assert names(database) == []
    assert write(a=None, b=None) == {"a": None, "b": None}


def test_a_unit_that_is_not_kept_is_written_again_by_each(
    database: Database, write: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An end that fails leaves no group that could say so."""

    def end(transaction: Transaction) -> bool:
        transaction.roll_back()
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "end", end)
        told = write(a=None, b=None)

    assert told == {"a": WrongGuess, "b": WrongGuess}
    assert names(database) == []


def test_a_turn_that_does_not_come_is_told_to_each(
    database: Database, write: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(seconds: float, *, joins: bool = False) -> None:
        raise no_turn()

    monkeypatch.setattr(database.turns, "take", take)

    assert write(a=None, b=None) == {"a": NoTurn, "b": NoTurn}


def test_more_than_a_turn_may_hold_take_another(
    database: Database, disk: Disk, write: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (file_batch, group_commit):
        monkeypatch.setattr(module, "UNITS_MAX", 2)

    told = write(a=None, b=None, c=None, d=None, e=None)

    assert told == dict.fromkeys("abcde")
    assert names(database) == list("abcde")
    assert disk.commits == 3


@pytest.mark.parametrize(
    "order", [("unguessed1", "a", "b"), ("a", "unguessed1", "b"), ("a", "b", "unguessed1")]
)
def test_they_share_a_commit_with_what_is_not_guessed(
    database: Database, disk: Disk, write: Callable[..., Told], order: tuple[str, ...]
) -> None:
    told = write(**dict.fromkeys(order), unguessed2=None)

    assert set(told.values()) == {None}
    assert names(database) == ["a", "b", "unguessed1", "unguessed2"]
    assert disk.commits == 1


def test_one_that_another_loses_is_told_so(database: Database, write: Callable[..., Told]) -> None:
    """As for all that share a COMMIT: nothing of it is kept, and to try again is right."""

    def lose(transaction: Transaction) -> None:
        transaction.connection.driver_connection.execute("ROLLBACK")
        raise ZeroDivisionError

    told = write(a=None, b=None, unguessed=lose)

    assert told == {"a": Locked, "b": Locked, "unguessed": ZeroDivisionError}
    assert names(database) == []


def test_the_moment_is_that_of_the_turn(database: Database, write: Callable[..., Told]) -> None:
    """Another process, whose clock is ahead, may have written meanwhile: the time in a file never goes back."""
    ahead = "2999-01-01T00:00:00+00:00"
    moments: list[str] = []

    def work(transaction: Transaction) -> None:
        moments.append(transaction.now)
        transaction.run("INSERT INTO facts (name, value) VALUES ('moment', ?)", (transaction.now,))

    with database.writing() as transaction:
        transaction.act_as(None)
        transaction.run("UPDATE audit_context SET at = ?", (ahead,))
    assert write(a=work, b=None) == {"a": None, "b": None}

    with database.reading() as transaction:
        written = transaction.value("SELECT value FROM facts WHERE name = 'moment'")
    assert moments[0] < ahead <= written


def test_where_a_disk_is_slow_nothing_is_guessed(
    database: Database, write: Callable[..., Told]
) -> None:
    """There others are served during the wait, and join from other threads."""
    database.pace.seconds = 2 * FOREVER

    def look(transaction: Transaction) -> None:
        assert not isinstance(transaction, file_batch.FileWrite)
        transaction.run(INSERT, ("looked",))

    assert write(a=look) == {"a": None}


def fail_before(transaction: Transaction) -> None:
    raise ZeroDivisionError


def look_first(transaction: Transaction) -> None:
    transaction.value("SELECT 1")
    transaction.run(INSERT, ("looked",))


def write_many(transaction: Transaction) -> None:
    transaction.insert_many(INSERT, [("x",), ("y",)])


def delete(transaction: Transaction) -> None:
    transaction.run("DELETE FROM facts WHERE name = ?", ("a",))


def doom(transaction: Transaction) -> None:
    transaction.roll_back_at_end()
    transaction.run(INSERT, ("doomed",))


def foresee_nothing(transaction: Transaction) -> None:
    transaction.foresee(None)
    transaction.run(INSERT, ("unseen",))


def write_nothing(transaction: Transaction) -> None:
    """Nor say anything."""


def write_none(transaction: Transaction) -> None:
    transaction.run("UPDATE facts SET value = ? WHERE name = 'none'", ("x",))


@pytest.mark.parametrize(
    "work",
    [fail_before, foresee_nothing, look_first, write_many, delete, doom, write_nothing, write_none],
)
def test_what_is_more_than_one_row_is_not_for_a_guess(
    database: Database, write: Callable[..., Told], work: Work
) -> None:
    told = write(a=None, work=work, b=None)

    assert told == {"a": None, "work": WrongGuess, "b": None}
    assert names(database) == ["a", "b"]


def test_what_was_foreseen_is_read_in_the_turn(
    database: Database, write: Callable[..., Told]
) -> None:
    """As the row is left by its own write: the next one may change it before anybody is told."""
    found: list[object] = []

    def reading(keys: str) -> Question:
        return "SELECT name FROM clients WHERE id = json_extract(?, '$[0][0]')", (keys,)

    def insert_client(transaction: Transaction) -> None:
        transaction.foresee(reading, "clients_id_seq")
        values = ("New", transaction.now, transaction.now)
        made = transaction.run(
            "INSERT INTO clients (name, created_at, updated_at) VALUES (?, ?, ?)", values
        )
        found.extend(transaction.all(*reading(f"[[{transaction.made_id(made)}]]")))

    def rename(transaction: Transaction) -> None:
        transaction.run("UPDATE clients SET name = 'Old'")

    assert write(a=insert_client, b=rename) == {"a": None, "b": None}
    assert found == [("New",)]
    with database.reading() as transaction:
        assert transaction.all("SELECT name FROM clients") == [("Old",)]


def write_twice(transaction: Transaction) -> None:
    transaction.run(INSERT, ("once",))
    transaction.run(INSERT, ("twice",))


def read_back(transaction: Transaction) -> None:
    transaction.run(INSERT, ("once",))
    transaction.all("SELECT name FROM facts")


def doom_late(transaction: Transaction) -> None:
    transaction.run(INSERT, ("once",))
    transaction.roll_back_at_end()


@pytest.mark.parametrize("work", [write_twice, read_back, doom_late])
def test_what_comes_once_it_is_kept_is_our_fault(
    database: Database, write: Callable[..., Told], work: Work
) -> None:
    """And is not written again."""
    assert write(a=None, work=work) == {"a": None, "work": NotGuessed}
    assert names(database) == ["a", "once"]
