"""A running service for each module, over a fresh copy of the data set, and signed-in clients.

A module that needs other settings starts its own service with `serve`.
"""

import pathlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.clients.server import Server, load, serving
from tests.support import databases


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A database of the data set with passwords. It has no connections and stays unchanged."""
    return load(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def serve(base: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """`serve(CORS_ORIGINS="*")` starts a service over a fresh copy; it stops with the module."""
    with ExitStack() as running:

        def make(**settings: str) -> Server:
            directory = tmp_path_factory.mktemp("server")
            databases.copy(base, directory / "walkthrough.db")
            # Registered first, so it runs last, after all connections are closed.
            running.callback(databases.release_databases_below, directory)
            return running.enter_context(serving(directory, **settings))

        yield make


@pytest.fixture(scope="module")
def server(serve: Callable[..., Server]) -> Server:
    return serve()


@pytest.fixture(scope="module")
def consumers(server: Server) -> Iterator:
    """The module's supabase-py clients: `consumers.signed_in("moe")`."""
    # Imported here, so that only users of this fixture skip if supabase-py is missing.
    from tests.clients.consumers import Consumers

    made = Consumers(server)
    yield made
    made.close()


@pytest.fixture(scope="module")
def signed_in(consumers) -> Callable:
    """`signed_in("moe")` is moe's client, signed in once for the module."""
    return consumers.signed_in
