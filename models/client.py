"""The companies that own buildings."""

from __future__ import annotations

from models.fields import Filled
from models.fields import Model
from models.fields import column
from models.types import BIGINT
from models.types import TEXT
from models.types import TIMESTAMP


class Client(Model):
    """An owning company."""

    __tablename__ = "clients"

    id = column(BIGINT, primary_key=True, filled=Filled.BY_SEQUENCE)
    name = column(TEXT, required=True)
    created_at = column(TIMESTAMP, required=True, filled=Filled.BY_CLOCK)
    updated_at = column(TIMESTAMP, required=True, filled=Filled.BY_CLOCK_ALWAYS)
