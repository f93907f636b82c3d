"""Filters of a list's URL without a form field: the page shows them, and the form keeps them."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from routes.console.components.list_query import parse_list_query
from routes.console.components.lists import listing_of
from routes.console.components.row_choice import RowChoice, RowFilter
from routes.console.components.tables import table_of
from tests.conftest import UNKNOWN_USER_ID
from tests.safety.hypothesis_settings import deterministic_settings

PATH = "/console/inspections"


def unshown_filters(page: str) -> list[str]:
    """Return the filters that the page lists above the rows."""
    text = page.partition("Also filtered by")[2].partition("</p>")[0]
    return [unescape(each) for each in re.findall(r"<code>(.*?)</", text)]


def download_url(page: str) -> str:
    found = re.search(r'href="([^"]+)">Download CSV', page)
    return unescape(found[1]) if found else ""


@pytest.mark.parametrize(
    ("query", "others"),
    [
        pytest.param("status=eq.completed", [], id="one that is offered"),
        pytest.param("status=in.(scheduled,in_progress)&status=is.null", ["status=is.null"], id="two that are offered"),
        pytest.param("status=neq.completed", ["status=neq.completed"], id="another operator"),
        pytest.param("inspection_type=eq.survey", ["inspection_type=eq.survey"], id="another value"),
        pytest.param("date_visited=lt.2026-01-01", ["date_visited=lt.2026-01-01"], id="before a day"),
        pytest.param("date_visited=gte.2025-01-01&date_visited=lte.2025-12-31", [], id="from and to"),
        pytest.param(
            "date_visited=gte.2024-01-01&date_visited=gte.2025-01-01", ["date_visited=gte.2025-01-01"], id="from twice"
        ),
        pytest.param("id=lt.3", ["id=lt.3"], id="another column"),
        pytest.param('or=(notes.ilike."*a*",id.eq.1)', ['or=(notes.ilike."*a*",id.eq.1)'], id="a disjunction"),
        pytest.param("building_id=eq.1&building_id=in.(1,2)", ["building_id=in.(1,2)"], id="rows"),
        pytest.param("created_at=lte.2030-01-31", ["created_at=lte.2030-01-31"], id="moments until midnight"),
        pytest.param("buildings.city=neq.Boston", ["buildings.city=neq.Boston"], id="a referred row"),
        pytest.param("notes=not.eq.x", ["notes=not.eq.x"], id="a negation"),
    ],
)  # fmt: skip
def test_filters_without_a_field_are_shown_and_kept(browse_shared: Callable, query: str, others: list[str]) -> None:
    ada = browse_shared("ada")

    page = ada.page(f"{PATH}?{query}")
    again = ada.narrow(f"{PATH}?{query}", {}).text

    assert unshown_filters(page) == unshown_filters(again) == others
    assert again.partition("<tbody>")[2] == page.partition("<tbody>")[2]


def test_form_adds_to_filters_without_a_field(browse_shared: Callable) -> None:
    address = f"{PATH}?building_id=eq.1&date_visited=lt.2026-01-01&order=inspection_type.asc"

    sent = browse_shared("ada").narrow(address, {"status": "eq.failed", "from": "2025-01-01"})

    assert download_url(sent.text) == (
        f"{PATH}.csv?status=eq.failed&building_id=eq.1&date_visited=gte.2025-01-01"
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

    assert download_url(sent.text) == f"{path}.csv?q=a&{query}"


EMBEDS = {
    "/console/inspections": ("buildings", "inspectors", "sought"),
    "/console/buildings": ("clients",),
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


def test_reserved_parameters_are_no_filters(browse_shared: Callable) -> None:
    page = browse_shared("ada").page(f"{PATH}?limit=5&select=id&status&id=&id=gt.0")

    assert download_url(page) == f"{PATH}.csv?id=gt.0"


ROOT = Caller(UNKNOWN_USER_ID, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
CHOICE = RowChoice(ROOT, table_of("buildings"))
BY_ROW = [
    RowFilter("inspector_id", "Inspector", {"eq.1": "Ines", "is.null": "No inspector"}, "inspectors.name", CHOICE),
    RowFilter("building_id", "Building", {}, "buildings.name", CHOICE),
    RowFilter("buildings.client_id", "Client", {}, "", CHOICE),
]
NAMES = (
    "inspector_id",
    "buildings.name",
    "has_buildings.name",
    "buildings.client_id",
    "status",
    "inspection_type",
    "date_visited",
    "id",
    "or",
    "sought.name",
    "notes",
)
VALUES = (
    "eq.1",
    "ilike.**",
    "ilike.* a *",
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
    listing = listing_of(table_of("inspections"), ROOT, BY_ROW)
    query = parse_list_query(listing, [("q", word), *pairs])

    typed, unshown = query.form_values()
    again = parse_list_query(listing, [*typed.items(), *unshown])

    assert again.word == query.word
    assert Counter(again.filters) == Counter(query.filters)
    assert again.form_values() == query.form_values()


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ("buildings.name=eq.Harbor+House", [1, 2, 9]),
        ("buildings.or=(name.eq.Nowhere,name.eq.Elsewhere)", []),
        ("buildings.not.or=(name.neq.Harbor+House)&inspectors.name=eq.Ivo+Kral", [2]),
        ("buildings.order=name&buildings.name=eq.Nowhere", []),
    ],
)
def test_filter_on_an_embed_narrows_list_and_file(browse_shared: Callable, filters: str, numbers: list[int]) -> None:
    page = browse_shared("root").page(f"{PATH}?{filters}")
    rows = list(csv.DictReader(io.StringIO(browse_shared("root").page(f"{PATH}.csv?{filters}"))))

    assert sorted({int(each) for each in re.findall(rf'href="{PATH}/([0-9]+)"', page)}) == numbers
    assert len(rows) == len(numbers)
