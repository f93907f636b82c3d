"""The service over a primary and its standby, beside a service over the primary alone."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import CAST, DATASET, Api, Bearer, Database
from tests.postgres.server_pair import ServerPair
from tests.support.applications import import_rows
from tests.support.tokens import ANON_KEY, SECRET_KEY, SERVICE_KEY
from tests.support.waiting import until

BASE = "base"


def open_over(pair: ServerPair, name: str, *standby_urls: str) -> object:
    from app import create_app

    return create_app(
        {
            "TESTING": True,
            "DATABASE_URL": pair.url(name, pair.primary),
            "DATABASE_READ_URL": list(standby_urls),
            "SECRET_KEY": SECRET_KEY,
            "ANON_KEY": ANON_KEY,
            "SERVICE_KEY": SERVICE_KEY,
        }
    )


class Cluster:
    """A database of the primary, with a service that uses both servers and one that uses the primary only."""

    def __init__(self, pair: ServerPair, name: str) -> None:
        self.pair = pair
        self.name = name
        self.app = open_over(pair, name, pair.url(name, pair.standby))
        self.primary_app = open_over(pair, name)
        self.servers: list[str] = []
        self.routing_reasons: list[str] = []
        self.app.extensions["walkthrough"].observe_reads(self.record_read)

    def record_read(self, server: str, reason: str) -> None:
        self.servers.append(server)
        self.routing_reasons.append(reason)

    def api(self, who: str | Bearer) -> Api:
        person = CAST[who] if isinstance(who, str) else who
        return Api(Database(lambda: self.app, None, self.app), person)

    def on_primary(self, who: str) -> Api:
        return Api(Database(lambda: self.primary_app, None, self.primary_app), CAST[who])

    def server_of(self, who: str, path: str = "/buildings") -> str:
        """Return the server that answers a read of a user."""
        assert self.api(who).get(path).status == 200
        return self.servers[-1]

    def use_standby(self) -> None:
        """Wait until the standby answers a user who wrote nothing."""
        until(lambda: self.server_of("mia") == "standby")

    @contextmanager
    def replay_paused(self) -> Iterator[None]:
        with self.pair.replay_paused():
            self.use_standby()
            yield

    def close(self) -> None:
        for app in (self.app, self.primary_app):
            app.extensions["walkthrough"].close()


def create_base(pair: ServerPair) -> None:
    pair.sql(pair.primary, "postgres", f"CREATE DATABASE {BASE}")
    app = open_over(pair, BASE)
    import_rows(app, DATASET)
    app.extensions["walkthrough"].close()
