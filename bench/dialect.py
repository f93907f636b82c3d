"""How a call of the benchmark is sent to one server, and how its answer is read.

Calls are written in PostgREST's dialect, which Walkthrough shares. A server of another dialect has a subclass here.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.requests import HttpCall
from bench.servers import ANON_KEY
from bench.tokens import Tokens


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The parts of an HTTP response that are compared."""

    status: int
    content_range: str | None
    body: bytes


class Dialect:
    """PostgREST's: calls and answers are sent and read unchanged."""

    name = ""
    """Part of the names of the files of calls. Dialects that translate calls alike share it."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        self.tokens = tokens or Tokens()

    def translate(self, call: HttpCall) -> HttpCall | None:
        """Return the call as it is sent; None where the server has no counterpart."""
        return call

    def read(self, call: HttpCall, answer: HttpAnswer) -> HttpAnswer:
        """Return the answer to a call in PostgREST's form."""
        return answer

    def token(self, call: HttpCall) -> str:
        return self.tokens.of(call.caller.user)

    def headers(self, call: HttpCall) -> dict[str, str]:
        found = {"apikey": ANON_KEY, "Authorization": f"Bearer {self.token(call)}"}
        if call.prefer:
            found["Prefer"] = call.prefer
        if call.body:
            found["Content-Type"] = "application/json"
        return found
