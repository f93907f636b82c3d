"""What stands above a view: who may enter. Each decorator does one job and leaves a mark.

A request is admitted in three steps: its apikey; its token, to claims, to a caller looked up now; and
the privilege of the caller's role. Row rules are not decided here. `check_marks` refuses to let an
application start that has a view without a mark.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from functools import partial
from functools import wraps
from typing import TypeVar
from typing import cast

from flask import Flask

from access import policy
from access import request_state as current
from access.accounts.access_token import Claims
from access.accounts.access_token import InvalidToken
from access.accounts.access_token import Signers
from access.accounts.access_token import require_in_force
from access.accounts.refresh_token import RefreshTokens
from access.caller import SERVICE
from access.caller import Caller
from access.caller import Role
from access.policy import PermissionDenied
from access.session import look_up
from engine.query.rule import Action
from engine.storage.database import Transaction
from engine.storage.database import anywhere
from engine.storage.database import reading
from models.errors import Fault
from models.fields import Model

# What apikey and signature say never changes; whether the claims still count is asked anew.
ENTRANCES_REMEMBERED_MAX = 1_024
REMEMBERED_CHARACTERS_MAX = 2_048

View = TypeVar("View", bound=Callable[..., object])


class NoApiKey(Fault):
    """A request without an apikey, or with one that is not ours."""


class Anonymous(Fault):
    """Nobody has no privileges at all (401, 42501)."""


class Unmarked(RuntimeError):
    """A view that says nothing of who may enter."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Who a request says it is from: nobody, the service key, which has no claims, or a token's user."""

    claims: Claims | None
    is_anonymous: bool


class Credentials:
    """What an application knows of keys: made once from its configuration."""

    def __init__(
        self, signers: Signers, anon_key: str | None, service_key: str | None, required: bool
    ) -> None:
        self.signers = signers
        self.refresh_tokens = RefreshTokens(signers.signer.secret_keys)
        self.anon_key = anon_key
        self.service_key = service_key
        self.required = required
        self.remembered = lru_cache(maxsize=ENTRANCES_REMEMBERED_MAX)(self.read)

    def entrance(self, apikey: str | None, authorization: str | None) -> Entrance:
        """Who asks, by the two headers that say it: read once a pair. What is refused is refused anew each time."""
        if len(apikey or "") + len(authorization or "") > REMEMBERED_CHARACTERS_MAX:
            return self.read(apikey, authorization)
        return self.remembered(apikey, authorization)

    def read(self, apikey: str | None, authorization: str | None) -> Entrance:
        """The same, read anew. It depends on the headers and the keys alone, not on the time or the database."""
        check_apikey(self, apikey)
        token = bearer(self, authorization)
        if token is None or self.is_service(token):
            return Entrance(None, is_anonymous=token is None)
        return Entrance(self.signers.read(token), is_anonymous=False)

    def is_service(self, secret: str) -> bool:
        """Whether a secret is the service key."""
        return equal(secret, self.service_key)

    def is_anon(self, secret: str) -> bool:
        """Whether a secret is the key that anybody may have."""
        return equal(secret, self.anon_key)


def equal(secret: str, key: str | None) -> bool:
    """Whether a secret is a key, in constant time; an absent key matches nothing."""
    if not key:
        return False
    return hmac.compare_digest(secret.encode("utf-8", "replace"), key.encode())


def credentials() -> Credentials:
    """The application's keys."""
    found: Credentials = current.application().extensions["walkthrough.credentials"]
    return found


def check_apikey(keys: Credentials, given: str | None) -> None:
    """Let requests in that carry one of our apikeys; a wrong one never, none only if it is not required."""
    if given is None:
        if keys.required:
            raise NoApiKey(
                "No API key found in request",
                hint="No `apikey` request header was found.",
            )
    # Both comparisons always run, so that the time tells nothing.
    elif not (keys.is_anon(given) | keys.is_service(given)):
        raise NoApiKey(
            "Invalid API key",
            hint="Double check your API key.",
        )


def bearer(keys: Credentials, header: str | None) -> str | None:
    """The bearer token, or None where the request is anonymous."""
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip()
    if not token:
        raise InvalidToken("Empty JWT is sent in Authorization header")
    return None if keys.is_anon(token) else token


def current_time() -> int:
    """Unix seconds, by the application's one clock."""
    clock: Callable[[], float] = current.application().extensions["walkthrough.clock"]
    return int(clock())


def admit(transaction: Transaction) -> Caller:
    """The request's caller as they are in this transaction: what a write asks after its wait."""
    notes = current.notes()
    claims: Claims | None = notes.claims
    caller = SERVICE if claims is None else look_up(transaction, claims)
    if transaction.writes:
        transaction.set_actor(caller.id)
    notes.caller = caller
    return caller


