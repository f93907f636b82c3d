"""/rpc: the list of the API's functions, in the order of its description, and their calls over HTTP.

A volatile function writes. It takes POST only and reads the caller again after the writer lock is acquired. All other
requests under /rpc go to `unmatched`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from flask import Blueprint, Response, request

from access import assignments, explain
from access.caller import Caller
from access.decorators import Function, load_caller, public, requires_call, requires_caller
from engine.open import reading, writing
from inspections import findings, schedules, visits
from inspections.imports.import_csv import import_csv
from inspections.lead import assessment, summary, voiding
from inspections.reporting import chart, dashboard, due_summary
from inspections.reports import issue, issued, notices, reports
from routes.http.body import read_body
from routes.http.middleware import respond
from routes.postgrest import calls, representation
from routes.postgrest.errors import as_json
from routes.postgrest.preferences import TransactionEnd, parse_accept, parse_prefer
from routes.postgrest.representation import Representation

DECLARED: Final[tuple[Function[..., Any], ...]] = (
    dashboard.read_dashboard,
    chart.read_chart,
    chart.read_building_stats,
    assignments.assign_buildings_to_client_admin,
    assignments.assign_inspections_to_client_admin,
    assignments.assign_to_manager,
    explain.check_building_access_v2,
    explain.check_inspection_access,
    explain.explain_building_access,
    explain.explain_inspection_access,
    schedules.apply_schedule,
    schedules.skip_occurrence,
    schedules.preview_schedule,
    due_summary.read_due_summary,
    findings.move_findings,
    findings.regrade_finding,
    findings.report_defect,
    notices.issue_notice,
    notices.serve_notice,
    notices.withdraw_notice,
    visits.reinspect,
    visits.start_visit,
    visits.close_visit,
    summary.lead_summary,
    assessment.reclassify_readings,
    voiding.void_rows,
    import_csv,
    reports.report_gaps,
    issue.issue_report,
    issued.withdraw_report,
    issued.verify_report,
)

FUNCTIONS: Final = {each.name: each for each in DECLARED}


STABLE_METHODS = ("OPTIONS", "GET", "HEAD", "POST")
VOLATILE_METHODS = ("OPTIONS", "POST")


def methods_of(function: Function[..., Any]) -> tuple[str, ...]:
    """Return the methods that call a function."""
    return VOLATILE_METHODS if function.is_volatile else STABLE_METHODS


# Requests


class FunctionCall:
    """A parsed call: arguments, preferences and media type."""

    def __init__(self, function: Function[..., Any]) -> None:
        representation.require_profiles(*map(request.headers.get, representation.PROFILE_HEADERS))
        self.preferences = parse_prefer(request.headers.get("Prefer", ""))
        calls.refuse_max_affected(self.preferences)
        self.media = parse_accept(request.headers.get("Accept"))
        self.arguments = calls.read_arguments(function, read_input(function.name, function.body_bytes_max))

    @property
    def rolls_back(self) -> bool:
        return self.preferences.transaction is TransactionEnd.ROLLBACK

    def response(self, result: object) -> Response:
        value = as_json(result)
        return respond(calls.represent(value, self.media, self.preferences))


def read_input(name: str, bytes_max: int | None = None) -> calls.CallInput:
    """Return a call's arguments, from the body of a POST or from the query string."""
    if request.method != "POST":
        return calls.read_query(request.query_string)
    content_type = request.headers.get("Content-Type")
    return calls.read_body(name, read_body(bytes_max), content_type, request.query_string)


def receive_body() -> None:
    """Read the body before the snapshot is opened. A slow client would otherwise hold the snapshot and keep
    the WAL growing.
    """
    if request.method == "POST":
        read_body()


def reading_view(function: Function[..., Any]) -> Callable[..., Response]:
    @requires_call(function, receive_body=receive_body)
    def call(caller: Caller) -> Response:
        function_call = FunctionCall(function)
        with reading() as transaction:
            result = function(transaction, caller, **function_call.arguments)
        return function_call.response(result)

    return call


def writing_view(function: Function[..., Any]) -> Callable[..., Response]:
    @requires_call(function)
    def call(caller: Caller) -> Response:
        function_call = FunctionCall(function)
        arguments = function_call.arguments
        is_dry_run = function.is_dry_run(arguments)
        if is_dry_run or function.preparation is not None:
            with reading(function.seconds_max) as transaction:
                caller = load_caller(transaction)
                arguments = function.prepare(transaction, caller, arguments)
                if is_dry_run:
                    return function_call.response(function(transaction, caller, **arguments))
        with writing(seconds_max=function.seconds_max) as transaction:
            # The caller may have lost rights while waiting for the writer lock.
            caller = load_caller(transaction)
            if function_call.rolls_back:
                transaction.roll_back_at_end()
            result = function(transaction, caller, **arguments)
        return function_call.response(result)

    return call


@requires_caller
def unmatched(caller: Caller, name: str) -> Response:
    """Raise the fault of an unknown function or of a method that does not call it."""
    function = FUNCTIONS.get(name)
    if function is not None or request.method not in STABLE_METHODS:
        methods = methods_of(function) if function is not None else STABLE_METHODS
        raise calls.MethodCannotCall(request.method, methods)
    representation.require_profiles(*map(request.headers.get, representation.PROFILE_HEADERS))
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
    return respond(Representation(200, {"Allow": ",".join(methods_of(function))}))


def make_blueprint() -> Blueprint:
    """Return the blueprint. All other paths under /rpc go to `unmatched`."""
    bp = Blueprint("rpc", __name__)
    for function in FUNCTIONS.values():
        bp.add_url_rule(
            f"/rpc/{function.name}",
            function.name,
            writing_view(function) if function.is_volatile else reading_view(function),
            methods=[each for each in methods_of(function) if each != "OPTIONS"],
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
