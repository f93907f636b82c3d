"""Long-lived tokens of users: API keys, calendar links and kiosk displays. The uses share a table and this code.

The database stores a digest of a token. A caller may create a token for themselves and for any user whom they may
change. A new password, a global sign-out, or another role or client of the user ends it; a ban suspends it. The audit
log records creation and revocation. `api_key.py` and `kiosk_display.py` hold what is special to a use, and
access/session.py looks a token up.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Final, TypeVar

import sqlalchemy as sa

from access.accounts import administration, people
from access.accounts.administration import UserNotFound
from access.caller import Caller
from access.session import TOKEN_PREFIXES, token_digest
from engine.interface.database import Database, Transaction
from engine.query.statement import Action
from engine.query.write import row_layout
from models.credential import DISPLAY, Credential, TokenRow
from models.types import Bound, Fault, read_string
from models.user import User

TOKEN_BYTES: Final = 32
NAME_BYTES_MAX: Final = 256
USE_SECONDS: Final = 60  # between two records of a key's use
USE_WAIT_SECONDS_MAX: Final = 0.2
USES_REMEMBERED_MAX: Final = 1_024


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret. Times are Unix seconds; `expires_at` is None for a token without an end."""

    id: str
    use: str
    user_id: str
    user_name: str
    name: str
    created_by: str | None
    is_read_only: bool
    created_at: int
    tokens_since: int
    """The user's tokens from before this time have ended."""
    expires_at: int | None = None
    code_expires_at: int | None = None
    """The end of the code of a display that is not paired yet."""
    last_used_at: int | None = None
    is_public: bool = False
    """Whether a display shows counts, dates and buildings alone."""


TOKENS_SINCE = sa.func.coalesce(
    sa.select(Credential.tokens_since).where(Credential.user_id == TokenRow.user_id).scalar_subquery(), 0
)
TOKENS = sa.select(
    TokenRow.id,
    TokenRow.use,
    TokenRow.user_id,
    User.name.label("user_name"),
    TokenRow.name,
    TokenRow.created_by,
    (TokenRow.read_only == 1).label("is_read_only"),
    TokenRow.created_at,
    TOKENS_SINCE.label("tokens_since"),
    TokenRow.expires_at,
    TokenRow.code_expires_at,
    TokenRow.last_used_at,
    (TokenRow.is_public == 1).label("is_public"),
).join_from(TokenRow, User, User.id == TokenRow.user_id)
"""The columns of `Token`."""
IS_DISPLAY = TokenRow.use == DISPLAY


def in_force(now: int) -> sa.ColumnElement[bool]:
    """Return the condition that a token has not expired, and the user's tokens have not ended since its creation."""
    is_current = sa.or_(TokenRow.expires_at.is_(None), TokenRow.expires_at > now)
    return sa.and_(is_current, TokenRow.created_at >= TOKENS_SINCE)


def new_secret(use: str) -> tuple[str, str]:
    """Return a new token and its digest."""
    text = TOKEN_PREFIXES[use] + secrets.token_urlsafe(TOKEN_BYTES)
    return text, token_digest(text, use).text


def read_name(text: str) -> str | None:
    """Return the name of a new token; None if the text is empty or too long."""
    name = read_string(text.strip())
    return name if name and len(name.encode()) <= NAME_BYTES_MAX else None


def require_manageable(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """Raise UserNotFound or UserNotAllowed unless the user is the caller, or one whom the caller may change."""
    if user_id != caller.id:
        administration.find_user(transaction, caller, user_id, Action.UPDATE)


def find_owner(transaction: Transaction, caller: Caller, user_id: str) -> people.UserAccount:
    """Return the user of a new token; raise UserNotFound or UserNotAllowed."""
    require_manageable(transaction, caller, user_id)
    person = people.by_id(transaction, user_id)
    if person is None:
        raise UserNotFound
    return person


def insert_token(transaction: Transaction, token: Token, digest: str, code_digest: str | None = None) -> None:
    columns = {
        "id": token.id,
        "use": token.use,
        "user_id": token.user_id,
        "name": token.name,
        "digest": digest,
        "read_only": int(token.is_read_only),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "created_by": token.created_by,
        "code_digest": code_digest,
        "code_expires_at": token.code_expires_at,
        "is_public": int(token.is_public),
    }
    transaction.execute(sa.insert(TokenRow).values(columns))


def delete_token(transaction: Transaction, token_id: str) -> None:
    transaction.execute(sa.delete(TokenRow).where(TokenRow.id == token_id))


def count_tokens(transaction: Transaction, user_id: str, condition: sa.ColumnElement[bool]) -> int:
    """Return the number of a user's tokens in force with a condition."""
    count = sa.select(sa.func.count()).select_from(TokenRow)
    tokens = count.where(TokenRow.user_id == user_id, condition, in_force(transaction.unix))
    number: int = transaction.execute(tokens).scalar_one()
    return number


Kind = TypeVar("Kind", bound=Token)


def read_tokens(
    transaction: Transaction,
    caller: Caller,
    kind: type[Kind],
    *conditions: sa.ColumnElement[bool],
    limit: int | None = None,
) -> list[Kind]:
    """Return the tokens of the caller and of the users that they may change, with these conditions, oldest first."""
    may_change = caller.rule.rows(Action.UPDATE, User, User.__table__.c)
    tokens = TOKENS.where(sa.or_(may_change, User.id == caller.id), *conditions)
    oldest_first = tokens.order_by(TokenRow.created_at, TokenRow.id).limit(limit)
    return [kind(**row._asdict()) for row in transaction.execute(oldest_first, caller.parameters)]


def record_event(
    transaction: Transaction, action: str, relation: str, caller: Caller, token: Token, **details: Bound
) -> None:
    """Record the creation or revocation of a token in the audit log."""
    user = people.by_id(transaction, token.user_id)
    row_layout.record_entry(
        transaction,
        action,
        relation,
        actor_id=caller.id,
        client_id=user.client_id if user is not None else None,
        row_key=token.id,
        details={"user_id": token.user_id, "name": token.name, **details},
    )


USES: dict[str, float] = {}
"""When this process last recorded the use of a key, on the monotonic clock, by the key's id."""


def is_use_due(token_id: str) -> bool:
    """Return whether the use of a key has to be recorded now. The next answer is False for a minute."""
    now = time.monotonic()
    if now < USES.get(token_id, float("-inf")) + USE_SECONDS:
        return False
    if len(USES) >= USES_REMEMBERED_MAX:
        USES.clear()
    USES[token_id] = now
    return True


def record_use(database: Database, token_id: str) -> None:
    """Store the time of a use, unless another process did within a minute or the write lock is not free soon."""
    try:
        with database.writing(wait_seconds_max=USE_WAIT_SECONDS_MAX, is_brief=True) as transaction:
            now, used_at = transaction.unix, sa.func.coalesce(TokenRow.last_used_at, 0)
            token = sa.update(TokenRow).where(TokenRow.id == token_id, used_at <= now - USE_SECONDS)
            transaction.execute(token.values(last_used_at=now))
    except Fault:
        return  # a later request tries again
