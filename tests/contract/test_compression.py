"""Large answers are compressed for clients that ask for it, and have the same content."""

import gzip
from collections.abc import Callable

import pytest

from routes.http.middleware import BYTES_MIN
from tests.support.functions import one_building

pytestmark = pytest.mark.one_engine

LARGE = "/inspections?select=id,notes&order=id"
SMALL = f"{LARGE}&limit=1"


@pytest.fixture(scope="module")
def app(shared_world: Callable) -> object:
    world = one_building(*[("completed", None)] * 100)
    for row in world["inspections"]:
        row["notes"] = f"é {row['id']} " * 200
    return shared_world(world)("root").database.pristine


def send(app: object, path: str, coding: str | None, method: str = "GET", accept: str = "*/*") -> object:
    from tests.conftest import CAST
    from tests.support import tokens

    headers = {"apikey": tokens.ANON_KEY, "Authorization": CAST["root"].authorization(), "Accept": accept}
    if coding is not None:
        headers["Accept-Encoding"] = coding
    return app.test_client().open(path, method=method, headers=headers)


@pytest.mark.parametrize("accept", ["*/*", "text/csv", "application/vnd.pgrst.object+json;nulls=stripped"])
def test_compressed_answer_has_the_same_content(app: object, accept: str) -> None:
    path = "/buildings?select=inspections(notes)" if "object" in accept else LARGE
    plain = send(app, path, None, accept=accept)
    compressed = send(app, path, "gzip, deflate, br", accept=accept)

    assert gzip.decompress(compressed.data) == plain.data
    assert len(compressed.data) < len(plain.data) / 3
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert int(compressed.headers["Content-Length"]) == len(compressed.data)
    assert "Content-Encoding" not in plain.headers
    assert "Accept-Encoding" in plain.headers["Vary"]
    same = ("Vary", "Content-Type", "Content-Range", "Cache-Control")
    assert [plain.headers.get(name) for name in same] == [compressed.headers.get(name) for name in same]


@pytest.mark.parametrize("coding", ["identity", "br", "gzip;q=0", "", "*;q=0", "gzip;q=x"])
def test_answer_is_not_compressed_without_consent(app: object, coding: str) -> None:
    answer = send(app, LARGE, coding)

    assert len(answer.json) == 100
    assert "Content-Encoding" not in answer.headers


def test_small_answers_and_heads_are_not_compressed(app: object) -> None:
    small, head = send(app, SMALL, "gzip"), send(app, LARGE, "gzip", "HEAD")

    assert len(small.data) < BYTES_MIN
    for answer in (small, head):
        assert "Content-Encoding" not in answer.headers


def test_openapi_document_is_compressed(app: object) -> None:
    answer = send(app, "/", "gzip")

    assert gzip.decompress(answer.data).startswith(b"{")
    assert answer.headers["Content-Encoding"] == "gzip"
