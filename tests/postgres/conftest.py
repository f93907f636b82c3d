"""One pair of servers for all tests here, and a database of its own for each."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.postgres.server_pair import Pair, running_pair
from tests.postgres.world import BASE, World, make_base

NUMBERS = count(1)


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with running_pair() as found:
        make_base(found)
        yield found


@pytest.fixture
def cluster(pair: Pair) -> Iterator[World]:
    name = f"world{next(NUMBERS)}"
    pair.sql(pair.primary, "postgres", f"CREATE DATABASE {name} TEMPLATE {BASE}")
    pair.catch_up()
    made = World(pair, name)
    try:
        made.use_standby()
        yield made
    finally:
        made.close()
        pair.sql(pair.primary, "postgres", f"DROP DATABASE {name} WITH (FORCE)")
