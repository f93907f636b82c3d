"""Issued reports and letters in the console: lists, pages and CSV files of each role, without their contents."""

import re
from collections.abc import Callable

import pytest

from tests.access.test_frozen_rows import LETTERS, REPORTS
from tests.conftest import ROOT
from tests.support.frozen_rows import cast_rows, insert

READABLE = {"issued_reports": REPORTS, "notices": LETTERS}
CASES = [(table, who) for table in READABLE for who in ("root", "ada", "bob", "moe", "mia", "max")]


@pytest.fixture
def rows(app: object) -> dict[str, list[dict]]:
    """Insert the rows of tests/access/test_frozen_rows.py, and return them."""
    made = cast_rows()
    for table in ("issued_reports", "notices"):
        insert(app, ROOT, table, made[table])
    return made


@pytest.mark.parametrize(("table", "who"), CASES)
def test_list_shows_exactly_the_rows_that_the_role_reads(rows: dict, browse: Callable, table: str, who: str) -> None:
    page = browse(who).page(f"/console/{table}")

    assert {int(key) for key in re.findall(rf'href="/console/{table}/([0-9]+)"', page)} == READABLE[table][who]


@pytest.mark.parametrize(("table", "title"), [("issued_reports", "Issued reports"), ("notices", "Letters")])
def test_list_is_named(rows: dict, browse: Callable, table: str, title: str) -> None:
    assert f"<h1>{title}" in browse("ada").page(f"/console/{table}")


@pytest.mark.parametrize("table", READABLE)
def test_no_page_has_the_content_or_the_signature(rows: dict, browse: Callable, table: str) -> None:
    root = browse("root")

    for path in (f"/console/{table}", f"/console/{table}/1", "/console/inspections/1", "/console/buildings/1"):
        page = root.page(path)
        assert "secret" not in page
        assert rows["issued_reports"][0]["signature"] not in page
    lines = root.page(f"/console/{table}/1")
    assert rows[table][0]["sha256"] in lines
    assert re.findall("<dt>(Content|Signature)", lines) == []


@pytest.mark.parametrize("table", READABLE)
def test_csv_file_has_neither(rows: dict, browse: Callable, table: str) -> None:
    text = browse("root").get(f"/console/{table}.csv").get_data(as_text=True)

    names = text.partition("\n")[0].strip().split(",")
    assert "sha256" in names
    assert not {"content", "signature"} & set(names)
    assert "secret" not in text


@pytest.mark.parametrize("table", READABLE)
def test_hidden_row_answers_as_a_missing_one(rows: dict, browse: Callable, table: str) -> None:
    moe = browse("moe")

    hidden, missing = (moe.get(f"/console/{table}/{key}") for key in (2, 999))

    assert hidden.status_code == missing.status_code == 404
    assert re.sub("/[0-9]+", "", hidden.text) == re.sub("/[0-9]+", "", missing.text)
