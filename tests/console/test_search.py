"""Searches, and narrower lists after a timeout."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from engine.interface.database import TimedOut
from routes.console.components import lists


@pytest.mark.parametrize("word", ["a", "zzz"])
def test_invalid_order_is_400_with_a_message(browse_shared: Callable, word: str) -> None:
    answer = browse_shared("ada").get(f"/console/inspections?notes=ilike.*{word}*&order=nope")

    assert answer.status_code == 400
    assert "The address names the column “nope”, which this list does not have." in answer.text


def test_search_shows_the_total(browse_shared: Callable) -> None:
    assert "1–3 of 3" in browse_shared("ada").page("/console/inspections?q=harbor")


@pytest.mark.parametrize("path", ["inspections", "buildings", "inspectors", "people"])
def test_search_timeout_offers_narrower_lists(
    browse_shared: Callable, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def time_out(*arguments: object, **named: object) -> None:
        raise TimedOut()

    ada = browse_shared("ada")
    with monkeypatch.context() as patched:
        patched.setattr(lists, "find_rows", time_out)
        answer = ada.get(f"/console/{path}?q=harbor")

    assert answer.status_code == 400
    assert "The request took too long" in answer.text
    assert 'value="harbor"' in answer.text
    offers = answer.text.partition('class="links"')[2].partition("</dl>")[0]
    links = [unescape(each) for each in re.findall(r'href="([^"]+)"', offers)]
    assert len(links) == (4 + 5 + 5 + 1 if path == "inspections" else 0)
    for link in links:
        assert ada.get(link).status_code == 200, link


def test_narrower_lists_exclude_filtered_columns(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*arguments: object, **named: object) -> None:
        raise TimedOut()

    monkeypatch.setattr(lists, "find_rows", time_out)
    chosen = "status=eq.failed&date_visited=gte.2025-01-01&inspection_type=eq.fire"
    text = browse_shared("ada").get(f"/console/inspections?{chosen}").text

    assert "The request took too long" in text
    assert 'class="links"' not in text
