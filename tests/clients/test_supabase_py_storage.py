"""supabase-py's storage client: every call of it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.clients.server import Server
from tests.support.storage import PDF, jpeg_width, picture

storage3 = pytest.importorskip("storage3", reason="requirements/clients.txt is not installed")

from storage3.exceptions import StorageApiError  # noqa: E402

PNG = {"content-type": "image/png"}


@pytest.fixture
def files(signed_in: Callable) -> object:
    """ada's files of inspections."""
    return signed_in("ada").storage.from_("inspections")


def refused(call: Callable, *arguments: object) -> StorageApiError:
    with pytest.raises(StorageApiError) as caught:
        call(*arguments)
    return caught.value


@pytest.mark.parametrize("kind", ["bytes", "reader", "path", "text"])
def test_upload(files: object, kind: str, tmp_path: Path) -> None:
    body, name, path = picture(kind), f"1/py/{kind} Ü.png", tmp_path / "a.png"
    path.write_bytes(body)
    file = {"bytes": body, "reader": io.BufferedReader(io.BytesIO(body)), "path": path, "text": str(path)}[kind]

    made = files.upload(name, file, PNG)

    assert (made.path, made.full_path) == (name, f"inspections/{name}")
    assert files.download(name) == body
    assert files.exists(name)


def test_upload_without_a_content_type_has_that_of_its_bytes(files: object) -> None:
    files.upload("1/py/untyped", PDF, {"metadata": {"room": "3D"}, "cache-control": "60"})

    info = files.info("1/py/untyped")

    assert (info["content_type"], info["metadata"]) == ("application/pdf", {"room": "3D"})
    assert (info["size"], info["cache_control"]) == (len(PDF), "max-age=60")


def test_update_and_upsert(files: object) -> None:
    name = "1/py/changed.png"
    files.upload(name, picture("a"), PNG)

    duplicate = refused(files.upload, name, picture("b"), PNG)
    assert (duplicate.status, duplicate.code, duplicate.message) == ("409", "Duplicate", "The resource already exists")
    files.upload(name, picture("b"), {**PNG, "upsert": "true"})
    assert files.download(name) == picture("b")
    files.update(name, picture("c"), PNG)
    assert files.download(name) == picture("c")


def test_list(files: object) -> None:
    for name in ("a.png", "b.png", "sub/c.png"):
        files.upload(f"2/{name}", picture(name), PNG)

    assert [each["name"] for each in files.list("2")] == ["a.png", "b.png", "sub"]
    assert [each["name"] for each in files.list("2", {"limit": 1, "offset": 1})] == ["b.png"]
    assert [each["name"] for each in files.list("2", {"search": "B"})] == ["b.png"]
    by_time = {"sortBy": {"column": "created_at", "order": "desc"}}
    assert [each["name"] for each in files.list("2", by_time) if each["id"]] == ["b.png", "a.png"]
    page = files.list_v2({"prefix": "2/", "with_delimiter": True, "limit": 2})
    assert page.hasNext
    following = files.list_v2({"prefix": "2/", "with_delimiter": True, "limit": 2, "cursor": page.nextCursor})
    names = [each.name for each in (*page.objects, *page.folders, *following.objects, *following.folders)]
    assert sorted(names) == ["2/a.png", "2/b.png", "2/sub/"]


def test_image(files: object) -> None:
    files.upload("1/py/wide.png", picture(size=(900, 300)), PNG)

    image = files.download("1/py/wide.png", {"transform": {"width": 200}})

    assert jpeg_width(image) == 640


def test_signed_links(files: object) -> None:
    name = "1/py/signed Ü.png"
    files.upload(name, picture(size=(900, 300)), PNG)

    plain = files.create_signed_url(name, 60, {"download": True})["signedURL"]
    image = files.create_signed_url(name, 60, {"transform": {"width": 100}})["signedURL"]
    several = files.create_signed_urls([name, "1/py/none"], 60)

    assert httpx.get(plain).content == picture(size=(900, 300))
    assert httpx.get(plain).headers["content-disposition"].startswith("attachment")
    assert jpeg_width(httpx.get(image).content) == 160
    assert httpx.get(several[0]["signedURL"]).status_code == 200
    assert several[1]["signedURL"] is None
    assert "does not exist" in several[1]["error"]


def test_signed_link_expires(files: object) -> None:
    files.upload("1/py/brief.png", picture(), PNG)
    link = files.create_signed_url("1/py/brief.png", 1)["signedURL"]
    time.sleep(1.1)

    answer = httpx.get(link)

    assert (answer.status_code, answer.json()["code"]) == (400, "ExpiredToken")


def test_signed_upload(files: object, signed_in: Callable) -> None:
    name = "1/py/by link.png"
    signed = files.create_signed_upload_url(name)

    stranger = signed_in("max").storage.from_("inspections")
    stranger.upload_to_signed_url(name, signed["token"], picture("x"), PNG)

    assert files.download(name) == picture("x")
    assert refused(stranger.download, name).status == "404"


def test_move_copy_and_remove(files: object) -> None:
    files.upload("1/py/old.png", picture("o"), PNG)

    assert files.move("1/py/old.png", "1/py/new.png")["message"] == "Successfully moved"
    assert files.copy("1/py/new.png", "2/copied.png")["Key"] == "inspections/2/copied.png"
    assert not files.exists("1/py/old.png")
    assert [each["name"] for each in files.remove(["1/py/new.png", "1/py/none", "2/copied.png"])] == [
        "1/py/new.png",
        "2/copied.png",
    ]
    assert refused(files.info, "2/copied.png").code == "not_found"


def test_buckets(signed_in: Callable) -> None:
    storage = signed_in("moe").storage

    assert [each.id for each in storage.list_buckets()] == ["inspections", "findings", "buildings"]
    assert storage.get_bucket("findings").public is False
    assert "fixed" in refused(storage.create_bucket, "photos").message
    assert "fixed" in refused(storage.empty_bucket, "findings").message


def test_public_link_leads_nowhere(files: object, server: Server) -> None:
    files.upload("1/py/private.png", picture(), PNG)
    link = files.get_public_url("1/py/private.png")

    assert link.startswith(server.url)
    assert httpx.get(link).json()["code"] == "NoSuchKey"


def test_hidden_and_missing_files_are_refused_alike(files: object, signed_in: Callable) -> None:
    files.upload("1/py/hidden.png", picture(), PNG)
    bob = signed_in("bob").storage.from_("inspections")

    for name in ("1/py/hidden.png", "1/py/none.png", "999/none.png"):
        assert refused(bob.download, name).to_dict() == {
            "name": "StorageApiError", "code": "not_found", "message": "Object not found", "status": "404",
        }  # fmt: skip
        assert refused(bob.upload, name, picture(), PNG).status == "403"
        assert not bob.exists(name)
