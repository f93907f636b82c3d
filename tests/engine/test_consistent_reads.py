"""Six ways to read agree on what a caller may read: list, embed, count, check, explanation and statistics.

The first tests compare them with hand-written sets over the data set, the others with the oracle over random worlds.
"""

import random
from collections.abc import Callable

import pytest

from tests.conftest import CAST, Api, Bearer, ids
from tests.support import oracle
from tests.support.tokens import token_after_change
from tests.support.worlds import GRANTS, GUNS, person, random_world

PEOPLE = ("root", "ada", "bob", "moe", "mia", "max")
BUILDINGS = (1, 2, 3, 4, 5, 6, 999)
INSPECTIONS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 999)

MAY_READ_BUILDINGS = {
    "root": {1, 2, 3, 4, 5, 6},
    "ada": {1, 2, 3, 5, 6},
    "bob": {4, 5},
    "moe": {1},
    "mia": set(),
    "max": {4},
}

MAY_READ_INSPECTIONS = {
    "root": {1, 2, 3, 4, 5, 6, 7, 8, 9},
    "ada": {1, 2, 3, 4, 5, 8, 9},
    "bob": {3, 6, 7, 8},
    "moe": {1, 2, 3, 9},
    "mia": set(),
    "max": {6, 7},
}

# An embed holds readable rows of readable parents.
BUILDINGS_EMBEDDED = {
    "inspections": {"root": {1, 2, 3, 4, 5}, "ada": {1, 2, 3, 5}, "bob": {4, 5}, "moe": {1}, "mia": set(), "max": {4}},
    "clients": {"root": {1, 2, 3, 4, 5, 6}, "ada": {1, 2, 3, 6}, "bob": {4, 5}, "moe": {1}, "mia": set(), "max": {4}},
}

INSPECTIONS_EMBEDDED = {
    "buildings": {
        "root": {1, 2, 3, 4, 5, 6, 7, 8, 9},
        "ada": {1, 2, 3, 4, 5, 8, 9},
        "bob": {6, 7, 8},
        "moe": {1, 2, 9},
        "mia": set(),
        "max": {6, 7},
    },
    "inspectors": {
        "root": {1, 2, 3, 5, 6, 8},
        "ada": {1, 2, 3, 5, 8},
        "bob": {3, 6, 8},
        "moe": {1, 2, 3},
        "mia": set(),
        "max": {6},
    },
    "reports_lead": {"root": {2, 6}, "ada": {2}, "bob": {6}, "moe": {2}, "mia": set(), "max": {6}},
}


def embedded_ids(api: Api, parent: str, child: str) -> set[int]:
    """Return the ids of all rows of `child` embedded in rows of `parent`."""
    found = set()
    for row in api.get(f"/{parent}?select={child}(id)").json:
        inside = row[child] if isinstance(row[child], list) else [row[child]]
        found |= {item["id"] for item in inside if item is not None}
    return found


# ── the data set ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("who", PEOPLE)
def test_list_returns_readable_rows(api: Callable, who: str) -> None:
    assert ids(api(who).get("/buildings?select=id")) == MAY_READ_BUILDINGS[who]
    assert ids(api(who).get("/inspections?select=id")) == MAY_READ_INSPECTIONS[who]


@pytest.mark.parametrize("parent", BUILDINGS_EMBEDDED)
@pytest.mark.parametrize("who", PEOPLE)
def test_embeds_hold_readable_buildings(api: Callable, who: str, parent: str) -> None:
    assert embedded_ids(api(who), parent, "buildings") == BUILDINGS_EMBEDDED[parent][who]


@pytest.mark.parametrize("parent", INSPECTIONS_EMBEDDED)
@pytest.mark.parametrize("who", PEOPLE)
def test_embeds_hold_readable_inspections(api: Callable, who: str, parent: str) -> None:
    assert embedded_ids(api(who), parent, "inspections") == INSPECTIONS_EMBEDDED[parent][who]


