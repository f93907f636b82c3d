"""What a form leaves behind: the id of its submission, the message of the page after it, and what was not saved.

An id names its user and has the signature of the server. A form is shown again after a sign-in only to this user.
A device without network appends a number to the id for each further submission of a page.
The message of the page after a change is in a cookie until that page shows it, so that it is shown once. The cookie is
bound to the session and the page, and no other browser and no link can show the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from models.types import Fault, new_uuid
from routes.console.session import auth
from routes.console.session.file_forms import read_file_form
from routes.console.session.urls import requested_url, safe_redirect
from routes.postgrest.payload import decode_pairs
from settings import BODY_BYTES_MAX

SAVED_COOKIE: Final = "walkthrough_saved"
SAVED_SECONDS: Final = 60
SECRET_WORDS: Final = ("password", "token", "csrf")
DEVICE_NUMBER: Final = re.compile("[0-9a-f]{1,32}")
HIDDEN_FIELDS: Final = ("submission", "seen", "ids", "back", "visit", "signature_png")

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Submission:
    user_id: str
    id: str


@dataclass(frozen=True, slots=True)
class UnsavedForm:
    """A form that was not saved: its path and its fields without secrets."""

    path: str
    pairs: Pairs
    user_id: str

    @property
    def text(self) -> str:
        return urlencode(self.pairs)

    @property
    def lines(self) -> Pairs:
        """Return the fields to show."""
        return [(name, value) for name, value in self.pairs if value.strip() and name not in HIDDEN_FIELDS]


def write_submission() -> str:
    """Return a new id for a form of this response, or an empty text without a session."""
    cookie = g.get("session_cookie")
    if cookie is None:
        return ""
    text = f"{cookie.user_id}:{new_uuid()}"
    return f"{text}:{auth.cookie_signer().sign(f'submission {text}')}"


def read_submission(text: str) -> Submission | None:
    """Return the id that `write_submission` wrote, with the number of a device if it has one; otherwise None."""
    user_id, key, signature, number = (*text.split(":", 3), "", "", "")[:4]
    if not auth.cookie_signer().verify(signature, f"submission {user_id}:{key}"):
        return None
    if number and not DEVICE_NUMBER.fullmatch(number):
        return None
    return Submission(user_id, f"{key}.{number}" if number else key)


def sent_pairs(form: MultiDict[str, str]) -> Pairs:
    """Return the fields of a form without secrets."""
    return [pair for pair in form.items(multi=True) if not any(word in pair[0] for word in SECRET_WORDS)]


def confirm_submission(response: Response) -> None:
    """Set a cookie with the id of a submission that the server has taken; scripts then remove its draft.

    A script that sends a form asks for JSON: it gets no page.
    """
    form = g.get("form")
    if form is None or "refusal" in g or not (response.status_code == 303 or g.get("shows_secret", False)):
        return
    submission = read_submission(form.get("submission", ""))
    if submission is not None:
        auth.set_cookie(response, SAVED_COOKIE, submission.id, seconds=SAVED_SECONDS, is_for_scripts=True)
    if response.status_code == 303 and auth.asks_for_json():
        response.status_code = 204
        del response.headers["Location"]


def unsaved_form() -> UnsavedForm | None:
    """Return the form in a request that was refused, or None if no page of this server has made it."""
    if not auth.is_form() or auth.is_cross_site():
        return None
    try:
        form = auth.parse_form(partial(read_file_form, BODY_BYTES_MAX))  # files are left out
    except Fault:
        return None
    return of_pairs(requested_url(), form)


def carried_form(form: Mapping[str, str], user_id: str) -> UnsavedForm | None:
    """Return the form that the sign-in form carries if it is this user's, otherwise None."""
    pairs = decode_pairs(form.get("unsaved", "").encode())
    unsaved = of_pairs(safe_redirect(form.get("unsaved_path", "")), MultiDict([(k, v or "") for k, v in pairs]))
    return unsaved if unsaved is not None and unsaved.path and unsaved.user_id == user_id else None


def of_pairs(path: str, form: MultiDict[str, str]) -> UnsavedForm | None:
    submission = read_submission(form.get("submission", ""))
    return UnsavedForm(path, sent_pairs(form), submission.user_id) if submission is not None else None


# Messages

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
    auth.set_cookie(response, MESSAGE_COOKIE, sealed, seconds=KEPT_SECONDS)


def read_message() -> tuple[str | None, Undo | None]:
    """Return the message that an earlier response left for this page, and its undo."""
    if request.method != "GET" or MESSAGE_COOKIE not in request.cookies:
        return None, None
    text, undo = unseal(request.cookies[MESSAGE_COOKIE], request.path) or (None, None)
    return text, undo


def forget_message(response: Response) -> None:
    auth.delete_cookie(response, MESSAGE_COOKIE)
