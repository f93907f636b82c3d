"""The audit log, which only triggers write (see engine/audit.py)."""

from __future__ import annotations

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, JSON, TEXT, TIMESTAMP, UUID

BULK_RELATION = "archive"
"""`relation` of an entry that stands for many rows, such as an import."""


class AuditLog(Model):
    """One change of one row, one sign-in or one refusal. Triggers refuse changes and deletions of entries."""

    __tablename__ = "audit_log"
    # The audit log is for administrators. Applications use the other ten resources.
    is_published = False

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
    actor_id = column(UUID)
    action = column(TEXT, required=True)
    relation = column(TEXT, required=True)
    row_key = column(TEXT)
    client_id = column(BIGINT)
    before = column(JSON)
    after = column(JSON)
