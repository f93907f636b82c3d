"""/console/account/api_keys and /console/people/<id>/api_keys: create and revoke API keys. A new key is shown once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flask import Response, g

from access.accounts import api_key
from access.accounts.api_key import ApiKeyNotFound, NewApiKey
from access.caller import Caller
from access.decorators import load_caller
from engine.open import reading
from engine.query.statement import Action
from routes.console.components.fields import FormValues
from routes.console.components.page import redirect_to, render_confirmation, render_page
from routes.console.components.queries import once
from routes.console.components.records import save
from routes.console.components.template_filters import name
from routes.console.pages.users import require_user
from routes.console.session import auth
from routes.http.middleware import request_deadline

DAYS = (30, 90, 365)
DAY_SECONDS = 24 * 3_600
NAME_CHARACTERS_MAX = 60


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """The user of the keys on a page, and the page above it. `name` is empty for one's own keys."""

    id: str
    back: str
    name: str = ""

    @property
    def path(self) -> str:
        return f"{self.back}/api_keys"


def caller_as_owner(caller: Caller) -> KeyOwner:
    return KeyOwner(str(caller.id), "/account")


def user_as_owner(caller: Caller, key: str) -> KeyOwner:
    """Return a user whose keys the caller may administer; raise UnknownPath."""
    user = require_user(caller, key, Action.UPDATE)
    return KeyOwner(user.id, f"/people/{user.id}", name(user.name, NAME_CHARACTERS_MAX))


@auth.requires_session()
def own_api_keys(caller: Caller) -> Response:
    return api_keys_page(caller, caller_as_owner(caller))


@auth.requires_session(writes=True)
def create_own_api_key(caller: Caller) -> Response:
    return create_api_key(caller, caller_as_owner(caller))


@auth.requires_session()
def confirm_own_api_key_revocation(caller: Caller, key_id: str) -> Response:
    return confirm_revocation(caller, caller_as_owner(caller), key_id)


@auth.requires_session(writes=True)
def revoke_own_api_key(caller: Caller, key_id: str) -> Response:
    return revoke_api_key(caller_as_owner(caller), key_id)


@auth.requires_administrator()
def user_api_keys(caller: Caller, key: str) -> Response:
    return api_keys_page(caller, user_as_owner(caller, key))


@auth.requires_administrator(writes=True)
def create_user_api_key(caller: Caller, key: str) -> Response:
    return create_api_key(caller, user_as_owner(caller, key))


@auth.requires_administrator()
def confirm_user_api_key_revocation(caller: Caller, key: str, key_id: str) -> Response:
    return confirm_revocation(caller, user_as_owner(caller, key), key_id)


@auth.requires_administrator(writes=True)
def revoke_user_api_key(caller: Caller, key: str, key_id: str) -> Response:
    return revoke_api_key(user_as_owner(caller, key), key_id)


def api_keys_page(
    caller: Caller, owner: KeyOwner, *, text: str | None = None, problem: str | None = None, status: int = 200
) -> Response:
    """Return the page of a user's keys; `text` is a new key."""
    with reading() as transaction:
        keys = api_key.list_keys_of_user(transaction, caller, owner.id)
    return render_page(
        "api_keys.html",
        status,
        owner=owner,
        keys=keys,
        days=DAYS,
        text=text,
        problem=problem,
        typed=g.get("form", {}) if text is None else {},
    )


def create_api_key(caller: Caller, owner: KeyOwner) -> Response:
    values = FormValues(g.form)

    def new_key(now: int) -> NewApiKey:
        days = values.typed.get("days", "")
        ends = now + DAY_SECONDS * int(days) if days in map(str, DAYS) else None
        return NewApiKey(values.typed.get("name", ""), values.typed.get("rights") != "all", ends)

    def store() -> Response:
        text = create_once(owner.id, new_key)
        if text is None:
            return redirect_to(owner.path, "This API key was created before. Its text was shown once.")
        return api_keys_page(caller, owner, text=text)

    return save(values, store, lambda status: api_keys_page(caller, owner, problem=values.problems[""], status=status))


def create_once(user_id: str, new_key: Callable[[int], NewApiKey]) -> str | None:
    """Create the key that `new_key` returns for the present time. Return its text; None if the form was sent before."""
    texts: list[str] = []

    def create() -> str:
        key, text = api_key.create_key(transaction, now, user_id, new_key(transaction.unix))
        texts.append(text)
        return key.id

    with request_deadline().writing() as transaction:
        now = load_caller(transaction)
        once(transaction, now, "api_keys", create)
    g.shows_secret = bool(texts)
    return texts[0] if texts else None


def confirm_revocation(caller: Caller, owner: KeyOwner, key_id: str) -> Response:
    with reading() as transaction:
        keys = api_key.list_keys_of_user(transaction, caller, owner.id)
    key = next((each for each in keys if each.id == key_id), None)
    if key is None:
        raise ApiKeyNotFound
    kind = "calendar link" if key.is_calendar_link else "API key"
    return render_confirmation(
        f"Revoke the {kind} {name(key.name, NAME_CHARACTERS_MAX)}?",
        f"Programs that use the {kind.split()[-1]} are refused from their next request. This cannot be undone.",
        verb="Revoke",
        action=f"{owner.path}/{key.id}/revoke",
        back=owner.back if key.is_calendar_link else owner.path,
    )


def revoke_api_key(owner: KeyOwner, key_id: str) -> Response:
    with request_deadline().writing() as transaction:
        now = load_caller(transaction)
        is_link = once(transaction, now, "api_keys", lambda: api_key.revoke_key(transaction, now, owner.id, key_id))
    return redirect_to(owner.back, "Calendar link revoked.") if is_link else redirect_to(owner.path, "API key revoked.")
