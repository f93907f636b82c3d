"""Letters about findings: who writes, serves and withdraws them, what is frozen, and what follows for deadlines."""

import base64
import hashlib
import json
from collections.abc import Callable

import pytest

from models.types import canonical_json
from tests.conftest import ADA, MIA, Response, SetClock
from tests.inspections.case_world import (
    AGAIN,
    DUE_AT,
    FAILED,
    FIXED,
    FOUND_AT,
    HIDDEN,
    MISSING,
    MOMENT,
    OPEN,
    TODAY,
    VERIFIED,
    WAIVED,
    finding,
    inspection,
    rounds_of_case,
    stored_findings,
)
from tests.support.photographs import photograph
from tests.support.storage import storage_of

TOMORROW, YESTERDAY = "2026-11-21", "2026-11-19"
MARKUP = '<script src="thumbnail:0">'
OWNER = {"owner_name": "Pier Street Trust", "owner_address": "1 Harbor Road\nPortland ME 04101"}
NUMBER = "2026-000001"
WRITES = {"root", "ada", "mia", "service"}
"""The callers who write a letter about findings of FAILED: mia is its inspector. Bob and moe read them only."""


def rows() -> dict:
    found = rounds_of_case()
    found["clients"][0] |= {"address": "9 Acme Way", "phone": "+1 207 555 0100"}
    found["building_details"] = [{"building_id": 1, **OWNER}]
    found["findings"] += [
        finding(10, FAILED, severity="severe", place="3D", item=MARKUP, code="NSPIRE 1", description="No <b>alarm</b>"),
        finding(11, FAILED, severity="severe"),
    ]
    found["deadline_rules"] = [
        {"id": 1, "severity": "severe", "amount": 10, "unit": "d", "counts_from": "served"},
        {"id": 2, "severity": "moderate", "amount": 30, "unit": "d", "counts_from": "found"},
        {"id": 3, "severity": "low", "amount": 24, "unit": "h", "counts_from": "served"},
    ]
    return found


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(rows(), MOMENT)


def issue(case: Callable, who: str = "ada", *ids: int, **arguments: object) -> Response:
    given = {"p_finding_ids": ids or (OPEN,), "p_answer_by": TOMORROW, **arguments}
    return case(who).rpc("issue_notice", given)


def serve(case: Callable, who: str = "ada", key: int = 1, day: str = TODAY, how: str = "post") -> Response:
    return case(who).rpc("serve_notice", {"p_id": key, "p_served_on": day, "p_how": how})


def withdraw(case: Callable, who: str = "ada", key: int = 1, note: str = "Wrong owner.") -> Response:
    return case(who).rpc("withdraw_notice", {"p_id": key, "p_note": note})


def letter(case: Callable, key: int = 1) -> dict:
    return case("ada").get(f"/reports/notices/{key}", accept="application/json").json["content"]


def later(case: Callable, moment: str) -> None:
    case("root").database.app_for("POST", "/").extensions["walkthrough"].clock = SetClock(moment)


def due_dates(case: Callable) -> dict[int, str]:
    return {each["id"]: each["due_at"] for each in case("root").get("/findings?select=id,due_at").json}


# Issue


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia", "service"])
def test_admins_and_the_inspector_write_letters(case: Callable, who: str) -> None:
    before = stored_findings(case)

    answer = issue(case, who, OPEN, FIXED)

    if who not in WRITES:
        denied = "permission denied to write a letter about every finding of the list"
        assert answer.refusal == (403, "42501", denied)
        assert stored_findings(case) == before
        assert case("root").get("/notices").json == []
        return
    [row] = case("root").get("/notices?select=*").json
    assert answer.json == {"id": row["id"], "number": NUMBER, "sha256": row["sha256"]}
    assert (row["building_id"], row["client_id"]) == (1, 1)
    assert (row["to_name"], row["to_address"]) == tuple(OWNER.values())
    assert row["answer_by"] == TOMORROW
    assert row["issued_at"] == MOMENT
    assert row["issued_by"] == {"ada": ADA, "mia": MIA}.get(who, row["issued_by"])
    assert [row[name] for name in ("served_on", "served_how", "withdrawn_at", "withdrawn_note")] == [None] * 4


