"""The plan caches, which a test with a planted fault clears before and after."""

import functools

from access import policy, session
from engine import rows
from engine.query.read import plan
from engine.query.statement import PlanCache
from engine.query.write import statements

PLAN_CACHES = [
    found
    for module in (plan, statements, policy, session)
    for found in vars(module).values()
    if isinstance(found, (PlanCache, functools._lru_cache_wrapper))
]


def clear_plan_caches() -> None:
    """Clear the plan caches, so that every plan is compiled again."""
    for cache in (*PLAN_CACHES, *rows.PREPARED.values()):
        cache.cache_clear()
