"""Issue reports and letters of an imported portfolio: `python -m demo.evidence EMAIL` as this super admin.

Functions of the API freeze them, so that they are those of the service.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date, timedelta
from importlib import import_module
from typing import Any, Final

from demo.vocabulary import COMPANIES
from models.vocabulary import COMPLETED, FAILED, LEAD, OPEN, REPORT_KINDS, SERVICES

INCOMPLETE: Final = "The records of the demonstration are made up."
CLOSED: Final = f"in.({COMPLETED},{FAILED})"
TRIES_MAX: Final = 20


def issue(app: Any, email: str) -> None:
    """Issue a lead report, a findings report, its amendment, and two letters, of which one is served.

    Raise RuntimeError if a request fails.
    """
    api = _Api(app, email)
    query = f"inspection_type=eq.{LEAD}&status={CLOSED}&reports_lead=not.is.null&order=date_visited.desc,id"
    visits = api.get(f"/inspections?select=id,inspectors(name),reports_lead()&{query}&limit={TRIES_MAX}")
    lead, findings = REPORT_KINDS
    api.issue_report(visits[0], lead)
    noted = f"inspections.status={CLOSED}&status=eq.{OPEN}&order=found_at.desc,id"
    columns = "id,inspections!inner(id,building_id,inspectors(name))"
    found = api.get(f"/findings?select={columns}&{noted}&inspections.id=neq.{visits[0]['id']}")
    first = found[0]["inspections"]
    report = api.issue_report(first, findings)
    api.call("withdraw_report", p_id=report["id"], p_note="The name of the signer was misspelt.")
    api.issue_report(first, findings)
    by_building: dict[int, list[int]] = {}
    for each in found:
        if each["inspections"]["building_id"] != first["building_id"]:
            by_building.setdefault(each["inspections"]["building_id"], []).append(each["id"])
    letters = [api.issue_notice(ids, number) for number, ids in enumerate(list(by_building.values())[:2])]
    api.call("serve_notice", p_id=letters[0]["id"], p_served_on=api.today.isoformat(), p_how=SERVICES[0])


class _Api:
    """Requests of one user to an application."""

    def __init__(self, app: Any, email: str) -> None:
        token = app.test_cli_runner().invoke(args=["token", email]).output.strip()
        key = app.config["ANON_KEY"]
        self.headers = {"Authorization": f"Bearer {token}", **({"apikey": key} if key else {})}
        self.client = app.test_client()
        with app.app_context(), app.extensions["walkthrough"].reading() as transaction:
            self.today: date = transaction.today

    def get(self, path: str) -> list[Any]:
        rows: list[Any] = self._json(self.client.get(path, headers=self.headers))
        return rows

    def call(self, name: str, **arguments: object) -> Any:
        return self._json(self.client.post(f"/rpc/{name}", json=arguments, headers=self.headers))

    def issue_report(self, visit: Mapping[str, Any], kind: str) -> Any:
        signer = (visit["inspectors"] or {}).get("name") or COMPANIES[0].admin
        named = {"p_inspection_id": visit["id"], "p_kind": kind, "p_signed_name": signer}
        return self.call("issue_report", **named, p_gaps_reason=INCOMPLETE)

    def issue_notice(self, finding_ids: list[int], number: int) -> Any:
        answer_by = (self.today + timedelta(days=30)).isoformat()
        to = {"p_to_name": COMPANIES[number].name, "p_to_address": f"{number + 1} Harbor Road\nPortland, ME 04101"}
        return self.call("issue_notice", p_finding_ids=finding_ids, p_answer_by=answer_by, **to)

    @staticmethod
    def _json(answer: Any) -> Any:
        if answer.status_code >= 300:
            raise RuntimeError(answer.get_data(as_text=True))
        return answer.get_json()


if __name__ == "__main__":
    issue(import_module("app").create_app({"REQUIRE_APIKEY": False}), sys.argv[1])