def test_findings_have_an_event_and_keep_their_status(case: Callable) -> None:
    findings, _ = stored_findings(case)

    key = issue(case, "ada", FIXED, OPEN, OPEN).json["id"]

    after, events = stored_findings(case)
    assert after == findings
    found = [tuple(each[name] for name in ("finding_id", "kind", "note", "notice_id", "user_id")) for each in events]
    assert found == [(OPEN, "notified", None, key, ADA), (FIXED, "notified", None, key, ADA)]


@pytest.mark.parametrize("key", [HIDDEN, MISSING, 0, 2**63 - 1])
def test_hidden_and_missing_findings_do_not_exist(case: Callable, key: int) -> None:
    for who in ("ada", "moe", "mia", "max"):
        answer = issue(case, who, OPEN if who != "max" else MISSING, key)

        assert answer.refusal == (404, "PT404", "Finding not found")
    assert case("root").get("/notices").json == []


@pytest.mark.parametrize(
    ("ids", "arguments", "details"),
    [
        ((OPEN, VERIFIED), {}, f"notices_status_check: finding {VERIFIED}: verified"),
        ((WAIVED,), {}, f"notices_status_check: finding {WAIVED}: waived"),
        ((OPEN,), {"p_answer_by": YESTERDAY}, "notices_answer_by_check"),
        ((OPEN, HIDDEN), {}, "notices_building_check"),
    ],
)
def test_refused_letters(case: Callable, ids: tuple, arguments: dict, details: str) -> None:
    answer = issue(case, "root", *ids, **arguments)

    assert (answer.status, answer.code, answer.json["details"]) == (400, "23514", details)
    assert case("root").get("/notices").json == []


@pytest.mark.parametrize(("name", "bytes_max"), [("to_name", 1_024), ("to_address", 4_096)])
def test_length_of_the_addressee(case: Callable, name: str, bytes_max: int) -> None:
    refused = issue(case, **{f"p_{name}": "x" * (bytes_max + 1)})
    assert (refused.status, refused.code) == (400, "23514")
    assert f"notices_{name}_check" in refused.text
    assert issue(case, **{f"p_{name}": "x" * bytes_max}).json["number"] == NUMBER


@pytest.mark.parametrize("arguments", [{"p_finding_ids": []}, {"p_answer_by": "soon"}, {"p_answer_by": None}])
def test_wrong_arguments(case: Callable, arguments: dict) -> None:
    assert issue(case, **arguments).status == 400


def test_letter_has_at_most_200_findings(world: Callable) -> None:
    made = rows()
    made["findings"] += [finding(key, FAILED) for key in range(1_000, 1_200)]
    case = world(made, MOMENT)

    assert issue(case, "ada", *range(1_000, 1_200), OPEN).refusal[:2] == (400, "PGRST100")
    assert issue(case, "ada", *range(1_000, 1_200)).status == 200
    assert len(letter(case)["letter"]["findings"]) == 200


def test_letter_about_several_visits_needs_the_right_on_each(world: Callable) -> None:
    made = rows()
    made["inspections"].append(inspection(1940, 1, "failed", YESTERDAY, inspector_id=2))
    made["findings"].append(finding(30, 1940))
    made["client_manager_inspection_access"] = [{"manager_id": MIA, "inspection_id": 1940}]
    case = world(made, MOMENT)

    assert issue(case, "mia", OPEN, 30).status == 403
    assert issue(case, "ada", OPEN, 30).status == 200


