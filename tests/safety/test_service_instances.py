"""Responses of an untimed instance do not depend on the machine's speed."""

import time
from itertools import count

import pytest

from tests.safety.service_instances import ServiceInstance, make_request
from tests.safety.world_pairs import random_unique_world

SEED = 7
CLOCK_STEP_SECONDS = 10.0  # advance per call of the clock; the time limit of reads is 2 s


@pytest.mark.parametrize("path", ["/inspections?notes=ilike.*a*&order=notes", "/users?name=like.*e*"])
def test_clock_jumps_do_not_change_responses(
    instance: ServiceInstance, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    world, _ = random_unique_world(SEED)
    instance.load(world)
    root = world["users"][0]
    monotonic, steps = time.monotonic, count()
    before = instance.send(root, make_request("GET", path))
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + CLOCK_STEP_SECONDS * next(steps))

    assert before.status == 200
    assert instance.send(root, make_request("GET", path)) == before
