"""Probes of the triggers that refuse the writes of managers to rows of closed visits."""

from tests.conftest import MOE
from tests.safety.probe import Probe, cast_world, expect, send
from tests.safety.probes_of_files import AT, insertion
from tests.safety.probes_of_rows import PARTS
from tests.safety.service_instances import ServiceInstance

CLOSED = "The visit is closed. An administrator may take its result back."
CHANGES = {"reports_lead": {"gun_id": 8}, "calibration_checks": {"note": "n"}, "findings": {"description": "d"}}


def link_moe_and_close(instance: ServiceInstance) -> None:
    """Make moe the inspector of inspection 5, and close it with a row of each table."""
    root = [("PATCH", "/inspectors?id=eq.3", {"user_id": MOE})]
    root += [("POST", f"/{table}", {**row, "inspection_id": 5}) for table, row in PARTS]
    root.append(("PATCH", "/inspections?id=eq.5", {"status": "failed", "date_visited": "2025-06-10"}))
    for method, path, body in root:
        answer = send(instance, "root", method, path, body)
        expect(answer.status in (201, 204), answer)


def rows_of_closed_visits_stay(instance: ServiceInstance) -> None:
    try:
        link_moe_and_close(instance)
        for table, row in PARTS:
            for method, path, body in (
                ("POST", f"/{table}", {**row, "inspection_id": 5}),
                ("PATCH", f"/{table}?inspection_id=eq.5", CHANGES[table]),
                ("DELETE", f"/{table}?inspection_id=eq.5", None),
            ):
                answer = send(instance, "moe", method, path, body, prefer="tx=rollback")
                expect(answer.code == "23514" and answer.json["message"] == CLOSED, (method, path, answer))
    finally:
        instance.load(cast_world())


def files_of_closed_visits_stay(instance: ServiceInstance) -> None:
    """Write rows of files by SQL as moe, as the functions of files do."""
    sql = instance.direct_database.sql
    try:
        link_moe_and_close(instance)
        for key, status in ((500, "open"), (501, "verified")):
            sql(
                "INSERT INTO findings (id, inspection_id, case_id, description, severity, status, found_at, created_at,"
                f" updated_at, client_id) VALUES ({key}, 5, 5, 'Found', 'low', '{status}', '{AT}', '{AT}', '{AT}', 1)"
            )
        for row in ("findings/500", "inspections/5"):
            sql(insertion(row, 1))
        instance.direct_database.act_as(MOE)
        for statement in (
            insertion("inspections/5", 1).replace("5/x.jpg", "5/y.jpg").replace("-b000-", "-b001-"),
            insertion("findings/500", 1).replace("500", "501").replace("-b000-", "-b002-"),
            "UPDATE files SET caption = 'c' WHERE inspection_id = 5",
            "UPDATE files SET caption = 'c' WHERE finding_id = 500",
            "DELETE FROM files WHERE inspection_id = 5",
            "DELETE FROM files WHERE finding_id = 500",
        ):
            refused = False
            try:
                sql(statement)
            except instance.direct_database.constraint_errors:
                refused = True
            expect(refused, statement)
    finally:
        instance.direct_database.act_as(None)
        sql("DELETE FROM files")
        instance.load(cast_world())


CLOSED_VISIT_PROBES = [
    Probe(
        "rows of closed visits stay",
        frozenset(("reports_lead", "calibration_checks", "findings", "cascade", "write", "root")),
        rows_of_closed_visits_stay,
    ),
    Probe("files of closed visits stay", frozenset(("files", "cascade", "write", "root")), files_of_closed_visits_stay),
]
