"""Static files: URLs with a hash, their caching and their compression."""

import gzip
import re
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

PAGES = {"/console/sign-in": "/console/static/console.css", "/docs": "/docs/swagger-ui.css"}


@pytest.mark.parametrize(("page", "plain"), PAGES.items())
def test_page_links_to_files_that_are_cached_for_a_year(browse_shared: Callable, page: str, plain: str) -> None:
    client = browse_shared("nobody")
    stem, _, suffix = plain.rpartition(".")
    found = re.search(rf"{re.escape(stem.rpartition('/')[2])}\.[0-9a-f]{{12}}\.{suffix}", client.page(page))
    assert found, page
    hashed = f"{plain.rpartition('/')[0]}/{found[0]}"

    named, unnamed = client.get(hashed), client.get(plain)

    assert named.headers.getlist("Cache-Control") == ["public, max-age=31536000, immutable"]
    assert unnamed.headers.getlist("Cache-Control") == ["private, no-store"]
    assert named.data == unnamed.data
    compressed = client.get(hashed, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(compressed.data) == named.data
    assert len(compressed.data) < len(named.data) / 2


@pytest.mark.parametrize(
    "name", ["console.000000000000.css", "console..css", "unknown.css", ".css", "css", "console.css."]
)
def test_file_of_another_hash_is_not_found(browse_shared: Callable, name: str) -> None:
    assert browse_shared("nobody").get(f"/console/static/{name}").status_code == 404
