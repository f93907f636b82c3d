"""The paths and schemas of the sign-in API in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from access.accounts.password import PASSWORD_CHARACTERS_MIN
from access.accounts.sign_in import Scope
from access.caller import Role

Json = dict[str, Any]

TAG: Final = ["sign-in"]
APIKEY_ONLY: Final[list[Json]] = [{"apikey": []}]
TIME: Final = {"type": "string", "format": "date-time"}
UUID: Final = {"type": "string", "format": "uuid"}
TEXT: Final = {"type": "string"}
OBJECT: Final = {"type": "object"}
EMAIL: Final = {"type": "string", "format": "email"}
PASSWORD: Final = {"type": "string", "format": "password", "minLength": PASSWORD_CHARACTERS_MIN}
ROLE: Final = {"type": "string", "enum": [role.value for role in Role]}


def either(schema: Json, *rest: Json) -> Json:
    return {"anyOf": [schema, *rest]}


def record(properties: Json, required: Iterable[str] | None = None) -> Json:
    return {"type": "object", "required": list(properties if required is None else required), "properties": properties}


APP_METADATA: Final[Json] = {
    "type": "object",
    "description": "The role and the client. Other keys are stored unchanged.",
    "properties": {"role": ROLE, "client_id": {"type": ["integer", "null"], "format": "int64"}},
}
USER_METADATA: Final[Json] = {
    "type": "object",
    "description": "The name. Other keys are stored unchanged.",
    "properties": {"name": TEXT},
}

USER_KEYS: Final = (
    "id", "aud", "role", "email", "email_confirmed_at", "phone", "last_sign_in_at", "app_metadata", "user_metadata",
    "identities", "created_at", "updated_at", "is_anonymous",
)  # fmt: skip
"""The keys that every user has. Listing them as required spares generated clients a null check."""

TIME_OR_NULL: Final = {"type": ["string", "null"], "format": "date-time"}
API_KEY: Final[Json] = {
    "id": UUID,
    "user_id": UUID,
    "name": TEXT,
    "read_only": {"type": "boolean"},
    "created_at": TIME,
    "last_used_at": {**TIME_OR_NULL, "description": "Recorded at most once a minute."},
    "expires_at": TIME_OR_NULL,
    "created_by": {"type": ["string", "null"], "format": "uuid", "description": "Null for the service key."},
}

SCHEMAS: Final[Json] = {
    "auth.error": {
        **record(
            {
                "code": TEXT,
                "error_code": TEXT,
                "message": TEXT,
                "msg": TEXT,
                "details": {"type": ["string", "null"]},
                "hint": {"type": ["string", "null"]},
                "weak_password": record({"reasons": {"type": "array", "items": TEXT}}),
            },
            ["code", "error_code", "message", "msg", "details", "hint"],
        ),
        "description": "An error with GoTrue's code.",
    },
    "auth.user": record(
        {
            "id": UUID,
            "aud": TEXT,
            "role": ROLE,
            "email": TEXT,
            "email_confirmed_at": TIME,
            "phone": TEXT,
            "last_sign_in_at": TIME_OR_NULL,
            "app_metadata": APP_METADATA,
            "user_metadata": USER_METADATA,
            "identities": {"type": "array", "items": OBJECT},
            "created_at": TIME,
            "updated_at": TIME,
            "is_anonymous": {"type": "boolean", "description": "False."},
            "banned_until": TIME,
        },
        USER_KEYS,
    ),
    "auth.users": record(
        {"users": {"type": "array", "items": {"$ref": "#/components/schemas/auth.user"}}, "aud": TEXT}
    ),
    "auth.session": record(
        {
            "access_token": TEXT,
            "token_type": {"const": "bearer"},
            "expires_in": {"type": "integer", "description": "Seconds."},
            "expires_at": {"type": "integer", "description": "Unix seconds."},
            "refresh_token": TEXT,
            "user": {"$ref": "#/components/schemas/auth.user"},
        }
    ),
    "auth.password": record({"email": EMAIL, "password": {"type": "string", "format": "password"}}),
    "auth.refresh": record({"refresh_token": TEXT}),
    "auth.own_changes": record(
        {
            "password": PASSWORD,
            "current_password": {
                "type": "string",
                "format": "password",
                "description": "Required to change the password in a session older than a day.",
            },
            "data": USER_METADATA,
        },
        [],
    ),
    "auth.api_key": record(API_KEY),
    "auth.new_api_key": record({**API_KEY, "key": {"type": "string", "description": "The key. It is shown once."}}),
    "auth.api_keys": record({"api_keys": {"type": "array", "items": {"$ref": "#/components/schemas/auth.api_key"}}}),
    "auth.wanted_api_key": record(
        {
            "name": {**TEXT, "description": "What the key is for.", "examples": ["MCP server"]},
            "read_only": {"type": "boolean", "default": False, "description": "The key only reads."},
            "expires_at": {**TIME_OR_NULL, "description": "The end of the key; null for none."},
        },
        ["name"],
    ),
    "auth.wanted_user": record(
        {
            "id": UUID,
            "email": EMAIL,
            "password": PASSWORD,
            "role": {"type": "string", "description": "Used as app_metadata.role if it is a role."},
            "client_id": {"type": ["integer", "null"], "format": "int64"},
            "ban_duration": {"type": "string", "description": "`24h`, or `none` to end a ban."},
            "app_metadata": APP_METADATA,
            "user_metadata": USER_METADATA,
        },
        [],
    ),
}


def paths() -> Json:
    """Return the paths under /auth/v1."""
    return {f"/auth/v1{path}": methods for path, methods in PATHS.items()}


def schema(name: str) -> Json:
    return {"$ref": f"#/components/schemas/auth.{name}"}


def content(shape: Json) -> Json:
    return {"application/json": {"schema": shape}}


def json_response(description: str, shape: Json, **headers: str) -> Json:
    built: Json = {"description": description, "content": content(shape)}
    if headers:
        built["headers"] = {
            name.replace("_", "-"): {"description": note, "schema": TEXT} for name, note in headers.items()
        }
    return built


ERRORS: Final = {
    400: "The request is malformed or refused.",
    401: "The apikey or the token is missing.",
    403: "The token is invalid, or its user may not do this.",
    404: "The user or the API key does not exist or is not visible.",
    413: "The body is too large.",
    422: "The user's data is invalid.",
    429: "Too many attempts; Retry-After holds the waiting time in seconds.",
    500: "An internal error.",
    503: "Busy; Retry-After holds the waiting time in seconds.",
}
PUBLIC_ERRORS: Final = (400, 401, 413, 422, 429, 500, 503)
USER_ERRORS: Final = (400, 401, 403, 413, 422, 429, 500, 503)
ADMIN_ERRORS: Final = (400, 401, 403, 404, 413, 422, 429, 500, 503)


def errors(statuses: Iterable[int]) -> Json:
    return {str(status): json_response(ERRORS[status], schema("error")) for status in statuses}


def operation(
    name: str,
    summary: str,
    responses: Json,
    error_statuses: Iterable[int],
    *,
    sent: Json | None = None,
    parameters: Iterable[Json] = (),
    apikey_only: bool = False,
) -> Json:
    built: Json = {"operationId": f"auth_{name}", "tags": TAG, "summary": summary}
    if apikey_only:
        built["security"] = APIKEY_ONLY
    if parameters:
        built["parameters"] = list(parameters)
    if sent is not None:
        built["requestBody"] = {"required": True, "content": content(sent)}
    built["responses"] = {**responses, **errors(error_statuses)}
    return built


def get_and_head(name: str, summary: str, responses: Json, error_statuses: Iterable[int], **more: Any) -> Json:
    """Return GET, and HEAD with the same headers and no body."""
    error_statuses = tuple(error_statuses)
    head = operation(f"head_{name}", f"{summary}: headers only", responses, error_statuses, **more)
    head["responses"] = {
        status: {key: part for key, part in response.items() if key != "content"}
        for status, response in head["responses"].items()
    }
    return {"get": operation(f"read_{name}", summary, responses, error_statuses, **more), "head": head}


def in_query(name: str, description: str, shape: Json, *, required: bool = False) -> Json:
    built = {"name": name, "in": "query", "description": description, "schema": shape}
    return {**built, "required": True} if required else built


USER: Final = {"200": json_response("The user.", schema("user"))}
USER_ID: Final = {"name": "user_id", "in": "path", "required": True, "schema": UUID}
NUMBER: Final = {"type": "integer", "minimum": 1}


def key_list(of: str, errors_of_read: Iterable[int], errors_of_write: Iterable[int]) -> Json:
    """Return the operations on the list of a user's API keys."""
    keys, key = ({"200": json_response(text, schema(name))} for text, name in KEY_RESPONSES)
    return {
        **get_and_head(f"{of}_api_keys", "API keys, without their texts", keys, errors_of_read),
        "post": operation(
            f"create_{of}_api_key", "Create an API key", key, errors_of_write, sent=schema("wanted_api_key")
        ),
    }


