"""The import page: choose a file, see its columns and errors, then write its rows. Nothing needs a script."""

import html
import io
import pathlib
import re
from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from inspections.imports import import_csv
from inspections.imports.rows import RowReader
from tests.conftest import dump
from tests.console.conftest import Form, FormClient
from tests.support.lock_record import LockRecord

FILES = pathlib.Path(__file__).parent.parent / "data" / "imports"
PATH = "/console/import/buildings"
NO_DATE = "is no date of the form"
CSV = 'name,address,Town\r\n"New ""House""\r\nNorth",1 First St,Boston\r\nOther House,2 First St,Lynn\r\n'


def submit(browser: FormClient, page: str, typed: dict[str, str], button: str, file: bytes = b"") -> TestResponse:
    """Submit the form of a page as a browser does, with a file."""
    path = re.search(r'enctype="multipart/form-data" action="([^"]+)"', page)[1]
    form = Form(page, path)
    form.fields = [(name, value) for name, value in form.fields if name != "file"]
    sent = {**form.with_(typed), button: "1", "file": (io.BytesIO(file), "rows.csv")}
    return browser.client.post(path, data=sent, content_type="multipart/form-data")


def check(browser: FormClient, text: str = CSV, path: str = PATH, **typed: str) -> TestResponse:
    return submit(browser, browser.page(path), {"date_format": "ymd", **typed}, "check", text.encode())


def test_file_is_checked_and_then_written(browse: Callable, api: Callable) -> None:
    browser, before = browse("ada"), dump(api)
    checked = check(browser, client_id="1", city="Salem")

    assert checked.status_code == 200
    assert dump(api) == before
    assert "2 lines: 2 to import, 0 existed before, 0 errors." in checked.text
    assert "Import 2 buildings" in checked.text

    written = submit(browser, checked.text, {}, "write")

    assert written.status_code == 303
    assert "2 buildings imported." in browser.page(written.headers["Location"])
    rows = api("ada").get("/buildings?address=like.*First St&select=name,city&order=id").json
    assert rows == [{"name": 'New "House"\nNorth', "city": "Salem"}, {"name": "Other House", "city": "Salem"}]


def test_file_is_read_before_the_writer_lock(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = browse("ada")
    checked = check(browser, client_id="1", city="Salem")
    record = LockRecord(monkeypatch)
    record.watch(import_csv, "read_table")
    record.watch(RowReader, "convert")

    written = submit(browser, checked.text, {}, "write")

    assert written.status_code == 303
    assert {name for name, *_ in record.calls} == {"read_table", "convert"}
    assert record.under_lock == []


def test_columns_are_changed_before_the_import(browse: Callable, api: Callable) -> None:
    browser = browse("ada")
    page = check(browser, client_id="1").text
    form = Form(page, PATH)
    columns = [value for name, value in form.fields if name == "column"]
    fields = [value for name, value in form.fields if name == "field"]
    assert dict(zip(columns, fields, strict=True)) == {"name": "name", "address": "address", "Town": ""}

    sent = {name: value for name, value in form.with_({}).items() if name != "file"}
    again = browser.client.post(PATH, data={**sent, "field": ["name", "", "city"], "write": "1"})

    assert again.status_code == 303
    rows = api("ada").get("/buildings?name=eq.Other House&select=address,city").json
    assert rows == [{"address": None, "city": "Lynn"}]


def test_errors_are_listed_and_nothing_is_written(browse: Callable, api: Callable) -> None:
    browser, before = browse("ada"), dump(api)

    page = check(browser, "name,floors\nNew House,three\n", client_id="1").text

    assert "1 line: 0 to import, 0 existed before, 1 error." in page
    assert "<td>2</td><td>floors</td>" in page
    assert "Floors is not a whole number." in page
    assert 'name="write"' not in page
    refused = submit(browser, page, {}, "write")
    assert refused.status_code == 400
    assert dump(api) == before


def test_import_that_is_sent_again_is_written_once(browse: Callable, api: Callable) -> None:
    browser = browse("ada")
    text = "name,address\nTwin House,\nTwin House,\n"
    page = check(browser, text, client_id="1").text

    for _ in range(2):
        written = submit(browser, page, {}, "write")
        assert "2 buildings imported." in browser.page(written.headers["Location"])

    assert len(api("ada").get("/buildings?name=eq.Twin House").json) == 2


def test_new_file_is_checked_first(browse: Callable, api: Callable) -> None:
    """The user has not seen what its columns mean."""
    browser, before = browse("ada"), dump(api)
    page = check(browser, client_id="1").text

    answer = submit(browser, page, {}, "write", b"name,city\nThird House,Lynn\n")

    assert answer.status_code == 200
    assert "1 line: 1 to import" in answer.text
    assert dump(api) == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("name,city\nGröße,Lynn\n".encode("latin-1"), "Save the file as CSV in UTF-8"),
        (b"a\nc\n", "known column names"),
        (b"", "Choose a file."),
        (b'name,city\n"x', "Line 2 is not valid CSV"),
    ],
)
def test_file_that_cannot_be_read_is_explained(browse: Callable, content: bytes, problem: str) -> None:
    browser = browse("ada")

    answer = submit(browser, browser.page(PATH), {"date_format": "ymd"}, "check", content)

    assert answer.status_code == 400
    assert problem in answer.text


