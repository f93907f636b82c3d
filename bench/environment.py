"""The options of a run, and the servers that its sections start on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench import floors
from bench.databases import Databases, Psql
from bench.dialect import Dialect
from bench.measure import Measurer, Rounds, Target
from bench.pocketbase.dialect import PocketBase
from bench.programs import Programs
from bench.requests import HttpCall, Request
from bench.servers import Server, Servers, file_url
from bench.shared_tables import PRE_REQUEST, WithClientIds, renew_shared_tables

WALKTHROUGH: Final = "walkthrough"
ON_POSTGRESQL: Final = "walkthrough-postgresql"
POSTGREST: Final = "postgrest"
POCKETBASE: Final = "pocketbase"
BARE_VIEW: Final = "bare-view"
SHARED_TABLES: Final = "postgrest-shared-tables"
TITLES: Final = {
    WALKTHROUGH: "Walkthrough",
    ON_POSTGRESQL: "Walkthrough on PostgreSQL",
    POCKETBASE: "PocketBase",
    POSTGREST: "PostgREST",
    SHARED_TABLES: "PostgREST on its tables",
    BARE_VIEW: "bare view",
}


class BareView(Dialect):
    """One path, whatever the call."""

    name = BARE_VIEW

    def translate(self, call: HttpCall) -> HttpCall:
        return HttpCall(call.caller, "/bare")


@dataclass(frozen=True, slots=True)
class Options:
    """The command line's options."""

    sizes: tuple[int, ...]
    rounds: Rounds
    sections: tuple[str, ...]  # empty for all
    words: tuple[str, ...]  # parts of titles of requests, empty for all
    floors_only: bool
    with_pocketbase: bool
    cache: Path
    write: bool

    def requests(self, found: tuple[Request, ...]) -> list[Request]:
        """Return the requests that the options select."""
        return [
            each for each in found
            if (not self.words or any(word in each.title for word in self.words))
            and (not self.floors_only or floors.has_floor(each))
        ]  # fmt: skip

    @property
    def selects_all(self) -> bool:
        return not (self.sections or self.words or self.floors_only)


@dataclass(slots=True)
class Environment:
    """Everything that sections use. A server starts when a section first needs it."""

    options: Options
    programs: Programs
    servers: Servers
    psql: Psql
    databases: list[Databases]
    measurer: Measurer
    figures: floors.RunFigures = field(default_factory=floors.RunFigures)
    running: dict[str, Server] = field(default_factory=dict)

    def walkthrough(self, databases: Databases) -> Target:
        name = f"{WALKTHROUGH}-{databases.size}"
        if name not in self.running:
            self.running[name] = self.servers.walkthrough(name, file_url(databases.file))
        return Target(WALKTHROUGH, self.running[name], databases.callers)

    def on_postgresql(self, databases: Databases) -> Target:
        """Walkthrough on the PostgreSQL cluster that PostgREST uses."""
        name = f"{ON_POSTGRESQL}-{databases.size}"
        if name not in self.running:
            self.running[name] = self.servers.walkthrough(name, self.servers.url(databases.copy))
        return Target(
            ON_POSTGRESQL, self.running[name], databases.callers, Dialect(), self.psql,
            databases.copy, "inspections",
        )  # fmt: skip

    def postgrest(self, databases: Databases) -> Target:
        name = f"{POSTGREST}-{databases.size}"
        if name not in self.running:
            program = self.programs.postgrest
            self.running[name] = self.servers.postgrest(name, program, databases.database)
        return Target(
            POSTGREST, self.running[name], databases.callers, Dialect(), self.psql,
            databases.database,
        )  # fmt: skip

    def postgrest_on_shared_tables(self, databases: Databases) -> Target:
        """PostgREST on a new copy of Walkthrough's tables."""
        assert SHARED_TABLES not in self.running
        database = renew_shared_tables(self.psql, databases)
        server = self.servers.postgrest(SHARED_TABLES, self.programs.postgrest, database, PRE_REQUEST)
        self.running[SHARED_TABLES] = server
        dialect = WithClientIds(databases.callers)
        return Target(SHARED_TABLES, server, databases.callers, dialect, self.psql, database)

    def pocketbase(self, databases: Databases) -> list[Target]:
        """Return PocketBase, or nothing if the options leave it out."""
        if self.programs.pocketbase is None or databases.pocketbase is None:
            return []
        name = f"{POCKETBASE}-{databases.size}"
        if name not in self.running:
            self.running[name] = self.servers.pocketbase(name, self.programs.pocketbase, databases.pocketbase)
        return [Target(POCKETBASE, self.running[name], databases.callers, PocketBase())]

    def bare_view(self, databases: Databases) -> Target:
        if BARE_VIEW not in self.running:
            self.running[BARE_VIEW] = self.servers.bare_view()
        return Target(BARE_VIEW, self.running[BARE_VIEW], databases.callers, BareView())

    def renew(self, databases: Databases) -> None:
        """Restore the databases to the loaded rows."""
        self.stop_all()
        databases.renew(self.psql)

    def stop_all(self) -> None:
        """Stop every server, so that the next section has the machine alone."""
        while self.running:
            self.servers.stop(self.running.popitem()[1])
