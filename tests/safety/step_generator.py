"""Random reads and writes that the models understand, and the requests that express them."""

import random

from tests.safety.read_model import Embed, Filter, Read
from tests.safety.service_instances import HttpRequest, make_request
from tests.safety.vocabulary import TEXT, escaped, quoted, without_pattern_characters
from tests.safety.write_model import Delete, Insert, Step, Update, Where
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES, PLAIN_COLUMNS, TABLES_WITH_RULES

# expression in select, related table, (own column, related column), to-one, junction
RELATIONSHIPS: dict[str, list[tuple]] = {
    "inspections": [
        ("buildings", "buildings", ("building_id", "id"), True, None),
        ("inspectors", "inspectors", ("inspector_id", "id"), True, None),
        ("reports_lead", "reports_lead", ("id", "inspection_id"), False, None),
        ("calibration_checks", "calibration_checks", ("id", "inspection_id"), False, None),
        ("findings", "findings", ("id", "inspection_id"), False, None),
        ("inspection_plans", "inspection_plans", ("id", "inspection_id"), True, None),
        ("issued_reports", "issued_reports", ("id", "inspection_id"), False, None),
        (
            "users!client_manager_inspection_access",
            "users",
            ("id", "id"),
            False,
            ("client_manager_inspection_access", "inspection_id", "manager_id"),
        ),
    ],
    "buildings": [
        ("clients", "clients", ("client_id", "id"), True, None),
        ("inspections", "inspections", ("id", "building_id"), False, None),
        ("building_details", "building_details", ("id", "building_id"), True, None),
        ("notices", "notices", ("id", "building_id"), False, None),
        ("client_manager_building_access", "client_manager_building_access", ("id", "building_id"), False, None),
        (
            "users!client_admin_building_access",
            "users",
            ("id", "id"),
            False,
            ("client_admin_building_access", "building_id", "admin_id"),
        ),
    ],
    "reports_lead": [("inspections", "inspections", ("inspection_id", "id"), True, None)],
    "building_details": [("buildings", "buildings", ("building_id", "id"), True, None)],
    "calibration_checks": [("inspections", "inspections", ("inspection_id", "id"), True, None)],
    "xrf_instruments": [
        ("clients", "clients", ("client_id", "id"), True, None),
        ("xrf_limits", "xrf_limits", ("id", "instrument_id"), False, None),
    ],
    "xrf_limits": [("xrf_instruments", "xrf_instruments", ("instrument_id", "id"), True, None)],
    "lead_standards": [("clients", "clients", ("client_id", "id"), True, None)],
    "schedules": [("buildings", "buildings", ("building_id", "id"), True, None)],
    "inspection_plans": [
        ("inspections", "inspections", ("inspection_id", "id"), True, None),
        ("schedules", "schedules", ("schedule_id", "id"), True, None),
    ],
    "deadline_rules": [("clients", "clients", ("client_id", "id"), True, None)],
    "findings": [
        ("inspections", "inspections", ("inspection_id", "id"), True, None),
        ("finding_events", "finding_events", ("id", "finding_id"), False, None),
    ],
    "finding_events": [
        ("findings", "findings", ("finding_id", "id"), True, None),
        ("notices", "notices", ("notice_id", "id"), True, None),
    ],
    "issued_reports": [
        ("inspections", "inspections", ("inspection_id", "id"), True, None),
        ("clients", "clients", ("client_id", "id"), True, None),
    ],
    "notices": [
        ("buildings", "buildings", ("building_id", "id"), True, None),
        ("finding_events", "finding_events", ("id", "notice_id"), False, None),
    ],
    "inspectors": [("inspections", "inspections", ("id", "inspector_id"), False, None)],
    "clients": [
        ("buildings", "buildings", ("id", "client_id"), False, None),
        ("users", "users", ("id", "client_id"), False, None),
    ],
    "users": [
        ("clients", "clients", ("client_id", "id"), True, None),
        (
            "buildings!client_manager_building_access",
            "buildings",
            ("id", "id"),
            False,
            ("client_manager_building_access", "manager_id", "building_id"),
        ),
        (
            "inspections!client_admin_inspection_access",
            "inspections",
            ("id", "id"),
            False,
            ("client_admin_inspection_access", "admin_id", "inspection_id"),
        ),
    ],
}
for _table, (_grantee, _target) in oracle.KEYS.items():
    _target_table = "buildings" if _target == "building_id" else "inspections"
    RELATIONSHIPS[_table] = [
        (f"users!{_grantee}", "users", (_grantee, "id"), True, None),
        (_target_table, _target_table, (_target, "id"), True, None),
    ]

WRITTEN_TABLES = tuple(table for table in MODELLED_TABLES if table not in TABLES_WITH_RULES)
"""The tables that steps write."""


