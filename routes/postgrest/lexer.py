"""The scanner of query parameters, the values of filters, and the limits of a query string and a payload.

The grammar is that of PostgREST's `ApiRequest/QueryParams.hs`, with two differences. Blanks may surround any item, and
text after a complete item is refused instead of ignored. A filter's value is plain, up to a comma, or in the form
`(a,"b")` or `{a,"b"}`. docs/DIALECT.md#limits lists the other limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from engine.query.shape import Path, Step, Value
from models.types import Fault

BIGINT_MAX: Final = 2**63 - 1
"""The largest PostgreSQL bigint and SQLite integer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of docs/DIALECT.md, and some that bound the parser's time."""

    query_bytes: int = 65_536
    """The maximum length of a query string. The worker limits the whole request line to 65,535 bytes."""
    select_items: int = 500
    """Also applies to `columns`. No table is as wide, and each item costs an expression."""
    embeds_deep: int = 5
    """The resources are four foreign keys deep, and each level multiplies the rows read."""
    embeds: int = 32
    """On all levels together. Each embed is planned, and SQLite joins at most 64 tables."""
    logic_deep: int = 10
    """The parser and the planner recurse into a tree."""
    conditions: int = 100
    """In the whole request, embeds included. Each condition is evaluated on every row."""
    list_values: int = 1_000
    """A list is one bound value and is searched once per row."""
    pattern_characters: int = 256
    """The time of like and match grows with the product of pattern and text."""
    path_steps: int = 16
    """Each step nests another expression. The audit log's JSON is one level deep."""
    order_terms: int = 16
    """Each term adds a comparison to the sort."""
    payload_rows: int = 1_000
    """The maximum number of rows in a response. One transaction holds the writer lock for all of them."""
    payload_columns: int = 100
    """Twice the width of the widest table."""
    payload_depth: int = 64
    """No column stores documents. Column types refuse nested values later."""
    number_characters: int = 400
    """The longest double has 309 digits before its point."""


LIMITS: Final = Limits()


class LimitExceeded(Fault, code="PGRST100"):
    """A request that exceeds a limit. The message names the limit."""

    def __init__(self, bound: int, what: str) -> None:
        super().__init__(f"A request may have at most {bound} {what}.")
        self.bound = bound
        self.what = what


class TooManyNames(LimitExceeded, code="54000"):
    """An object, a form, a header or a call with more names than LIMITS.payload_columns."""

    def __init__(self, bound: int) -> None:
        super().__init__(bound, "names in an object, a form, a header or a call")


class NumberOutOfRange(Fault, code="22003"):
    """A number that does not fit its type, bigint or double."""

    def __init__(self, digits: str, type_name: str = "bigint") -> None:
        which = "" if type_name == "double precision" else "value "  # as PostgreSQL words it
        super().__init__(f'{which}"{excerpt(digits)}" is out of range for type {type_name}')
        self.digits = digits


class UnsatisfiableRange(Fault, code="PGRST103"):
    """A range that cannot contain a row."""

    def __init__(self, details: str) -> None:
        super().__init__("Requested range not satisfiable", details)


class NegativeLimit(UnsatisfiableRange):
    """A negative limit, or a Range header that does not overlap limit and offset."""

    def __init__(self) -> None:
        super().__init__("Limit should be greater than or equal to zero.")


def parse_bigint(digits: str) -> int:
    """Return the number in a text of ASCII digits; raise NumberOutOfRange above bigint's maximum.

    >>> parse_bigint("007")
    7
    >>> parse_bigint("9223372036854775808")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NumberOutOfRange: value "9223372036854775808" is out of range for type bigint
    """
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(BIGINT_MAX)) or int(significant) > BIGINT_MAX:
        raise NumberOutOfRange(digits)
    return int(significant)


def excerpt(text: str, characters: int = 200) -> str:
    """Return the start of a text, for a message."""
    return text if len(text) <= characters else text[:characters] + "…"


FIELD_NAME: Final = "field name (* or [a..z0..9_$])"

_WORD: Final = re.compile(r"[A-Za-z0-9_ $]*")
_BLANKS: Final = re.compile(r"[ \t]*")
_QUOTED: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_JSON_INDEX: Final = re.compile(r"-[0-9]+")
_JSON_KEY: Final = re.compile(r"[^(\-:.,>)]+")


class Unparsable(Fault, code="PGRST100"):
    """A parameter that does not follow the grammar."""

    def __init__(self, subject: str, text: str, column: int, found: str, expecting: str) -> None:
        super().__init__(
            f'"failed to parse {subject} ({excerpt(text)})" (line 1, column {column})',
            f"unexpected {found} expecting {expecting}",
        )
        self.subject = subject
        self.text = text
        self.column = column


class ParseState:
    """The state of parsing one request: the values in reading order and the counts of limited items."""

    __slots__ = ("conditions", "limits", "order_terms", "values")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.values: list[Value] = []
        self.conditions = 0
        self.order_terms = 0

    def add_value(self, value: Value) -> int:
        """Store a value and return its index."""
        self.values.append(value)
        return len(self.values) - 1

    def count_condition(self) -> None:
        """Count a filter; raise LimitExceeded above the limit."""
        self.conditions += 1
        if self.conditions > self.limits.conditions:
            raise LimitExceeded(self.limits.conditions, "conditions")

    def count_order_term(self) -> None:
        """Count an order term; raise LimitExceeded above the limit."""
        self.order_terms += 1
        if self.order_terms > self.limits.order_terms:
            raise LimitExceeded(self.limits.order_terms, "order terms")


