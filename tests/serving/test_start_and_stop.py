"""Start and stop of a running server with a minimal application, and its lock file."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from engine.storage.database import AlreadyServed, ServingLock, is_served
from serving import shutdown as stop
from serving.start import checks
from tests.support.minimal_server import (
    PROJECT,
    SIMPLE_REQUEST,
    Server,
    await_answer,
    command,
    is_answering,
    serving,
    take_lock_when_free,
)
from tests.support.ports import free_port
from tests.support.raw import read_to_end
from tests.support.waiting import SECONDS_MAX, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


def refused_start(server: Server, **changes: str) -> str:
    """Start another server beside the running one, and return its output."""
    environ = server.environ | changes
    done = subprocess.run(
        command(), env=environ, cwd=PROJECT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode != 0
    output = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(output) == 1
    return output[0]


def test_second_server_on_a_port_or_database_is_refused(server, tmp_path):
    same_port = refused_start(server, DATABASE_URL=f"sqlite:///{tmp_path / 'other.db'}")
    same_database = refused_start(server, PORT=str(free_port()))

    assert same_port == f"walkthrough: something already answers at 127.0.0.1:{server.port}"
    assert same_database == f"walkthrough: {server.database} is being served by another process"
    assert not list(tmp_path.iterdir())
    assert is_answering(server)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"FLASK_DEBUG": "1"}, "FLASK_DEBUG is set", id="debug"),
        pytest.param({"SECRET_KEY": "short"}, "SECRET_KEY is shorter", id="short-key"),
        pytest.param({"HOST": "192.0.2.1"}, "cannot listen at 192.0.2.1", id="foreign-address"),
        pytest.param({"HOST": "a..b"}, "cannot listen at a..b", id="no-address"),
        pytest.param({"LOG_LEVEL": "loud"}, "LOG_LEVEL is one of debug, info", id="log-level"),
        pytest.param({"DATABASE_URL": "mysql://h/d"}, "not with mysql://", id="database"),
        pytest.param(
            {"DATABASE_URL": "postgresql+psycopg://127.0.0.1:1/d"},
            "walkthrough: the check at the start failed: postgresql+psycopg://127.0.0.1:1/d cannot be used",
            id="no-server",
        ),
    ],
)
def test_unsafe_setting_is_refused_in_one_line(server, changes, message):
    assert message in refused_start(server, PORT=str(free_port()), **changes)


def test_start_without_a_temporary_directory_is_refused(monkeypatch):
    """In a container with a read-only root, gunicorn would listen and then fail."""

    def fail() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", fail)
    checks.require_temporary_directory("/a/place")

    with pytest.raises(checks.StartRefused, match=r"^there is no directory for .*TMPDIR \(No usable"):
        checks.require_temporary_directory(None)


@pytest.mark.parametrize("is_existing", [True, False])
def test_new_keys_for_an_existing_database_are_logged(tmp_path, is_existing):
    if is_existing:
        with serving(tmp_path):
            pass  # with the keys of the environment
    with serving(tmp_path, unset=("SECRET_KEY", "ANON_KEY")) as first:
        warned = [line for line in first.lines() if line["level"] == "warning"]
    with serving(tmp_path, unset=("SECRET_KEY", "ANON_KEY")) as second:
        warned_again = [line for line in second.lines() if line["level"] == "warning"]

    assert len(warned) == is_existing
    assert all("keys.json" in line["message"] for line in warned)
    assert warned_again == []


def test_stop_answers_accepted_requests_and_removes_the_lock_file(tmp_path):
    with serving(tmp_path) as server:
        lock_file = tmp_path / "walkthrough.db.serving"
        assert lock_file.stat().st_mode & 0o777 == 0o600
        with server.connect() as connection:
            connection.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            while not (tmp_path / "minimal_app.py.slow").exists():  # until a thread runs the request
                time.sleep(0.01)

            server.process.send_signal(signal.SIGTERM)

            assert read_to_end(connection).endswith(b"served")
        assert server.process.wait(15) == 0
        assert not lock_file.exists()


def test_killed_server_leaves_its_lock_file_without_a_lock(tmp_path):
    with serving(tmp_path) as server:
        server.process.kill()
        server.process.wait(5)
        lock = take_lock_when_free(server.database)

        assert lock.found_unclean
        lock.release()
        assert not (tmp_path / "walkthrough.db.serving").exists()


def test_stop_is_unclean_if_a_worker_was_killed(tmp_path):
    with serving(tmp_path) as server:
        kill_worker(server)
        await_answer(server)

        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0

        assert (tmp_path / "walkthrough.db.serving").exists()


def test_stop_is_clean_if_every_worker_set_its_exit_flag():
    flags = stop.ExitFlags()
    first, second = flags.create(), flags.create()
    assert not flags.are_set()

    for flag in (first, second):
        if not (child := os.fork()):
            flag.set()
            os._exit(0)
        os.waitpid(child, 0)
    flags.collect(first)
    assert flags.are_set()

    flags.collect(flags.create())
    flags.collect(second)
    assert not flags.are_set()


def kill_worker(server: Server) -> None:
    """Kill a worker, and wait for its replacement."""
    until(lambda: len(worker_pids(server)) == 2)
    killed = worker_pids(server)[0]
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(worker_pids(server)) == 2 and killed not in worker_pids(server))


def worker_pids(server: Server) -> list[int]:
    assert server.process.poll() is None, (server.database.parent / "log").read_text()
    pid = server.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("is_killed", [False, True])
def test_removed_temporary_files_affect_neither_workers_nor_unclean_stops(tmp_path, is_killed):
    with serving(tmp_path) as server:
        (metrics,) = tmp_path.glob("walkthrough-metrics-*")
        shutil.rmtree(metrics)
        if is_killed:
            kill_worker(server)
        await_answer(server)
        assert is_answering(server)

        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0

        assert (tmp_path / "walkthrough.db.serving").exists() == is_killed


GC_APPLICATION = """
import gc
import os