class StepGenerator:
    """Draw reads and writes for the current state of a world."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.serial = 0

    # Reads

    def read(self, world: dict, user: dict) -> Read:
        rng = self.rng
        table = rng.choice(MODELLED_TABLES)
        filters = self.filters(world, table, rng.choice((0, 0, 1, 1, 2)))
        kind = rng.random()
        if kind < 0.1:
            column = rng.choice(PLAIN_COLUMNS[table])
            return Read(table, (), filters=filters, group_by=column)
        if kind < 0.15:
            numbers = [column for column in ("units", "floors", "gun_id") if column in PLAIN_COLUMNS[table]]
            if numbers:
                return Read(table, (), filters=filters, sum_column=rng.choice(numbers))
        or_filters = self.filters(world, table, 2) if rng.random() < 0.15 else ()
        order = (rng.choice(PLAIN_COLUMNS[table]), rng.random() < 0.5) if rng.random() < 0.4 else None
        # Without an order, the rows of a limited read are unspecified.
        limit = rng.randrange(1, 6) if order is not None and rng.random() < 0.6 else None
        return Read(
            table,
            self.columns(table),
            self.embeds(world, table, 1),
            filters,
            or_filters,
            order,
            limit,
            rng.randrange(3) if limit is not None and rng.random() < 0.4 else 0,
        )

    def columns(self, table: str) -> tuple[str, ...]:
        key = oracle.PRIMARY_KEYS.get(table, ("id",))
        return tuple(dict.fromkeys((*key, *self.rng.sample(PLAIN_COLUMNS[table], 2))))

    def filters(self, world: dict, table: str, count: int) -> tuple[Filter, ...]:
        return tuple(self.filter(world, table) for _ in range(count))

    def filter(self, world: dict, table: str) -> Filter:
        rng = self.rng
        column = rng.choice(PLAIN_COLUMNS[table])
        negated = rng.random() < 0.15
        value = self.value(world, table, column)
        if value is None or rng.random() < 0.08:
            return Filter(column, "is", None, negated)
        if rng.random() < 0.15:
            some = [self.value(world, table, column) for _ in range(3)]
            return Filter(column, "in", tuple(each for each in some if each is not None), negated)
        if column in TEXT and value and rng.random() < 0.5:
            start = rng.randrange(len(value))
            part = without_pattern_characters(value[start : start + rng.randrange(1, 5)])
            if part.strip() == part and part:
                return Filter(column, rng.choice(("like", "ilike", "match")), part, negated)
        operator = rng.choice(("eq", "eq", "neq", "gt", "gte", "lt", "lte", "isdistinct"))
        return Filter(column, operator, value, negated)

    def value(self, world: dict, table: str, column: str) -> object:
        """Return a value of the column from a random row, visible or hidden."""
        rows = world[table]
        return self.rng.choice(rows)[column] if rows else None

    def embeds(self, world: dict, table: str, depth: int) -> tuple[Embed, ...]:
        rng = self.rng
        if rng.random() > 0.6 / depth or depth > 3:
            return ()
        expression, target_table, join_columns, to_one, junction = rng.choice(RELATIONSHIPS[table])
        return (
            Embed(
                expression,
                target_table,
                target_table,
                join_columns,
                to_one,
                self.columns(target_table),
                rng.choice(("", "", "!inner", "!left")),
                self.filters(world, target_table, rng.choice((0, 0, 1))),
                rng.choice(("is.null", "not.is.null")) if rng.random() < 0.15 else "",
                self.embeds(world, target_table, depth + 1),
                junction,
                spread=rng.random() < 0.25,
            ),
        )

    # Writes

    def write(self, world: dict, user: dict) -> Step:
        rng = self.rng
        table = rng.choice((*WRITTEN_TABLES, *(3 * sorted(oracle.WRITTEN_BY_ADMINS - {*TABLES_WITH_RULES}))))
        kind = rng.random()
        if kind < 0.4:
            count = rng.choice((1, 1, 1, 2, 3))
            return Insert(table, tuple(self.row(world, user, table) for _ in range(count)))
        if kind < 0.8:
            return Update(table, self.where(world, table), self.changes(world, user, table))
        return Delete(table, self.where(world, table))

    def where(self, world: dict, table: str) -> Where:
        """Return a condition: usually one row, sometimes several, or the rows of a client or building."""
        rng = self.rng
        columns = [*oracle.PRIMARY_KEYS.get(table, ("id",))]
        if rng.random() < 0.25:
            pointers = ("client_id", "building_id", "inspection_id", "role", "status")
            columns = [column for column in pointers if column in PLAIN_COLUMNS[table]] or columns
        column = rng.choice(columns)
        values = [self.value(world, table, column) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        return Where(column, tuple(dict.fromkeys(each for each in values if each is not None)))

    def changes(self, world: dict, user: dict, table: str) -> dict:
        row = self.row(world, user, table)
        columns = [column for column in row if column != "email"]
        chosen = self.rng.sample(columns, min(len(columns), self.rng.choice((1, 1, 2))))
        owner_columns = [column for column in ("client_id", "building_id") if column in columns]
        if owner_columns and self.rng.random() < 0.4:
            chosen = owner_columns
        if table in oracle.KEYS and self.rng.random() < 0.5:
            chosen = ["assigned_by"]
        return {column: row[column] for column in chosen}

    def row(self, world: dict, user: dict, table: str) -> dict:
        rng = self.rng
        self.serial += 1
        if table in oracle.KEYS:
            grantee, target = oracle.KEYS[table]
            target_table = "buildings" if target == "building_id" else "inspections"
            signed = rng.choice((None, user["id"], user["id"], rng.choice(world["users"])["id"]))
            return {
                grantee: rng.choice(world["users"])["id"],
                target: self.id_of(world, target_table),
                "assigned_by": signed,
            }
        return {
            "clients": lambda: {"name": f"Step {self.serial}"},
            "inspectors": lambda: {"name": f"Step {self.serial}", "email": None},
            "users": lambda: {
                "email": f"step{self.serial}@step.example",
                "name": f"Step {self.serial}",
                "role": rng.choice(("client_manager",) * 4 + ("client_admin", "super_admin")),
                "client_id": rng.choice((user["client_id"], self.id_of(world, "clients"), None)),
            },
            "buildings": lambda: {
                "name": f"Step {self.serial}",
                "client_id": rng.choice((user["client_id"] or 1, self.id_of(world, "clients"))),
                "units": rng.choice((None, 3)),
            },
            "inspections": lambda: {
                "building_id": self.id_of(world, "buildings"),
                "inspection_type": rng.choice(("fire", "lead")),
                "inspector_id": rng.choice((None, self.id_of(world, "inspectors"))),
                "notes": f"Step {self.serial}",
            },
            "reports_lead": lambda: {
                "inspection_id": self.id_of(world, "inspections"),
                "result": f"Step {self.serial}",
            },
        }[table]()

    def id_of(self, world: dict, table: str) -> int:
        rows = world[table]
        return self.rng.choice(rows)["id"] if rows and self.rng.random() < 0.95 else 999


# Requests


def read_request(read: Read) -> HttpRequest:
    """Return the GET of a read."""
    parts: list[str] = []
    if read.group_by is not None:
        select = f"{read.group_by},count()"
    elif read.sum_column is not None:
        select = f"{read.sum_column}.sum(),count()"
    else:
        select = ",".join((*read.columns, *(embed_expression(each, "", parts) for each in read.embeds)))
    parts.insert(0, f"select={select}")
    parts += [f"{each.column}={operation(each, '=')}" for each in read.filters]
    if read.or_filters:
        inside = ",".join(f"{each.column}.{operation(each, '.')}" for each in read.or_filters)
        parts.append(f"or=({inside})")
    if read.order is not None:
        column, descending = read.order
        keys = [name for name in oracle.PRIMARY_KEYS.get(read.table, ("id",)) if name != column]
        terms = [f"{column}.{'desc' if descending else 'asc'}", *(f"{name}.asc" for name in keys)]
        parts.append(f"order={','.join(terms)}")
    if read.limit is not None:
        parts.append(f"limit={read.limit}&offset={read.offset}")
    prefer = None if read.group_by or read.sum_column else "count=exact"
    return make_request("GET", f"/{read.table}?{'&'.join(parts)}", prefer=prefer)


def embed_expression(embed: Embed, above: str, parts: list[str]) -> str:
    here = f"{above}{embed.name}"
    parts += [f"{here}.{each.column}={operation(each, '=')}" for each in embed.filters]
    if embed.null_filter:
        parts.append(f"{here}={embed.null_filter}")
    inside = [*embed.columns, *(embed_expression(each, f"{here}.", parts) for each in embed.embeds)]
    return f"{'...' * embed.spread}{embed.expression}{embed.join}({','.join(inside)})"


def operation(each: Filter, separator: str) -> str:
    negated = "not." if each.negated else ""
    if each.operator == "is":
        return f"{negated}is.null"
    if each.operator == "in":
        return f"{negated}in.({','.join(quoted(value) for value in each.value)})"
    value = str(each.value)
    if each.operator in ("like", "ilike"):
        value = f"*{value}*"
    return f"{negated}{each.operator}.{escaped(value) if separator == '=' else quoted(value)}"


def write_request(step: Step) -> HttpRequest:
    """Return the request of a write."""
    prefer = "return=minimal, count=exact"
    if isinstance(step, Insert):
        body = list(step.rows) if len(step.rows) > 1 else step.rows[0]
        return make_request("POST", f"/{step.table}", body, prefer=prefer)
    values = ",".join(quoted(value) for value in step.where.values)
    path = f"/{step.table}?{step.where.column}=in.({values})"
    if isinstance(step, Update):
        return make_request("PATCH", path, step.changes, prefer=prefer)
    return make_request("DELETE", path, prefer=prefer)
