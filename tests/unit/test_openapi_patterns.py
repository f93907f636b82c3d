"""The patterns of parameters in the OpenAPI document, against the parsers of the same parameters."""

import re
from collections.abc import Callable

import pytest

from engine.query.catalog import catalog
from models.types import Fault
from routes.openapi.schemas import NAMES, ORDER, SELECT, filter_pattern, key_pattern
from tests.support.querystrings import parse_text

SELECTS = [
    "", " ", ",id", "*", "id", "id,name", " id , name ", "label:name::text", "count()", "n:count()", "units.sum()",
    "n:units.sum()::text,id", "a->b->>c", 'a->"b,c(d)"->>e', '"a b"', "clients(name)", "clients!inner(*)",
    "c:clients()", "...clients!fk!left(name,x:id)", "id,a(b(c(d(e(f)))),count()),g", "x:a(count)", "größe",
    "clients ( name )",
]  # fmt: skip
BAD_SELECTS = ["a(", "a)", "a(b", "a,", "a(b))", 'a,"b', "(a)", "a,,b", "a(b(c(d(e(f(g))))))"]
ORDERS = [
    "id", "id.desc", "id.asc.nullslast,name.nullsfirst", " id , name ", "buildings(name).desc", "a->b->>c.desc",
    '"a,b".desc', "id.desc , name",
]  # fmt: skip
BAD_ORDERS = ["", "id.up", "id,", ",id", "id.desc.asc", "id.nullslast.desc", "a(b", "a.b.c"]
NAME_LISTS = ["id", "id,name", '"a b",c', "a-b"]
BAD_NAME_LISTS = ["", ",", "a,", "a,,b", "a(b)", 'a"']
FILTERS = {
    "id": ["eq.1", "not.eq.-1", "in.(1,2)", "in.()", "not.in.(1)", "is.null", "not.is.null", "is.not_null",
           "gt(any).{1,2}", "neq.1", "isdistinct.1"],
    "notes": ["eq.", "eq.a,b", "like.*x*", "ilike(all).{a,b}", "match.^a$", 'in.("a,b",c)', "not.imatch.x",
              "eq.line\nline"],
    "date_visited": ["gte.2026-01-01", "is.null"],
}  # fmt: skip
BAD_FILTERS = {
    "id": ["1", "eq1", "eq.x", "eq.", "like.1", "in.1", "is.x", "up.1", "neq(any).{1}", "eq(any).1", "not.not.eq.1"],
    "notes": ["x", "in.x", "is.", "fts.x.y", "eq(some).{a}"],
}


def is_parsed(query: str) -> bool:
    try:
        parse_text(query)
    except Fault:
        return False
    return True


def filter_of(column: str) -> str:
    return filter_pattern(catalog().relations["inspections"].attributes[column])


@pytest.mark.parametrize(
    ("name", "pattern", "good", "bad"),
    [
        ("select", SELECT, SELECTS, BAD_SELECTS),
        ("order", ORDER, ORDERS, BAD_ORDERS),
        ("columns", NAMES, NAME_LISTS, BAD_NAME_LISTS),
        ("on_conflict", NAMES, NAME_LISTS, BAD_NAME_LISTS),
        *((column, filter_of(column), good, BAD_FILTERS.get(column, [])) for column, good in FILTERS.items()),
    ],
)
def test_pattern_matches_what_is_parsed(name: str, pattern: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not is_parsed(f"{name}={text}")] == []
    assert [text for text in good if not re.search(pattern, text)] == []
    assert [text for text in bad if re.search(pattern, text)] == []


def test_key_of_a_row() -> None:
    pattern = key_pattern(catalog().relations["inspections"].attributes["id"])

    assert re.search(pattern, "eq.1")
    assert not any(re.search(pattern, text) for text in ("1", "neq.1", "not.eq.1", "eq.x", "in.(1)"))


def test_operations_name_what_they_need(api: Callable) -> None:
    document = api("root").get("/").json
    parameters = document["components"]["parameters"]
    for relation in catalog().relations.values():
        path = document["paths"].get(f"/{relation.name}", {})
        if "put" not in path:
            continue
        put = [parameters[each["$ref"].rpartition("/")[2]] for each in path["put"]["parameters"]]
        assert {each["name"] for each in put if each["required"]} == set(relation.key)
        for status in ("200", "201"):
            assert "content" not in path["post"]["responses"][status]
            assert "return=representation" in path["post"]["responses"][status]["description"]
