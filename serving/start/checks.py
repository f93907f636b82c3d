"""The checks of a start, which the arbiter runs once before it forks workers."""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

import config
from engine.storage.server_lock import AlreadyServed, ServingLock

PROBE_SECONDS_MAX = 1.0
CHECK_SECONDS_MAX = 600.0  # for a file of several gigabytes on a slow disk
SILENT_SECONDS_MAX = 3.0  # after it a message says what the start waits for

Check = Callable[[], None]
"""Checks the database. It raises, or prints a message and exits, if something is wrong."""


class StartRefused(Exception):
    """The server does not start. The message is one line."""


def claim(database: Path) -> ServingLock:
    """Take the serving lock of a database; raise StartRefused."""
    try:
        return ServingLock.take(database)
    except AlreadyServed as error:
        raise StartRefused(str(error)) from error
    except OSError as error:
        raise StartRefused(f"{database}.serving cannot be opened: {error.strerror}") from error


def load(*modules: str) -> None:
    """Import modules before workers are forked, so that the workers share their memory. The imports open nothing.

    An import error is ignored here. The check or a worker reports it.
    """
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)
    gc.freeze()  # no collection visits these objects, so their pages stay shared
    gc.enable()


def share_clock() -> None:
    """Have all workers share one clock (`engine/interface/clock.py`), if `load` could import it."""
    clock = sys.modules.get("engine.interface.clock")
    if clock is not None:
        clock.share()


def expect_file(database: Path | None) -> None:
    """Bind all workers to the checked file (`engine/storage/file_identity.py`), if `load` could import it."""
    file_identity = sys.modules.get("engine.storage.file_identity")
    if file_identity is not None and database is not None:
        file_identity.expect(database)


def expect_server(url: str) -> None:
    """Let workers start while the checked server does not answer (`engine/postgres/schema.py`)."""
    schema = sys.modules.get("engine.postgres.schema")
    if schema is not None:
        schema.expect(url)


def require_usable(lock: ServingLock | None, check: Check, what: str = "the check at the start") -> None:
    """Run `check` on the database in a child process before any worker starts; raise StartRefused if it fails.

    The check creates a new file, migrates an older one, and refuses any other file. A worker would repeat all that, and
    be killed during a long migration. This process opens nothing: an SQLite connection must not survive a fork. A
    PostgreSQL database has no lock.
    """
    try:
        status, output = run_in_child(check, CHECK_SECONDS_MAX, partial(report_wait, what))
    except TimeoutError as error:
        if lock is not None:
            lock.abandon()
        raise StartRefused(f"{what} did not end") from error
    if status != 0:
        if lock is not None:
            lock.give_back()
        raise StartRefused(f"{what} failed: {last_line(output)}")


def create_database(settings: config.Settings) -> None:
    """Create or migrate the database; raise NotStarted for a file of another kind or version."""
    config.set_inherited(settings)
    importlib.import_module("app").create_app().extensions["walkthrough"].shut_down()


def report_wait(what: str) -> None:
    """Print what a start waits for."""
    limit = f"it may take {CHECK_SECONDS_MAX:g} seconds"
    print(f"walkthrough: {what} is running: {limit}", file=sys.stderr, flush=True)


def last_line(output: str) -> str:
    """Return the last line with a letter, without its prefix: a PostgreSQL error may end with a position marker.

    >>> last_line("Traceback …\\nError: permission denied\\n      ^\\n"), last_line("")
    ('permission denied', 'no output')
    """
    lines = [line for line in output.splitlines() if any(each.isalpha() for each in line)]
    line = lines[-1] if lines else "no output"
    return line.removeprefix("walkthrough: ").removeprefix("Error: ")


def run_in_child(check: Check, seconds_max: float, report: Callable[[], None] | None = None) -> tuple[int, str]:
    """Run `check` in a forked child; return its exit status and output. Raise TimeoutError after `seconds_max`.

    `report` is called once if the child runs longer than SILENT_SECONDS_MAX. A fork shares the imported modules. A new
    process would import them again, for half of the time of a start.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        check_and_exit(check, writer)
    os.close(writer)
    began = time.monotonic()
    deadline = began + seconds_max
    wake_at = deadline if report is None else min(began + SILENT_SECONDS_MAX, deadline)
    output = b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(reader, selectors.EVENT_READ)
            while True:
                if selector.select(max(0.0, wake_at - time.monotonic())):
                    if not (more := os.read(reader, 65_536)):
                        break
                    output += more
                elif wake_at == deadline:
                    raise TimeoutError
                elif report is not None:
                    wake_at = deadline
                    report()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output.decode(errors="replace")


def check_and_exit(check: Check, descriptor: int) -> NoReturn:
    """Run a check, print what is wrong, and exit at once, without the parent's exit handlers."""
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
    except BaseException:  # noqa: BLE001 - any error is printed
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            logging.shutdown()  # writes the pending lines
        os._exit(status)


def require_temporary_directory(directory: str | None) -> None:
    """Raise StartRefused if there is no directory for the unnamed files by which workers show that they live."""
    if directory is None:
        try:
            tempfile.gettempdir()
        except OSError as error:
            raise StartRefused(
                "there is no directory for temporary files, by which workers show that they live:"
                f" make /dev/shm writable, or set TMPDIR ({error.strerror})"
            ) from error


def refuse_taken_addresses(addresses: Iterable[object]) -> None:
    """Raise StartRefused if a server answers at one of the addresses: gunicorn's bind would succeed."""
    for address in addresses:
        match address:
            case (str() as host, int() as port):
                _refuse_taken(host, port)
            case str() as path:
                _refuse_taken_socket(Path(path))


def _refuse_taken_socket(path: Path) -> None:
    """gunicorn replaces the file of a socket, also of one that is in use."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(PROBE_SECONDS_MAX)
        try:
            probe.connect(str(path))
        except FileNotFoundError as error:
            if path.parent.is_dir():
                return
            raise StartRefused(f"cannot listen at unix:{path}: there is no directory {path.parent}") from error
        except ConnectionRefusedError as error:
            if path.is_socket():  # of a server that was killed
                return
            raise StartRefused(f"cannot listen at unix:{path}: the file is no socket") from error
        except OSError as error:
            raise StartRefused(f"cannot listen at unix:{path}: {error.strerror or error}") from error
    raise StartRefused(f"something already answers at unix:{path}")


def _refuse_taken(host: str, port: int) -> None:
    """Connect only to an address of this machine that may be in use."""
    fault: OSError | None = None
    try:
        _bind(host, port)
    except OSError as error:
        fault = error
    except ValueError as error:  # UnicodeError: not a host name
        raise StartRefused(f"cannot listen at {host}:{port}: it is not an address") from error
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
