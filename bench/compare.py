"""Compares the answers of servers before a request is timed, so that all of them do the same work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from bench.dataset import Callers
from bench.http_client import HttpAnswer, HttpCall
from bench.measure import Target
from bench.requests import PATCHED_FROM, ROOT, Request

CALLS_COMPARED: Final = 12
ATTEMPTS: Final = 10
UNCOMPARED: Final = ("generated_at", "today", "timezone", "open_findings", "findings_overdue")
WRITTEN_COLUMNS: Final = "building_id,inspection_type,date_visited,status,inspector_id,notes"


class Difference(Exception):
    """Two servers gave different answers to a call."""


def require_equal_answers(request: Request, callers: Callers, servers: Sequence[Target]) -> None:
    """Send some of a request's calls to all servers; raise Difference at the first unequal pair."""
    calls = request.calls(callers)
    for call in calls[:: max(1, len(calls) // CALLS_COMPARED)]:
        ordered = with_unique_order(call)
        require_equal(ordered, servers, [send_until_answered(each, ordered) for each in servers], (200, 206))


def require_equal_writes(request: Request, callers: Callers, servers: Sequence[Target]) -> None:
    """Send one write to all servers, and read the written rows; raise Difference."""
    call = request.calls(callers)[0]
    require_equal(call, servers, [each.send(call) for each in servers], (201, 204))
    last = PATCHED_FROM - 1 if call.method == "PATCH" else callers.inspection_count
    path = f"/inspections?select={WRITTEN_COLUMNS}&id=gt.{last}&order=id"
    read = HttpCall(callers.by_role[ROOT][0], path)
    require_equal(read, servers, [each.send(read) for each in servers], (200, 206))


def require_equal(
    call: HttpCall, servers: Sequence[Target], answers: Sequence[HttpAnswer], statuses: tuple[int, int]
) -> None:
    """Raise Difference unless all answers to a call have one of the statuses and equal contents."""
    for server, answer in zip(servers, answers, strict=True):
        equal = answer.status in statuses and comparable(answer) == comparable(answers[0])
        if not equal:
            raise Difference(
                f"answers differ on {call.method} {call.path} as {call.caller.user}:\n"
                f"  {servers[0].name}: {answers[0]}\n  {server.name}: {answer}"
            )


def send_until_answered(server: Target, call: HttpCall) -> HttpAnswer:
    """Send a call up to ten times: the first attempts may exceed a deadline while the file is not in memory."""
    for _ in range(ATTEMPTS):
        answer = server.send(call)
        if answer.status < 500:
            break
    return answer


def with_unique_order(call: HttpCall) -> HttpCall:
    """Return the call with `id` as the last key of its order, or as its order."""
    query = parse_qs(urlsplit(call.path).query)
    if "/rpc/" in call.path or query.get("order") == ["id"]:
        return call
    if "order" in query:
        [order] = query["order"]
        return replace(call, path=call.path.replace(f"order={order}", f"order={order},id.desc"))
    return replace(call, path=f"{call.path}&order=id")


def comparable(answer: HttpAnswer) -> Any:
    """Return the parts of an answer that must be equal."""
    content = json.loads(answer.body or "null")
    if isinstance(content, dict):
        return answer.status, numbers(content)
    return answer.status, answer.content_range, [with_sorted_embeds(row) for row in content or ()]


def with_sorted_embeds(row: dict[str, Any]) -> dict[str, Any]:
    """Sort embedded rows, which have no order of their own."""
    return {name: sorted(value, key=as_text) if isinstance(value, list) else value for name, value in row.items()}


def as_text(row: Any) -> str:
    return json.dumps(row, sort_keys=True)


def numbers(dashboard: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard without its time and without zero counts."""
    return {
        name: {label: count for label, count in value.items() if count} if isinstance(value, dict) else value
        for name, value in dashboard.items()
        if name not in UNCOMPARED
    }
