"""A primary and a standby for all tests of this folder, and a database for each test."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.postgres.cluster import BASE, Cluster, create_base
from tests.postgres.server_pair import ServerPair, running_server_pair

NUMBERS = count(1)


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerPair]:
    with running_server_pair() as found:
        create_base(found)
        yield found


@pytest.fixture
def cluster(pair: ServerPair) -> Iterator[Cluster]:
    name = f"world{next(NUMBERS)}"
    pair.sql(pair.primary, "postgres", f"CREATE DATABASE {name} TEMPLATE {BASE}")
    pair.catch_up()
    made = Cluster(pair, name)
    try:
        made.use_standby()
        yield made
    finally:
        made.close()
        pair.sql(pair.primary, "postgres", f"DROP DATABASE {name} WITH (FORCE)")