@pytest.mark.parametrize(
    ("details", "arguments", "expected"),
    [
        (OWNER, {}, tuple(OWNER.values())),
        (OWNER, {"p_to_name": " Elm Ltd ", "p_to_address": "2 Elm St"}, ("Elm Ltd", "2 Elm St")),
        (OWNER, {"p_to_name": "Elm Ltd", "p_to_address": ""}, ("Elm Ltd", OWNER["owner_address"])),
        (None, {}, ("Acme Housing", "9 Acme Way")),
        ({"owner_name": "Elm Ltd"}, {}, "notices_to_address_check: neither given nor known"),
    ],
)
def test_addressee(world: Callable, details: dict | None, arguments: dict, expected: object) -> None:
    made = rows()
    made["building_details"] = [{"building_id": 1, **details}] if details else []
    case = world(made, MOMENT)

    answer = issue(case, **arguments)

    if isinstance(expected, str):
        assert (answer.code, answer.json["details"]) == ("23514", expected)
    else:
        said = letter(case)["letter"]
        assert (said["to_name"], said["to_address"]) == expected


def test_numbers_of_a_client_have_no_holes(case: Callable) -> None:
    assert issue(case).json["number"] == NUMBER
    assert case("ada").rpc(
        "issue_notice", {"p_finding_ids": [FIXED], "p_answer_by": TOMORROW}, prefer="tx=rollback"
    ).json["number"] == "2026-000002"  # fmt: skip
    assert issue(case, "ada", VERIFIED).status == 400
    assert issue(case, "mia", FIXED).json["number"] == "2026-000002"
    assert issue(case, "root", HIDDEN, p_to_address="2 Ash Road").json["number"] == NUMBER, "of another client"
    later(case, "2027-01-01T00:00:00+00:00")
    assert issue(case, "ada", 10, p_answer_by="2027-01-02").json["number"] == "2027-000001"


# Frozen content


def test_content_is_what_the_hash_says(case: Callable) -> None:
    answer = issue(case, "mia", OPEN, 10)

    body = case("moe").get("/reports/notices/1", accept="application/json")
    content = body.json["content"]
    assert hashlib.sha256(canonical_json(content).encode()).hexdigest() == answer.json["sha256"]
    assert canonical_json(content) in body.text
    assert {name: body.json[name] for name in ("number", "sha256")} == {
        "number": NUMBER,
        "sha256": answer.json["sha256"],
    }
    assert sorted(content) == ["issued", "letter", "page", "thumbnails"]
    assert content["issued"] == {"number": NUMBER, "issued_at": MOMENT, "person": "Mia"}
    said = content["letter"]
    assert said["sender"] == {"name": "Acme Housing", "address": "9 Acme Way", "phone": "+1 207 555 0100"}
    assert (said["building"]["id"], said["building"]["name"]) == (1, "Harbor House")
    assert (said["made_on"], said["answer_by"]) == (TODAY, TOMORROW)
    assert [each["id"] for each in said["findings"]] == [10, OPEN], "the gravest first"
    assert said["findings"][0] == {
        "id": 10, "place": "3D", "item": MARKUP, "code": "NSPIRE 1", "description": "No <b>alarm</b>",
        "severity": "severe", "found_at": FOUND_AT, "due_at": DUE_AT, "files": [],
        "from_service": {"amount": 10, "is_days": True, "not_before": None},
    }  # fmt: skip


def test_page_stays_the_same_bytes(case: Callable) -> None:
    issue(case, "ada", OPEN, 10)
    page, data = (case("ada").get("/reports/notices/1", accept=each) for each in ("text/html", "application/json"))

    assert case("root").patch("/buildings?id=eq.1", {"name": "Renamed"}).status == 204
    assert case("root").patch("/clients?id=eq.1", {"name": "Renamed"}).status == 204
    assert case("root").patch("/findings?id=eq.10", {"description": "Renamed"}).status == 204
    assert serve(case).status == 200
    assert withdraw(case).status == 200

    assert case("ada").get("/reports/notices/1", accept="text/html").text == page.text
    assert case("ada").get("/reports/notices/1", accept="application/json").text == data.text
    assert "Renamed" not in page.text


