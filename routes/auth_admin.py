"""/auth/v1/admin/users: create, list, change and delete users with GoTrue's requests, under this service's
access rule.
"""

from __future__ import annotations

from flask import Blueprint, Response, current_app, request

from access.accounts import administration, email_disclosure, password
from access.accounts.deadline import Deadline
from access.caller import Caller
from access.decorators import load_caller, requires_administrator
from engine.current import reading
from routes.auth import PREFIX, json_response, read_auth_body, request_deadline
from routes.gotrue import bodies, users
from routes.gotrue.payload import read_page

bp = Blueprint("auth_admin", __name__, url_prefix=f"{PREFIX}/admin")


@bp.get("/users")
@requires_administrator(writes=False)
def list_users(caller: Caller) -> Response:
    rows_max: int = current_app.config["MAX_ROWS"]
    number = read_page("page", request.args.get("page"), 1)
    size = read_page("per_page", request.args.get("per_page"), min(bodies.PER_PAGE, rows_max), rows_max)
    search = users.read_search(request.args.get("filter"), request.args.get("sort"))
    with reading() as transaction:
        page = administration.list_users(transaction, caller, number, size, search)
        return json_response(
            bodies.users_body(page.users, transaction.unix), bodies.page_headers(number, size, page.total, request.args)
        )


@bp.get("/users/<user_id>")
@requires_administrator(writes=False)
def read_user(caller: Caller, user_id: str) -> Response:
    with reading() as transaction:
        person = administration.find_user(transaction, caller, users.read_path_id(user_id))
        return json_response(bodies.user_body(person, transaction.unix))


@bp.post("/users")
@requires_administrator(writes=True)
def create_user(caller: Caller) -> Response:
    user = users.parse_user(read_auth_body())
    deadline = request_deadline()
    password_hash = hash_new_password(user.password, deadline)
    with email_disclosure.counting_disclosures(deadline.writing()) as transaction:
        person = administration.create_user(transaction, load_caller(transaction), user.wanted, password_hash)
        return json_response(bodies.user_body(person, transaction.unix))


@bp.put("/users/<user_id>")
@requires_administrator(writes=True)
def change_user(caller: Caller, user_id: str) -> Response:
    changed_id = users.read_path_id(user_id)
    user = users.parse_user(read_auth_body())
    deadline = request_deadline()
    password_hash = hash_new_password(user.password, deadline)
    with email_disclosure.counting_disclosures(deadline.writing()) as transaction:
        person = administration.change_user(
            transaction, load_caller(transaction), changed_id, user.wanted, password_hash
        )
        return json_response(bodies.user_body(person, transaction.unix))


@bp.delete("/users/<user_id>")
@requires_administrator(writes=True)
def delete_user(caller: Caller, user_id: str) -> Response:
    deleted_id = users.read_path_id(user_id)
    users.read_deletion(read_auth_body())
    with request_deadline().writing() as transaction:
        administration.delete_user(transaction, load_caller(transaction), deleted_id)
    return json_response({})


def hash_new_password(new_password: str | None, deadline: Deadline) -> str | None:
    """Return the hash of a new password, or None for None. It is computed before the writer lock is acquired."""
    if new_password is None:
        return None
    password.require_valid_new(new_password)
    with password.password_hashing(deadline) as hasher:
        return hasher.hash(new_password)
