"""What the views of the sign-in API share: bodies of sessions, users and lists of users, and page numbers.

A user's role, client and name are columns. They are added to the metadata in which Supabase clients look for
them.

`sessions.py`, `users.py` and `api_keys.py` interpret the values.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

from access.access_token import AUDIENCE
from access.accounts.people import UserAccount
from access.accounts.sign_in import IssuedSession
from models.types import AccountFault, write_timestamp
from routes.http.body import Object, read_body
from routes.http.faults import InvalidBody
from settings import SIGN_IN_BYTES_MAX

DIGITS_MAX: Final = 9


class PhoneNotServed(AccountFault, code="phone_provider_disabled"):
    """A sign-in by phone number. Only e-mails are supported."""


# Query parameters


def read_page(name: str, text: str | None, default: int, maximum: int | None = None) -> int:
    """Return a page number or page size. An empty value means the default.

    >>> read_page("page", "", 1), read_page("per_page", "2000", 50, 1000)
    (1, 1000)
    """
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX and int(text) > 0):
        raise InvalidBody(f"Bad Pagination Parameters: {name} is a whole number above 0")
    return int(text) if maximum is None else min(int(text), maximum)


API_VERSION: Final = "2024-01-01"  # since this version, clients read `code` as a string
PER_PAGE: Final = 50
PREFIX: Final = "/auth/v1"
PROVIDERS: Final[Object] = {"provider": "email", "providers": ["email"]}
"""The ways to sign in, as GoTrue names them in `app_metadata`. They are computed and not stored."""


def session_body(signed_in: IssuedSession, access_token: str, seconds: int) -> Object:
    """Return a session in the form that all client versions accept."""
    return {
        "access_token": access_token,
        "token_type": "bearer",
        "expires_in": seconds,
        "expires_at": signed_in.now + seconds,
        "refresh_token": signed_in.refresh_token,
        "user": user_body(signed_in.person, signed_in.now),
    }


def user_body(person: UserAccount, now: int) -> Object:
    """Return a user with all keys of GoTrue's type."""
    client = {} if person.client_id is None else {"client_id": person.client_id}
    banned = {}
    if person.is_disabled(now):
        until = datetime.datetime.fromtimestamp(person.disabled_until, datetime.UTC)
        banned = {"banned_until": write_timestamp(until)}
    return {
        "id": person.id,
        "aud": AUDIENCE,
        "role": person.role.value,
        "email": person.email,
        "email_confirmed_at": person.created_at,
        "phone": "",
        "last_sign_in_at": person.last_sign_in_at,
        "app_metadata": {**person.app_metadata, **PROVIDERS, "role": person.role.value, **client},
        "user_metadata": {**person.user_metadata, "name": person.name},
        "identities": [identity_body(person)],
        "created_at": person.created_at,
        "updated_at": person.updated_at,
        "is_anonymous": False,
        **banned,
    }


def identity_body(person: UserAccount) -> Object:
    """Return the only identity of a user, which is their e-mail address, as GoTrue describes one."""
    return {
        "identity_id": person.id,
        "id": person.id,
        "user_id": person.id,
        "identity_data": {"sub": person.id, "email": person.email, "email_verified": True, "phone_verified": False},
        "provider": PROVIDERS["provider"],
        "last_sign_in_at": person.last_sign_in_at,
        "created_at": person.created_at,
        "updated_at": person.updated_at,
        "email": person.email,
    }


def users_body(persons: Iterable[UserAccount], now: int) -> Object:
    return {"users": [user_body(person, now) for person in persons], "aud": AUDIENCE}


def page_headers(number: int, size: int, total: int, requested: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the total and the links to the next and the last page.

    Client libraries require `page` to come first and `rel` to be quoted.

    >>> page_headers(2, 50, 203)["Link"]
    '</admin/users?page=3&per_page=50>; rel="next", </admin/users?page=5&per_page=50>; rel="last"'
    """
    last = max(1, math.ceil(total / size))
    links = [(number + 1, "next")] if number < last else []
    search = {name: text for name in ("filter", "sort") if (text := (requested or {}).get(name))}
    links_written = (
        f'</admin/users?{urlencode({"page": page, "per_page": size, **search})}>; rel="{rel}"'
        for page, rel in (*links, (last, "last"))
    )
    return {"X-Total-Count": str(total), "Link": ", ".join(links_written)}


SETTINGS: Final[Object] = {
    "external": {"email": True, "phone": False, "anonymous_users": False},
    "disable_signup": True,
    "mailer_autoconfirm": True,
    "phone_autoconfirm": False,
    "sms_provider": "",
    "saml_enabled": False,
}
HEALTH: Final[Object] = {"name": "walkthrough", "description": "sign-in"}
NO_PUBLIC_KEYS: Final[Object] = {"keys": []}
"""The key set of a service whose tokens have a shared key (HS256). Supabase's clients then ask for the user."""

VERSION_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def version_header(requested: str | None) -> str:
    """Return the requested API version if it is a date, else the supported one."""
    return requested if requested is not None and VERSION_DATE.fullmatch(requested) else API_VERSION


# Requests and responses


def read_auth_body() -> bytes:
    return read_body(SIGN_IN_BYTES_MAX)
