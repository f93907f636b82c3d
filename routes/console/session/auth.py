"""Authentication of the console: the session cookie, kiosk tokens, the CSRF tokens of forms, and refusals in words.

A signed cookie names a session, and grants nothing by itself. Each request looks up the user and the session in the
database (access/session.py). Every form carries a token that is bound to its session. The Sec-Fetch-Site header can
only refuse a request; it never allows one. `CookieSigner` uses neither Flask nor a clock.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Final, TypeVar, cast

from flask import Flask, Response, current_app, g, request
from itsdangerous import BadData, Signer, URLSafeSerializer
from werkzeug.datastructures import MultiDict
from werkzeug.http import parse_cookie

from access import policy
from access.access_token import Claims, RefusedClaims
from access.accounts import kiosk_display
from access.accounts.sign_in import IssuedSession
from access.caller import Caller
from access.decorators import Function, load_caller, may_administer, require, set_requirement
from access.roles import GrantKind, GrantProfile, Role
from access.session import authenticator, current_time
from engine.interface.database import Transaction
from engine.open import reading
from engine.query.statement import Action
from models import File
from models.fields import Model
from models.types import Fault
from models.vocabulary import BUCKETS
from routes.console.session.file_forms import (
    FILE_FORM_TYPE,
    form_bytes_max,
    read_file_form,
    read_sent_files,
    removing_sent_files,
)
from routes.console.session.urls import KIOSK_PATH, PATH
from routes.http.body import read_body
from routes.http.middleware import url_path, without_prefix
from routes.postgrest.payload import decode_pairs
from routes.postgrest.preferences import UnsupportedMediaType
from routes.storage.bodies import limits_of
from settings import CONSOLE_FORM_BYTES_MAX

VERBS = {Action.INSERT: "create", Action.UPDATE: "edit", Action.DELETE: "delete"}


@dataclass(frozen=True, slots=True)
class DeniedPurpose:
    """What a user was refused, after "you may not", and the roles that are allowed."""

    text: str
    roles: tuple[Role, ...]


def purpose_of(action: Action, model: type[Model]) -> str:
    plural = model.plural or model.__tablename__.replace("_", " ")
    is_acronym = plural[1:2].isupper()
    noun = plural if is_acronym else plural[:1].lower() + plural[1:]
    return f"open {plural}" if action is Action.READ else f"{VERBS[action]} {noun}"


IDLE_SECONDS_MAX = 12 * 3_600
AGE_SECONDS_MAX = 7 * 24 * 3_600
RENEWED_AFTER_SECONDS = 600
NAME_CHARACTERS_MAX = 80  # browsers silently drop a cookie of more than 4,096 bytes
SIGNING = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The content of a session cookie. `began` and `renewed` are Unix times in seconds."""

    session_id: str
    user_id: str
    role: Role
    client_id: int | None
    name: str
    began: int
    renewed: int

    def claims(self) -> Claims:
        """Return the claims of an access token for this session."""
        return Claims(
            self.user_id, self.role, self.client_id, self.began, None, self.began + AGE_SECONDS_MAX, self.session_id
        )

    def is_valid(self, now: int) -> bool:
        return self.renewed + IDLE_SECONDS_MAX > now and self.began + AGE_SECONDS_MAX > now

    def is_due(self, now: int) -> bool:
        """Return whether the cookie needs a new `renewed` time."""
        return self.renewed + RENEWED_AFTER_SECONDS <= now


