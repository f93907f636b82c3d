"""Decorators of views: which callers may use a view. Each decorator does one job and records its requirement.

They check a request in three steps: its apikey, its token and the token's user, and the privilege of the user's role.
Row rules are applied later. `check_guards` prevents an application from starting if a view has no requirement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, wraps
from typing import TypeVar, cast

from flask import Flask

from access import policy, request_state
from access.access_token import Claims, require_in_force
from access.authentication import Authentication, authenticator, check_apikey, current_time
from access.caller import SERVICE_CALLER, Caller
from access.functions import Function
from access.policy import PermissionDenied
from access.roles import GrantProfile
from access.session import Credential, KeyDigest, look_up_caller, look_up_key
from engine.current import on_any_server, reading
from engine.interface.faults import StaleLookUp
from engine.interface.transaction import Transaction
from engine.query.rule import Action
from models.errors import Fault
from models.fields import Model

View = TypeVar("View", bound=Callable[..., object])


class AnonymousDenied(Fault):
    """A request without a token. Anonymous requests have no privileges (401, 42501)."""


class ReadOnlyApiKey(PermissionDenied):
    """A write with an API key that only reads."""

    def __init__(self) -> None:
        super().__init__("permission denied: the API key is read-only")


class UnguardedView(RuntimeError):
    """A view without a requirement."""


def load_caller(transaction: Transaction) -> Caller:
    """Return the request's caller as of this transaction, and make them the actor of its writes.

    A write calls this after it waited for the lock. Raise RefusedClaims or InvalidApiKey if the credential no longer
    counts, and ReadOnlyApiKey for a write with a key that only reads.
    """
    state = request_state.state()
    caller = look_up(transaction, state.credential)
    state.caller = caller
    if caller.api_key_id is not None:
        state.api_key_id = caller.api_key_id
    if transaction.writes:
        require_writable(caller)
        transaction.set_actor(caller.id)
    return caller


def look_up(transaction: Transaction, credential: Credential | None) -> Caller:
    """Return the caller of a credential; None is the service key. Raise RefusedClaims or InvalidApiKey."""
    if credential is None:
        return SERVICE_CALLER
    if isinstance(credential, KeyDigest):
        return look_up_key(transaction, credential)
    return look_up_caller(transaction, credential)


def require_writable(caller: Caller) -> None:
    """Raise ReadOnlyApiKey if the caller's API key only reads."""
    if caller.is_read_only:
        raise ReadOnlyApiKey


def client_of_writes(actions: Iterable[Action], model: type[Model]) -> int | None:
    """Return the client whose rows the request is expected to change, by its verified credential; None if any.

    The caller is not looked up yet. A caller of another client than expected changes no rows.
    """
    state = request_state.state()
    sender: object = state.caller or state.credential
    if isinstance(sender, Caller | Claims) and policy.writes_own_client(sender.role, actions, model):
        return sender.client_id
    return None


def authenticate_request() -> Authentication:
    """Return the request's authentication; raise a fault if its token or the apikey beside it is not in force."""
    environ = request_state.request().environ
    authentication = authenticator().authenticate(environ.get("HTTP_APIKEY"), environ.get("HTTP_AUTHORIZATION"))
    if isinstance(authentication.credential, Claims):
        require_in_force(authentication.credential, current_time())
    if authentication.apikey is not None:
        require_key_in_force(authentication.apikey)
    return authentication


def require_key_in_force(key: KeyDigest) -> None:
    """Raise InvalidApiKey if a user's API key is not in force."""
    with reading() as transaction:
        look_up_key(transaction, key)


def guarded(
    allowed: Callable[[GrantProfile], bool],
    denied: str,
    view: View,
    in_snapshot: bool,
    receive_body: Callable[[], None] | None = None,
    *,
    is_read_only: bool = False,
    loads_caller: bool = False,
) -> View:
    """Return the view behind apikey, token, privilege and look-up. The view receives the caller.

    - `in_snapshot`: the view reads in the snapshot of the look-up. A view that writes opens its own transaction
      and calls `load_caller` again in it.
    - `receive_body`: reads the request's body before the snapshot begins, since a client may send it slowly.
    - `is_read_only`: the view only reads, and no hidden table, so a standby may answer. The view is called again if
      a standby fails, or if the caller has changed since their last request.
    - `loads_caller`: the view calls `load_caller` before anything except reading its request, and receives no caller.
    """

    @wraps(view)
    def guarded_view(*arguments: object, **named: object) -> object:
        authentication = authenticate_request()
        if authentication.is_anonymous:
            raise AnonymousDenied(f"permission denied for {denied}")
        state = request_state.state()
        # The state outlives a request inside an open application context: remove the caller of the previous one.
        state.caller = None
        credential = state.credential = authentication.credential
        if receive_body is not None:
            receive_body()
        if loads_caller:
            try:
                require(allowed, writing_profile(allowed, credential), denied)
                return view(*arguments, **named)
            finally:
                require_looked_up()
        if not in_snapshot:
            with reading() as transaction:
                caller = load_caller(transaction)
            require(allowed, caller.profile, denied)
            require_writable(caller)
            return view(caller, *arguments, **named)

        def read(verifies_later: bool) -> object:
            with reading() as transaction:
                transaction.verifies_later = verifies_later
                caller = load_caller(transaction)
                require(allowed, caller.profile, denied)
                run = partial(view, caller, *arguments, **named)
                return on_any_server(transaction, run) if is_read_only else run()

        try:
            return read(verifies_later=is_read_only)
        except StaleLookUp:
            return read(verifies_later=False)

    return cast(View, guarded_view)


