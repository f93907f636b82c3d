"""Password hashing: parameters, validation and concurrency."""

import threading
import time

import argon2
import pytest

from access.accounts import password
from access.accounts.password import (
    DUMMY_HASH,
    HASHER,
    Deadline,
    HashQueueFull,
    InvalidPassword,
    PasswordHashing,
    WeakPassword,
    password_hashing,
    require_valid,
    require_valid_new,
)

pytestmark = pytest.mark.one_engine


def soon(seconds: float = 0.05) -> Deadline:
    return Deadline(time.monotonic() + seconds)


def test_hash_has_the_parameters_that_owasp_recommends() -> None:
    found = argon2.extract_parameters(PasswordHashing().hash("correct horse"))

    assert (found.type, found.memory_cost, found.time_cost, found.parallelism) == (argon2.Type.ID, 19 * 1024, 2, 1)


def test_dummy_hash_has_the_same_cost() -> None:
    assert argon2.extract_parameters(DUMMY_HASH) == argon2.extract_parameters(HASHER.hash("x"))


def test_only_the_right_password_verifies() -> None:
    kept = PasswordHashing().hash("pässword with spaces ")

    assert PasswordHashing().verify(kept, "pässword with spaces ")
    assert not PasswordHashing().verify(kept, "pässword with spaces")


@pytest.mark.parametrize("kept", [None, "", "plain", "$argon2id$v=19$m=1", DUMMY_HASH])
def test_invalid_hash_verifies_no_password(kept: str | None) -> None:
    for guess in ("", "\0" * 32, "plain", "anything"):
        assert not PasswordHashing().verify(kept, guess)


def test_same_password_has_a_different_hash_each_time() -> None:
    assert PasswordHashing().hash("twice") != PasswordHashing().hash("twice")


def test_weaker_hash_is_replaced_and_current_hash_is_kept() -> None:
    weaker = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("secret")

    better = PasswordHashing().rehash(weaker, "secret")

    assert better is not None
    assert PasswordHashing().verify(better, "secret")
    assert PasswordHashing().rehash(better, "secret") is None


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        pytest.param("", WeakPassword, id="empty"),
        pytest.param("1234567", WeakPassword, id="short"),
        pytest.param("äöüßéñç", WeakPassword, id="characters-not-bytes"),
        pytest.param("12345678", None, id="long-enough"),
        pytest.param("        ", None, id="spaces-are-characters"),
        pytest.param("x" * 1_024, None, id="at-the-bound"),
        pytest.param("x" * 1_025, InvalidPassword, id="beyond-it"),
        pytest.param("é" * 513, InvalidPassword, id="bytes-not-characters"),
        pytest.param("a secret\0tail", InvalidPassword, id="nul"),
        pytest.param("a secret\ud800", InvalidPassword, id="half-a-surrogate-pair"),
    ],
)
def test_new_password_is_refused_before_it_is_hashed(given: str, refused: type | None) -> None:
    if refused is None:
        require_valid_new(given)
    else:
        with pytest.raises(refused):
            require_valid_new(given)


def test_short_password_is_verified_and_an_invalid_one_is_not() -> None:
    require_valid("1")

    for given in ("", "x\0", "x" * 1_025, "\udfff"):
        with pytest.raises(InvalidPassword):
            require_valid(given)


def test_hash_queue_is_full_at_the_deadline() -> None:
    began = time.monotonic()

    with password_hashing(soon()), pytest.raises(HashQueueFull) as refused, password_hashing(soon()):
        pass

    assert time.monotonic() - began >= 0.04
    assert refused.value.retry_after_seconds >= 1


def test_hashing_slot_is_released_after_an_exception() -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), password_hashing(soon()):
            raise ZeroDivisionError

    with password_hashing(soon()):
        pass


def test_one_hash_at_a_time() -> None:
    running, most = 0, 0
    guard = threading.Lock()

    def sign_in() -> None:
        nonlocal running, most
        with password_hashing(soon(10)) as turn:
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
