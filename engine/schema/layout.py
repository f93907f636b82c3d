"""How SQL is laid out: comments and lists on lines of at most LINE_MAX characters."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable

LINE_MAX = 120
INDENT = "    "


def comment(text: str) -> str:
    """Return a docstring as the lines of a comment; nothing for an empty one.

    >>> comment("One.\\n\\n    Two.")
    '-- One.\\n-- Two.\\n'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    lines = [line for each in paragraphs for line in textwrap.wrap(" ".join(each.split()), LINE_MAX - 3)]
    return "".join(f"-- {line}\n" for line in lines)


def fill(items: Iterable[str], indent: str, separator: str = ", ") -> str:
    """Return a list of SQL on lines that begin with `indent` and break between items only. They leave room for INDENT.

    >>> fill(["a", "b"], "  ")
    '  a, b'
    """
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(separator) + len(item) < LINE_MAX - len(INDENT):
            lines[-1] += separator + item
        else:
            if lines:
                lines[-1] += separator.rstrip()
            lines.append(indent + item)
    return "\n".join(lines)
