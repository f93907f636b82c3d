"""The query string of a table request: text in, a `Query` (shape and values) out.

Says what was asked, not whether it makes sense: columns, relations and types are the planner's.
A hand-written scanner that goes over each parameter once; nothing in it descends deeper than
`Limits` allows, which is looked at before descending. The grammar is PostgREST's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from functools import lru_cache
from typing import Final

from engine.query.shape import Column
from engine.query.shape import Condition
from engine.query.shape import Embed
from engine.query.shape import Node
from engine.query.shape import NotEmbedded
from engine.query.shape import OrderTerm
from engine.query.shape import Path
from engine.query.shape import Query
from engine.query.shape import Shape
from models.errors import Fault
from routes.postgrest.conditions import parse_filter
from routes.postgrest.conditions import parse_logic_tree
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.lexer import Reading
from routes.postgrest.lexer import Scanner
from routes.postgrest.limits import LIMITS
from routes.postgrest.limits import Limits
from routes.postgrest.limits import NegativeLimit
from routes.postgrest.limits import TooMuch
from routes.postgrest.limits import parse_bigint
from routes.postgrest.selection import parse_names
from routes.postgrest.selection import parse_order
from routes.postgrest.selection import parse_select

REMEMBERED_QUERIES_MAX: Final = 512
"""Entries kept: consumers repeat themselves, and the fullest entries come to some 30 MiB."""
REMEMBERED_BYTES_MAX: Final = 2_048
"""Longer query strings carry lists of ids, which do not come twice."""

_PLAIN: Final = re.compile(rb"(=(?:not\.)?(?:n?eq|[gl]te?)\.)([0-9A-Za-z_-]{1,64})(?=&|$)")
"""A filter's value in letters that mean nothing but themselves, with what stands before it."""

_DIGITS: Final = re.compile(r"[0-9]*")
_NEGATIVE: Final = re.compile(r"-[0-9]+")
_WHOLE: Final = frozenset({"select", "columns", "on_conflict"})
_LAST: Final = frozenset({"order", "limit", "offset", "and", "or"})
_LIST_MARKS: Final = re.compile(r"(?:\[[0-9]*\])*")
"""What axios, qs and PHP put behind the name that several values have; of a column, each is a condition. Lists within
lists come as well: react-admin's provider makes one of each third condition and what it had before."""
_AFTER_PATH: Final = 'letter, digit, "-", "->>", "->", delimiter (.)'


@dataclass(slots=True)  # never leaves this module, and unfrozen ones are made in half the time
class Clause:
    """What one parameter says about the node at the end of its path."""

    path: tuple[str, ...]
    condition: Condition | None = None
    order: tuple[OrderTerm, ...] | None = None
    limit: int | None = None
    offset: int | None = None


def parse(query_string: bytes, limits: Limits = LIMITS) -> Query:
    """Read what a table request asks for.

    Of a repeated `select`, `columns`, `on_conflict` or `order` the first counts, of a limit or
    offset the last, as in PostgREST; filters all hold. A parameter without `=` is ignored.

    >>> query = parse(b"select=id,buildings(name)&status=eq.completed&buildings.limit=2&limit=20")
    >>> query.values
    ('completed', 2, 20)
    >>> query.shape.root.conditions[0].value, query.shape.root.limit
    (0, 2)
    >>> query.shape.root.items[1].node.limit
    1
    >>> parse(b"id=eq.1").shape == parse(b"id=eq.2").shape
    True
    >>> parse(b"nope.id=eq.1")
    Traceback (most recent call last):
    engine.query.shape.NotEmbedded: 'nope' is not an embedded resource in this request
    """
    if limits is not LIMITS or len(query_string) > REMEMBERED_BYTES_MAX:
        return _parse(query_string, limits)
    parts = _PLAIN.split(query_string)  # what stands before a value, twice, and the value, by turns
    if len(parts) > 1:
        values = parts[2::3]
        del parts[2::3]
        if (form := _parse_form(tuple(parts))) is not None:
            return form.filled(values)
    return _parse_remembered(query_string)


def pairs(query_string: bytes, limits: Limits = LIMITS) -> list[tuple[str, str | None]]:
    """Decode a query string's keys and values, strictly and in their order.

    >>> pairs(b"select=id&name=eq.a+b%26c&flag")
    [('select', 'id'), ('name', 'eq.a b&c'), ('flag', None)]
    """
    if len(query_string) > limits.query_bytes:
        raise TooMuch(limits.query_bytes, "bytes of query string")
    return decode_pairs(query_string)


@dataclass(frozen=True, slots=True)
class Form:
    """A query whose plain values were left blank: where in its values each of them belongs."""

    query: Query
    places: tuple[int, ...]

    def filled(self, plain: Sequence[bytes]) -> Query:
        values = list(self.query.values)
        for place, value in zip(self.places, plain, strict=True):
            values[place] = value.decode()
        return Query(self.query.shape, tuple(values))


