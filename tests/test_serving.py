"""The server as it is run: gunicorn with the shipped settings over an application of a few lines.

Slow clients would take a minute to show with the shipped deadlines, so the application shortens them
in its worker; that the shipped ones are the contract's is a test of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import click
import pytest

from serving import refusal
from serving import start
from serving import worker
from serving.lock import AlreadyServed
from serving.lock import ServingLock
from tests.ports import free_port
from tests.raw import still_waiting
from tests.waiting import until

PROJECT = Path(__file__).resolve().parent.parent
HONEST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
APPLICATION = """
import time

import serving.worker

serving.worker.HEAD_SECONDS_MAX = 1.0
serving.worker.REQUEST_SECONDS_MAX = 3.0


def app(environ, start_response):
    path = environ["PATH_INFO"]
    environ["wsgi.input"].read()
    if path == "/slow":
        open(__file__ + ".slow", "w").close()
        time.sleep(1)
    if path == "/headers":
        body = repr(sorted(environ.items())).encode()
    else:
        body = b"x" * (32 * 1024 * 1024) if path == "/large" else b"served"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""

PATIENT = "\n".join(line for line in APPLICATION.splitlines() if "_SECONDS_MAX" not in line)


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[str]
    port: int
    database: Path
    environ: dict[str, str]

    def connect(self, timeout: float = 20) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def exchange(self, request: bytes) -> bytes:
        """Send bytes as they are and read until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_to_end(connection)


def read_to_end(connection: socket.socket) -> bytes:
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


def command() -> list[str]:
    words = ["--config", str(PROJECT / "gunicorn.conf.py"), "few_lines:app"]
    return [sys.executable, "-m", "gunicorn", *words]


def environ_for(directory: Path, database: Path, port: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return kept | {
        "PYTHONPATH": str(directory),
        "PORT": str(port),
        "DATABASE_URL": f"sqlite:///{database}",
        "SECRET_KEY": "s" * 32,
        "ANON_KEY": "anon",
        "TMPDIR": str(directory),
    }


@contextlib.contextmanager
def serving(directory: Path, application: str = APPLICATION) -> Iterator[Server]:
    (directory / "few_lines.py").write_text(application)
    database, port = directory / "walkthrough.db", free_port()
    environ = environ_for(directory, database, port)
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(
            command(), env=environ, cwd=PROJECT, stdout=log, stderr=log, text=True
        )
    server = Server(process, port, database, environ)
    try:
        await_answer(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def await_answer(server: Server) -> None:
    give_up = time.monotonic() + 15
    while time.monotonic() < give_up:
        assert server.process.poll() is None, (server.database.parent / "log").read_text()
        with contextlib.suppress(OSError):
            if server.exchange(HONEST):
                return
        time.sleep(0.05)
    raise AssertionError("the server did not come up")


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


def refused_start(server: Server, **changes: str) -> str:
    """Start another server beside the running one, and return what it says."""
    environ = server.environ | changes
    done = subprocess.run(
        command(), env=environ, cwd=PROJECT, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(said) == 1
    return said[0]


def served(server: Server) -> bool:
    return server.exchange(HONEST).endswith(b"served")


def test_the_shipped_deadlines_are_the_promised_ones():
    assert (worker.HEAD_SECONDS_MAX, worker.REQUEST_SECONDS_MAX) == (10.0, 60.0)


HOSTILE = [
    pytest.param(b"no HTTP at all\r\n\r\n", 400, id="no-http"),
    pytest.param(b"get / HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="method-in-lower-case"),
    pytest.param(b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400, id="unknown-version"),
    pytest.param(b"GET / HTTP/1.1\nHost: a\n\n", 400, id="bare-LF"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, id="two-hosts"),
    pytest.param(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, id="space-before-colon"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400, id="folded-header"),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        id="length-with-chunks",
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
        400,
        id="two-lengths",
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\nabcd", 400, id="signed-length"
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501, id="odd-coding"
    ),
    pytest.param(
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        id="chunks-in-1.0",
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\rb\r\nx\r\n0\r\n\r\n",
        400,
        id="CR-in-chunk-extension",
    ),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400, id="NUL-in-header"),
    pytest.param(
        b"GET /?" + b"x" * 66_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, id="line-of-66-KB"
    ),
    pytest.param(
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(101)) + b"\r\n",
        431,
        id="101-headers",
    ),
    pytest.param(
        b"GET / HTTP/1.1\r\nX: " + b"x" * 8_200 + b"\r\n\r\n", 431, id="header-of-8200-bytes"
    ),
]


@pytest.mark.parametrize(("request_bytes", "status"), HOSTILE)
def test_a_request_that_is_no_http_is_answered_in_json_and_closed(server, request_bytes, status):
    answer = server.exchange(request_bytes)

    head, body = answer.split(b"\r\n\r\n", 1)
    lines = head.split(b"\r\n")
    headers = dict(line.decode().lower().split(": ", 1) for line in lines[1:])
    assert lines[0].startswith(b"HTTP/1.1 %d " % status)
    assert headers["connection"] == "close"
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["content-length"] == str(len(body))
    assert headers["x-content-type-options"] == "nosniff"
    code, message = refusal.REFUSALS[status]
    assert json.loads(body) == {"code": code, "message": message, "details": None, "hint": None}


def test_a_request_line_of_41_kilobytes_is_taken(server):
    line = b"GET /?id=in.(" + b"x" * 41_000 + b") HTTP/1.1\r\n"

    answer = server.exchange(line + b"Host: a\r\nConnection: close\r\n\r\n")

    assert answer.endswith(b"served")


def test_no_header_passes_for_another_or_moves_the_application(server):
    headers = {"X_Forwarded_For": "6.6.6.6", "SCRIPT_NAME": "/moved", "X-Forwarded-Proto": "https"}
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/headers", headers=headers)
        environ = connection.getresponse().read()

    assert b"6.6.6.6" not in environ
    assert b"('SCRIPT_NAME', '')" in environ
    assert b"('wsgi.url_scheme', 'http')" in environ


def test_clients_that_say_half_of_it_delay_nobody_and_are_sent_away(server):
    with contextlib.ExitStack() as crowd:
        half_sent = [crowd.enter_context(server.connect()) for _ in range(24)]
        for connection in half_sent:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Half: ")

        assert all(served(server) for _ in range(10))

        assert [read_to_end(connection) for connection in half_sent] == [b""] * 24


def test_a_crowd_that_drips_is_sent_away(server):
    """A hundred, more than there are threads; the deadline, here of a second, ends each of them while it drips on."""
    with contextlib.ExitStack() as crowd:
        dripping = [crowd.enter_context(server.connect()) for _ in range(100)]
        stop = threading.Event()
        dripper = threading.Thread(target=drip, args=(dripping, stop))
        dripper.start()
        try:
            assert served(server)
            until(lambda: still_waiting(dripping) == 0)
        finally:
            stop.set()
            dripper.join()


def drip(connections: list[socket.socket], stop: threading.Event) -> None:
    for connection in connections:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
    while not stop.wait(0.2):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(b"X")


def test_clients_that_say_nothing_take_no_thread(tmp_path):
    """The deadline is the shipped one: others are served while all of them are still there."""
    with serving(tmp_path, PATIENT) as server, contextlib.ExitStack() as crowd:
        silent = [crowd.enter_context(server.connect()) for _ in range(200)]

        assert all(served(server) for _ in range(5))

        assert still_waiting(silent) == 200


def test_half_a_head_behind_a_whole_request_takes_no_thread(tmp_path):
    """In one packet: the half is read along with the whole. The deadline is the shipped one; were there a thread for
    each of them, the last ones would be answered once the first ones are sent away."""
    whole, half, rest = HONEST.replace(b"close", b"keep-alive"), b"GET /headers HTT", b"P/1.1\r\n"
    with serving(tmp_path, PATIENT) as server, contextlib.ExitStack() as crowd:
        clients = [crowd.enter_context(server.connect()) for _ in range(100)]
        for client in clients:
            client.sendall(whole + half)
        answers = [client.recv(65_536) for client in clients]
        assert served(server)
        clients[0].sendall(rest)
        clients[0].sendall(b"Host: a\r\n\r\n")

        assert all(answer.endswith(b"served") for answer in answers)
        assert b"SCRIPT_NAME" in clients[0].recv(65_536)


def test_half_a_head_behind_a_whole_request_is_sent_away(server):
    answer = server.exchange(HONEST.replace(b"close", b"keep-alive") + b"GET /headers HTT")

    assert answer.endswith(b"served")


def test_clients_that_do_not_hang_up_after_a_refusal_delay_nobody_for_long(server):
    """gunicorn waits for each of them in its main loop, two seconds at a time: longer than anybody here waits."""
    with contextlib.ExitStack() as crowd:
        for _ in range(60):
            crowd.enter_context(server.connect()).sendall(b"no HTTP at all\r\n\r\n")

        assert all(served(server) for _ in range(5))


def test_a_slow_reader_is_cut_off(server):
    with server.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(4.5)  # longer than the shortened deadline and the sweep that enforces it
        received = len(read_to_end(connection))

    assert 0 < received < 32 * 1024 * 1024
    assert served(server)


def test_a_slow_body_is_cut_off(server):
    with server.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")

        assert b"served" not in read_to_end(connection)


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
    ],
)
def test_a_start_that_would_be_unsafe_is_refused_in_one_line(server, changes, message):
    assert message in refused_start(server, PORT=str(free_port()), **changes)


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
        pid = server.process.pid
        workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(workers[0]), signal.SIGKILL)
        await_answer(server)

        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0

        assert (tmp_path / "walkthrough.db.serving").exists()


def test_what_looked_at_the_file_first_is_counted_nowhere(tmp_path):
    with serving(tmp_path):
        (metrics,) = tmp_path.glob("walkthrough-metrics-*")

        assert list(metrics.glob("*.db")) == []


def take_when_free(database: Path) -> ServingLock:
    """The workers of a killed arbiter notice within a second or two, and finish what they have."""
    give_up = time.monotonic() + 15
    while time.monotonic() < give_up:
        with contextlib.suppress(AlreadyServed):
            return ServingLock.take(database)
        time.sleep(0.1)
    raise AssertionError("the workers outlived their arbiter")


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
        ("", 3, "nothing said"),
        ("", ValueError("it broke"), "ValueError: it broke"),
        ("", click.ClickException("it is not ours"), "it is not ours"),
        ("", "left with words", "left with words"),
        ("lots\n" * 50_000 + "the end", 1, "the end"),
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


def test_a_check_may_be_asked_beside_many_open_files():
    copies = []
    with contextlib.suppress(OSError):  # as many as may be
        copies.extend(os.dup(0) for _ in range(2_000))
    for descriptor in copies[-20:]:
        os.close(descriptor)
    try:
        assert start.ask_child(lambda: print("sound"), 10) == (0, "sound\n")
    finally:
        for descriptor in copies[:-20]:
            os.close(descriptor)


def test_a_check_ends_nothing_of_its_parents(tmp_path):
    mark = tmp_path / "ended"  # a file: what the child has in memory is its own
    atexit.register(mark.touch)
    try:
        assert start.ask_child(lambda: None, 10) == (0, "")
        assert start.ask_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 10)[0] == -9
    finally:
        atexit.unregister(mark.touch)
    assert not mark.exists()


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
