"""An independent implementation of the access rules over plain dicts, written from docs/ACCESS.md.

It imports nothing of the service. If the two disagree, one of them misreads the document.

A world is `{table: [row, …]}`. A user is a row of `users`.
"""

import datetime

ADMIN, MANAGER, SUPER = "client_admin", "client_manager", "super_admin"

# role -> its grant table, and the column of the grantee
BUILDING_GRANTS = {
    ADMIN: ("client_admin_building_access", "admin_id"),
    MANAGER: ("client_manager_building_access", "manager_id"),
}
INSPECTION_GRANTS = {
    ADMIN: ("client_admin_inspection_access", "admin_id"),
    MANAGER: ("client_manager_inspection_access", "manager_id"),
}

KEYS = {
    "client_admin_building_access": ("admin_id", "building_id"),
    "client_admin_inspection_access": ("admin_id", "inspection_id"),
    "client_manager_building_access": ("manager_id", "building_id"),
    "client_manager_inspection_access": ("manager_id", "inspection_id"),
}

PRIMARY_KEYS = {**KEYS, "building_details": ("building_id",), "inspection_plans": ("inspection_id",)}
"""The keys of the tables without a column id."""

# The tables that a client admin may write. A super admin may write all except those of the service. A manager may write
# none, a manager who is linked to an inspector the readings, checks and findings of own visits.
WRITTEN_BY_ADMINS = {
    "buildings",
    "building_details",
    "inspections",
    "reports_lead",
    "calibration_checks",
    "xrf_instruments",
    "xrf_limits",
    "lead_standards",
    "schedules",
    "deadline_rules",
    "findings",
    "users",
    "client_manager_building_access",
    "client_manager_inspection_access",
}

WRITTEN_BY_INSPECTORS = {"reports_lead", "calibration_checks", "findings"}
WRITTEN_BY_SERVICE = {"inspection_plans", "finding_events", "issued_reports", "notices"}

OPEN_STATUSES = ("scheduled", "in_progress")
TODAY = datetime.date(2025, 6, 15)
"""The day of the services that are compared with the oracle."""
FIRST_VISIT_DAY = (TODAY - datetime.timedelta(days=90)).isoformat()
"""An inspector reads a visit for 90 days."""


def key_of(table, row):
    return tuple(row[column] for column in PRIMARY_KEYS.get(table, ("id",)))


def find(world, table, id_):
    """Return the row of that id, or None."""
    return next((row for row in world[table] if row["id"] == id_), None)


def has_grant(world, user, grants, column, id_):
    """Return whether the user has a grant for this row."""
    if user["role"] not in grants:
        return False
    table, grantee = grants[user["role"]]
    return any(row[grantee] == user["id"] and row[column] == id_ for row in world[table])


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────


def visible(world, user, table, row):
    """Return whether the user may read this row."""
    if user["role"] == SUPER:
        return True
    if table in KEYS:
        return sees_grant(world, user, table, row)
    return SEES[table](world, user, row)


def sees_building(world, user, building):
    if has_building(world, user, building):
        return True
    return any(
        inspection["building_id"] == building["id"] and is_own_visit(world, user, inspection)
        for inspection in world["inspections"]
    )


def has_building(world, user, building):
    """Return whether the building is of the admin's client, or granted."""
    if user["role"] == ADMIN and building["client_id"] == user["client_id"]:
        return True
    return has_grant(world, user, BUILDING_GRANTS, "building_id", building["id"])


def is_linked(world, user):
    """Return whether the user is a manager who signs in as an inspector."""
    return user["role"] == MANAGER and any(each.get("user_id") == user["id"] for each in world["inspectors"])


def is_own_visit(world, user, inspection):
    """Return whether the inspection is a visit of the inspector whose user they are, open or of the last 90 days."""
    inspector = find(world, "inspectors", inspection["inspector_id"])
    if user["role"] != MANAGER or inspector is None or inspector.get("user_id") != user["id"]:
        return False
    if inspection["status"] in OPEN_STATUSES:
        return True
    return inspection["date_visited"] is not None and inspection["date_visited"] >= FIRST_VISIT_DAY


