"""Who asks a server is guessed to be who they were: one trip if that is right, and not a word if it is wrong."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from collections.abc import Iterator

import pytest

from models.db import WrongGuess
from models.db import database
from models.guess import GuessedTransaction
from models.guesses import Guesses
from models.sql.sqlite import TimedOut
from tests import databases
from tests.conftest import CAST
from tests.conftest import Response
from tests.sessions import WAITED_FOR
from tests.sessions import listen
from tests.signin import Service
from tests.signin import open_service

pytestmark = pytest.mark.server("a file is no trip away")

LONG = 4_000_000_000
WHO = "SELECT 1 AS one, 'ada'::text AS name"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that sessions are told, in order."""
    return listen(monkeypatch, *WAITED_FOR, "say_last")


def test_the_second_request_is_one_statement(service: Service, said: list[str]) -> None:
    first = service.api("moe").get("/inspections?select=id&order=id")
    assert [each.split()[0] for each in said] == ["BEGIN", "SELECT", "SELECT", "COMMIT"]
    said.clear()

    again = service.api("moe").get("/inspections?select=id&order=id")

    assert len(said) == 1
    assert again.whole == first.whole
    assert len(again.json) > 1


@pytest.mark.parametrize("who", ["root", "ada", "moe", "mia"])
@pytest.mark.parametrize(
    "path",
    [
        "/inspections?order=date_visited.desc&limit=2",
        "/inspections?id=eq.-1",
        "/inspections?select=id,buildings(name),reports_lead(*)&order=id&offset=1",
        "/buildings?select=name.max(),id.count()",
        "/buildings?name=like.*a*",
        "/inspections?order=nothing",
        "/inspections?id=eq.word",
        "/nothing",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_right_guess_changes_no_answer(
    service: Service, who: str, path: str, method: str
) -> None:
    first, second, third = (service.api(who).send(method, path).whole for _ in range(3))

    assert first == second == third


CHANGES = {
    "moved": ("UPDATE users SET client_id = 2 WHERE id = ?", "ada"),
    "another role": ("UPDATE users SET role = 'client_manager' WHERE id = ?", "ada"),
    "gone": ("DELETE FROM users WHERE id = ?", "mia"),
    "shut out": (f"UPDATE credentials SET disabled_until = {LONG} WHERE user_id = ?", "moe"),
    "older than a sign-out": (
        f"UPDATE credentials SET tokens_since = {LONG} WHERE user_id = ?",
        "moe",
    ),
    "no building any more": (
        "DELETE FROM client_manager_building_access WHERE manager_id = ?",
        "moe",
    ),
    "no inspection any more": (
        "DELETE FROM client_manager_inspection_access WHERE manager_id = ?",
        "moe",
    ),
    "a first grant": (
        "INSERT INTO client_manager_building_access (manager_id, building_id, assigned_at) VALUES (?, 2, now())",
        "mia",
    ),
}
PATHS = (
    "/inspections?select=id,building_id&order=id",
    "/buildings?id=eq.1",
    "/buildings?id=eq.-1",
    "/reports_lead?select=id.count()",
    "/inspections?order=nothing",
    "/inspections?id=eq.word",
    "/users?select=id,role",
    "/",
    "/rpc/get_inspections_dashboard_summary_fast",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_guess_is_told_nobody(
    service: Service, tmp_path: pathlib.Path, change: str, path: str
) -> None:
    """Rights change past the service; the next answer is one of a service that never guessed."""
    statement, who = CHANGES[change]
    for warm in PATHS:
        service.api(who).get(warm)
    before = service.api(who).get(path)

    service.sql(statement, CAST[who].id)
    answer = service.api(who).get(path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(service.app.extensions["walkthrough"].guesses, "found", {})
        fresh = service.api(who).get(path)
    assert seen(answer) == seen(fresh)
    if path == PATHS[0]:
        assert seen(answer) != seen(before)


def seen(answer: Response) -> tuple[int, str]:
    """But for the moment of a dashboard."""
    return answer.status, re.sub(r'"generated_at":"[^"]*"', "", answer.text)


@pytest.mark.parametrize("path", PATHS)
def test_a_session_that_was_left_is_no_failure(service: Service, path: str) -> None:
    first = service.api("moe").get(path)
    service.api("moe").get(path)
    with databases.connected("postgres") as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            (databases.NAMES[service.file],),
        )

    answer = service.api("moe").get(path)

    assert seen(answer) == seen(first)


# Below the wire


@pytest.fixture
def known(service: Service) -> Iterator[None]:
    """A database that has looked WHO up before."""
    with service.app.app_context():
        read_as(lambda transaction: None)
        yield


def read_as(
    work: Callable[[GuessedTransaction], object], guess: tuple | None = None
) -> tuple[object, object]:
    """Who somebody is taken for, and what comes of the work; `guess` is what is thought of them."""
    with database().reading(guesses=True) as transaction:
        assert isinstance(transaction, GuessedTransaction)
        if guess is not None:
            transaction.guesses.found[WHO, ()] = guess
        who = transaction.recall("who", lambda: transaction.one(WHO))
        return who, work(transaction)


@pytest.mark.usefixtures("known")
def test_three_statements_are_a_transaction_the_next_time(said: list[str]) -> None:
    def two_more(transaction: GuessedTransaction) -> list:
        return [transaction.value(f"SELECT {number}") for number in (5, 6)]

    with pytest.raises(WrongGuess):
        read_as(two_more)
    said.clear()

    assert read_as(two_more) == ((1, "ada"), [5, 6])
    assert [each.split()[0] for each in said] == ["BEGIN", "SELECT", "SELECT", "SELECT", "COMMIT"]


@pytest.mark.usefixtures("known")
def test_a_statement_with_values_of_its_own_keeps_them_apart() -> None:
    asked, values = "SELECT $1::int AS one, $2::text AS two", (7, "x")
    listed = "SELECT $2::text || n FROM generate_series(1, $1::int) AS n"
    for _ in range(2):
        with database().reading(guesses=True) as transaction:
            found = transaction.recall("who", lambda: transaction.one(asked, values))
            rows = transaction.all(listed, (3, "r"))

        assert found == (7, "x")
        assert rows == [("r1",), ("r2",), ("r3",)]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "second", ["SELECT 1", "SELECT 1 WHERE false", "SELECT 1 / 0", "VALUES (1)", "nonsense"]
)
def test_nothing_comes_of_a_wrong_guess(second: str) -> None:
    came: list[object] = []

    with pytest.raises(WrongGuess):
        read_as(lambda transaction: came.append(transaction.all(second)), (2, "bob"))

    assert came == []


@pytest.mark.usefixtures("known")
def test_nothing_is_not_told_to_the_wrong_one_either() -> None:
    with pytest.raises(WrongGuess):
        read_as(lambda transaction: None, (2, "bob"))


def fail(transaction: GuessedTransaction) -> None:
    raise ValueError("there is no such thing")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("guess", "told"), [((2, "bob"), WrongGuess), (None, ValueError)])
def test_a_failure_is_told_if_the_guess_is_right(guess: tuple | None, told: type) -> None:
    with pytest.raises(told):
        read_as(fail, guess)


def run_out_of_time(transaction: GuessedTransaction) -> None:
    transaction.say("SET statement_timeout = 200")
    transaction.value("SELECT pg_sleep(30)")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("guess", "told"), [((2, "bob"), WrongGuess), (None, TimedOut)])