def test_page_is_escaped_and_has_no_script(case: Callable) -> None:
    issue(case, "ada", OPEN, 10, p_to_name=MARKUP)

    answer = case("ada").get("/reports/notices/1", accept="text/html")

    assert "<script" not in answer.text
    assert "No <b>alarm</b>" not in answer.text
    assert answer.text.count("&lt;script src=&#34;thumbnail:0&#34;&gt;") == 2
    policy = answer.headers["Content-Security-Policy"]
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy
    assert "within 10 days of service" in answer.text
    assert "2026-12-19" in answer.text
    assert f"answer in writing by {TOMORROW}" in answer.text


def test_photographs_are_frozen(case: Callable) -> None:
    storage, images = storage_of(case)("ada"), [photograph(f"{each}", (2_000, 1_500)) for each in range(3)]
    for number, image in enumerate(images):
        assert storage.upload(f"findings/{OPEN}/{number}.jpg", image).status == 200
    issue(case, "mia")

    content = letter(case)
    page = case("ada").get("/reports/notices/1", accept="text/html").text

    hashes = [each["sha256"] for each in content["letter"]["findings"][0]["files"]]
    assert sorted(hashes) == sorted(hashlib.sha256(image).hexdigest() for image in images)
    assert sorted(content["thumbnails"]) == sorted(hashes[:2]), "two photographs of a finding"
    assert all(len(base64.b64decode(each)) <= 40 << 10 for each in content["thumbnails"].values())
    assert page.count("data:image/jpeg;base64,") == 2
    assert all(each in page for each in hashes)
    assert "latitude" not in json.dumps(content)


@pytest.mark.parametrize(("who", "status"), [("root", 200), ("ada", 200), ("moe", 200), ("mia", 404), ("bob", 404),
                                             ("max", 404)])  # fmt: skip
def test_letter_is_read_by_its_client_and_managers_of_the_building(case: Callable, who: str, status: int) -> None:
    issue(case)

    answer = case(who).get("/reports/notices/1", accept="application/json")

    assert answer.status == status
    if status == 404:
        assert answer.refusal == (404, "PT404", "Letter not found")
        assert answer.text == case(who).get("/reports/notices/999", accept="application/json").text
        assert case(who).get("/notices").json == []
        for function in (serve, withdraw):
            assert function(case, who).text == function(case, who, 999).text


def test_log_has_no_content(case: Callable) -> None:
    issue(case, "ada", 10)

    [entry] = case("root").get("/audit_log?relation=eq.notices&select=after").json
    assert entry["after"]["number"] == NUMBER
    assert "content" not in entry["after"]


# Service


@pytest.mark.parametrize(("who", "status"), [("root", 200), ("ada", 200), ("mia", 200), ("moe", 403), ("bob", 404)])
def test_admins_and_the_writer_record_the_service(case: Callable, who: str, status: int) -> None:
    issue(case, "mia")

    assert serve(case, who, how="hand").status == status

    [row] = case("root").get("/notices?select=served_on,served_how").json
    assert row == ({"served_on": TODAY, "served_how": "hand"} if status == 200 else dict.fromkeys(row))


def test_inspector_does_not_serve_letters_of_others(case: Callable) -> None:
    issue(case, "ada")

    assert serve(case, "mia").text == serve(case, "mia", 999).text
    assert serve(case, "moe").refusal == (403, "42501", "permission denied to serve this letter")


@pytest.mark.parametrize(
    ("day", "how", "expected"),
    [
        (YESTERDAY, "post", (400, "23514", "notices_served_on_check")),
        (TOMORROW, "post", (400, "23514", "notices_served_on_check")),
        (TODAY, "pigeon", (400, "22023", None)),
    ],
)
def test_refused_service(case: Callable, day: str, how: str, expected: tuple) -> None:
    issue(case)

    answer = serve(case, day=day, how=how)

    assert (answer.status, answer.code, answer.json["details"]) == expected


def test_letter_is_served_once_and_never_after_its_withdrawal(case: Callable) -> None:
    issue(case)
    issue(case, "ada", FIXED)
    withdraw(case, key=2)

    assert serve(case).status == 200
    assert serve(case).json["details"] == "notices_served_check"
    assert serve(case, key=2).json["details"] == "notices_withdrawn_check"


