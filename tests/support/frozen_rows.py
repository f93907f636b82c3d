"""Rows of issued reports and letters as the service writes them, without the work of an issue."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from engine.rows import insert_rows, update_rows
from models.types import canonical_json
from tests.conftest import MIA

Row = dict[str, object]

ISSUED_AT = "2025-05-01T09:00:00+00:00"


def issued_report_row(id_: int, inspection_id: int, client_id: int, **values: object) -> Row:
    """Return a withdrawn report, which locks nothing. `values` replace columns."""
    return {
        "id": id_, "inspection_id": inspection_id, "client_id": client_id, "kind": "lead", "rule": "federal",
        "number": f"2025-{id_:06}", **frozen({"report": {"visit": inspection_id, "secret": f"Report {id_}"}}),
        "signed_name": f"Signer {id_}", "signature": "iVBORw0KGgo=", "issued_by": None, "issued_at": ISSUED_AT,
        "replaces_id": None, "withdrawn_at": ISSUED_AT, "withdrawn_by": None, "withdrawn_note": f"Note {id_}",
        "updated_at": ISSUED_AT, **values,
    }  # fmt: skip


def notice_row(id_: int, building_id: int, client_id: int, **values: object) -> Row:
    """Return a letter that was neither served nor withdrawn. `values` replace columns."""
    return {
        "id": id_, "number": f"2025-{id_:06}", "building_id": building_id, "client_id": client_id,
        "to_name": f"Owner {id_}", "to_address": f"{id_} Harbor Road", "answer_by": "2025-06-01", "served_on": None,
        "served_how": None, **frozen({"letter": {"building": building_id, "secret": f"Letter {id_}"}}),
        "issued_by": None, "issued_at": ISSUED_AT, "withdrawn_at": None, "withdrawn_note": None,
        "updated_at": ISSUED_AT, **values,
    }  # fmt: skip


def frozen(content: Row) -> Row:
    """Return a content with thumbnails and a page, and its hash."""
    whole = {**content, "issued": {}, "thumbnails": {}, "page": "<p>Page</p>"}
    return {"content": whole, "sha256": sha256(canonical_json(whole).encode()).hexdigest()}


def insert(app: object, actor_id: str | None, table: str, rows: list[Row]) -> None:
    """Insert rows into a table that the service writes."""
    with app.app_context(), app.extensions["walkthrough"].writing() as transaction:
        transaction.set_actor(actor_id)
        insert_rows(transaction, table, rows)


def update(app: object, actor_id: str | None, table: str, key: int, changes: Row) -> None:
    """Change a row, by its id, of a table that the service writes."""
    with app.app_context(), app.extensions["walkthrough"].writing() as transaction:
        transaction.set_actor(actor_id)
        update_rows(transaction, table, [(key,)], changes)


CAST_REPORTS = ((1, 1, 1), (2, 7, 2), (3, 3, 1), (4, 8, 2), (5, 4, 1), (6, 4, 2))
"""Ids, inspections and clients of reports of the data set's visits. Client 2 had the building of visit 4."""
CAST_LETTERS = (
    (1, 1, 1, None), (2, 4, 2, None), (3, 5, 2, None), (4, 2, 1, None), (5, 3, 2, None), (6, 1, 2, None),
    (7, 2, 1, MIA), (8, 2, 2, MIA),
)  # fmt: skip
"""Ids, buildings, clients and writers of letters. Client 2 had buildings 1 to 3."""


def cast_rows() -> dict[str, list[Row]]:
    """Return the issued reports and letters of the data set's visits and buildings."""
    return {
        "issued_reports": [issued_report_row(*each) for each in CAST_REPORTS],
        "notices": [notice_row(*each, issued_by=writer) for *each, writer in CAST_LETTERS],
    }


FROZEN: dict[str, tuple[Callable[..., Row], str]] = {
    "issued_reports": (issued_report_row, "inspections"),
    "notices": (notice_row, "buildings"),
}
"""By table: what returns its rows, and the table to which they belong."""
