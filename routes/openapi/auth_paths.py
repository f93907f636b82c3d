"""The paths and schemas of the sign-in API in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from access.accounts.sign_in import Scope
from routes.gotrue.api_keys import API_KEY as NEW_API_KEY
from routes.gotrue.sessions import PASSWORD_GRANT, REFRESH_GRANT
from routes.gotrue.users import OWN_CHANGES, ROLE
from routes.gotrue.users import USER as WANTED_USER
from routes.openapi.schemas import (
    OBJECT,
    STRING,
    Json,
    body_schema,
    get_and_head,
    json_content,
    json_response,
    operation,
    parameter,
    record,
    schema_ref,
)

TAG: Final = "sign-in"
PREFIX: Final = "auth."
"""The beginning of the names of the sign-in API's schemas and errors."""
APIKEY_ONLY: Final[list[Json]] = [{"apikey": []}]
TIME: Final = {"type": "string", "format": "date-time"}
UUID: Final = {"type": "string", "format": "uuid"}
WANTED: Final = body_schema(WANTED_USER)

USER_KEYS: Final = (
    "id", "aud", "role", "email", "email_confirmed_at", "phone", "last_sign_in_at", "app_metadata", "user_metadata",
    "identities", "created_at", "updated_at", "is_anonymous",
)  # fmt: skip
"""The keys that every user has. Listing them as required spares generated clients a null check."""

TIME_OR_NULL: Final = {"type": ["string", "null"], "format": "date-time"}
API_KEY: Final[Json] = {
    "id": UUID,
    "user_id": UUID,
    "name": STRING,
    "read_only": {"type": "boolean"},
    "calendar_only": {"type": "boolean", "description": "A calendar link, which reads the user's calendar only."},
    "created_at": TIME,
    "last_used_at": {**TIME_OR_NULL, "description": "Recorded at most once a minute."},
    "expires_at": TIME_OR_NULL,
    "created_by": {"type": ["string", "null"], "format": "uuid", "description": "Null for the service key."},
}

SCHEMAS: Final[Json] = {
    "auth.error": {
        **record(
            {
                "code": STRING,
                "error_code": STRING,
                "message": STRING,
                "msg": STRING,
                "details": {"type": ["string", "null"]},
                "hint": {"type": ["string", "null"]},
                "weak_password": record({"reasons": {"type": "array", "items": STRING}}),
            },
            ["code", "error_code", "message", "msg", "details", "hint"],
        ),
        "description": "An error with GoTrue's code.",
    },
    "auth.user": record(
        {
            "id": UUID,
            "aud": STRING,
            "role": ROLE,
            "email": STRING,
            "email_confirmed_at": TIME,
            "phone": STRING,
            "last_sign_in_at": TIME_OR_NULL,
            "app_metadata": WANTED["properties"]["app_metadata"],
            "user_metadata": WANTED["properties"]["user_metadata"],
            "identities": {"type": "array", "items": OBJECT},
            "created_at": TIME,
            "updated_at": TIME,
            "is_anonymous": {"type": "boolean", "description": "False."},
            "banned_until": TIME,
        },
        USER_KEYS,
    ),
    "auth.users": record({"users": {"type": "array", "items": schema_ref("auth.user")}, "aud": STRING}),
    "auth.session": record(
        {
            "access_token": STRING,
            "token_type": {"const": "bearer"},
            "expires_in": {"type": "integer", "description": "Seconds."},
            "expires_at": {"type": "integer", "description": "Unix seconds."},
            "refresh_token": STRING,
            "user": schema_ref("auth.user"),
        }
    ),
    "auth.password": body_schema(PASSWORD_GRANT, ["email", "password"]),
    "auth.refresh": body_schema(REFRESH_GRANT, ["refresh_token"]),
    "auth.own_changes": body_schema(OWN_CHANGES),
    "auth.api_key": record(API_KEY),
    "auth.new_api_key": record({**API_KEY, "key": {"type": "string", "description": "The key. It is shown once."}}),
    "auth.api_keys": record({"api_keys": {"type": "array", "items": schema_ref("auth.api_key")}}),
    "auth.wanted_api_key": body_schema(NEW_API_KEY, ["name"]),
    "auth.wanted_user": WANTED,
}


def call(
    name: str, summary: str, responses: Json, errors: Iterable[int], *, body: Json | None = None, **more: Any
) -> Json:
    """Return an operation of the sign-in API with a JSON body."""
    request_body = {"required": True, "content": json_content(body)} if body is not None else None
    return operation(
        f"auth_{name}", TAG, summary, responses, errors, request_body=request_body, error_prefix=PREFIX, **more
    )


def read(name: str, summary: str, response: Json, errors: Iterable[int], **more: Any) -> Json:
    return get_and_head(f"auth_{name}", TAG, summary, {"200": response}, errors, error_prefix=PREFIX, **more)


def found(description: str, schema: str) -> Json:
    """Return a response with a schema of this module."""
    return json_response(description, schema_ref(PREFIX + schema))


