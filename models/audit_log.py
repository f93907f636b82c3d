"""The audit log, which only triggers write (see engine/query/write/row_layout.py)."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column
from models.types import BIGINT, JSON, TEXT, TIMESTAMP, UUID

BULK_RELATION = "archive"
"""`relation` of an entry that stands for many rows, such as an import."""


class AuditLog(Model):
    """One change of one row, one sign-in or one refusal. Triggers refuse changes and deletions of entries."""

    __tablename__ = "audit_log"
    # The audit log is for administrators. Applications use the other ten resources.
    is_published: ClassVar = False
    written_by_triggers: ClassVar = True
    expected_rows: ClassVar = 3_000_000
    label: ClassVar = "Entry"
    plural: ClassVar = "Audit log"
    title_column: ClassVar = "at"
    list_order: ClassVar = "id.desc"
    indexes: ClassVar = (
        Index("audit_log_client_id", ("client_id",), "sqlite", distinct=(150_000,)),
        Index("audit_log_relation", ("relation", "row_key", "client_id"), "sqlite", distinct=(300_000, 3, 3)),
        Index(
            "audit_log_refused",
            ("actor_id",),
            "sqlite",
            where="action = 'refused'",
            expected_rows=1_000,
            distinct=(10,),
        ),
        Index("audit_log_client_id", ("client_id", "id"), "postgresql"),
        Index("audit_log_relation", ("relation", "substr(row_key, 1, 200)"), "postgresql"),
        Index("audit_log_refused", ("actor_id", "id"), "postgresql", where="action = 'refused'"),
        Index(
            "audit_log_actor",
            ("actor_id", "(id + 0)"),
            "postgresql",
            comment="The caller's last entry, which a standby must have replayed before it may answer. (id + 0) keeps"
            " the planner from a backward scan of the primary key, slow for a caller whose entries are old.",
        ),
    )

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Time", listed=True)
    actor_id = column(UUID, label="Person", listed=True)
    action = column(TEXT, required=True, listed=True)
    relation = column(TEXT, required=True, label="Table", listed=True)
    row_key = column(TEXT, label="Row", listed=True)
    client_id = column(BIGINT)
    before = column(JSON)
    after = column(JSON)
