"""A reading is its inspection's client's, and an inspection its building's: who may read a row hangs on that column.

The database sees to it, whatever door a change comes through, and no answer tells of it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.maintenance.schema import CLIENT_MISMATCHES
from tests import databases
from tests.conftest import ids

REFUSED = "reports_lead_(client_id_check|inspection_id_fkey)"


@pytest.fixture
def file(base_file: Path, tmp_path: Path) -> Path:
    found = tmp_path / "by_hand.db"
    databases.copy(base_file, found)
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO reports_lead (inspection_id, client_id) VALUES (2, 2)",
        "INSERT INTO reports_lead (inspection_id, client_id) SELECT inspection_id, 2 FROM reports_lead",
        "UPDATE reports_lead SET client_id = 2 WHERE id = 1",
        "UPDATE reports_lead SET inspection_id = 6 WHERE id = 1",
        "UPDATE reports_lead SET inspection_id = 6, client_id = 1 WHERE id = 1",
        "INSERT INTO reports_lead VALUES (1, 2, 5, 'x', 1) ON CONFLICT (id) DO UPDATE SET client_id = 2",
    ],
)
def test_a_reading_of_another_client_than_its_inspection_is_refused(
    file: Path, statement: str
) -> None:
    """By whatever program; of a file also by one that never asks for foreign keys."""
    before = databases.sql(file, "SELECT * FROM reports_lead ORDER BY id")

    with pytest.raises(Exception, match=REFUSED):
        databases.sql(file, statement)

    assert databases.sql(file, "SELECT * FROM reports_lead ORDER BY id") == before
    assert databases.sql(file, CLIENT_MISMATCHES) == []


def test_a_reading_moves_with_both_columns(file: Path) -> None:
    databases.sql(file, "UPDATE reports_lead SET inspection_id = 6, client_id = 2 WHERE id = 1")

    assert databases.sql(file, "SELECT client_id FROM reports_lead WHERE id = 1") == [(2,)]


# method, path, body, and whose readings 1 to 4 are afterwards
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


@pytest.mark.parametrize(
    ("method", "path", "body", "whose"), [each[1:] for each in MOVES], ids=[e[0] for e in MOVES]
)
def test_readings_are_read_by_whose_inspection_it_is(
    api: Callable, tmp_path: Path, method: str, path: str, body: dict, whose: dict[str, set]
) -> None:
    api("root").delete("/client_admin_building_access?building_id=gt.0")

    response = api("root").send(method, path, body)

    assert response.status == (409 if "999" in str(body) else 204), response
    assert {who: ids(api(who).get("/reports_lead?select=id")) for who in whose} == whose
    assert databases.sql(tmp_path / "walkthrough.db", CLIENT_MISMATCHES) == []


def test_an_inspections_new_id_is_refused_while_it_has_readings(api: Callable) -> None:
    response = api("root").patch("/inspections?id=eq.2", {"id": 77})

    assert (response.status, response.code) == (409, "23503")
    assert ids(api("ada").get("/reports_lead?select=id&inspection_id=eq.2")) == {1, 2}


def test_readings_go_with_their_inspection(api: Callable) -> None:
    assert api("root").delete("/inspections?id=eq.2").status == 204

    assert ids(api("root").get("/reports_lead?select=id")) == {3, 4}


@pytest.mark.parametrize("media", ["application/json", "application/openapi+json"])
def test_no_document_says_that_the_column_is_there(api: Callable, media: str) -> None:
    document = api("root").get("/", headers={"Accept": media}).json
    models = document.get("definitions") or document["components"]["schemas"]

    for name in ("inspections", "reports_lead"):
        assert "client_id" not in str(models[name])
