"""Lists without `order`."""

from collections.abc import Callable

import pytest

from engine.query.catalog import catalog
from engine.query.read.embed import SORTED_ROWS_MAX
from tests.support import databases

SMALL = [name for name, each in catalog().relations.items() if each.model.expected_rows <= SORTED_ROWS_MAX]


@pytest.mark.parametrize("who", ["root", "ada", "moe", "max"])
def test_rows_come_by_primary_key(api: Callable, who: str) -> None:
    seen = 0
    for name in SMALL if databases.SERVER is None else catalog().relations:
        answer = api(who).get(f"/{name}")
        if answer.status != 200:
            continue
        keys = [tuple(row[each] for each in catalog().relations[name].key) for row in answer.json]
        assert keys == sorted(keys), name
        seen += len(keys)
    assert seen > 0


@pytest.mark.parametrize("who", ["root", "ada"])
def test_pages_of_filtered_rows_come_by_primary_key(api: Callable, who: str) -> None:
    path = "/buildings?or=(id.gt.3,name.ilike.*a*)&client_id=in.(2,1)&select=id"
    whole = api(who).get(path).json

    pages = [api(who).get(f"{path}&limit=1&offset={place}").json for place in range(len(whole))]

    assert whole == sorted(whole, key=lambda row: row["id"]) == [row for page in pages for row in page]
    assert len(whole) > 2
