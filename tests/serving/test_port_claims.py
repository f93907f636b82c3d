"""Port claims: of servers that start together at one port, one serves. The others open no database."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serving.start import checks
from tests.support.minimal_server import (
    APPLICATION,
    PROJECT,
    Server,
    await_answer,
    command,
    environ_for,
    serving,
    take_lock_when_free,
)
from tests.support.ports import free_port
from tests.support.waiting import SECONDS_MAX, until

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - includes 127.0.0.1

pytestmark = [pytest.mark.sqlite("the minimal application has no database"), pytest.mark.slow]


def test_one_of_several_servers_started_at_one_port_serves(tmp_path):
    """Without claims, each server could bind, and requests would reach different databases."""
    port = free_port()
    (tmp_path / "minimal_app.py").write_text(APPLICATION)
    environs = [environ_for(tmp_path, tmp_path / f"{number}.db", port) for number in range(3)]
    servers = [
        subprocess.Popen(command(), env=environ | {"HOST": host}, cwd=PROJECT, stderr=subprocess.PIPE, text=True)
        for environ, host in zip(environs, ("127.0.0.1", ANY_ADDRESS, "127.0.0.1"), strict=True)
    ]
    try:
        until(lambda: sum(server.poll() is None for server in servers) == 1)
        [serving_process] = [server for server in servers if server.poll() is None]
        await_answer(Server(serving_process, port, tmp_path / "walkthrough.db", {}))
        assert serving_process.poll() is None
    finally:
        for server in servers:
            server.terminate()
        outputs = [server.communicate(timeout=SECONDS_MAX)[1] for server in servers]
    refused = [server.returncode for server in servers if server is not serving_process]
    assert refused == [1, 1]
    assert all(
        output.startswith("walkthrough: ") and output.count("\n") == 1
        for output, server in zip(outputs, servers, strict=True)
        if server is not serving_process
    )


@pytest.mark.parametrize("has_abstract_sockets", [True, False])
def test_claim_is_exclusive_and_ends_with_its_holder(tmp_path, monkeypatch, has_abstract_sockets):
    monkeypatch.setattr(checks, "HAS_ABSTRACT_SOCKETS", has_abstract_sockets and sys.platform == "linux")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    port, other = free_port(), free_port()
    read, write = os.pipe()
    if not (holder := os.fork()):
        checks.PortClaims().claim([("127.0.0.1", port), "/a/path"])
        os.write(write, b"1")
        time.sleep(60)
        os._exit(0)
    assert os.read(read, 1) == b"1"
    claims = checks.PortClaims()

    with pytest.raises(checks.PortTaken, match=f"has port {port}, or is just starting there"):
        claims.claim([(ANY_ADDRESS, other), (ANY_ADDRESS, port)])
    checks.PortClaims().claim([("127.0.0.1", other)])  # the failed claim kept no port
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)

    claims.claim([(ANY_ADDRESS, port)])
    claims.release()
    for descriptor in (read, write):
        os.close(descriptor)


def claim_holders(port: int) -> set[int]:
    """Return the processes with a descriptor of a port's claim."""
    lines = Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()
    claims = {f"socket:[{line.split()[6]}]" for line in lines if line.endswith(f"@walkthrough:{port}")}
    holders = set()
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # the process has ended
            if str(descriptor.readlink()) in claims:
                holders.add(int(descriptor.parts[2]))
    return holders


def test_server_keeps_its_port_over_a_reload(tmp_path):
    """The server keeps its port over a reload. The workers of a killed arbiter close the port."""
    log = tmp_path / "log"
    with serving(tmp_path) as server:
        for number, message in ((signal.SIGHUP, "Hang up"), (signal.SIGUSR2, "USR2 is refused")):
            server.process.send_signal(number)
            until(lambda message=message: message in log.read_text())
            with pytest.raises(checks.PortTaken):
                checks.PortClaims().claim([("127.0.0.1", server.port)])
        await_answer(server)
        # A child inherits the claim, and gives it up a moment later.
        until(lambda: claim_holders(server.port) == {server.process.pid})

        server.process.kill()
        server.process.wait(5)

        claimed = checks.PortClaims()
        claimed.claim([("127.0.0.1", server.port)])
        claimed.release()
        take_lock_when_free(server.database).release()


def test_port_is_claimed_by_a_file_without_unix_sockets(tmp_path, monkeypatch):
    """A systemd unit with RestrictAddressFamilies=AF_INET AF_INET6 has no Unix sockets."""

    def fail(*_: object) -> None:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(checks.socket, "socket", fail)
    first, second = checks.PortClaims(), checks.PortClaims()
    first.claim([(ANY_ADDRESS, 8_000)])

    with pytest.raises(checks.PortTaken, match="has port 8000, or is just starting there"):
        second.claim([("127.0.0.1", 8_000)])

    first.release()
    second.claim([("127.0.0.1", 8_000)])
    second.release()


def test_failed_claim_is_reported_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "HAS_ABSTRACT_SOCKETS", False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))

    with pytest.raises(checks.PortTaken, match=r"^port 8000 cannot be claimed: No such file"):
        checks.PortClaims().claim([("127.0.0.1", 8_000)])
