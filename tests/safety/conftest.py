"""Fixtures of the safety tests: two service instances with a frozen clock."""

import types
from collections.abc import Iterator

import pytest

from tests.safety.filter_spy import FilterSpy
from tests.safety.service_instances import ServiceInstance, deterministic_uuids, open_instance


@pytest.fixture(scope="module")
def patch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def uuid_source(patch_module: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """Replace the service's random UUIDs by a sequence."""
    with deterministic_uuids(patch_module) as source:
        yield source


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, uuid_source: types.SimpleNamespace) -> Iterator[ServiceInstance]:
    with open_instance(tmp_path_factory.mktemp("first") / "walkthrough.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def second_instance(
    tmp_path_factory: pytest.TempPathFactory, uuid_source: types.SimpleNamespace
) -> Iterator[ServiceInstance]:
    """Open a second instance with its own database."""
    with open_instance(tmp_path_factory.mktemp("second") / "walkthrough.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def instances(instance: ServiceInstance, second_instance: ServiceInstance) -> tuple[ServiceInstance, ServiceInstance]:
    """Return two instances that receive the same requests."""
    return instance, second_instance


@pytest.fixture(scope="module")
def spies(instances: tuple[ServiceInstance, ServiceInstance]) -> tuple[FilterSpy, ...]:
    """Attach a spy to each instance. A spy records the values that filters receive."""
    return tuple(FilterSpy.attach(instance.app, instance.direct_database) for instance in instances)
