"""Signing in and out, as a request says it: a password, a refresh token, which sessions are to end."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

from marshmallow import Schema

from access.accounts.sign_in import Scope
from models.errors import Fault
from routes.gotrue.payload import InvalidBody
from routes.gotrue.payload import load
from routes.gotrue.payload import said
from routes.gotrue.payload import text


class UnknownGrant(Fault):
    """A grant_type that is not served here."""


class PhoneNotServed(Fault):
    """A phone number, where only e-mails are known."""


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
    """What signs somebody in. A password is not shown, not even to a debugger."""

    email: str
    password: str = field(repr=False)


def read_password_grant(body: bytes) -> PasswordGrant:
    loaded = load(PASSWORD_GRANT, body)
    email, password = said(loaded, "email"), said(loaded, "password")
    if not email:
        if said(loaded, "phone"):
            raise PhoneNotServed("Phone logins are disabled")
        raise InvalidBody("missing email or phone")
    return PasswordGrant(email, password or "")


def read_refresh_grant(body: bytes) -> str:
    token = said(load(REFRESH_GRANT, body), "refresh_token")
    if not token:
        raise InvalidBody("refresh_token required")
    return token


def read_scope(text: str | None) -> Scope:
    """Which sessions; all of them where nothing is said, as GoTrue has it."""
    try:
        return Scope(text or Scope.GLOBAL.value)
    except ValueError:
        raise InvalidBody(f"Unsupported logout scope {(text or '')[:40]}") from None
