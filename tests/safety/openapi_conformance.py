"""Requests that Schemathesis draws from the served OpenAPI document, and checks of the responses.

Schemathesis takes seconds to import, so only the tests that need this module import it.
"""

from collections.abc import Iterator

import schemathesis
from flask import Flask
from hypothesis import given
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup, ServerError
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.conftest import CAST
from tests.safety.hypothesis_settings import deterministic_settings
from tests.safety.mutation_suite import USERS, cast_world
from tests.safety.service_instances import ServiceInstance
from tests.support import tokens

CONFORMANCE_FAILURES = (FailureGroup, ServerError)
CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance)
# With `return=minimal` the response has no body, so it has no documented media type.
CHECKS_OF_EMPTY_RESPONSE = (not_a_server_error, status_code_conformance)


def headers_of(instance: ServiceInstance, who: str | None) -> dict[str, str]:
    headers = {"apikey": tokens.ANON_KEY, "Accept-Encoding": "identity"}  # the WSGI transport does not decompress
    if who is not None:
        headers["Authorization"] = f"Bearer {instance.bearer(USERS[CAST[who].id])}"
    return headers


def api_operations(app: Flask) -> Iterator[object]:
    schema = schemathesis.openapi.from_wsgi("/", app, headers={"apikey": tokens.ANON_KEY})
    for found in schema.get_all_operations():
        yield found.ok()


def check_operations(instance: ServiceInstance, who: str | None, examples: int) -> int:
    """Send `examples` requests to every operation, and return their number. Raise CONFORMANCE_FAILURES."""
    instance.load(cast_world())
    sent = 0
    for operation in api_operations(instance.app):

        @deterministic_settings(examples)
        @given(case=operation.as_strategy())
        def send_case(case: object) -> None:
            nonlocal sent
            sent += 1
            response = case.call(headers=headers_of(instance, who))
            checks = CHECKS if response.content else CHECKS_OF_EMPTY_RESPONSE
            case.validate_response(response, checks=checks, headers=headers_of(instance, who))

        send_case()
    return sent
