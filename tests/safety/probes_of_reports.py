"""Probes of issued reports and letters: who issues, serves and withdraws them, their audit entries and their ids."""

from collections.abc import Callable
from functools import wraps

from tests.conftest import MOE
from tests.safety.probe import Probe, cast_world, expect, send
from tests.safety.probes_of_files import AT
from tests.safety.probes_of_locks import FROZEN, insert
from tests.safety.service_instances import HttpResponse, ServiceInstance

VISIT, READING, FINDING = 5, 500, 500
"""An inspection of moe in the following probes, and its rows."""

REPORT = {"kind": "findings", "number": "2024-000001", "signed_name": "Mia", **FROZEN}
LETTER = {"to_name": "T", "to_address": "A", "answer_by": "2026-12-31", "number": "2024-000001", **FROZEN}
PARENTS = {"issued_reports": {"inspection_id": 9, **REPORT}, "notices": {"building_id": 6, **LETTER}}
"""A row of each table, of a visit or building of client 1 without such rows."""

DONE, DENIED, HIDDEN, OVER = 200, 403, 404, 400


def call(
    instance: ServiceInstance, who: str, function: str, prefer: str = "tx=rollback", **arguments: object
) -> HttpResponse:
    given = {f"p_{name}": value for name, value in arguments.items()}
    return send(instance, who, "POST", f"/rpc/{function}", given, prefer=prefer)


def restored(probe: Callable[[ServiceInstance], None]) -> Callable[[ServiceInstance], None]:
    """Return a probe that begins and ends with the world of the cast."""

    @wraps(probe)
    def run(instance: ServiceInstance) -> None:
        instance.load(cast_world())
        try:
            probe(instance)
        finally:
            instance.load(cast_world())

    return run


def link_moe(instance: ServiceInstance, status: str) -> None:
    """Make moe the inspector of inspections 5 and 6. The first has a reading, a finding and a status."""
    times = {"created_at": AT, "updated_at": AT}
    insert(instance, "reports_lead", id=READING, inspection_id=VISIT, client_id=1, room="Hall", updated_at=AT)
    finding = {"case_id": VISIT, "description": "Found", "severity": "low", "found_at": AT, **times}
    insert(instance, "findings", id=FINDING, inspection_id=VISIT, client_id=1, **finding)
    for path, change in (
        ("/inspectors?id=eq.3", {"user_id": MOE}),
        (f"/inspections?id=eq.{VISIT}", {"status": status, "date_visited": "2025-06-10"}),
    ):
        answer = send(instance, "root", "PATCH", path, change)
        expect(answer.status == 204, answer)


LETTER_ARGUMENTS = {"to_name": "O", "to_address": "A", "answer_by": "2999-12-31"}


@restored
def inspectors_void_readings(instance: ServiceInstance) -> None:
    link_moe(instance, "in_progress")
    for key, status in ((READING, DONE), (1, DENIED)):
        answer = call(instance, "moe", "void_rows", table="reports_lead", ids=[key], reason="r")
        expect(answer.status == status, (key, answer))


@restored
def reports_are_issued_and_withdrawn(instance: ServiceInstance) -> None:
    """An inspector issues reports of their visits. Administrators of the visit's client withdraw them."""
    link_moe(instance, "completed")
    for inspection_id, status in ((VISIT, DONE), (2, DENIED), (4, HIDDEN)):
        asked = {"inspection_id": inspection_id, "kind": "findings", "signed_name": "Moe"}
        answer = call(instance, "moe", "issue_report", **asked)
        expect(answer.status == status, (inspection_id, answer))
    issued = call(instance, "moe", "issue_report", "", inspection_id=VISIT, kind="findings", signed_name="Moe")
    expect(issued.status == DONE, issued)
    for who, status in (("root", DONE), ("ada", DONE), ("moe", DENIED), ("bob", HIDDEN), ("mia", HIDDEN)):
        answer = call(instance, who, "withdraw_report", id=issued.json["id"], note="n")
        expect(answer.status == status, (who, answer))


@restored
def reports_of_other_clients_stay(instance: ServiceInstance) -> None:
    """Who reads a report by a grant withdraws none. The reports of the cast are withdrawn: their owners get 400."""
    for who, report, status in (
        ("root", 4, OVER), ("ada", 1, OVER), ("ada", 4, DENIED), ("bob", 2, OVER), ("bob", 3, DENIED),
        ("ada", 6, OVER), ("bob", 6, DENIED), ("moe", 1, DENIED), ("moe", 2, HIDDEN), ("max", 2, DENIED),
    ):  # fmt: skip
        answer = call(instance, who, "withdraw_report", id=report, note="n")
        expect(answer.status == status, (who, report, answer))


