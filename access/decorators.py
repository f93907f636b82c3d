"""Decorators of views, which say who may use a view, and the decorator that declares a function of the API.

Each decorator of a view does one job and records its requirement. `check_guards` prevents the start of an application
in which a view has no requirement. A request is checked in three steps: its apikey, its token and the token's user, and
the privilege of the role. Row rules are applied later. Each function of the API is declared once, above its
implementation. Routes, the description, the console and the tests read the declaration. `routes/functions/rpc.py` lists
the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast, get_type_hints

from flask import Flask
from marshmallow import Schema, fields

from access import policy, session
from access.access_token import Claims, require_in_force
from access.caller import SERVICE_CALLER, Caller
from access.policy import PermissionDenied
from access.predicates import Parameter, unprefixed
from access.roles import GrantProfile, Role
from access.session import (
    Authentication,
    Credential,
    KeyDigest,
    authenticator,
    check_apikey,
    current_time,
    look_up_caller,
    look_up_key,
)
from engine.interface.database import Transaction
from engine.open import on_any_server, reading
from engine.query.statement import Action
from models.fields import Model
from models.types import AccountFault, Fault

DRY_RUN: Final = "dry_run"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Implementation = Callable[Concatenate[Transaction, Caller, Arguments], Result]


@dataclass(eq=False, slots=True)
class Function(Generic[Arguments, Result]):
    """A function of the API. `roles` may call it. A volatile function writes; a stable one reads.

    A volatile function with a parameter `p_dry_run` only reads unless that is false. `body_bytes_max` and
    `seconds_max` limit the body and the time of a call, if not as those of other requests.
    `preparation`, if any, computes the arguments of the implementation from those of a call, without the writer lock.
    `names` are the documented names of its parameters. The implementation takes them without the prefix.
    """

    name: str
    summary: str
    names: tuple[str, ...]
    schema: Schema
    roles: frozenset[Role]
    is_volatile: bool
    implementation: Implementation[Arguments, Result]
    body_bytes_max: int | None = None
    seconds_max: float | None = None
    preparation: Callable[..., dict[str, Any]] | None = None

    def prepare(self, transaction: Transaction, caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the implementation. `transaction` only reads: it has no writer lock."""
        if self.preparation is None:
            return arguments
        return self.preparation(transaction, caller, **arguments)

    def __call__(
        self, transaction: Transaction, caller: Caller, *values: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        return self.implementation(transaction, caller, *values, **named)

    def __str__(self) -> str:
        return f"public.{self.name}({', '.join(self.names)})" if self.names else f"public.{self.name}"

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by their documented names."""
        return {name: cast(Parameter, self.schema.fields[unprefixed(name)]) for name in self.names}

    @property
    def has_dry_run(self) -> bool:
        return DRY_RUN in self.schema.fields

    def is_dry_run(self, arguments: Mapping[str, object]) -> bool:
        """Return whether a call with these arguments only tries what it would write."""
        return self.has_dry_run and arguments.get(DRY_RUN) is not False

    @property
    def returns(self) -> Any:
        """The type of the result."""
        return get_type_hints(self.implementation)["return"]


def function(
    name: str,
    *,
    summary: str,
    roles: frozenset[Role],
    parameters: Mapping[str, Parameter] | None = None,
    is_volatile: bool = False,
    body_bytes_max: int | None = None,
    seconds_max: float | None = None,
    preparation: Callable[..., dict[str, Any]] | None = None,
) -> Callable[[Implementation[Arguments, Result]], Function[Arguments, Result]]:
    """Return the decorator that declares a function. It does not register the function."""
    declared: dict[str, fields.Field[Any]] = {unprefixed(each): kind for each, kind in (parameters or {}).items()}

    def declare(implementation: Implementation[Arguments, Result]) -> Function[Arguments, Result]:
        schema = Schema.from_dict(declared)()
        names = tuple(parameters or ())
        return Function(
            name, summary, names, schema, roles, is_volatile, implementation, body_bytes_max, seconds_max, preparation
        )

    return declare


View = TypeVar("View", bound=Callable[..., object])


class AnonymousDenied(Fault, code="42501", status=401):
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
    state = session.state()
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
    state = session.state()
    sender: object = state.caller or state.credential
    if isinstance(sender, Caller | Claims) and policy.writes_own_client(sender.role, actions, model):
        return sender.client_id
    return None


def authenticate_request() -> Authentication:
    """Return the request's authentication; raise a fault if its token or the apikey beside it is not in force."""
    environ = session.request().environ
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
    checks_writable: bool = True,
) -> View:
    """Return the view behind apikey, token, privilege and look-up. The view receives the caller.

    - `in_snapshot`: the view reads in the snapshot of the look-up. A view that writes opens its own transaction
      and calls `load_caller` again in it.
    - `receive_body`: reads the request's body before the snapshot begins, since a client may send it slowly.
    - `is_read_only`: the view only reads, and no hidden table, so a standby may answer. The view is called again if
      a standby fails.
    - `loads_caller`: the view calls `load_caller` before anything except reading its request, and receives no caller.
    - `checks_writable`: a view outside of a snapshot writes. Else it may only read, and `load_caller` refuses a key
      that only reads once the view writes.
    """

    @wraps(view)
    def guarded_view(*arguments: object, **named: object) -> object:
        authentication = authenticate_request()
        if authentication.is_anonymous:
            raise AnonymousDenied(f"permission denied for {denied}")
        state = session.state()
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
            if checks_writable:
                require_writable(caller)
            return view(caller, *arguments, **named)

        with reading() as transaction:
            caller = load_caller(transaction)
            require(allowed, caller.profile, denied)
            run = partial(view, caller, *arguments, **named)
            return on_any_server(transaction, run) if is_read_only else run()

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
    if session.state().caller is None:
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
            checks_writable=not function.has_dry_run,
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


class NoUserAccount(AccountFault, code="bad_jwt", status=403):
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
        key = check_apikey(authenticator(), session.request().environ.get("HTTP_APIKEY"))
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
