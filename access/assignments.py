"""Many grants to one person in one transaction: all of them, or none.

What may be granted to whom is the grant table's own rule: every grant goes through the engine's insert
as any other row would, and a grant that exists is left as it is, with its first grantor and time.
Knows no wire; that no refusal names an id is seen to here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from access.caller import Caller
from access.caller import Kind
from access.caller import Role
from access.policy import CLIENT_ADMIN
from access.policy import CLIENT_MANAGER
from access.policy import GRANTS
from access.policy import AccessRule
from engine.query import execute
from engine.query.catalog import catalog
from engine.query.constraints import ForeignKeyViolation
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from engine.query.write.insert import Conflict
from engine.query.write.insert import Insertion
from engine.query.write.row_security import RowDenied
from engine.storage.database import Transaction
from models import User
from models.errors import Denial
from models.errors import Fault

IDS_MAX = 1_000  # of one array


class NotAGrantee(Fault):
    """A user who does not exist, or is out of reach, or of another role (23514); one text for all."""

    def __init__(self, role: Role) -> None:
        super().__init__(f"The grantee is not a {role.value}")


class TargetOutOfReach(Denial):
    """A building or inspection that does not exist, or is not the caller's to grant (42501)."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"permission denied to assign every {kind.value} of the list")


@dataclass(frozen=True, slots=True)
class Assigned:
    """How many grants were made, and how many there were already."""

    made: int
    already: int


def assign_to_client_admin(
    transaction: Transaction, caller: Caller, admin_id: str, kind: Kind, ids: Sequence[int]
) -> Assigned:
    """Let a client admin read buildings or inspections beyond their client's."""
    return assign_to(transaction, caller, CLIENT_ADMIN, admin_id, kind, ids)


def assign_to_client_manager(
    transaction: Transaction,
    caller: Caller,
    manager_id: str,
    building_ids: Sequence[int],
    inspection_ids: Sequence[int],
) -> tuple[Assigned, Assigned]:
    """Let a client manager read buildings and inspections."""
    require_grantee(transaction, caller, CLIENT_MANAGER, manager_id)
    return (
        assign(transaction, caller, CLIENT_MANAGER, manager_id, Kind.BUILDING, building_ids),
        assign(transaction, caller, CLIENT_MANAGER, manager_id, Kind.INSPECTION, inspection_ids),
    )


def assign_to(
    transaction: Transaction,
    caller: Caller,
    role: Role,
    grantee_id: str,
    kind: Kind,
    ids: Sequence[int],
) -> Assigned:
    """Let a user of that role read buildings or inspections."""
    require_grantee(transaction, caller, role, grantee_id)
    return assign(transaction, caller, role, grantee_id, kind, ids)


def require_grantee(transaction: Transaction, caller: Caller, role: Role, user_id: str) -> None:
    """Raise NotAGrantee unless the caller can see a user of that role and id."""
    statement = plan_grantee(transaction.dialect.name, AccessRule(caller.standing), role)
    if transaction.one(statement.sql, statement.bind(binding_of(caller, user_id))) is None:
        raise NotAGrantee(role)


@cache
def plan_grantee(database: str, rule: AccessRule, role: Role) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    user, scope = planner.scoped(catalog().relations[User.__tablename__])
    planner.slots["user_id"] = new_value(0)
    named = user.c.id == parameter("user_id", user.c.id.type)
    return planner.finish(sa.select(user.c.id).where(named, user.c.role == role.value, scope))


def assign(
    transaction: Transaction,
    caller: Caller,
    role: Role,
    grantee_id: str,
    kind: Kind,
    ids: Sequence[int],
) -> Assigned:
    grants = GRANTS[role, kind]
    rows = [{grants.grantee: grantee_id, grants.target: each} for each in dict.fromkeys(ids)]
    if not rows:
        return Assigned(0, 0)
    try:
        written = execute.insert(
            transaction,
            AccessRule(caller.standing),
            binding_of(caller),
            relation=catalog().relations[grants.model.__tablename__],
            insertion=Insertion(rows, (grants.grantee, grants.target), Conflict.IGNORE),
            shape=None,
            veto=allow_any_number,
        )
    except (RowDenied, ForeignKeyViolation) as refusal:
        raise TargetOutOfReach(kind) from refusal
    return Assigned(written.inserted, len(rows) - written.inserted)


def allow_any_number(count: int) -> None:
    """IDS_MAX has been seen to where the arrays were read."""


def binding_of(caller: Caller, *new: str) -> Binding:
    return Binding(caller_id=caller.id, caller_client_id=caller.client_id, new=new)
