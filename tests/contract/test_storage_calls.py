"""/storage/v1: lists, changes, links, buckets, and calls that are refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from tests.support.storage import OBJECT, RENDER, Storage, at, jpeg_width, link_path, picture, storage_of

NAME = "inspections/1/front door.jpg"
MISSING = (404, "NoSuchKey", "Object not found")


@pytest.fixture
def storage(api: Callable) -> Callable[[str], Storage]:
    return storage_of(api)


# Lists


def test_list_shows_one_level(storage: Callable) -> None:
    ada = storage("ada")
    for name in ("1/b.png", "1/a.png", "1/Rooms/3D/x.png", "2/c.png"):
        ada.upload(f"inspections/{name}")

    assert [each["name"] for each in ada.list("inspections")] == ["1", "2"]
    rooms, first, second = ada.list("inspections", "1/")
    assert rooms == {
        **dict.fromkeys(("id", "updated_at", "created_at", "last_accessed_at", "metadata")),
        "name": "Rooms",
    }
    assert [first["name"], second["name"]] == ["a.png", "b.png"]
    digest = hashlib.sha256(picture("inspections/1/a.png")).hexdigest()
    assert first["metadata"].items() >= {"eTag": f'"{digest}"', "mimetype": "image/png", "httpStatusCode": 200}.items()
    assert [each["name"] for each in ada.list("inspections", "1/Rooms")] == ["3D"]
    assert [each["name"] for each in ada.list("inspections", "1", search="B")] == ["b.png"]
    options = {"limit": 1, "offset": 1, "sortBy": {"column": "name", "order": "desc"}}
    assert [each["name"] for each in ada.list("inspections", "1", **options)] == ["a.png"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"limit": 1_001}, "limit"),
        ({"limit": 0}, "limit"),
        ({"offset": -1}, "offset"),
        ({"limit": "many"}, "limit"),
        ({"sortBy": {"column": "size"}}, "column"),
        ({"sortBy": {"order": "up"}}, "order"),
        ({"sortBy": "name"}, "sortBy"),
        ({"prefix": 1}, "prefix"),
    ],
)
def test_unfit_option_of_a_list_is_refused(storage: Callable, options: dict, word: str) -> None:
    answer = storage("ada").send("POST", f"{OBJECT}/list/inspections", {"prefix": "", **options})

    assert answer.refusal[:2] == (400, "InvalidRequest")
    assert word in answer.json["message"]


def test_list_v2_has_whole_names_and_pages(storage: Callable) -> None:
    ada = storage("ada")
    for name in ("1/b.png", "1/a.png", "1/Rooms/x.png"):
        ada.upload(f"inspections/{name}")

    def page(**options: object) -> tuple[list, list, str | None]:
        answer = ada.send("POST", f"{OBJECT}/list-v2/inspections", options).json
        assert answer["hasNext"] is (answer["nextCursor"] is not None)
        return (
            [each["name"] for each in answer["folders"]],
            [each["name"] for each in answer["objects"]],
            answer["nextCursor"],
        )

    assert page() == ([], ["1/Rooms/x.png", "1/a.png", "1/b.png"], None)
    assert page(prefix="1/", with_delimiter=True) == (["1/Rooms/"], ["1/a.png", "1/b.png"], None)
    assert page(prefix="1/a") == ([], ["1/a.png"], None)
    folders, objects, cursor = page(limit=2)
    assert (folders, objects) == ([], ["1/Rooms/x.png", "1/a.png"])
    assert page(limit=2, cursor=cursor) == ([], ["1/b.png"], None)


# Changes


def test_move_keeps_id_and_bytes(storage: Callable) -> None:
    ada, target = storage("ada"), "findings/1/moved.png"
    made = ada.upload(NAME).json
    body = {"bucketId": "inspections", "sourceKey": "1/front door.jpg", "destinationKey": "1/moved.png",
            "destinationBucket": "findings"}  # fmt: skip

    moved = ada.send("POST", f"{OBJECT}/move", body)

    assert moved.json == {"message": "Successfully moved", "Id": made["Id"], "Key": target}
    assert ada.download(NAME).refusal == MISSING
    assert ada.download(target).body == picture(NAME)
    assert ada.send("POST", f"{OBJECT}/move", body).refusal == MISSING


def test_copy_is_another_file(storage: Callable) -> None:
    ada = storage("ada")
    made = ada.upload(NAME, cache_control="max-age=9").json
    body = {"bucketId": "inspections", "sourceKey": "1/front door.jpg", "destinationKey": "2/copy.png"}

    copied = ada.send("POST", f"{OBJECT}/copy", body).json

    assert (copied["Key"], copied["metadata"]["cacheControl"]) == ("inspections/2/copy.png", "max-age=9")
    assert copied["Id"] != made["Id"]
    ada.send("DELETE", at(NAME))
    assert ada.download("inspections/2/copy.png").body == picture(NAME)


def test_remove_answers_what_went(storage: Callable) -> None:
    ada = storage("ada")
    for name in ("a", "b"):
        ada.upload(f"inspections/1/{name}")

    gone = ada.send("DELETE", f"{OBJECT}/inspections", {"prefixes": ["1/b", "1/none", "../x", "1/a"]}).json

    assert [each["name"] for each in gone] == ["1/b", "1/a"]
    assert ada.list("inspections") == []
    assert ada.send("DELETE", f"{OBJECT}/inspections", {"prefixes": ["1/b"]}).json == []


def test_remove_one(storage: Callable) -> None:
    ada = storage("ada")
    ada.upload(NAME)

    assert ada.send("DELETE", at(NAME)).json == {"message": "Successfully deleted"}
    assert ada.send("DELETE", at(NAME)).refusal == MISSING


@pytest.mark.parametrize(
    ("call", "body", "word"),
    [
        ("DELETE object/inspections", {"prefixes": ["a"] * 1_001}, "prefixes"),
        ("DELETE object/inspections", {"prefixes": [{"path": "1/a", "versionId": "x"}]}, "prefixes"),
        ("DELETE object/inspections", {}, "prefixes"),
        ("POST object/sign/inspections", {"expiresIn": 60, "paths": "1/a"}, "paths"),
        ("POST object/sign/inspections/1/a", {"expiresIn": 0}, "expiresIn"),
        ("POST object/sign/inspections/1/a", {"expiresIn": "soon"}, "expiresIn"),
        ("POST object/sign/inspections/1/a", {}, "expiresIn"),
        ("POST object/sign/inspections/1/a", {"expiresIn": 10**10}, "expiresIn"),
        ("POST object/sign/inspections/1/a", {"expiresIn": 6, "transform": {"width": -1}}, "width"),
        ("POST object/move", {"bucketId": "inspections", "sourceKey": "1/a"}, "destinationKey"),
        ("POST object/copy", {"bucketId": "inspections", "sourceKey": "1/a", "destinationKey": "1/b",
                              "copyMetadata": "yes"}, "copyMetadata"),
        ("POST object/move", [1], "object"),
        ("POST object/move", b"{", ""),
    ],
)  # fmt: skip
def test_unfit_body_is_refused(storage: Callable, call: str, body: object, word: str) -> None:
    method, _, path = call.partition(" ")

    answer = storage("ada").send(method, f"/storage/v1/{path}", body)

    assert answer.refusal[:2] == (400, "InvalidRequest")
    assert word in answer.json["message"]


# Links


def test_signed_link_needs_no_header(storage: Callable) -> None:
    storage("ada").upload(NAME)
    link = storage("ada").sign(NAME)

    answer = storage("nobody").send("GET", f"{link}&download=a.png", apikey=None)

    assert (answer.status, answer.body) == (200, picture(NAME))
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_signed_link_to_an_image(storage: Callable) -> None:
    storage("ada").upload(NAME, picture(size=(900, 30)))
    link = storage("ada").sign(NAME, transform={"width": 100})

    answer = storage("nobody").send("GET", link, apikey=None)

    assert link.startswith(f"{RENDER}/sign/")
    assert jpeg_width(answer.body) == 160
    whole = link.replace("/render/image/", "/object/")
    assert storage("nobody").send("GET", whole).refusal[:2] == (400, "InvalidSignature")


def test_links_for_many_names_keep_their_order(storage: Callable) -> None:
    ada = storage("ada")
    ada.upload(NAME)
    paths = ["1/none", "1/front door.jpg", "../x"]

    found = ada.send("POST", f"{OBJECT}/sign/inspections", {"expiresIn": "60", "paths": paths}).json

    assert [each["path"] for each in found] == paths
    assert [each["signedURL"] is None for each in found] == [True, False, True]
    assert found[0]["error"] == "Either the object does not exist or you do not have access to it"
    assert ada.send("GET", link_path(found[1]["signedURL"])).status == 200


@pytest.mark.attack(entry="F06")
def test_link_is_for_one_name_and_one_use(storage: Callable) -> None:
    ada, nobody = storage("ada"), storage("nobody")
    for name in ("a", "b"):
        ada.upload(f"inspections/1/{name}")
    token = ada.sign("inspections/1/a").partition("?token=")[2]
    upload = ada.send("POST", at("inspections/1/a", "upload/sign"), x_upsert="true").json["token"]

    refusals = {
        nobody.send("GET", f"{at('inspections/1/b', 'sign')}?token={token}").refusal,
        nobody.send("GET", f"{at('inspections/1/a', 'sign')}?token={upload}").refusal,
        nobody.send("GET", f"{at('inspections/1/a', 'sign')}?token={token[:-2]}").refusal,
        nobody.send("GET", f"{at('inspections/1/a', 'sign')}").refusal,
        nobody.send("PUT", f"{at('inspections/1/a', 'upload/sign')}?token={token}", picture()).refusal,
    }

    assert refusals == {(400, "InvalidSignature", "The link is not valid for this file.")}


def test_link_expires(world: Callable) -> None:
    api = world({}, "2026-01-31T12:00:00Z")
    service = storage_of(api)("service")
    clock = api("service").database.app_for("POST", "/").extensions["walkthrough"].clock
    api("service").post("/clients", {"id": 1, "name": "A"})
    api("service").post("/buildings", {"id": 1, "client_id": 1, "name": "B"})
    service.upload("buildings/1/a")
    link = service.sign("buildings/1/a", 60)

    assert service.send("GET", link).status == 200
    clock.set("2026-01-31T12:01:00Z")
    assert service.send("GET", link).refusal[:2] == (400, "ExpiredToken")


def test_signed_upload_works_once(storage: Callable) -> None:
    ada, nobody = storage("ada"), storage("nobody")
    signed = ada.send("POST", at(NAME, "upload/sign"), {}).json
    url = link_path(signed["url"])

    assert signed["url"].endswith(f"?token={signed['token']}")
    assert nobody.send("PUT", url, picture("x"), apikey=None).json == {"Key": NAME}
    assert nobody.send("PUT", url, picture("x"), apikey=None).json == {"Key": NAME}  # a retry
    assert nobody.send("PUT", url, picture("y"), apikey=None).status in (400, 409)
    assert ada.download(NAME).body == picture("x")


def test_signed_upload_may_replace(storage: Callable) -> None:
    ada, nobody = storage("ada"), storage("nobody")
    ada.upload(NAME)
    assert ada.send("POST", at(NAME, "upload/sign"), {}).refusal[:2] == (409, "KeyAlreadyExists")
    url = link_path(ada.send("POST", at(NAME, "upload/sign"), {}, x_upsert="true").json["url"])

    assert nobody.send("PUT", url, picture("x")).status == 200
    assert nobody.send("PUT", url, picture("y")).refusal == (400, "InvalidSignature", "The link was used already.")
    assert ada.download(NAME).body == picture("x")


# Buckets and calls that are refused


def test_buckets_are_fixed_and_private(storage: Callable) -> None:
    moe = storage("moe")
    buckets = moe.send("GET", "/storage/v1/bucket").json

    assert [each["id"] for each in buckets] == ["inspections", "findings", "buildings"]
    assert moe.send("GET", "/storage/v1/bucket/findings").json == buckets[1]
    assert buckets[1]["public"] is False
    assert moe.send("GET", "/storage/v1/bucket/photos").refusal == (404, "NoSuchBucket", "Bucket not found")
    for method, path in (("POST", ""), ("PUT", "/findings"), ("DELETE", "/findings"), ("POST", "/findings/empty")):
        answer = storage("root").send(method, f"/storage/v1/bucket{path}", {})
        assert answer.refusal == (403, "AccessDenied", "The buckets inspections, findings and buildings are fixed.")


@pytest.mark.parametrize("call", ["GET object", "POST object", "POST object/sign", "GET object/info"])
def test_unknown_bucket(storage: Callable, call: str) -> None:
    method, _, path = call.partition(" ")

    answer = storage("ada").send(
        method, f"/storage/v1/{path}/photos/1/a", {"expiresIn": 6} if method == "POST" else None
    )

    assert answer.refusal == (404, "NoSuchBucket", "Bucket not found")


@pytest.mark.parametrize("path", ["object/public", "render/image/public", "object/info/public"])
def test_no_object_is_public(storage: Callable, path: str) -> None:
    storage("ada").upload(NAME)

    for name in (NAME, "inspections/1/none", "photos/1/a"):
        assert storage("nobody").send("GET", f"/storage/v1/{path}/{name}", apikey=None).refusal == MISSING


def test_cache_is_purged_at_once(storage: Callable) -> None:
    assert storage("ada").send("DELETE", "/storage/v1/cdn/inspections/1/a").json == {"message": "success"}


@pytest.mark.parametrize("path", ["upload/resumable", "s3/inspections", "vector/x", "iceberg/v1", "nothing"])
def test_unsupported_call_is_answered_clearly(storage: Callable, path: str) -> None:
    status, code, message = storage("ada").send("POST", f"/storage/v1/{path}").refusal

    assert (status, code) == (404, "NotFound")
    assert path == "nothing" or "not supported" in message


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({"apikey": None, "Authorization": None}, (401, "AccessDenied")),
        ({"Authorization": None}, (401, "AccessDenied")),
        ({"Authorization": "Bearer nonsense"}, (401, "InvalidJWT")),
        ({"apikey": "wrong"}, (401, "AccessDenied")),
    ],
)
@pytest.mark.parametrize("call", ["POST object/inspections/1/a", "GET object/inspections/1/a", "GET bucket",
                                  "POST object/list/inspections", "DELETE object/inspections/1/a",
                                  "DELETE cdn/x"])  # fmt: skip
def test_call_without_credentials_is_refused(storage: Callable, call: str, headers: dict, refusal: tuple) -> None:
    method, _, path = call.partition(" ")

    assert storage("ada").send(method, f"/storage/v1/{path}", {}, **headers).refusal[:2] == refusal


def test_other_method_is_refused(storage: Callable) -> None:
    answer = storage("ada").send("PATCH", at(NAME))

    assert answer.refusal[:2] == (405, "MethodNotAllowed")
    assert "POST" in answer.headers["Allow"]