class CookieSigner:
    """Signs and verifies with a list of keys, oldest first: the newest key signs, every key verifies."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.sessions = URLSafeSerializer(list(keys), salt="console session", signer_kwargs=SIGNING)
        self.messages = URLSafeSerializer(list(keys), salt="console message", signer_kwargs=SIGNING)
        self.texts = Signer(list(keys), salt="console form", **SIGNING)  # type: ignore[arg-type]

    def encode(self, cookie: SessionCookie) -> str:
        """Return the signed cookie value. Cut the name to NAME_CHARACTERS_MAX."""
        fields = [
            cookie.session_id,
            cookie.user_id,
            cookie.role.value,
            cookie.client_id,
            cookie.name[:NAME_CHARACTERS_MAX],
            cookie.began,
            cookie.renewed,
        ]
        return str(self.sessions.dumps(fields))

    def decode(self, value: str) -> SessionCookie | None:
        """Return the content of a cookie value, or None if its signature is not valid."""
        try:
            session_id, user_id, role, client_id, name, began, renewed = self.sessions.loads(value)
            return SessionCookie(session_id, user_id, Role(role), client_id, name, began, renewed)
        except (BadData, ValueError, TypeError):
            return None

    def seal(self, values: list[object]) -> str:
        """Return values as text with a signature."""
        return str(self.messages.dumps(values))

    def unseal(self, text: str) -> list[Any] | None:
        """Return the values of a text that `seal` made, otherwise None."""
        try:
            values: list[Any] = self.messages.loads(text)
        except BadData:
            return None
        return values

    def sign(self, text: str) -> str:
        """Return the signature of a text."""
        return self.texts.get_signature(text.encode()).decode()

    def verify(self, signature: str, text: str) -> bool:
        """Return whether a signature is the one of this text."""
        return self.texts.verify_signature(text.encode(), signature.encode("utf-8", "replace"))


View = TypeVar("View", bound=Callable[..., object])
ReadFiles = Callable[[], list[tuple[str, str]]]
"""Returns the fields of a form with files, and keeps the files for the view."""

COOKIE = "walkthrough_console"
SIGN_IN_COOKIE = "walkthrough_sign_in"
KIOSK_COOKIE = "walkthrough_kiosk"
FORM_TYPE = "application/x-www-form-urlencoded"
NONCE_BYTES = 18
SAME_ORIGIN_VALUES = (None, "same-origin", "none")


class SignInRequired(Fault):
    """A request without a valid session."""

    def __init__(self) -> None:
        super().__init__("Sign in to continue")


class PasswordChangeRequired(Fault, status=403):
    """A request of a user whose password is temporary."""

    def __init__(self) -> None:
        super().__init__("Choose a password of your own first")


class InvalidFormToken(Fault, status=403):
    """A form without the CSRF token of this session."""

    def __init__(self) -> None:
        super().__init__("This form has expired", hint="Go back, reload the page, and submit the form again.")


class KioskTokenRequired(Fault):
    """A request without the token of an active kiosk display."""

    def __init__(self) -> None:
        super().__init__("This kiosk display is signed out")


def requires_session(
    *,
    writes: bool = False,
    shares_snapshot: bool = True,
    read_files: ReadFiles | None = None,
    takes_temporary_password: bool = False,
) -> Callable[[View], View]:
    """Decorate a view that any signed-in user may open. See `guarded` for the parameters."""
    return guarded(
        lambda profile: True,
        "this page",
        "caller",
        writes,
        "open this page",
        shares_snapshot,
        read_files,
        takes_temporary_password=takes_temporary_password,
    )


def requires(
    action: Action,
    model: type[Model],
    *,
    shares_snapshot: bool = True,
    allowed: Callable[[Role], bool] = lambda role: True,
) -> Callable[[View], View]:
    """Decorate a view that requires a privilege on a relation, and a role for which `allowed` holds."""
    return guarded(
        lambda profile: allowed(profile.role) and policy.permits(profile, action, model),
        f"table {model.__tablename__}",
        f"{action.value} {model.__tablename__}",
        action is not Action.READ,
        purpose_of(action, model),
        shares_snapshot,
    )


def requires_administrator(*, writes: bool = False, shares_snapshot: bool = True) -> Callable[[View], View]:
    """Decorate a view that requires the privilege to write users. See `guarded` for `shares_snapshot`."""
    return guarded(may_administer, "table users", "administrator", writes, "manage users", shares_snapshot)


def requires_call(function: Function[..., object]) -> Callable[[View], View]:
    """Decorate a form that calls a function of the API."""
    return guarded(
        lambda profile: profile.role in function.roles,
        f"function {function.name}",
        f"call {function.name}",
        True,
        "make this change",
        read_files=partial(read_file_form, function.body_bytes_max) if function.body_bytes_max is not None else None,
    )


def requires_files() -> Callable[[View], View]:
    """Decorate a form with files of any size that requires the privilege to write files."""
    decorate = guarded(
        lambda profile: policy.permits(profile, Action.UPDATE, File),
        f"table {File.__tablename__}",
        "update files",
        True,
        "store photographs and documents",
        read_files=read_sent_files,
    )
    return lambda view: removing_sent_files(decorate(view))


def requires_inspector(view: View) -> View:
    """Decorate a page for users who are linked to an inspector."""
    purpose = "open the visits of an inspector"
    return guarded(lambda profile: profile.is_inspector, "this page", "inspector", False, purpose)(view)


def guarded(
    allowed: Callable[[GrantProfile], bool],
    denied: str,
    requirement: str,
    writes: bool,
    purpose: str,
    shares_snapshot: bool = True,
    read_files: ReadFiles | None = None,
    takes_temporary_password: bool = False,
) -> Callable[[View], View]:
    """Return a decorator that checks the session cookie, the caller and the privilege before the view.

    A page that refuses names the purpose, in words, and the roles that are allowed.

    A page reads in the snapshot of the caller's look-up. With `shares_snapshot=False` the view opens its own
    transactions, and each has the full time limit. For a form, check the CSRF token first; the view calls `load_caller`
    again in its write transaction. `read_files` reads a form that may have files. A user with a temporary password
    opens only views with `takes_temporary_password`.
    """

    def admit(transaction: Transaction) -> Caller:
        caller = admit_session(transaction, takes_temporary_password=takes_temporary_password)
        if not allowed(caller.profile):
            able = [role for role in Role if allowed(GrantProfile(role, frozenset(GrantKind), is_inspector=True))]
            g.denied = DeniedPurpose(purpose, tuple(able))
        require(allowed, caller.profile, denied)
        return caller

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded_view(*arguments: object, **keywords: object) -> object:
            cookie = load_session_cookie()
            if is_form():
                g.form = read_form(f"session {cookie.session_id}", read_files)
            elif shares_snapshot:
                with reading() as transaction:
                    return view(admit(transaction), *arguments, **keywords)
            with reading() as transaction:
                caller = admit(transaction)
            return view(caller, *arguments, **keywords)

        kind = "form" if writes else "page"
        return set_requirement(cast(View, guarded_view), f"console {kind}: {requirement}")

    return decorate


def requires_kiosk_display(view: View) -> View:
    """Decorate a read-only view for the token of a kiosk display or a signed-in user.

    The view runs inside `reading()`. Its connection refuses writes (`query_only`), and it cannot acquire the writer
    lock. Browsers send the kiosk cookie to the kiosk pages only.
    """

    @wraps(view)
    def guarded_view(*arguments: object, **keywords: object) -> object:
        assert request.method in ("GET", "HEAD"), "kiosk displays are read-only"
        g.is_unattended = True
        token = request.cookies.get(KIOSK_COOKIE)
        with reading() as transaction:
            display = kiosk_display.authenticate_display(transaction, token) if token is not None else None
            g.caller = display.caller if display is not None else admit_viewer(transaction)
            g.location = display.name if display is not None else None
            g.is_public = display is not None and display.is_public
            response = view(g.caller, *arguments, **keywords)
        if display is not None:
            kiosk_display.record_last_seen(display)
        return response

    return set_requirement(cast(View, guarded_view), "console kiosk display")


def is_signed_out() -> bool:
    """Return whether the browser has neither a valid session nor an active kiosk display."""
    token = request.cookies.get(KIOSK_COOKIE)
    if token is not None:
        with reading() as transaction:
            if kiosk_display.authenticate_display(transaction, token) is not None:
                return False
    return find_session_cookie() is None


def delete_kiosk_cookie(response: Response) -> None:
    delete_cookie(response, KIOSK_COOKIE, KIOSK_PATH)


def admit_viewer(transaction: Transaction) -> Caller:
    """Return the signed-in user of a browser without an active kiosk display.

    Raise KioskTokenRequired if the browser has no session, and SignInRequired if its session has ended.
    """
    if find_session_cookie() is None and (KIOSK_COOKIE in request.cookies or COOKIE not in request.cookies):
        raise KioskTokenRequired
    load_session_cookie()
    return admit_session(transaction)


def admit_session(transaction: Transaction, *, takes_temporary_password: bool = False) -> Caller:
    """Return the caller as of this transaction.

    Raise SignInRequired if the session has ended, and PasswordChangeRequired if the password is temporary.
    """
    try:
        caller = load_caller(transaction)
    except RefusedClaims as refusal:
        g.ended = True
        raise SignInRequired from refusal
    if caller.has_temporary_password and not takes_temporary_password:
        raise PasswordChangeRequired
    return caller


# The session cookie


def cookie_signer() -> CookieSigner:
    """Return the application's signer."""
    signer: CookieSigner | None = current_app.extensions.get("walkthrough.cookie_signer")
    if signer is None:
        signer = CookieSigner(authenticator().signers.signer.secret_keys)
        current_app.extensions["walkthrough.cookie_signer"] = signer
    return signer


