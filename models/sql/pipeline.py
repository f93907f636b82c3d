"""Several prepared statements sent at once, and what came of them: one trip to the server instead of one each.

libpq's pipeline mode, by the driver's binding of it. What follows a statement that failed is not run.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any
from typing import Final

import psycopg
from psycopg import errors
from psycopg.pq import ExecStatus

GOOD: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)

Step = tuple[bytes, Any]
"""A prepared statement by its name, and its values as text."""


def run_together(pgconn: Any, steps: Sequence[Step]) -> Any:
    """Run them in their order; the result of the last one. psycopg.Error if one fails."""
    try:
        pgconn.enter_pipeline_mode()
        for name, values in steps:
            pgconn.send_query_prepared(name, values)
        pgconn.pipeline_sync()
        send(pgconn)
        results = [result_of(pgconn) for _ in steps]
        receive(pgconn)
        require(pgconn.get_result(), ExecStatus.PIPELINE_SYNC)
        pgconn.exit_pipeline_mode()
    except BaseException:
        # Half of the answers may be on their way yet, and would be taken for those to other questions.
        pgconn.finish()
        raise
    for result in results:
        require(result, *GOOD)
    return results[-1]


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


def result_of(pgconn: Any) -> Any:
    """The one result of the next statement."""
    receive(pgconn)
    result = pgconn.get_result()
    if result is None:
        raise psycopg.OperationalError("the server has left the session")
    while True:
        receive(pgconn)
        if pgconn.get_result() is None:
            return result


def require(result: Any, *statuses: ExecStatus) -> None:
    """Insist that a result is as it should be; psycopg.Error says why it is not."""
    if result.status not in statuses:
        raise errors.error_from_result(result)
