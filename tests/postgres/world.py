"""The service over a primary and its standby, beside a twin that knows the primary alone."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import CAST, DATASET, Api, Bearer, Database
from tests.postgres.server_pair import Pair
from tests.support.applications import import_rows
from tests.support.tokens import ANON_KEY, SECRET_KEY, SERVICE_KEY
from tests.support.waiting import until

BASE = "base"


def open_over(pair: Pair, name: str, *standbys: str) -> object:
    from app import create_app

    return create_app(
        {
            "TESTING": True,
            "DATABASE_URL": pair.url(name, pair.primary),
            "DATABASE_READ_URL": list(standbys),
            "SECRET_KEY": SECRET_KEY,
            "ANON_KEY": ANON_KEY,
            "SERVICE_KEY": SERVICE_KEY,
        }
    )


class World:
    """A database of the primary, the service over both servers, and a twin of it that knows one."""

    def __init__(self, pair: Pair, name: str) -> None:
        self.pair = pair
        self.name = name
        self.app = open_over(pair, name, pair.url(name, pair.standby))
        self.twin = open_over(pair, name)
        self.served: list[str] = []
        self.reasons: list[str] = []
        self.app.extensions["walkthrough"].observe_reads(self.note)

    def note(self, server: str, reason: str) -> None:
        self.served.append(server)
        self.reasons.append(reason)

    def api(self, who: str | Bearer) -> Api:
        person = CAST[who] if isinstance(who, str) else who
        return Api(Database(lambda: self.app, None, self.app), person)

    def on_primary(self, who: str) -> Api:
        return Api(Database(lambda: self.twin, None, self.twin), CAST[who])

    def server_of(self, who: str, path: str = "/buildings") -> str:
        """Which server answers somebody."""
        assert self.api(who).get(path).status == 200
        return self.served[-1]

    def use_standby(self) -> None:
        """Wait until the standby answers whoever wrote nothing."""
        until(lambda: self.server_of("mia") == "standby")

    @contextmanager
    def held_back(self) -> Iterator[None]:
        with self.pair.held_back():
            self.use_standby()
            yield

    def close(self) -> None:
        for app in (self.app, self.twin):
            app.extensions["walkthrough"].close()


def make_base(pair: Pair) -> None:
    pair.sql(pair.primary, "postgres", f"CREATE DATABASE {BASE}")
    app = open_over(pair, BASE)
    import_rows(app, DATASET)
    app.extensions["walkthrough"].close()