class Scanner:
    """A position in a text that only moves forward.

    `subject` names the text in messages. `shift` is the number of characters that PostgREST counts before it.
    """

    __slots__ = ("position", "shift", "subject", "text")

    def __init__(self, subject: str, text: str, shift: int = 0) -> None:
        self.subject = subject
        self.text = text
        self.position = 0
        self.shift = shift

    def at(self, token: str) -> bool:
        """Return whether a token follows."""
        return self.text.startswith(token, self.position)

    def take(self, token: str) -> bool:
        """Skip a token and return whether it was there."""
        if self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str, expecting: str) -> None:
        """Skip a token; raise Unparsable if it is missing."""
        if not self.take(token):
            raise self.refusal(expecting)

    def match(self, pattern: re.Pattern[str]) -> str:
        """Skip the text that matches a pattern and return it. It may be empty."""
        match = pattern.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match.group()

    def skip_blanks(self) -> None:
        """Skip spaces and tabs."""
        if self.text[self.position : self.position + 1] in (" ", "\t"):
            self.match(_BLANKS)

    def at_end(self) -> bool:
        """Return whether the whole text is read."""
        return self.position == len(self.text)

    def finish(self, expecting: str) -> None:
        """Raise Unparsable if anything except blanks follows."""
        self.skip_blanks()
        if not self.at_end():
            raise self.refusal(f"{expecting} or end of input")

    def refusal(self, expecting: str) -> Unparsable:
        """Return the fault that names the unexpected character and what is expected."""
        character = self.text[self.position : self.position + 1]
        shown = f'"{character}"' if character else "end of input"
        column = self.shift + self.position + 1
        return Unparsable(self.subject, self.text, column, shown, expecting)

    def name(self, expecting: str = FIELD_NAME) -> str:
        """Parse a field name: quoted, or letters, digits, `_`, `$`, inner blanks and dashes.

        >>> Scanner("name", "first  name ,x").name()
        'first  name'
        >>> Scanner("name", "date-visited->x").name()
        'date-visited'
        >>> Scanner("name", '"a \\\\"b\\\\", c" ').name()
        'a "b", c'
        """
        if self.at('"'):
            return self.quoted()
        name = self.identifier(expecting)
        while self.at("-") and not self.at("->"):
            self.position += 1
            name += "-" + self.identifier("letter or digit")
        return name

    def identifier(self, expecting: str) -> str:
        """Parse letters of any script, digits, `_`, `$` and inner blanks."""
        text = self.text
        end = _WORD.match(text, self.position).end()  # type: ignore[union-attr]
        while text[end : end + 1].isalpha():
            end = _WORD.match(text, end + 1).end()  # type: ignore[union-attr]
        word = text[self.position : end].strip(" ")
        if not word:
            raise self.refusal(expecting)
        self.position = end
        return word

    def quoted(self) -> str:
        """Parse a quoted text. A backslash escapes the next character."""
        quoted = self.match(_QUOTED)
        if not quoted:
            self.position = len(self.text)
            raise self.refusal('"\\\\" or "\\""')
        self.skip_blanks()
        return unescape(quoted)

    def json_path(self) -> Path:
        """Parse `->key->>key`, which may be empty; raise LimitExceeded if it has too many steps.

        >>> Scanner("path", "->a->-1->>\\"b c\\"::text").json_path()
        (Step(name='a', as_text=False), Step(name='-1', as_text=False), Step(name='b c', as_text=True))
        """
        steps: list[Step] = []
        while self.take("->"):
            if len(steps) == LIMITS.path_steps:
                raise LimitExceeded(LIMITS.path_steps, "steps of a JSON path")
            as_text = self.take(">")
            steps.append(Step(self._json_key(), as_text))
        return tuple(steps)

    def _json_key(self) -> str:
        if self.at('"'):
            return self.quoted()
        if self.at("-"):
            index = self.match(_JSON_INDEX)
            if not index:
                raise self.refusal("digit")
            return index
        key = self._json_word()
        while self.at("-") and not self.at("->"):
            self.position += 1
            key += "-" + self._json_word()
        return key

    def _json_word(self) -> str:
        word = self.match(_JSON_KEY)
        if not word:
            raise self.refusal("any non reserved character different from: .,>()")
        return word.strip()


def unescape(quoted: str) -> str:
    """Remove the quotes and the escaping backslashes.

    >>> unescape('"a \\\\"b\\\\" \\\\\\\\ c"')
    'a "b" \\\\ c'
    """
    inner = quoted[1:-1]
    return _ESCAPED.sub(r"\1", inner) if "\\" in inner else inner


_QUOTED_ELEMENT: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"(?=[,)])', re.DOTALL)
_RAW: Final = re.compile(r"[^,)]*")
_BRACED: Final = re.compile(r"\{[^{}]*\}")
_SPACES: Final = " \t\n\r\v\f"
_SPACE: Final = re.compile(f"[{_SPACES}]*")
_ARRAY_QUOTED: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"', re.DOTALL)
_ARRAY_RAW: Final = re.compile(r'(?:[^\\"{},]|\\.)*', re.DOTALL)


class MalformedArray(Fault, code="22P02"):
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
    quoted = scanner.match(_QUOTED_ELEMENT)
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
        quoted = scanner.match(_QUOTED_ELEMENT)
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
    routes.postgrest.lexer.MalformedArray: malformed array literal: "{a,,b}"
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
