"""Two worlds that are alike by now, one of which has another past behind the caller's back: then the same happens in
both, to rows that were hidden as well, and whatever the caller looks at stays alike, to the byte.

A building that comes to the caller's client brings its rows, and nothing of what it was before; one that goes leaves
nothing behind. But for the numbers of the trail's lines, whose gaps tell of others' writes (O18).
"""

import random
import types
from collections import Counter
from dataclasses import replace

import pytest
import sqlalchemy as sa

from access.policy import CLIENT_ADMIN, POLICIES, client_ownership
from access.predicate import alias, in_subquery
from models import AuditLog, Building
from tests.conftest import RESOURCES
from tests.safety.examples import share
from tests.safety.pasts import SERVICE, Past
from tests.safety.planted import forget_plans
from tests.safety.sites import Asking, Site, asking
from tests.safety.test_two_worlds import WorldsDiffer, callers
from tests.safety.twins import dressed_world, seen_by
from tests.support import oracle

EVENTS_PER_WORLD = 15
COMMIT_SEEDS = range(1, share(8) + 1)
LONG_BLOCKS = [range(first, first + 25) for first in range(1_000, 1_500, 25)]
CONTROL_SEEDS = range(1, 21)

# A row's lines are in the order in which they were written; those of several that went along with one are a server's to
# put in order (decision 0009).
TRAIL = "/audit_log?select=at,actor_id,action,relation,row_key,client_id,before,after&order=relation,row_key,action"
CHART = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


def questions(world: dict, user: dict) -> list[Asking]:
    """Everything that the user may look at."""
    lists = [
        asking("GET", f"/{table}?order={','.join(oracle.KEYS.get(table, ('id',)))}", prefer="count=exact")
        for table in RESOURCES
    ]
    people = seen_by(world, user)["users"]
    return [
        *lists,
        asking("GET", TRAIL, prefer="count=exact"),
        asking("GET", "/auth/v1/admin/users"),
        asking("GET", "/buildings?select=*,clients(*),inspections(*,reports_lead(*))&order=id"),
        asking("POST", "/rpc/get_inspections_dashboard_summary_fast", {}),
        asking("POST", "/rpc/get_building_stats_chart_fast", CHART),
        *(
            asking("POST", "/rpc/get_building_stats", {"building_id": row["id"]})
            for row in world["buildings"]
        ),
        *(
            asking(
                "POST",
                "/rpc/explain_building_access",
                {"p_building_id": row["id"], "p_user_id": person["id"]},
            )
            for person in people
            for row in world["buildings"][:5]
        ),
    ]  # fmt: skip


def live(seed: int, sites: tuple[Site, Site], source: types.SimpleNamespace) -> Counter:
    """Let one world's past and present happen; raises WorldsDiffer as soon as the caller can tell the pasts apart."""
    world, _ = dressed_world(seed)
    rng = random.Random(seed)
    user = callers(world, rng)
    past, counted = Past(rng, user), Counter()
    for site in sites:
        site.load(world)
    for _ in range(EVENTS_PER_WORLD):
        for _ in range(rng.randrange(4)):
            counted["detours"] += go_round(past, sites[1])
        before = sites[0].world()
        assert sites[1].world() == before, "a detour that did not end where it began"
        event = past.event(before)
        if event is None:
            continue
        who, request = event
        answers = []
        for site in sites:
            source.restart()
            answers.append(site.send(who, request))
        if answers[0].status != answers[1].status and who != SERVICE:
            return counted  # somebody who was moved, and keeps no token in one of them
        after = sites[0].world()
        if user not in after["users"]:
            return counted
        # The second counts anew what the first may remember, and bring up to date by the trail (decision 0017).
        sites[1].app.extensions["walkthrough"].cache.clear()
        for question in questions(after, user):
            one, other = (site.send(user, question) for site in sites)
            if one != other:
                told = f"seed {seed}, {user['role']} {user['id']}: after\n{request}\n{question}"
                raise WorldsDiffer(f"{told}\nthe first answers\n{one}\nthe second\n{other}")
            counted[one.status // 100] += 1
    return counted


def go_round(past: Past, site: Site) -> bool:
    """Let something happen that ends where it began, and of which the user sees nothing."""
    world = site.world()
    requests = past.detour(world)
    for who, request in requests:
        answer = site.send(who, request)
        assert answer.status < 500, answer
        assert seen_by(site.world(), past.user) == seen_by(world, past.user), request
    return bool(requests)


def live_all(sites: tuple[Site, Site], source: types.SimpleNamespace, seeds: range) -> None:
    counted = sum((live(seed, sites, source) for seed in seeds), Counter())

    assert counted["detours"] > 10 * len(seeds), "pasts that hardly differ prove nothing"
    assert counted[2] > 50 * len(seeds), "hardly a question that was answered proves nothing"


def test_two_pasts_are_told_alike(sites: tuple[Site, Site], still: types.SimpleNamespace) -> None:
    live_all(sites, still, COMMIT_SEEDS)


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_two_pasts_are_told_alike_at_length(
    sites: tuple[Site, Site], still: types.SimpleNamespace, seeds: range
) -> None:
    live_all(sites, still, seeds)


@pytest.mark.control
def test_lines_that_follow_their_rows_part_the_pasts(
    sites: tuple[Site, Site], still: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An admin reads all lines of what is their client's by now, whose ever it was then."""

    def of_own_by_now(profile, line) -> object:
        building = alias(Building, "rule_buildings")
        own = client_ownership(profile, building.c)
        key = sa.cast(building.c.id, sa.Text)
        return sa.or_(client_ownership(profile, line), in_subquery(line.row_key, key, own))

    opened = replace(POLICIES[AuditLog][CLIENT_ADMIN], read=of_own_by_now)
    monkeypatch.setitem(POLICIES, AuditLog, {**POLICIES[AuditLog], CLIENT_ADMIN: opened})
    forget_plans()
    try:
        with pytest.raises(WorldsDiffer):
            sum((live(seed, sites, still) for seed in CONTROL_SEEDS), Counter())
    finally:
        forget_plans()
