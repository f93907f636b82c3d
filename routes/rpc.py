"""/rpc/…: which functions there are, what each takes, how it may be called, and what it runs.

A function that writes is volatile: it is called by POST only, and asks again who calls once it has its
turn. Whatever else is asked of /rpc, a function nobody knows or a method that calls none, is answered
by `otherwise`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from flask import Blueprint
from flask import Response
from flask import g
from flask import request

from access import assignments
from access import explain
from access.assignments import IDS_MAX
from access.assignments import AssignmentCounts
from access.caller import Caller
from access.caller import GrantKind
from access.decorators import load_caller
from access.decorators import public
from access.decorators import requires_call
from access.decorators import requires_caller
from access.policy import AccessRule
from engine.current import reading
from engine.current import writing
from engine.reporting.chart import read_chart
from engine.reporting.dashboard import read_building_stats
from engine.reporting.dashboard import read_dashboard
from engine.reporting.visible_rows import VisibleRows
from engine.storage.transaction import Transaction
from models import Building
from models import Inspection
from models.types import BIGINT
from models.types import DATE
from models.types import UUID
from routes.body import read_body
from routes.middleware import respond
from routes.postgrest import calls
from routes.postgrest import requests
from routes.postgrest.calls import Arguments
from routes.postgrest.media import parse_accept
from routes.postgrest.preferences import TransactionEnd
from routes.postgrest.preferences import parse_prefer
from routes.postgrest.representation import Representation
from routes.postgrest.signatures import Parameter
from routes.postgrest.signatures import Signature
from routes.postgrest.signatures import a
from routes.postgrest.signatures import an_optional
from routes.postgrest.signatures import ids
from routes.postgrest.signatures import signature

Run = Callable[[Transaction, Caller, Arguments], object]


class Volatility(Enum):
    """Whether a function may write, and so by which methods it is called."""

    STABLE = ("OPTIONS", "GET", "HEAD", "POST")
    VOLATILE = ("OPTIONS", "POST")


@dataclass(frozen=True, slots=True)
class Function:
    """A row of the table."""

    signature: Signature
    volatility: Volatility
    run: Run

    @property
    def name(self) -> str:
        return self.signature.name


# What the functions run


def visible_to(caller: Caller) -> VisibleRows:
    return VisibleRows(AccessRule(caller.profile), caller.id, caller.client_id)


def dashboard(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    return read_dashboard(transaction, visible_to(caller))


def chart(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    dates = given.get("start_date"), given.get("end_date")
    return read_chart(transaction, visible_to(caller), *dates)


def building_stats(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    return read_building_stats(transaction, visible_to(caller), given["building_id"])


def assign_to_admin(kind: GrantKind, parameter: str) -> Run:
    def run(transaction: Transaction, caller: Caller, given: Arguments) -> object:
        assigned: AssignmentCounts = assignments.assign_to_client_admin(
            transaction, caller, given["admin_id"], kind, given[parameter]
        )
        return {
            "success": True,
            "assigned": assigned.created,
            "already_assigned": assigned.existing,
        }

    return run


def assign_to_manager(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    buildings, inspections = assignments.assign_to_client_manager(
        transaction, caller, given["manager_id"], given["building_ids"], given["inspection_ids"]
    )
    return {
        "success": True,
        "assigned_buildings": buildings.created,
        "assigned_inspections": inspections.created,
        "already_assigned": buildings.existing + inspections.existing,
    }


def check_building(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    return explain.is_readable(
        transaction, caller, Building, given["building_id"], given["user_id"]
    )


def check_inspection(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    return explain.is_readable(
        transaction, caller, Inspection, given["inspection_id"], given["user_id"]
    )


def explain_building(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    return explain.explain(transaction, caller, Building, given["building_id"], given["user_id"])


def explain_inspection(transaction: Transaction, caller: Caller, given: Arguments) -> object:
    return explain.explain(
        transaction, caller, Inspection, given["inspection_id"], given["user_id"]
    )


# The table


def stable(name: str, parameters: dict[str, Parameter], run: Run) -> Function:
    return Function(signature(name, parameters), Volatility.STABLE, run)


def volatile(name: str, parameters: dict[str, Parameter], run: Run) -> Function:
    return Function(signature(name, parameters), Volatility.VOLATILE, run)


TABLE = (
    stable("get_inspections_dashboard_summary_fast", {}, dashboard),
    stable(
        "get_building_stats_chart_fast",
        {"start_date": an_optional(DATE), "end_date": an_optional(DATE)},
        chart,
    ),
    stable("get_building_stats", {"building_id": a(BIGINT)}, building_stats),
    volatile(
        "assign_buildings_to_client_admin",
        {"admin_id": a(UUID), "building_ids": ids(IDS_MAX)},
        assign_to_admin(GrantKind.BUILDING, "building_ids"),
    ),
    volatile(
        "assign_inspections_to_client_admin",
        {"admin_id": a(UUID), "inspection_ids": ids(IDS_MAX)},
        assign_to_admin(GrantKind.INSPECTION, "inspection_ids"),
    ),
    volatile(
        "assign_to_client_manager",
        {"manager_id": a(UUID), "building_ids": ids(IDS_MAX), "inspection_ids": ids(IDS_MAX)},
        assign_to_manager,
    ),
    stable(
        "check_building_access_v2",
        {"p_building_id": a(BIGINT), "p_user_id": a(UUID)},
        check_building,
    ),
    stable(
        "check_inspection_access",
        {"p_inspection_id": a(BIGINT), "p_user_id": a(UUID)},
        check_inspection,
    ),
    stable(
        "explain_building_access",
        {"p_building_id": a(BIGINT), "p_user_id": a(UUID)},
        explain_building,
    ),
    stable(
        "explain_inspection_access",
        {"p_inspection_id": a(BIGINT), "p_user_id": a(UUID)},
        explain_inspection,
    ),
)

FUNCTIONS = {function.name: function for function in TABLE}


# The wire


class Called:
    """A call, parsed: arguments, preferences, media type."""

    def __init__(self, signed: Signature) -> None:
        requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
        self.preferences = parse_prefer((request.headers.get("Prefer", ""),))
        calls.require_no_bound(self.preferences)
        self.media = parse_accept(request.headers.get("Accept"))
        self.arguments = calls.read_arguments(signed, read_sent(signed.name))

    @property
    def rolls_back(self) -> bool:
        return self.preferences.transaction is TransactionEnd.ROLLBACK

    def answer(self, answered: object) -> Response:
        value = calls.as_json(answered)
        return respond(calls.represent(value, self.media, self.preferences))


def read_sent(name: str) -> calls.Sent:
    """What was sent to a function: in the body of a POST, else in the query."""
    if request.method != "POST":
        return calls.read_query(request.query_string)
    content_type = request.headers.get("Content-Type")
    body = g.body if "body" in g else read_body()
    return calls.read_body(name, body, content_type, request.query_string)


def receive_body() -> None:
    """Take in the body before there is a snapshot: one who drips it would hold that open, and the
    database's log with it."""
    if request.method == "POST":
        g.body = read_body()


