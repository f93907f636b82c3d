"""Submissions: a form that is sent again within a day has the result of the first time.

A form carries the id of its submission. The audit log holds the result, written in the transaction of the change, so
that it counts for every worker and after a restart.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from flask import g

from access.caller import Caller
from engine.interface.transaction import Transaction
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement, parameter
from engine.query.write.audit import record_entry
from models.audit_log import AuditLog
from models.types import write_timestamp
from routes.console.session.submissions import read_submission, sent_pairs

SUBMITTED: Final = "submitted"
REMEMBERED: Final = datetime.timedelta(days=1)


def once(transaction: Transaction, caller: Caller, relation: str, change: Callable[[], Any]) -> Any:
    """Return the result of `change`, which is JSON; a form that was sent before has its first result."""
    form = g.get("form")
    submission = read_submission(form.get("submission", "")) if form is not None else None
    if submission is None or submission.user_id != caller.id:
        return change()
    g.submitted = g.get("submitted", 0) + 1  # a form may make several changes
    # The same id with other values, such as after Back, is another submission.
    key = hashlib.sha256(json.dumps([g.submitted, *sent_pairs(form)]).encode()).hexdigest()
    statement = result_statement(transaction.dialect.name)
    since = write_timestamp(transaction.moment - REMEMBERED)
    values = {"relation": relation, "row_key": key, "actor_id": caller.id, "since": since}
    first = transaction.value(statement.sql, statement.bind(Binding(parameters=values)))
    if first is not None:
        return (json.loads(first) if isinstance(first, str) else first)["result"]
    result = change()
    record_entry(
        transaction,
        SUBMITTED,
        relation,
        actor_id=caller.id,
        client_id=caller.client_id,
        row_key=key,
        details={"result": result},
    )
    return result


@cache
def result_statement(database: str) -> Statement:
    """Return the statement for the result of a submission."""
    log: Any = AuditLog.__table__
    key = parameter("row_key", log.c.row_key.type)
    statement = (
        sa.select(log.c.after)
        .where(log.c.relation == parameter("relation", log.c.relation.type))
        .where(log.c.row_key == key)
        .where(sa.func.substr(log.c.row_key, 1, 200) == key)  # the index of PostgreSQL
        .where(log.c.actor_id == parameter("actor_id", log.c.actor_id.type))
        .where(log.c.at >= parameter("since", log.c.at.type))
        .where(log.c.action == SUBMITTED)
        .limit(1)
    )
    return compile_statement(statement, DIALECTS[database].sa_dialect)