def sees_inspection(world, user, inspection):
    building = find(world, "buildings", inspection["building_id"])
    if building and has_building(world, user, building):
        return True
    if is_own_visit(world, user, inspection):
        return True
    return has_grant(world, user, INSPECTION_GRANTS, "inspection_id", inspection["id"])


def sees_part_of_inspection(world, user, row):
    inspection = find(world, "inspections", row["inspection_id"])
    return bool(inspection) and visible(world, user, "inspections", inspection)


def sees_part_of_building(world, user, row):
    building = find(world, "buildings", row["building_id"])
    return bool(building) and visible(world, user, "buildings", building)


def sees_instrument(world, user, instrument):
    """Return whether the user reads an inspection that names the instrument. Admins also read shared and own ones.

    A limit has the number and the client of its instrument.
    """
    if user["role"] == ADMIN and instrument["client_id"] in (None, user["client_id"]):
        return True
    return any(
        row["gun_id"] == instrument["gun_id"]
        and instrument["client_id"] in (None, client_of_part(world, row))
        and visible(world, user, table, row)
        for table in ("reports_lead", "calibration_checks")
        for row in world[table]
    )


def client_of_part(world, row):
    """Return the client of a row of an inspection."""
    inspection = find(world, "inspections", row["inspection_id"])
    return find(world, "buildings", inspection["building_id"])["client_id"]


def sees_standard(world, user, standard):
    return standard["client_id"] in (None, user["client_id"])


def sees_rule(world, user, rule):
    return rule["client_id"] in (None, user["client_id"])


def sees_event(world, user, event):
    finding = find(world, "findings", event["finding_id"])
    return bool(finding) and visible(world, user, "findings", finding)


def sees_issued_report(world, user, report):
    """Return whether the user reads a report: with its visit, or as an admin of its client on the day of the issue."""
    is_issuer = user["role"] == ADMIN and report["client_id"] == user["client_id"]
    return is_issuer or sees_inspection(world, user, find(world, "inspections", report["inspection_id"]))


def sees_notice(world, user, notice):
    """Return whether the user reads a letter of their client: managers those of granted buildings, and their own."""
    if notice["client_id"] != user["client_id"]:
        return False
    if user["role"] == ADMIN or notice["issued_by"] == user["id"]:
        return True
    return has_grant(world, user, BUILDING_GRANTS, "building_id", notice["building_id"])


def row_of_file(world, file):
    """Return the table of the row that a file belongs to, and the row."""
    [table] = [table for table in ("inspections", "findings", "buildings") if file[f"{table[:-1]}_id"] is not None]
    return table, find(world, table, file[f"{table[:-1]}_id"])


def sees_file(world, user, file):
    table, row = row_of_file(world, file)
    return visible(world, user, table, row)


def writes_file(world, user, file):
    """Return whether the user stores, moves and removes the file, and changes its caption."""
    table, row = row_of_file(world, file)
    if user["role"] == SUPER:
        return True
    if user["role"] == ADMIN:
        client_id = row["client_id"] if table == "buildings" else client_of_file(world, table, row)
        return client_id == user["client_id"]
    if table == "buildings":
        return False
    inspection = row if table == "inspections" else find(world, "inspections", row["inspection_id"])
    return is_own_visit(world, user, inspection)


def client_of_file(world, table, row):
    return client_of_part(world, {"inspection_id": row["id" if table == "inspections" else "inspection_id"]})


def sees_inspector(world, user, inspector):
    if user["role"] == ADMIN:
        return True
    return any(
        inspection["inspector_id"] == inspector["id"] and visible(world, user, "inspections", inspection)
        for inspection in world["inspections"]
    )


def sees_client(world, user, client):
    return client["id"] == user["client_id"]


