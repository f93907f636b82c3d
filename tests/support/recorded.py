"""Comparison of responses with recorded ones of PostgREST.

A recorded case has the sender, the request, and of the response the status, the headers to compare and the body.
The comparison ignores the order of rows if the request has none, and the format of timestamps in CSV. It also ignores
ids that were generated during the recording (101 to 110).
"""

import csv
import io
import json
import re
from collections.abc import Mapping
from datetime import datetime

from tests.conftest import CAST, DATASET, ROOT, Bearer, Person, Response
from tests.support.columns import COLUMNS, TABLES_WITH_RULES
from tests.support.tokens import claims_of, sign

NEW = "any new id"
PREFERENCES = ("preference-applied", "allow")


def sender(name: str) -> Person | Bearer:
    """Return the sender of a case: a user of the data set, or for names with a dash, invalid credentials of root."""
    if name in CAST:
        return CAST[name]
    root = claims_of(ROOT, "super_admin", None)
    broken = {
        "-none": None,
        "-junk": "Bearer junk",
        "-basic": "Basic cm9vdDpyb290",
        "-badsig": "Bearer " + sign(root, key="x" * 40),
        "-expired": "Bearer " + sign({**root, "exp": 1000}),
        "-norole": "Bearer " + sign({"sub": ROOT, "exp": root["exp"]}),
        "-badrole": "Bearer " + sign({**root, "role": "nope"}),
        "-algnone": "Bearer " + sign(root, alg="none"),
        "-future": "Bearer " + sign({**root, "nbf": root["iat"] + 10**6}),
    }
    return Bearer(broken[name])


def difference(case: Mapping, answer: Response) -> str | None:
    """Return the difference from the recorded response in one line, or None."""
    return (
        status_difference(case, answer)
        or error_difference(case, answer)
        or header_difference(case, answer)
        or body_difference(case, answer)
    )


def status_difference(case: Mapping, answer: Response) -> str | None:
    recorded = case["expect"]["status"]
    if answer.status != recorded:
        return f"status {answer.status}, not {recorded}: {answer.text[:200]}"
    return None


def error_difference(case: Mapping, answer: Response) -> str | None:
    recorded = case["expect"].get("code")
    if case["expect"]["status"] < 300 or case["method"] == "HEAD" or not recorded:
        return None
    if answer.code != recorded:
        return f"code {answer.code}, not {recorded}: {answer.text[:200]}"
    missing = {"code", "message", "details", "hint"} - set(answer.json)
    return f"the error lacks {sorted(missing)}" if missing else None


def header_difference(case: Mapping, answer: Response) -> str | None:
    for name, recorded in case["expect"]["headers"].items():
        got = answer.headers.get(name)
        if name == "content-type" and not has_body(case):
            continue
        if comparable_header(name, got) != comparable_header(name, recorded):
            return f"{name}: {got!r}, not {recorded!r}"
    return None


def has_body(case: Mapping) -> bool:
    return bool(case["expect"].get("json") or case["expect"].get("text"))


def comparable_header(name: str, value: str | None) -> object:
    """Return the part of a header that is compared.

    >>> comparable_header("content-type", "text/csv; charset=utf-8")
    'text/csv'
    >>> comparable_header("preference-applied", "b=2, a=1")
    ['a=1', 'b=2']
    """
    if name in PREFERENCES:
        return sorted(part.strip() for part in (value or "").split(","))
    if value is None:
        return None
    if name == "content-type":
        return value.partition(";")[0].strip()
    if name == "location":
        return re.sub(r"id=eq\.\d+$", f"id=eq.{NEW}", value)
    return value


def body_difference(case: Mapping, answer: Response) -> str | None:
    expect = case["expect"]
    if expect["status"] >= 300:
        return None
    if "json" in expect:
        got = without_later_columns(json.loads(answer.text)) if answer.text else None
        return None if same_json(expect["json"], got, case["path"]) else describe_bodies(got, expect["json"])
    if expect.get("text"):
        return None if same_csv(expect["text"], answer.text) else describe_bodies(answer.text, expect["text"])
    if expect.get("text") == "" and answer.text:
        return f"a body where none was recorded: {answer.text[:200]}"
    return None