def test_who_may_ask_is_told_that_there_was_no_time(guess: tuple | None, told: type) -> None:
    """And is not asked for again: it would have taken as long once more."""
    with pytest.raises(told):
        read_as(run_out_of_time, guess)


@pytest.mark.usefixtures("known")
def test_a_wrong_guess_that_somebody_swallows_is_wrong_still() -> None:
    def swallow(transaction: GuessedTransaction) -> None:
        with pytest.raises(WrongGuess):
            transaction.all("SELECT 1")

    with pytest.raises(WrongGuess):
        read_as(swallow, (2, "bob"))


@pytest.mark.usefixtures("known")
def test_what_is_no_look_up_is_never_guessed(said: list[str]) -> None:
    """The service key has none: its rows are the first thing that is asked."""
    said.clear()
    for number in range(2):
        with database().reading(guesses=True) as transaction:
            assert transaction.value("SELECT 7") == 7

        assert said[3 * number].startswith("BEGIN")


@pytest.mark.usefixtures("known")
def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.guesses.GUESSES_KEPT", 3)
    monkeypatch.setattr("models.guesses.UNFIT_KEPT", 3)
    guesses = Guesses()
    for number in range(9):
        guesses.note((f"SELECT {number}", ()), (number,))
        guesses.mark_unfit(f"SELECT {number}")

    assert list(guesses.found) == [(f"SELECT {number}", ()) for number in (6, 7, 8)]
    assert len(guesses.unfit) <= 3
