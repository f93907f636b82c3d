"""/storage/v1: conditional requests and ranges, as RFC 9110 describes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.storage import RENDER, Storage, at, picture, storage_of

pytestmark = pytest.mark.one_engine

NAME = "inspections/1/front door.jpg"
PAST, FUTURE = "Sat, 01 Jan 2000 00:00:00 GMT", "Sat, 01 Jan 2050 00:00:00 GMT"


@pytest.fixture
def ada(api: Callable) -> Storage:
    storage: Storage = storage_of(api)("ada")
    storage.upload(NAME)
    return storage


def etag(ada: Storage) -> str:
    return ada.download(NAME).headers["ETag"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("more", [{}, {"Range": "bytes=0-3"}])
@pytest.mark.parametrize(
    "condition", [{"If_Match": '"other"'}, {"If_Match": "W/{etag}"}, {"If_Unmodified_Since": PAST}]
)
def test_failed_precondition_has_no_body(ada: Storage, method: str, more: dict, condition: dict) -> None:
    sent = {name: value.format(etag=etag(ada)) for name, value in condition.items()}

    answer = ada.send(method, at(NAME), **sent, **more)

    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (412, b"", "0")
    assert "Content-Type" not in answer.headers
    assert answer.headers["ETag"] == etag(ada)


@pytest.mark.parametrize(
    "condition",
    [{"If_Match": "*"}, {"If_Match": "{etag}"}, {"If_Match": '"other", {etag}'}, {"If_Unmodified_Since": FUTURE},
     {"If_Match": "{etag}", "If_Unmodified_Since": PAST}, {"If_None_Match": '"other"', "If_Modified_Since": FUTURE}],
)  # fmt: skip
def test_met_precondition_changes_nothing(ada: Storage, condition: dict) -> None:
    sent, whole = {name: value.format(etag=etag(ada)) for name, value in condition.items()}, picture(NAME)

    assert (ada.download(NAME, **sent).status, ada.download(NAME, **sent).body) == (200, whole)
    part = ada.download(NAME, Range="bytes=2-5", **sent)
    assert (part.status, part.body) == (206, whole[2:6])
    head = ada.send("HEAD", at(NAME), **sent)
    assert (head.status, head.headers["Content-Length"]) == (200, str(len(whole)))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "condition", [{"If_None_Match": "{etag}"}, {"If_None_Match": "W/{etag}"}, {"If_None_Match": "*"},
                  {"If_Modified_Since": FUTURE}],
)  # fmt: skip
def test_current_copy_is_not_sent_even_in_part(ada: Storage, method: str, condition: dict) -> None:
    sent = {name: value.format(etag=etag(ada)) for name, value in condition.items()}

    for more in ({}, {"Range": "bytes=0-3"}):
        answer = ada.send(method, at(NAME), **sent, **more)
        assert (answer.status, answer.body) == (304, b"")


@pytest.mark.parametrize(
    "sent",
    ["rows=0-9", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=9-3", "bytes=0-1,4-5", "bytes:0-9", "bytes=1-2-3",
     "bytes=\u0661-\u0662", "=0-9"],
)  # fmt: skip
def test_other_range_is_ignored(ada: Storage, sent: str) -> None:
    answer = ada.download(NAME, Range=sent)

    assert (answer.status, answer.body) == (200, picture(NAME))
    assert "Content-Range" not in answer.headers


@pytest.mark.parametrize("sent", ["bytes={size}-", "bytes=99999-", "bytes=-0", f"bytes={'9' * 5_000}-"])
def test_range_outside_of_the_file_is_refused(ada: Storage, sent: str) -> None:
    size = len(picture(NAME))

    answer = ada.download(NAME, Range=sent.format(size=size))

    assert answer.refusal[:2] == (416, "InvalidRange")
    assert answer.headers["Content-Range"] == f"bytes */{size}"


@pytest.mark.parametrize("sent", ["bytes=3-", "bytes=3-99999", f"bytes=3-{'9' * 5_000}", "BYTES = 3 - "])
def test_range_ends_with_the_file(ada: Storage, sent: str) -> None:
    whole = picture(NAME)

    answer = ada.download(NAME, Range=sent)

    assert (answer.status, answer.body) == (206, whole[3:])
    assert answer.headers["Content-Range"] == f"bytes 3-{len(whole) - 1}/{len(whole)}"


def test_head_has_no_range(ada: Storage) -> None:
    answer = ada.send("HEAD", at(NAME), Range="bytes=0-3")

    assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(picture(NAME))))


@pytest.mark.parametrize(
    ("copy", "status"), [("{etag}", 206), ("W/{etag}", 200), ('"other"', 200), ("{modified}", 206), (PAST, 200)]
)
def test_part_of_another_copy_is_not_sent(ada: Storage, copy: str, status: int) -> None:
    headers = ada.download(NAME).headers

    sent = copy.format(etag=headers["ETag"], modified=headers["Last-Modified"])

    assert ada.download(NAME, Range="bytes=0-3", If_Range=sent).status == status


def test_image_has_the_same_conditions(ada: Storage) -> None:
    path = f"{RENDER}/authenticated/{NAME}?width=100"

    refused = ada.send("GET", path, If_Match='"other"')

    assert (refused.status, refused.body, refused.headers["Content-Length"]) == (412, b"", "0")
    assert ada.send("GET", path, If_Match="*").status == 200
