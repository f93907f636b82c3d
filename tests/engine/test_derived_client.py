"""The hidden column `client_id` of inspections and readings, which the access rule reads.

The database derives it from the parent for every write, and no response shows it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.schema.script import client_mismatches
from models import RESOURCES
from tests.conftest import ids
from tests.support import databases

REFUSED = "reports_lead_(client_id_check|inspection_id_fkey)"


@pytest.fixture
def file(base_file: Path, tmp_path: Path) -> Path:
    found = tmp_path / "by_hand.db"
    databases.copy(base_file, found)
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO reports_lead (inspection_id, client_id, updated_at) VALUES (2, 2, '2026-01-01T00:00:00+00:00')",
        (
            "INSERT INTO reports_lead (inspection_id, client_id, updated_at)"
            " SELECT inspection_id, 2, updated_at FROM reports_lead"
        ),
        "UPDATE reports_lead SET client_id = 2 WHERE id = 1",
        "UPDATE reports_lead SET inspection_id = 6 WHERE id = 1",
        "UPDATE reports_lead SET inspection_id = 6, client_id = 1 WHERE id = 1",
        (
            "INSERT INTO reports_lead (id, inspection_id, client_id, updated_at)"
            " VALUES (1, 2, 1, '2026-01-01T00:00:00+00:00')"
            " ON CONFLICT (id) DO UPDATE SET client_id = 2"
        ),
    ],
)
def test_database_refuses_a_client_that_differs_from_the_inspection(file: Path, statement: str) -> None:
    """This holds for other programs too, and in SQLite for connections without foreign keys."""
    before = databases.sql(file, "SELECT * FROM reports_lead ORDER BY id")

    with pytest.raises(Exception, match=REFUSED):
        databases.sql(file, statement)

    assert databases.sql(file, "SELECT * FROM reports_lead ORDER BY id") == before
    assert databases.sql(file, client_mismatches(RESOURCES)) == []


def test_database_accepts_a_change_of_both_columns(file: Path) -> None:
    databases.sql(file, "UPDATE reports_lead SET inspection_id = 6, client_id = 2 WHERE id = 1")

    assert databases.sql(file, "SELECT client_id FROM reports_lead WHERE id = 1") == [(2,)]


# id, method, path, body, and the readings that each user sees afterwards
MOVES = [
    ("nothing", "PATCH", "/reports_lead?id=eq.1", {"gun_id": 1}, {"ada": {1, 2}, "bob": {3, 4}}),
    ("a-building", "PATCH", "/buildings?id=eq.1", {"client_id": 2}, {"ada": set(), "bob": {1, 2, 3, 4}}),
    ("all-buildings", "PATCH", "/buildings?client_id=in.(1,2)", {"client_id": 2}, {"ada": set(), "bob": {1, 2, 3, 4}}),
    ("an-inspection", "PATCH", "/inspections?id=eq.2", {"building_id": 4}, {"ada": set(), "bob": {1, 2, 3, 4}}),
    ("an-inspection-by-put", "PUT", "/inspections?id=eq.6", {"id": 6, "building_id": 2, "inspection_type": "x"},
     {"ada": {1, 2, 3, 4}, "bob": set()}),
    ("within-a-client", "PATCH", "/inspections?id=eq.2", {"building_id": 2}, {"ada": {1, 2}, "bob": {3, 4}}),
    ("a-reading", "PATCH", "/reports_lead?id=eq.1", {"inspection_id": 6}, {"ada": {2}, "bob": {1, 3, 4}}),
    ("a-reading-by-put", "PUT", "/reports_lead?id=eq.4", {"id": 4, "inspection_id": 2}, {"ada": {1, 2, 4}, "bob": {3}}),
    ("to-no-inspection", "PATCH", "/reports_lead?id=lt.3", {"inspection_id": 999}, {"ada": {1, 2}, "bob": {3, 4}}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "whose"), [each[1:] for each in MOVES], ids=[e[0] for e in MOVES])
def test_readings_follow_the_client_of_their_inspection(
    api: Callable, tmp_path: Path, method: str, path: str, body: dict, whose: dict[str, set]
) -> None:
    api("root").delete("/client_admin_building_access?building_id=gt.0")

    response = api("root").send(method, path, body)

    assert response.status == (409 if "999" in str(body) else 204), response
    assert {who: ids(api(who).get("/reports_lead?select=id")) for who in whose} == whose
    assert databases.sql(tmp_path / "walkthrough.db", client_mismatches(RESOURCES)) == []


def test_id_of_a_referenced_inspection_cannot_change(api: Callable) -> None:
    response = api("root").patch("/inspections?id=eq.2", {"id": 77})

    assert (response.status, response.code) == (409, "23503")
    assert ids(api("ada").get("/reports_lead?select=id&inspection_id=eq.2")) == {1, 2}


def test_readings_are_deleted_with_their_inspection(api: Callable) -> None:
    assert api("root").delete("/inspections?id=eq.2").status == 204

    assert ids(api("root").get("/reports_lead?select=id")) == {3, 4}


@pytest.mark.parametrize("media", ["application/json", "application/openapi+json"])
def test_documents_omit_the_derived_column(api: Callable, media: str) -> None:
    document = api("root").get("/", headers={"Accept": media}).json
    models = document.get("definitions") or document["components"]["schemas"]

    for name in ("inspections", "reports_lead"):
        assert "client_id" not in str(models[name])
