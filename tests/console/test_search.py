"""Searches in steps: the same rows as one query, whichever steps run, and narrower lists after a timeout."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from access.caller import Caller
from access.session import caller_of_user
from engine.current import reading
from engine.storage.sqlite import TimedOut
from routes.console.components import queries, search
from routes.console.components.list_query import ListQuery, list_url, parse_list_query
from routes.console.components.lists import listing_of
from routes.console.components.tables import table_of
from routes.postgrest.encoding import decode_pairs
from tests.conftest import CAST


def query_of(caller: Caller, form: dict[str, str], table: str = "inspections") -> ListQuery:
    listing = listing_of(table_of(table), caller)
    query = list_url(listing, form).partition("?")[2]
    return parse_list_query(listing, decode_pairs(query.encode()))


def caller_of(who: str) -> Caller:
    with reading() as transaction:
        return caller_of_user(transaction, CAST[who].id)


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia"])
@pytest.mark.parametrize("keys_max", [0, 2, 1_000])
@pytest.mark.parametrize("embedded_keys_max", [0, 1, 500])
def test_search_returns_the_rows_of_the_plain_query(
    app: object, monkeypatch: pytest.MonkeyPatch, who: str, keys_max: int, embedded_keys_max: int
) -> None:
    monkeypatch.setattr(search, "KEYS_MAX", keys_max)
    monkeypatch.setattr(search, "EMBEDDED_KEYS_MAX", embedded_keys_max)
    with app.app_context():
        caller = caller_of(who)
        for word in ("harbor", "o", "fire", "(", '"', ",sought.not.is.null)", "sought.", "zzz"):
            for more in ({}, {"status": "eq.scheduled"}, {"order": "inspection_type.asc"}):
                query = query_of(caller, {"q": word, **more})
                expected = queries.select_rows(caller, "inspections", query.text(), limit=3, total=True)
                found = search.find_rows(caller, query, 3)
                assert found.rows == expected.rows, (word, more)
                assert found.total in (None, expected.total)


@pytest.mark.parametrize(
    "query",
    [
        "or=(notes.ilike.\"*a*\",sought.not.is.null)&sought.name=ilike.*a*&sought.city=eq.Boston",
        "not.or=(notes.ilike.\"*a*\",sought.not.is.null)&sought.name=ilike.*h*",
        "or=(notes.ilike.\"*a*\",and(status.eq.failed,sought.not.is.null))&sought.name=ilike.*h*",
        "or=(notes.ilike.\"*a*\",sought.not.is.null)&or=(status.eq.failed,sought.not.is.null)&sought.name=ilike.*h*",
        "or=(notes.ilike.\"*a*\",sought.is.null)&sought.name=ilike.*h*",
        "or=(notes.ilike.\"*a*\",sought.not.is.null)&sought.name=not.ilike.*h*",
        "or=(notes.ilike.\"*a*\",sought.not.is.null)&sought.name=in.(Harbor House,Mill Court)",
        "notes=ilike.\"*a*\"",
        "notes=ilike.*a*&buildings.city=eq.Lowell",
        "notes=not.ilike.*a*&buildings=not.is.null&buildings.name=like.H*",
        "or=(buildings.not.is.null,notes.ilike.*a*)&inspectors.name=imatch.^i",
        "not.and=(notes.ilike.*a*,sought.not.is.null)&sought.name=ilike.*h*",
        "notes=ilike.*zzz*",
        "inspection_type=match.^[af]&order=buildings(name).desc",
    ],
)  # fmt: skip
def test_hand_written_search_urls_return_the_rows_of_the_plain_query(app: object, query: str) -> None:
    with app.app_context():
        listing = listing_of(table_of("inspections"), caller_of("root"))
        query = parse_list_query(listing, decode_pairs(query.encode()))
        for who in ("root", "ada", "bob", "moe"):
            caller = caller_of(who)
            expected = queries.select_rows(caller, "inspections", query.text(), limit=50)
            assert search.find_rows(caller, query, 50).rows == expected.rows


@pytest.mark.parametrize("word", ["a", "zzz"])
def test_invalid_order_is_400_with_a_message(browse_shared: Callable, word: str) -> None:
    answer = browse_shared("ada").get(f"/console/inspections?notes=ilike.*{word}*&order=nope")

    assert answer.status_code == 400
    assert "does not exist" in answer.text


def test_search_by_uuid_keys(app: object) -> None:
    with app.app_context():
        found = search.find_rows(caller_of("ada"), query_of(caller_of("ada"), {"q": "acme"}, "users"), 50)

    assert [row["name"] for row in found.rows] == ["Ada", "Mia", "Moe"]
    assert found.total == 3


def test_search_shows_the_total(browse_shared: Callable) -> None:
    location = browse_shared("ada").get("/console/inspections?find=1&q=harbor").headers["Location"]

    assert "1–3 of 3" in browse_shared("ada").page(location)


@pytest.mark.parametrize("path", ["inspections", "buildings", "inspectors", "people"])
def test_search_timeout_offers_narrower_lists(
    browse_shared: Callable, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def time_out(*arguments: object, **named: object) -> None:
        raise TimedOut("canceling statement due to statement timeout")

    ada = browse_shared("ada")
    sent = ada.get(f"/console/{path}?find=1&q=harbor").headers["Location"]
    with monkeypatch.context() as patched:
        patched.setattr(search, "find_rows", time_out)
        answer = ada.get(sent)

    assert answer.status_code == 400
    assert "The request took too long" in answer.text
    assert 'value="harbor"' in answer.text
    offers = answer.text.partition('class="links"')[2].partition("</dl>")[0]
    links = [unescape(each) for each in re.findall(r'href="([^"]+)"', offers)]
    assert len(links) == (4 + 5 + 5 + 1 if path == "inspections" else 0)
    for link in links:
        assert ada.get(link).status_code in (200, 303), link


def test_narrower_lists_exclude_filtered_columns(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*arguments: object, **named: object) -> None:
        raise TimedOut("canceling statement due to statement timeout")

    monkeypatch.setattr(search, "find_rows", time_out)
    chosen = "status=eq.failed&date_visited=gte.2025-01-01&inspection_type=eq.fire"
    text = browse_shared("ada").get(f"/console/inspections?{chosen}").text

    assert "The request took too long" in text
    assert 'class="links"' not in text
