"""What can be asked, as plain data: frozen, hashable, and without a single value in it.

A `Shape` says which columns, embeds, operators and orders; the values (operands, limits, offsets) stand
beside it in reading order, and a shape points at them by their place. Two requests that differ in
values only are equal in shape and share a plan. This module knows no SQL, no model and no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field

from models.errors import Fault

Value = str | int | tuple[str, ...]
"""An operand as it stood on the wire (`eq.5` -> "5"), a list's elements, or a limit or offset."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a JSON path: `->name`, or `->>name` (`as_text`); a whole number is a place in an array."""

    name: str
    as_text: bool = False

    @property
    def is_index(self) -> bool:
        return self.name.removeprefix("-").isdecimal()


Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One item of a select: `alias:name->path::cast.aggregate()::aggregate_cast`; `*` is every column."""

    name: str
    alias: str | None = None
    path: Path = ()
    cast: str | None = None
    aggregate: str | None = None
    aggregate_cast: str | None = None

    @property
    def key(self) -> str:
        """The key it has in printed rows; a place in an array (`->0`) names nothing.

        >>> Column("after", path=(Step("a"), Step("0"))).key, Column("after", path=(Step("-1"),)).key
        ('a', 'after')
        """
        named = (step.name for step in reversed(self.path) if not step.is_index)
        return self.alias or self.aggregate or next(named, self.name)


SHORT_CHARACTERS_MAX = 200
"""A text of so many stands in an index wherever texts of 64 KiB may not."""


@dataclass(frozen=True, slots=True)
class Filter:
    """`column=not.operator(quantifier).value`; `is` keeps its keyword, having no value.

    `is_long` says that a value has more than SHORT_CHARACTERS_MAX characters.
    """

    column: str
    operator: str
    path: Path = ()
    negated: bool = False
    quantifier: str | None = None
    keyword: str | None = None
    value: int | None = None
    is_long: bool = False

    @property
    def names_values(self) -> bool:
        """Whether it says which values its column is to have, or is not to have."""
        of_any = self.operator == "in" or (self.operator == "eq" and self.quantifier != "all")
        return of_any and not self.path

    @property
    def names_few(self) -> bool:
        """Whether it names the few values that its column is to have."""
        return self.names_values and not self.negated

    @property
    def is_of_short_values(self) -> bool:
        """Whether no long text is among those that it finds."""
        return self.names_values and not self.is_long

    @property
    def is_equality(self) -> bool:
        """Whether it is `column=eq.value`: not negated, not quantified, no path."""
        return self.operator == "eq" and not (self.negated or self.quantifier or self.path)


@dataclass(frozen=True, slots=True)
class LogicTree:
    """`and=(…)`, `or=(…)`, and what is nested in them."""

    operator: str
    operands: tuple[Condition, ...]
    negated: bool = False


Condition = Filter | LogicTree


def size_of(condition: Condition) -> int:
    """How many filters there are in it."""
    return 1 if isinstance(condition, Filter) else sum(map(size_of, condition.operands))


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """`column.desc.nullslast`, or `embed(column).desc` by a to-one embed."""

    column: str
    path: Path = ()
    embed: str | None = None
    descending: bool = False
    nulls: str | None = None


@dataclass(frozen=True, slots=True)
class Embed:
    """`alias:relation!hint!inner(node)`, or `...relation(node)` when spread."""

    relation: str
    node: Node
    alias: str | None = None
    hint: str | None = None
    join: str | None = None
    spread: bool = False

    @property
    def name(self) -> str:
        """The key the embed has in its parent's rows."""
        return self.alias or self.relation

    @property
    def size(self) -> int:
        """Of how many items and so on it is made. Each that is spread may be a select of its own, and `*` some ten."""
        if not self.spread:
            return self.node.size
        return SELECT_SIZE * (self.node.size + STAR_SIZE * self.node.items.count(Column("*")))


@dataclass(frozen=True, slots=True)
class Node:
    """A level of the select tree, with the filters, order and range that were addressed to it."""

    items: tuple[Column | Embed, ...] = (Column("*"),)
    conditions: tuple[Condition, ...] = ()
    order: tuple[OrderTerm, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def embeds(self) -> list[Embed]:
        """What is embedded in its rows."""
        return [item for item in self.items if isinstance(item, Embed)]

    def names_one(self, key: tuple[str, ...]) -> bool:
        """Whether its filters say each column of a key, and no range counts on from there."""
        said = {
            each.column for each in self.conditions if isinstance(each, Filter) and each.is_equality
        }
        return set(key) <= said and self.limit is None and self.offset is None

    @property
    def size(self) -> int:
        """Of how many items, filters and order terms it is made, what is embedded included."""
        own = len(self.items) + len(self.order) + sum(map(size_of, self.conditions))
        return own + sum(embed.size for embed in self.embeds)

    @property
    def letters(self) -> int:
        """How many letters all names in it have together, what is embedded included."""
        parts = (*self.items, *self.order, *self.conditions)
        return sum(len(name) for name in names_in(*parts) if name is not None)

    @property
    def is_total(self) -> bool:
        """Whether its rows are one in any case: it aggregates, and groups by nothing."""
        return bool(self.items) and all(
            isinstance(item, Column) and item.aggregate is not None for item in self.items
        )


def names_in(*parts: Column | Embed | OrderTerm | Condition) -> Iterator[str | None]:
    """Every name that a request has chosen, or None in the place of one."""
    for part in parts:
        if isinstance(part, LogicTree):
            yield from names_in(*part.operands)
        elif isinstance(part, Embed):
            yield from (part.relation, part.alias, part.hint)
            yield from names_in(*part.node.items, *part.node.order, *part.node.conditions)
        else:
            if isinstance(part, Column):
                yield from (part.name, part.alias, part.cast, part.aggregate_cast)
            else:
                yield from (part.column, part.embed if isinstance(part, OrderTerm) else None)
            yield from (step.name for step in part.path)


SELECT_SIZE = 4  # of a select that is there for an item alone, in items
STAR_SIZE = 10
LARGE_SIZE = 80
LARGE_LETTERS = 3_000
"""What a shape of more is made of, or of longer names, is worth remembering only for a while."""


@dataclass(frozen=True)
class Shape:
    """A whole query without its values. Its hash is computed once: shapes are keys of the plan cache."""

    root: Node = Node()
    columns: tuple[str, ...] | None = None
    on_conflict: tuple[str, ...] | None = None
    timezone: bool = False
    fingerprint: int = field(init=False, repr=False, compare=False)
    is_large: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = (self.root, self.columns, self.on_conflict, self.timezone)
        object.__setattr__(self, "fingerprint", hash(parts))
        object.__setattr__(
            self, "is_large", self.root.size > LARGE_SIZE or self.root.letters > LARGE_LETTERS
        )

    def __hash__(self) -> int:
        return self.fingerprint


@dataclass(frozen=True, slots=True)
class Query:
    """A shape and the values its places point at."""

    shape: Shape
    values: tuple[Value, ...] = ()


class NotEmbedded(Fault):
    """A parameter, or an order, is addressed to something that `select` does not embed (PGRST108)."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"'{name}' is not an embedded resource in this request",
            hint=f"Verify that '{name}' is included in the 'select' query parameter.",
        )
        self.name = name
