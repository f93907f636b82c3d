"""Expected responses to reads, computed over plain dicts: visible rows, filtered, ordered, grouped, embedded.

The module follows the documentation and imports nothing of the service.
"""

from dataclasses import dataclass
from itertools import chain

from tests.support import oracle


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter `column=operator.value`, optionally negated."""

    column: str
    operator: str
    value: object
    negated: bool = False

    def matches(self, row: dict) -> bool | None:
        found = self.matches_unnegated(row[self.column])
        return found if found is None or not self.negated else not found

    def matches_unnegated(self, value: object) -> bool | None:
        if self.operator == "is":
            return value is None
        if self.operator == "isdistinct":
            return value != self.value
        if self.operator == "in" and not self.value:
            return False  # an empty list contains nothing, not even null
        return None if value is None else COMPARISONS[self.operator](value, self.value)


COMPARISONS = {
    "eq": lambda value, operand: value == operand,
    "neq": lambda value, operand: value != operand,
    "gt": lambda value, operand: value > operand,
    "gte": lambda value, operand: value >= operand,
    "lt": lambda value, operand: value < operand,
    "lte": lambda value, operand: value <= operand,
    "in": lambda value, operand: value in operand,
    "like": lambda value, operand: operand in value,
    "ilike": lambda value, operand: operand.lower() in value.lower(),
    "match": lambda value, operand: operand in value,
}


@dataclass(frozen=True, slots=True)
class Embed:
    """One embedded relation: its join columns, and the filters of the embed."""

    expression: str
    name: str
    table: str
    join_columns: tuple[str, str]
    to_one: bool
    columns: tuple[str, ...]
    join: str = ""
    filters: tuple[Filter, ...] = ()
    null_filter: str = ""
    embeds: tuple["Embed", ...] = ()
    junction: tuple[str, str, str] | None = None
    spread: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of an embedded row, in order. A later key replaces an earlier key of the same name."""
        inner = (each.keys if each.spread else (each.name,) for each in self.embeds)
        return (*self.columns, *chain.from_iterable(inner))


@dataclass(frozen=True, slots=True)
class Read:
    """A GET. `order` is (column, descending); the primary key breaks ties. `group_by` counts rows by a column."""

    table: str
    columns: tuple[str, ...]
    embeds: tuple[Embed, ...] = ()
    filters: tuple[Filter, ...] = ()
    or_filters: tuple[Filter, ...] = ()
    order: tuple[str, bool] | None = None
    limit: int | None = None
    offset: int = 0
    group_by: str | None = None
    sum_column: str | None = None


def expected_rows(seen: dict, read: Read) -> tuple[list[dict], int]:
    """Return the expected rows and their number before limit and offset, which is -1 for aggregates.

    `seen` holds the visible rows.
    """
    matched = [
        row
        for row in seen[read.table]
        if all(each.matches(row) for each in read.filters) and matches_any(read.or_filters, row)
        and all(passes_join(seen, row, embed) for embed in read.embeds)
    ]  # fmt: skip
    if read.group_by is not None or read.sum_column is not None:
        return groups(matched, read), -1
    ordered = sorted(matched, key=lambda row: oracle.key_of(read.table, row))
    if read.order is not None:
        column, descending = read.order
        # Nulls sort as the largest values, as in PostgreSQL. A reverse sort keeps equal rows in key order.
        ordered.sort(key=lambda row: sortable(row[column]), reverse=descending)
    end = None if read.limit is None else read.offset + read.limit
    page = ordered[read.offset : end]
    return [projected(seen, row, read.columns, read.embeds) for row in page], len(matched)


def sortable(value: object) -> tuple:
    return (True,) if value is None else (False, value)


def matches_any(or_filters: tuple[Filter, ...], row: dict) -> bool:
    return not or_filters or any(each.matches(row) for each in or_filters)


def groups(matched: list[dict], read: Read) -> list[dict]:
    if read.group_by is None:
        values = [row[read.sum_column] for row in matched if row[read.sum_column] is not None]
        return [{"sum": sum(values) if values else None, "count": len(matched)}]
    counts: dict[object, int] = {}
    for row in matched:
        counts[row[read.group_by]] = counts.get(row[read.group_by], 0) + 1
    return [{read.group_by: value, "count": count} for value, count in counts.items()]


def projected(seen: dict, row: dict, columns: tuple[str, ...], embeds: tuple[Embed, ...]) -> dict:
    shown = {column: row[column] for column in columns}
    for embed in embeds:
        found = [projected(seen, other, embed.columns, embed.embeds) for other in embedded_rows(seen, row, embed)]
        if embed.spread and not embed.to_one:
            shown |= {key: [each[key] for each in found] for key in embed.keys}
        elif embed.spread:
            shown |= found[0] if found else dict.fromkeys(embed.keys)
        else:
            shown[embed.name] = (found[0] if found else None) if embed.to_one else found
    return shown


def embedded_rows(seen: dict, row: dict, embed: Embed) -> list[dict]:
    """Return the visible related rows that pass the embed's own filters and inner joins."""
    return [
        other
        for other in seen[embed.table]
        if is_related(seen, row, other, embed)
        and all(each.matches(other) for each in embed.filters)
        and all(passes_join(seen, other, each) for each in embed.embeds)
    ]


def is_related(seen: dict, row: dict, other: dict, embed: Embed) -> bool:
    own, related = embed.join_columns
    if embed.junction is None:
        return row[own] is not None and row[own] == other[related]
    table, near, far = embed.junction
    return any(grant[near] == row[own] and grant[far] == other[related] for grant in seen[table])


def passes_join(seen: dict, row: dict, embed: Embed) -> bool:
    """Return whether a row passes the inner join and the null filter of an embed."""
    found = bool(embedded_rows(seen, row, embed))
    if embed.join == "!inner" and not found:
        return False
    if embed.null_filter:
        return found == (embed.null_filter == "not.is.null")
    return True
