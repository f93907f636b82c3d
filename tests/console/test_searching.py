"""Words are looked for in steps: the same rows, whichever steps those were; and what it says when it takes too long."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from access.caller import Caller
from access.session import caller_of_user
from engine.current import reading
from engine.storage.sqlite import TimedOut
from routes.console.components import queries as engine
from routes.console.components import search as searching
from routes.console.components.list_query import Wanted
from routes.console.components.list_query import in_dialect
from routes.console.components.list_query import wanted
from routes.console.pages import inspections
from routes.console.pages import people
from routes.postgrest.encoding import decode_pairs
from tests.conftest import CAST


def asked_by(form: dict[str, str], listing: object = inspections.LISTING) -> Wanted:
    query = in_dialect(listing, form).partition("?")[2]
    return wanted(listing, decode_pairs(query.encode()))


def caller_of(who: str) -> Caller:
    with reading() as transaction:
        return caller_of_user(transaction, CAST[who].id)


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia"])
@pytest.mark.parametrize("keys_max", [0, 2, 1_000])
@pytest.mark.parametrize("embedded_keys_max", [0, 1, 500])
def test_a_search_finds_what_the_address_asks_for(
    app: object, monkeypatch: pytest.MonkeyPatch, who: str, keys_max: int, embedded_keys_max: int
) -> None:
    monkeypatch.setattr(searching, "KEYS_MAX", keys_max)
    monkeypatch.setattr(searching, "EMBEDDED_KEYS_MAX", embedded_keys_max)
    with app.app_context():
        caller = caller_of(who)
        for word in ("harbor", "o", "fire", "(", '"', ",sought.not.is.null)", "sought.", "zzz"):
            for more in ({}, {"status": "eq.scheduled"}, {"order": "inspection_type.asc"}):
                asked = asked_by({"q": word, **more})
                expected = engine.ask(caller, "inspections", asked.text(), limit=3, total=True)
                found = searching.find(caller, asked, 3)
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
def test_addresses_that_nobodys_form_made_are_answered_as_they_stand(
    app: object, query: str
) -> None:
    asked = wanted(inspections.LISTING, decode_pairs(query.encode()))
    with app.app_context():
        for who in ("root", "ada", "bob", "moe"):
            caller = caller_of(who)
            expected = engine.ask(caller, "inspections", asked.text(), limit=50)
            assert searching.find(caller, asked, 50).rows == expected.rows


@pytest.mark.parametrize("word", ["a", "zzz"])
def test_a_wrong_order_is_explained_whatever_is_found(office: Callable, word: str) -> None:
    answer = office("ada").get(f"/console/inspections?notes=ilike.*{word}*&order=nope")

    assert answer.status_code == 400
    assert "does not exist" in answer.text


def test_people_are_found_by_their_ids_too(app: object) -> None:
    with app.app_context():
        found = searching.find(caller_of("ada"), asked_by({"q": "acme"}, people.LISTING), 50)

    assert [row["name"] for row in found.rows] == ["Ada", "Mia", "Moe"]
    assert found.total == 3


def test_a_search_counts_what_it_found(office: Callable) -> None:
    location = office("ada").get("/console/inspections?find=1&q=harbor").headers["Location"]

    assert "1–3 of 3" in office("ada").page(location)


@pytest.mark.parametrize("path", ["inspections", "buildings", "inspectors", "people"])
def test_a_list_that_takes_too_long_offers_fewer(
    office: Callable, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def tire(*arguments: object) -> None:
        raise TimedOut("canceling statement due to statement timeout")

    ada = office("ada")
    sent = ada.get(f"/console/{path}?find=1&q=harbor").headers["Location"]
    with monkeypatch.context() as patched:
        patched.setattr(searching, "find", tire)
        answer = ada.get(sent)

    assert answer.status_code == 400
    assert "That took too long" in answer.text
    assert 'value="harbor"' in answer.text
    ways = answer.text.partition('class="ways"')[2].partition("</dl>")[0]
    links = [unescape(each) for each in re.findall(r'href="([^"]+)"', ways)]
    assert len(links) == (4 + 5 + 5 + 1 if path == "inspections" else 0)
    for link in links:
        assert ada.get(link).status_code in (200, 303), link


def test_what_is_chosen_already_is_not_offered_again(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tire(*arguments: object) -> None:
        raise TimedOut("canceling statement due to statement timeout")

    monkeypatch.setattr(searching, "find", tire)
    chosen = "status=eq.failed&date_visited=gte.2025-01-01&inspection_type=eq.fire"
    text = office("ada").get(f"/console/inspections?{chosen}").text

    assert "That took too long" in text
    assert 'class="ways"' not in text
