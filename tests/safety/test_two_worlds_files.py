"""Two worlds that differ only in files hidden from a caller give equal responses, by every call of /storage/v1.

Both worlds have the rows of `case_rows` and the same visible files. The hidden files differ in names and bytes.
"""

from __future__ import annotations

import itertools
import json
import re
import types
import uuid
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from access.caller import SERVICE_CALLER
from inspections.files import listing, records
from tests.conftest import CAST
from tests.inspections.case_world import ELSEWHERE, FAILED, HIDDEN, MISSING, OLD, OPEN, SCHEDULED, case_rows
from tests.safety.service_instances import HttpRequest, HttpResponse, ServiceInstance, make_request
from tests.support.columns import MODELLED_TABLES
from tests.support.storage import OBJECT, RENDER, picture
from tests.support.worlds import with_all_columns

ROWS = {
    "inspections": (FAILED, SCHEDULED, ELSEWHERE, OLD, MISSING),
    "findings": (OPEN, HIDDEN, MISSING),
    "buildings": (1, 2, MISSING),
}
VISIBLE = {
    "ada": {
        f"inspections/{FAILED}",
        f"inspections/{SCHEDULED}",
        f"inspections/{OLD}",
        f"findings/{OPEN}",
        "buildings/1",
    },
    "bob": {
        f"inspections/{FAILED}",
        f"inspections/{ELSEWHERE}",
        f"findings/{OPEN}",
        f"findings/{HIDDEN}",
        "buildings/2",
    },
    "moe": {
        f"inspections/{FAILED}",
        f"inspections/{SCHEDULED}",
        f"inspections/{OLD}",
        f"findings/{OPEN}",
        "buildings/1",
    },
    "mia": {
        f"inspections/{FAILED}",
        f"inspections/{SCHEDULED}",
        f"inspections/{OLD}",
        f"findings/{OPEN}",
        "buildings/1",
    },
    "max": set(),
}
"""By person: the existing rows that they read. The clock shows a day before all visits (docs/ACCESS.md)."""

WORLDS = (("a.png", "sub/c.png"), ("b.png", "a.png", "sub/d.png"))
"""By world: the names of hidden files. The bytes of each differ between the worlds."""

NAMES = ("a.png", "sub/c.png", "none.png")
STORED = ("a.png", "b.png", "sub/c.png")
TOKEN = re.compile(rb'(token["=:? ]+)[\w.-]+')
LATER_UUIDS = 10_000


class WorldsDiffer(AssertionError):
    """A response reveals a hidden file."""


def existing_rows() -> list[str]:
    return [f"{bucket}/{row}" for bucket, rows in ROWS.items() for row in rows if row != MISSING]


def requests() -> Iterator[HttpRequest]:
    """Yield requests that read, and then requests that write."""
    for bucket, rows in ROWS.items():
        for prefix in ("", *(f"{row}/{below}" for row in rows for below in ("", "sub"))):
            for options in ({}, {"search": "a", "sortBy": {"column": "created_at"}}, {"limit": 1, "offset": 1}):
                yield make_request("POST", f"{OBJECT}/list/{bucket}", {"prefix": prefix, **options})
            for options in ({"with_delimiter": True}, {"limit": 1, "cursor": "1"}):
                yield make_request("POST", f"{OBJECT}/list-v2/{bucket}", {"prefix": prefix, **options})
        keys = [f"{row}/{name}" for row in rows for name in NAMES]
        yield make_request("POST", f"{OBJECT}/sign/{bucket}", {"expiresIn": 60, "paths": keys})
        for key in keys:
            yield from reads(bucket, key)
    yield from rest_reads()
    for bucket, rows in ROWS.items():
        for row, name in itertools.product(rows, NAMES):
            yield from writes(bucket, f"{row}/{name}")
        yield make_request("DELETE", f"{OBJECT}/{bucket}", {"prefixes": [f"{row}/a.png" for row in rows]})


