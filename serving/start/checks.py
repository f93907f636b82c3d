"""The checks of a start: ports, file descriptors, and the service's own `flask` commands.

The arbiter runs them once before it forks workers. Each command has a process of its own and at most
COMMAND_SECONDS_MAX. A worker may have only as many clients as file descriptors allow; the usual limit is 1,024.
gunicorn's main loop ends when `accept` finds no free descriptor, and all clients of the worker lose their requests.
Each worker binds the port itself (SO_REUSEPORT), so two servers that start together would share the clients. A server
therefore claims its ports first. On Linux the claim is an abstract Unix socket. Its name belongs to the network
namespace and ends with its process. Elsewhere the claim is a lock on a file. A claim covers all addresses: one address
may have several names.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import importlib
import logging
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import click

from config import PROJECT
from engine.storage.database import AlreadyServed, ServingLock

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


def seconds_ahead() -> int:
    """Return by how many seconds the checked database's time is ahead of this machine's (`share_clock`)."""
    clock = sys.modules.get("engine.interface.clock")
    return 0 if clock is None else clock.Clock().seconds_ahead()


def expect_file(database: Path | None) -> None:
    """Bind all workers to the checked file (`engine/storage/file_copies.py`), if `load` could import it."""
    file_identity = sys.modules.get("engine.storage.file_copies")
    if file_identity is not None and database is not None:
        file_identity.expect(database)


def expect_server(url: str) -> None:
    """Let workers start while the checked server does not answer (`postgres/schema.py`)."""
    schema = sys.modules.get("postgres.schema")
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


CLIENTS_MAX: Final = 4_000  # most of them idle for KEEPALIVE_SECONDS
DESCRIPTORS_MIN: Final = 64  # with 32 each worker ends and is restarted without end
OTHER_DESCRIPTORS: Final = 200  # 33 connections to a file take 99; an idle worker has about 40


def clients_max() -> int:
    """Return how many clients each worker may have, after raising this process's limit of open files.

    If the limit is low, clients get a quarter of it.
    """
    limit = raise_limit(CLIENTS_MAX + OTHER_DESCRIPTORS)
    return min(CLIENTS_MAX, max(limit - OTHER_DESCRIPTORS, limit // 4))


def descriptor_shortage() -> str | None:
    """Return why the limit of open files is too low to serve, or None if it suffices."""
    limit = raise_limit(DESCRIPTORS_MIN)
    if limit >= DESCRIPTORS_MIN:
        return None
    return f"{limit} open files are too few: at least {DESCRIPTORS_MIN} (ulimit -n)"


def raise_limit(wanted: int) -> int:
    """Raise the limit of open files to `wanted` if allowed; return the limit, at most `wanted`."""
    limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY or limit >= wanted:
        return wanted
    higher = wanted if hard_limit == resource.RLIM_INFINITY else min(wanted, hard_limit)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (higher, hard_limit))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


HAS_ABSTRACT_SOCKETS = sys.platform == "linux"


def address_text(address: object) -> str:
    """Return an address of gunicorn, or HOST and PORT, as gunicorn's `bind` has it.

    >>> address_text(("::1", 8000)), address_text(("localhost", 8000))
    ('[::1]:8000', 'localhost:8000')
    >>> address_text("/run/walkthrough.sock"), address_text(("unix:/run/walkthrough.sock", 8000))
    ('unix:/run/walkthrough.sock', 'unix:/run/walkthrough.sock')
    """
    match address:
        case (str() as host, int() as port):
            if host.startswith("unix:"):
                return host
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case _:
            return f"unix:{address}"


class PortTaken(Exception):
    """Another server has claimed the port, or the claim failed. The message is one line."""


class PortClaims:
    """The ports that an arbiter has claimed. They end with it: workers that outlive a killed arbiter hold none."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def claim(self, addresses: Iterable[object]) -> None:
        """Claim the ports of all addresses or none; raise PortTaken. The path of a Unix socket has no port."""
        ports = {address[1] for address in addresses if isinstance(address, tuple)}
        try:
            for port in sorted(ports):
                self._held.append(_claim(port))
        except BlockingIOError as error:
            self.release()
            raise PortTaken(f"another server of this kind has port {port}, or is just starting there") from error
        except OSError as error:
            self.release()
            raise PortTaken(f"port {port} cannot be claimed: {error.strerror}") from error

    def release(self) -> None:
        while self._held:
            os.close(self._held.pop())


def _claim(port: int) -> int:
    """Claim a port and return the descriptor that holds it; raise BlockingIOError if it is claimed."""
    if HAS_ABSTRACT_SOCKETS:
        try:
            return _bind_name(port)
        except BlockingIOError:
            raise
        except OSError:
            pass  # such sockets are forbidden here
    return _lock_file(port)


def _bind_name(port: int) -> int:
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0walkthrough:{port}")
    except OSError as error:
        holder.close()
        if error.errno == errno.EADDRINUSE:
            raise BlockingIOError from error
        raise
    return holder.detach()


def _lock_file(port: int) -> int:
    """Lock a file of this user: another user's file could not be opened."""
    path = Path(tempfile.gettempdir()) / f"walkthrough-{os.getuid()}-{port}.port"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


COMMAND_SECONDS_MAX = 120.0  # the demonstration's import takes some seconds on a slow machine


class CommandFailed(Exception):
    """A `flask` command failed. The message is its last line."""


def flask(environ: Mapping[str, str], *arguments: str, stdin: str = "") -> str:
    """Run `flask --app app ARGUMENTS`; return what it prints. Raise CommandFailed."""
    return run_module(environ, f"flask {arguments[0]}", "flask", "--app", "app", *arguments, stdin=stdin)


def run_module(environ: Mapping[str, str], name: str, *arguments: str, stdin: str = "") -> str:
    """Run `python -m ARGUMENTS`; return what it prints. Errors have the name. Raise CommandFailed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=PROJECT,
            env=environ,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{name} did not end") from error
    if done.returncode != 0:
        line = last_line(done.stderr.strip() or done.stdout)
        raise CommandFailed(f"{name}: {line}")
    return done.stdout
