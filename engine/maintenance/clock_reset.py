"""Reset the clock of a database whose stored time is far ahead, because the system clock once was.

A reset would revive expired sessions and prolong tokens that were signed in the future. So the reset ends all of
them, and the caller replaces the key that signs tokens.
"""

from __future__ import annotations

from typing import Final

from engine.interface.clock import system_time
from engine.interface.database import Database
from engine.query.write import audit
from models.audit_log import BULK_RELATION

RESET_SECONDS_MAX = 60.0

RESET_STATEMENTS: Final = (
    "DELETE FROM sessions",
    "DELETE FROM devices",  # expired ones would be valid again
    "DELETE FROM api_keys",
    (
        "INSERT INTO credentials (user_id, tokens_since) SELECT id, ?1 + 1 FROM users WHERE true"
        " ON CONFLICT (user_id) DO UPDATE SET tokens_since = excluded.tokens_since"
    ),
    # A window of sign-in attempts would last until the wrong time. Restart it now, so that no lock-out ends early.
    "UPDATE attempts SET at = ?1 WHERE at > ?1",
    "UPDATE origins SET at = ?1 WHERE at > ?1",
    "DELETE FROM facts WHERE name = 'write_probe'",  # it holds a time, too
)
"""The statements that change or delete stored times; `?1` is the current Unix second. A ban keeps its end."""


def reset_clock(database: Database) -> str:
    """Set the database to the system's time and return that time as stored. End every session, kiosk display, API
    key and token. No process may serve the database. All changes are one transaction."""
    with database.writing(RESET_SECONDS_MAX) as transaction:
        previous = transaction.now
        transaction.began = system_time()
        transaction.set_actor(None)  # stores the new time in the file
        for sql in RESET_STATEMENTS:
            transaction.run(sql, (transaction.unix,) if "?1" in sql else ())
        details = {"from": previous, "to": transaction.now}
        audit.record_entry(transaction, "reset_clock", BULK_RELATION, actor_id=None, client_id=None, details=details)
        return transaction.now
