"""Probes of XRF instruments, their limits, calibration checks and details of buildings: rights, triggers and calls."""

from collections import Counter
from collections.abc import Callable
from functools import wraps

from tests.conftest import MOE
from tests.safety.probe import PEOPLE, ROLLBACK_PREFERENCE, Probe, ProbeFailed, cast_world, expect, send
from tests.safety.service_instances import ServiceInstance

SHARED, OF_ACME, OF_BOROUGH, NEW = 20417, 30001, 30002, 30003
INSTRUMENT = {"make": "Niton", "model": "XLp", "serial": "1"}
LIMIT = {"substrate": "wood", "negative_below": 0.9, "positive_from": 1.2}
CHECK = {"taken_at": "2025-06-10T14:00:00+00:00", "first": 1, "second": 1, "third": 1}
OWNERS = {SHARED: None, OF_ACME: 1, OF_BOROUGH: 2}
CHECKS = [(2, SHARED), (2, OF_ACME), (2, OF_BOROUGH), (3, SHARED), (6, OF_BOROUGH), (8, SHARED)]
"""Inspections and guns."""

ROWS: list[tuple[str, dict]] = [
    *(("xrf_instruments", {**INSTRUMENT, "gun_id": gun, "client_id": owner}) for gun, owner in OWNERS.items()),
    *(("xrf_limits", {**LIMIT, "gun_id": gun}) for gun in OWNERS),
    *(("calibration_checks", {**CHECK, "inspection_id": key, "gun_id": gun}) for key, gun in CHECKS),
    *(("building_details", {"building_id": key, "year_built": 1900}) for key in (1, 2, 4, 5)),
]

GUNS = {
    "root": [SHARED, OF_ACME, OF_BOROUGH],
    "ada": [SHARED, OF_ACME],
    "bob": [SHARED, OF_BOROUGH],
    "moe": [SHARED, OF_ACME],
    "mia": [],
    "max": [OF_BOROUGH],
}
CHECKED = {
    "root": [2, 2, 2, 3, 6, 8], "ada": [2, 2, 2, 3, 8], "bob": [3, 6, 8], "moe": [2, 2, 2, 3], "mia": [], "max": [6]
}  # fmt: skip
DETAILED = {"root": [1, 2, 4, 5], "ada": [1, 2, 5], "bob": [4, 5], "moe": [1], "mia": [], "max": [4]}
READABLE = {
    ("xrf_instruments", "gun_id"): GUNS,
    ("xrf_limits", "gun_id"): GUNS,
    ("calibration_checks", "inspection_id"): CHECKED,
    ("building_details", "building_id"): DETAILED,
}
TABLES = tuple(table for table, _ in READABLE)

