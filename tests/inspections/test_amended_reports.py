"""Issued reports are withdrawn, replaced by amendments, and verified."""

from collections.abc import Callable

import pytest

from tests.inspections.case_world import ELSEWHERE, FAILED, MISSING, MOMENT, finding
from tests.inspections.issuing import content_of, issued, show, verify, withdraw
from tests.inspections.report_world import LEAD, lead_reading, report_rows
from tests.support.photographs import photograph
from tests.support.storage import storage_of

SERVICE_COLUMNS = ("classification", "time_is_by_order")


@pytest.fixture
def reports(world: Callable) -> Callable:
    return world(report_rows(), MOMENT)


# Withdrawal and amendments


@pytest.mark.parametrize("who", ["root", "ada", "service"])
def test_admins_withdraw(reports: Callable, who: str) -> None:
    made = issued(reports)

    answer = withdraw(reports, made["id"], who, " Wrong unit ")

    assert answer.json == {"id": made["id"], "number": made["number"], "withdrawn_at": MOMENT}
    columns = "withdrawn_at,withdrawn_by,withdrawn_note"
    [row] = reports("root").get(f"/issued_reports?select={columns}").json
    by = getattr(reports(who).person, "id", None)
    assert row == {"withdrawn_at": MOMENT, "withdrawn_by": by, "withdrawn_note": "Wrong unit"}


@pytest.mark.parametrize(
    ("who", "key", "refusal"),
    [
        ("mia", FAILED, (403, "42501", "permission denied for this report")),
        ("moe", FAILED, (403, "42501", "permission denied for this report")),
        ("bob", FAILED, (403, "42501", "permission denied for this report")),
        ("max", FAILED, (404, "PT404", "Report not found")),
        ("bob", LEAD, (404, "PT404", "Report not found")),
    ],
)
def test_others_withdraw_nothing(reports: Callable, who: str, key: int, refusal: tuple) -> None:
    made = issued(reports, key=key, kind="findings")

    assert withdraw(reports, made["id"], who).refusal == refusal
    if refusal[0] == 404:
        assert withdraw(reports, MISSING, who).whole == withdraw(reports, made["id"], who).whole
    assert verify(reports, number=made["number"])[0]["state"] == "issued"


def test_withdrawal_has_a_note_and_happens_once(reports: Callable) -> None:
    made = issued(reports)

    assert withdraw(reports, made["id"], note=" ").refusal[:2] == (400, "22023")
    assert withdraw(reports, made["id"], note="").refusal[:2] == (400, "22023")
    assert withdraw(reports, made["id"]).status == 200
    again = withdraw(reports, made["id"])
    assert (again.status, again.code, again.json["details"]) == (400, "23514", "withdraw_report_status_check")


def test_amendments_name_what_they_replace_and_what_changed(reports: Callable) -> None:
    root = reports("root")
    first = issued(reports)
    withdraw(reports, first["id"], note="Wrong <room>")
    assert root.patch("/reports_lead?id=eq.1", {"room": "Bath"}).status == 204
    added = {name: value for name, value in lead_reading(3).items() if name not in SERVICE_COLUMNS}
    assert root.post("/reports_lead", {**added, "inspection_id": LEAD}).status == 201
    assert root.patch("/buildings?id=eq.1", {"zip": "01901"}).status == 204
    second = issued(reports, "mia")
    withdraw(reports, second["id"], note="Again")
    third = issued(reports)

    content = content_of(reports, second["id"])["issued"]
    assert content["replaces"] == {
        "number": first["number"], "sha256": first["sha256"], "withdrawn_at": MOMENT, "withdrawn_note": "Wrong <room>",
    }  # fmt: skip
    lines = {(each["part"], each["id"], each["change"], each["field"], each["before"], each["after"])
             for each in content["changes"]}  # fmt: skip
    zip_code = report_rows()["buildings"][0]["zip"]
    assert lines == {
        ("building", None, "changed", "zip", zip_code, "01901"),
        ("readings", 1, "changed", "room", "Kitchen", "Bath"),
        ("readings", 3, "added", None, None, None),
    }
    assert content["changes_total"] == 3
    page = show(reports, second["id"]).text
    assert f"Amendment, replaces {first['number']}" in page
    assert "Wrong &lt;room&gt;" in page
    assert first["sha256"] in page
    assert content_of(reports, third["id"])["issued"]["replaces"]["number"] == second["number"]
    rows = root.get("/issued_reports?select=id,replaces_id&order=id").json
    assert [each["replaces_id"] for each in rows] == [None, first["id"], second["id"]]
    states = [(each["state"], each["replaced_by"]) for made in (first, second, third)
              for each in verify(reports, number=made["number"])]  # fmt: skip
    assert states == [("replaced", second["number"]), ("replaced", third["number"]), ("issued", None)]


