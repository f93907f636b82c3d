"""A port that nobody listens at, for a service of one's own."""

import contextlib
import socket


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
