"""The four access tables: who may read a building or an inspection beyond what their client owns."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from models.fields import ColumnDefault
from models.fields import Model
from models.fields import column
from models.types import BIGINT
from models.types import TIMESTAMP
from models.types import UUID


def grant_keys(table: str, grantee: str, target: str, targets: str) -> tuple[Any, ...]:
    """The foreign keys of an access table: two to users, one to what is granted."""

    def foreign_key(name: str, there: str, ondelete: str) -> sa.ForeignKeyConstraint:
        return sa.ForeignKeyConstraint(
            [name], [f"{there}.id"], name=f"{table}_{name}_fkey", ondelete=ondelete
        )

    return (
        foreign_key(grantee, "users", "CASCADE"),
        foreign_key(target, targets, "CASCADE"),
        foreign_key("assigned_by", "users", "SET NULL"),
    )


class ClientAdminBuildingAccess(Model):
    """A building that a client admin may read beyond their client's."""

    __tablename__ = "client_admin_building_access"
    __table_args__ = grant_keys(__tablename__, "admin_id", "building_id", "buildings")

    admin_id = column(UUID, primary_key=True)
    building_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)


class ClientManagerBuildingAccess(Model):
    """A building that a client manager may read."""

    __tablename__ = "client_manager_building_access"
    __table_args__ = grant_keys(__tablename__, "manager_id", "building_id", "buildings")

    manager_id = column(UUID, primary_key=True)
    building_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)


class ClientAdminInspectionAccess(Model):
    """An inspection that a client admin may read beyond their client's."""

    __tablename__ = "client_admin_inspection_access"
    __table_args__ = grant_keys(__tablename__, "admin_id", "inspection_id", "inspections")

    admin_id = column(UUID, primary_key=True)
    inspection_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)


class ClientManagerInspectionAccess(Model):
    """An inspection that a client manager may read."""

    __tablename__ = "client_manager_inspection_access"
    __table_args__ = grant_keys(__tablename__, "manager_id", "inspection_id", "inspections")

    manager_id = column(UUID, primary_key=True)
    inspection_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