@pytest.mark.parametrize("building", BUILDINGS)
@pytest.mark.parametrize("who", PEOPLE)
def test_count_check_explanation_and_statistics_agree_on_a_building(api: Callable, who: str, building: int) -> None:
    may_read = building in MAY_READ_BUILDINGS[who]
    asked = {"p_building_id": building, "p_user_id": CAST[who].id}

    counted = api(who).get(f"/buildings?select=id&id=eq.{building}", prefer="count=exact")
    stats = api(who).rpc("get_building_stats", {"building_id": building})

    assert counted.total == ("1" if may_read else "0")
    for asker in (who, "root"):
        assert api(asker).rpc("check_building_access_v2", asked).json is may_read
        assert api(asker).rpc("explain_building_access", asked).json["allowed"] is may_read
    assert (stats.status, may_read or stats.code) == ((200, True) if may_read else (404, "PT404"))


@pytest.mark.parametrize("inspection", INSPECTIONS)
@pytest.mark.parametrize("who", PEOPLE)
def test_count_check_and_explanation_agree_on_an_inspection(api: Callable, who: str, inspection: int) -> None:
    may_read = inspection in MAY_READ_INSPECTIONS[who]
    asked = {"p_inspection_id": inspection, "p_user_id": CAST[who].id}

    counted = api(who).get(f"/inspections?select=id&id=eq.{inspection}", prefer="count=exact")

    assert counted.total == ("1" if may_read else "0")
    for asker in (who, "root"):
        assert api(asker).rpc("check_inspection_access", asked).json is may_read
        assert api(asker).rpc("explain_inspection_access", asked).json["allowed"] is may_read


@pytest.mark.parametrize("who", PEOPLE)
def test_dashboard_counts_readable_inspections(api: Callable, who: str) -> None:
    dashboard = api(who).rpc("get_inspections_dashboard_summary_fast").json

    assert dashboard["total_buildings"] == len(MAY_READ_BUILDINGS[who])
    assert dashboard["total_inspections"] == len(MAY_READ_INSPECTIONS[who])


# ── random worlds ────────────────────────────────────────────────────────────────────────────────────────


READ_SEEDS = (1, 2, 3, 4)
WRITE_SEEDS = (11, 12, 13)
WRITES_PER_WORLD = 60
MOMENT = f"{oracle.TODAY}T12:00:00+00:00"


@pytest.mark.parametrize("seed", READ_SEEDS)
def test_reads_in_random_worlds_match_the_oracle(world: Callable, seed: int) -> None:
    rows = random_world(seed)
    api = world(rows, MOMENT)

    for user in rows["users"]:
        seen = {
            table: [row for row in rows[table] if oracle.visible(rows, user, table, row)] for table in oracle.TABLES
        }
        assert_lists_agree(api(person(user)), seen)
        assert_embeds_agree(api(person(user)), seen)
        assert_reads_agree(api, rows, user, seen, random.Random(seed))


def assert_lists_agree(reader: Api, seen: dict) -> None:
    for table in oracle.TABLES:
        response = reader.get(f"/{table}", prefer="count=exact")
        got = {oracle.key_of(table, row) for row in response.json}
        assert got == {oracle.key_of(table, row) for row in seen[table]}, table
        assert response.total == str(len(seen[table])), table


def assert_embeds_agree(reader: Api, seen: dict) -> None:
    buildings = {row["id"] for row in seen["buildings"]}
    for row in reader.get("/inspections?select=building_id,buildings(id)").json:
        shown = {"id": row["building_id"]} if row["building_id"] in buildings else None
        assert row["buildings"] == shown
    for row in reader.get("/buildings?select=id,inspections(id)").json:
        hanging = {i["id"] for i in seen["inspections"] if i["building_id"] == row["id"]}
        assert {item["id"] for item in row["inspections"]} == hanging


def assert_reads_agree(api: Callable, rows: dict, user: dict, seen: dict, rng: random.Random) -> None:
    reader, root = api(person(user)), api(person(rows["users"][0]))
    dashboard = reader.rpc("get_inspections_dashboard_summary_fast").json
    assert dashboard["total_buildings"] == len(seen["buildings"])
    assert dashboard["total_inspections"] == len(seen["inspections"])

    for building in rng.sample(rows["buildings"], 2):
        may_read = building in seen["buildings"]
        asked = {"p_building_id": building["id"], "p_user_id": user["id"]}
        assert reader.rpc("check_building_access_v2", asked).json is may_read
        assert root.rpc("explain_building_access", asked).json["allowed"] is may_read
        stats = reader.rpc("get_building_stats", {"building_id": building["id"]})
        assert stats.status == (200 if may_read else 404)
    for inspection in rng.sample(rows["inspections"], min(2, len(rows["inspections"]))):
        may_read = inspection in seen["inspections"]
        asked = {"p_inspection_id": inspection["id"], "p_user_id": user["id"]}
        assert reader.rpc("explain_inspection_access", asked).json["allowed"] is may_read
        assert root.rpc("check_inspection_access", asked).json is may_read


