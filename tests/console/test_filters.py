"""Filters of a list's address that no field of its form shows: said above the list, and kept by the form."""

from collections import Counter
from collections.abc import Callable
from html import unescape
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes.console.components.list_query import in_dialect
from routes.console.components.list_query import search
from routes.console.components.list_query import wanted
from routes.console.pages import inspections
from routes.postgrest.encoding import decode_pairs
from tests.conftest import NO_ONE
from tests.safety.examples import sized

PATH = "/console/inspections"


def said(page: str) -> list[str]:
    """What a list's page says that it is filtered by besides what its form shows."""
    told = page.partition("Also filtered by")[2].partition("</p>")[0]
    return [unescape(part.partition("</code>")[0]) for part in told.split("<code>")[1:]]


@pytest.mark.parametrize(
    ("query", "others"),
    [
        pytest.param("status=eq.completed", [], id="one that is offered"),
        pytest.param("status=in.(scheduled,in_progress)&status=is.null", ["status=is.null"], id="two that are offered"),
        pytest.param("status=neq.completed", ["status=neq.completed"], id="another operator"),
        pytest.param("inspection_type=eq.survey", ["inspection_type=eq.survey"], id="another value"),
        pytest.param("date_visited=lt.2026-01-01", ["date_visited=lt.2026-01-01"], id="before a day"),
        pytest.param("date_visited=gte.2025-01-01&date_visited=lte.2025-12-31", [], id="from and to"),
        pytest.param("date_visited=gte.2025-01-01T10:00", ["date_visited=gte.2025-01-01T10:00"], id="no day"),
        pytest.param(
            "date_visited=gte.2024-01-01&date_visited=gte.2025-01-01", ["date_visited=gte.2025-01-01"], id="from twice"
        ),
        pytest.param("building_id=eq.1", ["building_id=eq.1"], id="another column"),
        pytest.param('or=(notes.ilike."*a*",id.eq.1)', ['or=(notes.ilike."*a*",id.eq.1)'], id="no word"),
        pytest.param("inspection_type=ilike.*a*", ["inspection_type=ilike.*a*"], id="a word in one column"),
    ],
)  # fmt: skip
def test_what_no_field_shows_is_said_and_kept(
    office: Callable, query: str, others: list[str]
) -> None:
    ada = office("ada")

    page = ada.page(f"{PATH}?{query}")
    location = ada.narrow(f"{PATH}?{query}", {}).headers["Location"]

    assert said(page) == others
    kept = parse_qsl(location.partition("?")[2])
    assert Counter(kept) == Counter(parse_qsl(query))
    assert ada.page(location).partition("<tbody>")[2] == page.partition("<tbody>")[2]


def test_a_field_is_chosen_beside_what_is_kept(office: Callable) -> None:
    address = f"{PATH}?building_id=eq.1&date_visited=lt.2026-01-01&order=inspection_type.asc"

    sent = office("ada").narrow(address, {"status": "eq.failed", "from": "2025-01-01"})

    assert sent.headers["Location"] == (
        f"{PATH}?status=eq.failed&date_visited=gte.2025-01-01&building_id=eq.1"
        "&date_visited=lt.2026-01-01&order=inspection_type.asc"
    )


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/console/inspections", "id=gt.0&order=status.asc"),
        ("/console/buildings", "id=gt.0&order=city.desc"),
        ("/console/inspectors", "id=gt.0&order=email.asc"),
        ("/console/people", f"id=neq.{NO_ONE}&order=email.asc"),
    ],
)
def test_every_list_keeps_its_filters_and_its_order(
    office: Callable, path: str, query: str
) -> None:
    sent = office("ada").narrow(f"{path}?{query}&offset=0", {"q": "a"})

    location = sent.headers["Location"]
    assert location.startswith(f"{path}?or=")
    assert location.endswith(query)
    assert office("ada").narrow(location, {}).headers["Location"] == location


EMBEDS = {
    "/console/inspections": ("buildings", "inspectors", "sought"),
    "/console/buildings": ("clients", "inspections"),
    "/console/inspectors": ("inspections",),
    "/console/people": ("clients",),
}


@pytest.mark.parametrize("path", EMBEDS)
@pytest.mark.parametrize(
    "asked",
    ["limit=0", "limit=1", "offset=1", "order=id.desc", "id=eq.0", "id=is.null", "or=(id.eq.0)"],
)
def test_no_parameter_of_an_embed_breaks_a_list(office: Callable, path: str, asked: str) -> None:
    for who in ("root", "ada", "moe"):
        for embed in EMBEDS[path]:
            for word in ("", "&or=(name.ilike.*a*,id.gt.0)"):
                answer = office(who).get(f"{path}?{embed}.{asked}{word}")
                assert answer.status_code in (200, 400, 403), answer.text


def test_inspections_that_an_address_leaves_out_are_not_counted(office: Callable) -> None:
    page = office("ada").page("/console/inspectors?inspections.limit=0")

    assert "Ivo Kral" in page
    assert "–<span" in page


def test_what_is_the_lists_own_is_not_kept(office: Callable) -> None:
    query = {"find": "1", "keep": ["limit=5", "select=id", "order=id.asc", "status", "id=", "id=gt.0"]}  # fmt: skip

    sent = office("ada").get(PATH, query_string=query)

    assert sent.headers["Location"] == f"{PATH}?id=gt.0"


NAMES = ("status", "inspection_type", "date_visited", "id", "or", "sought.name", "notes")
VALUES = (
    "eq.completed",
    "is.null",
    "neq.failed",
    "gte.2025-01-01",
    "lte.2025-01-01",
    "lte.2025-02-30",
    '(notes.ilike."*a*",inspection_type.ilike."*a*",sought.not.is.null)',
    "ilike.*a*",
    '(notes.ilike."* a*",inspection_type.ilike."* a*",sought.not.is.null)',
)
CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
WORDS = st.text(CHARACTERS, max_size=120)
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | WORDS.filter(bool)))


@sized(300)
@given(pairs=PAIRS, word=WORDS)
def test_no_filter_is_lost_or_made(pairs: list[tuple[str, str]], word: str) -> None:
    asked = wanted(inspections.LISTING, [*search(inspections.LISTING, word), *pairs])

    kept = [f"{name}={value}" for name, value in asked.others()]
    address = in_dialect(inspections.LISTING, asked.typed(), kept)

    again = wanted(inspections.LISTING, decode_pairs(address.partition("?")[2].encode()))
    assert Counter(again.filters) == Counter(asked.filters)
    assert again.typed() == asked.typed()
