"""Insert many grants for one user in one transaction: all of them, or none.

The grant tables' row rules decide who may grant what to whom. An existing grant keeps its grantor and time.
No error names an id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from access.caller import Caller
from access.decorators import function
from access.predicates import CLIENT_ADMIN, CLIENT_MANAGER, GRANT_TABLES, id_array, required_parameter
from access.roles import ADMINS, SUPER_ADMINS, GrantKind, Role
from engine import execute
from engine.interface.database import Transaction
from engine.query.catalog import ForeignKeyViolation, catalog
from engine.query.statement import Binding
from engine.query.write.insert import Conflict, Insertion
from engine.query.write.rules import RowDenied
from engine.rows import read_rows
from models import User
from models.types import UUID, Denial, Fault

IDS_MAX = 1_000  # per array


class InvalidGrantee(Fault, code="23514"):
    """The grantee does not exist, is hidden from the caller, or has another role (23514). All share one text."""

    def __init__(self, role: Role) -> None:
        super().__init__(f"The grantee is not a {role.value}")


class TargetOutOfScope(Denial):
    """A building or inspection does not exist, or the caller may not grant it."""

    def __init__(self, kind: GrantKind) -> None:
        super().__init__(f"permission denied to assign every {kind.value} of the list")


@dataclass(frozen=True, slots=True)
class AssignmentCounts:
    """The numbers of grants that an assignment created and that existed before it."""

    created: int
    existing: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """The result of an assignment to a client admin."""

    success: Literal[True]
    assigned: int
    already_assigned: int


@dataclass(frozen=True, slots=True)
class AssignedBoth:
    """The result of an assignment to a client manager."""

    success: Literal[True]
    assigned_buildings: int
    assigned_inspections: int
    already_assigned: int


@function(
    "assign_buildings_to_client_admin",
    summary="Let a client admin read buildings",
    roles=SUPER_ADMINS,
    parameters={"admin_id": required_parameter(UUID), "building_ids": id_array(IDS_MAX)},
    is_volatile=True,
)
def assign_buildings_to_client_admin(
    transaction: Transaction, caller: Caller, admin_id: str, building_ids: Sequence[int]
) -> Assigned:
    counts = assign_to_client_admin(transaction, caller, admin_id, GrantKind.BUILDING, building_ids)
    return Assigned(True, counts.created, counts.existing)


@function(
    "assign_inspections_to_client_admin",
    summary="Let a client admin read inspections",
    roles=SUPER_ADMINS,
    parameters={"admin_id": required_parameter(UUID), "inspection_ids": id_array(IDS_MAX)},
    is_volatile=True,
)
def assign_inspections_to_client_admin(
    transaction: Transaction, caller: Caller, admin_id: str, inspection_ids: Sequence[int]
) -> Assigned:
    counts = assign_to_client_admin(transaction, caller, admin_id, GrantKind.INSPECTION, inspection_ids)
    return Assigned(True, counts.created, counts.existing)


@function(
    "assign_to_client_manager",
    summary="Let a client manager read buildings and inspections",
    roles=ADMINS,
    parameters={
        "manager_id": required_parameter(UUID),
        "building_ids": id_array(IDS_MAX, required=False),
        "inspection_ids": id_array(IDS_MAX, required=False),
    },
    is_volatile=True,
)
def assign_to_manager(
    transaction: Transaction,
    caller: Caller,
    manager_id: str,
    building_ids: Sequence[int] = (),
    inspection_ids: Sequence[int] = (),
) -> AssignedBoth:
    buildings, inspections = assign_to_client_manager(transaction, caller, manager_id, building_ids, inspection_ids)
    return AssignedBoth(True, buildings.created, inspections.created, buildings.existing + inspections.existing)


def assign_to_client_admin(
    transaction: Transaction, caller: Caller, admin_id: str, kind: GrantKind, ids: Sequence[int]
) -> AssignmentCounts:
    """Grant buildings or inspections of other clients to a client admin."""
    return assign_to_user(transaction, caller, CLIENT_ADMIN, admin_id, kind, ids)


def assign_to_client_manager(
    transaction: Transaction,
    caller: Caller,
    manager_id: str,
    building_ids: Sequence[int],
    inspection_ids: Sequence[int],
) -> tuple[AssignmentCounts, AssignmentCounts]:
    """Grant buildings and inspections to a client manager."""
    require_grantee(transaction, caller, CLIENT_MANAGER, manager_id)
    return (
        insert_grants(transaction, caller, CLIENT_MANAGER, manager_id, GrantKind.BUILDING, building_ids),
        insert_grants(transaction, caller, CLIENT_MANAGER, manager_id, GrantKind.INSPECTION, inspection_ids),
    )


def assign_to_user(
    transaction: Transaction, caller: Caller, role: Role, grantee_id: str, kind: GrantKind, ids: Sequence[int]
) -> AssignmentCounts:
    """Grant buildings or inspections to a user of a role."""
    require_grantee(transaction, caller, role, grantee_id)
    return insert_grants(transaction, caller, role, grantee_id, kind, ids)


def require_grantee(transaction: Transaction, caller: Caller, role: Role, user_id: str) -> None:
    """Raise InvalidGrantee unless the caller can read a user of this id and role."""
    if not read_rows(transaction, caller, User.__tablename__, ("id",), id=user_id, role=role.value):
        raise InvalidGrantee(role)


def insert_grants(
    transaction: Transaction, caller: Caller, role: Role, grantee_id: str, kind: GrantKind, ids: Sequence[int]
) -> AssignmentCounts:
    grants = GRANT_TABLES[role, kind]
    rows = [{grants.grantee: grantee_id, grants.target: each} for each in dict.fromkeys(ids)]
    if not rows:
        return AssignmentCounts(0, 0)
    try:
        result = execute.insert(
            transaction,
            caller.rule,
            Binding(parameters=caller.parameters),
            relation=catalog().relations[grants.model.__tablename__],
            insertion=Insertion(rows, (grants.grantee, grants.target), Conflict.IGNORE),
            shape=None,
        )
    except (RowDenied, ForeignKeyViolation) as refusal:
        raise TargetOutOfScope(kind) from refusal
    return AssignmentCounts(result.inserted, len(rows) - result.inserted)
