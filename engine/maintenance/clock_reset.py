"""The way back from a time that was wrong: a clock that was once set far ahead, whose time the file has kept since.

What had expired by then would be in force again, and what was signed then would be in force for as long as the clock
was wrong. So all of it ends, and whoever calls this has made the key new that signs tokens.
"""

from __future__ import annotations

from typing import Final

from engine import audit
from engine.storage.clock import system_time
from engine.storage.database import Database
from models.audit_log import BULK_RELATION

SET_BACK_SECONDS_MAX = 60.0

ENDINGS: Final = (
    "DELETE FROM sessions",
    "DELETE FROM devices",  # some of them had expired
    (
        "INSERT INTO credentials (user_id, tokens_since) SELECT id, ?1 + 1 FROM users WHERE true"
        " ON CONFLICT (user_id) DO UPDATE SET tokens_since = excluded.tokens_since"
    ),
    # A window of tries would last until then; it begins anew, so that no lock-out is cut short.
    "UPDATE attempts SET at = ?1 WHERE at > ?1",
    "UPDATE origins SET at = ?1 WHERE at > ?1",
    "DELETE FROM facts WHERE name = 'write_probe'",  # a moment, too
)
"""What becomes of what holds a moment, by the Unix second of now. A ban stays as long as it was said to last."""


def reset_clock(database: Database) -> str:
    """Give a file the system's time, and end every session, token without one, and board; returns that time, as it is
    stored. Nobody may be serving the file. Kept whole or not at all."""
    with database.writing(SET_BACK_SECONDS_MAX) as transaction:
        left = transaction.now
        transaction.began = system_time()
        transaction.set_actor(None)  # by which the file has the new moment
        for sql in ENDINGS:
            transaction.run(sql, (transaction.unix,) if "?1" in sql else ())
        details = {"from": left, "to": transaction.now}
        audit.record_event(
            transaction, "set_back", BULK_RELATION, actor_id=None, client_id=None, details=details
        )
        return transaction.now