def later_columns() -> set[str]:
    """Return the columns that no row of the recorded data set has. It has no tables of inspections/."""
    tables = json.loads(DATASET.read_text())
    tables["reports_lead"] = [dict.fromkeys(("id", "inspection_id", "gun_id", "result"))]
    recorded = {name for table in tables if table not in TABLES_WITH_RULES for row in tables[table] for name in row}
    return {name for table in COLUMNS if table not in TABLES_WITH_RULES for name in COLUMNS[table]} - recorded


def without_later_columns(value: object) -> object:
    """Return an answer without the values of `LATER_COLUMNS`. A recorded `*` does not include them."""
    if isinstance(value, dict):
        if "phone" in value:  # a client, whose address is a later column; that of a building is not
            value = {name: each for name, each in value.items() if name != "address"}
        if "gun_id" in value:  # a reading, whose time of change is a later column; those of other rows are not
            value = {name: each for name, each in value.items() if name != "updated_at"}
        return {name: without_later_columns(each) for name, each in value.items() if name not in LATER_COLUMNS}
    return [without_later_columns(each) for each in value] if isinstance(value, list) else value


LATER_COLUMNS = later_columns()


def describe_bodies(got: object, recorded: object) -> str:
    return f"body {json.dumps(got)[:400]}, not {json.dumps(recorded)[:400]}"


def same_json(recorded: object, got: object, path: str) -> bool:
    """Compare two bodies. The order of rows matters only if the request has one."""
    if recorded == got:
        return True
    recorded = with_ids_open(recorded)
    got = with_ids_masked(got, recorded)
    nested_ordered = ".order=" in path
    ordered = bool(re.search(r"[?&]order=", path))
    if ordered and isinstance(recorded, list) and isinstance(got, list):
        return [sorted_rows(row, nested_ordered) for row in recorded] == [
            sorted_rows(row, nested_ordered) for row in got
        ]
    return sorted_rows(recorded, nested_ordered) == sorted_rows(got, nested_ordered)


def sorted_rows(value: object, ordered: bool) -> object:
    """Sort all lists in the value, unless they are ordered."""
    if isinstance(value, dict):
        return {key: sorted_rows(item, ordered) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [sorted_rows(item, ordered) for item in value]
    return items if ordered else sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def with_ids_open(recorded: object) -> object:
    """Replace the ids that were generated during the recording.

    >>> with_ids_open([{"id": 103, "building_id": 4}])
    [{'id': 'any new id', 'building_id': 4}]
    """
    if isinstance(recorded, list):
        return [with_ids_open(item) for item in recorded]
    if isinstance(recorded, dict):
        return {key: NEW if is_new_id(key, value) else with_ids_open(value) for key, value in recorded.items()}
    return recorded


def is_new_id(key: str, value: object) -> bool:
    return key == "id" and isinstance(value, int) and 101 <= value <= 110


def with_ids_masked(got: object, recorded: object) -> object:
    """Replace the response's ids where the recorded body has a generated one."""
    if isinstance(got, list) and isinstance(recorded, list):
        masked = [with_ids_masked(g, r) for g, r in zip(got, recorded, strict=False)]
        return masked + got[len(recorded) :]
    if isinstance(got, dict) and isinstance(recorded, dict):
        return {
            key: NEW
            if recorded.get(key) == NEW and isinstance(value, int)
            else with_ids_masked(value, recorded.get(key))
            for key, value in got.items()
        }
    return got


def same_csv(recorded: str, got: str) -> bool:
    """Compare two CSV texts by column name. A header line of an empty response is optional."""
    recorded_rows, got_rows = csv_rows(recorded), csv_rows(got)
    if not recorded_rows:
        return not got_rows
    return with_ids_open(recorded_rows) == with_ids_masked(got_rows, with_ids_open(recorded_rows))


def csv_rows(text: str) -> list[dict]:
    return [{name: csv_cell(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


def csv_cell(cell: str) -> object:
    """Return the value of a cell: JSON, a timestamp, or text."""
    try:
        return json.loads(cell)
    except (ValueError, TypeError):
        pass
    try:
        return datetime.fromisoformat(cell) if re.match(r"\d{4}-\d\d-\d\d[ T]\d\d:", cell) else cell
    except (ValueError, TypeError):
        return cell
