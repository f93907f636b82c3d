"""May it start, and how does it end? The server as it is run, over an application of a few lines, and its lock."""

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

from engine.storage.server_lock import AlreadyServed, ServingLock, is_served
from serving import shutdown as stop
from serving.start import checks as start
from tests.support.few_lines import HONEST, PROJECT, Server, await_answer, command, served, serving, take_when_free
from tests.support.ports import free_port
from tests.support.raw import read_to_end
from tests.support.waiting import until


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


def refused_start(server: Server, **changes: str) -> str:
    """Start another server beside the running one, and return what it says."""
    environ = server.environ | changes
    done = subprocess.run(command(), env=environ, cwd=PROJECT, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(said) == 1
    return said[0]


def test_the_port_and_the_database_are_served_once(server, tmp_path):
    same_port = refused_start(server, DATABASE_URL=f"sqlite:///{tmp_path / 'other.db'}")
    same_database = refused_start(server, PORT=str(free_port()))

    assert same_port == f"walkthrough: something already answers at 127.0.0.1:{server.port}"
    assert same_database == f"walkthrough: {server.database} is being served by another process"
    assert not list(tmp_path.iterdir())
    assert served(server)


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
def test_a_start_that_would_be_unsafe_is_refused_in_one_line(server, changes, message):
    assert message in refused_start(server, PORT=str(free_port()), **changes)


def test_where_workers_can_show_no_sign_of_life_a_start_is_refused(monkeypatch):
    """Of a container whose root is read-only: gunicorn would begin to listen, and end by an error."""

    def nowhere() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    start.require_temporary_directory("/a/place")

    with pytest.raises(start.StartRefused, match=r"^there is no directory for .*TMPDIR \(No usable"):
        start.require_temporary_directory(None)


def test_the_log_says_where_it_listens(server):
    [line] = [line for line in server.lines() if line.get("event") == "listening"]

    assert line["addresses"] == [f"127.0.0.1:{server.port}"]
    assert not [line for line in server.lines() if "Listening" in line.get("message", "")]


@pytest.mark.parametrize("is_there", [True, False])
def test_keys_that_are_drawn_for_a_database_that_is_there_are_told(tmp_path, is_there):
    if is_there:
        with serving(tmp_path):
            pass  # keys of the environment
    with serving(tmp_path, unset=("SECRET_KEY", "ANON_KEY")) as first:
        warned = [line for line in first.lines() if line["level"] == "warning"]
    with serving(tmp_path, unset=("SECRET_KEY", "ANON_KEY")) as second:
        warned_again = [line for line in second.lines() if line["level"] == "warning"]

    assert len(warned) == is_there
    assert all("keys.json" in line["message"] for line in warned)
    assert warned_again == []


def test_a_stop_answers_what_was_accepted_and_leaves_no_mark(tmp_path):
    with serving(tmp_path) as server:
        mark = tmp_path / "walkthrough.db.serving"
        assert mark.stat().st_mode & 0o777 == 0o600
        with server.connect() as connection:
            connection.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            while not (tmp_path / "few_lines.py.slow").exists():  # until it is in its thread
                time.sleep(0.01)

            server.process.send_signal(signal.SIGTERM)

            assert read_to_end(connection).endswith(b"served")
        assert server.process.wait(15) == 0
        assert not mark.exists()


def test_a_killed_server_leaves_its_mark_and_its_lock_ends_with_its_workers(tmp_path):
    with serving(tmp_path) as server:
        server.process.kill()
        server.process.wait(5)
        lock = take_when_free(server.database)

        assert lock.found_unclean
        lock.release()
        assert not (tmp_path / "walkthrough.db.serving").exists()


def test_a_stop_is_no_clean_one_if_a_worker_had_to_be_killed(tmp_path):
    with serving(tmp_path) as server:
        kill_one(server)
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


def kill_one(server: Server) -> None:
    """Kill a worker, and wait for the one that takes its place."""
    until(lambda: len(workers_of(server)) == 2)
    killed = workers_of(server)[0]
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(workers_of(server)) == 2 and killed not in workers_of(server))


def workers_of(server: Server) -> list[int]:
    assert server.process.poll() is None, (server.database.parent / "log").read_text()
    pid = server.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("is_killed", [False, True])
def test_who_removes_temporary_files_stops_no_worker_and_hides_no_unclean_end(tmp_path, is_killed):
    with serving(tmp_path) as server:
        (metrics,) = tmp_path.glob("walkthrough-metrics-*")
        shutil.rmtree(metrics)
        if is_killed:
            kill_one(server)
        await_answer(server)
        assert served(server)

        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0

        assert (tmp_path / "walkthrough.db.serving").exists() == is_killed


