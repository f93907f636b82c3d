"""Requests that Schemathesis draws from the served OpenAPI document, and checks of the responses.

Schemathesis takes seconds to import, so only the tests that need this module import it.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import schemathesis
from flask import Flask
from hypothesis import given
from schemathesis import GenerationMode, Response
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.core.failures import FailureGroup, ServerError
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.conftest import CAST
from tests.safety.hypothesis_settings import deterministic_settings
from tests.safety.mutation_suite import USERS, cast_world
from tests.safety.service_instances import ServiceInstance
from tests.support import tokens

CONFORMANCE_FAILURES = (FailureGroup, ServerError)
CHECKS = (
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
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


def check_coverage(instance: ServiceInstance, who: str | None, methods: Collection[str], cases_max: int) -> int:
    """Send up to `cases_max` requests of Schemathesis' coverage phase to each operation with one of these methods.

    Return the number of requests; raise CONFORMANCE_FAILURES.
    """
    instance.load(cast_world())
    schema = schemathesis.openapi.from_wsgi("/", instance.app, headers={"apikey": tokens.ANON_KEY})
    headers = headers_of(instance, who)
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.method.upper() not in methods:
            continue
        cases = schema.iter_coverage_cases(
            operation, generation_modes=list(GenerationMode), generation_config=schema.config.generation
        )
        for case in islice(cases, cases_max):
            sent += 1
            response = case.call(headers=headers)
            case.validate_response(response, checks=checks_of(response), headers=headers)
    return sent


def checks_of(response: Response) -> tuple[CheckFunction, ...]:
    return CHECKS if response.content else CHECKS_OF_EMPTY_RESPONSE


def check_operations(instance: ServiceInstance, callers: Sequence[str | None], examples: int, part: slice) -> int:
    """Send `examples` requests to each operation of a part, each by every caller. Return the number of requests.

    Drawing a request takes longer than its responses. Raise CONFORMANCE_FAILURES.
    """
    instance.load(cast_world())
    senders = [headers_of(instance, who) for who in callers]
    sent = 0
    for operation in islice(api_operations(instance.app), part.start, None, part.step):

        @deterministic_settings(examples)
        @given(case=operation.as_strategy())
        def send_case(case: object) -> None:
            nonlocal sent
            for headers in senders:
                sent += 1
                response = case.call(headers=headers)
                case.validate_response(response, checks=checks_of(response), headers=headers)

        send_case()
    return sent
