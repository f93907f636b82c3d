"""A spy that records the values that filter functions receive.

A filter that runs on a hidden row can raise an error or take long, and so reveal the row. The spy replaces the
functions of like, ilike, match and imatch; on SQLite it also replaces casts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.query.dialect import sqlite_functions
from tests.safety.database_access import DirectDatabaseAccess
from tests.support import databases

GLOB_WILDCARDS = {"*": ".*", "?": "."}

ESTIMATORS = {"~~": "like", "~~*": "iclike", "~": "regexeq", "~*": "icregexeq"}
"""PostgreSQL's selectivity estimators of filter operators. The spy's operators use the same ones."""

NOTICE_PREFIX = "spy recorded "


@dataclass(slots=True)
class FilterSpy:
    """Records the hidden values that filters receive on every connection of one app."""

    hidden: set[str] = field(default_factory=set)
    hidden_values_seen: set[str] = field(default_factory=set)
    calls: int = 0

    @classmethod
    def attach(cls, app: object, direct_database: DirectDatabaseAccess) -> "FilterSpy":
        spy = cls()
        database = app.extensions["walkthrough"]
        if databases.SERVER is not None:
            spy.replace_operators(database, direct_database)
            return spy
        for pool in (database.readers, database.writers):
            with pool.checked_out() as connection:
                spy.replace_functions(connection.driver_connection)
        return spy

    def reset(self, hidden: set[str]) -> None:
        self.hidden = hidden
        self.hidden_values_seen.clear()

    def record(self, value: object) -> None:
        self.calls += 1
        if isinstance(value, str) and value.lower() in self.hidden:
            self.hidden_values_seen.add(value)

    def replace_functions(self, connection: object) -> None:
        """Replace the SQL functions by recording ones. A CHECK may call them only with a trusted schema."""
        connection.execute("PRAGMA trusted_schema = ON")
        faults = connection.walkthrough.faults
        cast = sqlite_functions.recording_faults(sqlite_functions.cast_value, faults)
        for name, arguments, function in (
            ("fold", 1, sqlite_functions.fold),
            ("matches", 2, sqlite_functions.matches),
            ("imatches", 2, sqlite_functions.imatches),
            ("cast_value", 3, cast),
        ):
            connection.create_function(name, arguments, self.recording(function), deterministic=True)
        connection.create_function("glob", 2, self.glob, deterministic=True)

    def replace_operators(self, database: Any, direct_database: DirectDatabaseAccess) -> None:
        """Create operators that report their left operand by a notice. They precede PostgreSQL's in the search path."""
        direct_database.sql("CREATE SCHEMA spy")
        for symbol, estimate in ESTIMATORS.items():
            direct_database.sql(f"""
                CREATE FUNCTION spy.{estimate}(value text, pattern text) RETURNS boolean
                LANGUAGE plpgsql IMMUTABLE STRICT COST 1 AS $$ BEGIN
                    RAISE NOTICE '{NOTICE_PREFIX}%', value;
                    RETURN value OPERATOR(pg_catalog.{symbol}) pattern;
                END $$""")
            direct_database.sql(f"""
                CREATE OPERATOR spy.{symbol} (FUNCTION = spy.{estimate}, LEFTARG = text, RIGHTARG = text,
                    RESTRICT = {estimate}sel, JOIN = {estimate}joinsel)""")
        direct_database.sql(f'ALTER DATABASE "{database.url.database}" SET search_path = public, spy, pg_catalog')
        database.forget_sessions()
        connect = database.pool.connect

        def connect_with_handler() -> Any:
            session = connect()
            session.add_notice_handler(self.on_notice)
            return session

        database.pool.connect = connect_with_handler

    def on_notice(self, notice: Any) -> None:
        if (message := notice.message_primary).startswith(NOTICE_PREFIX):
            self.record(message.removeprefix(NOTICE_PREFIX))

    def recording(self, function: Callable[..., object]) -> Callable[..., object]:
        def recorded(value: object, *rest: object) -> object:
            self.record(value)
            return function(value, *rest)

        return recorded

    def glob(self, pattern: str | None, value: object) -> int | None:
        """Evaluate GLOB. SQLite passes the pattern first."""
        self.record(value)
        if pattern is None or value is None:
            return None
        return int(compiled_glob(pattern).fullmatch(str(value)) is not None)


COMPILED_GLOBS: dict[str, re.Pattern] = {}


def compiled_glob(pattern: str) -> re.Pattern:
    if pattern not in COMPILED_GLOBS:
        parts = re.findall(r"\[[^\]]+\]|\*|\?|.", pattern, re.DOTALL)
        text = "".join(GLOB_WILDCARDS.get(part) or (part if len(part) > 1 else re.escape(part)) for part in parts)
        COMPILED_GLOBS[pattern] = re.compile(text.replace("[[]", r"\[").replace("[?]", r"\?"), re.DOTALL)
    return COMPILED_GLOBS[pattern]
