"""Requests at random: select, embeds, filters, orders, aggregates, Prefer, Range, media types, writes and functions,
mostly well-formed, with values out of a vocabulary. The same source of chance makes the same request.
"""

import random

from tests import oracle
from tests.columns import COLUMNS
from tests.conftest import RESOURCES
from tests.safety.sites import Asking
from tests.safety.sites import asking
from tests.safety.vocabulary import DATES
from tests.safety.vocabulary import TEXT
from tests.safety.vocabulary import TIMES
from tests.safety.vocabulary import Vocabulary
from tests.safety.vocabulary import escaped
from tests.safety.vocabulary import plain
from tests.safety.vocabulary import quoted

# Embeds: (how it is written, the relation it leads to, whether it is one row)
EMBEDS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "inspections": (
        ("buildings", "buildings", True),
        ("buildings!building_id", "buildings", True),
        ("inspectors", "inspectors", True),
        ("reports_lead", "reports_lead", False),
        ("client_admin_inspection_access", "client_admin_inspection_access", False),
        ("client_manager_inspection_access", "client_manager_inspection_access", False),
        ("users!client_manager_inspection_access", "users", False),
    ),
    "buildings": (
        ("clients", "clients", True),
        ("inspections", "inspections", False),
        ("client_admin_building_access", "client_admin_building_access", False),
        ("client_manager_building_access", "client_manager_building_access", False),
        ("users!client_manager_building_access", "users", False),
        ("users!client_admin_building_access", "users", False),
    ),
    "reports_lead": (("inspections", "inspections", True),),
    "inspectors": (("inspections", "inspections", False),),
    "clients": (("buildings", "buildings", False), ("users", "users", False)),
    "users": (
        ("clients", "clients", True),
        ("buildings!client_manager_building_access", "buildings", False),
        ("buildings!client_admin_building_access", "buildings", False),
        ("inspections!client_admin_inspection_access", "inspections", False),
        ("client_manager_building_access!manager_id", "client_manager_building_access", False),
        ("client_manager_building_access!assigned_by", "client_manager_building_access", False),
    ),
    **{
        table: (
            (f"users!{key[0]}", "users", True),
            ("users!assigned_by", "users", True),
            (
                ("buildings", "buildings", True)
                if key[1] == "building_id"
                else ("inspections", "inspections", True)
            ),
        )
        for table, key in oracle.KEYS.items()
    },
}
DEEP = 3
CASTS = {
    "text": ("int", "date", "uuid", "boolean", "float8", "text"),
    "number": ("text", "numeric"),
}
MEDIA = (
    "text/csv",
    "application/vnd.pgrst.object+json",
    "application/vnd.pgrst.array+json;nulls=stripped",
    "application/json",
)
PARTS = "abcdeoprt0123456789 %"


