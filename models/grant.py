"""The four grant tables: users who may read a building or an inspection in addition to the rows of their role."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, TIMESTAMP, UUID


def grant_keys(table: str, grantee: str, target: str, targets: str) -> tuple[Any, ...]:
    """Return the foreign keys of a grant table: two to users, one to the granted row."""

    def foreign_key(name: str, parent: str, ondelete: str) -> sa.ForeignKeyConstraint:
        return sa.ForeignKeyConstraint([name], [f"{parent}.id"], name=f"{table}_{name}_fkey", ondelete=ondelete)

    return (
        foreign_key(grantee, "users", "CASCADE"),
        foreign_key(target, targets, "CASCADE"),
        foreign_key("assigned_by", "users", "SET NULL"),
    )


class ClientAdminBuildingAccess(Model):
    """A grant: a client admin may read a building in addition to those of their client."""

    __tablename__ = "client_admin_building_access"
    __table_args__ = grant_keys(__tablename__, "admin_id", "building_id", "buildings")

    admin_id = column(UUID, primary_key=True)
    building_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)


class ClientManagerBuildingAccess(Model):
    """A grant: a client manager may read a building."""

    __tablename__ = "client_manager_building_access"
    __table_args__ = grant_keys(__tablename__, "manager_id", "building_id", "buildings")

    manager_id = column(UUID, primary_key=True)
    building_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)


class ClientAdminInspectionAccess(Model):
    """A grant: a client admin may read an inspection in addition to those of their client."""

    __tablename__ = "client_admin_inspection_access"
    __table_args__ = grant_keys(__tablename__, "admin_id", "inspection_id", "inspections")

    admin_id = column(UUID, primary_key=True)
    inspection_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)


class ClientManagerInspectionAccess(Model):
    """A grant: a client manager may read an inspection."""

    __tablename__ = "client_manager_inspection_access"
    __table_args__ = grant_keys(__tablename__, "manager_id", "inspection_id", "inspections")

    manager_id = column(UUID, primary_key=True)
    inspection_id = column(BIGINT, primary_key=True)
    assigned_by = column(UUID, default=ColumnDefault.CALLER_ID)
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