PUBLIC_ERRORS: Final = (400, 401, 413, 422, 429, 500, 503)
USER_ERRORS: Final = (400, 401, 403, 413, 422, 429, 500, 503)
ADMIN_ERRORS: Final = (400, 401, 403, 404, 413, 422, 429, 500, 503)
READ_ERRORS: Final = (401, 403, 500, 503)
ADMIN_READ_ERRORS: Final = (401, 403, 404, 500, 503)

USER: Final = {"200": found("The user.", "user")}
NUMBER: Final = {"type": "integer", "minimum": 1}
USER_ID: Final = parameter("path", "user_id", "The user's id.", UUID, required=True)
KEY_ID: Final = parameter("path", "key_id", "The API key's id.", UUID, required=True)
GRANTS: Final = {"type": "string", "enum": ["password", "refresh_token"]}
SCOPES: Final = {"type": "string", "enum": [scope.value for scope in Scope], "default": "global"}
USER_PAGE: Final = {
    **found("A page of users.", "users"),
    "headers": {
        "X-Total-Count": {"description": "The number of users.", "schema": STRING},
        "Link": {"description": "The next and the last page.", "schema": STRING},
    },
}
PAGING: Final = (
    parameter("query", "page", "The page number, from 1.", NUMBER),
    parameter("query", "per_page", "Users per page.", NUMBER),
    parameter("query", "filter", "A part of the e-mail or name, case-insensitive."),
    parameter("query", "sort", "`created_at desc` or `created_at asc` (default)."),
)


def api_keys(owner: str, read_errors: Iterable[int], write_errors: Iterable[int]) -> Json:
    """Return the operations on the list of a user's API keys."""
    created = {"200": found("The key.", "new_api_key")}
    wanted = schema_ref("auth.wanted_api_key")
    return {
        **read(f"{owner}_api_keys", "API keys, without their texts", found("The keys.", "api_keys"), read_errors),
        "post": call(f"create_{owner}_api_key", "Create an API key", created, write_errors, body=wanted),
    }


def one_api_key(owner: str) -> Json:
    """Return the operation on one of a user's API keys."""
    revoked = {"200": json_response("The key is revoked.", OBJECT)}
    return {"delete": call(f"revoke_{owner}_api_key", "Revoke an API key", revoked, ADMIN_ERRORS)}


def paths() -> Json:
    """Return the paths under /auth/v1."""
    return {
        "/auth/v1/user/api_keys": api_keys("own", READ_ERRORS, USER_ERRORS),
        "/auth/v1/user/api_keys/{key_id}": {"parameters": [KEY_ID], **one_api_key("own")},
        "/auth/v1/admin/users/{user_id}/api_keys": {
            "parameters": [USER_ID],
            **api_keys("users", ADMIN_READ_ERRORS, ADMIN_ERRORS),
        },
        "/auth/v1/admin/users/{user_id}/api_keys/{key_id}": {"parameters": [USER_ID, KEY_ID], **one_api_key("users")},
        "/auth/v1/token": {
            "post": call(
                "token",
                "Sign in or refresh a session",
                {"200": found("A session.", "session")},
                PUBLIC_ERRORS,
                body={"anyOf": [schema_ref("auth.password"), schema_ref("auth.refresh")]},
                parameters=[
                    parameter("query", "grant_type", "The kind of credentials in the body.", GRANTS, required=True)
                ],
                security=APIKEY_ONLY,
            )
        },
        "/auth/v1/user": {
            **read("user", "Your own account", USER["200"], READ_ERRORS),
            "put": call(
                "change_user",
                "Change your own password, name or metadata",
                USER,
                USER_ERRORS,
                body=schema_ref("auth.own_changes"),
            ),
        },
        "/auth/v1/logout": {
            "post": call(
                "sign_out",
                "End your own sessions",
                {"204": {"description": "The sessions have ended."}},
                (400, 401, 403, 413, 500, 503),
                parameters=[
                    parameter(
                        "query", "scope", "The sessions to end: all (global), this one (local) or the others.", SCOPES
                    )
                ],
            )
        },
        "/auth/v1/settings": read(
            "settings", "The sign-in methods", json_response("The settings.", OBJECT), (401, 500), security=APIKEY_ONLY
        ),
        "/auth/v1/health": read(
            "health",
            "Whether the sign-in API responds",
            json_response("The API responds.", OBJECT),
            (401, 500),
            security=APIKEY_ONLY,
        ),
        "/auth/v1/admin/users": {
            **read("users", "Visible users, paged", USER_PAGE, (400, *READ_ERRORS), parameters=PAGING),
            "post": call("create_user", "Create a user", USER, ADMIN_ERRORS, body=schema_ref("auth.wanted_user")),
        },
        "/auth/v1/admin/users/{user_id}": {
            "parameters": [USER_ID],
            **read("one_user", "A visible user", USER["200"], ADMIN_READ_ERRORS),
            "put": call("change_one_user", "Change a user", USER, ADMIN_ERRORS, body=schema_ref("auth.wanted_user")),
            "delete": call(
                "delete_one_user", "Delete a user", {"200": json_response("The user is deleted.", OBJECT)}, ADMIN_ERRORS
            ),
        },
    }
