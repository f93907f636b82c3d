"""Who enters the console: a signed cookie names a session, and the session's user is looked up as always.

Every form carries a token that is bound to its session. What a browser says of where a request comes
from (Sec-Fetch-Site) is believed when it refuses, never when it allows.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TypeVar
from typing import cast

from flask import Response
from flask import current_app
from flask import g
from flask import request
from werkzeug.datastructures import MultiDict

from access import policy
from access.accounts import kiosk_display
from access.accounts.access_token import RefusedClaims
from access.accounts.sign_in import IssuedSession
from access.caller import Caller
from access.caller import Role
from access.decorators import authenticator
from access.decorators import current_time
from access.decorators import load_caller
from access.decorators import require
from access.decorators import set_requirement
from engine.current import reading
from engine.query.rule import Action
from engine.storage.transaction import Transaction
from models.errors import Fault
from models.fields import Model
from routes.body import read_body
from routes.console.session.session_cookie import AGE_SECONDS_MAX
from routes.console.session.session_cookie import Seal
from routes.console.session.session_cookie import Seals
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.media import UnsupportedMediaType

View = TypeVar("View", bound=Callable[..., object])

PATH = "/console"
KIOSK_PATH = f"{PATH}/kiosk"
COOKIE = "walkthrough_console"
SIGN_IN_COOKIE = "walkthrough_sign_in"
DEVICE_COOKIE = "walkthrough_kiosk"
FORM_BYTES_MAX = 512 << 10
FORM_TYPE = "application/x-www-form-urlencoded"
NONCE_BYTES = 18
SAME_PLACE = (None, "same-origin", "none")


class SignInNeeded(Fault):
    """Nobody is signed in here, or not any more."""

    def __init__(self) -> None:
        super().__init__("Please sign in")


class ForgedForm(Fault):
    """A form that this session was not given."""

    def __init__(self) -> None:
        super().__init__(
            "This form is out of date", hint="Go back, load the page again, and send it once more."
        )


class DeviceNeeded(Fault):
    """No device's token, or one that was revoked or has run out."""

    def __init__(self) -> None:
        super().__init__("This board is signed out")


def requires_session(*, writes: bool = False, joins: bool = True) -> Callable[[View], View]:
    """Somebody who is signed in to the console, whatever their role; `joins` as in `entering`."""
    return entering(lambda role: True, "this page", "caller", writes, joins)


def requires(action: Action, model: type[Model], *, joins: bool = True) -> Callable[[View], View]:
    """The privilege to do this to any row of the relation, and a form of one's own where it writes;
    `joins` as in `entering`."""
    return entering(
        lambda role: policy.permits(role, action, model),
        f"table {model.__tablename__}",
        f"{action.value} {model.__tablename__}",
        action is not Action.READ,
        joins,
    )


def requires_administrator(*, writes: bool = False, joins: bool = True) -> Callable[[View], View]:
    """Somebody who may write users; which ones is the row rule's to say. `joins` as in `entering`."""
    return entering(policy.may_administer, "table users", "administrator", writes, joins)


def entering(
    allowed: Callable[[Role], bool], denied: str, requirement: str, writes: bool, joins: bool = True
) -> Callable[[View], View]:
    """The view behind cookie, look-up and privilege. One that shows a page reads in the look-up's own
    snapshot, unless it `joins` not: what asks several great questions needs more than one's time for
    them. One that takes a form has it checked first, and asks `admit` again in its turn to write."""

    def decorate(view: View) -> View:
        @wraps(view)
        def entered(*arguments: object, **named: object) -> object:
            seal = open_seal()
            if is_form():
                g.form = read_form(f"session {seal.session_id}")
            elif joins:
                with reading() as transaction:
                    caller = admit_sealed(transaction)
                    require(allowed, caller.role, denied)
                    return view(caller, *arguments, **named)
            with reading() as transaction:
                caller = admit_sealed(transaction)
            require(allowed, caller.role, denied)
            return view(caller, *arguments, **named)

        doing = "form" if writes else "page"
        return set_requirement(cast(View, entered), f"console {doing}: {requirement}")

    return decorate


def requires_board(view: View) -> View:
    """A device's token, or somebody signed in; for reading only, by construction.

    The view runs inside `reading()`, whose connections refuse to write (`query_only`) and in which no
    turn to write can be asked for; and the device's cookie is sent to the board's pages alone.
    """

    @wraps(view)
    def entered(*arguments: object, **named: object) -> object:
        assert request.method in ("GET", "HEAD"), "a board only reads"
        g.is_unattended = True
        token = request.cookies.get(DEVICE_COOKIE)
        with reading() as transaction:
            seen = (
                kiosk_display.authenticate_display(transaction, token)
                if token is not None
                else None
            )
            g.caller = seen.caller if seen is not None else onlooker(transaction)
            answered = view(g.caller, *arguments, **named)
        if seen is not None:
            kiosk_display.record_last_seen(seen)
        return answered

    return set_requirement(cast(View, entered), "console board")


def is_vacant() -> bool:
    """Whether this browser has neither a session nor a board: what shows there is nobody's choice yet."""
    token = request.cookies.get(DEVICE_COOKIE)
    if token is not None:
        with reading() as transaction:
            if kiosk_display.authenticate_display(transaction, token) is not None:
                return False
    return find_seal() is None


def leave_board(response: Response) -> None:
    response.delete_cookie(DEVICE_COOKIE, path=KIOSK_PATH, httponly=True, samesite="Strict")


def onlooker(transaction: Transaction) -> Caller:
    """Whoever is signed in where no board is, or none any more: a dead token locks nobody out."""
    if find_seal() is None and (DEVICE_COOKIE in request.cookies or COOKIE not in request.cookies):
        raise DeviceNeeded
    open_seal()
    return admit_sealed(transaction)


