"""Compares the answers of two servers before a request is timed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlsplit

from bench.callers import Callers
from bench.dialect import HttpAnswer
from bench.requests import Comparison, HttpCall, Request

CALLS_COMPARED: Final = 12
ATTEMPTS: Final = 10
UNCOMPARED: Final = ("generated_at", "today", "timezone", "open_findings", "findings_overdue")


class Sender(Protocol):
    """A server that answers calls in PostgREST's form."""

    @property
    def name(self) -> str: ...

    def send(self, call: HttpCall) -> HttpAnswer: ...


@dataclass(frozen=True, slots=True)
class Difference(Exception):
    """Two servers gave different answers to a call."""

    call: HttpCall
    first: HttpAnswer
    second: HttpAnswer
    names: tuple[str, str]

    def __str__(self) -> str:
        return (
            f"answers differ on {self.call.method} {self.call.path} as {self.call.caller.user}:\n"
            f"  {self.names[0]}: {summary(self.first)}\n  {self.names[1]}: {summary(self.second)}"
        )


def summary(answer: HttpAnswer) -> str:
    return f"{answer.status} {answer.content_range} {answer.body[:600].decode(errors='replace')}"


def require_equal_answers(request: Request, callers: Callers, first: Sender, second: Sender) -> None:
    """Send some of a request's calls to both servers; raise Difference at the first unequal pair."""
    if request.comparison not in (Comparison.ROWS, Comparison.NUMBERS):
        return
    calls = request.calls(callers)
    for call in calls[:: max(1, len(calls) // CALLS_COMPARED)]:
        for variant in variants(call):
            answers = send_until_answered(first, variant), send_until_answered(second, variant)
            equal = comparable(variant, answers[0]) == comparable(variant, answers[1])
            if not equal or answers[0].status not in (200, 206):
                raise Difference(variant, *answers, (first.name, second.name))


def send_until_answered(server: Sender, call: HttpCall) -> HttpAnswer:
    """Send a call up to ten times: the first attempts may exceed a deadline while the file is not in memory."""
    for _ in range(ATTEMPTS):
        answer = server.send(call)
        if answer.status < 500:
            break
    return answer


def variants(call: HttpCall) -> list[HttpCall]:
    """Return the call, and, if its order has ties, the call with `id` as the last key."""
    query = parse_qs(urlsplit(call.path).query)
    if "order" not in query or query["order"] == ["id"]:
        return [call]
    order = query["order"][0]
    return [call, replace(call, path=call.path.replace(f"order={order}", f"order={order},id.desc"))]


def comparable(call: HttpCall, answer: HttpAnswer) -> Any:
    """Return the parts that must be equal. With ties in the order: the values of the first key only."""
    if call.method == "HEAD":
        return answer.status, answer.content_range
    found = json.loads(answer.body)
    if isinstance(found, dict):
        return answer.status, numbers(found)
    order = parse_qs(urlsplit(call.path).query).get("order", [""])[0]
    column = order.split(".")[0]
    if order and "id" not in order.replace(",", ".").split("."):
        found = [row[column] for row in found]
    elif not order:
        found = sorted(found, key=lambda row: json.dumps(row, sort_keys=True))
    return answer.status, answer.content_range, [sort_embedded(row) for row in found]


def sort_embedded(row: Any) -> Any:
    """Sort embedded rows, which have no order of their own."""
    if not isinstance(row, dict):
        return row
    return {
        name: sorted(value, key=lambda each: json.dumps(each, sort_keys=True)) if isinstance(value, list) else value
        for name, value in row.items()
    }


def numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard without its time and without zero counts."""
    return {
        name: {label: count for label, count in value.items() if count} if isinstance(value, dict) else value
        for name, value in found.items()
        if name not in UNCOMPARED
    }