COLLECTING = """
import gc
import os


def app(environ, start_response):
    body = f"{os.getpid()} {gc.isenabled()}".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""


def test_workers_collect_garbage_also_after_a_reload(tmp_path):
    """Nothing is collected while the server imports; gunicorn reads its settings again at a HUP."""

    def asked(server: Server) -> tuple[str, str]:
        with contextlib.suppress(OSError, ValueError):
            pid, collects = server.exchange(HONEST).rpartition(b"\r\n")[2].decode().split()
            return pid, collects
        return "", ""

    with serving(tmp_path, COLLECTING) as server:
        before = {asked(server) for _ in range(40)}
        server.process.send_signal(signal.SIGHUP)
        after: set[tuple[str, str]] = set()

        def is_reloaded() -> bool:
            after.add(asked(server))
            return bool({pid for pid, _ in after - before} - {""})

        until(is_reloaded)

    assert {collects for pid, collects in before | after if pid} == {"True"}


def test_no_second_server_is_started_beside_the_first_by_a_signal(tmp_path):
    """gunicorn's way to a new version, for which two would have to serve one file."""
    refused = "USR2 is refused"
    with serving(tmp_path) as server:
        log = tmp_path / "log"

        def are_refused(times: int) -> bool:
            server.process.send_signal(signal.SIGUSR2)  # of no effect while the last one is
            time.sleep(0.05)
            return log.read_text().count(refused) >= times

        until(lambda: are_refused(times=1))
        until(lambda: are_refused(times=3))

        assert served(server)
        assert "Traceback" not in log.read_text()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0
        assert not (tmp_path / "walkthrough.db.serving").exists()


def test_what_looked_at_the_file_first_is_counted_nowhere(tmp_path):
    with serving(tmp_path):
        (metrics,) = tmp_path.glob("walkthrough-metrics-*")

        assert list(metrics.glob("*.db")) == []


def look(lock: ServingLock, said: str = "", end: object = 0) -> None:
    """Have a child say something, and end like that."""

    def check() -> None:
        print(said)
        if isinstance(end, BaseException):
            raise end
        sys.exit(end)

    start.require_usable(lock, check)


@pytest.mark.parametrize(
    ("said", "end", "told"),
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
def test_a_check_that_fails_keeps_the_server_from_starting(tmp_path, said, end, told):
    database = tmp_path / "walkthrough.db"
    lock = start.claim(database)

    with pytest.raises(start.StartRefused, match=f"^the check at the start failed: {told}$"):
        look(lock, said, end)
    assert not start.claim(database).found_unclean


def test_after_an_unclean_stop_the_check_decides(tmp_path):
    database = tmp_path / "walkthrough.db"
    ServingLock.take(database).abandon()

    lock = start.claim(database)
    with pytest.raises(start.StartRefused):
        look(lock, "row 5 missing", 1)

    lock = start.claim(database)
    assert lock.found_unclean
    look(lock, "sound")
    lock.release()
    assert not start.claim(database).found_unclean


def test_a_check_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(start, "CHECK_SECONDS_MAX", 0.5)
    database, name = tmp_path / "walkthrough.db", tmp_path / "name"
    lock = start.claim(database)

    def check() -> None:
        name.write_text(str(os.getpid()))
        time.sleep(60)

    with pytest.raises(start.StartRefused, match="the check at the start did not end"):
        start.require_usable(lock, check)
    with pytest.raises(ProcessLookupError):
        os.kill(int(name.read_text()), 0)
    assert start.claim(database).found_unclean


@pytest.mark.parametrize(("seconds", "told"), [(0, 0), (0.6, 1)], ids=["soon", "late"])
def test_a_start_that_waits_says_once_what_for(tmp_path, monkeypatch, capfd, seconds, told):
    """A large file is read after a power cut: somebody who sees nothing may cut it off again."""
    monkeypatch.setattr(start, "SILENT_SECONDS_MAX", 0.2)
    lock = start.claim(tmp_path / "walkthrough.db")

    start.require_usable(lock, lambda: time.sleep(seconds), "the check after an unclean stop")

    line = "walkthrough: the check after an unclean stop is running: it may take 600 seconds\n"
    assert capfd.readouterr().err == line * told


def test_a_check_may_be_asked_beside_many_open_files():
    copies = []
    with contextlib.suppress(OSError):  # as many as may be
        copies.extend(os.dup(0) for _ in range(2_000))
    for descriptor in copies[-20:]:
        os.close(descriptor)
    try:
        assert start.run_in_child(lambda: print("sound"), 10) == (0, "sound\n")
    finally:
        for descriptor in copies[:-20]:
            os.close(descriptor)


def test_a_check_ends_nothing_of_its_parents(tmp_path):
    mark = tmp_path / "ended"  # a file: what the child has in memory is its own
    atexit.register(mark.touch)
    try:
        assert start.run_in_child(lambda: None, 10) == (0, "")
        assert start.run_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 10)[0] == -9
    finally:
        atexit.unregister(mark.touch)
    assert not mark.exists()


def test_a_pipe_in_the_place_of_a_lock_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.db.serving", 0o600)

    assert not is_served(tmp_path / "a.db")


def test_a_lock_on_a_removed_mark_is_no_lock(tmp_path, monkeypatch):
    """The last holder removes the mark between our open and our lock: we begin again."""
    database = tmp_path / "walkthrough.db"
    mark = tmp_path / "walkthrough.db.serving"
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
    assert mark.exists()
    with pytest.raises(AlreadyServed):
        ServingLock.take(database)
    second.release()