def admit_sealed(transaction: Transaction) -> Caller:
    """The caller as they are in this transaction; whose session has ended has to sign in."""
    try:
        return load_caller(transaction)
    except RefusedClaims as refusal:
        g.ended = True
        raise SignInNeeded from refusal


# The session's cookie


def seals() -> Seals:
    """The application's seals, made of its keys."""
    found: Seals | None = current_app.extensions.get("walkthrough.seals")
    if found is None:
        found = Seals(authenticator().signers.signer.secret_keys)
        current_app.extensions["walkthrough.seals"] = found
    return found


def find_seal() -> Seal | None:
    """The request's seal, if it is in force."""
    seal = seals().read(request.cookies.get(COOKIE, ""))
    return seal if seal is not None and seal.is_in_force(current_time()) else None


def open_seal() -> Seal:
    """The request's seal, or SignInNeeded."""
    seal = find_seal()
    if seal is None:
        raise SignInNeeded
    g.claims = seal.claims()
    g.seal = seal
    return seal


def begin(response: Response, signed_in: IssuedSession) -> None:
    """Hand a browser the session that was just begun."""
    person = signed_in.person
    now = current_time()
    seal = Seal(
        signed_in.session_id, person.id, person.role, person.client_id, person.name, now, now
    )
    set_cookie(response, COOKIE, seals().write(seal), PATH)
    response.delete_cookie(SIGN_IN_COOKIE, path=PATH)


def renew(response: Response) -> None:
    """Hand out a younger seal to whoever is at work, and take away one that has ended. What asks by
    itself, again and again, as a board does, is no sign that anybody is."""
    seal: Seal | None = g.get("seal")
    now = current_time()
    if g.get("ended"):
        end(response)
    elif seal is not None and seal.is_due(now) and not g.get("is_unattended"):
        set_cookie(response, COOKIE, seals().write(replace(seal, renewed=now)), PATH)


def end(response: Response) -> None:
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="Strict")


def set_cookie(
    response: Response, name: str, value: str, path: str, seconds: int | None = None
) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=path,
        secure=is_private(),
        httponly=True,
        samesite="Strict",
    )


def is_private() -> bool:
    """Whether the browser came over TLS: to us, or to a proxy that we trust to say so."""
    if request.scheme == "https":
        return True
    try:
        peer = ipaddress.ip_address(request.environ.get("REMOTE_ADDR") or "")
    except ValueError:
        return False
    trusted = any(peer in network for network in current_app.config["TRUSTED_PROXIES"])
    return trusted and request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"


def has_left_cookies_behind() -> bool:
    """Whether a link of another site brought a browser here without cookies of ours: they are Strict, and
    it may have some. Asked for once more, by a page of ours, it brings them."""
    given = {COOKIE, SIGN_IN_COOKIE, DEVICE_COOKIE} & set(request.cookies)
    return request.method == "GET" and is_from_elsewhere() and not given


# Forms


def is_form() -> bool:
    return request.method == "POST"


def is_from_elsewhere() -> bool:
    """Whether the browser says that another site sent it here; not all do, and none over plain HTTP."""
    return request.headers.get("Sec-Fetch-Site") not in SAME_PLACE


def read_sign_in_form() -> MultiDict[str, str]:
    """The same of a form that was shown to whoever has this browser's nonce."""
    found = request.cookies.get(SIGN_IN_COOKIE)
    return read_form(f"nonce {found}" if found else "")


def seal_words(words: str, path: str) -> str:
    """What shows that words in an address are our own, and for whoever is signed in here, on that page
    alone: a link with them says nothing to anybody else. Each use signs under a name of its own."""
    return seals().form_token(f"words {g.seal.session_id} {path} {words}")


def are_ours(words: str, path: str, seal: str) -> bool:
    opened: Seal | None = g.get("seal")
    if opened is None:
        return False
    return seals().is_form_token(seal, f"words {opened.session_id} {path} {words}")


def read_form(holder: str) -> MultiDict[str, str]:
    """A form's fields, once it is known to be ours."""
    if request.mimetype != FORM_TYPE:
        raise UnsupportedMediaType(request.mimetype)
    pairs = decode_pairs(read_body(FORM_BYTES_MAX))
    # Browsers send line ends as CR LF, whatever was typed.
    form = MultiDict([(key, (value or "").replace("\r\n", "\n")) for key, value in pairs])
    if is_from_elsewhere():
        raise ForgedForm
    if not holder or not seals().is_form_token(form.get("csrf", ""), holder):
        raise ForgedForm
    return form


def form_token() -> str:
    """The token of the page that is being made: of its session, or of a sign-in about to happen."""
    seal: Seal | None = g.get("seal")
    if seal is not None:
        return seals().form_token(f"session {seal.session_id}")
    return seals().form_token(f"nonce {nonce()}")


def nonce() -> str:
    """What stands for a session where there is none yet."""
    if "nonce" not in g:
        g.nonce = request.cookies.get(SIGN_IN_COOKIE) or secrets.token_urlsafe(NONCE_BYTES)
    found: str = g.nonce
    return found


def keep_nonce(response: Response) -> None:
    """Hand out a nonce that was made just now: a board's page one of its own, so that a link to that page
    takes none away from open sign-in pages."""
    if "nonce" in g and request.cookies.get(SIGN_IN_COOKIE) != g.nonce:
        path = KIOSK_PATH if request.path.startswith(KIOSK_PATH) else PATH
        set_cookie(response, SIGN_IN_COOKIE, g.nonce, path, AGE_SECONDS_MAX)
