"""/rpc: the functions, their parameters and methods, and what they run.

A volatile function writes. It takes POST only and reads the caller again after the writer lock is acquired. All
other requests under /rpc go to `unmatched`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from flask import Blueprint, Response, g, request

from access import assignments, explain
from access.assignments import IDS_MAX, AssignmentCounts
from access.caller import Caller
from access.decorators import load_caller, public, requires_call, requires_caller
from access.roles import GrantKind
from engine.current import reading, writing
from engine.storage.transaction import Transaction
from inspections.reporting.building_statistics import read_building_stats
from inspections.reporting.chart import read_chart
from inspections.reporting.dashboard import read_dashboard
from inspections.reporting.due_summary import read_due_summary
from models import Building, Inspection
from models.types import BIGINT, DATE, UUID
from routes.functions import rpc_findings, rpc_schedules
from routes.http.body import read_body
from routes.http.middleware import respond
from routes.postgrest import calls, requests
from routes.postgrest.calls import Arguments
from routes.postgrest.media import parse_accept
from routes.postgrest.preferences import TransactionEnd, parse_prefer
from routes.postgrest.representation import Representation
from routes.postgrest.signatures import (
    Parameter,
    Signature,
    id_array,
    optional_parameter,
    required_parameter,
    signature,
)

Run = Callable[[Transaction, Caller, Arguments], object]


class Volatility(Enum):
    """Whether a function may write, with the methods that call it."""

    STABLE = ("OPTIONS", "GET", "HEAD", "POST")
    VOLATILE = ("OPTIONS", "POST")


@dataclass(frozen=True, slots=True)
class Function:
    """A function: signature, volatility and implementation."""

    signature: Signature
    volatility: Volatility
    run: Run

    @property
    def name(self) -> str:
        return self.signature.name


# Implementations


def dashboard(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return read_dashboard(transaction, caller.visible_rows())


def chart(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    dates = arguments.get("start_date"), arguments.get("end_date")
    return read_chart(transaction, caller.visible_rows(), *dates)


def building_stats(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return read_building_stats(transaction, caller.visible_rows(), arguments["building_id"])


def assign_to_admin(kind: GrantKind, parameter: str) -> Run:
    def run(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
        assigned: AssignmentCounts = assignments.assign_to_client_admin(
            transaction, caller, arguments["admin_id"], kind, arguments[parameter]
        )
        return {"success": True, "assigned": assigned.created, "already_assigned": assigned.existing}

    return run


def assign_to_manager(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    buildings, inspections = assignments.assign_to_client_manager(
        transaction,
        caller,
        arguments["manager_id"],
        arguments.get("building_ids", ()),
        arguments.get("inspection_ids", ()),
    )
    return {
        "success": True,
        "assigned_buildings": buildings.created,
        "assigned_inspections": inspections.created,
        "already_assigned": buildings.existing + inspections.existing,
    }


def check_building(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return explain.is_readable(transaction, caller, Building, arguments["building_id"], arguments["user_id"])


def check_inspection(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return explain.is_readable(transaction, caller, Inspection, arguments["inspection_id"], arguments["user_id"])


def explain_building(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return explain.explain(transaction, caller, Building, arguments["building_id"], arguments["user_id"])


def explain_inspection(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return explain.explain(transaction, caller, Inspection, arguments["inspection_id"], arguments["user_id"])


# The table


def stable(name: str, parameters: dict[str, Parameter], run: Run) -> Function:
    return Function(signature(name, parameters), Volatility.STABLE, run)


def volatile(name: str, parameters: dict[str, Parameter], run: Run) -> Function:
    return Function(signature(name, parameters), Volatility.VOLATILE, run)


TABLE = (
    stable("get_inspections_dashboard_summary_fast", {}, dashboard),
    stable(
        "get_building_stats_chart_fast",
        {"start_date": optional_parameter(DATE), "end_date": optional_parameter(DATE)},
        chart,
    ),
    stable("get_building_stats", {"building_id": required_parameter(BIGINT)}, building_stats),
    volatile(
        "assign_buildings_to_client_admin",
        {"admin_id": required_parameter(UUID), "building_ids": id_array(IDS_MAX)},
        assign_to_admin(GrantKind.BUILDING, "building_ids"),
    ),
    volatile(
        "assign_inspections_to_client_admin",
        {"admin_id": required_parameter(UUID), "inspection_ids": id_array(IDS_MAX)},
        assign_to_admin(GrantKind.INSPECTION, "inspection_ids"),
    ),
    volatile(
        "assign_to_client_manager",
        {
            "manager_id": required_parameter(UUID),
            "building_ids": id_array(IDS_MAX, required=False),
            "inspection_ids": id_array(IDS_MAX, required=False),
        },
        assign_to_manager,
    ),
    stable(
        "check_building_access_v2",
        {"p_building_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
        check_building,
    ),
    stable(
        "check_inspection_access",
        {"p_inspection_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
        check_inspection,
    ),
    stable(
        "explain_building_access",
        {"p_building_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
        explain_building,
    ),
    stable(
        "explain_inspection_access",
        {"p_inspection_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
        explain_inspection,
    ),
    volatile("apply_schedule", rpc_schedules.APPLY, rpc_schedules.apply),
    volatile("skip_occurrence", rpc_schedules.SKIP, rpc_schedules.skip),
    stable("preview_schedule", rpc_schedules.PREVIEW, rpc_schedules.preview),
    stable("get_due_summary", {}, lambda transaction, caller, _: read_due_summary(transaction, caller.visible_rows())),
    volatile("move_findings", rpc_findings.MOVE_PARAMETERS, rpc_findings.move_findings),
    volatile("reinspect", rpc_findings.REINSPECT_PARAMETERS, rpc_findings.reinspect),
    volatile("start_visit", rpc_findings.START_PARAMETERS, rpc_findings.start_visit),
    volatile("close_visit", rpc_findings.CLOSE_PARAMETERS, rpc_findings.close_visit),
)

FUNCTIONS = {function.name: function for function in TABLE}


# Requests


class FunctionCall:
    """A parsed call: arguments, preferences and media type."""

    def __init__(self, function_signature: Signature) -> None:
        requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
        self.preferences = parse_prefer((request.headers.get("Prefer", ""),))
        calls.refuse_max_affected(self.preferences)
        self.media = parse_accept(request.headers.get("Accept"))
        self.arguments = calls.read_arguments(function_signature, read_input(function_signature.name))

    @property
    def rolls_back(self) -> bool:
        return self.preferences.transaction is TransactionEnd.ROLLBACK

    def response(self, result: object) -> Response:
        value = calls.as_json(result)
        return respond(calls.represent(value, self.media, self.preferences))


def read_input(name: str) -> calls.CallInput:
    """Return a call's arguments, from the body of a POST or from the query string."""
    if request.method != "POST":
        return calls.read_query(request.query_string)
    content_type = request.headers.get("Content-Type")
    body = g.body if "body" in g else read_body()
    return calls.read_body(name, body, content_type, request.query_string)