def reading_view(function: Function) -> Callable[..., Response]:
    @requires_call(function.name, writes=False, receive_body=receive_body)
    def call(caller: Caller) -> Response:
        called = Called(function.signature)
        with reading() as transaction:
            answered = function.run(transaction, caller, called.arguments)
        return called.answer(answered)

    return call


def writing_view(function: Function) -> Callable[..., Response]:
    @requires_call(function.name, writes=True)
    def call(caller: Caller) -> Response:
        called = Called(function.signature)
        with writing() as transaction:
            # Whoever has lost a right while waiting for the turn has lost it.
            caller = load_caller(transaction)
            if called.rolls_back:
                transaction.roll_back_at_end()
            answered = function.run(transaction, caller, called.arguments)
        return called.answer(answered)

    return call


@requires_caller
def otherwise(caller: Caller, name: str) -> Response:
    """A function that is not there, or a method that does not call it."""
    function = FUNCTIONS.get(name)
    if function is not None or request.method not in Volatility.STABLE.value:
        volatility = function.volatility if function is not None else Volatility.STABLE
        raise calls.MethodCannotCall(request.method, volatility.value)
    requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
    raise unknown(name, read_sent(name))


def unknown(name: str, sent: calls.Sent) -> calls.UnknownFunction:
    cut = name[: calls.NAME_CHARACTERS_MAX]
    close = get_close_matches(cut, FUNCTIONS, n=1, cutoff=calls.LIKENESS_MIN)
    hint = f"Perhaps you meant to call the function public.{close[0]}" if close else None
    return calls.UnknownFunction(name, sent, hint)


@public("says by which methods a function is called, which everybody may know")
def options(name: str) -> Response:
    function = FUNCTIONS.get(name)
    if function is None:
        raise unknown(name, calls.Sent({}))
    return respond(Representation(200, {"Allow": ",".join(function.volatility.value)}))


def make_blueprint() -> Blueprint:
    """One rule a function and method it is called by; all else under /rpc goes to `otherwise`."""
    bp = Blueprint("rpc", __name__)
    for function in TABLE:
        is_stable = function.volatility is Volatility.STABLE
        bp.add_url_rule(
            f"/rpc/{function.name}",
            function.name,
            reading_view(function) if is_stable else writing_view(function),
            methods=[each for each in function.volatility.value if each != "OPTIONS"],
            provide_automatic_options=False,
        )
    bp.add_url_rule("/rpc/<name>", "options", options, methods=["OPTIONS"])
    bp.add_url_rule(
        "/rpc/<name>",
        "otherwise",
        otherwise,
        methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        provide_automatic_options=False,
    )
    return bp


bp = make_blueprint()
