"""Attack catalogue, group G: grants. Marks name the entries.

Functions (G06 to G09, G11 to G13, G15) stand in test_attacks_functions.py, G10 between two workers in
tests/contract/test_attacks_concurrency.py.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import (
    ADA,
    BOB,
    MAX,
    MIA,
    MOE,
    ROOT,
    UNKNOWN_USER_ID,
    Database,
    Response,
    api_over,
    dump,
    ids,
    privilege,
    rule,
)
from tests.support import databases
from tests.support.applications import open_app

TO_MANAGERS = "client_manager_building_access"
TO_ADMINS = ("client_admin_building_access", "client_admin_inspection_access")


@pytest.mark.attack(entry="G01")
def test_manager_cannot_grant(api: Callable) -> None:
    response = api("moe").post(f"/{TO_MANAGERS}", {"manager_id": MOE, "building_id": 2})

    assert response.refusal == privilege(TO_MANAGERS)
    assert ids(api("moe").get("/buildings?select=id")) == {1}


@pytest.mark.attack(entry="G02")
def test_admin_cannot_grant_buildings_of_another_client(api: Callable) -> None:
    before = dump(api)
    pairs = [(MOE, 4), (MOE, 5), (MAX, 1), (UNKNOWN_USER_ID, 1), (MOE, 999), (BOB, 1)]

    answers = [
        api("ada").post(f"/{TO_MANAGERS}", {"manager_id": manager, "building_id": building})
        for manager, building in pairs
    ]

    assert answers[0].refusal == rule(TO_MANAGERS)
    assert [answer.whole for answer in answers] == [answers[0].whole] * 6
    assert dump(api) == before


@pytest.mark.attack(entry="G02")
def test_admin_cannot_grant_inspections_of_another_client(api: Callable) -> None:
    table = "client_manager_inspection_access"
    pairs = [(MOE, 6), (MOE, 8), (MAX, 1), (UNKNOWN_USER_ID, 1), (MOE, 999), (BOB, 1)]

    answers = [
        api("ada").post(f"/{table}", {"manager_id": manager, "inspection_id": inspection})
        for manager, inspection in pairs
    ]

    assert answers[0].refusal == rule(table)
    assert [answer.whole for answer in answers] == [answers[0].whole] * 6


@pytest.mark.parametrize("table", TO_ADMINS)
@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
@pytest.mark.attack(entry="G03")
def test_only_super_admins_grant_to_admins(api: Callable, method: str, table: str) -> None:
    target = "building_id" if "building" in table else "inspection_id"
    before = dump(api)

    response = api("ada").send(method, f"/{table}?admin_id=eq.{ADA}", {"admin_id": ADA, target: 4})

    assert response.refusal == privilege(table)
    assert dump(api) == before


@pytest.mark.parametrize(
    ("table", "body"),
    [
        ("client_admin_building_access", {"admin_id": MOE, "building_id": 2}),
        ("client_admin_building_access", {"admin_id": UNKNOWN_USER_ID, "building_id": 2}),
        ("client_admin_inspection_access", {"admin_id": ROOT, "inspection_id": 2}),
        (TO_MANAGERS, {"manager_id": ADA, "building_id": 2}),
        (TO_MANAGERS, {"manager_id": UNKNOWN_USER_ID, "building_id": 2}),
    ],
)
@pytest.mark.attack(entry="G03")
def test_grantee_has_the_tables_role(api: Callable, table: str, body: dict) -> None:
    before = dump(api)

    response = api("root").post(f"/{table}", body)

    assert (response.status, response.code) == (400, "23514")
    assert dump(api) == before


# who, assigned_by (or absent), stored value
SIGNATURES = [
    ("ada", None, ADA),
    ("ada", ADA, ADA),
    ("ada", ROOT, "rule"),
    ("ada", MOE, "rule"),
    ("ada", BOB, "rule"),
    ("root", None, ROOT),
    ("root", ROOT, ROOT),
    ("root", ADA, ADA),
    ("root", BOB, BOB),
    ("service", None, None),
]


@pytest.mark.parametrize(("who", "signed", "kept"), SIGNATURES)
@pytest.mark.attack(entry="G04")
def test_only_a_super_admin_sets_another_grantor(api: Callable, who: str, signed: str | None, kept: str | None) -> None:
    body = {"manager_id": MIA, "building_id": 2, **({"assigned_by": signed} if signed else {})}

    response = api(who).post(f"/{TO_MANAGERS}", body)

    rows = api("root").get(f"/{TO_MANAGERS}?manager_id=eq.{MIA}").json
    if kept == "rule":
        assert (response.refusal, rows) == (rule(TO_MANAGERS), [])
    else:
        assert (response.status, [row["assigned_by"] for row in rows]) == (201, [kept])


@pytest.mark.parametrize(("signed", "status"), [(ADA, 204), (None, 204), (ROOT, 403), (MOE, 403), (MIA, 403)])
@pytest.mark.attack(entry="G04")
def test_patch_sets_the_caller_or_null_as_grantor(api: Callable, signed: str | None, status: int) -> None:
    response = api("ada").patch(f"/{TO_MANAGERS}?manager_id=eq.{MOE}", {"assigned_by": signed})

    assert response.status == status
    assert status == 204 or response.refusal == rule(TO_MANAGERS)


@pytest.mark.attack(entry="G05")
def test_admin_revokes_all_grants_of_a_manager(api: Callable) -> None:
    api("root").post(f"/{TO_MANAGERS}", {"manager_id": MIA, "building_id": 2})
    assert ids(api("mia").get("/buildings?select=id")) == {2}

    response = api("ada").delete(f"/{TO_MANAGERS}?manager_id=eq.{MIA}")

    assert response.status == 204
    assert api("mia").get("/buildings").json == []


@pytest.mark.attack(entry="G10")
def test_revocation_takes_effect_at_the_next_request(api: Callable) -> None:
    assert ids(api("moe").get("/buildings?select=id")) == {1}

    api("ada").delete(f"/{TO_MANAGERS}?manager_id=eq.{MOE}")

    assert api("moe").get("/buildings").json == []


@pytest.mark.sqlite("the rows are inserted without the triggers of a file")
@pytest.mark.attack(entry="G14")
def test_grant_to_a_user_of_another_role_has_no_effect_and_is_reported(base_file: Path, tmp_path: Path) -> None:
    """An old file may have such rows. The test drops the triggers that refuse them, and inserts them."""
    file = tmp_path / "planted.db"
    databases.copy(base_file, file)
    invalid_grants = {
        "client_manager_building_access": (ADA, 4),
        "client_manager_inspection_access": (ADA, 6),
        "client_admin_building_access": (MOE, 2),
        "client_admin_inspection_access": (MOE, 1),
    }
    for table, (grantee, granted) in invalid_grants.items():
        databases.sql(file, f"DROP TRIGGER {table}_role_insert")
        row = (grantee, granted, None, "2025-01-01T00:00:00+00:00")
        databases.sql(file, f"INSERT INTO {table} VALUES (?, ?, ?, ?)", *row)
    app = open_app(file)
    api = api_over(Database(lambda: app, None, app))

    said = app.test_cli_runner().invoke(args=["check"])

    assert said.exit_code == 1
    for table, (grantee, _) in invalid_grants.items():
        role = table.rpartition("_")[0].rpartition("_")[0].rpartition("_")[0]
        assert f"{table} holds 1 for user {grantee}, whose role is not {role}" in said.output
    for who, user, building, inspection in (("ada", ADA, 4, 6), ("moe", MOE, 2, 1)):
        assert building not in ids(api(who).get("/buildings?select=id"))
        for table, asked in (("building", building), ("inspection", inspection)):
            arguments = {f"p_{table}_id": asked, "p_user_id": user}
            name = "check_building_access_v2" if table == "building" else "check_inspection_access"
            reached = api("root").rpc(name, arguments).json
            explained = api("root").rpc(f"explain_{table}_access", arguments).json
            listed = asked in ids(api(who).get(f"/{table}s?select=id"))
            assert explained["allowed"] is reached is listed
            assert all("grant" not in each["rule"] for each in explained["reasons"] if not listed)
    assert ids(api("moe").get("/inspections?select=id")) == ids(read_of_unchanged_database(base_file, tmp_path))


def read_of_unchanged_database(base_file: Path, directory: Path) -> Response:
    """Return what moe reads in an unchanged database."""
    file = directory / "untouched.db"
    databases.copy(base_file, file)
    app = open_app(file)
    return api_over(Database(lambda: app, None, app))("moe").get("/inspections?select=id")
