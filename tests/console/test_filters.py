"""Filters of a list's URL without a form field: the page shows them, and the form keeps them."""

from collections import Counter
from collections.abc import Callable
from html import unescape
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.caller import GRANT_PROFILES, Caller, Role
from routes.console.components.list_query import list_url, parse_list_query, search_filters
from routes.console.components.lists import listing_of
from routes.console.components.tables import table_of
from routes.postgrest.encoding import decode_pairs
from tests.conftest import UNKNOWN_USER_ID
from tests.safety.hypothesis_settings import deterministic_settings

PATH = "/console/inspections"


def unshown_filters(page: str) -> list[str]:
    """Return the filters that the page lists above the rows."""
    text = page.partition("Also filtered by")[2].partition("</p>")[0]
    return [unescape(part.partition("</code>")[0]) for part in text.split("<code>")[1:]]


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
def test_filters_without_a_field_are_shown_and_kept(browse_shared: Callable, query: str, others: list[str]) -> None:
    ada = browse_shared("ada")

    page = ada.page(f"{PATH}?{query}")
    location = ada.narrow(f"{PATH}?{query}", {}).headers["Location"]

    assert unshown_filters(page) == others
    submitted = parse_qsl(location.partition("?")[2])
    assert Counter(submitted) == Counter(parse_qsl(query))
    assert ada.page(location).partition("<tbody>")[2] == page.partition("<tbody>")[2]


def test_form_adds_to_filters_without_a_field(browse_shared: Callable) -> None:
    address = f"{PATH}?building_id=eq.1&date_visited=lt.2026-01-01&order=inspection_type.asc"

    sent = browse_shared("ada").narrow(address, {"status": "eq.failed", "from": "2025-01-01"})

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
        ("/console/people", f"id=neq.{UNKNOWN_USER_ID}&order=email.asc"),
    ],
)
def test_lists_keep_filters_and_order(browse_shared: Callable, path: str, query: str) -> None:
    sent = browse_shared("ada").narrow(f"{path}?{query}&offset=0", {"q": "a"})

    location = sent.headers["Location"]
    assert location.startswith(f"{path}?or=")
    assert location.endswith(query)
    assert browse_shared("ada").narrow(location, {}).headers["Location"] == location


EMBEDS = {
    "/console/inspections": ("buildings", "inspectors", "sought"),
    "/console/buildings": ("clients", "inspections"),
    "/console/inspectors": ("inspections",),
    "/console/people": ("clients",),
}


@pytest.mark.parametrize("path", EMBEDS)
@pytest.mark.parametrize(
    "parameter", ["limit=0", "limit=1", "offset=1", "order=id.desc", "id=eq.0", "id=is.null", "or=(id.eq.0)"]
)
def test_embed_parameters_are_accepted(browse_shared: Callable, path: str, parameter: str) -> None:
    for who in ("root", "ada", "moe"):
        for embed in EMBEDS[path]:
            for word in ("", "&or=(name.ilike.*a*,id.gt.0)"):
                answer = browse_shared(who).get(f"{path}?{embed}.{parameter}{word}")
                assert answer.status_code in (200, 400, 403), answer.text


def test_embed_filter_changes_the_inspection_count(browse_shared: Callable) -> None:
    page = browse_shared("ada").page("/console/inspectors?inspections.limit=0")

    assert "Ivo Kral" in page
    assert "–<span" in page


def test_reserved_parameters_are_not_kept(browse_shared: Callable) -> None:
    query = {"find": "1", "keep": ["limit=5", "select=id", "order=id.asc", "status", "id=", "id=gt.0"]}  # fmt: skip

    sent = browse_shared("ada").get(PATH, query_string=query)

    assert sent.headers["Location"] == f"{PATH}?id=gt.0"


ROOT = Caller(UNKNOWN_USER_ID, Role.SUPER_ADMIN, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
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


@deterministic_settings(300)
@given(pairs=PAIRS, word=WORDS)
def test_form_round_trip_preserves_filters(pairs: list[tuple[str, str]], word: str) -> None:
    listing = listing_of(table_of("inspections"), ROOT)
    query = parse_list_query(listing, [*search_filters(listing, word), *pairs])

    unshown = [f"{name}={value}" for name, value in query.unshown_filters()]
    url = list_url(listing, query.form_values(), unshown)

    again = parse_list_query(listing, decode_pairs(url.partition("?")[2].encode()))
    assert Counter(again.filters) == Counter(query.filters)
    assert again.form_values() == query.form_values()
