"""Keys are read once, for all workers: at the start, and at a reload."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from config import SECRETS_NAME
from tests import databases
from tests import tokens
from tests.durability.served import Served
from tests.durability.served import serving
from tests.durability.shim import DATABASE
from tests.waiting import until

pytestmark = pytest.mark.sqlite("keys that lie beside a file")

KEYS = {
    "SECRET_KEY": tokens.SECRET_KEY,
    "ANON_KEY": tokens.ANON_KEY,
    "SERVICE_KEY": tokens.SERVICE_KEY,
}
OTHERS = json.dumps({**KEYS, "SECRET_KEY": "n" * 40})
AMISS = [pytest.param(None, id="removed"), pytest.param('{"SECRET_KEY": ', id="broken")]


@pytest.fixture
def served(base_file: Path, tmp_path: Path) -> Iterator[Served]:
    """A service whose keys are in their file, as after a first start."""
    directory = tmp_path / "served"
    directory.mkdir(mode=0o700)
    databases.copy(base_file, directory / DATABASE)
    (directory / DATABASE).chmod(0o600)
    write_keys(directory, json.dumps(KEYS))
    with serving(Served(directory, watched=dict.fromkeys(KEYS, ""))) as running:
        yield running


def write_keys(directory: Path, text: str | None) -> None:
    file = directory / SECRETS_NAME
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
        file.chmod(0o600)


def statuses(served: Served) -> Counter:
    """Of requests with a token of the first keys, each on a connection of its own."""
    found: Counter = Counter()
    for _ in range(20):
        with closing(served.consumer("ada")) as consumer:
            found[consumer.send("GET", "/clients").status] += 1
    return found


def renew_workers(served: Served, number: int) -> None:
    """Kill one, or have all begin anew, and wait for those that take their places."""
    until(lambda: len(served.workers()) == 2)
    before = served.workers()
    if number == signal.SIGHUP:
        served.signal(number)
        until(lambda: len(served.workers()) == 2 and not set(before) & set(served.workers()))
    else:
        os.kill(before[0], number)
        until(lambda: len(served.workers()) == 2 and before[0] not in served.workers())


@pytest.mark.parametrize("text", [pytest.param(OTHERS, id="others"), *AMISS])
def test_a_worker_that_takes_anothers_place_has_the_keys_of_all(served, text):
    write_keys(served.directory, text)

    renew_workers(served, signal.SIGKILL)

    assert statuses(served) == {200: 20}
    assert (served.directory / SECRETS_NAME).exists() == (text is not None)


def test_a_reload_reads_the_keys_anew(served):
    write_keys(served.directory, OTHERS)

    renew_workers(served, signal.SIGHUP)

    assert statuses(served) == {401: 20}


@pytest.mark.parametrize("text", AMISS)
def test_a_reload_without_keys_keeps_those_there_are(served, text):
    write_keys(served.directory, text)

    renew_workers(served, signal.SIGHUP)

    assert statuses(served) == {200: 20}
    assert served.log.read_text().count("the settings stay as they are: ") == 1
    assert (served.directory / SECRETS_NAME).exists() == (text is not None)