def test_text_of_the_file_is_escaped(browse: Callable) -> None:
    page = check(browse("ada"), "name,city\n</textarea><script>x</script>,Lynn\n", client_id="1").text

    assert "<script>x" not in page


def test_own_parent_is_filled_in(browse: Callable) -> None:
    browser = browse("ada")

    assert 'href="/console/import/reports_lead?inspection_id=2"' in browser.page("/console/inspections/2")
    page = browser.page("/console/import/reports_lead?inspection_id=2")

    assert dict(Form(page, "/console/import/reports_lead").fields)["inspection_id"] == "2"


def test_import_is_offered_to_those_who_may_insert(browse: Callable) -> None:
    assert 'href="/console/import/buildings"' in browse("ada").page("/console/buildings")
    assert "/console/import" not in browse("moe").page("/console/buildings")


def test_form_of_another_session_is_refused(browse: Callable, api: Callable) -> None:
    page, before = check(browse("bob"), client_id="2").text, dump(api)

    answer = submit(browse("ada"), page, {}, "write")

    assert answer.status_code == 403
    assert dump(api) == before


def test_rows_of_another_client_are_errors(browse: Callable, api: Callable) -> None:
    before = dump(api)

    page = check(browse("ada"), "client_id,name\n2,New House\n").text

    assert "You may not add a row with this Client." in page
    assert dump(api) == before


@pytest.mark.parametrize(
    ("target", "text", "problem"),
    [
        ("buildings", "name,city\n,Lynn\n", "<td>name</td><td>–</td><td>Name is missing.</td>"),
        (
            "buildings",
            "name,client_id\nA,77777\n",
            "<td>client_id</td><td>77777</td><td>Client: this row does not exist.</td>",
        ),
        (
            "inspections",
            "inspection_type,date_visited,building_id\nfire,2026-02-30,1\n",
            "2026-02-30: this day does not exist",
        ),
        (
            "inspections",
            "inspection_type,date_visited,status\nfire,2026-02-03,scheduled\n",
            "<td>Building</td><td>–</td>",
        ),
        (
            "findings",
            "description,severity,inspection_id\nA,bad,1\n",
            "Severity cannot have this value: choose one of Life threatening, Severe, Moderate, Low.",
        ),
        ("reports_lead", "inspection_id,lead_mg_cm2\n2,{label}\n", "&#34;{label}&#34; is no measurement"),
        (
            "schedules",
            "building_id,inspection_type,every,unit,first_due\n1,fire,x,year,soon\n",
            "“soon” is no date of the form 2026-01-31",
        ),
    ],
)
def test_errors_are_in_words_of_the_page(browse: Callable, target: str, text: str, problem: str) -> None:
    page = check(browse("root"), text, f"/console/import/{target}").text

    assert problem in page
    assert not re.search(r"null value|constraint|relation|syntax|violates", page)


