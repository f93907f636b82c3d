"""The four grant tables: users who may read a building or an inspection in addition to the rows of their role."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Grant, Index, Model, column, references
from models.types import BIGINT, TIMESTAMP, UUID


class ClientAdminBuildingAccess(Model):
    """A grant: a client admin may read a building in addition to those of their client."""

    __tablename__ = "client_admin_building_access"
    label: ClassVar = "Building access of a client admin"
    plural: ClassVar = "Building access of client admins"
    grant: ClassVar = Grant("admin_id", "building_id", role="client_admin")
    expected_rows: ClassVar = 100
    key_distinct: ClassVar = (5, 1)
    indexes: ClassVar = (
        Index("client_admin_building_access_building_id", ("building_id",), distinct=(2,)),
        Index("client_admin_building_access_assigned_by", ("assigned_by",), distinct=(50,)),
    )

    admin_id = column(
        UUID, references("users.id", on_delete="cascade"), primary_key=True, label="Client admin", listed=True
    )
    building_id = column(
        BIGINT, references("buildings.id", on_delete="cascade"), primary_key=True, label="Building", listed=True
    )
    assigned_by = column(
        UUID,
        references("users.id", on_delete="set null"),
        default=ColumnDefault.CALLER_ID,
        label="Granted by",
        listed=True,
    )
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Granted", listed=True)


class ClientManagerBuildingAccess(Model):
    """A grant: a client manager may read a building."""

    __tablename__ = "client_manager_building_access"
    label: ClassVar = "Building access of a client manager"
    plural: ClassVar = "Building access of client managers"
    grant: ClassVar = Grant("manager_id", "building_id", role="client_manager")
    expected_rows: ClassVar = 5_000
    key_distinct: ClassVar = (25, 1)
    indexes: ClassVar = (
        Index("client_manager_building_access_building_id", ("building_id",), distinct=(2,)),
        Index("client_manager_building_access_assigned_by", ("assigned_by",), distinct=(250,)),
    )

    manager_id = column(
        UUID, references("users.id", on_delete="cascade"), primary_key=True, label="Client manager", listed=True
    )
    building_id = column(
        BIGINT, references("buildings.id", on_delete="cascade"), primary_key=True, label="Building", listed=True
    )
    assigned_by = column(
        UUID,
        references("users.id", on_delete="set null"),
        default=ColumnDefault.CALLER_ID,
        label="Granted by",
        listed=True,
    )
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Granted", listed=True)


class ClientAdminInspectionAccess(Model):
    """A grant: a client admin may read an inspection in addition to those of their client."""

    __tablename__ = "client_admin_inspection_access"
    label: ClassVar = "Inspection access of a client admin"
    plural: ClassVar = "Inspection access of client admins"
    grant: ClassVar = Grant("admin_id", "inspection_id", role="client_admin")
    expected_rows: ClassVar = 100
    key_distinct: ClassVar = (5, 1)
    indexes: ClassVar = (
        Index("client_admin_inspection_access_inspection_id", ("inspection_id",), distinct=(2,)),
        Index("client_admin_inspection_access_assigned_by", ("assigned_by",), distinct=(50,)),
    )

    admin_id = column(
        UUID, references("users.id", on_delete="cascade"), primary_key=True, label="Client admin", listed=True
    )
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade"), primary_key=True, label="Inspection", listed=True
    )
    assigned_by = column(
        UUID,
        references("users.id", on_delete="set null"),
        default=ColumnDefault.CALLER_ID,
        label="Granted by",
        listed=True,
    )
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Granted", listed=True)


class ClientManagerInspectionAccess(Model):
    """A grant: a client manager may read an inspection."""

    __tablename__ = "client_manager_inspection_access"
    label: ClassVar = "Inspection access of a client manager"
    plural: ClassVar = "Inspection access of client managers"
    grant: ClassVar = Grant("manager_id", "inspection_id", role="client_manager")
    expected_rows: ClassVar = 1_000
    key_distinct: ClassVar = (5, 1)
    indexes: ClassVar = (
        Index("client_manager_inspection_access_inspection_id", ("inspection_id",), distinct=(2,)),
        Index("client_manager_inspection_access_assigned_by", ("assigned_by",), distinct=(50,)),
    )

    manager_id = column(
        UUID, references("users.id", on_delete="cascade"), primary_key=True, label="Client manager", listed=True
    )
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade"), primary_key=True, label="Inspection", listed=True
    )
    assigned_by = column(
        UUID,
        references("users.id", on_delete="set null"),
        default=ColumnDefault.CALLER_ID,
        label="Granted by",
        listed=True,
    )
    assigned_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Granted", listed=True)