@pytest.mark.parametrize("seed", WRITE_SEEDS)
def test_writes_in_random_worlds_match_the_oracle(world: Callable, seed: int) -> None:
    drawn = random_world(seed)
    api = world(drawn, MOMENT)
    rows = as_root_reads(api, drawn)
    rng = random.Random(seed)

    for _ in range(WRITES_PER_WORLD):
        user = random_user(rng, rows)
        verb = rng.choice(("insert", "update", "delete"))
        table = rng.choice((*oracle.TABLES, *sorted(oracle.WRITTEN_BY_ADMINS)))
        old, new = random_change(rng, rows, user, verb, table)
        if old == new:
            continue
        step = f"{user['role']} {user['id']} {verb} {table} {old} -> {new}"

        end = outcome(api(fresh_token(user)), verb, table, old, new)

        assert end in ENDS[oracle.result_of_write(rows, user, verb, table, old, new)], step
        after = as_root_reads(api, rows)
        if end == "done":
            assert is_applied(after[table], table, old, new), step
        else:
            assert after == rows, step
        rows = after


# The outcomes of the service for each verdict of the oracle. Constraints may refuse a write that the rule allows.
ENDS = {
    "ok": {"done", "23503", "23505", "23514"},
    "privilege": {"permission denied"},
    "rule": {"new row violates row-level security policy"},
    "unmatched": {"nothing matched"},
}


def random_user(rng: random.Random, rows: dict) -> dict:
    """Return a random user, most often a client admin, because most row rules are for client admins."""
    often = {"client_admin": 6, "super_admin": 4, "client_manager": 1}
    return rng.choices(rows["users"], [often[user["role"]] for user in rows["users"]])[0]


def fresh_token(user: dict) -> Bearer:
    """Return a token that is valid after a change of role or client in the same second."""
    return Bearer("Bearer " + token_after_change(user["id"], user["role"], user["client_id"]))


def is_applied(after: list[dict], table: str, old: dict | None, new: dict | None) -> bool:
    """Return whether the old row is deleted and the new row exists, as the write requires."""
    if new is None:
        return oracle.key_of(table, old) not in {oracle.key_of(table, row) for row in after}
    expected = {column: value for column, value in new.items() if column not in ("updated_at", "case_id")}
    return any(expected.items() <= row.items() for row in after)


def outcome(writer: Api, verb: str, table: str, old: dict | None, new: dict | None) -> str:
    """Send a write, and return its outcome as the oracle names it."""
    if verb == "insert":
        response = writer.post(f"/{table}", new, prefer="return=minimal")
    elif verb == "update":
        changed = {column: new[column] for column in new if new[column] != old[column]}
        response = writer.patch(f"/{table}?{where(table, old)}", changed, prefer="return=minimal, count=exact")
    else:
        response = writer.delete(f"/{table}?{where(table, old)}", prefer="count=exact")
    if response.status < 300:
        return "nothing matched" if verb != "insert" and response.total == "0" else "done"
    return response.message.partition(" for table")[0] if response.status == 403 else response.code


def where(table: str, row: dict) -> str:
    columns = oracle.PRIMARY_KEYS.get(table, ("id",))
    return "&".join(f"{column}=eq.{row[column]}" for column in columns)


def random_change(rng: random.Random, rows: dict, user: dict, verb: str, table: str) -> tuple[dict | None, dict | None]:
    """Return a random row to change, or None, and its new values."""
    if verb == "insert":
        return None, random_row(rng, rows, user, table)
    if not rows[table]:
        return None, None
    old = rng.choice(rows[table])
    if verb == "delete":
        return old, None
    wished = random_row(rng, rows, user, table)
    fixed = {"email", *{"xrf_limits": ("gun_id", "client_id"), "findings": ("severity",)}.get(table, ())}
    column = rng.choice([name for name in wished if name in old and name not in fixed])
    return old, {**old, column: wished[column]}


