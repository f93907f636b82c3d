"""A spy on the functions that filters compile to: which values are they called on?

A filter that runs on a hidden row may raise, or take its time, and so tells of it, whatever is answered. So what is
behind like, ilike, match and imatch, and on a file behind casts, is replaced by what notes the values it is handed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.storage import sql_functions as functions
from tests.safety.sides import Side
from tests.support import databases

ONE = {"*": ".*", "?": "."}

OPERATORS = {"~~": "like", "~~*": "iclike", "~": "regexeq", "~*": "icregexeq"}
"""Of a server: how the operators of filters are estimated, which the spy's are to be as well."""

SAID = "spy saw "


@dataclass(slots=True)
class Spy:
    """Notes which of the hidden values a filter was run on, on every connection of one app."""

    hidden: set[str] = field(default_factory=set)
    saw: set[str] = field(default_factory=set)
    calls: int = 0

    @classmethod
    def upon(cls, app: object, side: Side) -> "Spy":
        spy = cls()
        database = app.extensions["walkthrough"]
        if databases.SERVER is not None:
            spy.listen_on_server(database, side)
            return spy
        for engine in (database.reader, database.writer):
            with database.connections.checked_out(engine) as connection:
                spy.listen(connection.driver_connection)
        return spy

    def begin(self, hidden: set[str]) -> None:
        self.hidden = hidden
        self.saw.clear()

    def note(self, value: object) -> None:
        self.calls += 1
        if isinstance(value, str) and value.lower() in self.hidden:
            self.saw.add(value)

    def listen(self, connection: object) -> None:
        """Put the noting functions over the real ones; only then may a CHECK call what is not SQLite's."""
        connection.execute("PRAGMA trusted_schema = ON")
        faults = connection.walkthrough.faults
        cast = functions.recording_faults(functions.cast_value, faults)
        for name, places, function in (
            ("fold", 1, functions.fold),
            ("matches", 2, functions.matches),
            ("imatches", 2, functions.imatches),
            ("cast_value", 3, cast),
        ):
            connection.create_function(name, places, self.noting(function), deterministic=True)
        connection.create_function("glob", 2, self.glob, deterministic=True)

    def listen_on_server(self, database: Any, side: Side) -> None:
        """Put operators that tell their left sides, by a notice, before the server's own on the way to them."""
        side.sql("CREATE SCHEMA spy")
        for symbol, estimate in OPERATORS.items():
            side.sql(f"""
                CREATE FUNCTION spy.{estimate}(value text, pattern text) RETURNS boolean
                LANGUAGE plpgsql IMMUTABLE STRICT COST 1 AS $$ BEGIN
                    RAISE NOTICE '{SAID}%', value;
                    RETURN value OPERATOR(pg_catalog.{symbol}) pattern;
                END $$""")
            side.sql(f"""
                CREATE OPERATOR spy.{symbol} (FUNCTION = spy.{estimate}, LEFTARG = text, RIGHTARG = text,
                    RESTRICT = {estimate}sel, JOIN = {estimate}joinsel)""")
        side.sql(f'ALTER DATABASE "{database.url.database}" SET search_path = public, spy, pg_catalog')
        database.forget_sessions()
        make = database.pool.connect

        def make_heard() -> Any:
            session = make()
            session.add_notice_handler(self.hear)
            return session

        database.pool.connect = make_heard

    def hear(self, notice: Any) -> None:
        if (said := notice.message_primary).startswith(SAID):
            self.note(said.removeprefix(SAID))

    def noting(self, function: Callable[..., object]) -> Callable[..., object]:
        def noted(value: object, *rest: object) -> object:
            self.note(value)
            return function(value, *rest)

        return noted

    def glob(self, pattern: str | None, value: object) -> int | None:
        """GLOB, whose operands SQLite hands over in this order."""
        self.note(value)
        if pattern is None or value is None:
            return None
        return int(compiled_glob(pattern).fullmatch(str(value)) is not None)


COMPILED: dict[str, re.Pattern] = {}


def compiled_glob(pattern: str) -> re.Pattern:
    if pattern not in COMPILED:
        parts = re.findall(r"\[[^\]]+\]|\*|\?|.", pattern, re.DOTALL)
        text = "".join(ONE.get(part) or (part if len(part) > 1 else re.escape(part)) for part in parts)
        COMPILED[pattern] = re.compile(text.replace("[[]", r"\[").replace("[?]", r"\?"), re.DOTALL)
    return COMPILED[pattern]
