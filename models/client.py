"""The clients."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, TEXT, TIMESTAMP


class Client(Model):
    """A company that owns buildings."""

    __tablename__ = "clients"
    tenant: ClassVar = "id"
    expected_rows: ClassVar = 20

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    name = column(TEXT, required=True, listed=True, searchable=True, example="Harbor Housing")
    address = column(TEXT, multiline=True, example="1 Harbor Road, Portland, ME 04101")
    phone = column(TEXT, label="Telephone", example="+1 207 555 0100")
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
