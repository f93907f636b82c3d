"""Reads and writes at random that the model understands, and how each is said in the dialect."""

import random

from tests.conftest import RESOURCES
from tests.safety.answers import Embed, Filter, Read
from tests.safety.model import Delete, Insert, Step, Update, Where
from tests.safety.sites import Asking, asking
from tests.safety.vocabulary import TEXT, escaped, plain, quoted
from tests.support import oracle
from tests.support.columns import COLUMNS

# written, relation, (column here, column there), to-one, junction
WAYS: dict[str, list[tuple]] = {
    "inspections": [
        ("buildings", "buildings", ("building_id", "id"), True, None),
        ("inspectors", "inspectors", ("inspector_id", "id"), True, None),
        ("reports_lead", "reports_lead", ("id", "inspection_id"), False, None),
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
    _far = "buildings" if _target == "building_id" else "inspections"
    WAYS[_table] = [
        (f"users!{_grantee}", "users", (_grantee, "id"), True, None),
        (_far, _far, (_target, "id"), True, None),
    ]


class Steps:
    """Draws reads and writes over a world as it is just now."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.fresh = 0

    # Reading

    def read(self, world: dict, user: dict) -> Read:
        rng = self.rng
        table = rng.choice(RESOURCES)
        filters = self.filters(world, table, rng.choice((0, 0, 1, 1, 2)))
        kind = rng.random()
        if kind < 0.1:
            column = rng.choice(COLUMNS[table])
            return Read(table, (), filters=filters, grouped=column)
        if kind < 0.15:
            numbers = [column for column in ("units", "floors", "gun_id") if column in COLUMNS[table]]
            if numbers:
                return Read(table, (), filters=filters, summed=rng.choice(numbers))
        either = self.filters(world, table, 2) if rng.random() < 0.15 else ()
        order = (rng.choice(COLUMNS[table]), rng.random() < 0.5) if rng.random() < 0.4 else None
        # Without an order any rows would do, and which is nobody's promise.
        limit = rng.randrange(1, 6) if order is not None and rng.random() < 0.6 else None
        return Read(
            table,
            self.columns(table),
            self.embeds(world, table, 1),
            filters,
            either,
            order,
            limit,
            rng.randrange(3) if limit is not None and rng.random() < 0.4 else 0,
        )

    def columns(self, table: str) -> tuple[str, ...]:
        key = oracle.KEYS.get(table, ("id",))
        return tuple(dict.fromkeys((*key, *self.rng.sample(COLUMNS[table], 2))))

    def filters(self, world: dict, table: str, count: int) -> tuple[Filter, ...]:
        return tuple(self.filter(world, table) for _ in range(count))

    def filter(self, world: dict, table: str) -> Filter:
        rng = self.rng
        column = rng.choice(COLUMNS[table])
        negated = rng.random() < 0.15
        value = self.value(world, table, column)
        if value is None or rng.random() < 0.08:
            return Filter(column, "is", None, negated)
        if rng.random() < 0.15:
            some = [self.value(world, table, column) for _ in range(3)]
            return Filter(column, "in", tuple(each for each in some if each is not None), negated)
        if column in TEXT and rng.random() < 0.5:
            start = rng.randrange(len(value))
            part = plain(value[start : start + rng.randrange(1, 5)])
            if part.strip() == part and part:
                return Filter(column, rng.choice(("like", "ilike", "match")), part, negated)
        operator = rng.choice(("eq", "eq", "neq", "gt", "gte", "lt", "lte", "isdistinct"))
        return Filter(column, operator, value, negated)

    def value(self, world: dict, table: str, column: str) -> object:
        """A value of the column, of whichever row, visible or not."""
        rows = world[table]
        return self.rng.choice(rows)[column] if rows else None

    def embeds(self, world: dict, table: str, deep: int) -> tuple[Embed, ...]:
        rng = self.rng
        if rng.random() > 0.6 / deep or deep > 3:
            return ()
        written, far, pairs, to_one, junction = rng.choice(WAYS[table])
        return (
            Embed(
                written,
                far,
                far,
                pairs,
                to_one,
                self.columns(far),
                rng.choice(("", "", "!inner", "!left")),
                self.filters(world, far, rng.choice((0, 0, 1))),
                rng.choice(("is.null", "not.is.null")) if rng.random() < 0.15 else "",
                self.embeds(world, far, deep + 1),
                junction,
                spread=rng.random() < 0.25,
            ),
        )

    # Writing

    def write(self, world: dict, user: dict) -> Step:
        rng = self.rng
        table = rng.choice((*RESOURCES, *(3 * sorted(oracle.WRITTEN_BY_ADMINS))))
        kind = rng.random()
        if kind < 0.4:
            count = rng.choice((1, 1, 1, 2, 3))
            return Insert(table, tuple(self.row(world, user, table) for _ in range(count)))
        if kind < 0.8:
            return Update(table, self.where(world, table), self.changes(world, user, table))
        return Delete(table, self.where(world, table))

    def where(self, world: dict, table: str) -> Where:
        """Mostly one row, sometimes several, or those of a client or building."""
        rng = self.rng
        columns = [*oracle.KEYS.get(table, ("id",))]
        if rng.random() < 0.25:
            pointers = ("client_id", "building_id", "inspection_id", "role", "status")
            columns = [column for column in pointers if column in COLUMNS[table]] or columns
        column = rng.choice(columns)
        values = [self.value(world, table, column) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        return Where(column, tuple(dict.fromkeys(each for each in values if each is not None)))

    def changes(self, world: dict, user: dict, table: str) -> dict:
        row = self.row(world, user, table)
        columns = [column for column in row if column != "email"]
        chosen = self.rng.sample(columns, min(len(columns), self.rng.choice((1, 1, 2))))
        moving = [column for column in ("client_id", "building_id") if column in columns]
        if moving and self.rng.random() < 0.4:
            chosen = moving
        if table in oracle.KEYS and self.rng.random() < 0.5:
            chosen = ["assigned_by"]
        return {column: row[column] for column in chosen}

    def row(self, world: dict, user: dict, table: str) -> dict:
        rng = self.rng
        self.fresh += 1
        if table in oracle.KEYS:
            grantee, target = oracle.KEYS[table]
            far = "buildings" if target == "building_id" else "inspections"
            signed = rng.choice((None, user["id"], user["id"], rng.choice(world["users"])["id"]))
            return {grantee: rng.choice(world["users"])["id"], target: self.id_of(world, far), "assigned_by": signed}
        return {
            "clients": lambda: {"name": f"Step {self.fresh}"},
            "inspectors": lambda: {"name": f"Step {self.fresh}", "email": None},
            "users": lambda: {
                "email": f"step{self.fresh}@step.example",
                "name": f"Step {self.fresh}",
                "role": rng.choice(("client_manager",) * 4 + ("client_admin", "super_admin")),
                "client_id": rng.choice((user["client_id"], self.id_of(world, "clients"), None)),
            },
            "buildings": lambda: {
                "name": f"Step {self.fresh}",
                "client_id": rng.choice((user["client_id"] or 1, self.id_of(world, "clients"))),
                "units": rng.choice((None, 3)),
            },
            "inspections": lambda: {
                "building_id": self.id_of(world, "buildings"),
                "inspection_type": rng.choice(("fire", "lead")),
                "inspector_id": rng.choice((None, self.id_of(world, "inspectors"))),
                "notes": f"Step {self.fresh}",
            },
            "reports_lead": lambda: {"inspection_id": self.id_of(world, "inspections"), "result": f"Step {self.fresh}"},
        }[table]()

    def id_of(self, world: dict, table: str) -> int:
        rows = world[table]
        return self.rng.choice(rows)["id"] if rows and self.rng.random() < 0.95 else 999


# How they are said


def said(read: Read) -> Asking:
    """The GET of a read."""
    parts: list[str] = []
    if read.grouped is not None:
        select = f"{read.grouped},count()"
    elif read.summed is not None:
        select = f"{read.summed}.sum(),count()"
    else:
        select = ",".join((*read.columns, *(embed_said(each, "", parts) for each in read.embeds)))
    parts.insert(0, f"select={select}")
    parts += [f"{each.column}={operation(each, '=')}" for each in read.filters]
    if read.either:
        inside = ",".join(f"{each.column}.{operation(each, '.')}" for each in read.either)
        parts.append(f"or=({inside})")
    if read.order is not None:
        column, descending = read.order
        keys = [name for name in oracle.KEYS.get(read.table, ("id",)) if name != column]
        terms = [f"{column}.{'desc' if descending else 'asc'}", *(f"{name}.asc" for name in keys)]
        parts.append(f"order={','.join(terms)}")
    if read.limit is not None:
        parts.append(f"limit={read.limit}&offset={read.offset}")
    prefer = None if read.grouped or read.summed else "count=exact"
    return asking("GET", f"/{read.table}?{'&'.join(parts)}", prefer=prefer)


def embed_said(embed: Embed, above: str, parts: list[str]) -> str:
    here = f"{above}{embed.name}"
    parts += [f"{here}.{each.column}={operation(each, '=')}" for each in embed.filters]
    if embed.null:
        parts.append(f"{here}={embed.null}")
    inside = [*embed.columns, *(embed_said(each, f"{here}.", parts) for each in embed.embeds)]
    return f"{'...' * embed.spread}{embed.written}{embed.join}({','.join(inside)})"


def operation(each: Filter, tie: str) -> str:
    negated = "not." if each.negated else ""
    if each.operator == "is":
        return f"{negated}is.null"
    if each.operator == "in":
        return f"{negated}in.({','.join(quoted(value) for value in each.value)})"
    value = str(each.value)
    if each.operator in ("like", "ilike"):
        value = f"*{value}*"
    return f"{negated}{each.operator}.{escaped(value) if tie == '=' else quoted(value)}"


def written(step: Step) -> Asking:
    """The request of a write."""
    prefer = "return=minimal, count=exact"
    if isinstance(step, Insert):
        body = list(step.rows) if len(step.rows) > 1 else step.rows[0]
        return asking("POST", f"/{step.table}", body, prefer=prefer)
    values = ",".join(quoted(value) for value in step.where.values)
    path = f"/{step.table}?{step.where.column}=in.({values})"
    if isinstance(step, Update):
        return asking("PATCH", path, step.changes, prefer=prefer)
    return asking("DELETE", path, prefer=prefer)
