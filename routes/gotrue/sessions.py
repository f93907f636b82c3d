"""Parses sign-in, refresh and sign-out requests."""

from __future__ import annotations

from dataclasses import dataclass, field

from marshmallow import Schema

from access.accounts.sign_in import Scope
from models.errors import Fault
from routes.gotrue.payload import InvalidBody, load_body, text, text_value


class UnknownGrant(Fault):
    """An unsupported grant_type."""


class PhoneNotServed(Fault):
    """A sign-in by phone number. Only e-mails are supported."""


class PasswordGrantSchema(Schema):
    email = text()
    phone = text()
    password = text()


class RefreshGrantSchema(Schema):
    refresh_token = text()


PASSWORD_GRANT = PasswordGrantSchema()
REFRESH_GRANT = RefreshGrantSchema()


@dataclass(frozen=True, slots=True)
class PasswordGrant:
    """An e-mail and a password. `repr` omits the password."""

    email: str
    password: str = field(repr=False)


def read_password_grant(body: bytes) -> PasswordGrant:
    loaded = load_body(PASSWORD_GRANT, body)
    email, password = text_value(loaded, "email"), text_value(loaded, "password")
    if not email:
        if text_value(loaded, "phone"):
            raise PhoneNotServed("Phone logins are disabled")
        raise InvalidBody("missing email or phone")
    return PasswordGrant(email, password or "")


def read_refresh_grant(body: bytes) -> str:
    token = text_value(load_body(REFRESH_GRANT, body), "refresh_token")
    if not token:
        raise InvalidBody("refresh_token required")
    return token


def read_scope(text: str | None) -> Scope:
    """Return the sessions to end. The default is all, as in GoTrue."""
    try:
        return Scope(text or Scope.GLOBAL.value)
    except ValueError:
        raise InvalidBody(f"Unsupported logout scope {(text or '')[:40]}") from None