def test_deadlines_count_from_the_service(case: Callable) -> None:
    issue(case, "mia", OPEN, 10)
    before = due_dates(case)
    later(case, "2026-11-23T08:00:00+00:00")

    assert serve(case, "mia", day="2026-11-22").json == {
        "id": 1, "number": NUMBER, "served_on": "2026-11-22", "deadlines": 1
    }  # fmt: skip

    assert due_dates(case) == {**before, 10: "2026-12-02T23:59:59+00:00"}
    [event] = case("ada").get("/finding_events?finding_id=eq.10&kind=eq.extended").json
    assert (event["due_before"], event["due_after"]) == (DUE_AT, "2026-12-02T23:59:59+00:00")
    assert (event["note"], event["user_id"], event["notice_id"]) == ("A letter was served", MIA, 1)


def test_hours_count_from_the_end_of_the_day_of_service(world: Callable) -> None:
    made = rows()
    made["findings"].append(finding(12, FAILED, severity="low"))
    case = world(made, MOMENT)
    issue(case, "ada", 12)

    assert serve(case).json["deadlines"] == 1

    assert due_dates(case)[12] == "2026-11-21T23:59:59+00:00"
    assert "within 24 hours after the day of service" in case("ada").get("/reports/notices/1").text


def test_only_open_findings_have_a_new_deadline(case: Callable) -> None:
    issue(case, "ada", 10, 11)
    assert case("moe").rpc("move_findings", {"p_finding_ids": [10], "p_to": "fixed"}).status == 200

    assert serve(case).json["deadlines"] == 1
    assert due_dates(case)[10] == DUE_AT


@pytest.mark.parametrize(
    ("extended", "expected"),
    [
        ("2027-01-15T12:00:00+00:00", "2027-01-15T12:00:00+00:00"),
        ("2026-11-25T12:00:00+00:00", "2026-11-30T23:59:59+00:00"),
    ],
)
def test_extended_finding_keeps_a_later_deadline(case: Callable, extended: str, expected: str) -> None:
    arguments = {"p_finding_ids": [10], "p_to": "open", "p_note": "Parts are late.", "p_due_at": extended}
    assert case("ada").rpc("move_findings", arguments).status == 200
    issue(case, "ada", 10)

    assert serve(case).status == 200

    assert due_dates(case)[10] == expected
    assert f"not before {extended[:10]} 12:00" in case("ada").get("/reports/notices/1").text


def test_deadline_counts_from_the_first_service(case: Callable) -> None:
    issue(case, "ada", 10)
    assert serve(case).json["deadlines"] == 1
    later(case, "2026-11-25T08:00:00+00:00")
    issue(case, "ada", 10, p_answer_by="2026-12-01")
    assert "2026-11-30" in case("ada").get("/reports/notices/2").text

    assert serve(case, key=2, day="2026-11-25").json["deadlines"] == 0
    assert due_dates(case)[10] == "2026-11-30T23:59:59+00:00"


def test_deadline_counts_from_the_first_service_after_a_withdrawal(case: Callable) -> None:
    issue(case, "ada", 10)
    serve(case)
    withdraw(case)
    later(case, "2026-11-25T08:00:00+00:00")
    issue(case, "ada", 10, p_answer_by="2026-12-01")

    assert serve(case, key=2, day="2026-11-25").json["deadlines"] == 0
    assert due_dates(case)[10] == "2026-11-30T23:59:59+00:00"


def test_service_that_changes_no_deadline_is_the_first_one(world: Callable) -> None:
    made = rows()
    due_at = "2026-11-30T23:59:59+00:00"
    made["findings"].append(finding(12, FAILED, severity="severe", due_at=due_at))
    case = world(made, MOMENT)
    issue(case, "ada", 12)
    assert serve(case).json["deadlines"] == 0
    later(case, "2026-11-25T08:00:00+00:00")
    issue(case, "ada", 12, p_answer_by="2026-12-01")
    assert letter(case, 2)["letter"]["findings"][0]["from_service"] is None

    assert serve(case, key=2, day="2026-11-25").json["deadlines"] == 0
    assert due_dates(case)[12] == due_at


