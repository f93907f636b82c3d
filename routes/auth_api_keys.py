"""Users' API keys: an administrator's under /auth/v1/admin/users/<id>/api_keys, one's own under /auth/v1/user/api_keys.

Only the response to the creation holds the key's text.
"""

from __future__ import annotations

from flask import Blueprint, Response

from access.accounts import api_key
from access.caller import Caller
from access.decorators import load_caller, requires_administrator, requires_user
from engine.current import reading
from routes.auth import PREFIX, json_response, read_auth_body, request_deadline
from routes.gotrue import api_keys
from routes.gotrue.users import read_path_id

bp = Blueprint("auth_api_keys", __name__, url_prefix=PREFIX)


@bp.get("/user/api_keys")
@requires_user(writes=False)
def list_own_keys(caller: Caller) -> Response:
    return list_response(caller, str(caller.id))


@bp.post("/user/api_keys")
@requires_user(writes=True)
def create_own_key(caller: Caller) -> Response:
    return creation_response(str(caller.id))


@bp.delete("/user/api_keys/<key_id>")
@requires_user(writes=True)
def revoke_own_key(caller: Caller, key_id: str) -> Response:
    return revocation_response(str(caller.id), key_id)


@bp.get("/admin/users/<user_id>/api_keys")
@requires_administrator(writes=False)
def list_keys(caller: Caller, user_id: str) -> Response:
    return list_response(caller, read_path_id(user_id))


@bp.post("/admin/users/<user_id>/api_keys")
@requires_administrator(writes=True)
def create_key(caller: Caller, user_id: str) -> Response:
    return creation_response(read_path_id(user_id))


@bp.delete("/admin/users/<user_id>/api_keys/<key_id>")
@requires_administrator(writes=True)
def revoke_key(caller: Caller, user_id: str, key_id: str) -> Response:
    return revocation_response(read_path_id(user_id), key_id)


def list_response(caller: Caller, user_id: str) -> Response:
    with reading() as transaction:
        keys = api_key.list_keys_of_user(transaction, caller, user_id)
    return json_response({"api_keys": [api_keys.key_body(key) for key in keys]})


def creation_response(user_id: str) -> Response:
    new = api_keys.read_new_key(read_auth_body())
    with request_deadline().writing() as transaction:
        key, text = api_key.create_key(transaction, load_caller(transaction), user_id, new)
    return json_response(api_keys.new_key_body(key, text))


def revocation_response(user_id: str, key_id: str) -> Response:
    read_auth_body()
    with request_deadline().writing() as transaction:
        api_key.revoke_key(transaction, load_caller(transaction), user_id, key_id)
    return json_response({})
