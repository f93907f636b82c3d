"""Claim a port, so that one server at a time listens on it.

Each worker binds the port itself (SO_REUSEPORT), so a second bind succeeds. Two servers that start together would
share the clients. A server therefore claims its ports first. On Linux the claim is an abstract Unix socket: its name
belongs to the network namespace and ends with its process. Elsewhere, or if such a socket is forbidden, it is a lock
on a file. A claim covers all addresses: one address may have several names.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

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
