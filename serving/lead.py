"""Who serves? One thread of a process at a time: it waits for all clients that may ask on, and serves them one
after another. Nobody waits behind a request that is slow.

Every call into SQLite lets go of the interpreter's lock and takes it back. Threads that all work at once
hand it to each other at each such call, and a request then costs twice its processor time; a thread a
client, of which one works, is still woken twice a request. Here the one that leads goes on without
sleeping while anybody asks, and a second stands by: once a request takes longer than most (a long query,
a slow disk, a slow reader, a turn to write), it leads, and the first keeps what it does. The pattern is
known as leader and followers (Schmidt and others, 2000).
"""

from __future__ import annotations

import selectors
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final
from typing import Generic
from typing import TypeVar

from models.processors import SERVED
from models.processors import core_count
from serving.incoming import Asked

PATIENCE_SECONDS: Final = 0.003  # ten point reads
NEXT_SECONDS_MAX: Final = (
    0.002  # a client that has what it waited for asks on at once, or in a while
)
AWAKE_SECONDS: Final = 0.0002  # a client on the same machine that asks on takes less
SILENT_SECONDS_MAX: Final = 1.0  # beside clients that do ask

Connection = TypeVar("Connection")


class Seat(Generic[Connection]):
    """A connection whose client may ask on, under its descriptor, and since when it was not served."""

    __slots__ = ("connection", "descriptor", "since")

    def __init__(self, connection: Connection, descriptor: int) -> None:
        self.connection = connection
        self.descriptor = descriptor
        self.since = time.monotonic()


Ready = tuple[selectors.SelectorKey, int]
"""What a selector says of a client that has sent something."""

Part = Callable[[Seat[Connection]], None]
"""Parts with a client, now or once that keeps nobody waiting."""


class Lead(Generic[Connection]):
    """One thread's time of leading; the lock `ended` is free once it is over.

    `serves` are the seats that are its own until they are served: whoever takes the lead from it leaves them to it.
    """

    __slots__ = ("ended", "serves", "since", "thread")

    def __init__(self) -> None:
        self.ended = threading.Lock()
        self.ended.acquire()
        self.since = 0.0
        self.serves: list[Seat[Connection]] = []
        self.thread = 0

    def begin(self, seats: list[Seat[Connection]]) -> None:
        self.goes_on()
        self.serves = [*seats]

    def goes_on(self) -> None:
        """Told when another request is begun, or gone on with."""
        self.since = time.monotonic()

    def is_late(self) -> bool:
        """Whether what it does takes longer than most requests."""
        return bool(self.serves) and time.monotonic() - self.since > PATIENCE_SECONDS


