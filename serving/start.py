"""May this server start? What is asked once, in the arbiter, before there is any worker."""

from __future__ import annotations

import gc
import importlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import closing
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path

from config import COUNTING
from serving.lock import AlreadyServed
from serving.lock import ServingLock

PROBE_SECONDS_MAX = 1.0
CHECK_SECONDS_MAX = 600.0  # reading a file of some gigabytes from a slow card


class StartRefused(Exception):
    """The server does not start. The message is one line."""


def claim(database: Path, check: Sequence[str], directory: Path) -> ServingLock:
    """Take the right to serve, and have `check` look at the file if the last server ended badly.

    The check is a process of its own: an SQLite connection must not live across a fork.
    """
    try:
        lock = ServingLock.take(database)
    except AlreadyServed as error:
        raise StartRefused(str(error)) from error
    except OSError as error:
        raise StartRefused(f"{database}.serving cannot be made: {error.strerror}") from error
    if lock.found_unclean:
        _look_closely(lock, check, directory)
    return lock


@contextmanager
def importing(module: str) -> Iterator[None]:
    """Import, beside what is done meanwhile, what every worker needs: it is forked with it, once in memory.

    Nothing is opened by that. What cannot be imported, a worker says.
    """
    thread = threading.Thread(target=_import, args=(module,), name="import", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()  # a fork beside another thread could leave a lock locked for good
    gc.freeze()  # what is there to stay is not looked through again, and its pages stay shared


def refuse_taken_addresses(addresses: Iterable[object]) -> None:
    """Ask first: with SO_REUSEPORT a second bind succeeds, and two servers share the callers."""
    for address in addresses:
        match address:
            case (str() as host, int() as port):
                _refuse_if_answering(host, port)
                _refuse_if_unbindable(host, port)
            case _:  # a Unix socket's path, which cannot be bound twice
                continue


def require_usable(lock: ServingLock, check: Sequence[str], directory: Path) -> None:
    """Have `check` open the database, once and in a process of its own, before any worker does.

    It makes a new file, brings an older one up to date however long that takes, and refuses one that is
    not ours in one line; a worker would do all that again and again, and be killed while it does.
    """
    _ask(lock, check, directory, "the check at the start")


def _look_closely(lock: ServingLock, check: Sequence[str], directory: Path) -> None:
    _ask(lock, check, directory, "the check after an unclean stop")


def _import(module: str) -> None:
    with suppress(Exception):
        importlib.import_module(module)


def _ask(lock: ServingLock, check: Sequence[str], directory: Path, what: str) -> None:
    try:
        found = subprocess.run(
            check,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=CHECK_SECONDS_MAX,
            env={name: value for name, value in os.environ.items() if name != COUNTING},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        lock.abandon()
        raise StartRefused(f"{what} did not end") from error
    if found.returncode != 0:
        lock.give_back()
        lines = found.stdout.strip().splitlines() or ["nothing said"]
        said = lines[-1].removeprefix("walkthrough: ").removeprefix("Error: ")
        raise StartRefused(f"{what} failed: {said}")


def _refuse_if_answering(host: str, port: int) -> None:
    reached = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    try:
        socket.create_connection((reached, port), timeout=PROBE_SECONDS_MAX).close()
    except OSError:
        return
    raise StartRefused(f"something already answers at {host}:{port}")


def _refuse_if_unbindable(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StartRefused(f"cannot listen at {host}:{port}: {error.strerror}") from error
