"""Random reads: select, embeds, filters, orders, aggregates, Prefer, Range and media types.

Most reads are well-formed. Their values come from a vocabulary.
"""

import random

from tests.safety.service_instances import HttpRequest, make_request
from tests.safety.vocabulary import DATES, TEXT, TIMES, Vocabulary, escaped, quoted, without_pattern_characters
from tests.support import oracle
from tests.support.columns import COLUMNS, MODELLED_TABLES

# Embeds: (expression in select, related table, to-one)
EMBEDS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "inspections": (
        ("buildings", "buildings", True),
        ("buildings!building_id", "buildings", True),
        ("inspectors", "inspectors", True),
        ("reports_lead", "reports_lead", False),
        ("calibration_checks", "calibration_checks", False),
        ("findings", "findings", False),
        ("inspection_plans", "inspection_plans", True),
        ("issued_reports", "issued_reports", False),
        ("client_admin_inspection_access", "client_admin_inspection_access", False),
        ("client_manager_inspection_access", "client_manager_inspection_access", False),
        ("users!client_manager_inspection_access", "users", False),
    ),
    "buildings": (
        ("clients", "clients", True),
        ("inspections", "inspections", False),
        ("building_details", "building_details", True),
        ("schedules", "schedules", False),
        ("notices", "notices", False),
        ("client_admin_building_access", "client_admin_building_access", False),
        ("client_manager_building_access", "client_manager_building_access", False),
        ("users!client_manager_building_access", "users", False),
        ("users!client_admin_building_access", "users", False),
    ),
    "building_details": (("buildings", "buildings", True),),
    "reports_lead": (("inspections", "inspections", True),),
    "calibration_checks": (("inspections", "inspections", True),),
    "xrf_instruments": (("clients", "clients", True), ("xrf_limits", "xrf_limits", False)),
    "xrf_limits": (("xrf_instruments", "xrf_instruments", True),),
    "lead_standards": (("clients", "clients", True),),
    "schedules": (("buildings", "buildings", True), ("inspection_plans", "inspection_plans", False)),
    "inspection_plans": (("inspections", "inspections", True), ("schedules", "schedules", True)),
    "deadline_rules": (("clients", "clients", True),),
    "findings": (("inspections", "inspections", True), ("finding_events", "finding_events", False)),
    "finding_events": (("findings", "findings", True), ("users", "users", True), ("notices", "notices", True)),
    "issued_reports": (
        ("inspections", "inspections", True),
        ("clients", "clients", True),
        ("users!issued_by", "users", True),
    ),
    "notices": (
        ("buildings", "buildings", True),
        ("clients", "clients", True),
        ("finding_events", "finding_events", False),
    ),
    "inspectors": (("inspections", "inspections", False), ("users", "users", True)),
    "clients": (
        ("buildings", "buildings", False),
        ("users", "users", False),
        ("xrf_instruments", "xrf_instruments", False),
        ("issued_reports", "issued_reports", False),
        ("notices", "notices", False),
    ),
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
            (("buildings", "buildings", True) if key[1] == "building_id" else ("inspections", "inspections", True)),
        )
        for table, key in oracle.KEYS.items()
    },
}
DEPTH_MAX = 3
CASTS = {"text": ("int", "date", "text"), "number": ("text", "int")}
MEDIA = (
    "text/csv",
    "application/vnd.pgrst.object+json",
    "application/vnd.pgrst.array+json;nulls=stripped",
    "application/json",
)
PATTERN_CHARACTERS = "abcdeoprt0123456789 %"


