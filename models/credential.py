"""The hidden tables: credentials, sessions, sign-in attempts, displays, API keys, spent links. None is a resource."""

from __future__ import annotations

from typing import Any, ClassVar

from models.fields import Index, Model, column, references
from models.types import BIGINT, TEXT, UUID

metadata = Model.metadata


class Credential(Model):
    """The credentials of a user, at most one row for each. A user without a row cannot sign in. Times are Unix seconds.

    tokens_since: tokens without a session that were issued earlier are invalid. A new password, a global sign-out and a
    change of role or client set it to the following second, because `iat` counts whole seconds.
    """

    __tablename__ = "credentials"

    user_id = column(UUID, references("users.id", on_delete="cascade"), primary_key=True)
    password_hash = column(TEXT)
    app_metadata = column(TEXT, required=True, stored_default="{}")
    user_metadata = column(TEXT, required=True, stored_default="{}")
    disabled_until = column(BIGINT, required=True, stored_default=0)
    tokens_since = column(BIGINT, required=True, stored_default=0)
    last_sign_in_at = column(TEXT)


class Session(Model):
    """Sessions. Refresh tokens are derived from id, counter and salt; none is stored.

    rotations: [[second, first counter used in it], …] of the last 30 seconds.
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


class Device(Model):
    """Kiosk displays. Each reads as one user, by a token of which only the digest is stored. Times are Unix seconds.

    credentials.tokens_since ends these tokens, too. A new display has a code until it is paired, and the digest of no
    token.
    """

    __tablename__ = "devices"
    unique: ClassVar = {"token_digest_key": ("token_digest",), "code_digest_key": ("code_digest",)}

    id = column(TEXT, primary_key=True)
    user_id = column(UUID, references("users.id", on_delete="cascade"), required=True)
    name = column(TEXT, required=True, bytes_max=256)
    token_digest = column(TEXT, required=True)
    created_at = column(BIGINT, required=True)
    last_seen_at = column(BIGINT)
    expires_at = column(BIGINT, required=True)
    code_digest = column(TEXT)
    code_expires_at = column(BIGINT)


class ApiKeyRow(Model):
    """API keys and calendar links. Each has the rights of one user; only its digest is stored. Times are Unix seconds.

    read_only is 0 or 1. credentials.tokens_since ends these keys, too. A key goes with its creator, who knows it. A key
    that the service key made has no creator. The digest of a calendar link begins with `calendar:`.
    """

    __tablename__ = "api_keys"
    unique: ClassVar = {"digest_key": ("digest",)}

    id = column(TEXT, primary_key=True)
    user_id = column(UUID, references("users.id", on_delete="cascade"), required=True)
    name = column(TEXT, required=True, bytes_max=256)
    digest = column(TEXT, required=True)
    read_only = column(BIGINT, required=True, minimum=0, maximum=1)
    created_at = column(BIGINT, required=True)
    last_used_at = column(BIGINT)
    expires_at = column(BIGINT)
    created_by = column(UUID, references("users.id", on_delete="cascade"))


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


HIDDEN: tuple[type[Model], ...] = (Credential, Session, Attempt, Origin, Device, ApiKeyRow, SpentLink, Fact)

CREDENTIALS: Any = Credential.__table__
SESSIONS: Any = Session.__table__
ATTEMPTS: Any = Attempt.__table__
ORIGINS: Any = Origin.__table__
DEVICES: Any = Device.__table__
API_KEYS: Any = ApiKeyRow.__table__
SPENT_LINKS: Any = SpentLink.__table__
FACTS: Any = Fact.__table__
