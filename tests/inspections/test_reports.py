"""The reports of an inspection: their content, their page, and what other people's rows change of them: nothing."""

import base64
import copy
import hashlib
import html
import re
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Response
from tests.inspections.case_world import FAILED, FOUND_AT, HIDDEN, MISSING, MOMENT, finding, inspection
from tests.inspections.report_world import LEAD, OTHERS, lead_reading, report_rows
from tests.support.reports import CHECK, INSTRUMENT

SEES = ("root", "ada", "moe", "mia")
KINDS = ("lead", "findings")


@pytest.fixture
def reports(world: Callable) -> Callable:
    return world(report_rows(), MOMENT)


def read(reports: Callable, who: str, key: object, query: str = "", accept: str = "application/json") -> Response:
    return reports(who).get(f"/reports/inspections/{key}{query}", accept=accept)


# Content


@pytest.mark.parametrize("who", SEES)
def test_findings_report_lists_the_case_by_severity(reports: Callable, who: str) -> None:
    body = read(reports, who, FAILED).json

    assert (body["kind"], body["visit"]["id"], body["made_on"]) == ("findings", FAILED, "2026-11-20")
    found = {group["severity"]: [each["id"] for each in group["findings"]] for group in body["severities"]}
    assert list(found) == ["life_threatening", "moderate", "low"]
    assert found == {"life_threatening": [10], "moderate": [1, 2, 3, 4], "low": [11]}
    assert body["by_status"] == {"open": 3, "fixed": 1, "verified": 1, "waived": 1}
    assert (body["late"], body["severities"][0]["findings"][0]["is_late"]) == (1, True)


def test_findings_report_prints_when_each_was_found_and_fixed_and_how_late(world: Callable) -> None:
    rows = report_rows()
    entered_later = {"found_at": "2026-11-17T15:00:00+00:00", "due_at": "2026-11-18T04:59:59+00:00"}
    rows["findings"] += [
        finding(20, FAILED, place="Late open", **entered_later),
        finding(
            21, FAILED, "fixed", place="Late fix", **entered_later, fixed_at="2026-11-19T16:30:00+00:00", days_late=2
        ),
        finding(22, FAILED, "waived", place="Waived late", **entered_later),
        finding(23, FAILED, "fixed", place="In time", fixed_at="2026-11-19T16:31:00+00:00", days_late=0),
        finding(24, FAILED, place="No deadline", due_at=None),
    ]
    reports = world(rows, MOMENT)

    body, page = read(reports, "moe", FAILED).json, read(reports, "moe", FAILED, accept="text/html").text

    by_id = {each["id"]: each for group in body["severities"] for each in group["findings"]}
    columns = ("found_at", "fixed_at", "days_late", "is_late")
    assert {key: [by_id[key][name] for name in columns] for key in (20, 21, 22, 23, 24)} == {
        20: ["2026-11-17T15:00:00+00:00", None, 3, True],
        21: ["2026-11-17T15:00:00+00:00", "2026-11-19T16:30:00+00:00", 2, False],
        22: ["2026-11-17T15:00:00+00:00", None, None, False],
        23: [FOUND_AT, "2026-11-19T16:31:00+00:00", 0, False],
        24: [FOUND_AT, None, None, False],
    }
    shown = {text: cells_of(page, text) for text in ("Late open", "Late fix", "Waived late", "In time", "No deadline")}
    found, due = "2026-11-17 15:00", "2026-11-18 04:59"
    assert shown == {
        "Late open": [found, due, "–", "Open, 3 days late"],
        "Late fix": [found, due, "2026-11-19 16:30", "Fixed, 2 days late"],
        "Waived late": [found, due, "–", "Waived 2026-11-19"],
        "In time": ["2026-11-19 08:00", "2026-12-19 23:59", "2026-11-19 16:31", "Fixed"],
        "No deadline": ["2026-11-19 08:00", "–", "–", "Open"],
    }
    assert list(by_id)[-1] == 11
    assert [each["id"] for each in body["severities"][1]["findings"]][-1] == 24


def cells_of(page: str, text: str) -> list[str]:
    """Return the last four cells of the line of a findings report that contains a text."""
    [line] = [each for each in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if f"<td>{text}</td>" in each]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", line, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", "", each).split()) for each in cells[-4:]]


def test_lead_report_has_all_that_the_federal_rule_requires(reports: Callable) -> None:
    body = read(reports, "moe", LEAD).json

    assert (body["kind"], body["rule"], body["gaps"], body["is_complete"]) == ("lead", "federal", [], True)
    assert [each["id"] for each in body["readings"]] == [1, 2]
    assert [each["id"] for each in body["positives"]] == [2]
    assert {each["validity"] for each in body["readings"]} == {"valid"}
    assert body["owner"] == {"name": "Pier Street Trust", "address": "1 Harbor Road", "phone": "+1 207"}
    assert (body["building"]["year_built"], body["instruments"][0]["serial"]) == (1928, INSTRUMENT["serial"])


