"""How many examples hypothesis draws, and which."""

from typing import Any

from hypothesis import HealthCheck
from hypothesis import Phase
from hypothesis import settings


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
