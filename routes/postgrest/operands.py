"""Parses a filter's value: plain, up to a comma, as `(a,"b")` or as `{a,"b"}`."""

from __future__ import annotations

import re
from typing import Final

from models.errors import Fault
from routes.postgrest.lexer import Scanner, unescape
from routes.postgrest.limits import LimitExceeded, Limits, excerpt

_QUOTED: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"(?=[,)])', re.DOTALL)
_RAW: Final = re.compile(r"[^,)]*")
_BRACED: Final = re.compile(r"\{[^{}]*\}")
_SPACES: Final = " \t\n\r\v\f"
_SPACE: Final = re.compile(f"[{_SPACES}]*")
_ARRAY_QUOTED: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"', re.DOTALL)
_ARRAY_RAW: Final = re.compile(r'(?:[^\\"{},]|\\.)*', re.DOTALL)


class MalformedArray(Fault):
    """An invalid array literal after `(any)` or `(all)`."""

    def __init__(self, literal: str, details: str) -> None:
        super().__init__(f'malformed array literal: "{excerpt(literal)}"', details)
        self.literal = literal


def parse_rest(scanner: Scanner) -> str:
    """Return the remaining text: a plain filter's value needs no quotes."""
    value = scanner.text[scanner.position :]
    scanner.position = len(scanner.text)
    return value


def parse_tree_operand(scanner: Scanner) -> str:
    """Parse a value within `and=(…)`. An unquoted comma or parenthesis ends it.

    As in PostgREST, quotes apply only to a whole value: `"a"b` is five characters.

    >>> parse_tree_operand(Scanner("tree", '"a,b)",c.eq.1)'))
    'a,b)'
    >>> parse_tree_operand(Scanner("tree", '"a"b)')), parse_tree_operand(Scanner("tree", "{1,2})"))
    ('"a"b', '{1,2}')
    """
    quoted = scanner.match(_QUOTED)
    if quoted:
        return unescape(quoted)
    return scanner.match(_BRACED) or scanner.match(_RAW)


def parse_list(scanner: Scanner, limits: Limits) -> tuple[str, ...]:
    """Parse the list of `in`. `()` is empty; supabase-js sends it for no values.

    As in PostgREST, a single empty text is an empty list, quoted or not.

    >>> parse_list(Scanner("list", '(1,"a,b", c ,)'), Limits())
    ('1', 'a,b', ' c ', '')
    >>> parse_list(Scanner("list", "()"), Limits()), parse_list(Scanner("list", '("")'), Limits())
    ((), ())
    """
    scanner.skip_blanks()
    scanner.expect("(", '"("')
    scanner.skip_blanks()
    if scanner.take(")"):
        return ()
    values: list[str] = []
    while True:
        if len(values) == limits.list_values:
            raise LimitExceeded(limits.list_values, "values in a list")
        quoted = scanner.match(_QUOTED)
        values.append(unescape(quoted) if quoted else scanner.match(_RAW))
        if not scanner.take(","):
            break
    scanner.expect(")", '"," or ")"')
    return tuple(values) if values != [""] else ()


def parse_array(literal: str, limits: Limits) -> tuple[str | None, ...]:
    """Parse a one-dimensional PostgreSQL array literal; raise MalformedArray otherwise. An unquoted NULL is a null.

    Differs from PostgREST: `{{1},{2}}` and `[1:2]={1,2}` are refused.

    >>> parse_array('{ a b , "c,\\\\"d\\\\"", \\\\{e }', Limits())
    ('a b', 'c,"d"', '{e')
    >>> parse_array("{}", Limits()), parse_array('{a,null,"NULL"}', Limits())
    ((), ('a', None, 'NULL'))
    >>> parse_array("{a,,b}", Limits())
    Traceback (most recent call last):
    routes.postgrest.operands.MalformedArray: malformed array literal: "{a,,b}"
    """
    return _Array(literal, limits).values()


class _Array:
    """Parses one array literal (PostgreSQL's manual, section 8.15.6)."""

    __slots__ = ("limits", "scanner")

    def __init__(self, literal: str, limits: Limits) -> None:
        self.scanner = Scanner("array", literal)
        self.limits = limits

    def values(self) -> tuple[str | None, ...]:
        scanner = self.scanner
        scanner.match(_SPACE)
        if not scanner.take("{"):
            raise self.refusal('Array value must start with "{".')
        scanner.match(_SPACE)
        values: list[str | None] = []
        while not (scanner.at("}") and not values):
            if len(values) == self.limits.list_values:
                raise LimitExceeded(self.limits.list_values, "values in a list")
            values.append(self.element())
            scanner.match(_SPACE)
            if not scanner.take(","):
                break
            scanner.match(_SPACE)
        if not scanner.take("}"):
            raise self.refusal("Unexpected array element.")
        scanner.match(_SPACE)
        if not scanner.at_end():
            raise self.refusal("Junk after closing right brace.")
        return tuple(values)

    def element(self) -> str | None:
        if self.scanner.at('"'):
            quoted = self.scanner.match(_ARRAY_QUOTED)
            if not quoted:
                raise self.refusal("Unexpected end of input.")
            return unescape(quoted)
        raw = self.scanner.match(_ARRAY_RAW)
        if not raw:
            character = self.scanner.text[self.scanner.position : self.scanner.position + 1]
            shown = f'"{character}" character' if character else "end of input"
            raise self.refusal(f"Unexpected {shown}.")
        bare = raw.rstrip(_SPACES)
        if bare.lower() == "null":
            return None
        if len(bare) < len(raw) and _ends_escaping(bare):
            bare += raw[len(bare)]
        return unescape(f'"{bare}"')

    def refusal(self, details: str) -> MalformedArray:
        return MalformedArray(self.scanner.text, details)


def _ends_escaping(text: str) -> bool:
    """Return whether the last backslash escapes the next character: an odd run of backslashes."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