def writing_profile(allowed: Callable[[GrantProfile], bool], credential: Credential | None) -> GrantProfile:
    """Return the profile of a request that writes, without a look-up where the role of its claims decides.

    The role of an API key is looked up, and so is the inspector of a manager where a link gives a privilege.
    """
    if credential is None:
        return SERVICE_CALLER.profile
    if isinstance(credential, Claims):
        unlinked = GrantProfile(credential.role)
        if allowed(unlinked) == allowed(replace(unlinked, is_inspector=True)):
            return unlinked
    with reading() as transaction:
        caller = load_caller(transaction)
    require_writable(caller)
    return caller.profile


def require_looked_up() -> None:
    """Look the caller up unless the view did, so that a refused token takes precedence over any other error."""
    if request_state.state().caller is None:
        with reading() as transaction:
            load_caller(transaction)


def require(allowed: Callable[[GrantProfile], bool], profile: GrantProfile, denied: str) -> None:
    """Raise PermissionDenied if the profile is not allowed."""
    if not allowed(profile):
        raise PermissionDenied(f"permission denied for {denied}")


def requires(action: Action, model: type[Model]) -> Callable[[View], View]:
    """Require the privilege for an action on the table. A view that writes calls `load_caller` itself."""

    def decorate(view: View) -> View:
        is_read = action is Action.READ
        guarded_view = guarded(
            lambda profile: policy.permits(profile, action, model),
            f"table {model.__tablename__}",
            view,
            in_snapshot=is_read,
            is_read_only=is_read,
            loads_caller=not is_read,
        )
        return set_requirement(guarded_view, f"{action.value} {model.__tablename__}")

    return decorate


def requires_call(
    function: Function[..., object], *, receive_body: Callable[[], None] | None = None
) -> Callable[[View], View]:
    """Require the privilege to call a function. `receive_body` as in `guarded`."""

    def decorate(view: View) -> View:
        guarded_view = guarded(
            lambda profile: profile.role in function.roles,
            f"function {function.name}",
            view,
            in_snapshot=not function.is_volatile,
            receive_body=receive_body,
            is_read_only=not function.is_volatile,
        )
        return set_requirement(guarded_view, f"call {function.name}")

    return decorate


def requires_caller(view: View) -> View:
    """Require a caller of any role."""
    guarded_view = guarded(lambda profile: True, "this resource", view, in_snapshot=True)
    return set_requirement(guarded_view, "caller")


def requires_writer(view: View) -> View:
    """Require a caller of any role whose API key, if any, may write. The view opens its own transaction."""
    guarded_view = guarded(lambda profile: True, "this resource", view, in_snapshot=False)
    return set_requirement(guarded_view, "caller who may write")


class NoUserAccount(Fault):
    """The caller is the service key, which has no user account."""


def requires_user(*, writes: bool) -> Callable[[View], View]:
    """Require a caller with a user account, of any role."""

    def decorate(view: View) -> View:
        @wraps(view)
        def user_view(caller: Caller, *arguments: object, **named: object) -> object:
            if caller.id is None:
                raise NoUserAccount("invalid claim: missing sub claim")
            return view(caller, *arguments, **named)

        guarded_view = guarded(lambda profile: True, "this account", user_view, in_snapshot=not writes)
        return set_requirement(cast(View, guarded_view), "user")

    return decorate


def may_administer(profile: GrantProfile) -> bool:
    """Return whether the profile may write users."""
    return policy.may_administer(profile.role)


def requires_administrator(*, writes: bool) -> Callable[[View], View]:
    """Require a caller who may write users. The row rule decides which ones."""

    def decorate(view: View) -> View:
        guarded_view = guarded(may_administer, "table users", view, in_snapshot=not writes)
        return set_requirement(guarded_view, "administrator")

    return decorate


def require_valid_credentials() -> None:
    """Raise a fault if the apikey is missing or wrong, or if the request has a token that does not count."""
    credential = authenticate_request().credential
    if credential is not None:
        with reading() as transaction:
            look_up(transaction, credential)


def requires_valid_credentials(view: View) -> View:
    """Require an apikey. A token is optional, and has to be in force if the request has one."""

    @wraps(view)
    def guarded_view(*arguments: object, **named: object) -> object:
        require_valid_credentials()
        return view(*arguments, **named)

    return set_requirement(cast(View, guarded_view), "apikey, and any token to be in force")


def requires_apikey(view: View) -> View:
    """Require an apikey and ignore the token: an expired one does not prevent a sign-in."""

    @wraps(view)
    def guarded_view(*arguments: object, **named: object) -> object:
        key = check_apikey(authenticator(), request_state.request().environ.get("HTTP_APIKEY"))
        if key is not None:
            require_key_in_force(key)
        return view(*arguments, **named)

    return set_requirement(cast(View, guarded_view), "apikey")


PUBLIC = "public: "


def public(reason: str) -> Callable[[View], View]:
    """Decorate a view that requires nothing; record the reason."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded_view(*arguments: object, **named: object) -> object:
            return view(*arguments, **named)

        return set_requirement(cast(View, guarded_view), PUBLIC + reason)

    return decorate


def set_requirement(view: View, requirement: str) -> View:
    """Record the requirement of a view as its attribute `requires`, and return the view."""
    view.requires = requirement  # type: ignore[attr-defined]
    return view


def is_public(view: View | None) -> bool:
    """Return whether a view requires nothing."""
    return str(getattr(view, "requires", "")).startswith(PUBLIC)


def check_guards(app: Flask) -> None:
    """Raise UnguardedView if the application has a view without a requirement."""
    for endpoint, view in app.view_functions.items():
        if not getattr(view, "requires", None):
            raise UnguardedView(f"the view {endpoint} has no requirement")