class ReadGenerator:
    """Draw reads."""

    def __init__(self, rng: random.Random, vocabulary: Vocabulary) -> None:
        self.rng = rng
        self.vocabulary = vocabulary

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def read(self) -> HttpRequest:
        table = self.rng.choice(MODELLED_TABLES)
        method = "HEAD" if self.chance(0.05) else "GET"
        prefix = "/rest/v1" if self.chance(0.05) else ""
        query = self.query(table)
        return make_request(method, f"{prefix}/{table}?{query}", **self.headers())

    def headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        prefer = [self.rng.choice(("count=exact", "count=exact", "count=planned", "count=estimated"))]
        if self.chance(0.1):
            prefer.append(self.rng.choice(("handling=strict", "timezone=Asia/Tokyo", "handling=lenient")))
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

    def select(self, table: str, path: tuple[str, ...], parts: list[str], depth: int) -> str:
        if self.chance(0.12):
            return self.aggregates(table)
        items = ["*"] if self.chance(0.35) else [self.item(table) for _ in range(self.rng.randrange(1, 4))]
        if depth < DEPTH_MAX and self.chance(0.65 - 0.2 * depth):
            relationships = self.rng.sample(EMBEDS[table], min(self.rng.choice((1, 1, 2)), len(EMBEDS[table])))
            chosen: set[str] = set()
            for relationship in relationships:
                if relationship[1] not in chosen:
                    chosen.add(relationship[1])
                    items.append(self.embed(relationship, path, parts, depth + 1))
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
        to_one_relationships = [relationship for relationship in EMBEDS[table] if relationship[2]]
        if to_one_relationships and self.chance(0.4):
            expression, target, _ = self.rng.choice(to_one_relationships)
            found.append(f"{expression}({self.rng.choice(COLUMNS[target])})")
        return ",".join(found)

    def embed(self, relationship: tuple[str, str, bool], path: tuple[str, ...], parts: list[str], depth: int) -> str:
        expression, target, to_one = relationship
        name = target
        alias = ""
        if self.chance(0.1):
            name = f"e{depth}"
            alias = f"{name}:"
        if to_one and self.chance(0.1):
            return f"...{expression}({self.item(target)})"
        spread = ""
        if not alias and self.chance(0.15):
            spread = "..."
        join = self.rng.choice(("", "", "", "!inner", "!left"))
        embed_path = (*path, name)
        inside = "" if self.chance(0.05) else self.select(target, embed_path, parts, depth)
        prefix = ".".join(embed_path)
        parts += self.filters(target, f"{prefix}.", self.rng.choice((0, 0, 0, 1, 1)))
        if self.chance(0.15):
            parts.append(f"{prefix}.order={self.order(target)}")
        if self.chance(0.12):
            parts.append(f"{prefix}.limit={self.rng.randrange(3)}")
        if self.chance(0.2):
            null = self.rng.choice(("is.null", "not.is.null"))
            parts.append(f"{'.'.join((*path, name))}={null}" if path else f"{name}={null}")
        if to_one and not path and self.chance(0.15):
            direction = self.rng.choice(("asc", "desc", "desc.nullslast"))
            parts.append(f"order={name}({self.rng.choice(COLUMNS[target])}).{direction}")
        return f"{alias}{spread}{expression}{join}({inside})"

    def filters(self, table: str, prefix: str, count: int) -> list[str]:
        found = []
        for _ in range(count):
            if self.chance(0.12):
                joined = ",".join(self.condition(table, ".") for _ in range(self.rng.randrange(1, 4)))
                tree = self.rng.choice(("and", "or", "not.and", "not.or"))
                found.append(f"{prefix}{tree}=({joined})")
            else:
                found.append(prefix + self.condition(table, "="))
        return found

    def condition(self, table: str, separator: str) -> str:
        column = self.rng.choice(COLUMNS[table])
        negated = "not." if self.chance(0.15) else ""
        return f"{column}{separator}{negated}{self.operation(table, column, in_tree=separator == '.')}"

    def operation(self, table: str, column: str, *, in_tree: bool) -> str:
        value = self.vocabulary.draw(self.rng, table, column)
        if self.chance(0.1):
            return self.rng.choice(("is.null", "not.is.null", "is.not_null"))
        if self.chance(0.12):
            values = [self.vocabulary.draw(self.rng, table, column) for _ in range(self.rng.randrange(4))]
            return f"in.({','.join(quoted(each) for each in values)})"
        if column in TEXT and self.chance(0.6):
            return self.text_operation(str(value), in_tree=in_tree)
        operator = self.rng.choice(("eq", "eq", "neq", "gt", "gte", "lt", "lte", "isdistinct"))
        return f"{operator}.{quoted(value) if in_tree else escaped(value)}"

    def text_operation(self, value: str, *, in_tree: bool) -> str:
        start = self.rng.randrange(len(value)) if value else 0
        part = value[start : start + self.rng.randrange(1, 6)] or self.rng.choice(PATTERN_CHARACTERS)
        operator = self.rng.choice(("like", "ilike", "like(any)", "match", "imatch", "ilike(all)"))
        if operator.endswith(")"):
            other = self.rng.choice(PATTERN_CHARACTERS)
            listed = f'{{"*{without_pattern_characters(part)}*","*{without_pattern_characters(other)}*"}}'
            return f"{operator}.{quoted(listed) if in_tree else escaped(listed)}"
        pattern = f"*{without_pattern_characters(part)}*" if "like" in operator else without_pattern_characters(part)
        return f"{operator}.{quoted(pattern) if in_tree else escaped(pattern)}"

    def order(self, table: str) -> str:
        terms = []
        for _ in range(self.rng.randrange(1, 3)):
            direction = self.rng.choice(("", ".asc", ".desc", ".desc.nullslast", ".nullsfirst"))
            terms.append(self.rng.choice(COLUMNS[table]) + direction)
        return ",".join(terms)
