"""A site answers the same however the machine does meanwhile: what its users compare are answers, not hours."""

import time
from itertools import count

import pytest

from tests.safety.sites import Site, asking
from tests.safety.twins import dressed_world

SEED = 7
STANDSTILL_SECONDS = 10.0  # between any two looks at the time; a read may take two


@pytest.mark.parametrize("path", ["/inspections?notes=ilike.*a*&order=notes", "/users?name=like.*e*"])
def test_a_machine_that_stands_still_changes_no_answer(
    patient_site: Site, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    site = patient_site
    world, _ = dressed_world(SEED)
    site.load(world)
    root = world["users"][0]
    now, stood = time.monotonic, count()
    before = site.send(root, asking("GET", path))
    monkeypatch.setattr(time, "monotonic", lambda: now() + STANDSTILL_SECONDS * next(stood))

    assert before.status == 200
    assert site.send(root, asking("GET", path)) == before
