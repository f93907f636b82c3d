"""What was issued stays the same bytes: after changes of the rows that it names, a restart, and on another database."""

import base64
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from config import PROJECT
from tests.conftest import Database, api_over
from tests.inspections.case_world import MOMENT
from tests.inspections.issuing import KINDS, issued, show, verify
from tests.inspections.report_world import LEAD, report_rows
from tests.support import databases
from tests.support.applications import open_app
from tests.support.photographs import photograph
from tests.support.storage import picture, storage_of

FORMATS = ("text/html", "application/json")


@pytest.fixture
def reports(world: Callable) -> Callable:
    """A world with a report of each kind of the same visit, with a photograph and a drawn signature."""
    reports = world(report_rows(), MOMENT)
    assert storage_of(reports)("ada").upload(f"inspections/{LEAD}/a.jpg", photograph("a")).status == 200
    signature = base64.b64encode(picture("signature", size=(300, 120))).decode()
    for kind in KINDS:
        issued(reports, kind=kind, p_signature_png=signature)
    return reports


def shown(reports: Callable, who: str = "ada") -> list[str]:
    """Return the pages and the JSON of all issued reports."""
    ids = [row["id"] for row in reports(who).get("/issued_reports?select=id&order=id").json]
    assert len(ids) == len(KINDS)
    answers = [show(reports, key, who, accept) for key in ids for accept in FORMATS]
    assert {each.status for each in answers} == {200}
    return [each.text for each in answers]


def over(app: object) -> Callable:
    """Return `api` over another application."""
    return api_over(Database(lambda: app, None, app))


def run(app: object, *words: str) -> None:
    done = app.test_cli_runner().invoke(args=list(words))
    assert done.exit_code == 0, done.output


def app_of(reports: Callable) -> object:
    return reports("root").database.app_for("POST", "/")


CHANGES = {
    "building": ("/buildings?id=eq.1", {"name": "Renamed", "address": "Elsewhere", "city": "Troy", "zip": "1"}),
    "owner": (
        "/building_details?building_id=eq.1",
        {"owner_name": "Another", "owner_address": "A", "year_built": 1999},
    ),
    "license": ("/inspectors?id=eq.1", {"name": "Married", "license": "X", "firm": "Y", "firm_certificate": "Z"}),
    "instrument": (
        "/xrf_instruments?id=eq.1",
        {"serial": "X", "model": "Y", "positive_from": 1.4, "check_minutes": 90},
    ),
    "standards": ("/lead_standards?from_value=gt.0", {"basis": "Another law"}),
    "client": ("/clients?id=eq.1", {"name": "Another client", "phone": "+1"}),
    "person": ("/users?role=eq.client_admin", {"name": "Another name"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_report_stays_when_a_row_that_it_names_is_changed(reports: Callable, change: str) -> None:
    before = shown(reports)
    path, body = CHANGES[change]

    answer = reports("root").patch(path, body, prefer="return=representation")

    assert (answer.status, bool(answer.json)) == (200, True), answer.text
    assert shown(reports) == before


def test_report_stays_after_a_restart(reports: Callable, tmp_path: pathlib.Path) -> None:
    before = shown(reports)

    restarted = over(open_app(tmp_path / "world1.db"))

    assert shown(restarted) == shown(restarted, "mia") == before


def test_report_stays_when_templates_change(reports: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shown(reports)
    monkeypatch.setattr("routes.reports.views.render_template", lambda *names, **values: "another page")

    assert reports("ada").get(f"/reports/inspections/{LEAD}", accept="text/html").text == "another page"
    assert shown(reports) == before


def test_report_stays_after_its_files_are_gone(reports: Callable) -> None:
    before = shown(reports)
    store = app_of(reports).extensions["walkthrough.files"]
    store.remove_all_thumbnails()
    for each in store.hashes():
        store.path(each).unlink()

    assert shown(reports) == before


def test_report_stays_after_export_and_import(reports: Callable, tmp_path: pathlib.Path) -> None:
    run(app_of(reports), "export", str(tmp_path / "all.json"))
    imported = open_app(tmp_path / "imported.db")

    run(imported, "import", str(tmp_path / "all.json"))

    assert shown(over(imported)) == shown(reports)


def test_report_stays_after_copies(reports: Callable, tmp_path: pathlib.Path) -> None:
    """On the run of the server this is a copy to PostgreSQL and one back to a file."""
    there, back = tmp_path / "there.db", f"sqlite:///{tmp_path / 'back.db'}"

    run(app_of(reports), "copy", "--to", databases.url(there))
    copied = open_app(there)
    run(copied, "copy", "--to", back)
    returned = open_app(tmp_path / "back.db", DATABASE_URL=back)

    assert shown(over(copied)) == shown(over(returned)) == shown(reports)
    [made] = verify(over(returned), number="2026-000002")
    assert (made["state"], made["kind"]) == ("issued", KINDS[1])


@pytest.mark.sqlite("the server has backups of its own")
def test_report_stays_after_a_backup_is_restored(reports: Callable, tmp_path: pathlib.Path) -> None:
    before = shown(reports)
    run(app_of(reports), "backup", str(tmp_path / "kept.backup"))
    restored = tmp_path / "restored.db"

    run(open_app(restored), "restore", str(tmp_path / "kept.backup"))

    assert shown(over(open_app(restored)), "service") == before  # a restore ends the tokens of persons


def test_lines_of_the_documentation_verify_a_report(reports: Callable, tmp_path: pathlib.Path) -> None:
    said = (PROJECT / "docs" / "REPORT.md").read_text(encoding="utf-8")
    [lines] = re.findall(r"```python\n(.*?)```", said, re.DOTALL)
    [row] = reports("ada").get("/issued_reports?select=id,number&kind=eq.lead").json
    report = show(reports, row["id"], accept="application/json").text

    def verified(text: str) -> list[str]:
        (tmp_path / "report.json").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", lines], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    head = f"{row['number']} {MOMENT} Ines Park"
    assert verified(report) == verified(json.dumps(json.loads(report), indent=2)) == [head, "unchanged"]
    assert report.count('"Kitchen"') > 1
    assert verified(report.replace('"Kitchen"', '"Bath"', 1)) == [head, "changed"]
