"""Settings of Hypothesis: number and choice of examples."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings

from tests.support import databases

SERVER_DIVISOR = 4


def scaled_count(count: int) -> int:
    """Return the number of examples: a quarter on a PostgreSQL server, where only the SQL differs."""
    return count if databases.SERVER is None else max(1, count // SERVER_DIVISOR)


def deterministic_settings(examples: int, **changes: Any) -> settings:
    """Return settings with the same examples in every run. A failure is shrunk and prints how to repeat it."""
    chosen: dict[str, Any] = {"phases": (Phase.explicit, Phase.generate, Phase.shrink), **changes}
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **chosen,
    )
