"""The dialect of each database, by URL scheme."""

from __future__ import annotations

import importlib

from engine.query.dialect.base import SqlDialect
from engine.query.dialect.sqlite import SqliteDialect


class DialectRegistry(dict[str, SqlDialect]):
    """Dialects by URL scheme. PostgreSQL's is imported at first use: its packages are optional."""

    def __missing__(self, scheme: str) -> SqlDialect:
        if scheme != "postgresql":
            raise KeyError(scheme)
        module = importlib.import_module("postgres.dialect")
        return self.setdefault(scheme, module.PostgresqlDialect())


DIALECTS = DialectRegistry(sqlite=SqliteDialect())