def test_amendment_lists_removed_and_changed_findings(reports: Callable) -> None:
    first = issued(reports, key=FAILED, kind="findings")
    withdraw(reports, first["id"])
    assert reports("ada").patch("/findings?id=eq.1", {"place": "Roof"}).status == 204
    assert reports("ada").delete("/findings?id=eq.11").status == 204
    assert storage_of(reports)("ada").upload("findings/1/roof.jpg", photograph("roof")).status == 200
    [file] = reports("ada").get("/files?select=id").json

    changes = content_of(reports, issued(reports, key=FAILED, kind="findings")["id"])["issued"]["changes"]

    found = {(each["part"], each["id"], each["change"], each["field"]) for each in changes}
    assert found == {
        ("findings", 1, "changed", "place"), ("findings", 11, "removed", None), ("files", file["id"], "added", None),
    }  # fmt: skip


def test_kinds_are_amended_on_their_own(reports: Callable) -> None:
    lead = issued(reports)
    withdraw(reports, lead["id"])

    assert content_of(reports, issued(reports, kind="findings")["id"])["issued"]["replaces"] is None


def test_long_lists_of_changes_are_cut(world: Callable) -> None:
    rows = report_rows()
    rows["findings"] += [finding(1_000 + each, LEAD, place="Before") for each in range(250)]
    reports = world(rows, MOMENT)
    withdraw(reports, issued(reports, kind="findings")["id"])
    body = {"place": "x" * 500}
    assert reports("root").patch(f"/findings?inspection_id=eq.{LEAD}&place=eq.Before", body).status == 204

    made = issued(reports, kind="findings")

    said = content_of(reports, made["id"])["issued"]
    assert (len(said["changes"]), said["changes_total"]) == (200, 250)
    assert {len(each["after"]) for each in said["changes"]} == {200}
    assert "And 50 further changes." in show(reports, made["id"]).text


# Verifying


def test_report_is_verified_by_number_or_hash(reports: Callable) -> None:
    made = issued(reports)
    expected = {
        **{name: made[name] for name in ("number", "sha256", "kind", "issued_at")},
        "inspection_id": LEAD, "state": "issued", "replaced_by": None,
    }  # fmt: skip

    for who in ("root", "ada", "moe", "mia"):
        assert verify(reports, who, number=made["number"]) == [expected]
        assert verify(reports, who, sha256=made["sha256"].upper()) == [expected]
    for who in ("bob", "max"):
        assert verify(reports, who, number=made["number"]) == verify(reports, who, number="2026-000099") == []
        assert verify(reports, who, sha256=made["sha256"]) == []
    withdraw(reports, made["id"])
    assert verify(reports, number=made["number"]) == [{**expected, "state": "withdrawn"}]


@pytest.mark.parametrize("arguments", [{}, {"p_number": "2026-000001", "p_sha256": "0"}])
def test_verification_takes_one_of_number_and_hash(reports: Callable, arguments: dict) -> None:
    for method in ("GET", "POST"):
        assert reports("ada").rpc("verify_report", arguments, method).refusal == (
            400, "22023", "expected either p_number or p_sha256",
        )  # fmt: skip


def test_clients_number_on_their_own(reports: Callable) -> None:
    issued(reports)
    other = issued(reports, "bob", ELSEWHERE, "findings")

    assert other["number"] == "2026-000001"
    assert len(verify(reports, "root", number="2026-000001")) == 2
    assert [each["inspection_id"] for each in verify(reports, "bob", number="2026-000001")] == [ELSEWHERE]


def test_admins_of_the_client_of_a_moved_building_read_and_withdraw_its_reports(reports: Callable) -> None:
    """The client that had the building keeps the report, and withdraws it no longer."""
    first = issued(reports)
    assert reports("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204

    assert reports("bob").get("/issued_reports?select=id,client_id").json == [{"id": first["id"], "client_id": 1}]
    assert reports("ada").get("/issued_reports?select=id").json == [{"id": first["id"]}]
    assert withdraw(reports, first["id"], "ada").code == "42501"
    assert withdraw(reports, first["id"], "bob").status == 200
    again = issued(reports, "bob")

    replaced = show(reports, again["id"], "bob", "application/json").json["content"]["issued"]["replaces"]
    assert replaced["number"] == first["number"]
    assert reports("root").get(f"/issued_reports?id=eq.{again['id']}&select=client_id").json == [{"client_id": 2}]
