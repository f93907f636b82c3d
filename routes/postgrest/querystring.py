"""Parses the query string of a table request into a `Query`: its shape and values, filters and and/or trees.

A hand-written scanner reads each parameter once and checks the depth limits before it recurses. The planner checks
columns, relations, and operators against column types. The grammar is PostgREST's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from engine.query.shape import (
    SHORT_CHARACTERS_MAX,
    Column,
    Condition,
    Embed,
    Filter,
    LogicTree,
    Node,
    NotEmbedded,
    OrderTerm,
    Path,
    Query,
    Shape,
)
from models.types import Fault
from routes.postgrest.lexer import (
    FIELD_NAME,
    LIMITS,
    LimitExceeded,
    Limits,
    NegativeLimit,
    ParseState,
    Scanner,
    parse_array,
    parse_bigint,
    parse_list,
    parse_rest,
    parse_tree_operand,
)
from routes.postgrest.payload import decode_pairs
from routes.postgrest.selection import parse_field, parse_names, parse_order, parse_select

PATTERNS: Final = frozenset({"like", "ilike", "match", "imatch"})
QUANTIFIED: Final = frozenset({"eq", "gt", "gte", "lt", "lte"}) | PATTERNS
FULL_TEXT: Final = frozenset({"fts", "plfts", "phfts", "wfts"})
PLAIN: Final = frozenset({"neq", "isdistinct", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj"})
OPERATOR_NAMES: Final = QUANTIFIED | FULL_TEXT | PLAIN | {"in", "is"}
KEYWORDS: Final = ("null", "not_null", "true", "false", "unknown")

_OPERATOR: Final = "operator (eq, gt, ...)"
_OPERAND: Final = f"{FIELD_NAME}, negation operator (not) or logic operator (and, or)"
_AFTER_FIELD: Final = 'letter, digit, "-", "->>", "->" or delimiter (.)'
_KEYWORD_EXPECTED: Final = "isVal: (null, not_null, true, false, unknown)"
_LETTERS: Final = re.compile(r"[a-z]*")
_KEYWORD: Final = re.compile(r"[A-Za-z_]*")
_LANGUAGE: Final = re.compile(r"\([A-Za-z0-9_ $]+\)")
_TREE: Final = re.compile(r"(not\.)?(and|or)[ \t]*(?=\()")


def parse_filter(column: str, path: Path, text: str, state: ParseState) -> Filter:
    """Parse `not.operator(quantifier).value`. A plain value extends to the end of the text.

    >>> state = ParseState(Limits())
    >>> parse_filter("id", (), "not.in.(1,2)", state)  # doctest: +NORMALIZE_WHITESPACE
    Filter(column='id', operator='in', path=(), negated=True,
           quantifier=None, keyword=None, value=0, is_long=False)
    >>> parse_filter("name", (), 'like(any).{a*,"b,c"}', state).quantifier
    'any'
    >>> parse_filter("notes", (), "is.NULL", state).keyword
    'null'
    >>> parse_filter("name", (), 'eq.a,"b"(c)', state).value
    2
    >>> state.values
    [('1', '2'), ('a*', 'b,c'), 'a,"b"(c)']
    """
    scanner = Scanner("filter", text)
    parsed = _parse_operation(scanner, column, path, state, parse_rest)
    scanner.finish('"," or ")"')
    return parsed


def parse_logic_tree(operator: str, negated: str, text: str, state: ParseState) -> LogicTree:
    """Parse the `(…)` of `and=`, `or=` and `not.and=`; `negated` is `not.` or empty.

    >>> state = ParseState(Limits())
    >>> tree = parse_logic_tree("or", "", '(id.eq.1,not.and(name.eq."a,b",id.in.(2,3)))', state)
    >>> tree.operator, tree.operands[1].operator, tree.operands[1].negated
    ('or', 'and', True)
    >>> state.values
    ['1', 'a,b', ('2', '3')]
    """
    scanner = Scanner("logic tree", text, shift=len(negated + operator))
    scanner.skip_blanks()
    tree = LogicTree(operator, _parse_operands(scanner, state, 1), negated != "")
    scanner.finish('"," or ")"')
    return tree


def _parse_operands(scanner: Scanner, state: ParseState, depth: int) -> tuple[Condition, ...]:
    if depth > state.limits.logic_deep:
        raise LimitExceeded(state.limits.logic_deep, "levels of and/or")
    scanner.expect("(", '"("')
    operands: list[Condition] = []
    while True:
        scanner.skip_blanks()
        operands.append(_parse_operand(scanner, state, depth))
        scanner.skip_blanks()
        if not scanner.take(","):
            break
    scanner.expect(")", '"," or ")"')
    return tuple(operands)


def _parse_operand(scanner: Scanner, state: ParseState, depth: int) -> Condition:
    tree = _TREE.match(scanner.text, scanner.position)
    if tree:
        scanner.position = tree.end()
        operands = _parse_operands(scanner, state, depth + 1)
        return LogicTree(tree[2], operands, tree[1] is not None)
    if scanner.at(")") or scanner.at(","):
        raise scanner.refusal(_OPERAND)
    column, path = parse_field(scanner)
    scanner.expect(".", _AFTER_FIELD)
    return _parse_operation(scanner, column, path, state, parse_tree_operand)


def _parse_operation(
    scanner: Scanner, column: str, path: Path, state: ParseState, parse_operand: Callable[[Scanner], str]
) -> Filter:
    """Parse `not.operator(quantifier).value`. `parse_operand` determines the end of the value."""
    state.count_condition()
    negated = scanner.take("not.")
    operator = _parse_operator(scanner)
    quantifier = _parse_quantifier(scanner, operator) if scanner.at("(") else None
    scanner.expect(".", _OPERATOR)
    if operator == "is":
        return Filter(column, operator, path, negated, keyword=_parse_keyword(scanner))
    value: str | tuple[str | None, ...]
    if operator == "in":
        value = parse_list(scanner, state.limits)
    elif quantifier:
        value = parse_array(parse_operand(scanner), state.limits)
    else:
        value = parse_operand(scanner)
    if operator in PATTERNS:
        _limit_patterns(value, state.limits)
    is_long = any(len(text) > SHORT_CHARACTERS_MAX for text in texts(value))
    return Filter(column, operator, path, negated, quantifier, None, state.add_value(value), is_long)


def _parse_operator(scanner: Scanner) -> str:
    start = scanner.position
    operator = scanner.match(_LETTERS)
    if operator not in OPERATOR_NAMES:
        scanner.position = start
        raise scanner.refusal(_OPERATOR if start else f'"not" or {_OPERATOR}')
    return operator


def _parse_quantifier(scanner: Scanner, operator: str) -> str | None:
    """Parse `(any)` or `(all)`. A full-text search's `(english)` is skipped."""
    if operator in QUANTIFIED:
        for quantifier in ("any", "all"):
            if scanner.take(f"({quantifier})"):
                return quantifier
        scanner.take("(")
        raise scanner.refusal(_OPERATOR)
    if operator not in FULL_TEXT or not scanner.match(_LANGUAGE):
        raise scanner.refusal(_OPERATOR)
    return None


