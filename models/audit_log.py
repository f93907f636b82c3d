"""What happened to rows, by whose hand: a resource that only triggers write (see engine/audit.py)."""

from __future__ import annotations

from models.fields import ColumnDefault
from models.fields import Model
from models.fields import column
from models.types import BIGINT
from models.types import JSON
from models.types import TEXT
from models.types import TIMESTAMP
from models.types import UUID

AT_ONCE = "archive"
"""What a line is of that tells of many rows, of none by itself."""


class AuditLog(Model):
    """One change of one row, or one sign-in or refusal. Append-only: nobody, nothing changes it."""

    __tablename__ = "audit_log"
    # For administrators, not for applications: what these are built against is the ten resources.
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
