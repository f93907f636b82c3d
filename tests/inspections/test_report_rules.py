"""What each rule requires of a lead report: the gaps of reports as plain data, and the table of the document."""

import re
from pathlib import Path

import pytest

from inspections.reports.content import ReportedBuilding, front_of, pick, reported_owner
from inspections.reports.reports import FEDERAL, REQUIREMENTS, RULES, find_gaps, rule_of_state
from tests.support.reports import lead_report, reading

pytestmark = pytest.mark.one_engine

DOCUMENT = Path(__file__).parents[2] / "docs" / "REPORT.md"
ALL = set(RULES)
BUT_MN = ALL - {"MN"}

LACKING = {
    "inspection.date_visited": ({"visit": {"date_visited": None}}, ALL),
    "inspection.status": ({"visit": {"status": "in_progress"}}, ALL),
    "building.address": ({"building": {"address": None}}, ALL),
    "year_built": ({"building": {"year_built": None}}, BUT_MN),
    "owner.name": ({"owner": {"name": None}}, BUT_MN),
    "owner.address": ({"owner": {"address": " "}}, BUT_MN),
    "owner.phone": ({"owner": {"phone": ""}}, BUT_MN),
    "inspector.name": ({"inspector": {"name": None}}, ALL),
    "inspector.license": ({"inspector": {"license": None}}, ALL),
    "inspector.license_expires_on": ({"inspector": {"license_expires_on": "2026-11-19"}}, ALL),
    "inspector.license_state": ({"inspector": {"license_state": "NH"}}, ALL),
    "conflict": ({"readings": (reading(doubts=("conflict",)),)}, ALL),
    "inconclusive": ({"readings": (reading(doubts=("inconclusive",)),)}, ALL),
    "unknown_gun": ({"readings": (reading(), reading(2, doubts=("unknown_gun",)))}, ALL),
    "limits_of_another_standard": ({"readings": (reading(doubts=("limits_of_another_standard",)),)}, ALL),
    "out_of_service": ({"readings": (reading(doubts=("out_of_service",)),)}, ALL),
    "outside_visit": ({"readings": (reading(doubts=("outside_visit",)),)}, ALL),
    "inspector.firm": ({"inspector": {"firm": None}}, ALL),
    "inspector.firm_address": ({"inspector": {"firm_address": None}}, ALL),
    "inspector.firm_phone": ({"inspector": {"firm_phone": None}}, ALL),
    "inspector.firm_certificate": ({"inspector": {"firm_certificate": None}}, {"MN"}),
    "xrf_instruments.make": ({"instrument": {"make": None}}, {"MN"}),
    "xrf_instruments.model": ({"instrument": {"model": " "}}, {"MN"}),
    "xrf_instruments.serial": ({"instrument": {"serial": None}}, ALL),
    "reports_lead": ({"readings": (reading(voided="Wrong room"),)}, ALL),
    "reports_lead.dwelling": ({"readings": (reading(dwelling=None),)}, BUT_MN),
    "reports_lead.room": ({"readings": (reading(), reading(2, room=None))}, ALL),
    "reports_lead.component": ({"readings": (reading(component=" "),)}, ALL),
    "reports_lead.substrate": ({"readings": (reading(substrate=None),)}, {"VA"}),
    "reports_lead.lead_mg_cm2": ({"readings": (reading(lead_mg_cm2=None),)}, ALL),
    "reports_lead.gun_id": ({"readings": (reading(gun_id=None),)}, ALL),
    "calibration_checks.start": ({"readings": (reading(validity="no_check"),)}, ALL),
    "calibration_checks.interval": ({"readings": (reading(validity="late"),)}, ALL),
    "calibration_checks.failed": ({"readings": (reading(validity="doubtful"),)}, ALL),
    "calibration_checks.end": ({"readings": (reading(), reading(2, validity="open"))}, ALL),
}
"""By gap: what a report lacks, and the rules that require it. It is written from the rules, not from the product."""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("code", LACKING)
def test_missing_content_is_a_gap_of_the_rules_that_require_it(code: str, rule: str) -> None:
    parts, rules = LACKING[code]

    assert [each.code for each in find_gaps(lead_report(rule, **parts))] == ([code] if rule in rules else [])


