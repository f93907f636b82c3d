"""`flask export --client ID --files out.zip`: all of one client, and nothing of another."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import MAX, MOE, ROOT
from tests.inspections.case_world import ELSEWHERE, HIDDEN, MOMENT
from tests.inspections.issued_world import CLOSED, GUN, ISSUED, issue, issued_rows, report
from tests.support.applications import import_world, open_app
from tests.support.storage import Storage, picture

PHOTOGRAPH = "0" * 64
CONTENT = {"page": f'<p><img src="thumbnail:{PHOTOGRAPH}"></p>', "thumbnails": {PHOTOGRAPH: "SlBFRw=="}}


@pytest.fixture
def case(world: Callable) -> Callable:
    rows = issued_rows()
    rows["issued_reports"] = [
        report(2, CLOSED, content=CONTENT, withdrawn_at=MOMENT),
        report(3, ELSEWHERE, client_id=2, withdrawn_at=MOMENT, content=CONTENT, number="2026-000009"),
    ]
    rows["notices"][0]["content"] = CONTENT
    rows["xrf_instruments"] += [
        {**rows["xrf_instruments"][0], "id": 2, "client_id": None, "gun_id": 78},
        {**rows["xrf_instruments"][0], "id": 3, "client_id": None, "gun_id": 79},
        {**rows["xrf_instruments"][0], "id": 4, "client_id": 2, "gun_id": GUN},
    ]
    rows["reports_lead"][0]["gun_id"] = 78
    rows["inspectors"].append({"id": 3, "name": "Uma"})
    rows["client_manager_building_access"].append(
        {"manager_id": MAX, "building_id": 2, "assigned_by": ROOT, "assigned_at": MOMENT}
    )
    made = world(rows, MOMENT)
    issue(made)
    assert Storage(made("root")).upload(f"inspections/{ELSEWHERE}/a.png", picture("hidden")).status == 200
    return made


def export(case: Callable, file: Path, *words: str) -> tuple[int, str]:
    app = case("root").database.app_for("POST", "/")
    done = app.test_cli_runner().invoke(args=["export", *(words or ("--client", "1", "--files", str(file)))])
    return done.exit_code, done.output


def test_export_has_all_of_a_client_and_nothing_of_another(case: Callable, tmp_path: Path) -> None:
    file = tmp_path / "out.zip"

    code, output = export(case, file)

    assert code == 0, output
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        rows = json.loads(archive.read("rows.json"))
        assert archive.read("reports/2026-000002.html").decode() == '<p><img src="data:image/jpeg;base64,SlBFRw=="></p>'
        photograph = f"inspections/{ISSUED}/a.png"
        assert archive.read(f"files/{photograph}") == picture(photograph)
    assert [name for name in names if name.startswith("reports/")] == [
        "reports/2026-000001.html", "reports/2026-000002.html",
    ]  # fmt: skip
    assert [name for name in names if name.startswith("letters/")] == ["letters/2026-000001.html"]
    assert f"files/inspections/{ELSEWHERE}/a.png" not in names
    ids = {table: {row["id"] for row in found if "id" in row} for table, found in rows.items()}
    assert (ids["clients"], ids["inspectors"], ids["xrf_instruments"]) == ({1}, {1, 2}, {1, 2})
    assert ELSEWHERE not in ids["inspections"]
    assert HIDDEN not in ids["findings"]
    assert {row["client_id"] for row in rows["users"]} == {1}
    assert [row["manager_id"] for row in rows["client_manager_building_access"]] == [MOE]
    for table in ("inspections", "findings", "reports_lead", "files", "building_details", "finding_events"):
        stored = case("ada").get(f"/{table}").json
        assert len(rows[table]) == len(stored), table
        assert rows[table]


def test_rows_of_the_export_are_an_archive_with_the_people_whom_they_name(case: Callable, tmp_path: Path) -> None:
    file = tmp_path / "out.zip"
    assert export(case, file)[0] == 0
    with zipfile.ZipFile(file) as archive:
        rows = json.loads(archive.read("rows.json"))
    rows["users"] += [user for user in issued_rows()["users"] if user["client_id"] is None]

    app = open_app(tmp_path / "new.db")
    import_world(app, tmp_path / "new.db", rows)


def test_equal_data_give_equal_bytes_and_an_unknown_client_leaves_the_file(case: Callable, tmp_path: Path) -> None:
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    assert export(case, first)[0] == export(case, second)[0] == 0
    assert first.read_bytes() == second.read_bytes()

    code, output = export(case, first, "--client", "999", "--files", str(first))

    assert (code, "Client not found" in output) == (1, True)
    assert first.read_bytes() == second.read_bytes()
    assert export(case, first, "--client", "1")[0] == 1
    assert export(case, first, "--files", str(first))[0] == 1