def _parse_keyword(scanner: Scanner) -> str:
    start = scanner.position
    keyword = scanner.match(_KEYWORD).lower()
    if keyword not in KEYWORDS:
        scanner.position = start
        raise scanner.refusal(_KEYWORD_EXPECTED)
    return keyword


def _limit_patterns(value: str | tuple[str | None, ...], limits: Limits) -> None:
    for pattern in texts(value):
        if len(pattern) > limits.pattern_characters:
            raise LimitExceeded(limits.pattern_characters, "characters in a pattern")


def texts(value: str | tuple[str | None, ...]) -> list[str]:
    """Return the texts among a filter's values."""
    return [value] if isinstance(value, str) else [each for each in value if each is not None]


CACHED_QUERIES_MAX: Final = 512
"""Cache entries. Clients repeat their queries; the largest entries add up to 30 MiB."""
CACHED_QUERY_BYTES_MAX: Final = 2_048
"""Longer query strings are not cached. They hold lists of ids, which do not recur."""

_PLAIN: Final = re.compile(rb"(=(?:not\.)?(?:n?eq|[gl]te?)\.)([0-9A-Za-z_-]{1,64})(?=&|$)")
"""A filter's unquoted alphanumeric value, with its operator."""

_DIGITS: Final = re.compile(r"[0-9]*")
_NEGATIVE: Final = re.compile(r"-[0-9]+")
_TOP_LEVEL: Final = frozenset({"select", "columns", "on_conflict"})
_KEYWORDS: Final = frozenset({"order", "limit", "offset", "and", "or"})
_LIST_MARKS: Final = re.compile(r"(?:\[[0-9]*\])*")
"""The suffix that axios, qs and PHP append to repeated names. react-admin's provider also nests it."""
_AFTER_PATH: Final = 'letter, digit, "-", "->>", "->", delimiter (.)'


