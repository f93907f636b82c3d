"""The plan caches, which a test with a planted fault clears before and after."""

import functools

from access import assignments, explain, policy, session
from engine.query.read import plan
from engine.query.statement import PlanCache
from engine.query.write import statements
from inspections import findings, schedules, visits
from inspections.files import listing, records
from inspections.reporting import chart, counts, dashboard, due_summary

MODULES = (
    plan, statements, chart, chart, dashboard, due_summary, counts, assignments, explain, findings,
    policy, visits, schedules, session, visits, listing, records,
)  # fmt: skip
PLAN_CACHES = [
    found
    for module in MODULES
    for found in vars(module).values()
    if isinstance(found, (PlanCache, functools._lru_cache_wrapper))
]


def clear_plan_caches() -> None:
    """Clear the plan caches, so that every plan is compiled again."""
    for cache in PLAN_CACHES:
        cache.cache_clear()