def entering(
    allowed: Callable[[Role], bool],
    denied: str,
    view: View,
    joins: bool,
    receive: Callable[[], None] | None = None,
    *,
    is_read: bool = False,
    admits: bool = False,
) -> View:
    """The view behind apikey, token, privilege and look-up; it is called with the caller.

    `joins`: the view reads in the look-up's own snapshot. One that writes opens its own transaction
    and asks `admit` again in it. `receive` takes in what the caller may be slow to send, before there
    is a snapshot that would wait for it. `is_read`: the view only reads, and no hidden table, so that a
    standby may serve it; where one fails at it, it is called again. `admits`: the view asks `admit` before it
    does anything but read its request, and is called without a caller.
    """

    @wraps(view)
    def entered(*arguments: object, **named: object) -> object:
        environ = current.request().environ
        entrance = credentials().entrance(
            environ.get("HTTP_APIKEY"), environ.get("HTTP_AUTHORIZATION")
        )
        if entrance.is_anonymous:
            raise Anonymous(f"permission denied for {denied}")
        notes = current.notes()
        # Nobody is admitted yet: notes outlast a request where a context was open around it.
        notes.caller = None
        claims = notes.claims = entrance.claims
        if claims is not None:
            require_in_force(claims, current_time())
        role = SERVICE.role if claims is None else claims.role
        if receive is not None:
            receive()
        if admits:
            try:
                require(allowed, role, denied)
                return view(*arguments, **named)
            finally:
                require_admitted()
        if not joins:
            with reading() as transaction:
                caller = admit(transaction)
            require(allowed, role, denied)
            return view(caller, *arguments, **named)
        with reading() as transaction:
            caller = admit(transaction)
            require(allowed, role, denied)
            run = partial(view, caller, *arguments, **named)
            return anywhere(transaction, run) if is_read else run()

    return cast(View, entered)


def require_admitted() -> None:
    """Look the caller up, if nobody has: who may not enter is told that, whatever else was wrong."""
    if current.notes().caller is None:
        with reading() as transaction:
            admit(transaction)


def require(allowed: Callable[[Role], bool], role: Role, denied: str) -> None:
    if not allowed(role):
        raise PermissionDenied(f"permission denied for {denied}")


def requires(action: Action, model: type[Model]) -> Callable[[View], View]:
    """The privilege to do this to any row of the relation; a view that writes asks `admit` in its turn."""

    def decorate(view: View) -> View:
        entered = entering(
            lambda role: policy.permits(role, action, model),
            f"table {model.__tablename__}",
            view,
            joins=action is Action.READ,
            is_read=action is Action.READ,
            admits=action is not Action.READ,
        )
        return mark(entered, f"{action.value} {model.__tablename__}")

    return decorate


def requires_call(
    function: str, *, writes: bool, receive: Callable[[], None] | None = None
) -> Callable[[View], View]:
    """The privilege to call this function; `receive` as in `entering`."""

    def decorate(view: View) -> View:
        entered = entering(
            lambda role: policy.may_call(role, function),
            f"function {function}",
            view,
            joins=not writes,
            receive=receive,
            is_read=not writes,
        )
        return mark(entered, f"call {function}")

    return decorate


def requires_caller(view: View) -> View:
    """Somebody, whoever they are."""
    return mark(entering(lambda role: True, "this resource", view, joins=True), "caller")


class NoUserBehind(Fault):
    """A caller who is nobody's user, where somebody's own account is meant: the service key."""


def requires_person(*, writes: bool) -> Callable[[View], View]:
    """Somebody with an account of their own, whatever their role."""

    def decorate(view: View) -> View:
        @wraps(view)
        def asked_by_person(caller: Caller, *arguments: object, **named: object) -> object:
            if caller.id is None:
                raise NoUserBehind("invalid claim: missing sub claim")
            return view(caller, *arguments, **named)

        entered = entering(lambda role: True, "this account", asked_by_person, joins=not writes)
        return mark(cast(View, entered), "person")

    return decorate


def requires_administrator(*, writes: bool) -> Callable[[View], View]:
    """Somebody who may write users; which ones is the row rule's to say."""

    def decorate(view: View) -> View:
        entered = entering(policy.may_administer, "table users", view, joins=not writes)
        return mark(entered, "administrator")

    return decorate


def check_entrance() -> None:
    """Let in whoever has an apikey, and no token or one that is in force."""
    environ = current.request().environ
    claims = (
        credentials().entrance(environ.get("HTTP_APIKEY"), environ.get("HTTP_AUTHORIZATION")).claims
    )
    if claims is not None:
        require_in_force(claims, current_time())
        with reading() as transaction:
            look_up(transaction, claims)


def requires_entrance(view: View) -> View:
    """Any holder of an apikey; a token need not be sent, but one that is sent has to be in force."""

    @wraps(view)
    def entered(*arguments: object, **named: object) -> object:
        check_entrance()
        return view(*arguments, **named)

    return mark(cast(View, entered), "apikey, and any token to be in force")


def requires_apikey(view: View) -> View:
    """Any holder of an apikey, signed in or not: an old token is no matter to who signs in."""

    @wraps(view)
    def entered(*arguments: object, **named: object) -> object:
        check_apikey(credentials(), current.request().environ.get("HTTP_APIKEY"))
        return view(*arguments, **named)

    return mark(cast(View, entered), "apikey")


PUBLIC = "public: "


def public(reason: str) -> Callable[[View], View]:
    """Everybody, for a reason that is written down."""

    def decorate(view: View) -> View:
        @wraps(view)
        def entered(*arguments: object, **named: object) -> object:
            return view(*arguments, **named)

        return mark(cast(View, entered), PUBLIC + reason)

    return decorate


def mark(view: View, requirement: str) -> View:
    view.requires = requirement  # type: ignore[attr-defined]
    return view


def is_public(view: View | None) -> bool:
    """Whether everybody may enter, by the mark that says so."""
    return str(getattr(view, "requires", "")).startswith(PUBLIC)


def check_marks(app: Flask) -> None:
    """Refuse an application that has a view without a requirement."""
    for endpoint, view in app.view_functions.items():
        if not getattr(view, "requires", None):
            raise Unmarked(f"the view {endpoint} says nothing of who may enter")