def sees_user(world, user, other):
    if user["role"] == ADMIN:
        return other["client_id"] == user["client_id"]
    return other["id"] == user["id"]


SEES = {
    "buildings": sees_building,
    "inspections": sees_inspection,
    "building_details": sees_part_of_building,
    "reports_lead": sees_part_of_inspection,
    "calibration_checks": sees_part_of_inspection,
    "xrf_instruments": sees_instrument,
    "xrf_limits": sees_instrument,
    "lead_standards": sees_standard,
    "schedules": sees_part_of_building,
    "inspection_plans": sees_part_of_inspection,
    "deadline_rules": sees_rule,
    "findings": sees_part_of_inspection,
    "finding_events": sees_event,
    "issued_reports": sees_issued_report,
    "notices": sees_notice,
    "inspectors": sees_inspector,
    "clients": sees_client,
    "users": sees_user,
}


TABLES = (*SEES, *KEYS)
"""The tables with rules here."""


def sees_grant(world, user, table, grant):
    grantee = find(world, "users", grant[KEYS[table][0]])
    if user["role"] == MANAGER:
        return table.startswith("client_manager") and grantee["id"] == user["id"]
    if table.startswith("client_manager") and grantee["role"] != MANAGER:
        return False
    return grantee["client_id"] == user["client_id"]


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────


def result_of_write(world, user, verb, table, old, new):
    """Return the result of one write: "ok", "privilege", "rule" or "unmatched".

    `verb` is insert, update or delete, `old` the current row, `new` the row after the write. Constraints (keys,
    references, a grantee's role) are checked only after "ok".
    """
    if not has_privilege(world, user, table):
        return "privilege"
    if verb != "insert" and not is_in_write_scope(world, user, table, old):
        return "unmatched"
    if verb != "delete" and not permits_new_row(world, user, table, new):
        return "rule"
    return "ok"


def has_privilege(world, user, table):
    if table in WRITTEN_BY_SERVICE:
        return False
    if user["role"] == SUPER:
        return True
    if user["role"] == MANAGER:
        return table in WRITTEN_BY_INSPECTORS and is_linked(world, user)
    return user["role"] == ADMIN and table in WRITTEN_BY_ADMINS


def permits_new_row(world, user, table, row):
    """Return whether the user may write this row. `assigned_by` of a grant is null or the user."""
    if not is_in_write_scope(world, user, table, row):
        return False
    if user["role"] != SUPER and table in KEYS:
        return row.get("assigned_by") in (None, user["id"])
    return True


def is_in_write_scope(world, user, table, row):
    if user["role"] == SUPER:
        return True
    if table in ("buildings", "xrf_instruments", "xrf_limits", "lead_standards", "deadline_rules"):
        return row["client_id"] == user["client_id"]
    if table in ("inspections", "schedules", "building_details"):
        return owns_building(world, user, row["building_id"])
    if user["role"] == MANAGER:
        inspection = find(world, "inspections", row["inspection_id"])
        return bool(inspection) and is_own_visit(world, user, inspection)
    if table in WRITTEN_BY_INSPECTORS:
        return owns_inspection(world, user, row["inspection_id"])
    if table == "users":
        return row["role"] == MANAGER and row["client_id"] == user["client_id"]
    return owns_manager(world, user, row["manager_id"]) and owns_target(world, user, table, row)


def owns_building(world, user, id_):
    building = find(world, "buildings", id_)
    return bool(building) and building["client_id"] == user["client_id"]


def owns_inspection(world, user, id_):
    inspection = find(world, "inspections", id_)
    return bool(inspection) and owns_building(world, user, inspection["building_id"])


def owns_manager(world, user, id_):
    manager = find(world, "users", id_)
    return bool(manager) and manager["role"] == MANAGER and manager["client_id"] == user["client_id"]


def owns_target(world, user, table, grant):
    if table == "client_manager_building_access":
        return owns_building(world, user, grant["building_id"])
    return owns_inspection(world, user, grant["inspection_id"])
