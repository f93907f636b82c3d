"""What the service must do with a request, over plain dicts: the oracle says who may, this says what then happens.

Written from what is promised (deletions, grants that fall, the order in which refusals speak) and importing nothing
of the service. A world is `{table: [row, …]}`; nothing here changes one, every answer is a new one.
"""

import copy
from dataclasses import dataclass, field

from tests.conftest import RESOURCES
from tests.support import oracle
from tests.support.worlds import GRANTS

CLOCKED = ("clients", "users", "buildings", "inspections")
POINTS_AT = {
    "users": (("client_id", "clients"),),
    "buildings": (("client_id", "clients"),),
    "inspections": (("building_id", "buildings"), ("inspector_id", "inspectors")),
    "reports_lead": (("inspection_id", "inspections"),),
    **{
        table: ((grantee, "users"), (target, targets), ("assigned_by", "users"))
        for table, (_, grantee, targets, target) in GRANTS.items()
    },
}


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on one column: any of these values."""

    column: str
    values: tuple


@dataclass(frozen=True, slots=True)
class Insert:
    table: str
    rows: tuple[dict, ...]


@dataclass(frozen=True, slots=True)
class Update:
    table: str
    where: Where
    changes: dict


@dataclass(frozen=True, slots=True)
class Delete:
    table: str
    where: Where


Step = Insert | Update | Delete


@dataclass(slots=True)
class End:
    """How a write ends: `done` or a refusal, the world afterwards, what it touched, and whose tokens died."""

    how: str
    world: dict
    touched: int = 0
    made: list[dict] = field(default_factory=list)
    dead: set[str] = field(default_factory=set)


class Refused(Exception):
    """A constraint that speaks; its code."""


def end_of(world: dict, user: dict, step: Step, now: str) -> End:
    """Say what becomes of a write."""
    if not oracle.has_privilege(user, step.table):
        return End("privilege", world)
    attempt = End("done", copy.deepcopy(world))
    try:
        if isinstance(step, Insert):
            insert(attempt, user, step, now)
        elif isinstance(step, Update):
            update(attempt, user, step, now)
        else:
            delete(attempt, user, step)
    except Refused as refused:
        return End(str(refused), world)
    return attempt


def reached(world: dict, user: dict, step: Update | Delete) -> list[dict]:
    """The rows that the filter matches, that may be read, and that may be written."""
    return [
        row
        for row in world[step.table]
        if row[step.where.column] in step.where.values
        and oracle.visible(world, user, step.table, row)
        and oracle.is_in_write_scope(world, user, step.table, row)
    ]


# Inserting


def insert(end: End, user: dict, step: Insert, now: str) -> None:
    rows = [completed(step.table, row, user, now) for row in step.rows]
    if not all(oracle.permits_new_row(end.world, user, step.table, row) for row in rows):
        raise Refused("rule")
    for row in rows:
        constrain(end.world, step.table, row, None)
        end.world[step.table].append(row)
        end.made.append(row)
    for row in rows:
        require_references(end.world, step.table, row)
    end.touched = len(rows)


def completed(table: str, row: dict, user: dict, now: str) -> dict:
    """The row as it will be stored, but for an id that the database chooses."""
    if table in oracle.KEYS:
        return {"assigned_by": user["id"], "assigned_at": now, **row}
    clocks = {"created_at": now, "updated_at": now} if table in CLOCKED else {}
    return {"id": None, **clocks, **row}


def constrain(world: dict, table: str, row: dict, old: dict | None) -> None:
    """Raise what the first constraint says to a row: who it is for, and that it is the only one."""
    if table in GRANTS:
        role, grantee, *_ = GRANTS[table]
        person = oracle.find(world, "users", row[grantee])
        moved = old is None or old[grantee] != row[grantee]
        if moved and (person is None or person["role"] != role):
            raise Refused("23514")
    if table == "users" and (row["role"] == oracle.SUPER) != (row["client_id"] is None):
        raise Refused("23514")
    others = [other for other in world[table] if other is not old]
    if table in oracle.KEYS and any(oracle.key_of(table, other) == oracle.key_of(table, row) for other in others):
        raise Refused("23505")
    if table == "users" and any(other["email"] == row["email"] for other in others):
        raise Refused("23505")


def require_references(world: dict, table: str, row: dict) -> None:
    """What a row points at is looked for when the whole statement is done."""
    for column, target in POINTS_AT.get(table, ()):
        value = row.get(column)
        if value is not None and oracle.find(world, target, value) is None:
            raise Refused("23503")


# Changing


def update(end: End, user: dict, step: Update, now: str) -> None:
    world, table = end.world, step.table
    rows = reached(world, user, step)
    clocks = {"updated_at": now} if table in CLOCKED else {}
    pairs = [(row, {**row, **clocks, **step.changes}) for row in rows]
    if not all(oracle.permits_new_row(world, user, table, new) for _, new in pairs):
        raise Refused("rule")
    clients = {each["id"]: client_of(world, each) for each in world["inspections"]}
    changed = []
    for row, new in pairs:
        require_super_admin_left(world, table, row, new)
        constrain(world, table, new, row)
        old = dict(row)
        row.update(new)
        changed.append((old, row))
    for _, row in changed:
        require_references(world, table, row)
    for old, row in changed:
        follow(end, table, old, row, clients)
    end.touched = len(pairs)


def require_super_admin_left(world: dict, table: str, old: dict, new: dict | None) -> None:
    if table != "users" or old["role"] != oracle.SUPER:
        return
    if new is not None and new["role"] == oracle.SUPER:
        return
    if not any(other["role"] == oracle.SUPER and other is not old for other in world["users"]):
        raise Refused("23514")


def client_of(world: dict, inspection: dict) -> int:
    return oracle.find(world, "buildings", inspection["building_id"])["client_id"]


def follow(end: End, table: str, old: dict, new: dict, clients: dict[int, int]) -> None:
    """Let fall the grants that a change took the ground from."""
    world = end.world
    if table == "users" and (old["role"], old["client_id"]) != (new["role"], new["client_id"]):
        end.dead.add(new["id"])
        for grants, (_, grantee, *_) in GRANTS.items():
            world[grants] = [row for row in world[grants] if row[grantee] != new["id"]]
    if table == "buildings" and old["client_id"] != new["client_id"]:
        fall(world, "building_id", new["id"], old["client_id"])
    if table in ("buildings", "inspections"):
        for inspection in world["inspections"]:
            before = clients[inspection["id"]]
            if client_of(world, inspection) != before:
                fall(world, "inspection_id", inspection["id"], before)


def fall(world: dict, target: str, id_: int, client_id: int) -> None:
    """Grants on a row that moved away, held by people of the client it left."""
    for grants, (_, grantee, _, column) in GRANTS.items():
        if column == target:
            world[grants] = [
                row
                for row in world[grants]
                if row[target] != id_ or oracle.find(world, "users", row[grantee])["client_id"] != client_id
            ]


# Deleting


def delete(end: End, user: dict, step: Delete) -> None:
    world = end.world
    rows = reached(world, user, step)
    for row in rows:
        require_super_admin_left(world, step.table, row, None)
        world[step.table] = [other for other in world[step.table] if other is not row]
        DELETED.get(step.table, nothing)(end, row.get("id", 0))
    end.touched = len(rows)
    held = {
        "buildings": (("inspections", "building_id"),),
        "clients": (("buildings", "client_id"), ("users", "client_id")),
    }
    gone = {row["id"] for row in rows if "id" in row}
    for table, column in held.get(step.table, ()):
        if any(row[column] in gone for row in world[table]):
            raise Refused("23503")


def nothing(end: End, id_: object) -> None:
    """A row that nothing hangs on."""


def delete_building(end: End, id_: int) -> None:
    for table, (_, _, _, target) in GRANTS.items():
        if target == "building_id":
            end.world[table] = [row for row in end.world[table] if row[target] != id_]


def delete_inspection(end: End, id_: int) -> None:
    world = end.world
    world["reports_lead"] = [row for row in world["reports_lead"] if row["inspection_id"] != id_]
    for table, (_, _, _, target) in GRANTS.items():
        if target == "inspection_id":
            world[table] = [row for row in world[table] if row[target] != id_]


def delete_user(end: End, id_: str) -> None:
    end.dead.add(id_)
    for table, (_, grantee, *_) in GRANTS.items():
        end.world[table] = [row for row in end.world[table] if row[grantee] != id_]
        for row in end.world[table]:
            if row["assigned_by"] == id_:
                row["assigned_by"] = None


def delete_inspector(end: End, id_: int) -> None:
    for row in end.world["inspections"]:
        if row["inspector_id"] == id_:
            row["inspector_id"] = None


DELETED = {
    "buildings": delete_building,
    "inspections": delete_inspection,
    "users": delete_user,
    "inspectors": delete_inspector,
}


def same_rows(world: dict, other: dict) -> list[str]:
    """The tables in which two worlds differ, but for the ids of rows that the database made."""
    return [table for table in RESOURCES if bare(world[table]) != bare(other[table])]


def bare(rows: list[dict]) -> list:
    return sorted(repr(sorted(row.items(), key=str)) for row in rows)
