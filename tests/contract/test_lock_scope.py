"""A caller's text is read before the writer lock is acquired."""

import json
from collections.abc import Callable

import pytest

from access.accounts import password
from inspections.files import records
from inspections.imports import import_csv
from inspections.imports.rows import RowReader
from models import types
from tests.contract.test_rpc_import_csv import building_rows, result
from tests.support.lock_record import LockRecord
from tests.support.storage import OBJECT, at, picture, storage_of

INSPECTIONS = "building_id,inspection_type,date_visited\n1,fire,2026-05-04\n"


@pytest.mark.parametrize(
    ("target", "text", "defaults"),
    [("buildings", building_rows(20), {"client_id": 1}), ("inspections", INSPECTIONS, {"status": "scheduled"})],
)
def test_imported_file(api: Callable, monkeypatch: pytest.MonkeyPatch, target: str, text: str, defaults: dict) -> None:
    record = LockRecord(monkeypatch)
    record.watch(import_csv, "read_table")
    record.watch(RowReader, "convert")

    answer = result(api, "root", text, target, defaults=defaults, dry_run=False)

    assert answer["inserted"] > 0, answer
    assert {name for name, *_ in record.calls} == {"read_table", "convert"}
    assert record.under_lock == []


MARKS = "a" + "\u0301\u0316" * 2_040
ATTACKS = [f"1/{MARKS}{number}.jpg" for number in range(120)]


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> LockRecord:
    record = LockRecord(monkeypatch)
    record.watch(records, "parse_key")
    record.watch(types.unicodedata, "normalize")
    return record


def normalized_characters(record: LockRecord) -> int:
    return sum(len(call[2]) for call in record.calls if call[0] == "normalize")


@pytest.mark.parametrize("names", [ATTACKS, ["1/" + "\u0f73" * 1_000, "1/e\u0301" * 100, "1/\u00e9.jpg", "1/x.jpg"]])
@pytest.mark.parametrize("who", ["max", "ada"])
def test_names_of_removed_files(api: Callable, record: LockRecord, who: str, names: list[str]) -> None:
    body = json.dumps({"prefixes": names}, ensure_ascii=False).encode()

    answer = storage_of(api)(who).send("DELETE", f"{OBJECT}/inspections", body, Content_Type="application/json")

    assert (answer.status, answer.json) == (200, [])
    assert record.calls
    assert record.under_lock == []
    assert normalized_characters(record) < 1_000


@pytest.mark.parametrize("name", [ATTACKS[0], "1/" + "\u0f73" * 1_000 + ".jpg"])
@pytest.mark.parametrize("call", ["upload", "sign", "sign all", "move", "copy", "remove", "info", "list", "list-v2"])
def test_names_with_many_marks(api: Callable, record: LockRecord, call: str, name: str) -> None:
    send, moved = (
        storage_of(api)("ada").send,
        {"bucketId": "inspections", "sourceKey": "1/a.jpg", "destinationKey": name},
    )
    requests = {
        "upload": lambda: send("POST", at(f"inspections/{name}"), picture()),
        "sign": lambda: send("POST", at(f"inspections/{name}", "sign"), {"expiresIn": 60}),
        "sign all": lambda: send("POST", f"{OBJECT}/sign/inspections", {"expiresIn": 60, "paths": [name]}),
        "move": lambda: send("POST", f"{OBJECT}/move", moved),
        "copy": lambda: send("POST", f"{OBJECT}/copy", moved),
        "remove": lambda: send("DELETE", at(f"inspections/{name}")),
        "info": lambda: send("GET", at(f"inspections/{name}", "info")),
        "list": lambda: send("POST", f"{OBJECT}/list/inspections", {"prefix": name}),
        "list-v2": lambda: send("POST", f"{OBJECT}/list-v2/inspections", {"prefix": name}),
    }

    answer = requests[call]()

    assert answer.status in ((200,) if call in ("sign all", "list-v2") else (400,)), answer.body
    assert record.under_lock == []
    assert normalized_characters(record) < 1_000


@pytest.mark.parametrize("operator", ["eq", "like", "in"])
def test_filters_by_names_with_many_marks(api: Callable, record: LockRecord, operator: str) -> None:
    value = {"eq": MARKS[:1_000], "like": f"*{MARKS[:200]}*", "in": f"({MARKS[:1_000]})"}[operator]

    answer = api("ada").get(f"/files?name={operator}.{value}")

    assert (answer.status, answer.json) == (200, [])
    assert normalized_characters(record) == 0


def test_long_email_of_a_sign_in(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    record = LockRecord(monkeypatch)
    record.watch(password.unicodedata, "normalize")

    body = {"email": f"a{MARKS[:2_000]}@example.org", "password": "wrong password"}

    answer = api("nobody").post("/auth/v1/token?grant_type=password", body)

    assert answer.status == 400, answer.text
    assert record.calls
    assert max(len(call[2]) for call in record.calls) <= password.EMAIL_CHARACTERS_MAX