def test_service_by_a_former_client_settles_nothing(case: Callable) -> None:
    issue(case, "ada", 10)
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204
    assert serve(case).json["deadlines"] == 0

    assert issue(case, "bob", 10).status == 200
    assert serve(case, "bob", 2).json["deadlines"] == 1
    assert due_dates(case)[10] == "2026-11-30T23:59:59+00:00"


def test_deadline_of_a_former_client_stays(case: Callable) -> None:
    issue(case, "ada", 10)
    assert serve(case).json["deadlines"] == 1
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204
    later(case, "2026-11-25T08:00:00+00:00")

    assert issue(case, "bob", 10, p_answer_by="2026-12-01").status == 200
    assert serve(case, "bob", 2, "2026-11-25").json["deadlines"] == 0


def test_deadline_counts_from_service_after_the_report_of_the_visit(world: Callable) -> None:
    """The lock of an issued report keeps what was found, not its deadline."""
    made = rows()
    made["findings"] += [finding(12, 1940, severity="severe")]
    made["inspections"].append(inspection(1940, 1, "failed", YESTERDAY))
    case = world(made, MOMENT)
    issued = {"p_inspection_id": 1940, "p_kind": "findings", "p_signed_name": "Ines"}
    assert case("ada").rpc("issue_report", issued).status == 200
    assert issue(case, "ada", 12).status == 200

    assert serve(case).json["deadlines"] == 1
    assert due_dates(case)[12] == "2026-11-30T23:59:59+00:00"


def test_findings_of_another_client_keep_their_deadlines(case: Callable) -> None:
    issue(case, "ada", 10)
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204

    assert serve(case).json["deadlines"] == 0
    assert due_dates(case)[10] == DUE_AT


# Withdrawal, and what stays


@pytest.mark.parametrize(("who", "status"), [("root", 200), ("ada", 200), ("mia", 403), ("moe", 403), ("bob", 404)])
def test_admins_withdraw(case: Callable, who: str, status: int) -> None:
    issue(case, "mia")

    answer = withdraw(case, who)

    assert answer.status == status
    [row] = case("root").get("/notices?select=withdrawn_at,withdrawn_note").json
    if status == 200:
        assert answer.json == {"id": 1, "number": NUMBER, "withdrawn_at": MOMENT}
        assert row == {"withdrawn_at": MOMENT, "withdrawn_note": "Wrong owner."}
    else:
        assert row == {"withdrawn_at": None, "withdrawn_note": None}


def test_letter_is_withdrawn_once_with_a_reason(case: Callable) -> None:
    issue(case)

    assert withdraw(case, note=" ").json["details"] == "notices_withdrawn_note_check"
    assert withdraw(case).status == 200
    assert withdraw(case).json["details"] == "notices_withdrawn_check"


def test_building_and_findings_of_a_letter_are_not_deleted(case: Callable) -> None:
    issue(case, "ada", 11)

    refused = case("root").delete("/findings?id=eq.11")
    assert (refused.status, refused.json["details"]) == (400, "findings_moved_check")
    for key in (FAILED, AGAIN):
        case("root").delete(f"/inspections?id=eq.{key}")
    assert case("root").delete("/buildings?id=eq.1").status == 409


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_functions_alone_write_letters(case: Callable, who: str) -> None:
    issue(case)

    assert case(who).patch("/notices?id=eq.1", {"to_name": "Other"}).status in (401, 403)
    assert case(who).delete("/notices?id=eq.1").status in (401, 403)


def test_get_issues_nothing(case: Callable) -> None:
    assert case("ada").rpc("issue_notice", {"p_answer_by": TOMORROW}, method="GET").status == 405
    assert case("ada").get("/notices").json == []
