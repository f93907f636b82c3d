"""What the safety tests share: two sites whose clock stands still."""

import types
from collections.abc import Iterator

import pytest

from tests.safety.sites import Site, open_site, patient, standing_still
from tests.safety.spies import Spy


@pytest.fixture(scope="module")
def patch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def still(patch_module: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """The clock stands still, and UUIDs count."""
    with standing_still(patch_module) as source:
        yield source


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, still: types.SimpleNamespace) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("site") / "walkthrough.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def patient_site(site: Site, patch_module: pytest.MonkeyPatch) -> Site:
    """The same without time limits, for who compares answers over few rows."""
    patient(site.app, patch_module)
    return site


@pytest.fixture(scope="module")
def patient_twin(twin: Site, patch_module: pytest.MonkeyPatch) -> Site:
    """A second one beside it."""
    patient(twin.app, patch_module)
    return twin


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory, still: types.SimpleNamespace) -> Iterator[Site]:
    """A second one beside it."""
    with open_site(tmp_path_factory.mktemp("twin") / "walkthrough.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def sites(patient_site: Site, patient_twin: Site) -> tuple[Site, Site]:
    """Two, to be asked the same."""
    return patient_site, patient_twin


@pytest.fixture(scope="module")
def spies(sites: tuple[Site, Site]) -> tuple[Spy, ...]:
    """Who notes which values filters are run on, in both."""
    return tuple(Spy.upon(site.app, site.side) for site in sites)