def test_malformed_form_is_refused(browse: Callable) -> None:
    browser = browse("ada")

    answer = browser.client.post(PATH, data=b"--x\r\nnonsense", content_type="multipart/form-data; boundary=x")

    assert answer.status_code in (400, 403)


def test_other_forms_take_no_file(browse: Callable) -> None:
    browser = browse("ada")

    answer = browser.client.post(
        "/console/buildings/new", data={"csrf": browser.token("/console/buildings/new")},
        content_type="multipart/form-data",
    )  # fmt: skip

    assert answer.status_code == 415


# Questions about a file


def columns_filled(page: str, path: str, **chosen: str) -> dict[str, object]:
    """Return the fields of a form with other columns chosen."""
    form = Form(page, path)
    columns = [value for name, value in form.fields if name == "column"]
    fields = [value for name, value in form.fields if name == "field"]
    filled = [chosen.get(column.replace(" ", "_"), field) for column, field in zip(columns, fields, strict=True)]
    return {**{name: value for name, value in form.with_({}).items() if name != "file"}, "field": filled}


def cells_of(page: str) -> dict[str, str]:
    """Return the cell of the first line by column, as the page shows them."""
    found = re.findall(r'name="column" value="([^"]*)"></td><td>(.*?)</td>', page)
    return {html.unescape(name): html.unescape(cell) for name, cell in found}


def test_first_cells_stand_beside_known_and_unknown_columns(browse: Callable) -> None:
    text = 'House,name,Zip,name\n7,"Größe, ""a""",="04101",B\n8,x,y,z\n'

    page = check(browse("ada"), text.replace(",name\n", "\n").replace(",B\n", "\n"), client_id="1").text

    assert cells_of(page) == {"House": "7", "name": 'Größe, "a"', "Zip": "04101"}


def test_unknown_header_is_a_mapping_to_fill_in(browse: Callable, api: Callable) -> None:
    path, browser = "/console/import/findings", browse("ada")
    text = (FILES / "city-unknown.csv").read_text()
    page = check(browser, text, path, inspection_id="2", severity="low", date_format="mdy").text

    assert "The columns of this file are unknown. Choose below what each one fills" in page
    assert "A column or a field above has to give: Inspection, Description, Severity." in page
    assert cells_of(page)["ADDRESS LINE"] == "1 EXAMPLE ST"
    sent = columns_filled(page, path, CASE_NO="code", VIOLATION_DATE="found_at", VIOLATION_DESCRIPTION="description")
    asked = browser.client.post(path, data={**sent, "check": "1"}).text
    assert "The year of 09/16/26 has two digits: write it with four" in asked
    left_out = columns_filled(asked, path)
    checked = browser.client.post(path, data={**left_out, "skip_lines": "3", "check": "1"}).text
    written = submit(browser, checked, {}, "write")

    assert written.status_code == 303
    assert len(api("ada").get("/findings?code=in.(77,78)").json) == 1


def test_jobs_get_their_visits(browse: Callable, api: Callable) -> None:
    path, browser = "/console/import/reports_lead", browse("ada")
    text = (FILES / "two-jobs.csv").read_text()
    page = check(browser, text, path, gun_id="777", decimal="comma").text
    assert "Visit of the job J1" in page

    checked = submit(browser, page, {"visit-0": "2", "visit-1": "1"}, "check").text
    written = submit(browser, checked, {}, "write")

    assert written.status_code == 303
    rows = api("ada").get("/reports_lead?gun_id=eq.777&select=inspection_id,lead_mg_cm2&order=id").json
    assert [tuple(row.values()) for row in rows] == [(2, 0.2), (1, 1.7)]


