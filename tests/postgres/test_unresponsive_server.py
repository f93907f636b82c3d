"""Sessions to an unresponsive server are closed: a stopped process, a broken connection. Late responses are ignored."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial

import pytest
import sqlalchemy as sa

from engine.interface.database import TimedOut, Unreachable, Unresolved
from engine.open import database
from postgres import database as server
from postgres import session as sessions
from postgres import transaction as transactions
from postgres.transaction import ServerTransaction
from routes.gotrue import errors as gotrue_errors
from routes.postgrest import errors
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import Service, open_service
from tests.support.waiting import SECONDS_MAX, until

pytestmark = pytest.mark.server("a file is never silent")

WRITE = "INSERT INTO facts (name, value) VALUES ('silent', 'there')"
WRITTEN = "SELECT value FROM facts WHERE name = 'silent'"

Stop = Callable[[ServerTransaction], int]


@pytest.fixture(autouse=True)
def shipped_time_limits() -> Iterator[None]:
    databases.restore_time_limits()
    yield
    databases.extend_time_limits()


@pytest.fixture(autouse=True)
def _short_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (server, transactions):
        monkeypatch.setattr(module, "GRACE_SECONDS", 0.5)


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    opened = open_service(tmp_path)
    with opened.app.app_context():
        yield opened


@pytest.fixture
def stop() -> Iterator[Stop]:
    """`stop(transaction)` stops the transaction's server process until the end of the test, and returns its pid."""
    with ExitStack() as ends:

        def stop_process(transaction: ServerTransaction) -> int:
            pid = transaction.session.info.backend_pid
            os.kill(pid, signal.SIGSTOP)
            ends.callback(resume, pid)
            ends.enter_context(time_limit(partial(resume, pid)))
            return pid

        yield stop_process