DONE, NO_ROWS, RULE, PRIVILEGE = "done", "no rows", "row-level security", "permission denied"
INSTRUMENTS, LIMITS = "/xrf_instruments?gun_id=eq.", "/xrf_limits?gun_id=eq."
OF_INSPECTION, OF_BUILDING = "/calibration_checks?inspection_id=eq.", "/building_details?building_id=eq."
WRITES_OF_ROOT = {
    "xrf_instruments": {**INSTRUMENT, "gun_id": NEW, "client_id": 1},
    "xrf_limits": {**LIMIT, "gun_id": OF_ACME, "substrate": "brick"},
    "calibration_checks": {**CHECK, "inspection_id": 1, "gun_id": SHARED},
    "building_details": {"building_id": 3},
}
WRITES: list[tuple] = [
    *((who, "POST", f"/{table}", row, DONE) for who in ("root", "ada") for table, row in WRITES_OF_ROOT.items()),
    *(("ada", "POST", f"/{table}", row, RULE) for table, row in (
        ("xrf_instruments", {**INSTRUMENT, "gun_id": NEW, "client_id": 2}),
        ("xrf_limits", {**LIMIT, "gun_id": SHARED, "substrate": "brick"}),
        ("calibration_checks", {**CHECK, "inspection_id": 8, "gun_id": SHARED}),
        ("building_details", {"building_id": 5}))),
    *((who, method, f"{path}{key}", body if method == "PATCH" else None, DONE)
      for who in ("root", "ada") for method in ("PATCH", "DELETE") for path, key, body in (
        (INSTRUMENTS, OF_ACME, {"mode": "m"}), (LIMITS, OF_ACME, {"negative_below": 0.5}),
        (OF_INSPECTION, 2, {"note": "n"}), (OF_BUILDING, 1, {"parcel": "p"}))),
    *(("ada", method, f"{path}{key}", body if method == "PATCH" else None, NO_ROWS)
      for method in ("PATCH", "DELETE") for path, key, body in (
        (INSTRUMENTS, SHARED, {"mode": "m"}), (LIMITS, SHARED, {"negative_below": 0.5}),
        (INSTRUMENTS, OF_BOROUGH, {"mode": "m"}), (LIMITS, OF_BOROUGH, {"negative_below": 0.5}),
        (OF_INSPECTION, 8, {"note": "n"}), (OF_BUILDING, 5, {"parcel": "p"}))),
    ("ada", "PATCH", f"{INSTRUMENTS}{OF_ACME}", {"client_id": 2}, RULE),
    ("ada", "PATCH", f"{LIMITS}{OF_ACME}", {"gun_id": SHARED}, RULE),
    ("ada", "PATCH", f"{OF_INSPECTION}2", {"inspection_id": 8}, RULE),
    ("ada", "PATCH", f"{OF_BUILDING}2", {"building_id": 5}, RULE),
    *(("moe", method, f"/{table}?created_at=not.is.null", {}, PRIVILEGE)
      for table in TABLES for method in ("POST", "PATCH", "DELETE")),
]  # fmt: skip


def over_lead_rows(probe: Callable[[ServiceInstance], None]) -> Callable[[ServiceInstance], None]:
    """Return the probe over the cast's world and ROWS."""

    @wraps(probe)
    def run(instance: ServiceInstance) -> None:
        try:
            for table, row in ROWS:
                made = send(instance, "root", "POST", f"/{table}", row)
                expect(made.status == 201, made)
            probe(instance)
        finally:
            send(instance, "root", "PATCH", "/inspectors?id=eq.3", {"user_id": None})
            for table in ("xrf_limits", "xrf_instruments", "calibration_checks", "building_details"):
                removed = send(instance, "root", "DELETE", f"/{table}?created_at=not.is.null")
                expect(removed.status == 204, removed)
            instance.load(cast_world())

    return run


@over_lead_rows
def lead_rows_are_read_by_those_who_may(instance: ServiceInstance) -> None:
    for who in PEOPLE:
        for (table, column), readable in READABLE.items():
            found = send(instance, who, "GET", f"/{table}?select={column}&order={column}")
            expect([each[column] for each in found.json] == readable[who], (who, table, found))


@over_lead_rows
def lead_rows_are_written_by_those_who_may(instance: ServiceInstance) -> None:
    for who, method, path, body, expected in WRITES:
        require_outcome(instance, who, method, path, body, expected)
    linked = send(instance, "root", "PATCH", "/inspectors?id=eq.3", {"user_id": MOE})
    expect(linked.status == 204, linked)
    for inspection, expected in ((5, DONE), (1, RULE)):
        row = {**CHECK, "inspection_id": inspection, "gun_id": SHARED}
        require_outcome(instance, "moe", "POST", "/calibration_checks", row, expected)


def require_outcome(instance: ServiceInstance, who: str, method: str, path: str, body: object, expected: str) -> None:
    answer = send(instance, who, method, path, body, prefer=ROLLBACK_PREFERENCE)
    if expected in (DONE, NO_ROWS):
        written = answer.status in (200, 201) and answer.json != []
        expect(answer.status in (200, 201) and written == (expected == DONE), (who, method, path, answer))
    else:
        expect(answer.code == "42501" and expected in answer.json["message"], (who, method, path, answer))