def reads(bucket: str, key: str) -> Iterator[HttpRequest]:
    path = f"{bucket}/{quote(key)}"
    for kind in ("", "/authenticated", "/info"):
        yield make_request("GET", f"{OBJECT}{kind}/{path}")
    yield make_request("HEAD", f"{OBJECT}/{path}")
    yield make_request("GET", f"{OBJECT}/{path}", range="bytes=0-9")
    yield make_request("GET", f"{OBJECT}/{path}", range="bytes=999999-")
    yield make_request("GET", f"{RENDER}/authenticated/{path}?width=9")
    yield make_request("GET", f"{OBJECT}/sign/{path}?token=x")
    yield make_request("GET", f"{OBJECT}/public/{path}")
    yield make_request("POST", f"{OBJECT}/sign/{path}", {"expiresIn": 60})
    yield make_request("POST", f"{OBJECT}/sign/{path}", {"expiresIn": 60, "transform": {"width": 9}})


def rest_reads() -> Iterator[HttpRequest]:
    for query in ("order=name", "select=count()", "name=like.*a.png&order=name", "limit=1&offset=1&order=name",
                  "select=name,inspections(id),findings(id),buildings(id)&order=name"):  # fmt: skip
        yield make_request("GET", f"/files?{query}", prefer="count=exact")
        yield make_request("HEAD", f"/files?{query}", prefer="count=exact")
    for table in ROWS:
        yield make_request("GET", f"/{table}?select=id,files(name,sha256)&order=id")
        yield make_request("GET", f"/{table}?select=id,files(count)&order=id")
        yield make_request("GET", f"/{table}?select=id,files!inner(name)&files.name=like.*a.png&order=id")
    yield make_request("PATCH", "/files?name=like.*a.png", {"caption": "seen"}, prefer="return=representation")
    yield make_request("DELETE", "/files?name=like.*a.png")


def writes(bucket: str, key: str) -> Iterator[HttpRequest]:
    path = f"{bucket}/{quote(key)}"
    for body in (picture("first"), picture("second")):
        yield make_request("POST", f"{OBJECT}/{path}", body, content_type="image/png")
    yield make_request("POST", f"{OBJECT}/{path}", picture("third"), content_type="image/png", x_upsert="true")
    yield make_request("PUT", f"{OBJECT}/{path}", picture("fourth"), content_type="image/png")
    yield make_request("POST", f"{OBJECT}/upload/sign/{path}", {})
    for call in ("copy", "move"):
        for source, target in ((key, f"{FAILED}/{call}.png"), (f"{FAILED}/b.png", key)):
            body = {"bucketId": bucket, "sourceKey": source, "destinationKey": target}
            yield make_request("POST", f"{OBJECT}/{call}", body)
    yield make_request("DELETE", f"{OBJECT}/{path}")


def load(instance: ServiceInstance, uuid_source: types.SimpleNamespace, who: str, hidden: tuple[str, ...]) -> None:
    """Store the visible files, and hidden ones of these names."""
    rows = {table: [with_all_columns(table, row) for row in case_rows().get(table, ())] for table in MODELLED_TABLES}
    rows["users"].sort(key=lambda row: row["role"] != "super_admin")
    with instance.app.extensions["walkthrough"].writing() as transaction:
        transaction.run("DELETE FROM files")  # the oracle's tables are without them
    instance.load(rows)
    instance.app.extensions["walkthrough.files"].prepare()
    uuid_source.restart()
    for row in sorted(VISIBLE[who]):
        for name in STORED:
            store(instance, f"{row}/{name}", f"{row}/{name}")
    for row in existing_rows():
        if row not in VISIBLE[who]:
            for name in hidden:
                store(instance, f"{row}/{name}", f"{row}/{name} {hidden}")
    uuid_source.uuids = (uuid.UUID(int=(0xC1 << 120) | (4 << 76) | (8 << 60) | n) for n in itertools.count(LATER_UUIDS))


