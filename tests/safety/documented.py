"""The OpenAPI document taken at its word: whatever it allows to be asked is answered as it says, by whoever asks.

Schemathesis draws the requests from the document that the service serves at `/`. It takes seconds to import, so only
the test that needs it does.
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
from tests.safety.examples import sized
from tests.safety.killers import USERS, cast_world
from tests.safety.sites import Site
from tests.support import tokens

COMPLAINTS = (FailureGroup, ServerError)
CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance)
# `return=minimal` answers with nothing, of which a document of media types cannot speak.
CHECKS_OF_NOTHING = (not_a_server_error, status_code_conformance)


def headers_of(site: Site, who: str | None) -> dict[str, str]:
    headers = {"apikey": tokens.ANON_KEY}
    if who is not None:
        headers["Authorization"] = f"Bearer {site.bearer(USERS[CAST[who].id])}"
    return headers


def operations(app: Flask) -> Iterator[object]:
    schema = schemathesis.openapi.from_wsgi("/", app, headers={"apikey": tokens.ANON_KEY})
    for found in schema.get_all_operations():
        yield found.ok()


def try_out(site: Site, who: str | None, examples: int) -> int:
    """Ask every operation a few times; raises what a check complains of."""
    site.load(cast_world())
    sent = 0
    for operation in operations(site.app):

        @sized(examples)
        @given(case=operation.as_strategy())
        def ask(case: object) -> None:
            nonlocal sent
            sent += 1
            answer = case.call(headers=headers_of(site, who))
            checks = CHECKS if answer.content else CHECKS_OF_NOTHING
            case.validate_response(answer, checks=checks, headers=headers_of(site, who))

        ask()
    return sent