def receive_body() -> None:
    """Read the body before the snapshot is opened. A slow client would otherwise hold the snapshot and keep
    the WAL growing.
    """
    if request.method == "POST":
        g.body = read_body()


def reading_view(function: Function) -> Callable[..., Response]:
    @requires_call(function.name, writes=False, receive_body=receive_body)
    def call(caller: Caller) -> Response:
        function_call = FunctionCall(function.signature)
        with reading() as transaction:
            result = function.run(transaction, caller, function_call.arguments)
        return function_call.response(result)

    return call


def writing_view(function: Function) -> Callable[..., Response]:
    @requires_call(function.name, writes=True)
    def call(caller: Caller) -> Response:
        function_call = FunctionCall(function.signature)
        with writing() as transaction:
            # The caller may have lost rights while waiting for the writer lock.
            caller = load_caller(transaction)
            if function_call.rolls_back:
                transaction.roll_back_at_end()
            result = function.run(transaction, caller, function_call.arguments)
        return function_call.response(result)

    return call


@requires_caller
def unmatched(caller: Caller, name: str) -> Response:
    """Raise the fault of an unknown function or of a method that does not call it."""
    function = FUNCTIONS.get(name)
    if function is not None or request.method not in Volatility.STABLE.value:
        volatility = function.volatility if function is not None else Volatility.STABLE
        raise calls.MethodCannotCall(request.method, volatility.value)
    requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
    raise unknown_function(name, read_input(name))


def unknown_function(name: str, call: calls.CallInput) -> calls.UnknownFunction:
    cut = name[: calls.NAME_CHARACTERS_MAX]
    matches = get_close_matches(cut, FUNCTIONS, n=1, cutoff=calls.LIKENESS_MIN)
    hint = f"Perhaps you meant to call the function public.{matches[0]}" if matches else None
    return calls.UnknownFunction(name, call, hint)


@public("the allowed methods of a function are public")
def options(name: str) -> Response:
    function = FUNCTIONS.get(name)
    if function is None:
        raise unknown_function(name, calls.CallInput({}))
    return respond(Representation(200, {"Allow": ",".join(function.volatility.value)}))


def make_blueprint() -> Blueprint:
    """Return the blueprint. All other paths under /rpc go to `unmatched`."""
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
        "unmatched",
        unmatched,
        methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        provide_automatic_options=False,
    )
    return bp


bp = make_blueprint()
