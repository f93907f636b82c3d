"""/rpc: the functions of the API over HTTP. `routes/functions/registry.py` lists them.

A volatile function writes. It takes POST only and reads the caller again after the writer lock is acquired. All
other requests under /rpc go to `unmatched`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from flask import Blueprint, Response, g, request

from access.caller import Caller
from access.decorators import load_caller, public, requires_call, requires_caller
from access.functions import Function
from engine.current import reading, writing
from routes.functions.registry import FUNCTIONS
from routes.http.body import read_body
from routes.http.middleware import respond
from routes.postgrest import calls, requests
from routes.postgrest.media import parse_accept
from routes.postgrest.preferences import TransactionEnd, parse_prefer
from routes.postgrest.representation import Representation
from routes.postgrest.results import as_json

STABLE_METHODS = ("OPTIONS", "GET", "HEAD", "POST")
VOLATILE_METHODS = ("OPTIONS", "POST")


def methods_of(function: Function[..., Any]) -> tuple[str, ...]:
    """Return the methods that call a function."""
    return VOLATILE_METHODS if function.is_volatile else STABLE_METHODS


# Requests


class FunctionCall:
    """A parsed call: arguments, preferences and media type."""

    def __init__(self, function: Function[..., Any]) -> None:
        requests.require_profiles(*map(request.headers.get, requests.PROFILE_HEADERS))
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
    body = g.body if "body" in g else read_body(bytes_max)
    return calls.read_body(name, body, content_type, request.query_string)


def receive_body() -> None:
    """Read the body before the snapshot is opened. A slow client would otherwise hold the snapshot and keep
    the WAL growing.
    """
    if request.method == "POST":
        g.body = read_body()


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
        if function.is_dry_run(function_call.arguments):
            with reading(function.seconds_max) as transaction:
                result = function(transaction, load_caller(transaction), **function_call.arguments)
            return function_call.response(result)
        with writing(seconds_max=function.seconds_max) as transaction:
            # The caller may have lost rights while waiting for the writer lock.
            caller = load_caller(transaction)
            if function_call.rolls_back:
                transaction.roll_back_at_end()
            result = function(transaction, caller, **function_call.arguments)
        return function_call.response(result)

    return call


@requires_caller
def unmatched(caller: Caller, name: str) -> Response:
    """Raise the fault of an unknown function or of a method that does not call it."""
    function = FUNCTIONS.get(name)
    if function is not None or request.method not in STABLE_METHODS:
        methods = methods_of(function) if function is not None else STABLE_METHODS
        raise calls.MethodCannotCall(request.method, methods)
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
