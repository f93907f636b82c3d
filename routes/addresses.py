"""Which view answers at an address: searched for once, where its path holds no arguments.

Werkzeug splits the host, the path and the method anew for each request, and a point read has better
things to do. What is refused (no such path, no such method, no such host) is searched for each time.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from werkzeug.routing import MapAdapter
from werkzeug.routing import Rule

ADDRESSES_MAX = 1_024  # a client may invent hosts

Address = tuple[str, str, str | None]
"""A method, a path and a host."""

Match = tuple[Rule, Mapping[str, Any]]


class Found:
    """Stands in for Werkzeug's adapter where the search is over."""

    def __init__(self, match: Match) -> None:
        self.found = match

    def match(self, return_rule: bool) -> Match:
        return self.found


class Searching:
    """Werkzeug's adapter, what it finds being kept."""

    def __init__(self, adapter: MapAdapter, keep: Callable[[Match], None]) -> None:
        self.adapter = adapter
        self.keep = keep

    def match(self, return_rule: bool) -> Match:
        match = self.adapter.match(return_rule=True)
        self.keep(match)
        return match


class Addresses:
    """What was found of an application's addresses."""

    def __init__(self) -> None:
        self.known: dict[Address, Found] = {}

    def adapter(
        self, environ: Mapping[str, Any], find: Callable[[], MapAdapter | None]
    ) -> MapAdapter | Searching | Found | None:
        """What tells a request its view; `find` makes Werkzeug's own."""
        method = environ["REQUEST_METHOD"]
        address = (method, environ.get("PATH_INFO", ""), environ.get("HTTP_HOST"))
        # Of OPTIONS Flask asks more than where it goes; a web socket goes to no view of ours.
        if method == "OPTIONS" or "HTTP_UPGRADE" in environ:
            return find()
        if known := self.known.get(address):
            return known
        adapter = find()
        if adapter is None:
            return None

        def keep(match: Match) -> None:
            if match[1]:
                return
            if len(self.known) >= ADDRESSES_MAX:
                self.known.clear()
            self.known[address] = Found(match)

        return Searching(adapter, keep)
