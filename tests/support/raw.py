"""Raw bytes of a running service, and the processes that hold its connections."""

import contextlib
import json
import re
import selectors
import socket
from dataclasses import dataclass
from pathlib import Path

from tests.durability.served import Served

ESTABLISHED = "01"


@dataclass(frozen=True, slots=True)
class RawResponse:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)


def connect(port: int, timeout: float = 20) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def exchange(port: int, sent: bytes, *, then_close: bool = False) -> bytes:
    """Send raw bytes and read until the server closes."""
    with connect(port) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
            if then_close:
                connection.shutdown(socket.SHUT_WR)
        return read_to_end(connection)


def count_unanswered(connections: list[socket.socket]) -> int:
    """Return how many connections have no response and are not closed."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        return len(connections) - len(selector.select(0))


def read_to_end(connection: socket.socket) -> bytes:
    received = bytearray()
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


def answers(received: bytes) -> list[RawResponse]:
    """Parse consecutive responses. Other bytes are an error."""
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        status_line, *lines = head.decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.[01] ([0-9]{3}) .*", status_line)
        assert match, status_line
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers.get("content-length", "0"))
        assert "transfer-encoding" not in headers
        found.append(RawResponse(int(match[1]), headers, rest[:length]))
        received = rest[length:]
    return found


def tcp_rows() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]


def socket_inodes(pid: int) -> set[str]:
    found = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if match := re.fullmatch(r"socket:\[([0-9]+)\]", str(descriptor.readlink())):
                found.add(match[1])
    return found


def workers_by_port(served: Served) -> dict[int, int]:
    """Return the worker that holds the connection from each client port."""
    holders = {inode: pid for pid in served.workers() for inode in socket_inodes(pid)}
    return {
        int(row[2].split(":")[1], 16): holders[row[9]]
        for row in tcp_rows()
        if row[3] == ESTABLISHED and row[9] in holders
    }