def app(environ, start_response):
    body = f"{os.getpid()} {gc.isenabled()}".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""


def test_workers_collect_garbage_after_a_reload(tmp_path):
    """The server disables garbage collection during its imports, and gunicorn reloads its settings at a HUP."""

    def pid_and_gc(server: Server) -> tuple[str, str]:
        with contextlib.suppress(OSError, ValueError):
            pid, gc_is_enabled = server.exchange(SIMPLE_REQUEST).rpartition(b"\r\n")[2].decode().split()
            return pid, gc_is_enabled
        return "", ""

    with serving(tmp_path, GC_APPLICATION) as server:
        before = {pid_and_gc(server) for _ in range(40)}
        server.process.send_signal(signal.SIGHUP)
        after: set[tuple[str, str]] = set()

        def is_reloaded() -> bool:
            after.add(pid_and_gc(server))
            return bool({pid for pid, _ in after - before} - {""})

        until(is_reloaded)

    assert {gc_is_enabled for pid, gc_is_enabled in before | after if pid} == {"True"}


def test_upgrade_signal_is_refused(tmp_path):
    """gunicorn's upgrade by USR2 needs two servers on one file."""
    refused = "USR2 is refused"
    with serving(tmp_path) as server:
        log = tmp_path / "log"

        def are_refused(times: int) -> bool:
            server.process.send_signal(signal.SIGUSR2)  # ignored while the previous signal is handled
            time.sleep(0.05)
            return log.read_text().count(refused) >= times

        until(lambda: are_refused(times=1))
        until(lambda: are_refused(times=3))

        assert is_answering(server)
        assert "Traceback" not in log.read_text()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0
        assert not (tmp_path / "walkthrough.db.serving").exists()


def test_check_at_the_start_writes_no_metrics(tmp_path):
    with serving(tmp_path):
        (metrics,) = tmp_path.glob("walkthrough-metrics-*")

        assert list(metrics.glob("*.db")) == []


def require_check(lock: ServingLock, output: str = "", end: object = 0) -> None:
    """Run a check that prints a text and ends with a status or an error."""

    def check() -> None:
        print(output)
        if isinstance(end, BaseException):
            raise end
        sys.exit(end)

    checks.require_usable(lock, check)