def resume(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


@contextmanager
def time_limit(end: Callable[[], object]) -> Iterator[None]:
    """Call `end` after a timeout, so that a test that waits too long fails instead of hanging."""
    timer = threading.Timer(SECONDS_MAX, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def run(transaction: ServerTransaction) -> None:
    transaction.run("SELECT 1")


def run_with_queue(transaction: ServerTransaction) -> None:
    transaction.session.send("SELECT 1")
    transaction.run("SELECT 2")


def run_script(transaction: ServerTransaction) -> None:
    transaction.run_script("SELECT 1; SELECT 2")


@pytest.mark.parametrize("run_statement", [run, run_with_queue, run_script])
@pytest.mark.usefixtures("service")
def test_unresponsive_session_is_closed(stop: Stop, run_statement: Callable) -> None:
    for each in begin_sessions(2):
        database().give_back(each)
    with database().reading() as transaction:
        run_statement(transaction)  # so that the statement is prepared
        session = transaction.session

    with pytest.raises(Unreachable), database().reading(seconds_max=0.2) as transaction:
        stop_and_run(run_statement, stop, transaction)

    assert transaction.session is session
    assert session.closed
    assert not database().pool.idle, "idle sessions to the same server are closed too"
    with database().reading() as transaction:
        assert transaction.session is not session
        assert transaction.value("SELECT 1") == 1


def begin_sessions(count: int) -> list[sessions.ServerSession]:
    return [database().begin_session([("BEGIN", ())], 1.0) for _ in range(count)]


def stop_and_run(run_statement: Callable, stop: Stop, transaction: ServerTransaction) -> None:
    stop(transaction)
    run_statement(transaction)


@pytest.mark.usefixtures("service")
def test_unresponsive_idle_sessions_fail_one_request(stop: Stop) -> None:
    idle = begin_sessions(3)
    for each in idle:
        database().give_back(each)
    for each in idle:
        stop(ServerTransaction(each, database().cache))

    with pytest.raises(Unreachable), database().reading(seconds_max=0.2) as transaction:
        transaction.value("SELECT 1")
    with database().reading(seconds_max=0.2) as transaction:
        assert transaction.value("SELECT 1") == 1

    assert all(each.closed for each in idle)


def test_commit_without_response_is_unresolved(service: Service, stop: Stop) -> None:
    """In this test the server commits later."""
    with database().writing() as transaction:
        transaction.run("SELECT 1")

    with pytest.raises(Unresolved, match="whether it kept"):  # noqa: SIM117
        with database().writing(seconds_max=0.2) as transaction:
            stopped_pid = write_and_stop(stop, transaction)
    assert service.sql(WRITTEN) == []

    os.kill(stopped_pid, signal.SIGCONT)
    until(lambda: service.sql(WRITTEN) == [("there",)])


def test_unresolved_commit_has_no_retry_after() -> None:
    """This holds for /auth/v1 and all other paths. A write that was certainly lost may be sent again."""
    for answer in (errors.render_fault, gotrue_errors.render_fault):
        unresolved, gone = answer(Unresolved("who knows")), answer(Unreachable("gone"))

        assert (unresolved.status, "Retry-After" in unresolved.headers) == (503, False)
        assert (gone.status, gone.headers["Retry-After"]) == (503, "1")


def write_and_stop(stop: Stop, transaction: ServerTransaction) -> int:
    transaction.run(WRITE)
    return stop(transaction)


@pytest.mark.usefixtures("service")
def test_session_that_responds_after_its_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 30.0)  # also on a slow machine
    with database().reading() as transaction:
        session = transaction.session

    with pytest.raises(TimedOut), database().reading(seconds_max=0.1) as transaction:
        transaction.run("SELECT pg_sleep(30)")

    assert not session.is_lost
    with database().reading() as transaction:
        assert transaction.session is session


class StallingProxy:
    """A proxy between a service and its server that can stop forwarding without closing connections."""

    def __init__(self, server: str) -> None:
        self.server = f"{server}/.s.PGSQL.5432"
        self.directory = tempfile.mkdtemp(prefix="walkthrough-wire-")
        self.is_forwarding = threading.Event()
        self.is_forwarding.set()
        self.ends: list[socket.socket] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.directory}/.s.PGSQL.5432")
        self.listener.listen()
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX)
                self.ends += near, far
                far.connect(self.server)
                for source, target in ((near, far), (far, near)):
                    self.threads.append(threading.Thread(target=self.forward, args=(source, target)))
                    self.threads[-1].start()

    def forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                self.is_forwarding.wait()
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.is_forwarding.set()
        for each in (self.listener, *self.ends):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for each in self.threads:
            each.join()
        for each in (self.listener, *self.ends):
            each.close()
        shutil.rmtree(self.directory)


def test_broken_connection_is_reported_and_replaced(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "CONNECT_SECONDS_MAX", 2)
    at = sa.make_url(databases.url(service.file))
    with closing(StallingProxy(at.query["host"])) as proxy:
        app = open_app(service.file, DATABASE_URL=with_host(at, proxy.directory))
        root = Service(app, service.file).api("root")
        assert root.get("/buildings?id=eq.1").status == 200

        proxy.is_forwarding.clear()
        with time_limit(proxy.is_forwarding.set):
            answer = root.get("/buildings?id=eq.1")
        assert (answer.status, answer.code) == (503, "08006")
        assert answer.headers["Retry-After"] == "1"

        proxy.is_forwarding.set()
        assert root.get("/buildings?id=eq.1").status == 200
        app.extensions["walkthrough"].close()


def with_host(url: sa.URL, host: str) -> str:
    return url.update_query_dict({"host": host}).render_as_string(hide_password=False)


@pytest.mark.parametrize(
    ("query", "idle", "unanswered"),
    [("", "10", "30000"), ("&keepalives_idle=60&tcp_user_timeout=0", "60", "0")],
    ids=["ours", "the URL's"],
)
def test_keepalive_is_configured(service: Service, query: str, idle: str, unanswered: str) -> None:
    url = sa.make_url(databases.url(service.file) + query)

    with closing(sessions.connect(url, 2.0)) as session:
        words = {"keepalives_idle": "10", **session.info.get_parameters()}

    assert words["keepalives_idle"] == idle
    assert words["tcp_user_timeout"] == unanswered
