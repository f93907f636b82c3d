"""PocketBase as a server of the benchmark: it serves the same rows to the same callers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bench import programs
from bench.callers import choose_callers
from bench.dataset import generate
from bench.measure import COMPARED_COLUMNS, Target
from bench.pocketbase.dialect import PocketBase
from bench.pocketbase.store import fill_directory
from bench.requests import PATCHED_FROM, READS, ROOT, WRITES, HttpCall, rows_to_patch
from bench.servers import Servers

pytestmark = pytest.mark.sqlite("no database of Walkthrough is involved")

PROJECT = Path(__file__).resolve().parents[2]
INSPECTIONS = 2_000
ROLES = ("super_admin", "client_admin", "client_manager")


@pytest.fixture(scope="module")
def dataset():
    return generate(INSPECTIONS)


@pytest.fixture(scope="module")
def callers(dataset):
    return choose_callers(dataset)


@pytest.fixture(scope="module")
def target(dataset, callers, tmp_path_factory):
    try:
        program = programs.ensure_pocketbase(PROJECT / "bench" / ".cache" / "pocketbase")
    except programs.ProgramMissing as error:
        pytest.skip(f"PocketBase cannot be installed: {error}")
    cache = tmp_path_factory.mktemp("pocketbase")
    fill_directory(program, cache / "data", dataset)
    with Servers(cache) as servers:
        server = servers.pocketbase("pocketbase", program, cache / "data")
        yield Target("pocketbase", server, callers, PocketBase())


def visible(dataset, user):
    """Return the ids of the inspections that a user may read."""
    granted = {row[1] for row in dataset.rows("client_manager_inspection_access") if row[0] == user.id}
    for row in dataset.rows("inspections"):
        owner = dataset.owners[row[1] - 1]
        if (
            user.role == ROOT
            or (user.role == "client_admin" and owner == user.client_id)
            or (user.role == "client_manager"
                and (row[1] in dataset.grants[user.id] or row[0] in granted))
        ):  # fmt: skip
            yield row


@pytest.mark.parametrize("role", ROLES)
def test_counts_are_of_visible_rows(target, dataset, callers, role):
    caller = callers.by_role[role][0]
    rows = list(visible(dataset, caller.user))

    for status, count in Counter(row[4] for row in rows).items():
        answer = target.send(HttpCall(caller, f"/inspections?status=eq.{status}", "HEAD", "count=exact"))
        assert answer.content_range.split("/")[1] == str(count)


@pytest.mark.parametrize("role", ROLES)
def test_newest_rows_are_visible_and_in_order(target, dataset, callers, role):
    caller = callers.by_role[role][0]
    rows = sorted(visible(dataset, caller.user), key=lambda row: (row[3], row[0]), reverse=True)
    path = "/inspections?select=id,date_visited,buildings(name)&order=date_visited.desc,id.desc&limit=20"

    found = json.loads(target.send(HttpCall(caller, path)).body)

    assert [(row["id"], row["date_visited"]) for row in found] == [(row[0], row[3]) for row in rows[:20]]


@pytest.mark.parametrize("request_", READS, ids=lambda request: request.key)
def test_reads_are_answered_or_have_no_counterpart(target, callers, request_):
    answer = target.send(request_.calls(callers)[0])

    has_counterpart = not request_.calls(callers)[0].path.startswith("/rpc")
    assert answer.status in ((200, 206) if has_counterpart else (404,))


def test_inspections_of_others_are_not_found(target, dataset, callers):
    caller = callers.by_role["client_manager"][0]
    seen = {row[0] for row in visible(dataset, caller.user)}
    other = next(key for key in range(1, INSPECTIONS) if key not in seen)

    assert target.send(HttpCall(caller, f"/inspections?id=eq.{other}")).status == 404


def test_writes_change_rows(target, callers):
    root = callers.by_role[ROOT][0]
    assert target.send(rows_to_patch(callers)).status == 201

    for request in WRITES:
        assert target.send(request.calls(callers)[0]).status in (201, 204)

    path = f"/inspections?select={COMPARED_COLUMNS}&id=gt.{PATCHED_FROM - 1}&order=id"
    rows = json.loads(target.send(HttpCall(root, path)).body)
    assert [row["status"] for row in rows[:2]] == ["in_progress", "scheduled"]
