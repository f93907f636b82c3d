"""/auth/v1/admin/users: users made, shown, changed and deleted in GoTrue's words, under the house's rule."""

from __future__ import annotations

from flask import Blueprint
from flask import Response
from flask import current_app
from flask import request

from access.accounts import administration
from access.accounts import email_disclosure
from access.accounts import password
from access.accounts.deadline import Deadline
from access.caller import Caller
from access.decorators import load_caller
from access.decorators import requires_administrator
from engine.current import reading
from routes.auth import PREFIX
from routes.auth import answer
from routes.auth import read_auth_body
from routes.auth import request_deadline
from routes.gotrue import bodies
from routes.gotrue import users
from routes.gotrue.payload import read_page

bp = Blueprint("auth_admin", __name__, url_prefix=f"{PREFIX}/admin")


@bp.get("/users")
@requires_administrator(writes=False)
def list_users(caller: Caller) -> Response:
    rows_max: int = current_app.config["MAX_ROWS"]
    number = read_page("page", request.args.get("page"), 1)
    size = read_page(
        "per_page", request.args.get("per_page"), min(bodies.PER_PAGE, rows_max), rows_max
    )
    search = users.read_search(request.args.get("filter"), request.args.get("sort"))
    with reading() as transaction:
        page = administration.page(transaction, caller, number, size, search)
        return answer(
            bodies.users_body(page.people, transaction.unix),
            bodies.page_headers(number, size, page.total, request.args),
        )


@bp.get("/users/<user_id>")
@requires_administrator(writes=False)
def read_user(caller: Caller, user_id: str) -> Response:
    with reading() as transaction:
        person = administration.find(transaction, caller, users.read_path_id(user_id))
        return answer(bodies.user_body(person, transaction.unix))


@bp.post("/users")
@requires_administrator(writes=True)
def create_user(caller: Caller) -> Response:
    user = users.read_user(read_auth_body())
    until = request_deadline()
    password_hash = hashed(user.password, until)
    with email_disclosure.counting(until.writing()) as transaction:
        person = administration.create(
            transaction, load_caller(transaction), user.wanted, password_hash
        )
        return answer(bodies.user_body(person, transaction.unix))


@bp.put("/users/<user_id>")
@requires_administrator(writes=True)
def change_user(caller: Caller, user_id: str) -> Response:
    changed_id = users.read_path_id(user_id)
    user = users.read_user(read_auth_body())
    until = request_deadline()
    password_hash = hashed(user.password, until)
    with email_disclosure.counting(until.writing()) as transaction:
        person = administration.change(
            transaction, load_caller(transaction), changed_id, user.wanted, password_hash
        )
        return answer(bodies.user_body(person, transaction.unix))


@bp.delete("/users/<user_id>")
@requires_administrator(writes=True)
def delete_user(caller: Caller, user_id: str) -> Response:
    deleted_id = users.read_path_id(user_id)
    users.read_deletion(read_auth_body())
    with request_deadline().writing() as transaction:
        administration.remove(transaction, load_caller(transaction), deleted_id)
    return answer({})


def hashed(new_password: str | None, until: Deadline) -> str | None:
    """A new password's hash, made before the turn to write is asked for."""
    if new_password is None:
        return None
    password.require_new(new_password)
    with password.hashing(until) as turn:
        return turn.hash(new_password)
