"""Probes of the triggers that lock visits with an issued report, and that keep the rows of held buildings.

Each statement is SQL of the service, the last door. Without its trigger it succeeds.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.safety.probe import Probe, cast_world, expect
from tests.safety.probes_of_files import AT, insertion
from tests.safety.service_instances import ServiceInstance

VISIT, EMPTY_VISIT, BUILDING = 5, 700, 3
"""An inspection of client 1 without a plan, another one without any rows, and their building."""

ELSEWHERE, OTHER_BUILDING = 2, 6
"""A reading's new inspection, and a building of client 1 without inspections or details."""

TIMES = {"created_at": AT, "updated_at": AT}
FROZEN = {"content": "{}", "sha256": "a" * 64, "issued_at": AT, "updated_at": AT, "client_id": 1}


def insert(instance: ServiceInstance, table: str, **values: object) -> None:
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    instance.direct_database.sql(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))


def of_table(table: str, key: int, visit: int = VISIT) -> dict:
    """Return a row of a visit."""
    rows = {
        "reports_lead": {"room": "Hall", "updated_at": AT},
        "calibration_checks": {"gun_id": 7, "taken_at": AT, "first": 1, "second": 1, "third": 1, **TIMES},
        "findings": {"case_id": visit, "description": "Found", "severity": "low", "found_at": AT, **TIMES},
    }
    return {"id": key, "inspection_id": visit, "client_id": 1, **rows[table]}


@contextmanager
def rows_of_visit(instance: ServiceInstance) -> Iterator[None]:
    """Provide a row of each table for the visit and its building. Finding 501 has neither events nor files."""
    sql = instance.direct_database.sql
    instance.load(cast_world())
    for table in ("issued_reports", "notices"):  # of other probes, which call functions
        sql(f"DELETE FROM {table}")
    try:
        visit = {"inspection_type": "lead", "building_id": BUILDING, "client_id": 1, **TIMES}
        insert(instance, "inspections", id=EMPTY_VISIT, **visit)
        for table in ("reports_lead", "calibration_checks", "findings"):
            insert(instance, table, **of_table(table, 500))
        insert(instance, "findings", **of_table("findings", 501))
        insert(instance, "finding_events", id=500, finding_id=500, kind="made", at=AT, client_id=1, **TIMES)
        schedule = {"inspection_type": "fire", "every": 1, "unit": "year", "first_due": "2026-01-31"}
        insert(instance, "schedules", id=500, building_id=BUILDING, client_id=1, **schedule, **TIMES)
        insert(instance, "inspection_plans", inspection_id=VISIT, case_id=VISIT, outcome="done", client_id=1, **TIMES)
        for row in (f"inspections/{VISIT}", "findings/500"):
            sql(insertion(row, 1))
        yield
    finally:
        sql("UPDATE building_details SET hold_reason = NULL")
        for table in ("issued_reports", "notices", "files"):
            sql(f"DELETE FROM {table}")
        instance.load(cast_world())


def expect_refused(instance: ServiceInstance, statements: list[str]) -> None:
    for statement in statements:
        refused = False
        try:
            instance.direct_database.sql(statement)
        except instance.direct_database.constraint_errors:
            refused = True
        expect(refused, statement)


def issued_visits_stay(instance: ServiceInstance) -> None:
    with rows_of_visit(instance):
        report = {"kind": "lead", "number": "2025-000001", "signed_name": "Mia", **FROZEN}
        insert(instance, "issued_reports", id=500, inspection_id=VISIT, **report)
        columns = {table: of_table(table, 600) for table in ("reports_lead", "calibration_checks", "findings")}
        inserts = [
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(map(repr, row.values()))})"
            for table, row in columns.items()
        ]
        photograph = insertion(f"inspections/{VISIT}", 1).replace("5/x.jpg", "5/y.jpg").replace("-b000-", "-b001-")
        expect_refused(
            instance,
            [
                *inserts,
                photograph,
                f"UPDATE inspections SET notes = 'n' WHERE id = {VISIT}",
                f"UPDATE inspections SET inspector_id = 1 WHERE id = {VISIT}",
                "UPDATE reports_lead SET room = 'Den' WHERE id = 500",
                "UPDATE calibration_checks SET note = 'n' WHERE id = 500",
                "UPDATE findings SET severity = 'severe' WHERE id = 501",
                f"UPDATE files SET caption = 'c' WHERE inspection_id = {VISIT}",
                "UPDATE files SET caption = 'c' WHERE finding_id = 500",
                "DELETE FROM reports_lead WHERE id = 500",
                "DELETE FROM calibration_checks WHERE id = 500",
                "DELETE FROM findings WHERE id = 501",
                f"DELETE FROM files WHERE inspection_id = {VISIT}",
                "DELETE FROM files WHERE finding_id = 500",
            ],
        )


def held_buildings_stay(instance: ServiceInstance) -> None:
    with rows_of_visit(instance):
        letter = {"to_name": "T", "to_address": "A", "answer_by": "2026-12-31", "number": "2025-000001", **FROZEN}
        insert(instance, "notices", id=500, building_id=BUILDING, **letter)
        report = {"kind": "lead", "number": "2025-000001", "signed_name": "Mia", "withdrawn_at": AT, **FROZEN}
        insert(instance, "issued_reports", id=500, inspection_id=VISIT, **report)
        instance.direct_database.sql(
            f"DELETE FROM building_details WHERE building_id IN ({BUILDING}, {OTHER_BUILDING})"
        )
        insert(instance, "building_details", building_id=BUILDING, hold_reason="h", client_id=1, **TIMES)
        moved = f"SET building_id = {OTHER_BUILDING} WHERE"
        expect_refused(
            instance,
            [
                f"UPDATE building_details {moved} building_id = {BUILDING}",
                f"UPDATE inspections {moved} id = {EMPTY_VISIT}",
                f"UPDATE schedules {moved} id = 500",
                f"UPDATE notices {moved} id = 500",
                *(
                    f"UPDATE {table} SET inspection_id = {ELSEWHERE} WHERE id = {key}"
                    for table, key in (
                        ("reports_lead", 500), ("calibration_checks", 500), ("findings", 501), ("issued_reports", 500)
                    )
                ),
                f"UPDATE files SET inspection_id = {ELSEWHERE}, name = '2/z.jpg' WHERE inspection_id = {VISIT}",
                f"UPDATE files SET sha256 = '{'f' * 64}' WHERE inspection_id = {VISIT}",
                f"DELETE FROM building_details WHERE building_id = {BUILDING}",
                f"DELETE FROM inspections WHERE id = {EMPTY_VISIT}",
                f"DELETE FROM inspection_plans WHERE inspection_id = {VISIT}",
                f"DELETE FROM files WHERE inspection_id = {VISIT}",
                *(
                    f"DELETE FROM {table} WHERE id = {key}"
                    for table, key in (
                        ("schedules", 500), ("notices", 500), ("issued_reports", 500), ("reports_lead", 500),
                        ("calibration_checks", 500), ("finding_events", 500), ("findings", 501),
                    )
                ),
            ],
        )  # fmt: skip


TAGS = (
    "inspections", "reports", "calibration", "findings", "finding", "files", "building", "schedules", "inspection",
    "issued", "notices", "cascade", "write", "root",
)  # fmt: skip

LOCK_PROBES = [
    Probe("issued visits stay", frozenset(TAGS), issued_visits_stay),
    Probe("held buildings stay", frozenset(TAGS), held_buildings_stay),
]