def find_session_cookie() -> SessionCookie | None:
    """Return the session cookie of the request if it is valid, otherwise None."""
    cookie = cookie_signer().decode(request.cookies.get(COOKIE, ""))
    return cookie if cookie is not None and cookie.is_valid(current_time()) else None


def load_session_cookie() -> SessionCookie:
    """Return the session cookie of the request and store its claims; raise SignInRequired if there is none."""
    cookie = find_session_cookie()
    if cookie is None:
        raise SignInRequired
    adopt(cookie)
    return cookie


def adopt(cookie: SessionCookie) -> None:
    """Make the cookie's session the one of this request."""
    g.credential = cookie.claims()
    g.session_cookie = cookie


def start_session(signed_in: IssuedSession) -> None:
    """Make a new session that of this request. `set_session_cookie` sends its cookie."""
    person = signed_in.person
    now = current_time()
    adopt(SessionCookie(signed_in.session_id, person.id, person.role, person.client_id, person.name, now, now))


def set_session_cookie(response: Response) -> None:
    set_cookie(response, COOKIE, cookie_signer().encode(g.session_cookie))
    delete_cookie(response, SIGN_IN_COOKIE)


def rename_session(response: Response, name: str) -> None:
    """Set the cookie of the current session with another name of its user."""
    set_cookie(response, COOKIE, cookie_signer().encode(replace(g.session_cookie, name=name)))


