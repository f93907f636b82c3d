"""The demo portfolio is reproducible and consistent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from demo.passwords import with_passwords
from demo.portfolio import compose

TODAY = date(2026, 11, 20)
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=[1, 1977])
def portfolio(request):
    return compose(TODAY, request.param)


def test_the_same_seed_and_day_give_the_same_portfolio():
    assert compose(TODAY, 5) == compose(TODAY, 5)
    assert compose(TODAY, 5) != compose(TODAY, 6)


def test_portfolio_has_the_documented_numbers_of_rows(portfolio):
    sizes = {table: len(rows) for table, rows in portfolio.items()}

    assert list(sizes) == [
        "clients",
        "users",
        "inspectors",
        "buildings",
        "inspections",
        "reports_lead",
        "client_admin_building_access",
        "client_manager_building_access",
        "client_admin_inspection_access",
        "client_manager_inspection_access",
    ]
    assert (sizes["clients"], sizes["buildings"], sizes["inspections"]) == (3, 40, 2000)
    assert all(sizes.values())
    people = Counter((user["role"], user["client_id"]) for user in portfolio["users"])
    assert people["super_admin", None] == 1
    for client_id in (1, 2, 3):
        assert people["client_admin", client_id] == 1
        assert people["client_manager", client_id] in (2, 3)


def test_columns_and_value_forms_equal_the_data_sets(portfolio):
    example = json.loads((PROJECT / "tests" / "data" / "dataset.json").read_text())
    moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")

    for table, rows in portfolio.items():
        assert {frozenset(row) for row in rows} == {frozenset(example[table][0])}
        for row in rows:
            for column in row:
                if column.endswith("_at"):
                    assert moment.fullmatch(str(row[column]))


def test_ids_start_at_one_and_references_exist(portfolio):
    keys = {table: {row["id"] for row in rows} for table, rows in portfolio.items() if "id" in rows[0]}

    for table in ("clients", "inspectors", "buildings", "inspections", "reports_lead"):
        assert [row["id"] for row in portfolio[table]] == [*range(1, len(portfolio[table]) + 1)]
    assert all(row["client_id"] in keys["clients"] for row in portfolio["buildings"])
    assert all(row["building_id"] in keys["buildings"] for row in portfolio["inspections"])
    inspectors = keys["inspectors"] | {None}
    assert all(row["inspector_id"] in inspectors for row in portfolio["inspections"])
    assert len({user["email"] for user in portfolio["users"]}) == len(portfolio["users"])


def test_statuses_agree_with_dates(portfolio):
    allowed_after_days = {
        "completed": range(1100),
        "failed": range(1100),
        "in_progress": range(15),
        "scheduled": range(-60, 46),
        "cancelled": range(-60, 1100),
    }

    ages = [
        (row["status"], (TODAY - date.fromisoformat(str(row["date_visited"]))).days) for row in portfolio["inspections"]
    ]

    assert all(age in allowed_after_days[str(status)] for status, age in ages)
    assert {status for status, _ in ages} == set(allowed_after_days)
    assert min(age for _, age in ages) < -45
    assert max(age for _, age in ages) > 1000


def test_dates_are_after_creation_and_not_in_the_future(portfolio):
    buildings = {row["id"]: row for row in portfolio["buildings"]}
    midnight = f"{TODAY + timedelta(days=1)}T00:00:00+00:00"

    for row in portfolio["inspections"]:
        assert buildings[row["building_id"]]["created_at"] < row["created_at"]
        assert row["created_at"] <= row["updated_at"] < midnight
        assert datetime.fromisoformat(str(row["created_at"])).date().isoformat() <= str(
            max(row["date_visited"], TODAY.isoformat())
        )


def test_only_finished_lead_inspections_have_readings_and_failed_ones_a_positive(portfolio):
    inspections = {row["id"]: row for row in portfolio["inspections"]}
    results: dict[object, set[object]] = {}
    for row in portfolio["reports_lead"]:
        results.setdefault(row["inspection_id"], set()).add(row["result"])

    for inspection_id, found in results.items():
        inspection = inspections[inspection_id]
        assert inspection["inspection_type"] == "lead"
        assert inspection["status"] == ("failed" if "positive" in found else "completed")
        assert found <= {"positive", "negative", "inconclusive"}


def test_grants_are_permitted_by_the_access_policy(portfolio):
    users = {user["id"]: user for user in portfolio["users"]}
    buildings = {row["id"]: row["client_id"] for row in portfolio["buildings"]}
    visits = {row["id"]: buildings[row["building_id"]] for row in portfolio["inspections"]}

    for grantee in ("admin", "manager"):
        for target, clients in (("building", buildings), ("inspection", visits)):
            grants = portfolio[f"client_{grantee}_{target}_access"]
            keys = [(grant[f"{grantee}_id"], grant[f"{target}_id"]) for grant in grants]
            assert len(set(keys)) == len(keys)
            for grant, (user_id, target_id) in zip(grants, keys, strict=True):
                grantor = users[grant["assigned_by"]]
                assert users[user_id]["role"] == f"client_{grantee}"
                assert grantor["role"] == "super_admin" or (
                    grantor["client_id"] == users[user_id]["client_id"] == clients[target_id]
                )


def test_passwords_are_random():
    portfolio = compose(TODAY, 1)

    first, told = with_passwords(portfolio)
    second, _ = with_passwords(portfolio)

    assert told == {user["email"]: user["password"] for user in first["users"]}
    both = [user["password"] for user in first["users"] + second["users"]]
    assert len(set(both)) == len(both)
    assert "password" not in portfolio["users"][0]


def test_the_command_writes_the_portfolio_as_json():
    command = [sys.executable, "-m", "demo", "--today", "2026-11-20", "--seed", "3"]

    printed = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True, timeout=30)

    written = json.loads(printed.stdout)
    for user in written["users"]:
        assert len(user.pop("password")) >= 16
    assert written == compose(TODAY, 3)