@pytest.mark.parametrize(
    ("rule", "codes"), [("federal", []), ("VA", []), ("MN", ["inspector.firm_certificate"]), ("MI", [])]
)
def test_report_gaps_follow_the_rule(world: Callable, rule: str, codes: list) -> None:
    rows = report_rows()
    rows["inspectors"][0]["firm_certificate"] = None
    reports = world(rows, MOMENT)

    gaps = reports("mia").rpc("report_gaps", {"p_inspection_id": LEAD, "p_rule": rule}, "GET")

    assert (gaps.status, gaps.json) == (200, codes)
    assert [each["code"] for each in read(reports, "mia", LEAD, f"?rule={rule}").json["gaps"]] == codes


def test_rule_is_that_of_the_state(world: Callable) -> None:
    rows = report_rows()
    rows["buildings"][0]["state"] = "MI"

    assert read(world(rows, MOMENT), "ada", LEAD).json["citation"] == "R 325.99403 of Michigan"


@pytest.mark.parametrize("who", SEES)
@pytest.mark.parametrize("key", [FAILED, LEAD])
@pytest.mark.parametrize("kind", KINDS)
def test_page_has_the_content_of_the_json(reports: Callable, who: str, key: int, kind: str) -> None:
    body = read(reports, who, key, f"?kind={kind}").json
    page = html.unescape(read(reports, who, key, f"?kind={kind}", "text/html").text)

    in_words = {"kind", "rule", "severity", "method", "validity", "status", "inspection_id", "unit", "limits_from"}
    hidden = in_words | {"taken_at", "found_at", "due_at", "fixed_at", "closed_at", "created_at"}  # in TIMEZONE
    absent = {text for name, text in texts(body) if name not in hidden and str(text) not in page}
    assert absent == set()
    assert page.count('<tr><td class="n">') >= len(body.get("readings", ())) + len(body.get("positives", ()))


