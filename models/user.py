"""The users."""

from __future__ import annotations

from typing import ClassVar

import sqlalchemy as sa

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, TEXT, TIMESTAMP, UUID


class User(Model):
    """A person with a role. Every user except a super admin belongs to a client."""

    __tablename__ = "users"
    __table_args__ = (
        sa.UniqueConstraint("email", name="users_email_key"),
        sa.ForeignKeyConstraint(["client_id"], ["clients.id"], name="users_client_id_fkey", ondelete="RESTRICT"),
    )

    cascading_columns: ClassVar = ("role",)

    id = column(UUID, primary_key=True, default=ColumnDefault.RANDOM_UUID)
    email = column(TEXT, required=True)
    name = column(TEXT, required=True)
    role = column(TEXT, required=True)
    client_id = column(BIGINT)
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE)
