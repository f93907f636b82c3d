"""Contents of issued reports: large ones end in an error, and filters and orders by them answer as by the audit log."""

from collections.abc import Callable

import pytest

from engine.interface.database import VALUE_BYTES_MAX
from tests.conftest import ROOT
from tests.support.frozen_rows import insert, issued_report_row

PAGE = "x" * 9_000_000


@pytest.fixture
def rows(api: Callable) -> None:
    """Insert four reports of 9 MB."""
    app = api("root").database.app_for("POST", "/")
    for id_ in (1, 2, 3, 4):
        insert(app, ROOT, "issued_reports", [issued_report_row(id_, id_, 1, content={"page": PAGE})])


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    "path",
    [
        "/issued_reports",
        "/issued_reports?select=content",
        "/issued_reports?select=content->>page",
        "/clients?select=id,issued_reports(content)&id=eq.1",
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/csv"])
def test_too_many_large_contents_are_refused(api: Callable, path: str, accept: str) -> None:
    response = api("root").get(path, accept=accept)

    assert response.refusal == (400, "54000", f"the response is larger than {VALUE_BYTES_MAX} bytes")


@pytest.mark.usefixtures("rows")
def test_few_contents_and_other_columns_are_read(api: Callable) -> None:
    [row] = api("root").get("/issued_reports?select=content&id=eq.1").json

    assert row == {"content": {"page": PAGE}}
    assert len(api("root").get("/issued_reports?select=id,number,sha256").json) == 4
    assert len(api("root").get("/issued_reports?limit=3").json) == 3


@pytest.mark.parametrize(
    "query",
    [
        "{}=eq.1", "{}=neq.1", "{}=gt.1", "{}=in.(1,2)", "{}=like.*x*", "{}=isdistinct.1", "{}=is.null",
        "{}=not.is.null", "order={}", "select={}::text", "select={}.count()", "select={}.max()",
        "select={},count()", "{}->>a=eq.1", "order={}->>a", "select={}->a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("table", ["issued_reports", "notices"])
def test_queries_by_content_answer_as_by_values_of_the_audit_log(api: Callable, table: str, query: str) -> None:
    answers = [
        api("root").get(f"/{name}?limit=0&{query.format(column)}")
        for name, column in (("audit_log", "after"), (table, "content"))
    ]

    logged, frozen = ((each.status, each.text.replace("audit_log", table)) for each in answers)
    assert frozen == (logged[0], logged[1].replace('"after"', '"content"').replace("after", "content"))
