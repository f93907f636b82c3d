"""The hidden tables: credentials, sessions, sign-in attempts and kiosk displays. None of them is a resource."""

from __future__ import annotations

import sqlalchemy as sa

from models.fields import Model
from models.types import UUID

metadata = Model.metadata

CREDENTIALS = sa.Table(
    "credentials",
    metadata,
    sa.Column("user_id", UUID.storage, primary_key=True),
    sa.Column("password_hash", sa.Text),
    sa.Column("app_metadata", sa.Text, nullable=False),
    sa.Column("user_metadata", sa.Text, nullable=False),
    sa.Column("disabled_until", sa.BigInteger, nullable=False),
    sa.Column("tokens_since", sa.BigInteger, nullable=False),
    sa.Column("last_sign_in_at", sa.Text),
)

SESSIONS = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("user_id", UUID.storage, nullable=False),
    sa.Column("salt", sa.Text, nullable=False),
    sa.Column("counter", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.BigInteger, nullable=False),
    sa.Column("rotations", sa.Text, nullable=False),
)

ATTEMPTS = sa.Table(
    "attempts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
)

ORIGINS = sa.Table(
    "origins",
    metadata,
    sa.Column("user_id", UUID.storage, primary_key=True),
    sa.Column("origin", sa.Text, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
)

DEVICES = sa.Table(
    "devices",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("user_id", UUID.storage, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("token_digest", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

FACTS = sa.Table(
    "facts", metadata, sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
