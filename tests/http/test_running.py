"""Attack catalogue, group H: threads, log, refused starts, stops. Marks name the entries."""

import ctypes
import json
import logging
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from gunicorn.config import Config
from gunicorn.sock import TCPSocket
from gunicorn.workers.gthread import PollableMethodQueue

from serving.worker.loop import BufferingWorker
from tests.conftest import CAST
from tests.durability.served import PROJECT, Served, serving
from tests.durability.shim import DATABASE
from tests.http.service import CHEAP_READ, MIB, RUNNING_SERVICE, ask, head_lines, log_lines, served_over
from tests.support import databases, short_deadlines, tokens
from tests.support.ports import free_port
from tests.support.raw import exchange
from tests.support.waiting import until

pytestmark = RUNNING_SERVICE


# H09: failing threads


@pytest.mark.attack(entry="H09")
def test_failed_background_thread_is_logged_and_the_server_continues(short_deadlines_service: Served) -> None:
    assert ask(short_deadlines_service, "ada", "GET", CHEAP_READ).status == 200

    def ended_threads() -> list:
        return [line for line in log_lines(short_deadlines_service) if line.get("event") == "thread_ended"]

    until(lambda: len(ended_threads()) >= 2)  # one in each worker
    assert {line["thread"] for line in ended_threads()} == {short_deadlines.THREAD}
    assert {line["exception"][0]["type"] for line in ended_threads()} == {"RuntimeError"}
    assert "background thread of the tests" not in short_deadlines_service.log.read_text()
    assert len(short_deadlines_service.workers()) == 2


CANARY = "canary-77b1"
LOG_SECONDS = 0.3  # until lines are written


@pytest.mark.attack(entry="H12")
def test_log_has_one_escaped_line_for_each_request_and_no_secret(service: Served) -> None:
    time.sleep(LOG_SECONDS)
    before = len(log_lines(service))
    forged = "%0d%0a%7b%22level%22:%22forged%22%7d%1b[31m%e2%80%ae%c2%85%7f"
    headers = {
        "User_Agent": '\u202e{"level":"forged"}',
        "X_Request_Id": CANARY + forged,
        "Referer": CANARY,
        "Cookie": f"a={CANARY}",
        "Connection": "close",
    }
    for path in (f"/a{forged}", "/buildings"):
        line = f"GET {path}?name=eq.{CANARY} HTTP/1.1\r\n".encode()
        exchange(service.port, line + head_lines("root", **headers) + b"\r\n")
    for email in (f"{CANARY}\r\n{{}}@a.example", f"\x1b[31m\u202e{CANARY}@a.example"):
        body = {"email": email, "password": f"{CANARY}-password"}
        ask(service, "root", "POST", "/auth/v1/token?grant_type=password", body)
        ask(service, "root", "POST", "/auth/v1/admin/users", body)
    ask(service, "root", "POST", "/inspectors", {"name": f"{CANARY}\r\n\x1b[31m"})
    for broken in (f"GET /{CANARY} HTTP/1.1\r\nX: \0{CANARY}", f"{CANARY}\x1b[31m",
                   f"GET / HTTP/1.1\r\nUser-Agent: \x1b[31m{CANARY}"):  # fmt: skip
        exchange(service.port, f"{broken}\r\n\r\n".encode(), then_close=True)

    time.sleep(LOG_SECONDS)
    text, lines = service.log.read_text(), log_lines(service)  # parses each line
    assert len([line for line in lines[before:] if line.get("event") == "request"]) == 7
    assert all(character == "\n" or " " <= character <= "~" for character in text)
    assert {line["level"] for line in lines} <= {"info", "warning", "error"}
    header = tokens.token_for(CAST["root"].id, "super_admin", None).split(".")[0]
    secrets = (tokens.SECRET_KEY, tokens.ANON_KEY, tokens.SERVICE_KEY, CANARY, header)
    assert [secret for secret in secrets if secret in text] == []


# Memory: one arena for all threads

ARENA_BYTES = 64 * MIB  # glibc reserves this size, and aligns to it, for each arena except the first


