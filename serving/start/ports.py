"""Which server has a port? Each worker listens for itself (SO_REUSEPORT), so that a bind never fails, and of two
servers that start together each would find that nobody answers yet, and share the callers of the other.

So whoever is about to serve takes something that only one can have, before anything else: on Linux a name among its
abstract Unix sockets, which are those of its network, and end with whoever has them; elsewhere a lock on a file. It is
by the port alone: one address may be all of them, or have several names. A process that may have no such socket, as
where its unit keeps it from that family, takes the lock, too.
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

BOUND_TO_A_NAME = sys.platform == "linux"


class PortTaken(Exception):
    """Another server has the port or is just starting there, or that cannot be told. The message is one line."""


class Ports:
    """What the arbiter holds for as long as it lives, and no worker: who is left when it was killed gives way."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def claim(self, addresses: Iterable[object]) -> None:
        """Take the ports of these addresses, or none of them; a Unix socket's path has none."""
        ports = {address[1] for address in addresses if isinstance(address, tuple)}
        try:
            for port in sorted(ports):
                self._held.append(_claimed(port))
        except BlockingIOError as error:
            self.let_go()
            raise PortTaken(
                f"another server of this kind has port {port}, or is just starting there"
            ) from error
        except OSError as error:
            self.let_go()
            raise PortTaken(f"port {port} cannot be claimed: {error.strerror}") from error

    def let_go(self) -> None:
        while self._held:
            os.close(self._held.pop())


def _claimed(port: int) -> int:
    """A descriptor that has the port; BlockingIOError where another has it."""
    if BOUND_TO_A_NAME:
        try:
            return _named(port)
        except BlockingIOError:
            raise
        except OSError:
            pass  # it may have no such socket
    return _locked(port)


def _named(port: int) -> int:
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0walkthrough:{port}")
    except OSError as error:
        holder.close()
        if error.errno == errno.EADDRINUSE:
            raise BlockingIOError from error
        raise
    return holder.detach()


def _locked(port: int) -> int:
    """By the user, too: another's file could not be opened, and another's socket keeps the port to itself."""
    path = Path(tempfile.gettempdir()) / f"walkthrough-{os.getuid()}-{port}.port"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