@dataclass(slots=True)  # private to this module; a frozen class takes twice the time to create
class Clause:
    """A parameter's effect on the node at the end of its path."""

    path: tuple[str, ...]
    condition: Condition | None = None
    order: tuple[OrderTerm, ...] | None = None
    limit: int | None = None
    offset: int | None = None


def parse(query_string: bytes, limits: Limits = LIMITS) -> Query:
    """Parse the query string of a table request.

    As in PostgREST, the first of a repeated `select`, `columns`, `on_conflict` or `order` applies, and the last
    limit or offset. All filters apply. A parameter without `=` is ignored.

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
    if limits is not LIMITS or len(query_string) > CACHED_QUERY_BYTES_MAX:
        return _parse(query_string, limits)
    parts = _PLAIN.split(query_string)  # prefix, operator and value, repeated
    if len(parts) > 1:
        values = parts[2::3]
        del parts[2::3]
        if (template := _parse_template(tuple(parts))) is not None:
            return template.fill(values)
    return _parse_cached(query_string)


def pairs(query_string: bytes, limits: Limits = LIMITS) -> list[tuple[str, str | None]]:
    """Decode a query string's keys and values, in their order.

    >>> pairs(b"select=id&name=eq.a+b%26c&flag")
    [('select', 'id'), ('name', 'eq.a b&c'), ('flag', None)]
    """
    if len(query_string) > limits.query_bytes:
        raise LimitExceeded(limits.query_bytes, "bytes of query string")
    return decode_pairs(query_string)


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A query with blank values, and the index of each of them."""

    query: Query
    value_indexes: tuple[int, ...]

    def fill(self, values_read: Sequence[bytes]) -> Query:
        values = list(self.query.values)
        for place, value in zip(self.value_indexes, values_read, strict=True):
            values[place] = value.decode()
        return Query(self.query.shape, tuple(values))


