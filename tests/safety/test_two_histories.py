"""Two worlds with equal rows and different hidden histories.

The same events then happen in both worlds, also to rows that were hidden. Every response to the caller stays equal,
byte for byte. The ids of audit entries are an exception: their gaps reveal other writes (O18).
"""

import random
import types
from collections import Counter
from dataclasses import replace

import pytest
import sqlalchemy as sa

from access.policy import POLICIES
from access.predicates import CLIENT_ADMIN, alias, client_ownership, in_subquery
from models import AuditLog, Building
from tests.safety.history_generator import SERVICE, HistoryGenerator
from tests.safety.hypothesis_settings import scaled_count
from tests.safety.plan_caches import clear_plan_caches
from tests.safety.service_instances import HttpRequest, ServiceInstance, make_request
from tests.safety.test_two_worlds import WorldsDiffer, random_caller
from tests.safety.world_pairs import random_unique_world, visible_rows
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES

EVENTS_PER_WORLD = 15
COMMIT_SEEDS = range(1, scaled_count(8) + 1)
LONG_BLOCKS = [range(first, first + 25) for first in range(1_000, 1_500, 25)]
CONTROL_SEEDS = range(1, 21)

# Entries of one row are in the order of writing. A server chooses the order of cascaded entries (decision 0009).
AUDIT_LOG_PATH = (
    "/audit_log?select=at,actor_id,action,relation,row_key,client_id,before,after&order=relation,row_key,action"
)
CHART = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


def read_requests(world: dict, user: dict) -> list[HttpRequest]:
    """Return requests for everything that the user may read."""
    lists = [
        make_request("GET", f"/{table}?order={','.join(oracle.PRIMARY_KEYS.get(table, ('id',)))}", prefer="count=exact")
        for table in MODELLED_TABLES
    ]
    people = visible_rows(world, user)["users"]
    return [
        *lists,
        make_request("GET", AUDIT_LOG_PATH, prefer="count=exact"),
        make_request("GET", "/auth/v1/admin/users"),
        make_request("GET", "/buildings?select=*,clients(*),inspections(*,reports_lead(*))&order=id"),
        *(
            make_request("GET", f"/reports/inspections/{row['id']}?kind={kind}", accept="application/json")
            for row in world["inspections"]
            for kind in ("lead", "findings")
        ),
        *(make_request("GET", f"/rpc/lead_summary?p_inspection_id={row['id']}") for row in world["inspections"]),
        make_request("POST", "/rpc/get_inspections_dashboard_summary_fast", {}),
        make_request("POST", "/rpc/get_building_stats_chart_fast", CHART),
        *(
            make_request("POST", "/rpc/get_building_stats", {"building_id": row["id"]})
            for row in world["buildings"]
        ),
        *(
            make_request(
                "POST",
                "/rpc/explain_building_access",
                {"p_building_id": row["id"], "p_user_id": person["id"]},
            )
            for person in people
            for row in world["buildings"][:5]
        ),
    ]  # fmt: skip


def compare_histories(
    seed: int, instances: tuple[ServiceInstance, ServiceInstance], uuid_source: types.SimpleNamespace
) -> Counter:
    """Run one history in both worlds. Raise WorldsDiffer at the first response that reveals the history."""
    world, _ = random_unique_world(seed)
    rng = random.Random(seed)
    user = random_caller(world, rng)
    history, counts = HistoryGenerator(rng, user), Counter()
    for instance in instances:
        instance.load(world)
    for _ in range(EVENTS_PER_WORLD):
        for _ in range(rng.randrange(4)):
            counts["reverted"] += run_reverted_requests(history, instances[1])
        before = instances[0].world()
        assert instances[1].world() == before, "reverted requests changed the world"
        event = history.event(before)
        if event is None:
            continue
        who, request = event
        responses = []
        for instance in instances:
            uuid_source.restart()
            responses.append(instance.send(who, request))
        if responses[0].status != responses[1].status and who != SERVICE:
            return counts  # one world revoked the token of a moved user
        after = instances[0].world()
        if user not in after["users"]:
            return counts
        # Each instance counts by itself (decision 0017).
        instances[1].app.extensions["walkthrough"].cache.clear()
        for read in read_requests(after, user):
            first, second = (instance.send(user, read) for instance in instances)
            if first != second:
                context = f"seed {seed}, {user['role']} {user['id']}: after\n{request}\n{read}"
                raise WorldsDiffer(f"{context}\nthe first responds\n{first}\nthe second\n{second}")
            counts[first.status // 100] += 1
    return counts


def run_reverted_requests(history: HistoryGenerator, instance: ServiceInstance) -> bool:
    """Send requests that restore the world and that the user never sees."""
    world = instance.world()
    requests = history.reverted_requests(world)
    for who, request in requests:
        response = instance.send(who, request)
        assert response.status < 500, response
        assert visible_rows(instance.world(), history.user) == visible_rows(world, history.user), request
    return bool(requests)


def compare_seeds(
    instances: tuple[ServiceInstance, ServiceInstance], uuid_source: types.SimpleNamespace, seeds: range
) -> None:
    counts = sum((compare_histories(seed, instances, uuid_source) for seed in seeds), Counter())

    assert counts["reverted"] > 10 * len(seeds), "too few reverted requests"
    assert counts[2] > 50 * len(seeds), "too few successful responses"


def test_hidden_history_does_not_change_responses(
    instances: tuple[ServiceInstance, ServiceInstance], uuid_source: types.SimpleNamespace
) -> None:
    compare_seeds(instances, uuid_source, COMMIT_SEEDS)


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_hidden_history_does_not_change_responses_long(
    instances: tuple[ServiceInstance, ServiceInstance], uuid_source: types.SimpleNamespace, seeds: range
) -> None:
    compare_seeds(instances, uuid_source, seeds)


@pytest.mark.control
def test_audit_entries_that_follow_their_row_are_detected(
    instances: tuple[ServiceInstance, ServiceInstance],
    uuid_source: types.SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted leak: an admin reads every audit entry of rows that now belong to the admin's client."""

    def own_rows_of_today(profile, line) -> object:
        building = alias(Building, "rule_buildings")
        own = client_ownership(profile, building.c)
        key = sa.cast(building.c.id, sa.Text)
        return sa.or_(client_ownership(profile, line), in_subquery(line.row_key, key, own))

    opened = replace(POLICIES[AuditLog][CLIENT_ADMIN], read=own_rows_of_today)
    monkeypatch.setitem(POLICIES, AuditLog, {**POLICIES[AuditLog], CLIENT_ADMIN: opened})
    clear_plan_caches()
    try:
        with pytest.raises(WorldsDiffer):
            sum((compare_histories(seed, instances, uuid_source) for seed in CONTROL_SEEDS), Counter())
    finally:
        clear_plan_caches()