class Grammar:
    """Draws requests."""

    def __init__(self, rng: random.Random, words: Vocabulary, user: dict) -> None:
        self.rng = rng
        self.words = words
        self.user = user
        self.fresh = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def request(self) -> Asking:
        kind = self.rng.random()
        if kind < 0.6:
            return self.read()
        return self.write() if kind < 0.9 else self.call()

    # Reading

    def read(self) -> Asking:
        table = self.rng.choice(RESOURCES)
        method = "HEAD" if self.chance(0.05) else "GET"
        prefix = "/rest/v1" if self.chance(0.05) else ""
        query = self.query(table)
        return asking(method, f"{prefix}/{table}?{query}", **self.headers())

    def headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        prefer = [
            self.rng.choice(("count=exact", "count=exact", "count=planned", "count=estimated"))
        ]
        if self.chance(0.1):
            prefer.append(
                self.rng.choice(("handling=strict", "timezone=Asia/Tokyo", "handling=lenient"))
            )
        if self.chance(0.6):
            headers["prefer"] = ", ".join(prefer)
        if self.chance(0.2):
            headers["accept"] = self.rng.choice(MEDIA)
        if self.chance(0.15):
            first = self.rng.randrange(6)
            headers["range"] = f"{first}-{first + self.rng.randrange(5)}"
            headers["range_unit"] = "items"
        return headers

    def query(self, table: str) -> str:
        parts: list[str] = []
        if self.chance(0.75):
            select = self.select(table, (), parts, 0)
            parts.insert(0, f"select={select}")
        parts += self.filters(table, "", self.rng.choice((0, 0, 1, 1, 2, 3)))
        if self.chance(0.35):
            parts.append(f"order={self.order(table)}")
        if self.chance(0.25):
            parts.append(f"limit={self.rng.randrange(6)}")
        if self.chance(0.12):
            parts.append(f"offset={self.rng.randrange(5)}")
        return "&".join(parts)

    def select(self, table: str, path: tuple[str, ...], parts: list[str], deep: int) -> str:
        if self.chance(0.12):
            return self.aggregates(table)
        items = (
            ["*"]
            if self.chance(0.35)
            else [self.item(table) for _ in range(self.rng.randrange(1, 4))]
        )
        if deep < DEEP and self.chance(0.65 - 0.2 * deep):
            ways = self.rng.sample(
                EMBEDS[table], min(self.rng.choice((1, 1, 2)), len(EMBEDS[table]))
            )
            taken: set[str] = set()
            for way in ways:
                if way[1] not in taken:
                    taken.add(way[1])
                    items.append(self.embed(way, path, parts, deep + 1))
        self.rng.shuffle(items)
        return ",".join(items)

    def item(self, table: str) -> str:
        column = self.rng.choice(COLUMNS[table])
        if self.chance(0.1):
            kind = "text" if column in TEXT else "number"
            return f"{column}::{self.rng.choice(CASTS[kind])}"
        return f"again:{column}" if self.chance(0.05) else column

    def aggregates(self, table: str) -> str:
        column = self.rng.choice(COLUMNS[table])
        kind = self.rng.choice(("max", "min", "count") if column in TEXT | TIMES | DATES else
                               ("sum", "avg", "max", "min", "count"))  # fmt: skip
        found = [self.rng.choice(("count()", f"{column}.{kind}()", f"n:{column}.{kind}()"))]
        if self.chance(0.6):
            found.append(self.rng.choice(COLUMNS[table]))
        ones = [way for way in EMBEDS[table] if way[2]]
        if ones and self.chance(0.4):
            written, target, _ = self.rng.choice(ones)
            found.append(f"{written}({self.rng.choice(COLUMNS[target])})")
        return ",".join(found)

    def embed(
        self, way: tuple[str, str, bool], path: tuple[str, ...], parts: list[str], deep: int
    ) -> str:
        written, target, to_one = way
        name = target
        alias = ""
        if self.chance(0.1):
            name = f"e{deep}"
            alias = f"{name}:"
        if to_one and self.chance(0.1):
            return f"...{written}({self.item(target)})"
        join = self.rng.choice(("", "", "", "!inner", "!left"))
        here = (*path, name)
        inside = "" if self.chance(0.05) else self.select(target, here, parts, deep)
        at = ".".join(here)
        parts += self.filters(target, f"{at}.", self.rng.choice((0, 0, 0, 1, 1)))
        if self.chance(0.15):
            parts.append(f"{at}.order={self.order(target)}")
        if self.chance(0.12):
            parts.append(f"{at}.limit={self.rng.randrange(3)}")
        if self.chance(0.2):
            null = self.rng.choice(("is.null", "not.is.null"))
            parts.append(f"{'.'.join((*path, name))}={null}" if path else f"{name}={null}")
        if to_one and not path and self.chance(0.15):
            direction = self.rng.choice(("asc", "desc", "desc.nullslast"))
            parts.append(f"order={name}({self.rng.choice(COLUMNS[target])}).{direction}")
        return f"{alias}{written}{join}({inside})"

    def filters(self, table: str, at: str, count: int) -> list[str]:
        found = []
        for _ in range(count):
            if self.chance(0.12):
                joined = ",".join(
                    self.condition(table, ".") for _ in range(self.rng.randrange(1, 4))
                )
                tree = self.rng.choice(("and", "or", "not.and", "not.or"))
                found.append(f"{at}{tree}=({joined})")
            else:
                found.append(at + self.condition(table, "="))
        return found

    def condition(self, table: str, tie: str) -> str:
        column = self.rng.choice(COLUMNS[table])
        negated = "not." if self.chance(0.15) else ""
        return f"{column}{tie}{negated}{self.operation(table, column, in_tree=tie == '.')}"

    def operation(self, table: str, column: str, *, in_tree: bool) -> str:
        value = self.words.draw(self.rng, table, column)
        if self.chance(0.1):
            return self.rng.choice(("is.null", "not.is.null", "is.not_null"))
        if self.chance(0.12):
            values = [
                self.words.draw(self.rng, table, column) for _ in range(self.rng.randrange(4))
            ]
            return f"in.({','.join(quoted(each) for each in values)})"
        if column in TEXT and self.chance(0.6):
            return self.text_operation(str(value), in_tree=in_tree)
        operator = self.rng.choice(("eq", "eq", "neq", "gt", "gte", "lt", "lte", "isdistinct"))
        return f"{operator}.{quoted(value) if in_tree else escaped(value)}"

    def text_operation(self, value: str, *, in_tree: bool) -> str:
        start = self.rng.randrange(len(value)) if value else 0
        part = value[start : start + self.rng.randrange(1, 6)] or self.rng.choice(PARTS)
        operator = self.rng.choice(("like", "ilike", "like(any)", "match", "imatch", "ilike(all)"))
        if operator.endswith(")"):
            other = self.rng.choice(PARTS)
            listed = f'{{"*{plain(part)}*","*{plain(other)}*"}}'
            return f"{operator}.{quoted(listed) if in_tree else escaped(listed)}"
        pattern = f"*{plain(part)}*" if "like" in operator else plain(part)
        return f"{operator}.{quoted(pattern) if in_tree else escaped(pattern)}"

    def order(self, table: str) -> str:
        terms = []
        for _ in range(self.rng.randrange(1, 3)):
            direction = self.rng.choice(("", ".asc", ".desc", ".desc.nullslast", ".nullsfirst"))
            terms.append(self.rng.choice(COLUMNS[table]) + direction)
        return ",".join(terms)

    # Writing

    def write(self) -> Asking:
        written = (*RESOURCES, *(4 * sorted(oracle.WRITTEN_BY_ADMINS)))
        table = self.rng.choice(written)
        kind = self.rng.random()
        if kind < 0.4:
            return self.create(table)
        if kind < 0.72:
            return self.change(table)
        return self.put(table) if kind < 0.78 else self.remove(table)

    def preferences(self, *more: str) -> dict[str, str]:
        prefer = [*more]
        kind = self.rng.choice(("minimal", "representation", "representation", "headers-only"))
        prefer.append(f"return={kind}")
        if self.chance(0.3):
            prefer.append("count=exact")
        if self.chance(0.1):
            prefer.append("tx=rollback")
        if self.chance(0.08):
            prefer += ["handling=strict", f"max-affected={self.rng.randrange(4)}"]
        if self.chance(0.2):
            prefer.append(self.rng.choice(("missing=default", "timezone=Asia/Tokyo")))
        headers = {"prefer": ", ".join(prefer)}
        if self.chance(0.1):
            headers["accept"] = self.rng.choice(MEDIA)
        return headers

    def represented(self, table: str) -> str:
        parts: list[str] = []
        if not self.chance(0.5):
            return ""
        select = self.select(table, (), parts, 1)
        return "&".join(
            (f"select={select}", *(part for part in parts if "." in part.split("=")[0]))
        )

    def create(self, table: str) -> Asking:
        rows = [self.row(table) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        keys = {key: None for row in rows for key in row}
        rows = [{key: row.get(key) for key in keys} for row in rows]
        more: tuple[str, ...] = ()
        query = [self.represented(table)]
        if self.chance(0.3):
            more = (
                self.rng.choice(("resolution=merge-duplicates", "resolution=ignore-duplicates")),
            )
            if table == "users" and self.chance(0.4):
                query.append("on_conflict=email")
        if self.chance(0.1):
            query.append(
                f"columns={','.join(self.rng.sample(sorted(keys), max(1, len(keys) - 1)))}"
            )
        path = f"/{table}?{'&'.join(filter(None, query))}"
        headers = self.preferences(*more)
        if self.chance(0.08):
            return asking("POST", path, as_csv(rows), content_type="text/csv", **headers)
        return asking(
            "POST", path, rows[0] if len(rows) == 1 and self.chance(0.8) else rows, **headers
        )

    def change(self, table: str) -> Asking:
        row = self.row(table)
        chosen = self.rng.sample(sorted(row), min(self.rng.choice((1, 1, 2)), len(row)))
        body = {column: row[column] for column in chosen if column != "email"}
        query = "&".join(
            filter(
                None,
                (*self.filters(table, "", self.rng.choice((1, 1, 2))), self.represented(table)),
            )
        )
        if self.chance(0.07):
            query += f"&limit={self.rng.randrange(3)}&order={self.order(table)}"
        return asking("PATCH", f"/{table}?{query}", body, **self.preferences())

    def put(self, table: str) -> Asking:
        row = self.row(table)
        key = oracle.KEYS.get(table, ("id",))
        for column in key:
            row.setdefault(column, self.words.draw(self.rng, table, column))
        where = "&".join(f"{column}=eq.{escaped(row[column])}" for column in key)
        return asking("PUT", f"/{table}?{where}", row, **self.preferences())

    def remove(self, table: str) -> Asking:
        query = "&".join(
            filter(
                None,
                (*self.filters(table, "", self.rng.choice((1, 1, 2))), self.represented(table)),
            )
        )
        return asking("DELETE", f"/{table}?{query}", **self.preferences())

    def row(self, table: str) -> dict:
        """A row as somebody would write it; now and then with a key that is taken, hidden or free."""
        self.fresh += 1
        rng, draw = self.rng, self.words.draw
        if table in oracle.KEYS:
            grantee, target = oracle.KEYS[table]
            row = {
                grantee: draw(rng, "users", "id"),
                target: draw(
                    rng, "inspections" if target == "inspection_id" else "buildings", "id"
                ),
            }
            if self.chance(0.4):
                row["assigned_by"] = rng.choice((None, self.user["id"], draw(rng, "users", "id")))
            return row
        row = {
            "clients": lambda: {"name": f"New {self.fresh}"},
            "inspectors": lambda: {"name": f"New {self.fresh}", "email": None},
            "users": lambda: {
                "email": f"new{self.fresh}@new.example",
                "name": f"New {self.fresh}",
                "role": rng.choice(
                    ("client_manager", "client_manager", "client_admin", "super_admin")
                ),
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"), None)),
            },
            "buildings": lambda: {
                "name": f"New {self.fresh}",
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"))),
                "units": rng.choice((None, 3)),
            },
            "inspections": lambda: {
                "building_id": draw(rng, "buildings", "id"),
                "inspection_type": rng.choice(("fire", "lead")),
                "inspector_id": rng.choice((None, draw(rng, "inspectors", "id"))),
                "notes": f"New {self.fresh}",
            },
            "reports_lead": lambda: {
                "inspection_id": draw(rng, "inspections", "id"),
                "result": "negative",
            },
        }[table]()
        if self.chance(0.35):
            row["id"] = draw(rng, table, "id")
        if self.chance(0.03):
            row["created_at"] = "2020-01-01T00:00:00+00:00"
        return row

    # Functions

    def call(self) -> Asking:
        name, arguments = self.called()
        if self.chance(0.3):
            arguments = {f"p_{key.removeprefix('p_')}": value for key, value in arguments.items()}
        if name.startswith("assign"):
            headers = {"prefer": "tx=rollback"} if self.chance(0.1) else {}
            return asking("POST", f"/rpc/{name}", arguments, **headers)
        if self.chance(0.5):
            return asking("POST", f"/rpc/{name}", arguments)
        query = "&".join(f"{key}={escaped(value)}" for key, value in arguments.items())
        return asking("GET", f"/rpc/{name}?{query}")

    def called(self) -> tuple[str, dict]:
        rng, draw = self.rng, self.words.draw
        building = draw(rng, "buildings", "id")
        inspection = draw(rng, "inspections", "id")
        person = self.user["id"] if self.chance(0.4) else draw(rng, "users", "id")
        some = [draw(rng, "buildings", "id") for _ in range(rng.randrange(3))]
        others = [draw(rng, "inspections", "id") for _ in range(rng.randrange(3))]
        days = sorted((draw(rng, "inspections", "date_visited"), "2025-06-01"), key=str)
        return rng.choice((
            ("get_inspections_dashboard_summary_fast", {}),
            ("get_building_stats_chart_fast", {}),
            ("get_building_stats_chart_fast", {"start_date": days[0], "end_date": days[1]}),
            ("get_building_stats", {"building_id": building}),
            ("check_building_access_v2", {"p_building_id": building, "p_user_id": person}),
            ("check_inspection_access", {"p_inspection_id": inspection, "p_user_id": person}),
            ("explain_building_access", {"p_building_id": building, "p_user_id": person}),
            ("explain_inspection_access", {"p_inspection_id": inspection, "p_user_id": person}),
            ("assign_buildings_to_client_admin", {"admin_id": person, "building_ids": some}),
            ("assign_inspections_to_client_admin", {"admin_id": person, "inspection_ids": others}),
            ("assign_to_client_manager",
             {"manager_id": person, "building_ids": some, "inspection_ids": others}),
            ("assign_to_client_manager",
             {"manager_id": person, "building_ids": some, "inspection_ids": others}),
        ))  # fmt: skip


def as_csv(rows: list[dict]) -> bytes:
    lines = [",".join(rows[0])]
    lines += [",".join("NULL" if v is None else str(v) for v in row.values()) for row in rows]
    return "\n".join(lines).encode()
