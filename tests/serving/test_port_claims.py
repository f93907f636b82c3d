"""Of servers that start together at one port one serves; which one that is, is settled before a file is looked at."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from serving.start import ports
from tests.support.few_lines import (
    APPLICATION,
    PROJECT,
    Server,
    await_answer,
    command,
    environ_for,
    serving,
    take_when_free,
)
from tests.support.ports import free_port
from tests.support.waiting import until

EVERY = "0.0.0.0"  # noqa: S104 - an address of the one below, too

pytestmark = pytest.mark.sqlite("the server over a view of a few lines")


def test_of_servers_that_start_together_at_one_port_one_serves(tmp_path):
    """Each finds that nobody answers yet, and could bind: their databases would answer in turns."""
    port = free_port()
    (tmp_path / "few_lines.py").write_text(APPLICATION)
    environs = [environ_for(tmp_path, tmp_path / f"{number}.db", port) for number in range(3)]
    servers = [
        subprocess.Popen(command(), env=environ | {"HOST": host}, cwd=PROJECT, stderr=subprocess.PIPE, text=True)
        for environ, host in zip(environs, ("127.0.0.1", EVERY, "127.0.0.1"), strict=True)
    ]
    try:
        until(lambda: sum(server.poll() is None for server in servers) == 1)
        [serves] = [server for server in servers if server.poll() is None]
        await_answer(Server(serves, port, tmp_path / "walkthrough.db", {}))
        assert serves.poll() is None
    finally:
        for server in servers:
            server.terminate()
        said = [server.communicate(timeout=20)[1] for server in servers]
    refused = [server.returncode for server in servers if server is not serves]
    assert refused == [1, 1]
    assert all(
        words.startswith("walkthrough: ") and words.count("\n") == 1
        for words, server in zip(said, servers, strict=True)
        if server is not serves
    )


@pytest.mark.parametrize("is_named", [True, False])
def test_a_port_is_claimed_once_and_free_again_with_its_holder(tmp_path, monkeypatch, is_named):
    monkeypatch.setattr(ports, "HAS_ABSTRACT_SOCKETS", is_named and sys.platform == "linux")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    port, other = free_port(), free_port()
    read, write = os.pipe()
    if not (holder := os.fork()):
        ports.PortClaims().claim([("127.0.0.1", port), "/a/path"])
        os.write(write, b"1")
        time.sleep(60)
        os._exit(0)
    assert os.read(read, 1) == b"1"
    mine = ports.PortClaims()

    with pytest.raises(ports.PortTaken, match=f"has port {port}, or is just starting there"):
        mine.claim([(EVERY, other), (EVERY, port)])
    ports.PortClaims().claim([("127.0.0.1", other)])  # nothing of it was kept
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)

    mine.claim([(EVERY, port)])
    mine.release()
    for descriptor in (read, write):
        os.close(descriptor)


def test_a_port_is_its_servers_until_the_end(tmp_path):
    """Also after a reload; not after the arbiter was killed, when its workers close their door."""
    with serving(tmp_path) as server:
        for number in (signal.SIGHUP, signal.SIGUSR2):
            server.process.send_signal(number)
            time.sleep(0.3)
            with pytest.raises(ports.PortTaken):
                ports.PortClaims().claim([("127.0.0.1", server.port)])
        await_answer(server)

        server.process.kill()
        server.process.wait(5)

        claimed = ports.PortClaims()
        claimed.claim([("127.0.0.1", server.port)])
        claimed.release()
        take_when_free(server.database).release()


def test_a_service_that_may_have_no_unix_sockets_claims_its_port_by_a_file(tmp_path, monkeypatch):
    """As where its unit says RestrictAddressFamilies=AF_INET AF_INET6."""

    def fail(*_: object) -> None:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(ports.socket, "socket", fail)
    first, second = ports.PortClaims(), ports.PortClaims()
    first.claim([(EVERY, 8_000)])

    with pytest.raises(ports.PortTaken, match="has port 8000, or is just starting there"):
        second.claim([("127.0.0.1", 8_000)])

    first.release()
    second.claim([("127.0.0.1", 8_000)])
    second.release()


def test_a_port_that_cannot_be_claimed_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(ports, "HAS_ABSTRACT_SOCKETS", False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))

    with pytest.raises(ports.PortTaken, match=r"^port 8000 cannot be claimed: No such file"):
        ports.PortClaims().claim([("127.0.0.1", 8_000)])
