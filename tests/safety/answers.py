"""What the service must answer a read with, over plain dicts: visible rows, filtered, ordered, grouped, embedded.

Written from what is promised, importing nothing of the service.
"""

from dataclasses import dataclass
from itertools import chain

from tests.support import oracle


@dataclass(frozen=True, slots=True)
class Filter:
    """`column=operator.value`, negated or not."""

    column: str
    operator: str
    value: object
    negated: bool = False

    def holds(self, row: dict) -> bool | None:
        found = self.plainly(row[self.column])
        return found if found is None or not self.negated else not found

    def plainly(self, here: object) -> bool | None:
        if self.operator == "is":
            return here is None
        if self.operator == "isdistinct":
            return here != self.value
        if self.operator == "in" and not self.value:
            return False  # in nothing is nothing, not even what is unknown
        return None if here is None else COMPARES[self.operator](here, self.value)


COMPARES = {
    "eq": lambda here, there: here == there,
    "neq": lambda here, there: here != there,
    "gt": lambda here, there: here > there,
    "gte": lambda here, there: here >= there,
    "lt": lambda here, there: here < there,
    "lte": lambda here, there: here <= there,
    "in": lambda here, there: here in there,
    "like": lambda here, there: there in here,
    "ilike": lambda here, there: there.lower() in here.lower(),
    "match": lambda here, there: there in here,
}


@dataclass(frozen=True, slots=True)
class Embed:
    """One way to another relation: what ties a row there to a row here, and what is asked of it."""

    written: str
    name: str
    table: str
    pairs: tuple[str, str]
    to_one: bool
    columns: tuple[str, ...]
    join: str = ""
    filters: tuple[Filter, ...] = ()
    null: str = ""
    embeds: tuple["Embed", ...] = ()
    junction: tuple[str, str, str] | None = None
    spread: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """What its rows hold, in order; what comes later stands in the place of what has its name."""
        inner = (each.keys if each.spread else (each.name,) for each in self.embeds)
        return (*self.columns, *chain.from_iterable(inner))


@dataclass(frozen=True, slots=True)
class Read:
    """A GET. `order` is (column, descending), and goes on with the key; `grouped` counts by a column."""

    table: str
    columns: tuple[str, ...]
    embeds: tuple[Embed, ...] = ()
    filters: tuple[Filter, ...] = ()
    either: tuple[Filter, ...] = ()
    order: tuple[str, bool] | None = None
    limit: int | None = None
    offset: int = 0
    grouped: str | None = None
    summed: str | None = None


def rows_of(seen: dict, read: Read) -> tuple[list[dict], int]:
    """The rows of an answer, and how many there were before the range; `seen` is what is visible."""
    matched = [
        row
        for row in seen[read.table]
        if all(each.holds(row) for each in read.filters) and holds_any(read.either, row)
        and all(joins(seen, row, embed) for embed in read.embeds)
    ]  # fmt: skip
    if read.grouped is not None or read.summed is not None:
        return groups(matched, read), -1
    ordered = sorted(matched, key=lambda row: oracle.key_of(read.table, row))
    if read.order is not None:
        column, descending = read.order
        # Nulls count as the largest, as in PostgreSQL; a sort in reverse keeps equals by key.
        ordered.sort(key=lambda row: sortable(row[column]), reverse=descending)
    end = None if read.limit is None else read.offset + read.limit
    page = ordered[read.offset : end]
    return [printed(seen, row, read.columns, read.embeds) for row in page], len(matched)


def sortable(value: object) -> tuple:
    return (True,) if value is None else (False, value)


def holds_any(either: tuple[Filter, ...], row: dict) -> bool:
    return not either or any(each.holds(row) for each in either)


def groups(matched: list[dict], read: Read) -> list[dict]:
    if read.grouped is None:
        values = [row[read.summed] for row in matched if row[read.summed] is not None]
        return [{"sum": sum(values) if values else None, "count": len(matched)}]
    counts: dict[object, int] = {}
    for row in matched:
        counts[row[read.grouped]] = counts.get(row[read.grouped], 0) + 1
    return [{read.grouped: value, "count": count} for value, count in counts.items()]


def printed(seen: dict, row: dict, columns: tuple[str, ...], embeds: tuple[Embed, ...]) -> dict:
    shown = {column: row[column] for column in columns}
    for embed in embeds:
        found = [printed(seen, other, embed.columns, embed.embeds) for other in tied(seen, row, embed)]
        if embed.spread and not embed.to_one:
            shown |= {key: [each[key] for each in found] for key in embed.keys}
        elif embed.spread:
            shown |= found[0] if found else dict.fromkeys(embed.keys)
        else:
            shown[embed.name] = (found[0] if found else None) if embed.to_one else found
    return shown


def tied(seen: dict, row: dict, embed: Embed) -> list[dict]:
    """The visible rows at the far end that pass the embed's own filters and inner joins."""
    return [
        other
        for other in seen[embed.table]
        if is_tied(seen, row, other, embed)
        and all(each.holds(other) for each in embed.filters)
        and all(joins(seen, other, each) for each in embed.embeds)
    ]


def is_tied(seen: dict, row: dict, other: dict, embed: Embed) -> bool:
    here, there = embed.pairs
    if embed.junction is None:
        return row[here] is not None and row[here] == other[there]
    table, near, far = embed.junction
    return any(grant[near] == row[here] and grant[far] == other[there] for grant in seen[table])


def joins(seen: dict, row: dict, embed: Embed) -> bool:
    """Whether a row stays, for all that an embed has to say about it."""
    found = bool(tied(seen, row, embed))
    if embed.join == "!inner" and not found:
        return False
    if embed.null:
        return found == (embed.null == "not.is.null")
    return True