@lru_cache(maxsize=REMEMBERED_QUERIES_MAX)
def _parse_form(parts: tuple[bytes, ...]) -> Form | None:
    """Read a query string without its plain values, so that the next one who asks for another row by its id
    need not be read anew. None where what looks like a value is none, or where it cannot be read."""
    blanks = [f"blank{number}" for number in range(len(parts) // 2)]
    text = b"".join(
        said + before + blank.encode()
        for said, before, blank in zip(parts[::2], parts[1::2], blanks, strict=False)
    )
    try:
        query = _parse(text + parts[-1], LIMITS)
    except Fault:
        return None  # to be told of with its own words
    if any(query.values.count(blank) != 1 for blank in blanks):
        return None
    return Form(query, tuple(query.values.index(blank) for blank in blanks))


@lru_cache(maxsize=REMEMBERED_QUERIES_MAX)
def _parse_remembered(query_string: bytes) -> Query:
    return _parse(query_string, LIMITS)


def _parse(query_string: bytes, limits: Limits) -> Query:
    reading = Reading(limits)
    whole: dict[str, str | None] = {}
    clauses: list[Clause] = []
    for key, value in pairs(query_string, limits):
        if key in _WHOLE:
            whole.setdefault(key, value)
        elif value is not None:
            clauses.append(_parse_clause(key, value, reading))
    items = parse_select(whole.get("select") or "", limits)
    shape = Shape(
        _furnish(items, clauses, 0),
        _parse_names("columns", whole, limits),
        _parse_names("on_conflict", whole, limits),
    )
    return Query(shape, tuple(reading.values))


def _parse_names(
    parameter: str, whole: dict[str, str | None], limits: Limits
) -> tuple[str, ...] | None:
    text = whole.get(parameter)
    return None if text is None else parse_names(parameter, text, limits)


def _parse_clause(key: str, value: str, reading: Reading) -> Clause:
    last = key.rpartition(".")[2]
    if last not in _LAST:
        names, path = _parse_path("tree path", key)
        return Clause(names[:-1], parse_filter(names[-1], path, value, reading))
    if last in ("and", "or"):
        names, _ = _parse_path("logic path", key)
        negated = "not." if "not" in names else ""
        tree = parse_logic_tree(last, negated, value, reading)
        return Clause(tuple(name for name in names[:-1] if name != "not"), tree)
    names, _ = _parse_path("tree path", key)
    if last == "order":
        return Clause(names[:-1], order=parse_order(value, reading))
    place = reading.hold(_parse_count(last, value))
    if last == "limit":
        return Clause(names[:-1], limit=place)
    return Clause(names[:-1], offset=place)


def _parse_path(subject: str, key: str) -> tuple[tuple[str, ...], Path]:
    """Read `embed.embed.name->json`: the names, and the JSON path of the last of them."""
    if key.isascii() and key.isidentifier():
        return (key,), ()
    scanner = Scanner(subject, key)
    names: list[str] = []
    while True:
        scanner.skip_blanks()
        names.append(scanner.name())
        if not scanner.take("."):
            break
    path = scanner.json_path()
    scanner.match(_LIST_MARKS)
    scanner.finish(_AFTER_PATH)
    return tuple(names), path


def _parse_count(parameter: str, text: str) -> int:
    """Read a limit or offset. Differs from PostgREST, which ignores what is no number."""
    if text.isascii() and text.isdigit():
        return parse_bigint(text)
    if parameter == "limit" and _NEGATIVE.fullmatch(text):
        raise NegativeLimit
    scanner = Scanner(parameter, text)
    scanner.match(_DIGITS)
    raise scanner.refusal("digit")


def _furnish(items: tuple[Column | Embed, ...], clauses: list[Clause], depth: int) -> Node:
    """Make the node of these items, with what the clauses say about it and about its embeds.

    Descends only where an embed of that name was found, hence no deeper than `select` does.
    """
    if not clauses:
        return Node(items)
    conditions: list[Condition] = []
    order: tuple[OrderTerm, ...] | None = None
    limit = offset = None
    deeper: dict[int, list[Clause]] = {}
    for clause in clauses:
        if len(clause.path) > depth:
            place = _find_embed(items, clause.path[depth])
            deeper.setdefault(place, []).append(clause)
        elif clause.condition is not None:
            conditions.append(clause.condition)
        else:
            order = clause.order if order is None else order
            limit = clause.limit if clause.limit is not None else limit
            offset = clause.offset if clause.offset is not None else offset
    furnished = list(items)
    for place, addressed in deeper.items():
        embed = items[place]
        assert isinstance(embed, Embed)
        furnished[place] = replace(embed, node=_furnish(embed.node.items, addressed, depth + 1))
    return Node(tuple(furnished), tuple(conditions), order or (), limit, offset)


def _find_embed(items: tuple[Column | Embed, ...], name: str) -> int:
    """Find the first embed with this alias or relation, as PostgREST's plan does."""
    for place, item in enumerate(items):
        if isinstance(item, Embed) and name in (item.alias, item.relation):
            return place
    raise NotEmbedded(name)