@pytest.mark.parametrize(
    ("output", "end", "expected"),
    [
        ("first\nwalkthrough: row 5 missing", 1, "row 5 missing"),
        ("", 3, "no output"),
        ("", ValueError("it broke"), "ValueError: it broke"),
        ("", click.ClickException("it is not ours"), "it is not ours"),
        ("", "left with words", "left with words"),
        ("lots\n" * 50_000 + "the end", 1, "the end"),
        ("it is not permitted\n        ^\n", 1, "it is not permitted"),
    ],
)
def test_failed_check_prevents_the_start(tmp_path, output, end, expected):
    database = tmp_path / "walkthrough.db"
    lock = checks.claim(database)

    with pytest.raises(checks.StartRefused, match=f"^the check at the start failed: {expected}$"):
        require_check(lock, output, end)
    assert not checks.claim(database).found_unclean


def test_check_after_an_unclean_stop_decides(tmp_path):
    database = tmp_path / "walkthrough.db"
    ServingLock.take(database).abandon()

    lock = checks.claim(database)
    with pytest.raises(checks.StartRefused):
        require_check(lock, "row 5 missing", 1)

    lock = checks.claim(database)
    assert lock.found_unclean
    require_check(lock, "sound")
    lock.release()
    assert not checks.claim(database).found_unclean


def test_check_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "CHECK_SECONDS_MAX", 0.5)
    database, name = tmp_path / "walkthrough.db", tmp_path / "name"
    lock = checks.claim(database)

    def check() -> None:
        name.write_text(str(os.getpid()))
        time.sleep(60)

    with pytest.raises(checks.StartRefused, match="the check at the start did not end"):
        checks.require_usable(lock, check)
    with pytest.raises(ProcessLookupError):
        os.kill(int(name.read_text()), 0)
    assert checks.claim(database).found_unclean


@pytest.mark.parametrize(("seconds", "expected"), [(0, 0), (0.6, 1)], ids=["soon", "late"])
def test_slow_check_is_announced_once(tmp_path, monkeypatch, capfd, seconds, expected):
    """The check of a large file takes long, and without a message a user may interrupt it."""
    monkeypatch.setattr(checks, "SILENT_SECONDS_MAX", 0.2)
    lock = checks.claim(tmp_path / "walkthrough.db")

    checks.require_usable(lock, lambda: time.sleep(seconds), "the check after an unclean stop")

    line = "walkthrough: the check after an unclean stop is running: it may take 600 seconds\n"
    assert capfd.readouterr().err == line * expected


def test_check_runs_beside_many_open_files():
    copies = []
    with contextlib.suppress(OSError):  # up to the limit
        copies.extend(os.dup(0) for _ in range(2_000))
    for descriptor in copies[-20:]:
        os.close(descriptor)
    try:
        assert checks.run_in_child(lambda: print("sound"), 10) == (0, "sound\n")
    finally:
        for descriptor in copies[:-20]:
            os.close(descriptor)


def test_check_runs_no_exit_handler_of_its_parent(tmp_path):
    lock_file = tmp_path / "ended"  # a file, since the child has its own memory
    atexit.register(lock_file.touch)
    try:
        assert checks.run_in_child(lambda: None, 10) == (0, "")
        assert checks.run_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 10)[0] == -9
    finally:
        atexit.unregister(lock_file.touch)
    assert not lock_file.exists()


def test_pipe_as_lock_file_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "a.db.serving", 0o600)

    assert not is_served(tmp_path / "a.db")


def test_lock_on_a_removed_file_is_taken_again(tmp_path, monkeypatch):
    """If the holder removes the lock file between open and lock, the lock is taken again on a new file."""
    database = tmp_path / "walkthrough.db"
    lock_file = tmp_path / "walkthrough.db.serving"
    first = ServingLock.take(database)
    real_flock = fcntl.flock
    calls = []

    def flock_after_a_release(descriptor: int, operation: int) -> None:
        if not calls:
            first.release()
        calls.append(descriptor)
        real_flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock_after_a_release)

    second = ServingLock.take(database)

    assert len(calls) == 2
    assert lock_file.exists()
    with pytest.raises(AlreadyServed):
        ServingLock.take(database)
    second.release()