def store(instance: ServiceInstance, name: str, content: str) -> None:
    request = make_request("POST", f"{OBJECT}/{name}", picture(content), content_type="image/png")
    answer = instance.open(request, {"apikey": "", "Authorization": "", **dict(request.headers), **SERVICE_HEADERS})
    assert answer.status == 200, answer


SERVICE_HEADERS = {"apikey": CAST["service"].authorization().removeprefix("Bearer "),
                   "Authorization": CAST["service"].authorization()}  # fmt: skip


def compare(instances: tuple[ServiceInstance, ServiceInstance], uuid_source: types.SimpleNamespace, who: str) -> int:
    """Send all requests to both worlds; return how many succeeded. Raise WorldsDiffer."""
    person = CAST[who]
    user = {"id": person.id, "role": person.role, "client_id": person.client_id}
    answered = []
    for instance, hidden in zip(instances, WORLDS, strict=True):
        load(instance, uuid_source, who, hidden)
        answered.append([(request, without_tokens(instance.send(user, request))) for request in requests()])
    for (request, one), (_, other) in zip(*answered, strict=True):
        if one != other:
            raise WorldsDiffer(f"{who}: {request}\nthe first responds\n{one}\nthe second\n{other}")
        assert one.status < 500, (request, one)
    return sum(answer.status < 300 and answer.body not in (b"[]", b"") for _, answer in answered[0])


def without_tokens(answer: HttpResponse) -> HttpResponse:
    """Return the answer without the random parts of links."""
    body = TOKEN.sub(rb"\1", answer.body) if answer.body.startswith((b"{", b"[")) else answer.body
    lengths = tuple((name, value) for name, value in answer.headers if name != "content-length" or body == answer.body)
    return HttpResponse(answer.status, lengths, body)


@pytest.mark.parametrize("who", VISIBLE)
def test_hidden_files_do_not_change_responses(
    instances: tuple[ServiceInstance, ServiceInstance], uuid_source: types.SimpleNamespace, who: str
) -> None:
    succeeded = compare(instances, uuid_source, who)

    assert succeeded > (50 if VISIBLE[who] else 0)


# Controls


def found_without_rule(patch: pytest.MonkeyPatch) -> None:
    """A file is found by its name alone."""
    find_all = records.find_all
    patch.setattr(records, "find_all", lambda transaction, caller, *rest: find_all(transaction, SERVICE_CALLER, *rest))


def listed_without_rule(patch: pytest.MonkeyPatch) -> None:
    """A list shows the files of all rows."""
    files_of_row = listing.files_of_row
    patch.setattr(
        listing, "files_of_row", lambda transaction, caller, *rest: files_of_row(transaction, SERVICE_CALLER, *rest)
    )


def counted_before_written(patch: pytest.MonkeyPatch) -> None:
    """An existing name is reported before the right to write."""
    check_put = records.check_put

    def check(transaction, caller, key, upload, *, upsert: bool, total_max: int) -> object:
        existing = records.find_all(transaction, SERVICE_CALLER, key.bucket, [key.name])
        if existing and not upsert:
            raise records.FileExists
        return check_put(transaction, caller, key, upload, upsert=upsert, total_max=total_max)

    patch.setattr(records, "check_put", check)


@pytest.mark.control
@pytest.mark.parametrize("fault", [found_without_rule, listed_without_rule, counted_before_written])
def test_planted_leak_of_files_is_detected(
    instances: tuple[ServiceInstance, ServiceInstance],
    uuid_source: types.SimpleNamespace,
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        with pytest.raises(WorldsDiffer):
            compare(instances, uuid_source, "ada")


def test_token_of_a_link_is_replaced() -> None:
    signed = json.dumps({"url": "/object/upload/sign/a?token=x.y-z", "token": "x.y-z"}).encode()

    assert b"x.y-z" not in TOKEN.sub(rb"\1", signed)
