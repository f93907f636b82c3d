"""Expected outcomes of writes, computed over plain dicts. The oracle decides who may write.

The module covers cascades, dropped grants and the order of errors. It follows the documentation and imports nothing of
the service. A world is `{table: [row, …]}`. Functions that take an outcome change its world, which is a copy.
"""

import copy
from dataclasses import dataclass, field

from tests.support import oracle
from tests.support.columns import COLUMNS, MODELLED_TABLES
from tests.support.worlds import GRANTS, with_all_columns

REFERENCES = {
    "users": (("client_id", "clients"),),
    "buildings": (("client_id", "clients"),),
    "inspections": (("building_id", "buildings"), ("inspector_id", "inspectors")),
    "reports_lead": (("inspection_id", "inspections"),),
    "inspectors": (("user_id", "users"),),
    "schedules": (("building_id", "buildings"), ("inspector_id", "inspectors")),
    "findings": (("inspection_id", "inspections"),),
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
class WriteOutcome:
    """The outcome of a write: result, world afterwards, number of affected rows, and ids of users with revoked tokens.

    `result` is `done`, `privilege`, `rule` or an SQLSTATE code.
    """

    result: str
    world: dict
    affected_rows: int = 0
    inserted: list[dict] = field(default_factory=list)
    revoked_ids: set[str] = field(default_factory=set)


class ConstraintViolation(Exception):
    """A violated constraint. The message is its SQLSTATE code."""


def expected_outcome(world: dict, user: dict, step: Step, now: str) -> WriteOutcome:
    """Return the expected outcome of a write."""
    if not oracle.has_privilege(world, user, step.table):
        return WriteOutcome("privilege", world)
    attempt = WriteOutcome("done", copy.deepcopy(world))
    try:
        if isinstance(step, Insert):
            insert(attempt, user, step, now)
        elif isinstance(step, Update):
            update(attempt, user, step, now)
        else:
            delete(attempt, user, step)
    except ConstraintViolation as refused:
        return WriteOutcome(str(refused), world)
    return attempt


def writable_rows(world: dict, user: dict, step: Update | Delete) -> list[dict]:
    """Return the rows that match the filter and that the user may read and write."""
    return [
        row
        for row in world[step.table]
        if row[step.where.column] in step.where.values
        and oracle.visible(world, user, step.table, row)
        and oracle.is_in_write_scope(world, user, step.table, row)
    ]


# Insert


def insert(outcome: WriteOutcome, user: dict, step: Insert, now: str) -> None:
    rows = [with_defaults(step.table, row, user, now) for row in step.rows]
    if not all(oracle.permits_new_row(outcome.world, user, step.table, row) for row in rows):
        raise ConstraintViolation("rule")
    for row in rows:
        check_constraints(outcome.world, step.table, row, None)
        require_open_visit(outcome.world, user, step.table, row)
        outcome.world[step.table].append(row)
        outcome.inserted.append(row)
    for row in rows:
        require_references(outcome.world, step.table, row)
    outcome.affected_rows = len(rows)


def with_defaults(table: str, row: dict, user: dict, now: str) -> dict:
    """Return the row with its defaults. An id of the database's choice stays None."""
    if table in oracle.KEYS:
        return {"assigned_by": user["id"], "assigned_at": now, **row}
    timestamps = {name: now for name in ("created_at", "updated_at") if name in COLUMNS[table]}
    new = {"id": None, **timestamps, **row}
    return with_all_columns(table, new) if table in ("clients", "reports_lead") else new


def check_constraints(world: dict, table: str, row: dict, old: dict | None) -> None:
    """Raise ConstraintViolation for an invalid grantee, an invalid client of a user, or a duplicate key."""
    if table in GRANTS:
        role, grantee, *_ = GRANTS[table]
        person = oracle.find(world, "users", row[grantee])
        grantee_changed = old is None or old[grantee] != row[grantee]
        if grantee_changed and (person is None or person["role"] != role):
            raise ConstraintViolation("23514")
    if table == "users" and (row["role"] == oracle.SUPER) != (row["client_id"] is None):
        raise ConstraintViolation("23514")
    others = [other for other in world[table] if other is not old]
    if table in oracle.KEYS and any(oracle.key_of(table, other) == oracle.key_of(table, row) for other in others):
        raise ConstraintViolation("23505")
    if table == "users" and any(other["email"] == row["email"] for other in others):
        raise ConstraintViolation("23505")


CLOSED_STATUSES = ("completed", "failed", "cancelled")
WRITTEN_IN_VISITS = {"inspection_id", "ref", "place", "item", "code", "description"}
"""The columns of findings that functions do not change."""


def require_open_visit(world: dict, user: dict, table: str, *rows: dict) -> None:
    """Raise ConstraintViolation if a manager writes a row of a closed visit."""
    if user["role"] != oracle.MANAGER or table not in oracle.WRITTEN_BY_INSPECTORS:
        return
    for row in rows:
        inspection = oracle.find(world, "inspections", row["inspection_id"])
        if inspection is not None and inspection["status"] in CLOSED_STATUSES:
            raise ConstraintViolation("23514")


def require_unmoved_finding(world: dict, table: str, row: dict) -> None:
    """Raise ConstraintViolation if a finding that was moved is deleted."""
    events = (each for each in world["finding_events"] if table == "findings" and each["finding_id"] == row["id"])
    if any(each["kind"] not in ("made", "remark") for each in events):
        raise ConstraintViolation("23514")


def require_unreported_visits(world: dict, table: str, row: dict) -> None:
    """Raise ConstraintViolation if the inspector of a visit with an issued report is deleted."""
    reported = {each["inspection_id"] for each in world["issued_reports"]}
    visits = (each for each in world["inspections"] if table == "inspectors" and each["inspector_id"] == row["id"])
    if any(each["id"] in reported for each in visits):
        raise ConstraintViolation("23503")


def require_references(world: dict, table: str, row: dict) -> None:
    """Raise ConstraintViolation for a missing referenced row.

    The database checks references at the end of the statement.
    """
    for column, target in REFERENCES.get(table, ()):
        value = row.get(column)
        if value is not None and oracle.find(world, target, value) is None:
            raise ConstraintViolation("23503")


# Update


def update(outcome: WriteOutcome, user: dict, step: Update, now: str) -> None:
    world, table = outcome.world, step.table
    rows = writable_rows(world, user, step)
    timestamps = {"updated_at": now} if "updated_at" in COLUMNS[table] else {}
    pairs = [(row, {**row, **timestamps, **step.changes}) for row in rows]
    if not all(oracle.permits_new_row(world, user, table, new) for _, new in pairs):
        raise ConstraintViolation("rule")
    clients = {each["id"]: client_of(world, each) for each in world["inspections"]}
    changed = []
    for row, new in pairs:
        require_super_admin_left(world, table, row, new)
        check_constraints(world, table, new, row)
        if table != "findings" or step.changes.keys() & WRITTEN_IN_VISITS:
            require_open_visit(world, user, table, row, new)
        old = dict(row)
        row.update(new)
        changed.append((old, row))
    for _, row in changed:
        require_references(world, table, row)
    if table == "inspections":
        touch_plans(world, {row["id"] for _, row in changed}, now)
    for old, row in changed:
        drop_invalid_grants(outcome, table, old, row, clients)
    outcome.affected_rows = len(pairs)


def touch_plans(world: dict, ids: set[int], now: str) -> None:
    """Record the first change of planned visits."""
    for plan in world["inspection_plans"]:
        if plan["inspection_id"] in ids and plan["touched_at"] is None:
            plan.update(touched_at=now, updated_at=now)


def require_super_admin_left(world: dict, table: str, old: dict, new: dict | None) -> None:
    if table != "users" or old["role"] != oracle.SUPER:
        return
    if new is not None and new["role"] == oracle.SUPER:
        return
    if not any(other["role"] == oracle.SUPER and other is not old for other in world["users"]):
        raise ConstraintViolation("23514")


def client_of(world: dict, inspection: dict) -> int:
    return oracle.find(world, "buildings", inspection["building_id"])["client_id"]


def drop_invalid_grants(outcome: WriteOutcome, table: str, old: dict, new: dict, clients: dict[int, int]) -> None:
    """Delete the grants that a change makes invalid."""
    world = outcome.world
    if table == "users" and (old["role"], old["client_id"]) != (new["role"], new["client_id"]):
        outcome.revoked_ids.add(new["id"])
        for grants, (_, grantee, *_) in GRANTS.items():
            world[grants] = [row for row in world[grants] if row[grantee] != new["id"]]
    if table == "users" and old["role"] != new["role"]:
        world["inspectors"] = [
            {**row, "user_id": None} if row.get("user_id") == new["id"] else row for row in world["inspectors"]
        ]
    if table == "buildings" and old["client_id"] != new["client_id"]:
        drop_grants_of_client(world, "building_id", new["id"], old["client_id"])
    if table in ("buildings", "inspections"):
        for inspection in world["inspections"]:
            before = clients[inspection["id"]]
            if client_of(world, inspection) != before:
                drop_grants_of_client(world, "inspection_id", inspection["id"], before)


def drop_grants_of_client(world: dict, target: str, id_: int, client_id: int) -> None:
    """Delete grants on a moved row whose grantees belong to the row's former client."""
    for grants, (_, grantee, _, column) in GRANTS.items():
        if column == target:
            world[grants] = [
                row
                for row in world[grants]
                if row[target] != id_ or oracle.find(world, "users", row[grantee])["client_id"] != client_id
            ]


# Delete


def delete(outcome: WriteOutcome, user: dict, step: Delete) -> None:
    world = outcome.world
    rows = writable_rows(world, user, step)
    for row in rows:
        require_super_admin_left(world, step.table, row, None)
        require_open_visit(world, user, step.table, row)
        require_unmoved_finding(world, step.table, row)
        require_unreported_visits(world, step.table, row)
        world[step.table] = [other for other in world[step.table] if other is not row]
        DELETE_CASCADES.get(step.table, no_cascade)(outcome, row.get("id", 0))
    outcome.affected_rows = len(rows)
    restricting = {
        "buildings": (("inspections", "building_id"), ("notices", "building_id")),
        "inspections": (("issued_reports", "inspection_id"),),
        "clients": (
            ("buildings", "client_id"),
            ("users", "client_id"),
            ("xrf_instruments", "client_id"),
            ("lead_standards", "client_id"),
            ("deadline_rules", "client_id"),
            ("issued_reports", "client_id"),
            ("notices", "client_id"),
        ),
    }
    deleted_ids = {row["id"] for row in rows if "id" in row}
    for table, column in restricting.get(step.table, ()):
        if any(row[column] in deleted_ids for row in world[table]):
            raise ConstraintViolation("23503")


def no_cascade(outcome: WriteOutcome, id_: object) -> None:
    """Do nothing: no row references this one."""


def delete_building(outcome: WriteOutcome, id_: int) -> None:
    for schedule in [row for row in outcome.world["schedules"] if row["building_id"] == id_]:
        outcome.world["schedules"].remove(schedule)
        delete_schedule(outcome, schedule["id"])
    outcome.world["building_details"] = [row for row in outcome.world["building_details"] if row["building_id"] != id_]
    for table, (_, _, _, target) in GRANTS.items():
        if target == "building_id":
            outcome.world[table] = [row for row in outcome.world[table] if row[target] != id_]


def delete_inspection(outcome: WriteOutcome, id_: int) -> None:
    world = outcome.world
    for table in ("reports_lead", "calibration_checks", "inspection_plans"):
        world[table] = [row for row in world[table] if row["inspection_id"] != id_]
    for finding in [row for row in world["findings"] if row["inspection_id"] == id_]:
        world["findings"].remove(finding)
        delete_finding(outcome, finding["id"])
    for table, (_, _, _, target) in GRANTS.items():
        if target == "inspection_id":
            world[table] = [row for row in world[table] if row[target] != id_]


def delete_schedule(outcome: WriteOutcome, id_: int) -> None:
    set_null(outcome, "inspection_plans", "schedule_id", id_)


def delete_finding(outcome: WriteOutcome, id_: int) -> None:
    outcome.world["finding_events"] = [row for row in outcome.world["finding_events"] if row["finding_id"] != id_]


def set_null(outcome: WriteOutcome, table: str, column: str, id_: object) -> None:
    for row in outcome.world[table]:
        if row[column] == id_:
            row[column] = None


def delete_user(outcome: WriteOutcome, id_: str) -> None:
    outcome.revoked_ids.add(id_)
    set_null(outcome, "inspectors", "user_id", id_)
    set_null(outcome, "finding_events", "user_id", id_)
    for table in ("issued_reports", "notices"):
        set_null(outcome, table, "issued_by", id_)
    for table, (_, grantee, *_) in GRANTS.items():
        outcome.world[table] = [row for row in outcome.world[table] if row[grantee] != id_]
        for row in outcome.world[table]:
            if row["assigned_by"] == id_:
                row["assigned_by"] = None


def delete_inspector(outcome: WriteOutcome, id_: int) -> None:
    set_null(outcome, "inspections", "inspector_id", id_)
    set_null(outcome, "schedules", "inspector_id", id_)


DELETE_CASCADES = {
    "buildings": delete_building,
    "inspections": delete_inspection,
    "users": delete_user,
    "inspectors": delete_inspector,
    "schedules": delete_schedule,
    "findings": delete_finding,
}


def differing_tables(world: dict, other: dict) -> list[str]:
    """Return the tables in which two worlds differ."""
    return [table for table in MODELLED_TABLES if comparable_rows(world[table]) != comparable_rows(other[table])]


def comparable_rows(rows: list[dict]) -> list:
    return sorted(repr(sorted(row.items(), key=str)) for row in rows)
