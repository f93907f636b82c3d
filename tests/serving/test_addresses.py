"""The addresses of a server: of the settings, of an option, and a Unix socket."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.minimal_server import APPLICATION, PROJECT, SIMPLE_REQUEST, command, environ_for, serving
from tests.support.ports import free_port
from tests.support.raw import read_to_end
from tests.support.waiting import SECONDS_MAX, until


def logged_addresses(directory: Path) -> object:
    """Return the addresses in the log, once a line names them."""
    log = directory / "log"
    until(lambda: '"listening"' in log.read_text())
    [line] = [line for line in log.read_text().splitlines() if '"event": "listening"' in line]
    return json.loads(line)["addresses"]


def test_listening_addresses_are_logged(tmp_path):
    with serving(tmp_path) as server:
        assert logged_addresses(tmp_path) == [f"127.0.0.1:{server.port}"]
        assert not [line for line in server.lines() if "Listening" in line.get("message", "")]


def exchange_over(path: Path, request: bytes) -> bytes:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.sendall(request)
        return read_to_end(client)


@contextlib.contextmanager
def serving_at_socket(directory: Path, *words: str, **changes: str) -> Iterator[subprocess.Popen[str]]:
    """Serve the minimal application until the socket `directory`/s answers."""
    (directory / "minimal_app.py").write_text(APPLICATION)
    environ = environ_for(directory, directory / "walkthrough.db", free_port()) | changes
    with (directory / "log").open("w") as log:
        words_ = [*command(), *words]
        process = subprocess.Popen(words_, env=environ, cwd=PROJECT, stdout=log, stderr=log, text=True)

    def is_served() -> bool:
        assert process.poll() is None, (directory / "log").read_text()
        with contextlib.suppress(OSError):
            return exchange_over(directory / "s", SIMPLE_REQUEST).endswith(b"served")
        return False

    try:
        until(is_served)
        yield process
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("is_option", [False, True], ids=["HOST", "--bind"])
def test_unix_socket_answers_is_logged_and_removed(tmp_path, is_option):
    address = f"unix:{tmp_path}/s"
    words = ["--bind", address] if is_option else []
    with serving_at_socket(tmp_path, *words, **({} if is_option else {"HOST": address})) as process:
        for _ in range(10):
            assert exchange_over(tmp_path / "s", SIMPLE_REQUEST).endswith(b"served")
        environ = exchange_over(tmp_path / "s", SIMPLE_REQUEST.replace(b"GET /", b"GET /headers"))
        assert b"('REMOTE_ADDR', 'unix:')" in environ
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o660
        assert logged_addresses(tmp_path) == [address]

        second = refused_start_at(tmp_path, HOST=address)

        assert second == f"walkthrough: something already answers at {address}\n"
        assert exchange_over(tmp_path / "s", SIMPLE_REQUEST).endswith(b"served")
        process.terminate()
        assert process.wait(20) == 0
    assert not (tmp_path / "s").exists()


def refused_start_at(directory: Path, **changes: str) -> str:
    environ = environ_for(directory, directory / "other.db", free_port()) | changes
    done = subprocess.run(
        command(), env=environ, cwd=PROJECT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode != 0
    return done.stderr


def test_unix_socket_of_a_killed_server_is_replaced(tmp_path):
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "s"))
    dead.close()

    with serving_at_socket(tmp_path, HOST=f"unix:{tmp_path}/s"):
        pass


def test_unix_socket_that_cannot_be_made_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("kept")

    for host, message in (
        (f"unix:{tmp_path}/file", "the file is no socket"),
        (f"unix:{tmp_path}/nowhere/s", f"there is no directory {tmp_path}/nowhere"),
        ("unix:s", "HOST is unix: and an absolute path of at most 107 bytes"),
        (f"unix:/{'x' * 120}", "HOST is unix: and an absolute path"),
    ):
        output = refused_start_at(tmp_path, HOST=host)
        assert message in output
        assert output.count("\n") == 1
    assert (tmp_path / "file").read_text() == "kept"


def test_log_names_the_address_of_an_option(tmp_path):
    port = free_port()
    with serving(tmp_path) as running:
        pass
    words = [*command(), "--bind", f"[::1]:{port}"]
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(words, env=running.environ, cwd=PROJECT, stdout=output, stderr=output)
    addresses = logged_addresses(tmp_path)
    process.terminate()
    process.wait(20)

    assert addresses == [f"[::1]:{port}"]
