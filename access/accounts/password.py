"""Is that the password, and may this be one? Argon2id, one hash at a time, as slow for nobody as for somebody.

Knows no user, no table and no clock; a hash is text that says its own parameters.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2 import Type
from argon2.exceptions import InvalidHashError
from argon2.exceptions import VerificationError

from access.accounts.deadline import Deadline
from models.errors import Fault

MEMORY_KIBIBYTES, PASSES, LANES = 19 * 1024, 2, 1  # OWASP's first choice for argon2id
HASH_BYTES, SALT_BYTES = 32, 16
PASSWORD_BYTES_MAX = 1_024  # beyond it nobody types, and every byte is read
PASSWORD_CHARACTERS_MIN = 6  # GoTrue's own default
HASHES_MAX = 1  # in this process; there are two workers, and a hash takes 19 MiB
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
    """A new password that is too short; `reasons` are GoTrue's words for it."""

    reasons = ("length",)


class UnfitPassword(Fault):
    """A password that nobody can have: empty, longer than the bound, or holding a NUL."""


class HashQueueFull(Fault):
    """The turn to hash did not come in time. Trying again is right."""

    retry_after_seconds = RETRY_SECONDS


def zeros(count: int) -> str:
    return base64.b64encode(bytes(count)).rstrip(b"=").decode()


NOBODYS_HASH = (
    f"$argon2id$v=19$m={MEMORY_KIBIBYTES},t={PASSES},p={LANES}"
    f"${zeros(SALT_BYTES)}${zeros(HASH_BYTES)}"
)
"""What is verified where there is no hash: it takes the same time, and no known password has it."""

TURNS = threading.BoundedSemaphore(HASHES_MAX)


class Hashing:
    """A turn to hash. Everything here takes tens of milliseconds."""

    def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether the password has that hash; nobody's hash is compared all the same."""
        try:
            return HASHER.verify(password_hash or NOBODYS_HASH, password)
        except InvalidHashError:
            return self.verify(None, password)
        except VerificationError:
            return False

    def hash(self, password: str) -> str:
        return HASHER.hash(password)

    def improve(self, password_hash: str, password: str) -> str | None:
        """The right password's hash by today's parameters, where they are not those of its hash."""
        return HASHER.hash(password) if HASHER.check_needs_rehash(password_hash) else None


@contextmanager
def hashing(deadline: Deadline) -> Iterator[Hashing]:
    """One of the turns to hash, or HashQueueFull when the wait is over."""
    if not TURNS.acquire(timeout=deadline.left()):
        raise HashQueueFull("Too many people are signing in at once; try again.")
    try:
        yield Hashing()
    finally:
        TURNS.release()


def require_possible(password: str) -> None:
    """Refuse, before any hash, what is nobody's password."""
    if not password:
        raise UnfitPassword("The password is empty")
    if "\0" in password:
        raise UnfitPassword("A password cannot hold a NUL")
    if len(password.encode("utf-8", "surrogatepass")) > PASSWORD_BYTES_MAX:
        raise UnfitPassword(f"Password cannot be longer than {PASSWORD_BYTES_MAX} bytes")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise UnfitPassword("A password cannot hold half of a surrogate pair") from None


def require_new(password: str) -> None:
    """Refuse, before any hash, what shall not become somebody's password."""
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise WeakPassword(
            f"Password should be at least {PASSWORD_CHARACTERS_MIN} characters.",
            hint="Choose a longer one.",
        )
    require_possible(password)


def hash_new(password: str) -> str:
    """A new password's hash, for as long as the turn takes: for commands, where nobody waits."""
    require_new(password)
    with TURNS:
        return HASHER.hash(password)