@pytest.mark.parametrize("rule", RULES)
def test_report_with_all_content_has_no_gap(rule: str) -> None:
    assert find_gaps(lead_report(rule)) == ()


def test_every_requirement_is_tested() -> None:
    assert [each.code for each in REQUIREMENTS if each.code not in LACKING] == []


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(reading(2, validity="late", voided="Repeated as reading 3", room=None), id="void"),
        pytest.param(reading(2, method="assumed", gun_id=None, lead_mg_cm2=None), id="assumed"),
        pytest.param(reading(2, method="paint_chip", gun_id=None), id="paint chip"),
        pytest.param(reading(2, dwelling=None, room="Porch"), id="outside"),
        pytest.param(reading(2, lead_mg_cm2=0.0), id="no lead"),
    ],
)
def test_reading_lacks_nothing(given: object) -> None:
    assert find_gaps(lead_report("VA", readings=(reading(), given))) == ()


@pytest.mark.parametrize("units", [None, 1])
def test_building_of_one_dwelling_needs_no_apartment_number(units: int | None) -> None:
    report = lead_report(building={"units": units}, readings=(reading(dwelling=None),))

    assert find_gaps(report) == ()


def test_license_is_in_force_on_its_last_day() -> None:
    assert find_gaps(lead_report(inspector={"license_expires_on": "2026-11-20"})) == ()


@pytest.mark.parametrize(
    ("state", "rule"), [("VA", "VA"), (" mn ", "MN"), ("MI", "MI"), ("ME", FEDERAL), ("", FEDERAL), (None, FEDERAL)]
)
def test_rule_follows_from_the_state_of_the_building(state: str | None, rule: str) -> None:
    assert rule_of_state(state) == rule


@pytest.mark.parametrize(
    ("given", "counts", "remark"),
    [
        (reading(), True, None),
        (reading(validity="open"), True, "No calibration check after it yet"),
        (reading(validity="no_check"), False, "No passed calibration check before it"),
        (reading(validity="late"), False, "Too long after the calibration check before it"),
        (reading(validity="doubtful"), False, "The calibration check after it failed"),
        (reading(voided="Wrong wall"), False, "Void: Wrong wall"),
        (reading(validity=None, method="assumed"), True, None),
    ],
)
def test_invalid_reading_does_not_count(given: object, counts: bool, remark: str | None) -> None:
    assert (given.counts, given.remark) == (counts, remark)


def test_front_lists_positive_readings_by_method_and_no_void_ones() -> None:
    positive = {"result": "positive", "lead_mg_cm2": 2.6}
    readings = (
        reading(1),
        reading(2, method="assumed", **positive),
        reading(3, method="paint_chip", **positive),
        reading(4, validity="doubtful", **positive),
        reading(5, voided="Wrong wall", **positive),
        reading(6, **positive),
    )

    assert [each.id for each in front_of(readings)] == [4, 6, 3, 2]


def test_owner_is_that_of_the_details_or_else_the_client() -> None:
    client = {"name": "Harbor Housing", "address": "1 Harbor Road", "phone": "+1"}

    assert reported_owner({"owner_name": "Pier Trust"}, client) == reported_owner({"owner_name": "Pier Trust"}, {})
    assert reported_owner({"owner_name": " ", "owner_phone": "+2"}, client).phone == "+1"
    assert reported_owner({}, {}).name is None


def test_part_takes_the_first_value() -> None:
    part = pick(ReportedBuilding, {"id": 1, "name": ""}, {"name": "B", "id": 2}, units=0)

    assert (part.id, part.name, part.units, part.address) == (1, "B", 0, None)


def test_document_has_the_gaps_of_each_rule() -> None:
    section = DOCUMENT.read_text(encoding="utf-8").split("### What a rule requires")[1]
    groups = re.findall(r"^Required by (.+):\n\n((?:- .*\n)+)", section, re.MULTILINE)
    documented = {
        code: ALL if rules == "all" else {*rules.split(", ")}
        for rules, gaps in groups
        for code in re.findall(r"^- `([a-z_.0-9]+)`:", gaps, re.MULTILINE)
    }

    assert documented == {each.code: set(each.rules) for each in REQUIREMENTS}
