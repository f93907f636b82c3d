"""The Accept header: selection of a format, ignored and refused values."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes.postgrest.preferences import DOCUMENT, ROWS, MediaType, NotAcceptable, parse_accept

JSON, OBJECT, CSV = MediaType.JSON, MediaType.OBJECT, MediaType.CSV
OBJECT_STRIPPED, ARRAY_STRIPPED = MediaType.OBJECT_STRIPPED, MediaType.ARRAY_STRIPPED

ACCEPTS: dict[str | None, MediaType] = {
    None: JSON,
    "": JSON,
    ",": JSON,
    "*/*": JSON,
    "*/*;q=0": JSON,
    "application/json": JSON,
    "Application/JSON": JSON,
    "application/json;charset=utf-8": JSON,
    "application/json ; charset=utf-8": JSON,
    "application/json;q=abc": JSON,
    "application/vnd.pgrst.object+json": OBJECT,
    "application/vnd.pgrst.object": OBJECT,
    "application/vnd.pgrst.object+json;charset=utf-8": OBJECT,
    "application/vnd.pgrst.object+json;nulls=other": OBJECT,
    "application/vnd.pgrst.object+json;nulls=stripped": OBJECT_STRIPPED,
    "application/vnd.pgrst.object+json; nulls=stripped": OBJECT_STRIPPED,
    "application/vnd.pgrst.object;nulls=stripped": OBJECT_STRIPPED,
    "application/vnd.pgrst.array+json": JSON,
    "application/vnd.pgrst.array": JSON,
    "application/vnd.pgrst.array+json;nulls=stripped": ARRAY_STRIPPED,
    "application/vnd.pgrst.array;nulls=stripped": ARRAY_STRIPPED,
    "application/vnd.pgrst.array+json;nulls=stripped;q=0.5, application/json;q=0.4": ARRAY_STRIPPED,
    "text/csv": CSV,
    "text/csv;q=0": CSV,
    "image/png, */*": JSON,
    "text/html, application/json;q=0.9": JSON,
    "text/html, */*;q=0.1": JSON,
    "text/csv, application/json": CSV,
    "application/json, text/csv": JSON,
    "*/*, text/csv": CSV,
    "text/csv, */*": CSV,
    "text/csv;q=0.5, application/json": JSON,
    "text/csv;q=0.5, application/json;q=0.4": CSV,
    "text/csv;Q=0.5, application/json;q=0.6": JSON,
    "text/csv, application/json;x=1": JSON,
    "text/csv;q=0.1;x=1, application/json;q=0.2": JSON,
    "application/json;q=0.5, application/vnd.pgrst.object+json;q=0.5": JSON,
    "text/html,": JSON,
}


@pytest.mark.parametrize(("accept", "media"), [pytest.param(*row, id=str(row[0])) for row in ACCEPTS.items()])
def test_accept_header_selects_format(accept: str | None, media: MediaType) -> None:
    assert parse_accept(accept) is media


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        ("text/html", "text/html"),
        ("text/html;level=1, image/png;q=0.2", "text/html, image/png"),
        ("image/png;q=0.2,text/html", "text/html, image/png"),
        ("application/*", "application/*"),
        ("text/*", "text/*"),
        ("json", "json"),
        ("application/xml", "application/xml"),
        ("text/plain", "text/plain"),
        ("application/geo+json", "application/geo+json"),
        ("application/openapi+json", "application/openapi+json"),
        ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded"),
        ('application/vnd.pgrst.plan+text; for="application/json"; options=;', "application/vnd.pgrst.plan+text"),
    ],
)
def test_not_acceptable_names_the_accepted_types(accept: str, message: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        parse_accept(accept)

    assert refused.value.message == f"None of these media types are available: {message}"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, MediaType.JSON),
        ("*/*", MediaType.JSON),
        ("application/openapi+json", MediaType.OPENAPI),
        ("application/json", MediaType.JSON),
        ("text/csv, application/json;q=0.1", MediaType.JSON),
    ],
)
def test_root_offers_openapi(accept: str | None, media: MediaType) -> None:
    assert parse_accept(accept, DOCUMENT) is media


@pytest.mark.parametrize("accept", ["text/csv", "application/vnd.pgrst.object+json"])
def test_root_refuses_other_formats(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        parse_accept(accept, DOCUMENT)


@given(st.text(max_size=80))
def test_any_accept_header_is_parsed_or_refused(accept: str) -> None:
    with contextlib.suppress(NotAcceptable):
        assert parse_accept(accept) in ROWS