def thread_arenas(pid: int) -> list[str]:
    """Return the arenas of a process except the main one, by its memory mappings."""
    mapped = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    found = []
    for (used, used_may, *_), (kept, kept_may, *_) in pairwise(mapped):
        begin, end = (int(each, 16) for each in used.split("-"))
        kept_begin, kept_end = (int(each, 16) for each in kept.split("-"))
        whole = end == kept_begin and kept_end - begin == ARENA_BYTES
        if whole and not begin % ARENA_BYTES and (used_may, kept_may) == ("rw-p", "---p"):
            found.append(used)
    return found


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="no glibc")
def test_workers_threads_allocate_from_one_arena(service: Served) -> None:
    with ThreadPoolExecutor(8) as askers:
        pages = askers.map(lambda _: ask(service, "root", "GET", CHEAP_READ), range(16))
    assert {page.status for page in pages} == {200}

    assert [thread_arenas(pid) for pid in service.workers()] == [[], []]


# H13: refused starts


def run_refused_start(*arguments: str, **environ: str) -> tuple[int, list[str]]:
    """Run a start like `bin/serve`; return its exit status and output lines."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "serving", *arguments],
        cwd=PROJECT, env={**kept, **environ}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, [line for line in done.stderr.splitlines() if not line.startswith("{")]


KEYS = {"SECRET_KEY": tokens.SECRET_KEY, "ANON_KEY": tokens.ANON_KEY, "SERVICE_KEY": tokens.SERVICE_KEY}


def environ_over(url: str, **more: str) -> dict[str, str]:
    """Return the environment of a service over a database, with a free port."""
    return {"DATABASE_URL": url, "PORT": str(free_port()), **more}


def require_refused(cases: dict[str, dict[str, str]]) -> None:
    """Assert that each start is refused with one line that contains the message."""
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(cases, pool.map(lambda environ: run_refused_start(**environ), cases.values()), strict=True))
    for message, (status, output_lines) in found.items():
        assert status != 0, message
        assert len(output_lines) == 1, (message, output_lines)
        assert message in output_lines[0]


@pytest.mark.attack(entry="H13")
def test_unsafe_start_is_refused_in_one_line(service: Served, base_file: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    databases.copy(base_file, own)
    url = databases.url(own)

    require_refused(
        {
            "something already answers at": environ_over(url, **KEYS) | {"PORT": str(service.port)},
            "FLASK_DEBUG is set": environ_over(url, FLASK_DEBUG="1", **KEYS),
        }
    )

    assert ask(service, "ada", "GET", CHEAP_READ).status == 200


@pytest.mark.sqlite("checks of a file: one server, regular file, private keys")
@pytest.mark.attack(entry="H13")
def test_start_over_an_unsafe_file_is_refused_in_one_line(service: Served, base_file: Path, tmp_path: Path) -> None:
    own, linked = tmp_path / "own.db", tmp_path / "linked.db"
    shutil.copy(base_file, own)
    linked.symlink_to(own)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "keys.json").write_text(json.dumps(KEYS))
    (shared / "keys.json").chmod(0o644)

    require_refused(
        {
            "is being served by another process": environ_over(databases.url(service.database), **KEYS),
            "is not a regular file": environ_over(databases.url(linked), **KEYS),
            "can be read by others": environ_over(databases.url(shared / DATABASE)),
        }
    )

    assert ask(service, "ada", "GET", CHEAP_READ).status == 200


# Clients and descriptors


@pytest.mark.parametrize(
    ("limit", "clients"), [("-n 64", 16), ("-n 300", 100), ("-n 1024", 824), ("-Sn 256", 4_000), ("-n 4096", 3_896)]
)
def test_number_of_clients_depends_on_the_descriptor_limit(limit: str, clients: int) -> None:
    """The hard limit counts. The usual soft limit of a shell or a systemd unit is 1,024."""
    script = "from serving.start.checks import clients_max; print(clients_max())"
    result = subprocess.run(
        ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", sys.executable, "-c", script],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert int(result.stdout) == clients


@pytest.mark.parametrize(("limit", "is_refused"), [("-n 63", True), ("-n 64", False), ("-Sn 16", False)])
def test_start_with_too_few_descriptors_is_refused(limit: str, is_refused: bool) -> None:
    """With fewer descriptors, each worker would fail at its first request and be restarted forever."""
    script = "from serving.start.checks import descriptor_shortage; print(descriptor_shortage())"
    result = subprocess.run(
        ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", sys.executable, "-c", script],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip

    message = "63 open files are too few: at least 64 (ulimit -n)"
    assert result.stdout.strip() == (message if is_refused else "None")


def test_more_connections_than_descriptors_end_no_worker(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.settings = "tests/http/low_descriptor_limit.py"
    with serving(own):
        until(lambda: len(own.workers()) == 2)
        before = own.workers()
        with ExitStack() as crowd:
            for _ in range(400):
                crowd.enter_context(socket.create_connection(("127.0.0.1", own.port), 60))

        answers = [ask(own, "ada", "GET", CHEAP_READ).status for _ in range(20)]

        assert answers == [200] * 20
        assert own.workers() == before


# H14: stops


def count_worker_exits(service: Served) -> int:
    """Return how many workers exited by themselves. A killed worker logs no exit."""
    return sum(str(line.get("message")).startswith("Worker exiting") for line in log_lines(service))


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
@pytest.mark.attack(entry="H14")
def test_accepted_write_is_answered_after_the_signal(base_file: Path, tmp_path: Path, number: int) -> None:
    row = {"building_id": 1, "inspection_type": "last"}
    with serving(served_over(base_file, tmp_path / "served")) as own, ThreadPoolExecutor(1) as pool:
        with databases.hold_writer_lock(own.database):
            waiting = pool.submit(ask, own, "ada", "POST", "/inspections", row)
            until(lambda: databases.waiting_writers(own.database) == 1)  # the request is accepted
            own.signal(number)
            time.sleep(0.4)
        answer = waiting.result(20)
        if number == signal.SIGTERM:
            assert own.process.wait(20) == 0
            assert count_worker_exits(own) == 2

    assert answer.status == 201
    script = "SELECT count(*) FROM inspections WHERE inspection_type = 'last'"
    assert databases.sql(own.database, script) == [(1,)]


@pytest.mark.attack(entry="H14")
def test_worker_without_signal_handlers_stops(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.settings = "tests/http/late_signal_handlers.py"
    with serving(own):
        until(lambda: len(own.workers()) == 2)
        own.signal(signal.SIGTERM)
        assert own.process.wait(20) == 0
    assert count_worker_exits(own) == 2


@pytest.mark.attack(entry="H14")
def test_thread_that_outlives_its_worker_writes_to_no_other_file(tmp_path: Path) -> None:
    worker = BufferingWorker(1, os.getpid(), [], None, 30, Config(), None)
    worker.tmp.close()
    queue = worker.method_queue
    queue.init()
    try:
        queue.close()
        opened_next = [(tmp_path / str(number)).open("wb") for number in range(4)]
        queue.defer(print)
        for file in opened_next:
            file.close()
    finally:
        PollableMethodQueue.close(queue)
    assert [Path(file.name).read_bytes() for file in opened_next] == [b""] * 4


@pytest.mark.attack(entry="H14")
def test_immediate_stop_does_not_wait_for_interrupted_code() -> None:
    """A worker gets Ctrl-C twice, from the terminal and from the arbiter. The second interrupts the first handler."""
    worker = BufferingWorker(1, os.getppid(), [], None, 30, Config(), None)
    worker.tmp.close()

    class Pool:
        """A thread pool whose lock the interrupted code holds."""

        def shutdown(self, *, wait: bool) -> None:
            raise AssertionError("a deadlock with the interrupted code")

    worker.tpool = Pool()

    with pytest.raises(SystemExit) as end:
        worker.handle_quit(signal.SIGINT, None)
    worker.handle_quit(signal.SIGQUIT, None)  # while the first handler closes the database

    assert end.value.code == 0
    assert not worker.alive


def test_stopping_worker_accepts_pending_connections_and_closes_its_port() -> None:
    """Otherwise accepted connections would wait for all other responses, and then be closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        log = logging.getLogger("walkthrough.tests")
        worker = BufferingWorker(1, os.getppid(), [listener], None, 30, Config(), log)
        worker.tmp.close()
        with selectors.DefaultSelector() as worker.poller:
            worker.set_accept_enabled(True)
            with socket.create_connection(listener.getsockname()):
                worker.alive = False

                worker.set_accept_enabled(False)

                assert listener.fileno() == -1
                assert worker.nr_conns == 1
                [conn] = worker.receiving
                conn.sock.close()


def test_worker_of_a_killed_arbiter_closes_its_port() -> None:
    """The worker closes the port as soon as it notices, before its requests end."""
    ended_pid = os.getppid() + 1
    log = logging.getLogger("walkthrough.tests")
    settings = Config()
    listener = TCPSocket(("127.0.0.1", 0), settings, log)  # as gunicorn creates it
    sock = listener.sock
    worker = BufferingWorker(1, ended_pid, [listener], None, 30, settings, log)
    worker.tmp.close()
    with selectors.DefaultSelector() as worker.poller:
        worker.set_accept_enabled(True)

        assert not worker.is_parent_alive()

        assert not worker.alive
        assert sock.fileno() == -1
        assert not worker.poller.get_map()
        worker.set_accept_enabled(False)  # as the main loop continues
