"""Hash and verify passwords: Argon2id, one hash at a time. Verification takes as long without an account as with one.

A hash is text that contains its own parameters.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from access.accounts.deadline import Deadline
from models.errors import Fault

MEMORY_KIBIBYTES, PASSES, LANES = 19 * 1024, 2, 1  # OWASP's recommendation
HASH_BYTES, SALT_BYTES = 32, 16
PASSWORD_BYTES_MAX = 1_024  # hashing reads every byte
PASSWORD_CHARACTERS_MIN = 6  # GoTrue's own default
HASHES_MAX = 1  # in this process; a hash takes 19 MiB
QUEUE_MAX = 24  # requests that hash or wait to; fewer than threads, and their hashes take less than 3 s
RETRY_SECONDS = 1

HASHER = PasswordHasher(
    time_cost=PASSES,
    memory_cost=MEMORY_KIBIBYTES,
    parallelism=LANES,
    hash_len=HASH_BYTES,
    salt_len=SALT_BYTES,
    type=Type.ID,
)


class WeakPassword(Fault):
    """A new password is too short. `reasons` are those of GoTrue."""

    reasons = ("length",)


class InvalidPassword(Fault):
    """A password that no account can have: empty, too long, or with a NUL or an unpaired surrogate."""


class HashQueueFull(Fault):
    """Too many requests wait to hash, or the deadline passed meanwhile. The client may retry."""

    retry_after_seconds = RETRY_SECONDS


def zeros(count: int) -> str:
    return base64.b64encode(bytes(count)).rstrip(b"=").decode()


DUMMY_HASH = f"$argon2id$v=19$m={MEMORY_KIBIBYTES},t={PASSES},p={LANES}${zeros(SALT_BYTES)}${zeros(HASH_BYTES)}"
"""The hash that is verified if there is none, to take the same time. No known password has it."""

HASHING_SLOTS = threading.BoundedSemaphore(HASHES_MAX)
HASHING_QUEUE = threading.BoundedSemaphore(QUEUE_MAX)


class PasswordHashing:
    """The hashing operations, for the holder of a slot. Verifying and hashing take tens of milliseconds each."""

    def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether a password matches a hash. Without a hash, verify DUMMY_HASH to take the same time."""
        try:
            return HASHER.verify(password_hash or DUMMY_HASH, password)
        except InvalidHashError:
            return self.verify(None, password)
        except VerificationError:
            return False

    def hash(self, password: str) -> str:
        return HASHER.hash(password)

    def rehash(self, password_hash: str, password: str) -> str | None:
        """Return a new hash of the right password if the parameters have changed, else None."""
        return HASHER.hash(password) if HASHER.check_needs_rehash(password_hash) else None


@contextmanager
def password_hashing(deadline: Deadline) -> Iterator[PasswordHashing]:
    """Wait for the right to hash; raise HashQueueFull at the deadline, or at once if the queue is full."""
    with hold_slot(HASHING_QUEUE, 0), hold_slot(HASHING_SLOTS, deadline.left()):
        yield PasswordHashing()


@contextmanager
def hold_slot(slots: threading.BoundedSemaphore, wait_seconds_max: float) -> Iterator[None]:
    """Hold a slot; raise HashQueueFull if none is free in time."""
    if not slots.acquire(timeout=wait_seconds_max):
        raise HashQueueFull("Too many people are signing in at once; try again.")
    try:
        yield
    finally:
        slots.release()


def require_valid(password: str) -> None:
    """Raise InvalidPassword, before any hash, if no account can have this password."""
    if not password:
        raise InvalidPassword("The password is empty")
    if "\0" in password:
        raise InvalidPassword("A password cannot hold a NUL")
    if len(password.encode("utf-8", "surrogatepass")) > PASSWORD_BYTES_MAX:
        raise InvalidPassword(f"Password cannot be longer than {PASSWORD_BYTES_MAX} bytes")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise InvalidPassword("A password cannot hold an unpaired surrogate") from None


def require_valid_new(password: str) -> None:
    """Raise WeakPassword or InvalidPassword, before any hash, if a password is not fit to be set."""
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise WeakPassword(
            f"Password should be at least {PASSWORD_CHARACTERS_MIN} characters.", hint="Choose a longer one."
        )
    require_valid(password)


def hash_new_password(password: str) -> str:
    """Return the hash of a new password, without a deadline: for commands."""
    require_valid_new(password)
    with HASHING_SLOTS:
        return HASHER.hash(password)
