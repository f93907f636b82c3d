"""The search of a list: it finds every word, in every text that the row shows and the caller may read."""

import re
from collections.abc import Callable

import pytest

from routes.console.components.list_query import WORDS_MAX


def found(page: str, path: str) -> list[str]:
    return sorted(set(re.findall(rf'href="/console/{path}/([0-9a-f-]+)"', page.partition("<tbody>")[2])))


@pytest.mark.parametrize(
    ("who", "path", "words", "keys"),
    [
        pytest.param("ada", "inspections", "house ines", ["1"], id="building and inspector"),
        pytest.param("ada", "inspections", "INES  vega\tfine", ["1"], id="any case, any space"),
        pytest.param("ada", "inspections", "peeling lead", ["2"], id="notes and type"),
        pytest.param("ada", "inspections", "progress crack", ["5"], id="status and notes"),
        pytest.param("ada", "inspections", "fine all", ["1"], id="words of one text in another order"),
        pytest.param("ada", "inspections", "harbor mill", [], id="words of two rows"),
        pytest.param("ada", "inspections", "100%", ["5"], id="a per cent sign is no wildcard"),
        pytest.param("ada", "inspections", "h_rbor", [], id="an underscore is no wildcard"),
        pytest.param("ada", "inspections", "h*bor", ["1", "2", "9"], id="a star is a wildcard"),
        pytest.param("root", "inspections", '"the" ash', ["6", "7"], id="quotes"),
        pytest.param("root", "buildings", "boston borough", ["4"], id="city and client"),
        pytest.param("ada", "buildings", "pier house", ["1"], id="address and name"),
        pytest.param("root", "inspectors", "uma inspect.example", ["3"], id="name and e-mail"),
        pytest.param("root", "clients", "housing acme", ["1"], id="one text"),
        pytest.param("root", "people", "bob admin borough", ["00000000-0000-4000-8000-000000000021"], id="user"),
        pytest.param("root", "schedules", "mill sprinklers", ["4"], id="schedule by building"),
        pytest.param("root", "reports_lead", "harbor kral", ["1", "2"], id="reading by building and inspector"),
    ],
)
def test_search_finds_each_word_in_any_text_of_a_row(
    browse_shared: Callable, who: str, path: str, words: str, keys: list[str]
) -> None:
    page = browse_shared(who).get(f"/console/{path}", query_string={"q": words}).text

    assert found(page, path) == keys


def test_findings_are_found_by_building_and_inspector(browse_shared: Callable) -> None:
    root = browse_shared("root")

    for words in ("harbor", "harbor ivo", "harbor lead threatening alarm"):
        assert found(root.get("/console/findings", query_string={"q": words}).text, "findings") == ["1"], words
    assert found(root.page("/console/findings?q=kral"), "findings") == ["1", "4"]
    assert found(root.page("/console/findings?q=harbor+vega"), "findings") == []


@pytest.mark.parametrize("number", [WORDS_MAX, WORDS_MAX + 1, 50])
def test_many_words_are_one_query(browse_shared: Callable, number: int) -> None:
    root = browse_shared("root")

    for path in ("inspections", "findings", "people", "finding_events"):
        answer = root.get(f"/console/{path}", query_string={"q": " ".join("a" * number)})
        assert answer.status_code == 200, (path, answer.text)


@pytest.mark.parametrize("path", ["inspections", "findings", "buildings", "schedules", "reports_lead"])
def test_name_of_a_hidden_building_finds_nothing(browse_shared: Callable, path: str) -> None:
    """Moe reads a granted inspection of Mill Court, and not the building."""
    moe = browse_shared("moe")
    answers = [moe.page(f"/console/{path}?q={word}").replace(word, "") for word in ("court", "zzzzz")]

    assert answers[0] == answers[1]
    assert path == "schedules" or found(moe.page(f"/console/{path}?q=harbor"), path)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("inspections", "building, inspector, type, status, notes"),
        ("findings", "building, inspector, type, place, item, code, description, severity, status"),
        ("buildings", "client, name, address, city, ZIP, type"),
        ("people", "client, e-mail, name, role"),
    ],
)
def test_search_field_names_the_searched_texts(browse_shared: Callable, path: str, label: str) -> None:
    assert f'placeholder="{label}"' in browse_shared("root").page(f"/console/{path}")
