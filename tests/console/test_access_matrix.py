"""The access matrix of many buildings and users: numbered pages of both, and searches."""

import html
import re
from collections.abc import Callable

import pytest

from routes.console.pages.access import BUILDINGS_SHOWN, USERS_SHOWN
from tests.conftest import MOE

MATRIX = "/console/access"
BUILDINGS, USERS = 2_000, 30


@pytest.fixture
def many(api: Callable) -> None:
    root = api("root")
    buildings = [
        {"name": f"House {each:04}", "address": f"{each} Mill Rd", "city": "Lynn", "client_id": 1}
        for each in range(BUILDINGS)
    ]
    users = [
        {"name": f"Person {each:02}", "email": f"p{each:02}@acme.example", "role": "client_manager", "client_id": 1}
        for each in range(USERS)
    ]
    for half in (buildings[:1_000], buildings[1_000:]):
        assert root.post("/buildings", half).status == 201
    assert root.post("/users", users).status == 201


def rows_of(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a[^>]*>([^<]+)</a>', page)


def columns_of(page: str) -> list[str]:
    return re.findall(r'<th scope="col"><a[^>]*>([^<]+)</a>', page)


def pages_of(page: str, label: str) -> dict[str, str]:
    """Return the links of a pager by number. The shown page has none."""
    pager = re.search(rf'aria-label="Pages of {label}">(.*?)</nav>', page, re.DOTALL)
    assert pager
    found = re.findall(r'<a href="([^"]+)"><span class="vh">Page\s*</span>([^<]+)</a>', pager[1])
    return {number: html.unescape(url) for url, number in found}


def test_buildings_and_users_have_numbered_pages(browse: Callable, many: None) -> None:
    ada = browse("ada")
    page = ada.page(MATRIX)
    total, last = BUILDINGS + 4, -(-(BUILDINGS + 4) // BUILDINGS_SHOWN)

    assert f"1–{BUILDINGS_SHOWN} of {total:,} buildings" in page
    assert f"1–{USERS_SHOWN} of {USERS + 2} client managers" in page
    assert [*pages_of(page, "buildings")] == ["2", "3", str(last)]
    assert [*pages_of(page, "client managers")] == ["2", "3", "4"]
    final = ada.page(pages_of(page, "buildings")[str(last)])
    assert rows_of(final)[-1] == "Vacant Lot"
    assert [*pages_of(final, "buildings")] == ["1", str(last - 2), str(last - 1)]


def test_page_of_buildings_keeps_that_of_users_and_the_searches(browse: Callable, many: None) -> None:
    ada = browse("ada")
    page = ada.page(f"{MATRIX}?q=lynn&who=person&people={USERS_SHOWN}")

    following = ada.page(pages_of(page, "buildings")["2"])

    assert columns_of(following) == columns_of(page) == [f"Person {each:02}" for each in range(8, 16)]
    assert rows_of(following)[0] == f"House {BUILDINGS_SHOWN:04}"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("q=0017", ["House 0017"]),
        ("q=mill+court", ["Mill Court"]),
        ("q=lynn+1999", ["House 1999"]),
        ("q=1998+mill+rd", ["House 1998"]),
        ("q=%25", ["Depot 100%"]),
        ('q=")', []),
    ],
)
def test_search_finds_buildings_by_every_word(browse: Callable, many: None, query: str, rows: list[str]) -> None:
    assert rows_of(browse("ada").page(f"{MATRIX}?{query}")) == rows


@pytest.mark.parametrize(
    ("word", "names"), [("person+17", ["Person 17"]), ("p05@acme", ["Person 05"]), ("moe", ["Moe"])]
)
def test_search_finds_users_by_name_and_email(browse: Callable, many: None, word: str, names: list[str]) -> None:
    page = browse("ada").page(f"{MATRIX}?who={word}")

    assert columns_of(page) == names
    assert 'name="who"' in page


def test_few_users_need_no_search_and_no_numbers(browse_shared: Callable) -> None:
    page = browse_shared("ada").page(MATRIX)

    assert 'name="who"' not in page
    assert "1–4 of 4 buildings" in page
    assert pages_of(page, "buildings") == {}


def test_hidden_rows_are_not_counted(browse_shared: Callable) -> None:
    """Ada reads building 5 of the other client and may not grant it."""
    assert "of 4 buildings" in browse_shared("ada").page(MATRIX)
    assert "No buildings match." in browse_shared("ada").page(f"{MATRIX}?q=Gr")
    assert "No client managers match." in browse_shared("ada").page(f"{MATRIX}?who=max")


def test_matrix_that_is_saved_twice_is_saved_once(browse: Callable) -> None:
    ada = browse("ada")
    csrf, submission = (
        ada.token("/console/account"),
        re.search(r'name="submission" value="([^"]+)', ada.page(MATRIX))[1],
    )
    sent = {"csrf": csrf, "submission": submission, "made": f"{MOE}:2", "gone": f"{MOE}:1", "back": ""}

    pages = [ada.page(ada.client.post(f"{MATRIX}/confirm", data=sent).headers["Location"]) for _ in range(2)]

    assert all("1 granted, 1 revoked." in page for page in pages)