def random_row(rng: random.Random, rows: dict, user: dict, table: str) -> dict:
    """Return a random valid row. The user may write about half of them."""
    if table in GRANTS:
        _, grantee, target_table, target = GRANTS[table]
        targets = [row["id"] for row in rows[target_table]] or [999]
        return {
            grantee: rng.choice(rows["users"])["id"],
            target: rng.choice([*targets, 999]),
            "assigned_by": user["id"],
        }
    clients = [row["id"] for row in rows["clients"]]
    buildings = [row["id"] for row in rows["buildings"]] or [999]
    inspections = [row["id"] for row in rows["inspections"]] or [999]
    owned = [row for row in rows["xrf_instruments"] if row["client_id"] is not None]
    instruments = [{name: row[name] for name in ("gun_id", "client_id")} for row in owned] or [
        {"gun_id": 999, "client_id": clients[0]}
    ]
    unique = rng.randrange(10**9)
    return {
        "clients": {"name": f"Client {unique}"},
        "inspectors": {"name": f"Inspector {unique}"},
        "users": {
            "email": f"user{unique}@random.example",
            "name": f"User {unique}",
            "role": rng.choice(("client_manager", "client_manager", "client_admin")),
            "client_id": rng.choice(clients),
        },
        "buildings": {"name": f"Building {unique}", "client_id": rng.choice([*clients, 999])},
        "inspections": {"building_id": rng.choice([*buildings, 999]), "inspection_type": rng.choice(("fire", "lead"))},
        "building_details": {"building_id": rng.choice([*buildings, 999]), "parcel": f"Parcel {unique}"},
        "reports_lead": {"inspection_id": rng.choice([*inspections, 999]), "result": "negative"},
        "calibration_checks": {
            "inspection_id": rng.choice([*inspections, 999]),
            "gun_id": rng.choice(GUNS),
            "taken_at": "2025-06-14T12:00:00+00:00",
            "first": 1.0,
            "second": 1.0,
            "third": 1.0,
        },
        "xrf_instruments": {
            "gun_id": rng.choice([*GUNS, 100 + unique]),
            "client_id": rng.choice([*clients, None]),
            "make": "Niton",
            "model": f"Model {unique}",
            "serial": "S",
        },
        "lead_standards": {
            "client_id": rng.choice([*clients, None]),
            "unit": "mg_cm2",
            "from_value": 0.5,
            "valid_from": "2020-01-01",
            "basis": f"Basis {unique}",
        },
        "xrf_limits": {
            **rng.choice(instruments),
            "substrate": f"Substrate {unique}",
            "negative_below": 0.4,
            "positive_from": 0.6,
        },
        "schedules": {
            "building_id": rng.choice([*buildings, 999]),
            "inspection_type": f"type {unique}",
            "every": 1,
            "unit": "year",
            "first_due": "2025-07-01",
        },
        "inspection_plans": {"inspection_id": rng.choice([*inspections, 999]), "case_id": 1, "outcome": "done"},
        "deadline_rules": {
            "client_id": rng.choice([*clients, None]),
            "severity": "low",
            "amount": 1 + unique % 90,
            "unit": "d",
            "basis": f"Basis {unique}",
        },
        "findings": {
            "inspection_id": rng.choice([*inspections, 999]),
            "description": f"Finding {unique}",
            "severity": "low",
        },
        "finding_events": {"finding_id": 1, "kind": "remark", "note": f"Note {unique}"},
        "issued_reports": {"inspection_id": rng.choice([*inspections, 999]), "number": f"Number {unique}"},
        "notices": {"building_id": rng.choice([*buildings, 999]), "number": f"Number {unique}"},
    }[table]


def as_root_reads(api: Callable, rows: dict) -> dict:
    """Return all rows, in the order of their keys."""
    root = api(person(rows["users"][0]))
    return {
        table: sorted(root.get(f"/{table}").json, key=lambda row: [str(k) for k in oracle.key_of(table, row)])
        for table in oracle.TABLES
    }
