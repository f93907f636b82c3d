"""May this server start? What is asked once, in the arbiter, before there is any worker."""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import os
import selectors
import signal
import socket
import stat
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from collections.abc import Iterable
from contextlib import closing
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from engine.storage.server_lock import AlreadyServed
from engine.storage.server_lock import ServingLock

HEAD_BYTES = 105
MAGIC = b"SQLite format 3\0"
OURS = int.from_bytes(b"WLK1")  # the file's application_id
SCHEMA_VERSION = (
    1  # `engine.maintenance.migrations.schema_version()`, which takes half of a start to import
)

PROBE_SECONDS_MAX = 1.0
CHECK_SECONDS_MAX = 600.0  # reading a file of some gigabytes from a slow card
SILENT_SECONDS_MAX = 3.0  # after which whoever waits is told what for

Check = Callable[[], None]
"""Looks at the database; what is wrong it says and exits, or raises."""


class StartRefused(Exception):
    """The server does not start. The message is one line."""


def may_be_ours(database: Path) -> bool:
    """Whether a file may be served, as far as its first bytes tell: SQLite's header says whose it is and of which
    version. They are read as bytes, since to import what opens it takes half of a start."""
    try:
        if not stat.S_ISREG(database.lstat().st_mode):
            return False
        with database.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    if not head:  # made, and not yet written to
        return True
    version, whose, tables = (
        int.from_bytes(head[begin:end]) for begin, end in ((60, 64), (68, 72), (103, 105))
    )
    is_new = (version, whose, tables) == (0, 0, 0)
    return head.startswith(MAGIC) and (is_new or (whose == OURS and version <= SCHEMA_VERSION))


def claim(database: Path) -> ServingLock:
    """Take the right to serve."""
    try:
        return ServingLock.take(database)
    except AlreadyServed as error:
        raise StartRefused(str(error)) from error
    except OSError as error:
        raise StartRefused(f"{database}.serving cannot be opened: {error.strerror}") from error


def load(*modules: str) -> None:
    """Import what every worker needs: they are forked with it, once in memory. Nothing is opened by that. What cannot
    be imported, whoever needs it next says: the check, or a worker."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)
    gc.freeze()  # it is looked through neither now nor later, and its pages stay shared
    gc.enable()


def share_clock() -> None:
    """Have all workers look at one clock (`engine/storage/clock.py`), where `load` could import it."""
    clock = sys.modules.get("engine.storage.clock")
    if clock is not None:
        clock.share()


def expect_file(database: Path | None) -> None:
    """Have workers serve no other file than the one that was looked at, also those that take another's place later
    (`engine/storage/file_identity.py`), where `load` could import it."""
    place = sys.modules.get("engine.storage.file_identity")
    if place is not None and database is not None:
        place.expect(database)


def expect_server(url: str) -> None:
    """Have workers begin also while the server that was looked at is away (`engine/postgres/schema.py`)."""
    server = sys.modules.get("engine.postgres.schema")
    if server is not None:
        server.expect(url)


def require_usable(
    lock: ServingLock | None, check: Check, what: str = "the check at the start"
) -> None:
    """Have `check` open the database, once and in a process of its own, before any worker does.

    It makes a new file, brings an older one up to date however long that takes, and refuses one that is
    not ours in one line; a worker would do all that again and again, and be killed while it does. An SQLite
    connection must not live across a fork, so this process opens nothing. A server's database has no lock.
    """
    try:
        status, said = ask_child(check, CHECK_SECONDS_MAX, partial(tell_of, what))
    except TimeoutError as error:
        if lock is not None:
            lock.abandon()
        raise StartRefused(f"{what} did not end") from error
    if status != 0:
        if lock is not None:
            lock.give_back()
        raise StartRefused(f"{what} failed: {last_line(said)}")


def tell_of(what: str) -> None:
    """Say what a start waits for."""
    bound = f"it may take {CHECK_SECONDS_MAX:g} seconds"
    print(f"walkthrough: {what} goes on: {bound}", file=sys.stderr, flush=True)


def last_line(said: str) -> str:
    """What a command that failed said last; a server's error may end with a mark below a place.

    >>> last_line("Traceback …\\nError: permission denied\\n      ^\\n"), last_line("")
    ('permission denied', 'nothing said')
    """
    told = [line for line in said.splitlines() if any(each.isalpha() for each in line)]
    line = told[-1] if told else "nothing said"
    return line.removeprefix("walkthrough: ").removeprefix("Error: ")


def ask_child(
    check: Check, seconds_max: float, tell: Callable[[], None] | None = None
) -> tuple[int, str]:
    """The status of a child that does nothing but check, and what it said; TimeoutError if it does not end. After a
    while without an end `tell` is called, once.

    A fork of a process with a single thread, which has imported already what another would import again: half
    of the time that a start takes.
    """
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        answer_as_child(check, ours)
    os.close(ours)
    began = time.monotonic()
    give_up = began + seconds_max
    look_up = give_up if tell is None else min(began + SILENT_SECONDS_MAX, give_up)
    said = b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(theirs, selectors.EVENT_READ)
            while True:
                if selector.select(max(0.0, look_up - time.monotonic())):
                    if not (more := os.read(theirs, 65_536)):
                        break
                    said += more
                elif look_up == give_up:
                    raise TimeoutError
                elif tell is not None:
                    look_up = give_up
                    tell()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(theirs)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.decode(errors="replace")


def answer_as_child(check: Check, descriptor: int) -> NoReturn:
    """Check, say what is wrong, and end at once: nothing of the parent's is to be ended here."""
    status = 1
    try:
        for standard in (1, 2):
            os.dup2(descriptor, standard)
        sys.stdout = sys.stderr = open(descriptor, "w", encoding="utf-8")  # noqa: SIM115
        check()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code)
    except click.ClickException as error:
        print(error.format_message())
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            logging.shutdown()  # the lines that wait for their writer
        os._exit(status)


def require_place_for_signs(directory: str | None) -> None:
    """Refuse where a worker's sign of life, a file without a name, has no place: neither this one nor any other."""
    if directory is None:
        try:
            tempfile.gettempdir()
        except OSError as error:
            raise StartRefused(
                "there is no place for temporary files, by which workers show that they live:"
                f" make /dev/shm writable, or set TMPDIR ({error.strerror})"
            ) from error


def refuse_taken_addresses(addresses: Iterable[object]) -> None:
    """Ask first: with SO_REUSEPORT a second bind succeeds, and two servers share the callers."""
    for address in addresses:
        match address:
            case (str() as host, int() as port):
                _refuse_taken(host, port)
            case _:  # a Unix socket's path, which cannot be bound twice
                continue


def _refuse_taken(host: str, port: int) -> None:
    """Only an address that is this machine's, and maybe taken, is asked whether somebody answers."""
    fault: OSError | None = None
    try:
        _bind(host, port)
    except OSError as error:
        fault = error
    except ValueError as error:  # UnicodeError: no name of a host
        raise StartRefused(f"cannot listen at {host}:{port}: it is no address") from error
    if (fault is None or fault.errno == errno.EADDRINUSE) and _is_answered(host, port):
        raise StartRefused(f"something already answers at {host}:{port}")
    if fault is not None:
        raise StartRefused(f"cannot listen at {host}:{port}: {fault.strerror}") from fault


def _is_answered(host: str, port: int) -> bool:
    reached = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    try:
        socket.create_connection((reached, port), timeout=PROBE_SECONDS_MAX).close()
    except OSError:
        return False
    return True


def _bind(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        probe.bind((host, port))
