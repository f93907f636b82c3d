"""A line of clients, whose crew is at rest again when the test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from serving import lead
from tests.crew.clients import FOREVER
from tests.crew.clients import Line
from tests.waiting import until


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.go_on.set()
    for client in made.ends:
        client.close()
    until(made.is_at_rest)
    until(lambda: not made.heads.is_watched)
    for server in made.ends.values():
        server.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is overtaken, and nobody gives up waiting for requests."""
    monkeypatch.setattr(lead, "PATIENCE_SECONDS", FOREVER)
    monkeypatch.setattr(lead, "NEXT_SECONDS_MAX", 1.5)
