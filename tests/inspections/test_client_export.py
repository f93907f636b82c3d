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


def contents(file: Path) -> tuple[dict, list[str]]:
    """Return the rows and the names of the pages of an export."""
    with zipfile.ZipFile(file) as archive:
        assert archive.getinfo("rows.json").compress_type == zipfile.ZIP_DEFLATED
        names = [name for name in archive.namelist() if name.endswith(".html")]
        return json.loads(archive.read("rows.json")), names


@pytest.mark.parametrize(
    ("client", "rows_of_reports", "pages_of_reports", "letters"), [("1", 0, 2, []), ("2", 3, 3, [1])]
)
def test_reports_and_letters_go_with_their_building_and_stay_as_pages(
    case: Callable, tmp_path: Path, client: str, rows_of_reports: int, pages_of_reports: int, letters: list
) -> None:
    assert case("root").patch("/buildings?id=in.(1,7)", {"client_id": 2}).status == 204
    file = tmp_path / "out.zip"

    code, output = export(case, file, "--client", client, "--files", str(file))

    assert code == 0, output
    rows, names = contents(file)
    assert len(rows["issued_reports"]) == rows_of_reports
    assert [row["id"] for row in rows["notices"]] == letters
    assert {row["inspection_id"] for row in rows["issued_reports"]} <= {row["id"] for row in rows["inspections"]}
    assert len([name for name in names if name.startswith("reports/")]) == pages_of_reports
    assert ("reports/2026-000001.html" in names, "letters/2026-000001.html" in names) == (client == "1",) * 2
    assert "letters/id-1.html" in names or client == "1"
    users = {row["id"] for row in rows["users"]}
    rows["users"] += [user for user in issued_rows()["users"] if user["id"] not in users]
    rows["clients"] = issued_rows()["clients"]
    import_world(open_app(tmp_path / "new.db"), tmp_path / "new.db", rows)


def test_export_names_no_letter_that_it_lacks_and_no_file_outside_of_its_folder(
    world: Callable, tmp_path: Path
) -> None:
    rows = issued_rows()
    outside = {**rows["notices"][0], "content": CONTENT, "building_id": 1, "number": "../../../x"}
    rows["notices"] = [outside, {**outside, "id": 2, "building_id": 2, "client_id": 2, "number": "2026-000005"}]
    rows["issued_reports"] = []
    for key in (1, 2):
        rows["finding_events"][key]["notice_id"] = key
    case = world(rows, MOMENT)
    file = tmp_path / "out.zip"

    assert export(case, file)[0] == 0

    found, names = contents(file)
    assert names == ["letters/id-1.html"]
    assert {row["notice_id"] for row in found["finding_events"]} == {1, None}