def test_lines_left_out_and_skipped_are_shown(browse: Callable) -> None:
    text = (FILES / "niton-standards.csv").read_text()

    page = check(
        browse("ada"), text, "/console/import/reports_lead", inspection_id="2", gun_id="7", skip_lines="8"
    ).text

    assert "The instrument tested itself: SHUTTER_CAL" in page
    assert "Left out as asked" in page
    assert "2 to import" in page


def test_closed_violations_are_asked_about(browse: Callable, api: Callable) -> None:
    path, browser = "/console/import/findings", browse("ada")
    text = (FILES / "violations-class.csv").read_text()
    page = check(browser, text, path, inspection_id="2").text
    assert "The city has closed this violation: leave such lines out, or import them as verified<" in page

    checked = submit(browser, page, {"closed": "verified"}, "check").text
    written = submit(browser, checked, {}, "write")

    assert written.status_code == 303
    [closed] = api("ada").get("/findings?code=eq.900003&select=status,closed_at").json
    assert closed == {"status": "verified", "closed_at": "2013-07-02T00:00:00+00:00"}


def test_ids_of_rows_here_are_named_and_left_out(browse: Callable, api: Callable) -> None:
    browser, before = browse("ada"), dump(api)
    text = "id,name,address\n1,Mill Court,9 Corrected St\n"
    page = check(browser, text, client_id="1").text
    assert "Harbor House has this id, and an import changes no row. Leave such lines out by" in page

    checked = submit(browser, page, {"existing": "id"}, "check").text

    assert "1 line: 0 to import, 1 existed before, 0 errors." in checked
    assert dump(api) == before


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"skip_lines": "all"}, "Lines to leave out are numbers"),
        ({"taken_from": "2026-05-04T09:00"}, "Give the times of the first and the last reading."),
        (
            {"taken_from": "2026-05-04T09:00", "taken_to": "2026-05-04T08:00"},
            "The last reading precedes the first one.",
        ),
    ],
)
def test_answers_without_a_meaning_are_refused_in_words(browse: Callable, typed: dict, problem: str) -> None:
    path = "/console/import/reports_lead"

    answer = check(browse("ada"), "Reading No,PbC\n1,0.4\n", path, inspection_id="2", gun_id="7", **typed)

    assert problem in answer.text


@pytest.mark.parametrize(
    ("date_format", "dates", "problem"),
    [
        ("ymd", "10/09/2013 10/21/2013", f"“10/09/2013” {NO_DATE} 2026-01-31; all dates look like month/day/year"),
        ("ymd", "31/12/2013 01/02/2013", f"“31/12/2013” {NO_DATE} 2026-01-31; all dates look like day/month/year"),
        ("ymd", "10/09/2013 01/02/2013", f"“10/09/2013” {NO_DATE} 2026-01-31: choose month/day/year or day/month"),
        ("ymd", "31/12/2013 12/31/2013", f"“31/12/2013” {NO_DATE} 2026-01-31: choose month/day/year or day/month"),
        ("mdy", "31/12/2013 01/02/2013", f"“31/12/2013” {NO_DATE} 01/31/2026; all dates look like day/month/year"),
        ("dmy", "12/31/2013 01/02/2013", f"“12/31/2013” {NO_DATE} 31/01/2026; all dates look like month/day/year"),
        ("mdy", "Sep-3-2013 01/02/2013", f"“Sep-3-2013” {NO_DATE} 01/31/2026<"),
        ("dmy", "01/02/13 01/02/2013", "The year of 01/02/13 has two digits: write it with four"),
        ("ymd", "2013-02-30 2013-02-03", "2013-02-30: this day does not exist"),
    ],
)  # fmt: skip
def test_date_in_another_order_names_the_order_of_the_file(
    browse: Callable, date_format: str, dates: str, problem: str
) -> None:
    lines = "".join(f"A,low,2,{each}\n" for each in dates.split())
    text = f"description,severity,inspection_id,InspectionDate\n{lines}"

    page = check(browse("ada"), text, "/console/import/findings", date_format=date_format).text

    assert problem in html.unescape(page)


