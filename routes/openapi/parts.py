"""What every path of the document is made of: operations, references, parameters and errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from routes.postgrest.media import MediaType

Json = dict[str, Any]

TEXT: Final[Json] = {"type": "string"}
OBJECT: Final[Json] = {"type": "object"}

ERRORS: Final[dict[int, tuple[str, str]]] = {
    300: ("Ambiguous", "Several foreign keys match an embed; the details list them."),
    400: ("BadRequest", "The request, a value or the written row is invalid."),
    401: ("Unauthorized", "The apikey is missing, or the token is invalid."),
    403: ("Forbidden", "The caller may not do this, or the row would become invisible to the caller."),
    404: ("NotFound", "The resource does not exist or is not visible."),
    405: ("NotAllowed", "The method is not allowed."),
    406: ("NotAcceptable", "The format or schema is unknown, or the result is not a single row."),
    409: ("Conflict", "A key exists already, or a row is still referenced."),
    413: ("TooLarge", "The body is too large."),
    415: ("Unsupported", "The body's format is not supported."),
    416: ("OutOfRange", "The range is not satisfiable."),
    422: ("Unprocessable", "The user's data is invalid; only the sign-in API answers so."),
    429: ("TooManyRequests", "Too many attempts; Retry-After holds the waiting time in seconds."),
    500: ("ServerError", "The statement timed out, or an internal error occurred."),
    503: ("TryAgain", "Busy; Retry-After holds the waiting time in seconds."),
}
"""The name and the description of the answer with each status of an error."""

ERROR_HEADERS: Final = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    416: ("Content-Range", "Preference-Applied"),
    429: ("Retry-After",),
    503: ("Retry-After",),
}


def ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def schema_ref(name: str) -> Json:
    return ref("schemas", name)


def refs(*names: str) -> list[Json]:
    """Return references to parameters."""
    return [ref("parameters", name) for name in names]


def json_content(schema: Json) -> Json:
    return {MediaType.JSON.value: {"schema": schema}}


def json_response(description: str, schema: Json) -> Json:
    return {"description": description, "content": json_content(schema)}


def parameter(location: str, name: str, description: str, schema: Json = TEXT, *, required: bool = False) -> Json:
    return {"name": name, "in": location, "required": required, "description": description, "schema": schema}


def record(properties: Json, required: Iterable[str] | None = None) -> Json:
    """Return the schema of an object; its properties are required unless `required` names others."""
    names = list(properties if required is None else required)
    return {"type": "object", "required": names, "properties": properties}


def error_responses(schema: str, statuses: Iterable[int] = ERRORS, prefix: str = "") -> Json:
    """Return a response for each status of an error."""
    built: Json = {}
    for status in statuses:
        name, description = ERRORS[status]
        response = json_response(description, schema_ref(schema))
        if status in ERROR_HEADERS:
            response["headers"] = {header: {"schema": TEXT} for header in ERROR_HEADERS[status]}
        built[prefix + name] = response
    return built


def operation(
    name: str,
    tag: str,
    summary: str,
    responses: Json,
    errors: Iterable[int],
    *,
    parameters: Iterable[Json] = (),
    description: str = "",
    request_body: Json | None = None,
    security: list[Json] | None = None,
    error_prefix: str = "",
) -> Json:
    """Return an operation. `errors` are the statuses of its errors."""
    failures = {str(status): ref("responses", error_prefix + ERRORS[status][0]) for status in errors}
    optional = {
        "description": description,
        "parameters": list(parameters),
        "requestBody": request_body,
        "security": security,
    }
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        **{key: value for key, value in optional.items() if value or (key == "security" and value is not None)},
        "responses": {**responses, **failures},
    }


def get_and_head(name: str, tag: str, summary: str, responses: Json, errors: Iterable[int], **more: Any) -> Json:
    """Return GET, and HEAD with the same headers and no body."""
    errors = tuple(errors)
    get = operation(f"read_{name}", tag, summary, responses, errors, **more)
    bodiless = {
        status: {key: part for key, part in response.items() if key != "content"}
        for status, response in responses.items()
    } | {str(status): {"description": ERRORS[status][1]} for status in errors}
    head = operation(f"head_{name}", tag, f"{summary}: headers only", bodiless, (), **more)
    return {"get": get, "head": head}
