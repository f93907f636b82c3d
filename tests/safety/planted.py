"""What planting a fault takes: plans are kept, so those made before a fault, or with it, must be forgotten."""

import functools

from access import assignments, explain, session
from engine.query.plan_cache import PlanCache
from engine.query.read import plan
from engine.query.write import plan as mutate
from engine.reporting import chart_statements, counts

ROOMS = (plan, mutate, counts, chart_statements, assignments, explain, session)
KEPT = [
    found
    for room in ROOMS
    for found in vars(room).values()
    if isinstance(found, (PlanCache, functools._lru_cache_wrapper))
]


def forget_plans() -> None:
    """Let every plan be made anew."""
    for kept in KEPT:
        kept.cache_clear()