def one_key(of: str) -> Json:
    """Return the operation on one of a user's API keys."""
    revoked = {"200": json_response("The key is revoked.", OBJECT)}
    return {"delete": operation(f"revoke_{of}_api_key", "Revoke an API key", revoked, ADMIN_ERRORS)}


KEY_RESPONSES: Final = (("The keys.", "api_keys"), ("The key.", "new_api_key"))
KEY_ID: Final = {"name": "key_id", "in": "path", "required": True, "schema": UUID}

PATHS: Final[Json] = {
    "/user/api_keys": key_list("own", (401, 403, 500, 503), USER_ERRORS),
    "/user/api_keys/{key_id}": {"parameters": [KEY_ID], **one_key("own")},
    "/admin/users/{user_id}/api_keys": {
        "parameters": [USER_ID],
        **key_list("users", (401, 403, 404, 500, 503), ADMIN_ERRORS),
    },
    "/admin/users/{user_id}/api_keys/{key_id}": {"parameters": [USER_ID, KEY_ID], **one_key("users")},
    "/token": {
        "post": operation(
            "token",
            "Sign in or refresh a session",
            {"200": json_response("A session.", schema("session"))},
            PUBLIC_ERRORS,
            sent=either(schema("password"), schema("refresh")),
            parameters=[
                in_query(
                    "grant_type",
                    "The kind of credentials in the body.",
                    {"type": "string", "enum": ["password", "refresh_token"]},
                    required=True,
                )
            ],
            apikey_only=True,
        )
    },
    "/user": {
        **get_and_head("user", "Your own account", USER, (401, 403, 500, 503)),
        "put": operation(
            "change_user", "Change your own password, name or metadata", USER, USER_ERRORS, sent=schema("own_changes")
        ),
    },
    "/logout": {
        "post": operation(
            "sign_out",
            "End your own sessions",
            {"204": {"description": "The sessions have ended."}},
            (400, 401, 403, 413, 500, 503),
            parameters=[
                in_query(
                    "scope",
                    "The sessions to end: all (global), this one (local) or the others.",
                    {"type": "string", "enum": [scope.value for scope in Scope], "default": "global"},
                )
            ],
        )
    },
    "/signup": {
        "post": operation(
            "sign_up", "Always refused: administrators create the users", {}, (401, 422, 500), apikey_only=True
        )
    },
    "/settings": get_and_head(
        "settings", "The sign-in methods", {"200": json_response("The settings.", OBJECT)}, (401, 500), apikey_only=True
    ),
    "/health": get_and_head(
        "health",
        "Whether the sign-in API responds",
        {"200": json_response("The API responds.", OBJECT)},
        (401, 500),
        apikey_only=True,
    ),
    "/admin/users": {
        **get_and_head(
            "users",
            "Visible users, paged",
            {
                "200": json_response(
                    "A page of users.",
                    schema("users"),
                    X_Total_Count="The number of users.",
                    Link="The next and the last page.",
                )
            },
            (400, 401, 403, 500, 503),
            parameters=[
                in_query("page", "The page number, from 1.", NUMBER),
                in_query("per_page", "Users per page.", NUMBER),
                in_query("filter", "A part of the e-mail or name, case-insensitive.", TEXT),
                in_query("sort", "`created_at desc` or `created_at asc` (default).", TEXT),
            ],
        ),
        "post": operation("create_user", "Create a user", USER, ADMIN_ERRORS, sent=schema("wanted_user")),
    },
    "/admin/users/{user_id}": {
        "parameters": [USER_ID],
        **get_and_head("one_user", "A visible user", USER, (401, 403, 404, 500, 503)),
        "put": operation("change_one_user", "Change a user", USER, ADMIN_ERRORS, sent=schema("wanted_user")),
        "delete": operation(
            "delete_one_user", "Delete a user", {"200": json_response("The user is deleted.", OBJECT)}, ADMIN_ERRORS
        ),
    },
}