@restored
def letters_are_issued_served_and_withdrawn(instance: ServiceInstance) -> None:
    """An inspector issues letters about findings of their visits at their client, and records their service."""
    link_moe(instance, "in_progress")
    for who, finding, status in (
        ("root", 4, DONE), ("ada", 1, DONE), ("ada", 4, DENIED), ("ada", 2, HIDDEN), ("bob", 3, DENIED),
        ("moe", FINDING, DONE), ("moe", 1, DENIED), ("moe", 2, DENIED), ("mia", FINDING, HIDDEN),
    ):  # fmt: skip
        answer = call(instance, who, "issue_notice", finding_ids=[finding], **LETTER_ARGUMENTS)
        expect(answer.status == status, (who, finding, answer))
    issued = call(instance, "moe", "issue_notice", "", finding_ids=[FINDING], **LETTER_ARGUMENTS)
    expect(issued.status == DONE, issued)
    served = {"served_on": AT[:10], "how": "post"}
    instance.direct_database.sql("UPDATE notices SET issued_at = ?", (AT,))
    for who, letter, to_serve, to_withdraw in (
        ("root", 2, DONE, DONE), ("ada", 1, DONE, DONE), ("ada", 2, HIDDEN, HIDDEN), ("bob", 2, DONE, DONE),
        ("bob", 1, HIDDEN, HIDDEN), ("moe", 1, DENIED, DENIED), ("moe", 4, HIDDEN, HIDDEN),
        ("moe", issued.json["id"], DONE, DENIED), ("ada", issued.json["id"], DONE, DONE),
    ):  # fmt: skip
        answer = call(instance, who, "serve_notice", id=letter, **served)
        expect(answer.status == to_serve, (who, letter, answer))
        answer = call(instance, who, "withdraw_notice", id=letter, note="n")
        expect(answer.status == to_withdraw, (who, letter, answer))


@restored
def writes_of_reports_and_letters_are_logged(instance: ServiceInstance) -> None:
    """Each write by SQL has its audit entries. A change of the client deletes a row of one, and adds it to another."""
    sql = instance.direct_database.sql
    for table, row in PARENTS.items():
        key = "WHERE id = 300000"
        query = f"SELECT action, client_id FROM audit_log WHERE relation = '{table}' AND row_key = '300000' ORDER BY id"
        insert(instance, table, id=300_000, **row)
        for statement in (
            f"UPDATE {table} SET withdrawn_note = 'Wrong' {key}",
            f"UPDATE {table} SET client_id = 2 {key}",
            f"DELETE FROM {table} {key}",
        ):
            sql(statement)
        found = sql(query)
        expected = [("insert", 1), ("update", 1), ("delete", 1), ("insert", 2), ("delete", 2)]
        expect([tuple(each) for each in found] == expected, (table, found))


@restored
def chosen_ids_count_as_used(instance: ServiceInstance) -> None:
    """An import sets ids. Later ids are larger."""
    sql = instance.direct_database.sql
    for table, row in PARENTS.items():
        insert(instance, table, id=300_000, **row)
        sql(f"UPDATE {table} SET withdrawn_at = ?", (AT,))
        insert(instance, table, **{**row, "number": "2024-000002"})
        found = sql(f"SELECT id FROM {table} WHERE number = '2024-000002'")
        expect([tuple(each) for each in found] == [(300_001,)], (table, found))


REPORT_PROBES = [
    Probe(each.__name__.replace("_", " "), frozenset(tags), each)
    for each, tags in (
        (inspectors_void_readings, ("void_rows", "call", "moe")),
        (reports_are_issued_and_withdrawn, ("issue_report", "withdraw_report", "WITHDRAWN_REPORTS", "call", "moe")),
        (reports_of_other_clients_stay, ("withdraw_report", "WITHDRAWN_REPORTS", "call", "ada")),
        (letters_are_issued_served_and_withdrawn,
         ("issue_notice", "serve_notice", "withdraw_notice", "LETTERED_FINDINGS", "SERVED_LETTERS",
          "WITHDRAWN_LETTERS", "call", "moe")),
        (writes_of_reports_and_letters_are_logged, ("audit",)),
        (chosen_ids_count_as_used, ("cascade", "issued", "notices")),
    )
]  # fmt: skip
