"""The inspectors."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, TEXT


class Inspector(Model):
    """A person who inspects buildings. An inspector is not a user."""

    __tablename__ = "inspectors"
    expected_rows: ClassVar = 200

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    name = column(TEXT, required=True, listed=True, searchable=True, example="Ines Park")
    email = column(TEXT, label="E-mail", listed=True, searchable=True, example="ines@example.org")
