"""Parses filters and and/or trees into the data of `engine.query.shape`.

The planner checks operators against column types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from engine.query.shape import SHORT_CHARACTERS_MAX, Condition, Filter, LogicTree, Path
from routes.postgrest.lexer import FIELD_NAME, ParseState, Scanner
from routes.postgrest.limits import LimitExceeded, Limits
from routes.postgrest.operands import parse_array, parse_list, parse_rest, parse_tree_operand
from routes.postgrest.selection import parse_field

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
