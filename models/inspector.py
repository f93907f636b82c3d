"""The inspectors."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column, references
from models.types import BIGINT, DATE, TEXT, UUID


class Inspector(Model):
    """A person who inspects buildings, with their license and firm. `user_id` links the user who signs in as them."""

    __tablename__ = "inspectors"
    expected_rows: ClassVar = 200
    unique: ClassVar = {"user_id_key": ("user_id",)}

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    name = column(TEXT, required=True, listed=True, searchable=True, example="Ines Park")
    email = column(TEXT, label="E-mail", listed=True, narrow=True, searchable=True, example="ines@example.org")
    user_id = column(
        UUID, references("users.id", on_delete="set null"), label="Signs in as",
        help="A client manager who reads and works on the visits of this inspector.",
    )  # fmt: skip
    license = column(TEXT, example="LI-20417")
    license_state = column(TEXT, label="State of the license", example="VA")
    license_expires_on = column(DATE, label="License expires", listed=True, example="2027-06-30")
    firm = column(TEXT, listed=True, searchable=True, example="Park Inspections")
    firm_address = column(TEXT, label="Address of the firm", multiline=True, example="1 Main Street, Richmond")
    firm_phone = column(TEXT, label="Telephone of the firm", example="+1 804 555 0100")
    firm_certificate = column(TEXT, label="Certificate of the firm", example="FC-3021")
