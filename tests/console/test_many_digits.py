"""Paths and queries with more digits than an id has, or with digits that are no ASCII."""

import re
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine


@pytest.mark.parametrize("digits", ["9" * 5_000, "9" * 20, str(2**63), "\u00b2", "\u0663", "1_0"])
def test_paths_of_the_console_and_links(browse: Callable, digits: str) -> None:
    client = browse("root").client
    rules = [
        str(each) for each in client.application.url_map.iter_rules() if "<" in str(each) and "GET" in each.methods
    ]
    paths = [re.sub(r"<[^>]*>", digits, re.sub(r"<any\(([^,)]+)[^>]*>", r"\1", rule)) for rule in rules]
    queries = [f"/console/inspections?{name}={digits}" for name in ("offset", "q", "building_id", "case_id")]

    answers = {path: client.get(path).status_code for path in [*paths, *queries]}

    assert {path: status for path, status in answers.items() if status >= 500} == {}
    assert len(answers) > 50
