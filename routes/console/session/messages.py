"""The message of the page after a change. A cookie holds it until that page shows it, so that it is shown once.

The cookie is bound to the session and the page, and no other browser and no link can show the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flask import Response, g, request

from routes.console.session import auth

MESSAGE_COOKIE: Final = "walkthrough_message"
KEPT_SECONDS: Final = 60
MESSAGE_CHARACTERS_MAX: Final = 300
COOKIE_CHARACTERS_MAX: Final = 3_800  # browsers silently drop a cookie of more than 4,096 bytes

Undo = tuple[str, Sequence[tuple[str, str]]]
"""The form that undoes a change: its path and its fields."""


def seal(path: str, *values: object) -> str:
    """Return values with a signature that holds for this session and page."""
    return auth.cookie_signer().seal([g.session_cookie.session_id, path, *values])


def unseal(text: str, path: str) -> list[Any] | None:
    """Return the values that `seal` has sealed for this session and page, otherwise None."""
    cookie = g.get("session_cookie")
    sealed = auth.cookie_signer().unseal(text)
    if cookie is None or sealed is None or sealed[:2] != [cookie.session_id, path]:
        return None
    return sealed[2:]


def leave_message(response: Response, path: str, text: str, undo: Undo | None) -> None:
    """Set the cookie of a message for the next page of a path. A form that is too long for it is left out."""
    values = [text[:MESSAGE_CHARACTERS_MAX], undo]
    sealed = seal(path, *values)
    if len(sealed) > COOKIE_CHARACTERS_MAX:
        sealed = seal(path, values[0], None)
    auth.set_cookie(response, MESSAGE_COOKIE, sealed, auth.PATH, KEPT_SECONDS)


def read_message() -> tuple[str | None, Undo | None]:
    """Return the message that an earlier response left for this page, and its undo."""
    if request.method != "GET" or MESSAGE_COOKIE not in request.cookies:
        return None, None
    text, undo = unseal(request.cookies[MESSAGE_COOKIE], request.path) or (None, None)
    return text, undo


def forget_message(response: Response) -> None:
    response.delete_cookie(MESSAGE_COOKIE, path=auth.PATH, httponly=True, samesite="Strict")
