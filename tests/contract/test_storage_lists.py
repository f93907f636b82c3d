"""/storage/v1: cursors, names in any normal form, and the list of buckets."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable

import pytest

from tests.support.storage import OBJECT, Storage, at, storage_of

COMPOSED = "1/T\u00fcr \u1ec7.png"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.fixture
def ada(api: Callable) -> Storage:
    return storage_of(api)("ada")


def page(ada: Storage, **options: object) -> dict:
    answer = ada.send("POST", f"{OBJECT}/list-v2/inspections", options)
    assert answer.status == 200, answer.body
    return answer.json


@pytest.mark.parametrize("column", ["name", "created_at", "updated_at", "last_accessed_at"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_all_files_are_removed_page_by_page(ada: Storage, column: str, order: str) -> None:
    names = [f"1/{number}.png" for number in range(7)]
    for name in names:
        ada.upload(f"inspections/{name}")
    removed, cursor = [], ""
    while cursor is not None:
        part = page(ada, limit=2, cursor=cursor, sortBy={"column": column, "order": order})
        found = [each["name"] for each in part["objects"]]
        ada.send("DELETE", f"{OBJECT}/inspections", {"prefixes": found})
        removed, cursor = removed + found, part["nextCursor"]

    assert sorted(removed) == names
    assert page(ada)["objects"] == []


def test_folders_have_pages_and_keys(ada: Storage) -> None:
    for name in ("1/a/x.png", "1/b/x.png", "2/x.png"):
        ada.upload(f"inspections/{name}")

    first = page(ada, prefix="1/", with_delimiter=True, limit=1)
    assert first["folders"] == [{"name": "1/a/", "key": "1/a"}]
    following = page(ada, prefix="1/", with_delimiter=True, limit=1, cursor=first["nextCursor"])
    assert following["folders"] == [{"name": "1/b/", "key": "1/b"}]
    rows = page(ada, with_delimiter=True, limit=1)
    assert rows["folders"] == [{"name": "1/", "key": "1"}]
    assert page(ada, with_delimiter=True, cursor=rows["nextCursor"])["folders"] == [{"name": "2/", "key": "2"}]


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    ["2", "\u00fc", "x" * 5_000, encoded("no line"), encoded("now\n1/a.png"), encoded("2026-01-01\n1/\0"), 2, [],
     base64.urlsafe_b64encode(b"\n\xff").decode()],
)  # fmt: skip
@pytest.mark.parametrize("column", ["name", "created_at"])
def test_other_cursor_is_refused(ada: Storage, cursor: object, column: str) -> None:
    answer = ada.send("POST", f"{OBJECT}/list-v2/inspections", {"cursor": cursor, "sortBy": {"column": column}})

    assert answer.refusal[:2] == (400, "InvalidRequest")
    assert "cursor" in answer.json["message"]


@pytest.mark.parametrize("text", ["1" * 60_000, "9" * 5_000, "9" * 19])
def test_many_digits_find_nothing(ada: Storage, text: str) -> None:
    ada.upload("inspections/1/a.png")

    assert ada.list("inspections", search=text) == []
    assert page(ada, prefix=text)["objects"] == page(ada, prefix=f"{text}/")["objects"] == []
    assert page(ada, prefix=text, with_delimiter=True)["folders"] == []
    assert ada.send("GET", at(f"inspections/{text[:1_000]}/a.png")).status in (400, 404)


@pytest.mark.parametrize("stored", [COMPOSED, DECOMPOSED])
def test_names_are_found_in_any_normal_form(ada: Storage, api: Callable, stored: str) -> None:
    ada.upload(f"inspections/{stored}")

    for name in (COMPOSED, DECOMPOSED):
        beginning = name.partition("/")[2].partition(" ")[0]
        assert [each["name"] for each in ada.list("inspections", "1", search=beginning)] == [COMPOSED[2:]]
        assert [each["name"] for each in page(ada, prefix=f"1/{beginning}")["objects"]] == [COMPOSED]
        patterns = (f"like.*{beginning}*", f"ilike.*{beginning.upper()}*", f"match.{beginning}", f"imatch.{beginning}")
        for text in (f"eq.{name}", f"in.({name})", f'like(any).{{"{name}"}}', *patterns):
            assert [each["name"] for each in api("ada").get(f"/files?name={text}").json] == [COMPOSED], text
    assert api("ada").get(f"/files?name=neq.{DECOMPOSED}").json == []


def test_metadata_of_a_file_is_an_object(ada: Storage) -> None:
    ada.upload("inspections/1/a.png")

    assert ada.send("GET", at("inspections/1/a.png", "info")).json["metadata"] == {}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["inspections", "findings", "buildings"]),
        ("limit=2", ["inspections", "findings"]),
        ("limit=2&offset=2", ["buildings"]),
        ("search=ING", ["findings", "buildings"]),
        ("sortColumn=id", ["buildings", "findings", "inspections"]),
        ("search=x", []),
        ("sortColumn=name&sortOrder=desc&limit=1", ["inspections"]),
        ("sortColumn=created_at&sortOrder=desc&search=insp", ["inspections"]),
    ],
)
def test_buckets_are_listed_in_part(ada: Storage, query: str, names: list[str]) -> None:
    assert [each["name"] for each in ada.send("GET", f"/storage/v1/bucket?{query}").json] == names


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "offset=-1", "sortColumn=size", "sortOrder=up", f"limit={'9' * 5_000}"]
)
def test_unfit_option_of_buckets_is_refused(ada: Storage, query: str) -> None:
    assert ada.send("GET", f"/storage/v1/bucket?{query}").refusal[:2] == (400, "InvalidRequest")
