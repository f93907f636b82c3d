"""Do both sides answer the same? Asked before anything is timed: a faster wrong answer is no figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from dataclasses import replace
from typing import Any
from typing import Final
from urllib.parse import parse_qs
from urllib.parse import urlsplit

from bench.cast import Cast
from bench.drive import Answer
from bench.drive import Tokens
from bench.drive import ask
from bench.requests import Call
from bench.requests import Likeness
from bench.requests import Request

CALLS_COMPARED: Final = 12
TRIES: Final = 10
CLOCKED: Final = ("generated_at",)


@dataclass(frozen=True, slots=True)
class Difference(Exception):
    """Two answers that differ, and the call that showed it."""

    call: Call
    ours: Answer
    theirs: Answer

    def __str__(self) -> str:
        who = self.call.asker.person if self.call.asker else "nobody"
        return (
            f"the two sides differ on {self.call.method} {self.call.path} as {who}:\n"
            f"  ours   {said(self.ours)}\n  theirs {said(self.theirs)}"
        )


def said(answer: Answer) -> str:
    return f"{answer.status} {answer.content_range} {answer.body[:600].decode(errors='replace')}"


def require_same(request: Request, cast: Cast, ours: int, theirs: int, tokens: Tokens) -> None:
    """Send some of a request's calls to both ports; raise Difference at the first that is not alike."""
    if request.likeness not in (Likeness.ROWS, Likeness.NUMBERS):
        return
    calls = request.calls(cast)
    for call in calls[:: max(1, len(calls) // CALLS_COMPARED)]:
        for each in variants(call):
            first, second = (asked_on(port, each, tokens) for port in (ours, theirs))
            if comparable(each, first) != comparable(each, second):
                raise Difference(each, first, second)
            if first.status not in (200, 206):
                raise Difference(each, first, second)


def asked_on(port: int, call: Call, tokens: Tokens) -> Answer:
    """What is answered in the end: what is not in memory yet, or not on a busy host, may come too late at first."""
    for _ in range(TRIES):
        answer = ask(port, call, tokens)
        if answer.status < 500:
            break
    return answer


def variants(call: Call) -> list[Call]:
    """The call, and where its order leaves ties, the same with the tie decided: then every row counts."""
    query = parse_qs(urlsplit(call.path).query)
    if "order" not in query or query["order"] == ["id"]:
        return [call]
    order = query["order"][0]
    return [call, replace(call, path=call.path.replace(f"order={order}", f"order={order},id.desc"))]


def comparable(call: Call, answer: Answer) -> Any:
    """What must be equal: everything, or, where ties are open, what the rows were ordered by."""
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
    return answer.status, answer.content_range, [settled(row) for row in found]


def settled(row: Any) -> Any:
    """Embedded rows have no order of their own."""
    if not isinstance(row, dict):
        return row
    return {
        name: sorted(value, key=lambda each: json.dumps(each, sort_keys=True))
        if isinstance(value, list)
        else value
        for name, value in row.items()
    }


def numbers(found: dict[str, Any]) -> dict[str, Any]:
    """A dashboard without its moment, and without the labels that nothing has."""
    return {
        name: {label: count for label, count in value.items() if count}
        if isinstance(value, dict)
        else value
        for name, value in found.items()
        if name not in CLOCKED
    }
