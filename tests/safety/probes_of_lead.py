"""Probes of XRF instruments, limits, standards, deadline rules, checks and details: writes and triggers."""

from tests.safety.probe import Probe, ProbeFailed, cast_world, expect, send
from tests.safety.service_instances import ServiceInstance

SHARED, OF_ACME, OF_BOROUGH, NEW = 77, 78, 79, 30003
"""Numbers of instruments of the data set, and one that none has."""

INSTRUMENT = {"make": "Niton", "model": "XLp", "serial": "1"}
LIMIT = {"substrate": "brick", "negative_below": 0.9, "positive_from": 1.2}
STANDARD = {"unit": "percent", "from_value": 0.1, "valid_from": "2020-01-01", "basis": "A rule"}
RULE = {"severity": "moderate", "amount": 5, "unit": "d"}
CHECK = {"gun_id": SHARED, "taken_at": "2025-06-10T14:00:00+00:00", "first": 1, "second": 1, "third": 1}

SUCCEEDS = (None, None, None)
RULE_VIOLATION = (403, "42501", 'new row violates row-level security policy for table "{}"')
STAYS = (400, "428C9", None)
NO_ROWS = (200, None, [])
INSTRUMENTS, LIMITS = "/xrf_instruments?gun_id=eq.", "/xrf_limits?gun_id=eq."
STANDARDS, RULES = "/lead_standards?id=eq.", "/deadline_rules?id=eq."
OF_INSPECTION, OF_BUILDING = "/calibration_checks?inspection_id=eq.", "/building_details?building_id=eq."
NEW_ROWS = {
    "xrf_instruments": {**INSTRUMENT, "gun_id": NEW, "client_id": 1},
    "xrf_limits": {**LIMIT, "gun_id": OF_ACME},
    "lead_standards": {**STANDARD, "client_id": 1},
    "deadline_rules": {**RULE, "client_id": 1},
    "calibration_checks": {**CHECK, "inspection_id": 1},
    "building_details": {"building_id": 3},
}
CHANGES = {
    INSTRUMENTS: {"mode": "m"},
    LIMITS: {"negative_below": 0.1},
    STANDARDS: {"city": "c"},
    RULES: {"amount": 7},
    OF_INSPECTION: {"note": "n"},
    OF_BUILDING: {"parcel": "p"},
}
LEAD_WRITES: list[tuple] = [
    *((who, "POST", f"/{table}", row, SUCCEEDS) for who in ("root", "ada") for table, row in NEW_ROWS.items()),
    *(("ada", "POST", f"/{table}", row, RULE_VIOLATION) for table, row in (
        ("xrf_instruments", {**INSTRUMENT, "gun_id": NEW, "client_id": 2}),
        ("xrf_limits", {**LIMIT, "gun_id": SHARED}),
        ("xrf_limits", {**LIMIT, "gun_id": OF_BOROUGH}),
        ("lead_standards", {**STANDARD, "client_id": 2}),
        ("lead_standards", STANDARD),
        ("deadline_rules", {**RULE, "client_id": 2}),
        ("deadline_rules", RULE),
        ("calibration_checks", {**CHECK, "inspection_id": 8}),
        ("building_details", {"building_id": 5}))),
    *((who, method, f"{path}{key}", CHANGES[path], SUCCEEDS)
      for who in ("root", "ada") for method in ("PATCH", "DELETE")
      for path, key in ((INSTRUMENTS, OF_ACME), (LIMITS, OF_ACME), (STANDARDS, 2), (RULES, 5), (OF_INSPECTION, 2),
                        (OF_BUILDING, 1))),
    *(("ada", method, f"{path}{key}", CHANGES[path], NO_ROWS)
      for method in ("PATCH", "DELETE") for path, key in (
        (INSTRUMENTS, SHARED), (INSTRUMENTS, OF_BOROUGH), (LIMITS, SHARED), (LIMITS, OF_BOROUGH),
        (STANDARDS, 1), (STANDARDS, 3), (RULES, 1), (RULES, 6),
        (OF_INSPECTION, 8), (OF_BUILDING, 5))),
    ("ada", "PATCH", f"{INSTRUMENTS}{OF_ACME}", {"client_id": 2}, RULE_VIOLATION),
    ("ada", "PATCH", f"{LIMITS}{OF_ACME}", {"gun_id": SHARED}, STAYS),
    ("ada", "PATCH", f"{LIMITS}{OF_ACME}", {"client_id": 2}, STAYS),
    ("ada", "PATCH", f"{STANDARDS}2", {"client_id": 2}, RULE_VIOLATION),
    ("ada", "PATCH", f"{RULES}5", {"client_id": 2}, RULE_VIOLATION),
    ("ada", "PATCH", f"{OF_INSPECTION}2", {"inspection_id": 8}, RULE_VIOLATION),
    ("ada", "PATCH", f"{OF_BUILDING}2", {"building_id": 5}, RULE_VIOLATION),
]  # fmt: skip


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


