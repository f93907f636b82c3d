"""Query strings of the tests, without percent encoding."""

from __future__ import annotations

from urllib.parse import quote

from engine.query.shape import Node, Query
from routes.postgrest.querystring import parse


def parse_text(text: str) -> Query:
    """Parse a query string that is not percent-encoded."""
    return parse(quote(text, safe="/?&=%+()*,.:!'@$-_~{}<>;\"").encode())


def root(text: str) -> Node:
    return parse_text(text).shape.root


def split_cells(text: str) -> list[str]:
    """Split a text at `|`."""
    return text.split("|")


def words(text: str) -> list[str]:
    return text.split()


def tree(levels: int) -> str:
    return "or=" + "(and" * (levels - 1) + "(x.eq.1" + ")" * levels
