"""The shape of a query: frozen, hashable data without values, which is the key of the plan cache.

A `Shape` holds columns, embeds, operators and orders. It refers to operands, limits and offsets by their position in
a tuple of values. Requests that differ only in values have equal shapes and share a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from models.types import Fault

Value = str | int | tuple[str | None, ...]
"""An operand as text (`eq.5` -> "5"), the elements of a list, a limit, or an offset."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a JSON path: `->name`, or `->>name` (`as_text`). An integer is an array index."""

    name: str
    as_text: bool = False

    @property
    def is_index(self) -> bool:
        return self.name.removeprefix("-").isdecimal()


Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """An item of `select`: `alias:name->path::cast.aggregate()::aggregate_cast`. The name `*` is every column."""

    name: str
    alias: str | None = None
    path: Path = ()
    cast: str | None = None
    aggregate: str | None = None
    aggregate_cast: str | None = None

    @property
    def key(self) -> str:
        """The column's key in a printed row. An array index in the path is no name.

        >>> Column("after", path=(Step("a"), Step("0"))).key, Column("after", path=(Step("-1"),)).key
        ('a', 'after')
        """
        named = (step.name for step in reversed(self.path) if not step.is_index)
        return self.alias or self.aggregate or next(named, self.name)


SHORT_CHARACTERS_MAX = 200
"""The longest text that indexes hold in every database."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter `column=not.operator(quantifier).value`. An `is` filter has a keyword and no value.

    `is_long`: a value has more than SHORT_CHARACTERS_MAX characters.
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
    def is_membership_test(self) -> bool:
        """Whether the filter compares its column with a list of values, negated or not."""
        is_any = self.operator == "in" or (self.operator == "eq" and self.quantifier != "all")
        return is_any and not self.path

    @property
    def is_selective(self) -> bool:
        """Whether the filter lists the values that match."""
        return self.is_membership_test and not self.negated

    @property
    def matches_short_texts_only(self) -> bool:
        """Whether the filter can match short texts only."""
        return self.is_membership_test and not self.is_long

    @property
    def is_equality(self) -> bool:
        """Whether the filter is `column=eq.value`: without negation, quantifier and path."""
        return self.operator == "eq" and not (self.negated or self.quantifier or self.path)


@dataclass(frozen=True, slots=True)
class LogicTree:
    """A tree of conditions: `and=(…)` or `or=(…)`."""

    operator: str
    operands: tuple[Condition, ...]
    negated: bool = False


Condition = Filter | LogicTree


def filter_count(condition: Condition) -> int:
    """Return the number of filters in a condition."""
    return 1 if isinstance(condition, Filter) else sum(map(filter_count, condition.operands))


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """A term of `order`: `column.desc.nullslast`, or `embed(column).desc` for a to-one embed.

    Only the console orders by rank of the allowed values, or `through` a row to which the embedded row refers.
    """

    column: str
    path: Path = ()
    embed: str | None = None
    descending: bool = False
    nulls: str | None = None
    ranked: bool = False
    through: str | None = None


@dataclass(frozen=True, slots=True)
class Embed:
    """An embed `alias:relation!hint!inner(node)`, or a spread `...relation(node)`."""

    relation: str
    node: Node
    alias: str | None = None
    hint: str | None = None
    join: str | None = None
    spread: bool = False

    @property
    def name(self) -> str:
        """The embed's key in the rows of its parent."""
        return self.alias or self.relation

    @property
    def size(self) -> int:
        """The size of the embed's node. Each item of a spread embed may be a sub-select, and `*` counts as 10 items."""
        if not self.spread:
            return self.node.size
        return SELECT_SIZE * (self.node.size + STAR_SIZE * self.node.items.count(Column("*")))


@dataclass(frozen=True, slots=True)
class Node:
    """A level of the select tree with its filters, order and range."""

    items: tuple[Column | Embed, ...] = (Column("*"),)
    conditions: tuple[Condition, ...] = ()
    order: tuple[OrderTerm, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def embeds(self) -> list[Embed]:
        """The embeds among the items."""
        return [item for item in self.items if isinstance(item, Embed)]

    def selects_one(self, key: tuple[str, ...]) -> bool:
        """Return whether the filters give every column of a key, and there is no limit or offset."""
        equal = {each.column for each in self.conditions if isinstance(each, Filter) and each.is_equality}
        return set(key) <= equal and self.limit is None and self.offset is None

    @property
    def size(self) -> int:
        """The number of items, filters and order terms, embeds included."""
        own = len(self.items) + len(self.order) + sum(map(filter_count, self.conditions))
        return own + sum(embed.size for embed in self.embeds)

    @property
    def name_characters(self) -> int:
        """The total length of all names, embeds included."""
        parts = (*self.items, *self.order, *self.conditions)
        return sum(len(name) for name in names_of(*parts) if name is not None)

    @property
    def is_single_group(self) -> bool:
        """Whether the node always has one row: every item is an aggregate."""
        return bool(self.items) and all(isinstance(item, Column) and item.aggregate is not None for item in self.items)


def names_of(*parts: Column | Embed | OrderTerm | Condition) -> Iterator[str | None]:
    """Yield the names in parts of a request; None for a name that is absent."""
    for part in parts:
        if isinstance(part, LogicTree):
            yield from names_of(*part.operands)
        elif isinstance(part, Embed):
            yield from (part.relation, part.alias, part.hint)
            yield from names_of(*part.node.items, *part.node.order, *part.node.conditions)
        else:
            if isinstance(part, Column):
                yield from (part.name, part.alias, part.cast, part.aggregate_cast)
            else:
                yield from (part.column, part.embed if isinstance(part, OrderTerm) else None)
            yield from (step.name for step in part.path)


SELECT_SIZE = 4  # the size of a sub-select for one item, in items
STAR_SIZE = 10
LARGE_SIZE = 80
LARGE_NAME_CHARACTERS = 3_000
"""Plans of larger shapes, or of shapes with longer names, are not cached."""


@dataclass(frozen=True)
class Shape:
    """A query without its values. The hash is computed once, because shapes are keys of the plan cache."""

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
            self, "is_large", self.root.size > LARGE_SIZE or self.root.name_characters > LARGE_NAME_CHARACTERS
        )

    def __hash__(self) -> int:
        return self.fingerprint


@dataclass(frozen=True, slots=True)
class Query:
    """A shape and its values."""

    shape: Shape
    values: tuple[Value, ...] = ()


class NotEmbedded(Fault, code="PGRST108"):
    """A parameter or an order that refers to a relation which `select` does not embed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"'{name}' is not an embedded resource in this request",
            hint=f"Verify that '{name}' is included in the 'select' query parameter.",
        )
        self.name = name
