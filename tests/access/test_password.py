"""Passwords: what is hashed and how, what never is, and how many at a time."""

import threading
import time

import argon2
import pytest

from access.accounts import password
from access.accounts.deadline import Deadline
from access.accounts.password import HASHER
from access.accounts.password import NOBODYS_HASH
from access.accounts.password import Hashing
from access.accounts.password import HashQueueFull
from access.accounts.password import UnfitPassword
from access.accounts.password import WeakPassword
from access.accounts.password import hashing
from access.accounts.password import require_new
from access.accounts.password import require_possible


def soon(seconds: float = 0.05) -> Deadline:
    return Deadline(time.monotonic() + seconds)


def test_hash_has_the_parameters_that_owasp_asks_for() -> None:
    found = argon2.extract_parameters(Hashing().hash("correct horse"))

    assert (found.type, found.memory_cost, found.time_cost, found.parallelism) == (
        argon2.Type.ID,
        19 * 1024,
        2,
        1,
    )


def test_nobody_has_a_hash_of_the_same_cost() -> None:
    assert argon2.extract_parameters(NOBODYS_HASH) == argon2.extract_parameters(HASHER.hash("x"))


def test_right_password_verifies_and_no_other() -> None:
    kept = Hashing().hash("pässword with spaces ")

    assert Hashing().verify(kept, "pässword with spaces ")
    assert not Hashing().verify(kept, "pässword with spaces")


@pytest.mark.parametrize("kept", [None, "", "plain", "$argon2id$v=19$m=1", NOBODYS_HASH])
def test_what_is_no_hash_verifies_nothing(kept: str | None) -> None:
    for guess in ("", "\0" * 32, "plain", "anything"):
        assert not Hashing().verify(kept, guess)


def test_same_password_has_another_hash_each_time() -> None:
    assert Hashing().hash("twice") != Hashing().hash("twice")


def test_weaker_hash_is_improved_and_todays_is_left() -> None:
    weaker = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("secret")

    better = Hashing().improve(weaker, "secret")

    assert better is not None
    assert Hashing().verify(better, "secret")
    assert Hashing().improve(better, "secret") is None


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        pytest.param("", WeakPassword, id="empty"),
        pytest.param("12345", WeakPassword, id="short"),
        pytest.param("äöüßé", WeakPassword, id="characters-not-bytes"),
        pytest.param("123456", None, id="long-enough"),
        pytest.param("      ", None, id="spaces-are-characters"),
        pytest.param("x" * 1_024, None, id="at-the-bound"),
        pytest.param("x" * 1_025, UnfitPassword, id="beyond-it"),
        pytest.param("é" * 513, UnfitPassword, id="bytes-not-characters"),
        pytest.param("secret\0tail", UnfitPassword, id="nul"),
        pytest.param("secret\ud800", UnfitPassword, id="half-a-surrogate-pair"),
    ],
)
def test_new_password_is_refused_before_it_is_hashed(given: str, refused: type | None) -> None:
    if refused is None:
        require_new(given)
    else:
        with pytest.raises(refused):
            require_new(given)


def test_short_password_may_be_tried_and_an_impossible_one_not() -> None:
    require_possible("1")

    for given in ("", "x\0", "x" * 1_025, "\udfff"):
        with pytest.raises(UnfitPassword):
            require_possible(given)


def test_queue_gives_up_when_the_wait_is_over() -> None:
    began = time.monotonic()

    with hashing(soon()), pytest.raises(HashQueueFull) as refused, hashing(soon()):
        pass

    assert time.monotonic() - began >= 0.04
    assert refused.value.retry_after_seconds >= 1


def test_turn_is_given_back_whatever_happens_in_it() -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), hashing(soon()):
            raise ZeroDivisionError

    with hashing(soon()):
        pass


def test_one_hash_at_a_time() -> None:
    running, most = 0, 0
    guard = threading.Lock()

    def sign_in() -> None:
        nonlocal running, most
        with hashing(soon(10)) as turn:
            with guard:
                running += 1
                most = max(most, running)
            turn.verify(None, "guess")
            with guard:
                running -= 1

    people = [threading.Thread(target=sign_in) for _ in range(8)]
    for each in people:
        each.start()
    for each in people:
        each.join()

    assert most == password.HASHES_MAX == 1