class Crew(Generic[Connection]):
    """The threads that serve, and the connections that they serve.

    `look` says what a client that sent something has asked, if that is the whole head of a request; `hesitates`
    takes the connection of one that did not. `serve` answers one request, and says whether its client
    may ask on. `dismiss` takes a connection back whose client does not ask (True), or may not (False).
    `start` runs a function in a thread.
    """

    pause: Callable[[bool], None] = staticmethod(lambda at_rest: None)
    """Called after some requests (False), and once nobody has asked, or who leads is late (True)."""

    stays_awake = core_count() > 1
    """Whether who leads looks for a while before it sleeps: to wake up takes a processor longer than a client takes
    to ask on. On a single core that client would wait for the looks to end."""

    def __init__(
        self,
        look: Callable[[Connection], Asked],
        hesitates: Callable[[Connection], None],
        serve: Callable[[Connection], bool],
        dismiss: Callable[[Connection, bool], None],
        start: Callable[[Callable[[], None]], object],
    ) -> None:
        self.look = look
        self.hesitates = hesitates
        self.serve = serve
        self.dismiss = dismiss
        self.start = start
        self.clients = selectors.DefaultSelector()
        self.changing = threading.Lock()  # around whatever follows
        self.lead: Lead[Connection] | None = None
        self.has_deputy = False
        self.has_joined = False
        self.silence_looked_for = time.monotonic()

    def join(self, connection: Connection, descriptor: int) -> None:
        """Serve a connection, whose client has asked."""
        mine: Lead[Connection] | None = None
        with self.changing:
            self.take_seat(Seat(connection, descriptor))
            self.has_joined = True
            if self.lead is None:
                self.lead = mine = Lead()
            elif not self.has_deputy:
                self.has_deputy = True
            else:
                return
        try:
            self.start(partial(self.lead_on, mine) if mine is not None else self.stand_by)
        except BaseException:
            # A stop: there are no more threads, and who stands by would wait for this one.
            with self.changing:
                if mine is None:
                    self.has_deputy = False
                elif self.lead is mine:
                    self.step_down()
            raise

    def take_seat(self, seat: Seat[Connection]) -> None:
        # A descriptor that was closed while it was served may be another connection's by now.
        if seat.descriptor in self.clients.get_map():
            self.clients.unregister(seat.descriptor)
        self.clients.register(seat.descriptor, selectors.EVENT_READ, seat)

    def leave_seat(self, seat: Seat[Connection]) -> None:
        key = self.clients.get_map().get(seat.descriptor)
        if key is not None and key.data is seat:
            self.clients.unregister(seat.descriptor)

    # The one that leads

    def lead_on(self, mine: Lead[Connection]) -> None:
        """Serve until nobody asks, or until somebody else leads."""
        leaving: list[Seat[Connection]] | None = None
        mine.thread = threading.get_ident()
        try:
            while leaving is None:
                leaving = self.serve_ready(mine)
        finally:
            with self.changing:
                if self.lead is mine:  # what it served failed in a way that ends the thread
                    leaving = self.step_down()
                at_rest = self.lead is None
            mine.ended.release()
            if at_rest:
                self.pause(True)
            for seat in leaving or ():
                self.dismiss(seat.connection, True)

    def serve_ready(self, mine: Lead[Connection]) -> list[Seat[Connection]] | None:
        """Serve each that has asked; None to go on, or who is left without a leader, this one having ended."""
        self.has_joined = False
        ready = self.clients.select(0)
        self.pause(not ready)
        if not ready:
            ready = self.next_ready()
        SERVED.count = len(self.clients.get_map())
        asked = [(key.data, self.look(key.data.connection)) for key, _ in ready]
        for seat, what in asked:
            if not self.serve_one(mine, seat, what):
                return []
        if not ready:
            with self.changing:
                # Who came since then has asked, and would wait.
                return None if self.has_joined else self.step_down()
        if time.monotonic() - self.silence_looked_for > SILENT_SECONDS_MAX:
            self.dismiss_silent()
        return None

    def next_ready(self) -> list[Ready]:
        """Who asks within NEXT_SECONDS_MAX, and AWAKE_SECONDS of it without sleeping."""
        if self.stays_awake:
            awake_until = time.monotonic() + AWAKE_SECONDS
            while time.monotonic() < awake_until:
                if ready := self.clients.select(0):
                    return ready
        return self.clients.select(NEXT_SECONDS_MAX)

    def is_led(self) -> bool:
        """Whether a thread goes from one request to the next."""
        return self.lead is not None

    def step_down(self) -> list[Seat[Connection]]:
        self.lead = None
        leaving = self.seats()
        for seat in leaving:
            self.leave_seat(seat)
        return leaving

    def serve_one(self, mine: Lead[Connection], seat: Seat[Connection], asked: Asked) -> bool:
        """Serve one request; whether this thread still leads."""
        if not asked:
            with self.changing:
                self.leave_seat(seat)
            self.hesitates(seat.connection)
            return True
        mine.begin([seat])
        self.serve_seat(mine, seat, self.turn_away)
        return self.lead is mine

    def serve_seat(
        self,
        mine: Lead[Connection],
        seat: Seat[Connection],
        part: Part[Connection],
    ) -> None:
        may_ask = False
        try:
            may_ask = self.serve(seat.connection)
        finally:
            if not may_ask:
                with self.changing:
                    self.leave_seat(seat)
                part(seat)
            with self.changing:
                mine.serves.remove(seat)
                leads = self.lead is mine
        seat.since = time.monotonic()
        if may_ask and not leads:
            self.join(seat.connection, seat.descriptor)

    def turn_away(self, seat: Seat[Connection]) -> None:
        """Part with a client that may not ask on."""
        self.dismiss(seat.connection, False)

    def make_way(self) -> None:
        """Have another thread lead, if the one that calls does and is about to wait; what it serves stays its own."""
        with self.changing:
            mine = self.lead
            if mine is None or mine.thread != threading.get_ident() or not mine.serves:
                return
            if len(self.clients.get_map()) <= len(mine.serves):  # nobody else may ask
                return
            new: Lead[Connection] = Lead()
            # Before the other starts, which looks at once who has asked.
            for seat in mine.serves:
                self.leave_seat(seat)
            try:
                self.start(partial(self.lead_on, new))
            except RuntimeError:  # a stop: there are no more threads
                for seat in mine.serves:
                    self.take_seat(seat)
                return
            self.lead = new

    def seats(self) -> list[Seat[Connection]]:
        return [key.data for key in self.clients.get_map().values()]

    def dismiss_silent(self) -> None:
        """Give back whose client said nothing while others asked."""
        now = self.silence_looked_for = time.monotonic()
        with self.changing:
            silent = [seat for seat in self.seats() if now - seat.since > SILENT_SECONDS_MAX]
            for seat in silent:
                self.leave_seat(seat)
        for seat in silent:
            self.dismiss(seat.connection, True)

    # The one that stands by

    def stand_by(self) -> None:
        """Lead as soon as whoever leads is late; until nobody does."""
        while True:
            with self.changing:
                watched = self.lead
                if watched is None:
                    self.has_deputy = False
                    return
            if watched.ended.acquire(timeout=PATIENCE_SECONDS):
                continue
            if mine := self.overtake(watched):
                try:
                    self.start(self.stand_by)
                finally:
                    self.lead_on(mine)
                return

    def overtake(self, watched: Lead[Connection]) -> Lead[Connection] | None:
        """Take the lead from whom one watched, if they are late; the connection they serve stays theirs."""
        with self.changing:
            if self.lead is not watched or not watched.is_late():
                return None
            assert watched.serves
            for seat in watched.serves:
                self.leave_seat(seat)
            mine = self.lead = Lead()
        self.pause(True)
        return mine
