"""The import page: choose a file, see its columns and errors, then write its rows. Nothing needs a script."""

import io
import re
from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from tests.conftest import dump
from tests.console.conftest import Form, FormClient

PATH = "/console/import/buildings"
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
        (b"a,b\nc,d\n", "known column names"),
        (b"", "known column names"),
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
            "Date: this day does not exist.",
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
            "First due is not a date.",
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
