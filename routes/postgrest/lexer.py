"""The scanner of query parameters: names, quoted names, JSON paths and blanks.

The grammar is that of PostgREST's `ApiRequest/QueryParams.hs`, with two differences. Blanks may surround any
item, and text after a complete item is refused instead of ignored.
"""

from __future__ import annotations

import re
from typing import Final

from engine.query.shape import Path, Step, Value
from models.errors import Fault
from routes.postgrest.limits import LIMITS, LimitExceeded, Limits, excerpt

FIELD_NAME: Final = "field name (* or [a..z0..9_$])"

_WORD: Final = re.compile(r"[A-Za-z0-9_ $]*")
_BLANKS: Final = re.compile(r"[ \t]*")
_QUOTED: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_JSON_INDEX: Final = re.compile(r"-[0-9]+")
_JSON_KEY: Final = re.compile(r"[^(\-:.,>)]+")


class Unparsable(Fault):
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
