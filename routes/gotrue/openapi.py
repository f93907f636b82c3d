"""The sign-in's part of the document: the paths under /auth/v1, in GoTrue's shapes. Data, no more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from typing import Final

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
    return {
        "type": "object",
        "required": list(properties if required is None else required),
        "properties": properties,
    }


APP_METADATA: Final[Json] = {
    "type": "object",
    "description": "The role and the client; whatever else is put here is kept.",
    "properties": {"role": ROLE, "client_id": {"type": ["integer", "null"], "format": "int64"}},
}
USER_METADATA: Final[Json] = {
    "type": "object",
    "description": "The name; whatever else is put here is kept.",
    "properties": {"name": TEXT},
}

USER_KEYS: Final = (
    "id", "aud", "role", "email", "email_confirmed_at", "phone", "last_sign_in_at", "app_metadata", "user_metadata",
    "identities", "created_at", "updated_at", "is_anonymous",
)  # fmt: skip
"""What is said of every user: what may be missing is one more case in each program made of this."""

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
        "description": "What went wrong; the code is GoTrue's.",
    },
    "auth.user": record(
        {
            "id": UUID,
            "aud": TEXT,
            "role": ROLE,
            "email": TEXT,
            "email_confirmed_at": TIME,
            "phone": TEXT,
            "last_sign_in_at": {"type": ["string", "null"], "format": "date-time"},
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
        {
            "users": {"type": "array", "items": {"$ref": "#/components/schemas/auth.user"}},
            "aud": TEXT,
        }
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
                "description": "Wanted for a new password in a session older than a day.",
            },
            "data": USER_METADATA,
        },
        [],
    ),
    "auth.wanted_user": record(
        {
            "id": UUID,
            "email": EMAIL,
            "password": PASSWORD,
            "role": {"type": "string", "description": "Counts as app_metadata.role if it is one."},
            "client_id": {"type": ["integer", "null"], "format": "int64"},
            "ban_duration": {"type": "string", "description": "`24h`, or `none` to end a ban."},
            "app_metadata": APP_METADATA,
            "user_metadata": USER_METADATA,
        },
        [],
    ),
}


def paths() -> Json:
    """The paths under /auth/v1."""
    return {f"/auth/v1{path}": methods for path, methods in PATHS.items()}


def schema(name: str) -> Json:
    return {"$ref": f"#/components/schemas/auth.{name}"}


def content(shape: Json) -> Json:
    return {"application/json": {"schema": shape}}


def answered(told: str, shape: Json, **headers: str) -> Json:
    found: Json = {"description": told, "content": content(shape)}
    if headers:
        found["headers"] = {
            name.replace("_", "-"): {"description": note, "schema": TEXT}
            for name, note in headers.items()
        }
    return found


ERRORS: Final = {
    400: "What was sent is not as it has to be, or is refused.",
    401: "No apikey, or nobody asks.",
    403: "The token is not in force, or its user may not do this.",
    404: "There is no such user, or none within reach.",
    413: "The body has too many bytes.",
    422: "The user cannot be like that.",
    429: "Too many tries; Retry-After says when to try again.",
    500: "Something broke.",
    503: "Busy; Retry-After says when to try again.",
}
ANYBODY: Final = (400, 401, 413, 422, 429, 500, 503)
SOMEBODY: Final = (400, 401, 403, 413, 422, 429, 500, 503)
ADMIN: Final = (400, 401, 403, 404, 413, 422, 429, 500, 503)


def errors(statuses: Iterable[int]) -> Json:
    return {str(status): answered(ERRORS[status], schema("error")) for status in statuses}


def operation(
    name: str,
    summary: str,
    answers: Json,
    refused: Iterable[int],
    *,
    sent: Json | None = None,
    parameters: Iterable[Json] = (),
    apikey_only: bool = False,
) -> Json:
    found: Json = {"operationId": f"auth_{name}", "tags": TAG, "summary": summary}
    if apikey_only:
        found["security"] = APIKEY_ONLY
    if parameters:
        found["parameters"] = list(parameters)
    if sent is not None:
        found["requestBody"] = {"required": True, "content": content(sent)}
    found["responses"] = {**answers, **errors(refused)}
    return found


def reads(name: str, summary: str, answers: Json, refused: Iterable[int], **more: Any) -> Json:
    """GET, and HEAD, which is the same without a body."""
    refused = tuple(refused)
    head = operation(f"head_{name}", f"{summary}: headers only", answers, refused, **more)
    head["responses"] = {
        status: {key: part for key, part in answer.items() if key != "content"}
        for status, answer in head["responses"].items()
    }
    return {"get": operation(f"read_{name}", summary, answers, refused, **more), "head": head}


def in_query(name: str, told: str, shape: Json, *, required: bool = False) -> Json:
    found = {"name": name, "in": "query", "description": told, "schema": shape}
    return {**found, "required": True} if required else found


USER: Final = {"200": answered("The user.", schema("user"))}
USER_ID: Final = {"name": "user_id", "in": "path", "required": True, "schema": UUID}
NUMBER: Final = {"type": "integer", "minimum": 1}

PATHS: Final[Json] = {
    "/token": {
        "post": operation(
            "token",
            "Sign in, or go on with a refresh token",
            {"200": answered("A session.", schema("session"))},
            ANYBODY,
            sent=either(schema("password"), schema("refresh")),
            parameters=[
                in_query(
                    "grant_type",
                    "What the body holds.",
                    {"type": "string", "enum": ["password", "refresh_token"]},
                    required=True,
                )
            ],
            apikey_only=True,
        )
    },
    "/user": {
        **reads("user", "One's own account", USER, (401, 403, 500, 503)),
        "put": operation(
            "change_user",
            "Change one's own password, name or metadata",
            USER,
            SOMEBODY,
            sent=schema("own_changes"),
        ),
    },
    "/logout": {
        "post": operation(
            "sign_out",
            "End sessions of one's own",
            {"204": {"description": "They have ended."}},
            (400, 401, 403, 413, 500, 503),
            parameters=[
                in_query(
                    "scope",
                    "Which: all (global), this one, or the others.",
                    {
                        "type": "string",
                        "enum": [scope.value for scope in Scope],
                        "default": "global",
                    },
                )
            ],
        )
    },
    "/signup": {
        "post": operation(
            "sign_up",
            "Refused: people are made by those who may",
            {},
            (401, 422, 500),
            apikey_only=True,
        )
    },
    "/settings": reads(
        "settings",
        "How one can sign in here",
        {"200": answered("The settings.", OBJECT)},
        (401, 500),
        apikey_only=True,
    ),
    "/health": reads(
        "health",
        "Whether the sign-in answers",
        {"200": answered("It does.", OBJECT)},
        (401, 500),
        apikey_only=True,
    ),
    "/admin/users": {
        **reads(
            "users",
            "Users within reach, by pages",
            {
                "200": answered(
                    "A page of users.",
                    schema("users"),
                    X_Total_Count="How many there are.",
                    Link="Where the next page is, and the last.",
                )
            },
            (400, 401, 403, 500, 503),
            parameters=[
                in_query("page", "Which page, from 1.", NUMBER),
                in_query("per_page", "How many users a page.", NUMBER),
                in_query("filter", "A part of the e-mail or name, in any case.", TEXT),
                in_query("sort", "`created_at desc`, or `created_at asc`, as unless said.", TEXT),
            ],
        ),
        "post": operation("create_user", "Make a user", USER, ADMIN, sent=schema("wanted_user")),
    },
    "/admin/users/{user_id}": {
        "parameters": [USER_ID],
        **reads("one_user", "A user within reach", USER, (401, 403, 404, 500, 503)),
        "put": operation(
            "change_one_user", "Change a user", USER, ADMIN, sent=schema("wanted_user")
        ),
        "delete": operation(
            "delete_one_user",
            "Delete a user",
            {"200": answered("The user is gone.", OBJECT)},
            ADMIN,
        ),
    },
}
