"""Replay of the audit log: earlier rows with all later events applied equal the current rows.

Each write logs one event, with its actor, for each row that it changes.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from engine.maintenance.import_export import export_archive
from tests.conftest import ADA, BOB, CAST, MAX, MIA, MOE, RESOURCES, ROOT, Person, Response
from tests.support.columns import TABLES_WITH_RULES
from tests.support.oracle import KEYS, PRIMARY_KEYS
from tests.support.oracle import TABLES as READ_TABLES

pytestmark = pytest.mark.slow

TABLES = tuple(table for table in READ_TABLES if table not in TABLES_WITH_RULES)
"""The tables that requests write. Deletions cascade to the others."""

Rows = dict[str, dict[str, dict]]
"""Rows by table and by key, as the audit log writes keys."""

TEXTS = ["", "Größe", "\u2028", "\x01\x7f", 'q"\\/\b\f\n\r\t', "\N{HOUSE BUILDING}", "null", "e\u0301"]
DOUBLES = [None, 0.1 + 0.2, 1 / 3, -90, 5e-324, 89.99999999999999, 42.0, -1e-5]
INTEGERS = [None, 0, 7, 2**31 - 1]
DAYS = [None, "0001-01-01", "2024-02-29", "9999-12-31"]
TIMESTAMPS = ["2025-05-05T09:30:15.12+00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]
WRITES = 150
CASCADES = {"inspections", "reports_lead", *TABLES_WITH_RULES}
"""Tables with a derived client column: an audit line may record a change of this column only."""
PEOPLE = {"admin_id": (ADA, BOB), "manager_id": (MOE, MIA, MAX)}


def random_row(draw: random.Random, table: str) -> dict:
    """A random row of a table. Some of its references do not exist."""
    text, key = draw.choice(TEXTS), draw.randint(1, 9)
    if table in KEYS:
        grantee, granted = KEYS[table]
        return {grantee: draw.choice(PEOPLE[grantee]), granted: key, "assigned_at": draw.choice(TIMESTAMPS)}
    numbers = {"latitude": draw.choice(DOUBLES), "floors": draw.choice(INTEGERS)}
    return {
        "clients": {"name": text, "created_at": draw.choice(TIMESTAMPS)},
        "users": {
            "email": f"{key}@x.example",
            "name": text,
            "role": draw.choice(("client_admin", "client_manager")),
            "client_id": draw.randint(1, 2),
        },
        "inspectors": {"name": text, "email": draw.choice([None, text])},
        "buildings": {"name": text, "client_id": draw.randint(1, 2), **numbers},
        "inspections": {
            "building_id": key,
            "inspection_type": text,
            "date_visited": draw.choice(DAYS),
            "inspector_id": draw.choice([None, 1, 2, 3]),
        },
        "reports_lead": {"inspection_id": key, "gun_id": draw.choice(INTEGERS), "result": text},
    }[table]


def random_filter(draw: random.Random, table: str) -> str:
    if table == "users":
        return f"id=eq.{draw.choice((ADA, MOE, MIA, BOB, MAX))}"
    column = KEYS.get(table, ("", "id"))[1]
    return f"{column}={draw.choice(('eq', 'eq', 'eq', 'lt'))}.{draw.randint(1, 9)}"


def send_random_write(draw: random.Random, api: Callable) -> tuple[str, Response]:
    """Send a random write of a random caller. It may be refused."""
    who = draw.choice(["root", "root", "root", "service", "service", "ada", "bob", "moe"])
    table, caller = draw.choice(TABLES), api(who)
    row, key = random_row(draw, table), draw.randint(1, 12)
    prefer = draw.choice([None, None, None, "tx=rollback", "return=representation,timezone=Asia/Tokyo"])
    merged = row if table in KEYS or table == "users" else {"id": key, **row}
    merge = ",".join(filter(None, [prefer, "resolution=merge-duplicates"]))
    part = dict(draw.sample(sorted(row.items()), draw.randint(1, len(row))))
    granted = {"manager_id": draw.choice((MOE, MIA)), "building_ids": [1, 2, 3], "inspection_ids": [key]}  # fmt: skip
    writes: list[Callable[[], Response]] = [
        lambda: caller.post(f"/{table}", row, prefer=prefer),
        lambda: caller.post(f"/{table}", [row, {**row, **random_row(draw, table)}], prefer=prefer),
        lambda: caller.post(f"/{table}", [merged], prefer=merge),
        lambda: caller.put(f"/{table}?id=eq.{key}", merged, prefer=prefer),
        lambda: caller.patch(f"/{table}?{random_filter(draw, table)}", part, prefer=prefer),
        lambda: caller.patch(f"/{table}?{random_filter(draw, table)}", row, prefer=prefer),
        lambda: caller.patch(f"/buildings?id=eq.{key}", {"client_id": draw.randint(1, 2)}),
        lambda: caller.delete(f"/{table}?{random_filter(draw, table)}", prefer=prefer),
        lambda: caller.delete(f"/{table}?{random_filter(draw, table)}", prefer=prefer),
        lambda: caller.patch("/inspectors?email=is.null", {"email": None}),  # the index of the row
        lambda: caller.rpc("assign_to_client_manager", granted),
    ]
    return who, draw.choice(writes)()


def rows_of(api: Callable) -> Rows:
    stored = api("root").database.app_for("POST", "/").extensions["walkthrough"]
    with stored.reading() as transaction:
        archive = json.loads("".join(export_archive(transaction)))
    return {
        table: {",".join(str(row[name]) for name in PRIMARY_KEYS.get(table, ("id",))): row for row in rows}
        for table, rows in archive.items()
    }


def apply(line: dict, rows: Rows) -> set[tuple[str, str]]:
    """Apply an audit line to the rows by table and key; assert that it fits them."""
    table, key = line["relation"], line["row_key"]
    there, was = rows[table], key
    if line["action"] == "insert":
        assert key not in there
        there[key] = line["after"]
    elif line["action"] == "delete":
        assert there.pop(key) == line["before"]
    else:
        names = zip(PRIMARY_KEYS.get(table, ("id",)), key.split(","), strict=True)
        was = ",".join(str(line["before"].get(name, part)) for name, part in names)
        row = there.pop(was)
        assert line["before"] == {name: row[name] for name in line["after"]} != line["after"]
        there[key] = {**row, **line["after"]}
    return {(table, was), (table, key)}


def changed_rows(before: Rows, after: Rows) -> Iterator[tuple[str, str]]:
    for table in RESOURCES:
        for key in before[table].keys() | after[table].keys():
            if before[table].get(key) != after[table].get(key):
                yield table, key


@pytest.mark.parametrize("seed", range(6))
def test_replaying_the_audit_log_gives_the_current_rows(api: Callable, seed: int) -> None:
    draw = random.Random(seed)
    api("root").post("/clients", {"name": "Third"})
    rows = rows_of(api)
    last, refused = api("root").get("/audit_log?select=id.max()").json[0]["max"], 0

    for _ in range(WRITES):
        before = json.loads(json.dumps(rows))
        who, answer = send_random_write(draw, api)
        lines = api("service").get(f"/audit_log?order=id&id=gt.{last}").json
        written_lines = [line for line in lines if line["action"] != "refused"]
        written_rows = {row for line in written_lines for row in apply(line, rows)}

        assert rows == rows_of(api)
        assert {table for table, _ in written_rows ^ set(changed_rows(before, rows))} <= CASCADES
        keys = Counter((line["relation"], line["row_key"], line["action"]) for line in written_lines)
        assert set(keys.values()) <= {1}
        person = CAST[who]
        assert {line["actor_id"] for line in lines} <= {person.id if isinstance(person, Person) else None}  # fmt: skip
        assert len({line["at"] for line in lines}) <= 1
        assert answer.status < 400 or not written_lines
        refused += answer.status >= 400
        last = max([last, *(line["id"] for line in lines)])

    assert 0 < refused < WRITES, "some writes succeed, and some are refused"
    assert ROOT in rows["users"]
