"""Submissions: a form that is sent again within a day has the result of the first time.

A form carries the id of its submission. The audit log holds the result, written in the transaction of the change, so
that it counts for every worker and after a restart.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from flask import g

from access.caller import Caller
from engine.interface.transaction import Transaction
from engine.query.write.audit import read_details, record_entry
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
    since = transaction.moment - REMEMBERED
    first = read_details(transaction, SUBMITTED, relation, actor_id=caller.id, row_key=key, since=since)
    if first is not None:
        return first["result"]
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