def refresh_session_cookie(response: Response) -> None:
    """Renew a session cookie that is due, and delete the cookie of a session that has ended.

    Automatic requests, such as those of a kiosk display, do not extend a session.
    """
    cookie: SessionCookie | None = g.get("session_cookie")
    now = current_time()
    if g.get("ended"):
        delete_session_cookie(response)
    elif cookie is not None and cookie.is_due(now) and not g.get("is_unattended"):
        set_cookie(response, COOKIE, cookie_signer().encode(replace(cookie, renewed=now)))


def delete_session_cookie(response: Response) -> None:
    delete_cookie(response, COOKIE)


def set_cookie(
    response: Response,
    name: str,
    value: str,
    path: str = PATH,
    seconds: int | None = None,
    *,
    is_for_scripts: bool = False,
) -> None:
    """Set a cookie that the browser sends to the pages below a path of the service."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=url_path(path),
        secure=request.is_secure,
        httponly=not is_for_scripts,
        samesite="Strict",
    )


def delete_cookie(response: Response, name: str, path: str = PATH) -> None:
    response.delete_cookie(name, path=url_path(path), httponly=True, samesite="Strict")


def is_cross_site_without_cookies() -> bool:
    """Return whether a link of another site opened the page and the browser sent none of our cookies.

    The cookies are SameSite=Strict, so the browser may have some. It sends them when our own page reloads.
    """
    sent = {COOKIE, SIGN_IN_COOKIE, KIOSK_COOKIE} & set(request.cookies)
    return request.method == "GET" and is_cross_site() and not sent


# Forms


def is_form() -> bool:
    return request.method == "POST"


def asks_for_json() -> bool:
    """Return whether a script of a page sent the request: it asks for JSON and shows no page."""
    return request.headers.get("Accept") == "application/json"


def is_cross_site() -> bool:
    """Return whether the browser reports another site as the source of the request.

    Some browsers do not send Sec-Fetch-Site, and none sends it over plain HTTP.
    """
    return request.headers.get("Sec-Fetch-Site") not in SAME_ORIGIN_VALUES


def read_sign_in_form() -> MultiDict[str, str]:
    """Return the fields of a form that is bound to the nonce of this browser; see `read_form`."""
    cookie = request.cookies.get(SIGN_IN_COOKIE)
    return read_form(f"nonce {cookie}" if cookie else "")


def read_form(holder: str, read_files: ReadFiles | None = None) -> MultiDict[str, str]:
    """Return the fields of the form in the request; `holder` is the text that its CSRF token signs.

    Raise UnsupportedMediaType for another content type, and InvalidFormToken for a request from another site or
    without the token of this holder.
    """
    form = parse_form(read_files)
    if is_cross_site():
        raise InvalidFormToken
    if not holder or not cookie_signer().verify(form.get("csrf", ""), holder):
        raise InvalidFormToken
    return form


def parse_form(read_files: ReadFiles | None = None) -> MultiDict[str, str]:
    """Return the fields of the form in the request without a check; raise UnsupportedMediaType for another type.

    `read_files` returns the fields of a form with files.
    """
    if "parsed_form" not in g:
        pairs: Iterable[tuple[str, str | None]]
        if request.mimetype == FORM_TYPE:
            pairs = decode_pairs(read_body(CONSOLE_FORM_BYTES_MAX))
        elif request.mimetype == FILE_FORM_TYPE and read_files is not None:
            pairs = read_files()
        else:
            raise UnsupportedMediaType(request.mimetype)
        # Browsers submit line ends as CR LF.
        g.parsed_form = MultiDict([(key, (value or "").replace("\r\n", "\n")) for key, value in pairs])
    form: MultiDict[str, str] = g.parsed_form
    return form


def csrf_token() -> str:
    """Return the CSRF token of the forms of this response, bound to the session or to the sign-in nonce."""
    cookie: SessionCookie | None = g.get("session_cookie")
    if cookie is not None:
        return cookie_signer().sign(f"session {cookie.session_id}")
    return cookie_signer().sign(f"nonce {nonce()}")


def nonce() -> str:
    """Return the nonce that identifies a browser without a session. Generate one if it has none."""
    if "nonce" not in g:
        g.nonce = request.cookies.get(SIGN_IN_COOKIE) or secrets.token_urlsafe(NONCE_BYTES)
    value: str = g.nonce
    return value


def set_nonce_cookie(response: Response) -> None:
    """Set the cookie of a nonce that this request generated.

    Kiosk pages use their own cookie path. A link to a kiosk page therefore does not replace the nonce of an open
    sign-in page.
    """
    if "nonce" in g and request.cookies.get(SIGN_IN_COOKIE) != g.nonce:
        path = KIOSK_PATH if request.path.startswith(KIOSK_PATH) else PATH
        set_cookie(response, SIGN_IN_COOKIE, g.nonce, path, AGE_SECONDS_MAX)


# Forms with files: the worker asks before it takes a body


FORM_PATH: Final = re.compile(rf"{PATH}/(?:(?:{'|'.join(BUCKETS)})/[0-9]+/files|inspections/[0-9]+/add/findings)")


class FileFormHeads:
    """The rules of an application's forms with files."""

    def __init__(self, app: Flask) -> None:
        self.clock: Callable[[], float] = app.extensions.get("walkthrough.clock", time.time)
        self.signer = CookieSigner(app.extensions["walkthrough.authenticator"].signers.signer.secret_keys)
        self.prefix: str = app.config["URL_PREFIX"]
        self.bytes_max = form_bytes_max(limits_of(app.config).file_bytes)

    def body_bytes_max(self, request: Any) -> int | None:
        """Return the limit of the request's body: None if the request is no such form, 0 without a valid session."""
        if request.method != "POST" or not request.path.endswith(("/files", "/add/findings")):
            return None
        if FORM_PATH.fullmatch(without_prefix(request.path, self.prefix)) is None:
            return None
        headers = dict(request.headers)
        cookie = self.signer.decode(parse_cookie(headers.get("COOKIE", "")).get(COOKIE, ""))
        if cookie is not None and cookie.is_valid(int(self.clock())):
            return self.bytes_max
        return 0 if request.path.endswith("/files") else None  # the page after a sign-in shows the texts of a finding
