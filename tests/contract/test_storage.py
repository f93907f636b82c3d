"""/storage/v1: uploads, names, downloads and images."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable

import pytest

from tests.support.storage import FORM, OBJECT, PDF, RENDER, Storage, at, form, jpeg_width, picture, storage_of

NAME = "inspections/1/front door.jpg"
MISSING = (404, "NoSuchKey", "Object not found")


@pytest.fixture
def storage(api: Callable) -> Callable[[str], Storage]:
    return storage_of(api)


# Uploads


def test_upload_answers_the_id_and_the_key(storage: Callable) -> None:
    answer = storage("ada").upload(NAME)

    assert answer.status == 200
    assert answer.json["Key"] == NAME
    assert storage("ada").send("GET", at(NAME, "info")).json["id"] == answer.json["Id"]
    assert storage("ada").download(NAME).body == picture(NAME)


def test_same_bytes_may_be_uploaded_again(storage: Callable) -> None:
    ada = storage("ada")

    assert ada.upload(NAME).json == ada.upload(NAME).json


def test_other_bytes_need_an_upsert(storage: Callable) -> None:
    ada, other = storage("ada"), picture("other")
    ada.upload(NAME)

    assert ada.upload(NAME, other).refusal == (409, "KeyAlreadyExists", "The resource already exists")
    assert ada.download(NAME).body == picture(NAME)
    assert ada.upload(NAME, other, x_upsert="true").status == 200
    assert ada.download(NAME).body == other


def test_update_replaces_and_creates(storage: Callable) -> None:
    ada = storage("ada")

    for body in (picture("one"), picture("two")):
        assert ada.send("PUT", at(NAME), body).json["Key"] == NAME
        assert ada.download(NAME).body == body


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([("cacheControl", b"60", None, None), ("", picture(), "blob", "image/png")], id="storage-js"),
        pytest.param([("", picture(), "blob", "image/png"), ("cacheControl", b"60", None, None)], id="fields-behind"),
        pytest.param([("file", picture(), "a.png", "text/plain;charset=UTF-8"), ("cacheControl", b"60", None, None)],
                     id="storage-py"),
        pytest.param([("a", picture(), "a", None), ("b", PDF, "b", None), ("cacheControl", b"60", None, None)],
                     id="two-files"),
        pytest.param([("contentType", b"image/png", None, None), ("cacheControl", b"60", None, None),
                      ("", picture(), "a", "image/jpeg")], id="content-type-in-a-field"),
    ],
)  # fmt: skip
def test_form_has_the_file_in_its_first_part_with_a_name(storage: Callable, parts: list) -> None:
    answer = storage("ada").send(
        "POST", at(NAME), form(*parts, ("metadata", b'{"room": "3D"}', None, None)), Content_Type=FORM
    )

    assert answer.status == 200, answer.body
    info = storage("ada").send("GET", at(NAME, "info")).json
    assert (info["content_type"], info["cache_control"], info["metadata"]) == (
        "image/png", "max-age=60", {"room": "3D"},
    )  # fmt: skip
    assert storage("ada").download(NAME).body == picture()


def test_bytes_alone_have_headers_about_them(storage: Callable) -> None:
    metadata = base64.b64encode(json.dumps({"room": "Küche"}).encode()).decode()

    storage("ada").upload(NAME, cache_control="max-age=60", x_metadata=metadata, content_type="image/png")

    info = storage("ada").send("GET", at(NAME, "info")).json
    assert (info["cache_control"], info["metadata"]) == ("max-age=60", {"room": "Küche"})


@pytest.mark.parametrize(
    ("body", "content_type", "refusal"),
    [
        (b"<svg/>", "image/svg+xml", (415, "InvalidMimeType")),
        (b"<html>", "image/png", (415, "InvalidMimeType")),
        (picture(), "image/jpeg", (415, "InvalidMimeType")),
        (b"", "image/png", (400, "InvalidRequest")),
        (picture(), "multipart/form-data", (400, "InvalidRequest")),
        (b"no form", FORM, (400, "InvalidRequest")),
        (form(("cacheControl", b"60", None, None)), FORM, (400, "InvalidRequest")),
        (form(("a", picture(), "a", None))[:-9], FORM, (400, "InvalidRequest")),
        (form(("metadata", b"[1]", None, None), ("a", picture(), "a", None)), FORM, (400, "InvalidRequest")),
        (form(("metadata", b"{}" * 40_000, None, None), ("a", picture(), "a", None)), FORM, (400, "InvalidRequest")),
        (form(*[("a", b"b", None, None)] * 30, ("a", picture(), "a", None)), FORM, (400, "InvalidRequest")),
    ],
)
@pytest.mark.attack(entry="F07")
def test_unfit_upload_is_refused_and_leaves_no_file(
    storage: Callable, body: bytes, content_type: str, refusal: tuple
) -> None:
    ada = storage("ada")
    answer = ada.send("POST", at(NAME), body, Content_Type=content_type)

    assert answer.refusal[:2] == refusal
    assert ada.download(NAME).refusal == MISSING
    assert files_in(ada) == []


@pytest.mark.parametrize(
    ("header", "value"), [("x_metadata", "%"), ("x_metadata", "W10="), ("cache_control", "x" * 300)]
)
def test_unfit_header_is_refused(storage: Callable, header: str, value: str) -> None:
    assert storage("ada").upload(NAME, **{header: value}).refusal[:2] == (400, "InvalidRequest")


def test_encoded_body_is_refused(storage: Callable) -> None:
    assert storage("ada").upload(NAME, content_encoding="gzip").refusal[:2] == (415, "InvalidRequest")


def test_upload_beyond_the_limit_is_refused_and_leaves_no_file(api: Callable, storage: Callable) -> None:
    api("ada").database.app_for("POST", "/").config["FILE_BYTES_MAX"] = len(picture()) - 1

    sized, in_form = storage("ada").upload(NAME, picture()), form(("a", picture(), "a", None))
    assert sized.refusal == (413, "EntityTooLarge", "Payload too large")
    assert storage("ada").send("POST", at(NAME), in_form, Content_Type=FORM).refusal == sized.refusal
    assert files_in(storage("ada")) == []


def test_no_room_is_a_refusal_of_its_own(api: Callable, storage: Callable) -> None:
    api("ada").database.app_for("POST", "/").config["FILES_BYTES_MAX"] = len(picture()) - 1

    assert storage("ada").upload(NAME, picture()).refusal[:2] == (507, "InsufficientStorage")
    assert files_in(storage("ada")) == []


def files_in(storage: Storage) -> list[str]:
    """Return the names of all files in the folder of the database."""
    folder = storage.api.database.app_for("POST", "/").extensions["walkthrough.files"].folder
    return [path.name for path in folder.rglob("*") if path.is_file()]


# Names


BAD_NAMES = [
    "1/..", "1/../2/a", "1/%2e%2e/a", "1/%252e%252e/a", "1/a%5Cb", "1/a%00b", "1/%ff", "1/.hidden", "1//a", "/1/a/../b",
    "1/" + "a" * 10_000, "1", "1/", "01/a", "x/a", "%D9%A1/a", "1/a%3Fb", "1/a%23b", "1/a%25b", "1/a%0Ab", "1/a/b/c/d",
    "1/%E2%80%AEgpj.exe", "1/%C2%A0", "..%2f..%2fetc%2fpasswd", "1/a%2f..%2fb",
]  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        "POST object", "PUT object", "GET object", "GET object/authenticated", "GET object/info", "POST object/sign",
        "POST object/upload/sign", "PUT object/upload/sign", "GET object/sign", "GET render/image/sign",
        "GET render/image/authenticated", "DELETE object",
    ],
)  # fmt: skip
@pytest.mark.attack(entry="F01")
def test_bad_name_is_refused_in_any_encoding(storage: Callable, call: str) -> None:
    method, _, path = call.partition(" ")
    body = None if method == "GET" else picture() if method == "PUT" else {"expiresIn": 60}

    answers = {
        name: storage("ada").send(method, f"/storage/v1/{path}/inspections/{name}", body).refusal[:2]
        for name in BAD_NAMES
    }

    assert answers == dict.fromkeys(BAD_NAMES, (400, "InvalidKey"))


@pytest.mark.parametrize(
    "name", ["1/Tür öffnen.png", "1/a/b/c.png", "1/it's (1) & more, $=@;:+!.png", "1/ドア.png", "1/Tu\u0308r.png"]
)
def test_name_of_any_script_is_kept(storage: Callable, name: str) -> None:
    key = storage("ada").upload(f"inspections/{name}").json["Key"]

    assert storage("ada").download(key).status == 200
    assert storage("ada").send("GET", f"{OBJECT}/inspections/{name}").status == 200  # as typed, not encoded


# Downloads


def test_download_has_the_headers_of_private_bytes(storage: Callable) -> None:
    storage("ada").upload(NAME)

    headers = storage("ada").download(NAME).headers

    digest = hashlib.sha256(picture(NAME)).hexdigest()
    assert (
        headers.items()
        >= {
            "Content-Type": "image/png",
            "Content-Length": str(len(picture(NAME))),
            "Content-Disposition": "inline; filename=\"front door.jpg\"; filename*=UTF-8''front%20door.jpg",
            "ETag": f'"{digest}"',
            "Cache-Control": "private, no-cache",
            "Accept-Ranges": "bytes",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cross-Origin-Resource-Policy": "cross-origin",
        }.items()
    )
    assert "Last-Modified" in headers


@pytest.mark.parametrize(
    ("query", "disposition"),
    [
        ("download", "attachment; filename=\"front door.jpg\"; filename*=UTF-8''front%20door.jpg"),
        ("download=T%C3%BCr.jpg", "attachment; filename=\"T-r.jpg\"; filename*=UTF-8''T%C3%BCr.jpg"),
        ("download=a%0D%0AX:%201", "attachment; filename=\"a--X: 1\"; filename*=UTF-8''a%0D%0AX%3A%201"),
        ("download=%22%5C%25.jpg", "attachment; filename=\"---.jpg\"; filename*=UTF-8''%22%5C%25.jpg"),
    ],
)
@pytest.mark.attack(entry="F08")
def test_name_of_an_attachment_stays_in_its_header(storage: Callable, query: str, disposition: str) -> None:
    storage("ada").upload(NAME)

    assert storage("ada").send("GET", f"{at(NAME)}?{query}").headers["Content-Disposition"] == disposition


@pytest.mark.parametrize("kind", ["", "authenticated", "info", "info/authenticated"])
def test_head_answers_without_a_body(storage: Callable, kind: str) -> None:
    storage("ada").upload(NAME)
    known, unknown = (storage("ada").send("HEAD", at(name, kind)) for name in (NAME, "inspections/1/none"))

    assert (known.status, known.body) == (200, b"")
    assert int(known.headers["Content-Length"]) > 0
    assert (unknown.status, unknown.body) == (404, b"")


def test_parts_of_a_file(storage: Callable) -> None:
    ada, whole = storage("ada"), picture(NAME)
    ada.upload(NAME)

    for sent, expected in (("bytes=0-9", whole[:10]), ("bytes=-5", whole[-5:]), ("bytes=20-", whole[20:])):
        part = ada.download(NAME, Range=sent)
        assert (part.status, part.body) == (206, expected)
        assert part.headers["Content-Range"].endswith(f"/{len(whole)}")
        assert int(part.headers["Content-Length"]) == len(expected)
    beyond = ada.download(NAME, Range=f"bytes={len(whole)}-")
    assert beyond.refusal[:2] == (416, "InvalidRange")
    assert beyond.headers["Content-Range"] == f"bytes */{len(whole)}"


def test_current_copy_is_not_sent_again(storage: Callable) -> None:
    ada = storage("ada")
    ada.upload(NAME)
    etag = ada.download(NAME).headers["ETag"]

    assert (ada.download(NAME, If_None_Match=etag).status, ada.download(NAME, If_None_Match=etag).body) == (304, b"")
    ada.upload(NAME, picture("other"), x_upsert="true")
    assert ada.download(NAME, If_None_Match=etag).status == 200


def test_download_exposes_its_headers_to_other_origins(storage: Callable) -> None:
    storage("ada").upload(NAME)

    exposed = storage("ada").download(NAME, Origin="http://localhost:5173").headers["Access-Control-Expose-Headers"]

    assert {"ETag", "Content-Range", "Content-Disposition"} <= set(exposed.split(", "))


def test_preflight_admits_the_headers_of_uploads(storage: Callable) -> None:
    asked = "apikey,authorization,cache-control,content-type,x-metadata,x-upsert"
    headers = {"Origin": "http://localhost:5173", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": asked, "Authorization": None, "apikey": None}  # fmt: skip

    answer = storage("nobody").send("OPTIONS", at(NAME), **headers)

    assert (answer.status, answer.headers["Access-Control-Allow-Headers"]) == (204, asked)


# Images


def test_image_is_as_wide_as_asked_or_wider(storage: Callable) -> None:
    ada = storage("ada")
    ada.upload(NAME, picture(size=(1_000, 500)))

    for query, width in (("width=100", 160), ("width=161&height=20&resize=contain", 640), ("quality=20", 1_000)):
        answer = ada.send("GET", f"{RENDER}/authenticated/{NAME.replace(' ', '%20')}?{query}")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "image/jpeg")
        assert jpeg_width(answer.body) == width
        again = ada.send("GET", f"{RENDER}/authenticated/{NAME}?{query}", If_None_Match=answer.headers["ETag"])
        assert again.status == 304


@pytest.mark.parametrize(
    "query", ["width=0", "width=x", "width=99999", "resize=odd", "quality=19", "quality=101", "format=avif"]
)
def test_unknown_option_of_an_image_is_refused(storage: Callable, query: str) -> None:
    storage("ada").upload(NAME)

    answer = storage("ada").send("GET", f"{RENDER}/authenticated/{NAME}?{query}")

    assert answer.refusal[:2] == (400, "InvalidRequest")
    assert query.partition("=")[0] in answer.json["message"]


def test_document_has_no_image(storage: Callable) -> None:
    storage("ada").upload(NAME, PDF)

    assert storage("ada").send("GET", f"{RENDER}/authenticated/{NAME}?width=9").refusal[:2] == (400, "InvalidRequest")