@lru_cache(maxsize=CACHED_QUERIES_MAX)
def _parse_template(parts: tuple[bytes, ...]) -> QueryTemplate | None:
    """Parse a query string with blank values, so that queries that differ only in values share a cache entry.

    Return None if a blank is not a value, or if the query is invalid.
    """
    blanks = [f"blank{number}" for number in range(len(parts) // 2)]
    text = b"".join(
        prefix + before + blank.encode() for prefix, before, blank in zip(parts[::2], parts[1::2], blanks, strict=False)
    )
    try:
        query = _parse(text + parts[-1], LIMITS)
    except Fault:
        return None  # parsed again with its own values for the message
    if any(query.values.count(blank) != 1 for blank in blanks):
        return None
    return QueryTemplate(query, tuple(query.values.index(blank) for blank in blanks))


@lru_cache(maxsize=CACHED_QUERIES_MAX)
def _parse_cached(query_string: bytes) -> Query:
    return _parse(query_string, LIMITS)


def _parse(query_string: bytes, limits: Limits) -> Query:
    state = ParseState(limits)
    top_level: dict[str, str | None] = {}
    clauses: list[Clause] = []
    for key, value in pairs(query_string, limits):
        if key in _TOP_LEVEL:
            top_level.setdefault(key, value)
        elif value is not None:
            clauses.append(_parse_clause(key, value, state))
    items = parse_select(top_level.get("select") or "", limits)
    shape = Shape(
        _build_node(items, clauses, 0),
        _parse_names("columns", top_level, limits),
        _parse_names("on_conflict", top_level, limits),
    )
    return Query(shape, tuple(state.values))


def _parse_names(parameter: str, top_level: dict[str, str | None], limits: Limits) -> tuple[str, ...] | None:
    text = top_level.get(parameter)
    return None if text is None else parse_names(parameter, text, limits)


def _parse_clause(key: str, value: str, state: ParseState) -> Clause:
    last = key.rpartition(".")[2]
    if last not in _KEYWORDS:
        names, path = _parse_path("tree path", key)
        return Clause(names[:-1], parse_filter(names[-1], path, value, state))
    if last in ("and", "or"):
        names, _ = _parse_path("logic path", key)
        if names.count("not") > 1:
            raise Scanner("logic path", key).refusal("one negation operator (not)")
        negated = "not." if "not" in names else ""
        tree = parse_logic_tree(last, negated, value, state)
        return Clause(tuple(name for name in names[:-1] if name != "not"), tree)
    names, _ = _parse_path("tree path", key)
    if last == "order":
        return Clause(names[:-1], order=parse_order(value, state))
    place = state.add_value(_parse_count(last, value))
    if last == "limit":
        return Clause(names[:-1], limit=place)
    return Clause(names[:-1], offset=place)


def _parse_path(subject: str, key: str) -> tuple[tuple[str, ...], Path]:
    """Parse `embed.embed.name->json` into names and the JSON path of the last one."""
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
    """Parse a limit or offset. Differs from PostgREST, which ignores invalid numbers."""
    if text.isascii() and text.isdigit():
        return parse_bigint(text)
    if parameter == "limit" and _NEGATIVE.fullmatch(text):
        raise NegativeLimit
    scanner = Scanner(parameter, text)
    scanner.match(_DIGITS)
    raise scanner.refusal("digit")


def _build_node(items: tuple[Column | Embed, ...], clauses: list[Clause], depth: int) -> Node:
    """Return a node with these items, and with the clauses of the node and its embeds.

    The recursion is no deeper than `select`, since it follows existing embeds.
    """
    if not clauses:
        return Node(items)
    conditions: list[Condition] = []
    order: tuple[OrderTerm, ...] | None = None
    limit = offset = None
    by_embed: dict[int, list[Clause]] = {}
    for clause in clauses:
        if len(clause.path) > depth:
            place = _find_embed(items, clause.path[depth])
            by_embed.setdefault(place, []).append(clause)
        elif clause.condition is not None:
            conditions.append(clause.condition)
        else:
            order = clause.order if order is None else order
            limit = clause.limit if clause.limit is not None else limit
            offset = clause.offset if clause.offset is not None else offset
    node_items = list(items)
    for place, embed_clauses in by_embed.items():
        embed = items[place]
        assert isinstance(embed, Embed)
        node_items[place] = replace(embed, node=_build_node(embed.node.items, embed_clauses, depth + 1))
    return Node(tuple(node_items), tuple(conditions), order or (), limit, offset)


def _find_embed(items: tuple[Column | Embed, ...], name: str) -> int:
    """Return the index of the embed with this output name, or of the only embed of this relation.

    PostgREST takes the first embed with this alias or relation, also where an alias stands for another one.
    """
    embeds = {place: item for place, item in enumerate(items) if isinstance(item, Embed)}
    named = [place for place, embed in embeds.items() if embed.name == name]
    if not named:
        related = [place for place, embed in embeds.items() if embed.relation == name]
        named = related if len(related) == 1 else []
    if not named:
        raise NotEmbedded(name)
    return named[0]
