"""Issues, withdraws, verifies and shows reports of `report_rows`."""

from collections.abc import Callable

from tests.conftest import Response
from tests.inspections.report_world import LEAD

KINDS = ("lead", "findings")


def issue(reports: Callable, who: str = "ada", key: int = LEAD, kind: str = "lead", **arguments: object) -> Response:
    said = {"p_inspection_id": key, "p_kind": kind, "p_signed_name": "Ines Park", **arguments}
    return reports(who).rpc("issue_report", said)


def issued(reports: Callable, *arguments: object, **named: object) -> dict:
    """Issue a report, and return the result of the function."""
    answer = issue(reports, *arguments, **named)
    assert answer.status == 200, answer.text
    return answer.json


def withdraw(reports: Callable, key: int, who: str = "ada", note: str = "The address was wrong.") -> Response:
    return reports(who).rpc("withdraw_report", {"p_id": key, "p_note": note})


def verify(reports: Callable, who: str = "ada", **arguments: str) -> list[dict]:
    answer = reports(who).rpc("verify_report", {f"p_{name}": value for name, value in arguments.items()}, "GET")
    assert answer.status == 200, answer.text
    return answer.json


def show(reports: Callable, key: int, who: str = "ada", accept: str = "text/html") -> Response:
    return reports(who).get(f"/reports/issued/{key}", accept=accept)


def content_of(reports: Callable, key: int) -> dict:
    return show(reports, key, accept="application/json").json["content"]
