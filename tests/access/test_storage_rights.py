"""Files under /storage/v1 are visible as far as their row, at the moment of the request, by every call."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.access.api_keys import make
from tests.conftest import BOB, MIA, MOE
from tests.inspections.case_world import ELSEWHERE, FAILED, HIDDEN, MOMENT, OLD, OPEN, SCHEDULED, case_rows
from tests.support.signin import Service, reused_service
from tests.support.storage import OBJECT, RENDER, Sent, Storage, at, link_path, picture, storage_of

OF_INSPECTION, OF_FINDING, OF_BUILDING = (
    f"inspections/{FAILED}/a b.png",
    f"findings/{OPEN}/a b.png",
    "buildings/1/a b.png",
)
NAMES = (OF_INSPECTION, OF_FINDING, OF_BUILDING)
FOREIGN = (f"inspections/{ELSEWHERE}/a b.png", f"findings/{HIDDEN}/a b.png", "buildings/2/a b.png")
MISSING = ("inspections/999/a b.png", "findings/999/a b.png", "buildings/999/a b.png")
DENIED = (403, "AccessDenied", "permission denied to write files of this row")
GRANTS = "client_manager_building_access"


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


@pytest.fixture
def storage(case: Callable) -> Callable[[str], Storage]:
    """The storage of `case_rows`, in which every row of NAMES and FOREIGN has a file."""
    made = storage_of(case)
    for name in (*NAMES, *FOREIGN):
        assert made("root").upload(name).status == 200
    return made


def reads(storage: Storage, name: str) -> dict[str, Sent]:
    """Return the answers of every call that reads a file. The name of the file is replaced in them."""
    bucket, _, key = name.partition("/")
    calls = {
        "bytes": ("GET", at(name), None),
        "authenticated": ("GET", at(name, "authenticated"), None),
        "head": ("HEAD", at(name), None),
        "info": ("GET", at(name, "info"), None),
        "image": ("GET", f"{RENDER}/authenticated/{name}?width=9", None),
        "sign": ("POST", at(name, "sign"), {"expiresIn": 60}),
        "sign image": ("POST", at(name, "sign"), {"expiresIn": 60, "transform": {"width": 9}}),
        "sign all": ("POST", f"{OBJECT}/sign/{bucket}", {"expiresIn": 60, "paths": [key]}),
        "list": ("POST", f"{OBJECT}/list/{bucket}", {"prefix": key.partition("/")[0]}),
        "search": ("POST", f"{OBJECT}/list/{bucket}", {"prefix": key.partition("/")[0], "search": "a"}),
        "list v2": ("POST", f"{OBJECT}/list-v2/{bucket}", {"prefix": key.partition("/")[0] + "/"}),
        "range": ("GET", at(name), None),
        "copy": ("POST", f"{OBJECT}/copy", {"bucketId": bucket, "sourceKey": key, "destinationKey": f"{key}/c"}),
    }
    ranges = {"range": {"Range": "bytes=0-3"}}
    return {kind: storage.send(*call, **ranges.get(kind, {})) for kind, call in calls.items()}


def is_empty(answer: Sent) -> bool:
    """Return whether an answer is that of a missing file, or a list without files."""
    if answer.status == 200 and answer.body.startswith((b"{", b"[")):
        found = answer.json
        files = found.get("objects", [found]) if isinstance(found, dict) else found
        return all(each.get("signedURL", "") is None for each in files)
    return answer.status in (403, 404)


@pytest.mark.parametrize(("hidden", "missing"), list(zip(FOREIGN, MISSING, strict=True)))
@pytest.mark.attack(entry="F02")
def test_hidden_file_is_as_a_missing_one_by_every_call(storage: Callable, hidden: str, missing: str) -> None:
    ada = storage("ada")

    def normal(answers: dict[str, Sent], name: str) -> dict:
        row = name.split("/")[1]
        return {kind: (each.status, each.body.replace(f'"{row}/'.encode(), b'"ID/')) for kind, each in answers.items()}

    hidden_answers, missing_answers = reads(ada, hidden), reads(ada, missing)

    assert normal(hidden_answers, hidden) == normal(missing_answers, missing)
    assert all(map(is_empty, hidden_answers.values())), hidden_answers
    assert not any(map(is_empty, reads(storage("root"), hidden).values()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.attack(entry="F03")
def test_revoked_grant_counts_at_the_next_request_of_every_call(storage: Callable, case: Callable, name: str) -> None:
    moe = storage("moe")
    before = {kind: answer for kind, answer in reads(moe, name).items() if kind != "copy"}
    links = [link_path(before[kind].json["signedURL"]) for kind in ("sign", "sign image")]
    links.append(link_path(before["sign all"].json[0]["signedURL"]))
    assert not any(map(is_empty, before.values())), before
    assert [moe.send("GET", link).status for link in links] == [200] * 3
    etag = before["bytes"].headers["ETag"]

    assert case("ada").delete(f"/{GRANTS}?manager_id=eq.{MOE}").status == 204

    after = reads(moe, name)
    assert all(map(is_empty, after.values())), after
    unknown = moe.send("GET", at(name.replace("a b", "none")))
    assert {after["bytes"].whole, moe.download(name, If_None_Match=etag).whole, after["range"].whole} == {unknown.whole}
    assert {moe.send("GET", link).refusal for link in links} == {unknown.refusal}


@pytest.mark.parametrize(
    ("who", "name"),
    [("ada", FOREIGN[0]), ("ada", MISSING[0]), ("bob", OF_INSPECTION), ("moe", OF_INSPECTION), ("max", OF_INSPECTION),
     ("max", MISSING[1]), ("mia", OF_BUILDING), ("mia", f"inspections/{OLD}/a.png")],
)  # fmt: skip
@pytest.mark.attack(entry="F04")
def test_refused_write_has_one_answer_and_writes_nothing(storage: Callable, who: str, name: str) -> None:
    """The row is hidden or missing, or it is read but not written."""
    sender, other = storage(who), picture("other")
    bucket, _, key = name.partition("/")
    own = next((each for each in NAMES if sender.download(each).status == 200), None)

    refusals = {
        sender.upload(name, other).refusal,
        sender.upload(name, other, x_upsert="true").refusal,
        sender.send("PUT", at(name), other).refusal,
        sender.send("DELETE", at(name)).refusal,
        sender.send("POST", at(name, "upload/sign"), {}).refusal,
    }
    if own is not None:
        body = {"bucketId": own.split("/")[0], "sourceKey": own.split("/", 1)[1], "destinationKey": f"{key}2",
                "destinationBucket": bucket}  # fmt: skip
        refusals.add(sender.send("POST", f"{OBJECT}/copy", body).refusal)

    assert refusals == {DENIED}
    assert sender.send("DELETE", f"{OBJECT}/{bucket}", {"prefixes": [key]}).json == []
    if name in (*NAMES, *FOREIGN):
        assert storage("root").download(name).body == picture(name)


def test_inspector_of_the_visit_stores_files(storage: Callable) -> None:
    mia, name = storage("mia"), f"inspections/{SCHEDULED}/own.png"

    assert mia.upload(name).status == 200
    assert mia.upload(f"findings/{OPEN}/own.png").status == 200
    assert [
        each["name"]
        for each in mia.send("DELETE", f"{OBJECT}/inspections", {"prefixes": [f"{SCHEDULED}/own.png"]}).json
    ] == [f"{SCHEDULED}/own.png"]


@pytest.mark.attack(entry="F05")
def test_link_ends_with_the_rights_of_its_maker(storage: Callable, case: Callable) -> None:
    nobody = storage("nobody")
    to_read = storage("bob").sign(OF_INSPECTION)
    to_write = link_path(storage("mia").send("POST", at(f"inspections/{SCHEDULED}/new.png", "upload/sign")).json["url"])
    unknown = nobody.send("GET", f"{at('inspections/1/none', 'sign')}?token=x")
    assert nobody.send("GET", to_read, apikey=None).status == 200

    assert case("root").delete(f"/client_admin_inspection_access?admin_id=eq.{BOB}").status == 204
    assert case("root").patch(f"/inspectors?user_id=eq.{MIA}", {"user_id": None}).status == 204

    gone = (404, "NoSuchKey", "Object not found")
    assert nobody.send("GET", to_read, apikey=None).refusal == gone
    assert nobody.send("PUT", to_write, picture(), apikey=None).refusal == gone
    assert unknown.status == 400


def test_link_ends_with_the_account_of_its_maker(storage: Callable, case: Callable) -> None:
    link = storage("moe").sign(OF_INSPECTION)

    assert case("service").delete(f"/auth/v1/admin/users/{MOE}").status == 200

    assert storage("nobody").send("GET", link).refusal == (404, "NoSuchKey", "Object not found")


def test_changes_and_refusals_are_audited(storage: Callable, case: Callable) -> None:
    storage("ada").upload("buildings/1/new.png")
    storage("ada").send("DELETE", at("buildings/1/new.png"))
    storage("moe").upload("buildings/1/refused.png")

    def entries(query: str) -> list:
        return case("root").get(f"/audit_log?order=id.desc&{query}").json

    removed, stored = entries("relation=eq.files&limit=2")
    assert (stored["action"], removed["action"]) == ("insert", "delete")
    assert removed["before"]["sha256"] == stored["after"]["sha256"]
    [refusal] = entries(f"actor_id=eq.{MOE}&limit=1")
    assert refusal["action"] == "refused"
    assert refusal["relation"].startswith("storage/v1/object/buildings/1")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


def test_read_only_api_key_reads_alone(service: Service) -> None:
    name, ada = "buildings/1/a.png", Storage(service.api("ada"))
    assert ada.upload(name).status == 200
    sent = {"apikey": make(service, "ada", read_only=True)["key"], "Authorization": None}

    assert ada.send("GET", at(name), **sent).status == 200
    assert ada.send("POST", at(name, "sign"), {"expiresIn": 60}, **sent).status == 200
    for method, path in (("POST", at(name)), ("PUT", at(name)), ("DELETE", at(name)),
                         ("POST", at("buildings/1/b.png", "upload/sign"))):  # fmt: skip
        answer = ada.send(method, path, picture(), **sent)
        assert answer.refusal == (403, "AccessDenied", "permission denied: the API key is read-only")
