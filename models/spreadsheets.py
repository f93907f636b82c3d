"""What spreadsheets add to a CSV file: a mark at its start, and an apostrophe before formulas."""

from __future__ import annotations

import re
from typing import Final

BYTE_ORDER_MARK: Final = "\ufeff"
"""Spreadsheets and editors start a file with this mark. It is no part of the first name or value."""

FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n]")
"""The beginning of a text that a spreadsheet runs as a formula, after any number of `'`."""


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula. `unescape_formula` is the inverse.

    >>> escape_formula("=1+1"), escape_formula("'=1+1"), escape_formula("it's")
    ("'=1+1", "''=1+1", "it's")
    """
    return f"'{text}" if FORMULA.match(text) else text


def unescape_formula(text: str) -> str:
    """Return a text as it was before `escape_formula`.

    >>> unescape_formula("'=1+1"), unescape_formula("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text
