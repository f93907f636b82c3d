"""How many examples are drawn, and which."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings

from tests.support import databases

SHARE = 4


def share(count: int) -> int:
    """So many, and of a server a quarter, which is asked the same once more: what differs there is the SQL alone."""
    return count if databases.SERVER is None else max(1, count // SHARE)


def sized(examples: int, **more: Any) -> settings:
    """So many examples, the same ones every time; a failure prints how to repeat it, and is made small."""
    chosen: dict[str, Any] = {"phases": (Phase.explicit, Phase.generate, Phase.shrink), **more}
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **chosen,
    )
