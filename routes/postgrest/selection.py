"""Parses `select`, `order`, `columns` and `on_conflict` into the data of `engine.query.shape`.

The planner checks that columns and embeds exist.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.query.shape import Column, Embed, Node, OrderTerm, Path
from routes.postgrest.lexer import FIELD_NAME, LimitExceeded, Limits, ParseState, Scanner

Items = tuple[Column | Embed, ...]

AGGREGATES: Final = ("sum", "avg", "count", "max", "min")
JOINS: Final = ("inner", "left")
NULLS: Final = ("nullsfirst", "nullslast")
ALL_COLUMNS: Final[Items] = (Column("*"),)

_ITEM: Final = f'"...", {FIELD_NAME}, "*" or "count()"'
_AFTER_ITEM: Final = 'letter, digit, "-", "->>", "->", "::", ".", ")", ","'


def parse_select(text: str, limits: Limits) -> Items:
    """Parse a `select`. An empty one, or one that begins with a comma, means all columns (recorded).

    >>> parse_select("id,label:name::text", Limits())  # doctest: +NORMALIZE_WHITESPACE
    (Column(name='id', alias=None, path=(), cast=None, aggregate=None, aggregate_cast=None),
     Column(name='name', alias='label', path=(), cast='text', aggregate=None, aggregate_cast=None))
    >>> parse_select("...clients!inner()", Limits())[0].join
    'inner'
    >>> parse_select("cnt:units.sum()::text", Limits())[0].aggregate
    'sum'
    >>> parse_select(" ", Limits()) == parse_select(",id", Limits()) == (Column("*"),)
    True
    """
    stripped = text.lstrip(" \t")
    if not stripped or stripped.startswith(","):
        if stripped.count(",") > limits.select_items:
            raise LimitExceeded(limits.select_items, "items in a select")
        return ALL_COLUMNS
    scanner = Scanner("select parameter", text)
    items = _Select(scanner, limits).items(0)
    scanner.finish(_AFTER_ITEM)
    return items


class _Select:
    """Parses one select. It counts the items and embeds of all levels."""

    __slots__ = ("count", "embeds", "limits", "scanner")

    def __init__(self, scanner: Scanner, limits: Limits) -> None:
        self.scanner = scanner
        self.limits = limits
        self.count = 0
        self.embeds = 0

    def items(self, depth: int) -> Items:
        items: list[Column | Embed] = []
        while True:
            self.count += 1
            if self.count > self.limits.select_items:
                raise LimitExceeded(self.limits.select_items, "items in select")
            self.scanner.skip_blanks()
            items.append(self.item(depth))
            self.scanner.skip_blanks()
            if not self.scanner.take(","):
                return tuple(items)

    def item(self, depth: int) -> Column | Embed:
        scanner = self.scanner
        if scanner.take("..."):
            scanner.skip_blanks()
            return replace(self.embed(scanner.name(), None, depth), spread=True)
        if scanner.take("*"):
            return Column("*")
        if scanner.take("count()"):
            return Column("*", aggregate="count", aggregate_cast=self.cast())
        alias, name = None, scanner.name(_ITEM)
        if scanner.at(":") and not scanner.at("::"):
            scanner.take(":")
            scanner.skip_blanks()
            if scanner.take("count()"):
                return Column("*", name, aggregate="count", aggregate_cast=self.cast())
            alias, name = name, scanner.name()
        if scanner.at("(") or scanner.at("!"):
            return self.embed(name, alias, depth)
        return self.column(name, alias)

    def column(self, name: str, alias: str | None) -> Column:
        scanner = self.scanner
        path = scanner.json_path() if scanner.at("->") else ()
        cast = self.cast()
        if not scanner.take("."):
            if name == "count" and not path:
                # Clients count an embed by `relation.count`, PostgreSQL's count(relation).
                return Column("*", alias, aggregate="count", aggregate_cast=cast)
            return Column(name, alias, path, cast)
        for aggregate in AGGREGATES:
            if scanner.take(aggregate):
                scanner.expect("()", '"()"')
                return Column(name, alias, path, cast, aggregate, self.cast())
        raise scanner.refusal('"sum", "avg", "count", "max" or "min"')

    def cast(self) -> str | None:
        if self.scanner.take("::"):
            return self.scanner.identifier("letter or digit")
        return None

    def embed(self, relation: str, alias: str | None, depth: int) -> Embed:
        scanner = self.scanner
        hint = join = None
        for _ in range(2):
            if scanner.take("!"):
                word = scanner.name()
                if word in JOINS:
                    join = join or word
                else:
                    hint = hint or word
        if relation == "count" or not scanner.take("("):
            raise scanner.refusal(_AFTER_ITEM)
        if depth == self.limits.embeds_deep:
            raise LimitExceeded(self.limits.embeds_deep, "levels of embeds")
        self.embeds += 1
        if self.embeds > self.limits.embeds:
            raise LimitExceeded(self.limits.embeds, "embeds")
        scanner.skip_blanks()
        items: Items = () if scanner.at(")") else self.items(depth + 1)
        scanner.expect(")", _AFTER_ITEM)
        return Embed(relation, Node(items), alias, hint, join)


def parse_order(text: str, state: ParseState) -> tuple[OrderTerm, ...]:
    """Parse an `order`.

    >>> parse_order("buildings(name).desc.nullslast, id", ParseState(Limits()))
    ... # doctest: +NORMALIZE_WHITESPACE
    (OrderTerm(column='name', path=(), embed='buildings', descending=True, nulls='nullslast', ranked=False,
               through=None),
     OrderTerm(column='id', path=(), embed=None, descending=False, nulls=None, ranked=False, through=None))
    """
    scanner = Scanner("order", text)
    terms: list[OrderTerm] = []
    while True:
        state.count_order_term()
        terms.append(_order_term(scanner))
        if not scanner.take(","):
            break
    scanner.finish('letter, digit, "-", "->>", "->", delimiter (.), ","')
    return tuple(terms)


def _order_term(scanner: Scanner) -> OrderTerm:
    column, path = parse_field(scanner)
    embed = None
    if not path and scanner.take("("):
        embed, (column, path) = column, parse_field(scanner)
        scanner.expect(")", 'letter, digit, "-", "->>", "->" or ")"')
        scanner.skip_blanks()
    descending = scanner.take(".desc")
    if not descending:
        scanner.take(".asc")
    nulls = None
    for word in NULLS:
        if scanner.take("." + word):
            nulls = word
            break
    scanner.skip_blanks()
    if scanner.take("."):
        raise scanner.refusal('"asc", "desc", "nullsfirst" or "nullslast"')
    return OrderTerm(column, path, embed, descending, nulls)


def parse_field(scanner: Scanner) -> tuple[str, Path]:
    """Parse a column with its JSON path and surrounding blanks."""
    scanner.skip_blanks()
    name = scanner.name()
    path = scanner.json_path() if scanner.at("->") else ()
    scanner.skip_blanks()
    return name, path


def parse_names(parameter: str, text: str, limits: Limits) -> tuple[str, ...]:
    """Parse the names of `columns` or `on_conflict`, without duplicates.

    >>> parse_names("columns", '"a","b c", a', Limits())
    ('a', 'b c')
    """
    scanner = Scanner(f"{parameter} parameter", text)
    names: dict[str, None] = {}
    for count in range(limits.select_items + 1):
        if count == limits.select_items:
            raise LimitExceeded(limits.select_items, f"names in {parameter}")
        scanner.skip_blanks()
        names[scanner.name()] = None
        scanner.skip_blanks()
        if not scanner.take(","):
            break
    scanner.finish('letter, digit, "-", ","')
    return tuple(names)
