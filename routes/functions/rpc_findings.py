"""The functions of findings and visits under /rpc: their parameters, and what they run. `rpc.py` lists them."""

from __future__ import annotations

from access.assignments import IDS_MAX
from access.caller import Caller
from engine.storage.transaction import Transaction
from inspections import findings, visits
from inspections.findings import Move
from models.types import BIGINT, DATE, TEXT, TIMESTAMP
from models.vocabulary import VISIT_RESULTS
from routes.postgrest.calls import Arguments
from routes.postgrest.signatures import choice, id_array, optional_parameter, required_parameter

MOVE_PARAMETERS = {
    "p_finding_ids": id_array(IDS_MAX, count_min=1),
    "p_to": choice(findings.TARGETS),
    "p_note": optional_parameter(TEXT),
    "p_inspection_id": optional_parameter(BIGINT),
    "p_due_at": optional_parameter(TIMESTAMP),
}
REINSPECT_PARAMETERS = {
    "p_inspection_id": required_parameter(BIGINT),
    "p_date_visited": required_parameter(DATE),
    "p_inspector_id": optional_parameter(BIGINT),
}
START_PARAMETERS = {"p_inspection_id": required_parameter(BIGINT)}
CLOSE_PARAMETERS = {
    "p_inspection_id": required_parameter(BIGINT),
    "p_status": choice(VISIT_RESULTS),
    "p_date_visited": optional_parameter(DATE),
    "p_reinspect_on": optional_parameter(DATE),
}


def move_findings(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    move = Move(arguments["to"], arguments.get("note"), arguments.get("inspection_id"), arguments.get("due_at"))
    return findings.move_findings(transaction, caller, arguments["finding_ids"], move)


def reinspect(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return visits.reinspect(
        transaction, caller, arguments["inspection_id"], arguments["date_visited"], arguments.get("inspector_id")
    )


def start_visit(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return visits.start_visit(transaction, caller, arguments["inspection_id"])


def close_visit(transaction: Transaction, caller: Caller, arguments: Arguments) -> object:
    return visits.close_visit(
        transaction,
        caller,
        arguments["inspection_id"],
        arguments["status"],
        arguments.get("date_visited"),
        arguments.get("reinspect_on"),
    )
