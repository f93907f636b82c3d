"""Fixed planner statistics: SQLite plans every statement as if each file held the same number of rows.

ANALYZE counts the rows of all clients and so would choose the index of a list. The rows of other clients would
then decide the order of a list without `order`, and its first page (docs/decisions/0009). The figures are those of a
portfolio of 20 clients, 10,000 buildings and a million inspections.
"""

from __future__ import annotations

from typing import Final

from engine.storage.transaction import Transaction

PLANNER_STATS: Final[frozenset[tuple[str, str | None, str]]] = frozenset({
    ("clients", None, "20"),
    ("users", "sqlite_autoindex_users_1", "220 1"),
    ("users", "sqlite_autoindex_users_2", "220 1"),
    ("users", "users_lower_email_key", "220 1"),
    ("users", "users_client_id", "220 11"),
    ("inspectors", None, "200"),
    ("buildings", "sqlite_autoindex_buildings_1", "10000 1 1"),
    ("buildings", "buildings_client_id", "10000 500 1"),
    ("buildings", "buildings_client_city", "10000 500 13 1"),
    ("buildings", "buildings_city", "10000 250 1"),
    ("inspections", "inspections_client_building", "1000000 50000 100 1 1 1"),
    ("inspections", "inspections_client_inspector", "1000000 50000 254"),
    ("inspections", "inspections_client_status", "1000000 50000 10000 11 1 1"),
    ("reports_lead", "reports_lead_inspection_id", "690000 3"),
    ("reports_lead", "reports_lead_client_id", "690000 34500"),
    ("client_admin_building_access", "client_admin_building_access", "100 5 1"),
    ("client_admin_building_access", "client_admin_building_access_building_id", "100 2"),
    ("client_admin_building_access", "client_admin_building_access_assigned_by", "100 50"),
    ("client_manager_building_access", "client_manager_building_access", "5000 25 1"),
    ("client_manager_building_access", "client_manager_building_access_building_id", "5000 2"),
    ("client_manager_building_access", "client_manager_building_access_assigned_by", "5000 250"),
    ("client_admin_inspection_access", "client_admin_inspection_access", "100 5 1"),
    ("client_admin_inspection_access", "client_admin_inspection_access_inspection_id", "100 2"),
    ("client_admin_inspection_access", "client_admin_inspection_access_assigned_by", "100 50"),
    ("client_manager_inspection_access", "client_manager_inspection_access", "1000 5 1"),
    ("client_manager_inspection_access", "client_manager_inspection_access_inspection_id", "1000 2"),
    ("client_manager_inspection_access", "client_manager_inspection_access_assigned_by", "1000 50"),
    ("audit_log", "audit_log_client_id", "3000000 150000"),
    ("audit_log", "audit_log_relation", "3000000 300000 3 3"),
    ("audit_log", "audit_log_refused", "1000 10"),
})  # fmt: skip
"""Rows of `sqlite_stat1`: table, index, and numbers: all rows, then the rows of equal first column, first two, …"""

STORED_STATS: Final = "SELECT tbl, idx, stat FROM sqlite_stat1"
STAT_TABLES: Final = "SELECT name FROM sqlite_schema WHERE name LIKE 'sqlite_stat_'"


def has_planner_stats(transaction: Transaction) -> bool:
    """Return whether a file holds exactly these statistics."""
    tables = {name for (name,) in transaction.all(STAT_TABLES)}
    if "sqlite_stat1" not in tables or set(transaction.all(STORED_STATS)) != PLANNER_STATS:
        return False
    samples = "SELECT EXISTS (SELECT 1 FROM sqlite_stat4)"
    return "sqlite_stat4" not in tables or not transaction.value(samples)


def write_planner_stats(transaction: Transaction) -> None:
    """Replace the statistics of a file by PLANNER_STATS."""
    if has_planner_stats(transaction):
        return
    # Open connections reload statistics tables that are recreated, but not changed rows.
    for (name,) in transaction.all(STAT_TABLES):
        transaction.run(f"DROP TABLE {name}")
    transaction.run("ANALYZE audit_context")
    for (name,) in transaction.all(STAT_TABLES):
        transaction.run(f"DELETE FROM {name}")  # noqa: S608
    for row in sorted(PLANNER_STATS, key=str):
        transaction.run("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", row)
    transaction.run("ANALYZE sqlite_schema")