def test_file_and_columns_are_kept_while_a_field_is_wrong(browse: Callable, api: Callable) -> None:
    browser, text = browse("ada"), "Title,Town\nKept House,Lynn\n"
    asked = check(browser, text, client_id="1", skip_lines="all")
    assert asked.status_code == 400

    page = submit(browser, asked.text, {"skip_lines": ""}, "check").text
    sent = columns_filled(page, PATH, Title="name", Town="city")
    wrong = browser.client.post(PATH, data={**sent, "skip_lines": "all", "check": "1"}).text
    written = browser.client.post(PATH, data={**columns_filled(wrong, PATH), "skip_lines": "", "write": "1"})

    assert written.status_code == 303
    assert api("ada").get("/buildings?name=eq.Kept House&select=city").json == [{"city": "Lynn"}]


def test_file_stays_when_another_one_cannot_be_read(browse: Callable) -> None:
    browser = browse("ada")
    page = check(browser, client_id="1").text

    refused = submit(browser, page, {}, "check", "name,city\nGröße,Lynn\n".encode("latin-1"))

    assert refused.status_code == 400
    assert "The file is not in UTF-8." in refused.text
    assert "Import 2 buildings" in submit(browser, refused.text, {}, "check").text


def test_column_that_may_fill_a_field_once_is_asked_about_in_words(browse: Callable) -> None:
    browser = browse("ada")
    page = check(browser, "name,a,b\nHouse,1,2\n", client_id="1").text
    both = {**columns_filled(page, PATH, a="floors", b="floors"), "check": "1"}

    refused = browser.client.post(PATH, data=both)

    assert refused.status_code == 400
    assert "Several columns fill Floors, which takes one. Choose one of them." in refused.text
    assert columns_filled(refused.text, PATH)["field"] == ["name", "floors", "floors"]


def test_value_of_the_form_that_no_column_takes_is_refused_in_words(browse: Callable) -> None:
    path = "/console/import/reports_lead"

    page = check(browse("ada"), "Reading No,PbC\n1,0.4\n", path, inspection_id="2", gun_id="x").text

    assert "XRF gun is not a whole number." in page
    assert "bigint" not in page


def test_preview_has_labels_names_and_words(browse: Callable) -> None:
    text = "building_id,inspection_type,status,date_visited,inspector_id\n1,fire,In Progress,2026-02-03,\n"

    page = check(browse("ada"), text, "/console/import/inspections").text

    preview = page[page.index("The first rows to import") :]
    for shown in ("Building</th>", "Harbor House</td>", "Fire</td>", "In progress</td>", "3 Feb 2026</td>"):
        assert shown in preview
    assert "building_id" not in preview.partition("</table>")[0]


@pytest.mark.parametrize("status", ["VIOLATION CLOSED", "COMPLIED", "Abated", "Corrected"])
def test_violation_that_ended_in_any_word_is_asked_about(browse: Callable, status: str) -> None:
    text = f"NOVDescription,Class,CurrentStatus\nA,B,{status}\n"

    page = check(browse("ada"), text, "/console/import/findings", inspection_id="2").text

    assert "The city has closed this violation" in page


def test_twin_line_names_the_labels_of_its_key(browse: Callable) -> None:
    text = "building_id,inspection_type,every,unit,first_due\n1,fire,1,year,2027-01-01\n1,fire,2,year,2027-01-01\n"

    page = check(browse("ada"), text, "/console/import/schedules").text

    assert "Line 2 has the same Building, Type, Title and other values" in page
