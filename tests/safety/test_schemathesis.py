"""Responses conform to the served OpenAPI document."""

import importlib
from types import ModuleType

import pytest

from tests.safety.hypothesis_settings import scaled_count
from tests.safety.service_instances import ServiceInstance

COMMIT_EXAMPLES = scaled_count(3)
READ_CASES_MAX = scaled_count(500)
WRITE_CASES_MAX = scaled_count(60)
LONG_EXAMPLES = 500
CALLERS = (None, "moe", "ada", "root")  # who writes most comes last
PARTS = 4


@pytest.fixture(scope="module")
def openapi_conformance() -> ModuleType:
    return importlib.import_module("tests.safety.openapi_conformance")


@pytest.mark.parametrize("first", range(PARTS))
def test_responses_conform_to_openapi(openapi_conformance: ModuleType, instance: ServiceInstance, first: int) -> None:
    part = slice(first, None, PARTS)

    assert openapi_conformance.check_operations(instance, CALLERS, COMMIT_EXAMPLES, part) > 100


def test_responses_to_reads_of_the_coverage_phase_conform(
    openapi_conformance: ModuleType, instance: ServiceInstance
) -> None:
    assert openapi_conformance.check_coverage(instance, "root", {"GET"}, READ_CASES_MAX) > 1_000


def test_responses_to_writes_of_the_coverage_phase_conform(
    openapi_conformance: ModuleType, instance: ServiceInstance
) -> None:
    sent = openapi_conformance.check_coverage(instance, "root", {"POST", "PUT", "PATCH", "DELETE"}, WRITE_CASES_MAX)

    assert sent > 1_000


@pytest.mark.long
def test_responses_conform_to_openapi_long(openapi_conformance: ModuleType, instance: ServiceInstance) -> None:
    assert openapi_conformance.check_operations(instance, CALLERS, LONG_EXAMPLES, slice(0, None)) > 100


@pytest.mark.control
def test_failing_view_is_detected(
    openapi_conformance: ModuleType, instance: ServiceInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: one view raises an exception."""

    def failing_view(**named: object) -> object:
        raise ValueError("planted")

    monkeypatch.setitem(instance.app.view_functions, "buildings.read", failing_view)

    with pytest.raises(openapi_conformance.CONFORMANCE_FAILURES):
        openapi_conformance.check_operations(instance, ("root",), COMMIT_EXAMPLES, slice(0, None))
