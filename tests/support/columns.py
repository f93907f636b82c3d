"""The visible columns of each resource in their order, written by hand."""

from tests.support.oracle import KEYS

COLUMNS = {
    "clients": ("id", "name", "created_at", "updated_at"),
    "users": ("id", "email", "name", "role", "client_id", "created_at", "updated_at"),
    "inspectors": ("id", "name", "email"),
    "buildings": (
        "id",
        "name",
        "address",
        "city",
        "state",
        "zip",
        "client_id",
        "created_at",
        "updated_at",
        "latitude",
        "longitude",
        "building_type",
        "floors",
        "units",
    ),
    "inspections": (
        "id",
        "building_id",
        "inspection_type",
        "date_visited",
        "status",
        "inspector_id",
        "notes",
        "created_at",
        "updated_at",
    ),
    "reports_lead": ("id", "inspection_id", "gun_id", "result"),
    **{table: (*key, "assigned_by", "assigned_at") for table, key in KEYS.items()},
}
