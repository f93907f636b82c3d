"""Several prepared statements sent at once, and what came of them: one trip to the server instead of one each.

libpq's pipeline mode, by the driver's binding of it. What follows a statement that failed is not run.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterable
from collections.abc import Sequence
from time import monotonic
from typing import Any
from typing import Final

import psycopg
from psycopg import errors
from psycopg.pq import ExecStatus

from models.processors import SERVED
from models.processors import core_count

GOOD: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)

Step = tuple[bytes, Any]
"""A prepared statement by its name, and its values as text."""

AWAKE_SECONDS: Final = 0.0005  # a server on the same machine has kept a row within this
LONG_SECONDS: Final = 2 * AWAKE_SECONDS  # whatever took longer took as long
MEMORY: Final = 0.125  # of the last answer in what is known of all


class Answers:
    """How soon a server answers lately. One that comes soon is looked for before who waits goes to sleep: to be woken
    takes a processor a tenth of that time. Whoever else has something to do there goes first."""

    stays_awake = core_count() > 1 and hasattr(os, "sched_yield")

    def __init__(self) -> None:
        self.usual = 0.0  # seconds

    def come_soon(self) -> bool:
        """Whether it pays to look for the next one."""
        return self.stays_awake and self.usual < AWAKE_SECONDS and SERVED.count == 1

    def look_for(self, pgconn: Any) -> None:
        """Look until the server has said something, for a while; whatever it is, take note of how long it took."""
        poll = select.poll()
        poll.register(pgconn.socket, select.POLLIN)
        asked_at = monotonic()
        if self.come_soon():
            while not poll.poll(0) and monotonic() - asked_at < AWAKE_SECONDS:
                os.sched_yield()
        poll.poll()
        self.usual += (min(monotonic() - asked_at, LONG_SECONDS) - self.usual) * MEMORY

    def have_rivals(self) -> None:
        """Take note that others ask, too: they have something to do for the processors, looking has not."""
        self.usual = LONG_SECONDS


def run_together(pgconn: Any, steps: Sequence[Step], answers: Answers | None = None) -> list[Any]:
    """Run them in their order; their results. psycopg.Error if one fails, or if the transaction they were is not kept:
    with the server's words for it, unless it may have been kept all the same.
    """
    results: list[Any] = []
    try:
        pgconn.enter_pipeline_mode()
        for name, values in steps:
            pgconn.send_query_prepared(name, values)
        pgconn.pipeline_sync()
        send(pgconn)
        if answers is not None:
            answers.look_for(pgconn)
        results.extend(result_of(pgconn) for _ in steps)
        receive(pgconn)
        require_kept(pgconn.get_result())
        pgconn.exit_pipeline_mode()
    except BaseException as error:
        # Half of the answers may be on their way yet, and would be taken for those to other questions.
        pgconn.finish()
        if isinstance(error, psycopg.Error):
            # What the server says of a step it says before it keeps anything.
            require_good(results)
        raise
    require_good(results)
    return results


def require_good(results: Iterable[Any]) -> None:
    for result in results:
        require(result, *GOOD)


def require_kept(result: Any) -> None:
    """Insist that what was sent together has ended well."""
    if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
        return
    if result is not None:
        error = errors.error_from_result(result)
        if error.diag.severity_nonlocalized == "ERROR":
            raise error
    raise psycopg.OperationalError("the server has left the session")


def send(pgconn: Any) -> None:
    """Have everything sent; what the server says meanwhile is taken in, or it would wait for us."""
    while pgconn.flush():
        wait(pgconn, select.POLLIN | select.POLLOUT)
        pgconn.consume_input()


def receive(pgconn: Any) -> None:
    """Wait until there is a result: by a poll, which lets other threads go on. A `Watch` (`models/sql/direct.py`) ends
    that of a server which is silent."""
    while pgconn.is_busy():
        wait(pgconn, select.POLLIN)
        pgconn.consume_input()


def wait(pgconn: Any, for_what: int) -> None:
    poll = select.poll()
    poll.register(pgconn.socket, for_what)
    poll.poll()


def is_silent(pgconn: Any) -> bool:
    """Whether the server has said nothing that nobody asked for: at the end of a session it does, or closes it."""
    poll = select.poll()
    poll.register(pgconn.socket, select.POLLIN)
    return not poll.poll(0)


def result_of(pgconn: Any) -> Any:
    """The one result of the next statement."""
    receive(pgconn)
    result = pgconn.get_result()
    if result is None:
        raise psycopg.OperationalError("the server has left the session")
    while pgconn.get_result() is not None:  # its end is there with it
        pass
    return result


def require(result: Any, *statuses: ExecStatus) -> None:
    """Insist that a result is as it should be; psycopg.Error says why it is not."""
    if result.status not in statuses:
        raise errors.error_from_result(result)
