"""Payload keys with special characters are returned unchanged."""

from collections.abc import Callable
from urllib.parse import quote

import pytest


@pytest.mark.parametrize(
    "name",
    ["a%b", "%(v0)s", "%s", "$1", ":v0", "?", "__[POSTCOMPILE_x]", "it's", "ß" * 40, "x" * 200, "--", "[_POSITION]"],
)
def test_payload_keys_are_returned_unchanged(api: Callable, name: str) -> None:
    (row,) = api("root").get(f'/buildings?id=eq.1&select="{quote(name)}":name,inspections("{quote(name)}":id)').json

    assert row[name] == "Harbor House"
    assert [list(each) for each in row["inspections"]] == [[name]] * 3
