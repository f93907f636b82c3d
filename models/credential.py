"""The hidden tables: credentials, sessions, sign-in attempts, tokens, spent links, closings. None is a resource."""

from __future__ import annotations

from typing import Any, ClassVar

from models.fields import Index, Model, column, references
from models.inspection import VisitClosing
from models.types import BIGINT, TEXT, UUID

metadata = Model.metadata

API_KEY, CALENDAR_LINK, DISPLAY = TOKEN_USES = ("api_key", "calendar_link", "display")
"""The uses of long-lived tokens."""


class Credential(Model):
    """The credentials of a user, at most one row for each. A user without a row cannot sign in. Times are Unix seconds.

    tokens_since: tokens without a session that were issued earlier are invalid. A new password, a global sign-out and a
    change of role or client set it to the following second, because `iat` counts whole seconds.
    is_temporary: 1 if an administrator chose the password in the console. The console then asks for another one.
    """

    __tablename__ = "credentials"

    user_id = column(UUID, references("users.id", on_delete="cascade"), primary_key=True)
    password_hash = column(TEXT)
    app_metadata = column(TEXT, required=True, stored_default="{}")
    user_metadata = column(TEXT, required=True, stored_default="{}")
    disabled_until = column(BIGINT, required=True, stored_default=0)
    tokens_since = column(BIGINT, required=True, stored_default=0)
    last_sign_in_at = column(TEXT)
    is_temporary = column(BIGINT, required=True, stored_default=0, minimum=0, maximum=1)


class Session(Model):
    """Sessions. Refresh tokens are derived from id, counter and salt; none is stored.

    rotations: [[second, first counter used in it], …] of the last 30 seconds.
    device: the browser and system, or the program, that signed in, by its own word.
    """

    __tablename__ = "sessions"
    indexes: ClassVar = (
        Index("sessions_user_id", ("user_id", "last_used_at")),
        Index("sessions_last_used_at", ("last_used_at",)),
    )

    id = column(TEXT, primary_key=True)
    user_id = column(UUID, references("users.id", on_delete="cascade"), required=True)
    salt = column(TEXT, required=True)
    counter = column(BIGINT, required=True, stored_default=0)
    created_at = column(BIGINT, required=True)
    last_used_at = column(BIGINT, required=True)
    rotations = column(TEXT, required=True, stored_default="[]")
    device = column(TEXT, bytes_max=256)


class Attempt(Model):
    """Failed and pending sign-in attempts, by target account and by origin."""

    __tablename__ = "attempts"
    indexes: ClassVar = (
        Index("attempts_subject", ("kind", "subject", "at")),
        Index("attempts_origin", ("kind", "origin", "at")),
        Index("attempts_at", ("at",)),
    )

    id = column(BIGINT, primary_key=True)
    kind = column(TEXT, required=True)
    subject = column(TEXT, required=True)
    origin = column(TEXT, required=True)
    at = column(BIGINT, required=True)


class Origin(Model):
    """Addresses from which a user has signed in. Failed attempts from other addresses do not lock these out."""

    __tablename__ = "origins"

    user_id = column(UUID, references("users.id", on_delete="cascade"), primary_key=True)
    origin = column(TEXT, primary_key=True)
    at = column(BIGINT, required=True)


class TokenRow(Model):
    """API keys, calendar links and kiosk displays. Each has rights of one user; only its digest is stored.

    read_only and is_public are 0 or 1. Times are Unix seconds. credentials.tokens_since ends these tokens, too. API
    keys and calendar links go with their creator, who knows them; one that the service key made has no creator. A
    display without a creator has lost the user who made it. A new display has a code until it is paired, and the digest
    of no token. A public display shows counts, dates and buildings alone.
    """

    __tablename__ = "tokens"
    unique: ClassVar = {"digest_key": ("digest",), "code_digest_key": ("code_digest",)}

    id = column(TEXT, primary_key=True)
    use = column(TEXT, required=True, allowed_values=TOKEN_USES)
    user_id = column(UUID, references("users.id", on_delete="cascade"), required=True)
    name = column(TEXT, required=True, bytes_max=256)
    digest = column(TEXT, required=True)
    read_only = column(BIGINT, required=True, minimum=0, maximum=1)
    created_at = column(BIGINT, required=True)
    last_used_at = column(BIGINT)
    expires_at = column(BIGINT)
    created_by = column(UUID, references("users.id", on_delete="set null"))
    code_digest = column(TEXT)
    code_expires_at = column(BIGINT)
    is_public = column(BIGINT, required=True, stored_default=0, minimum=0, maximum=1)


class SpentLink(Model):
    """Signed uploads of files that were used. Times are Unix seconds."""

    __tablename__ = "spent_links"

    id = column(TEXT, primary_key=True)
    expires_at = column(BIGINT, required=True)


class Fact(Model):
    """Single values of this database, such as the clock's latest time."""

    __tablename__ = "facts"

    name = column(TEXT, primary_key=True)
    value = column(TEXT, required=True)


HIDDEN: tuple[type[Model], ...] = (Credential, Session, Attempt, Origin, TokenRow, SpentLink, Fact, VisitClosing)

CREDENTIALS: Any = Credential.__table__
SESSIONS: Any = Session.__table__
TOKENS: Any = TokenRow.__table__