def deleted_limits_are_audited_in_their_order(instance: ServiceInstance) -> None:
    """The limits of a deleted instrument are in the audit log by their ids, not by their places in the table."""
    try:
        for key in (9_000, 8_000):
            limit = {**LIMIT, "id": key, "gun_id": OF_ACME, "substrate": f"s{key}"}
            expect(send(instance, "root", "POST", "/xrf_limits", limit).status == 201, limit)
        expect(send(instance, "root", "DELETE", "/xrf_instruments?id=eq.2").status == 204, "deletion")
        query = "SELECT row_key FROM audit_log WHERE relation = 'xrf_limits' AND action = 'delete' ORDER BY id"
        keys = [str(key) for (key,) in instance.direct_database.sql(query)]
        expect([key for key in keys if key in ("8000", "9000")] == ["8000", "9000"], keys)
    finally:
        instance.load(cast_world())


def deleted_instrument_takes_its_limits(instance: ServiceInstance) -> None:
    """A new number of an instrument is also that of its limits, and the audit log has each change."""
    try:
        for method, change in (("PATCH", {"gun_id": NEW}), ("DELETE", None)):
            answer = send(instance, "root", method, "/xrf_instruments?id=eq.2", change)
            expect(answer.status == 204, answer)
        query = (
            "SELECT action, client_id FROM audit_log WHERE relation = 'xrf_limits' AND action <> 'refused' ORDER BY id"
        )
        entries = instance.direct_database.sql(query)
        expect([tuple(each) for each in entries] == [("update", 1), ("delete", 1)], entries)
        left = send(instance, "root", "GET", "/xrf_limits?select=gun_id&order=gun_id")
        expect(left.json == [{"gun_id": each} for each in (SHARED, OF_BOROUGH, 80)], left)
    finally:
        instance.load(cast_world())


def instruments_follow_a_granted_inspection(instance: ServiceInstance) -> None:
    """An admin with a grant on an inspection of another client reads the instrument that its reading names."""
    try:
        instance.direct_database.sql("DELETE FROM issued_reports")  # they lock inspections
        reading = {"inspection_id": 3, "gun_id": OF_ACME, "method": "xrf", "lead_mg_cm2": 0.1}
        paths = (f"{INSTRUMENTS}{OF_ACME}&select=gun_id", f"{LIMITS}{OF_ACME}&select=gun_id")
        for expected in ([], [{"gun_id": OF_ACME}]):
            for path in paths:
                found = send(instance, "bob", "GET", path)
                expect(found.json == expected, found)
            if not expected:
                expect(send(instance, "root", "POST", "/reports_lead", reading).status == 201, reading)
    finally:
        instance.load(cast_world())


TAGS = ("xrf_instruments", "xrf_limits", "calibration_checks", "cascade", "root")
LEAD_PROBES = [
    Probe("the schema keeps a check's client", frozenset(TAGS), schema_keeps_client_of_check),
    Probe("limits follow their instrument", frozenset((*TAGS, "audit")), deleted_instrument_takes_its_limits),
    Probe(
        "instruments follow a granted inspection",
        frozenset((*TAGS, "reports_lead", "client_admin", "bob")),
        instruments_follow_a_granted_inspection,
    ),
    Probe("deleted limits are in order", frozenset((*TAGS, "audit")), deleted_limits_are_audited_in_their_order),
]
