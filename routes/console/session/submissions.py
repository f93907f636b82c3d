"""The id of a form's submission, and forms that arrive without a valid session.

An id names its user and has the signature of the server. A form is shown again after a sign-in only to this user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from models.errors import Fault
from models.types import new_uuid
from routes.console.session import auth
from routes.console.session.redirects import requested_url, safe_redirect
from routes.postgrest.encoding import decode_pairs

SAVED_COOKIE: Final = "walkthrough_saved"
SAVED_SECONDS: Final = 60
SECRET_WORDS: Final = ("password", "token", "csrf")
HIDDEN_FIELDS: Final = ("submission", "seen", "ids", "back", "visit")

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
    """Return the id that `write_submission` wrote, otherwise None."""
    user_id, _, rest = text.partition(":")
    key, _, signature = rest.partition(":")
    if not auth.cookie_signer().verify(signature, f"submission {user_id}:{key}"):
        return None
    return Submission(user_id, key)


def sent_pairs(form: MultiDict[str, str]) -> Pairs:
    """Return the fields of a form without secrets."""
    return [pair for pair in form.items(multi=True) if not any(word in pair[0] for word in SECRET_WORDS)]


def confirm_submission(response: Response) -> None:
    """Set a cookie with the id of a submission that the server has taken; scripts then remove its draft."""
    form = g.get("form")
    submission = read_submission(form.get("submission", "")) if form is not None else None
    is_saved = response.status_code == 303 or g.get("shows_secret", False)
    if submission is not None and is_saved and "refusal" not in g:
        response.set_cookie(
            SAVED_COOKIE,
            submission.id,
            max_age=SAVED_SECONDS,
            path=auth.PATH,
            secure=request.is_secure,
            samesite="Strict",
        )


def unsaved_form() -> UnsavedForm | None:
    """Return the form in a request that was refused, or None if no page of this server has made it."""
    if not auth.is_form() or auth.is_cross_site():
        return None
    try:
        form = auth.parse_form()
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