@over_lead_rows
def changes_of_lead_rows_are_audited(instance: ServiceInstance) -> None:
    """Each change has an entry."""
    entries = instance.direct_database.sql("SELECT relation, action FROM audit_log")
    made = Counter(relation for relation, action in entries if action == "insert" and relation in TABLES)
    expect(made >= Counter(table for table, _ in ROWS), made)
    for path, body in (
        (f"{LIMITS}{OF_ACME}", {"negative_below": 0.5}), (f"{INSTRUMENTS}{OF_ACME}", {"mode": "m"}),
        (f"{OF_INSPECTION}2", {"note": "n"}), (f"{OF_BUILDING}1", {"parcel": "p"}),
    ):  # fmt: skip
        for method, action in (("PATCH", "update"), ("DELETE", "delete")):
            before = Counter(instance.direct_database.sql("SELECT relation, action FROM audit_log"))
            answer = send(instance, "root", method, path, body if method == "PATCH" else None)
            expect(answer.status == 204, answer)
            new = Counter(instance.direct_database.sql("SELECT relation, action FROM audit_log")) - before
            expect(new[path[1:].partition("?")[0], action] > 0, (path, action, new))


@over_lead_rows
def moved_lead_rows_are_audited(instance: ServiceInstance) -> None:
    """A row that another client gets has the entries of a deletion and of a new row."""
    moves = (
        (f"{INSTRUMENTS}{OF_ACME}", ("xrf_instruments",)),
        ("/buildings?id=eq.1", ("building_details", "calibration_checks")),
    )
    for path, tables in moves:
        before = Counter(instance.direct_database.sql("SELECT relation, action, client_id FROM audit_log"))
        answer = send(instance, "root", "PATCH", path, {"client_id": 2})
        expect(answer.status == 204, answer)
        new = Counter(instance.direct_database.sql("SELECT relation, action, client_id FROM audit_log")) - before
        for table in tables:
            expect(new[table, "delete", 1] > 0 and new[table, "insert", 2] > 0, (table, new))


@over_lead_rows
def ids_of_lead_rows_are_never_reused(instance: ServiceInstance) -> None:
    rows = {table: row for table, row in WRITES_OF_ROOT.items() if table in ("xrf_instruments", "calibration_checks")}
    for table, row in rows.items():
        made = send(instance, "root", "POST", f"/{table}?select=id", row, prefer="return=representation").json[0]["id"]
        for method, key, change in (("PATCH", made, {"id": made + 5}), ("DELETE", made + 5, None)):
            answer = send(instance, "root", method, f"/{table}?id=eq.{key}", change)
            expect(answer.status == 204, answer)
        again = send(instance, "root", "POST", f"/{table}?select=id", row, prefer="return=representation")
        expect(again.json == [{"id": made + 6}], again)


@over_lead_rows
def schema_keeps_client_of_check(instance: ServiceInstance) -> None:
    """The schema refuses a check whose client differs from its inspection's client."""
    columns = "inspection_id, gun_id, taken_at, first, second, third, client_id, created_at, updated_at"
    at = CHECK["taken_at"]
    for statement in (
        f"INSERT INTO calibration_checks ({columns}) VALUES (2, 1, '{at}', 1, 1, 1, 2, '{at}', '{at}')",
        "UPDATE calibration_checks SET client_id = 2 WHERE inspection_id = 2",
    ):
        try:
            instance.direct_database.sql(statement)
        except instance.direct_database.constraint_errors:
            continue
        raise ProbeFailed(statement)


TAGS = ("xrf_instruments", "xrf_limits", "calibration_checks", "building_details", "ada", "moe", "root")
LEAD_PROBES = [
    Probe("lead rows are read", frozenset((*TAGS, "read")), lead_rows_are_read_by_those_who_may),
    Probe(
        "lead rows are written by those who may", frozenset((*TAGS, "write")), lead_rows_are_written_by_those_who_may
    ),
    Probe("moves of lead rows are audited", frozenset((*TAGS, "audit")), moved_lead_rows_are_audited),
    Probe("ids of lead rows are never reused", frozenset((*TAGS, "cascade")), ids_of_lead_rows_are_never_reused),
    Probe("the schema keeps a check's client", frozenset((*TAGS, "cascade")), schema_keeps_client_of_check),
    Probe("changes of lead rows are audited", frozenset((*TAGS, "audit")), changes_of_lead_rows_are_audited),
]
