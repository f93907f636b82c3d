"""The inspectors."""

from __future__ import annotations

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, TEXT


class Inspector(Model):
    """A person who inspects buildings. An inspector is not a user."""

    __tablename__ = "inspectors"

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    name = column(TEXT, required=True)
    email = column(TEXT)