def texts(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield the texts and numbers in a JSON value, with the names of their members."""
    if isinstance(value, dict):
        for member, each in value.items():
            yield from texts(each, member)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each, name)
    elif value not in (None, "") and not isinstance(value, bool) and not name.startswith(("is_", "by_", "code")):
        yield name, value


def test_incomplete_report_names_its_gaps_in_words(world: Callable) -> None:
    rows = report_rows()
    rows["inspectors"][0]["license"] = None
    del rows["building_details"][0]["year_built"]

    page = read(world(rows, MOMENT), "moe", LEAD, accept="text/html").text

    assert page.index("<strong>Incomplete</strong>") < page.index("Conclusions")
    assert "The license number of the inspector is missing." in page
    assert "The year of construction is missing." in page


def test_invalid_readings_are_struck_through_with_the_reason(world: Callable) -> None:
    rows = report_rows()
    rows["reports_lead"] += [
        lead_reading(3, taken_at="2026-11-19T13:59:00+00:00", lead_mg_cm2=3.25, result="positive"),
        lead_reading(4, voided="Wrong wall <b>", lead_mg_cm2=4.25),
    ]

    page = read(world(rows, MOMENT), "moe", LEAD, accept="text/html").text

    assert page.count("<s>3.25</s>") == len(("front", "all readings"))
    assert page.count("<s>4.25</s>") == 1
    assert "No passed calibration check before it" in page
    assert "Void: Wrong wall &lt;b&gt;" in page
    assert "<s>0.3</s>" not in page


def test_measurements_are_shown_with_a_decimal(world: Callable) -> None:
    rows = report_rows()
    rows["reports_lead"].append(lead_reading(3, lead_mg_cm2=1.0, result="positive"))

    page = read(world(rows, MOMENT), "moe", LEAD, accept="text/html").text

    assert page.count('<td class="n">1.0</td>') >= len(("front", "all readings", "a check"))
    assert "1 mg/cm²" not in page


# Requests


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize("query", ["", "?kind=lead", "?kind=findings&rule=VA"])
def test_hidden_and_missing_inspections_do_not_exist(reports: Callable, query: str, accept: str) -> None:
    missing = read(reports, "moe", MISSING, query, accept)

    assert missing.refusal == (404, "PT404", "Inspection not found")
    for key in (OTHERS, 1920):
        assert read(reports, "moe", key, query, accept).whole == missing.whole


def test_gaps_of_hidden_inspections_do_not_exist(reports: Callable) -> None:
    calls = [reports("moe").rpc("report_gaps", {"p_inspection_id": key, "p_rule": "VA"}) for key in (OTHERS, MISSING)]

    assert [each.refusal for each in calls] == [(404, "PT404", "Inspection not found")] * 2


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        (f"{LEAD}?kind=fire", (400, "22023", 'expected one of lead, findings, not "fire"')),
        (f"{LEAD}?rule=ME", (400, "22023", 'expected one of federal, VA, MN, MI, not "ME"')),
        ("x", (400, "22P02", 'invalid input syntax for type bigint: "x"')),
        ("99999999999999999999", (400, "22003", 'value "99999999999999999999" is out of range for type bigint')),
    ],
)
def test_wrong_arguments_are_refused(reports: Callable, path: str, refusal: tuple) -> None:
    assert read(reports, "ada", path).refusal == refusal


def test_other_formats_are_refused(reports: Callable) -> None:
    assert read(reports, "ada", LEAD, accept="text/csv").refusal[:2] == (406, "PGRST107")


def test_report_with_too_many_rows_is_refused(reports: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspections.reports.reports.ROWS_MAX", 1)

    refused = read(reports, "ada", LEAD)

    assert refused.refusal == (400, "54000", "A report has at most 1 rows of reports_lead.")


def test_report_needs_a_token(reports: Callable) -> None:
    answer = reports("ada").get(f"/reports/inspections/{LEAD}", headers={"Authorization": None})

    assert answer.refusal[:2] == (401, "42501")


def test_page_is_the_default_format(reports: Callable) -> None:
    page = read(reports, "ada", LEAD, accept="*/*")

    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<title>Lead-based paint inspection report, Harbor House, 2026-11-19</title>" in page.text


def test_page_makes_no_request(reports: Callable) -> None:
    page = read(reports, "ada", LEAD, accept="text/html")
    [style] = re.findall(r"<style>(.*)</style>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert page.headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )
    assert not re.search(r"<(script|link|img|iframe|object|form)|\bsrc=|url\(|@import| style=| on[a-z]+=", page.text)
    assert set(re.findall(r'href="([^"]*)"', page.text)) <= {f"#{each}" for each in ANCHORS}


ANCHORS = ("conclusions", "building", "inspector", "method", "readings", "disclosure")


# Two worlds


def with_hidden_rows(rows: dict) -> dict:
    """Return the world with more rows that moe, mia and bob do not see."""
    other = copy.deepcopy(rows)
    other["clients"].append({"id": 77, "name": "Hidden client", "address": "Hidden", "phone": "Hidden"})
    other["buildings"].append({"id": 77, "name": "Hidden", "client_id": 77})
    other["inspectors"].append({"id": 77, "name": "Hidden"})
    other["inspections"].append(inspection(2077, 77, "failed", "2026-11-19", inspector_id=77))
    other["inspection_plans"].append({"inspection_id": 2077, "case_id": FAILED, "round": 3, "outcome": "done"})
    other["findings"] += [finding(77, 2077, case_id=FAILED, description="Hidden", severity="severe")]
    other["building_details"] += [{"building_id": 77, "owner_name": "Hidden", "year_built": 1900}]
    other["xrf_instruments"] += [{"id": 77, **INSTRUMENT, "gun_id": 77, "serial": "Hidden", "client_id": 77}]
    other["calibration_checks"] += [{**CHECK, "id": 77, "inspection_id": 2077, "result": "fail"}]
    other["reports_lead"] += [lead_reading(77, inspection_id=2077, result="positive", room="Hidden")]
    return other


@pytest.mark.parametrize("who", ["ada", "moe", "mia", "bob"])
def test_hidden_rows_change_no_byte_of_a_report(world: Callable, who: str) -> None:
    rows = report_rows()
    one, other = world(rows, MOMENT), world(with_hidden_rows(rows), MOMENT)

    for key in (FAILED, LEAD, HIDDEN, MISSING):
        for query in ("?kind=lead&rule=MN", "?kind=findings"):
            for accept in ("text/html", "application/json"):
                answers = [read(reports, who, key, query, accept).whole for reports in (one, other)]
                assert answers[0] == answers[1]
        gaps = [
            reports(who).rpc("report_gaps", {"p_inspection_id": key, "p_rule": "MN"}).whole for reports in (one, other)
        ]
        assert gaps[0] == gaps[1]


def test_reader_of_an_inspection_alone_does_not_read_its_building(reports: Callable) -> None:
    body = read(reports, "bob", FAILED, "?kind=lead").json

    assert (body["building"]["name"], body["building"]["year_built"], body["owner"]["name"]) == (None, None, None)
    assert {"building.address", "year_built", "owner.name"} <= {each["code"] for each in body["gaps"]}
