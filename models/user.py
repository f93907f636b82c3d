"""The users."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.types import BIGINT, TEXT, TIMESTAMP, UUID


class User(Model):
    """A person with a role. Every user except a super admin belongs to a client."""

    __tablename__ = "users"
    tenant: ClassVar = "client_id"
    expected_rows: ClassVar = 220
    unique: ClassVar = {"email_key": ("email",)}
    checks: ClassVar = {"check": "(role = 'super_admin') = (client_id IS NULL)"}
    indexes: ClassVar = (
        Index(
            "users_lower_email_key", ("lower(email)",), unique=True, distinct=(1,),
            comment="E-mail addresses are unique regardless of case.",
        ),
        Index("users_client_id", ("client_id",), distinct=(11,)),
    )  # fmt: skip

    cascading_columns: ClassVar = ("role",)

    id = column(UUID, primary_key=True, default=ColumnDefault.RANDOM_UUID)
    email = column(TEXT, required=True, label="E-mail", listed=True, searchable=True, example="maria@example.org")
    name = column(TEXT, required=True, listed=True, searchable=True, example="Maria Quinn")
    role = column(
        TEXT, required=True, allowed_values=("super_admin", "client_admin", "client_manager"), listed=True,
        searchable=True, narrow=True, example="client_manager",
    )  # fmt: skip
    client_id = column(BIGINT, references("clients.id"), label="Client", listed=True, narrow=True, example=1)
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
