"""The clients."""

from __future__ import annotations

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, TEXT, TIMESTAMP


class Client(Model):
    """A company that owns buildings."""

    __tablename__ = "clients"

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    name = column(TEXT, required=True)
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE)
