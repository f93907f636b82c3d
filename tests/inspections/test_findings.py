"""Rows of findings: deadlines, the columns of the service, the event of a new finding, and repeated requests."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, MIA, ROOT, Response, privilege
from tests.inspections.case_world import DUE_AT, FAILED, MOMENT, OPEN, SCHEDULED, case_rows

MERGE, IGNORE = "resolution=merge-duplicates", "resolution=ignore-duplicates"
RETURN = "return=representation"
REF, OTHER_REF = "7b1c1c1e-0000-4000-8000-000000000001", "7b1c1c1e-0000-4000-8000-000000000002"
NEW = {"inspection_id": SCHEDULED, "description": "No smoke alarm.", "severity": "moderate"}
DUE = "2026-12-20T23:59:59+00:00"
"""The deadline of NEW at MOMENT."""


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


def one(response: Response) -> dict:
    assert response.status in (200, 201), response.text
    [row] = response.json
    return row


# Deadlines


@pytest.mark.parametrize(
    ("severity", "zone", "due_at"),
    [
        ("life_threatening", "UTC", "2026-11-21T14:05:00+00:00"),
        ("severe", "America/New_York", "2026-11-21T14:05:00+00:00"),
        ("moderate", "UTC", "2026-12-20T23:59:59+00:00"),
        ("moderate", "America/New_York", "2026-12-21T04:59:59+00:00"),
        ("low", "America/New_York", "2027-01-20T04:59:59+00:00"),
    ],
)
def test_deadline_follows_from_severity_and_time_zone(world: Callable, severity: str, zone: str, due_at: str) -> None:
    case = world(case_rows(), MOMENT, TIMEZONE=zone)

    made = one(case("ada").post("/findings", {**NEW, "severity": severity}, prefer=RETURN))

    assert made["due_at"] == due_at


@pytest.mark.parametrize(
    ("zone", "moment", "due_at"),
    [
        ("America/Santiago", "2027-03-04T15:00:00+00:00", "2027-04-04T03:59:59+00:00"),
        ("America/Asuncion", "2024-02-22T15:00:00+00:00", "2024-03-24T03:59:59+00:00"),
    ],
)
def test_deadline_is_the_later_end_of_a_day_that_ends_twice(
    world: Callable, zone: str, moment: str, due_at: str
) -> None:
    """The clock goes back at midnight, from daylight saving time."""
    case = world(case_rows(), moment, TIMEZONE=zone)

    made = one(case("ada").post("/findings", {**NEW, "severity": "moderate"}, prefer=RETURN))

    assert made["due_at"] == due_at


ABSENT_OR_NULL = [NEW, {**NEW, "due_at": None}]


@pytest.mark.parametrize("row", ABSENT_OR_NULL, ids=["absent", "null"])
def test_each_kind_of_insert_fills_the_deadline_in(case: Callable, row: dict) -> None:
    ada = case("ada")
    header = ",".join(row)
    line = ",".join(str(value) if value is not None else "" for value in row.values())

    answers = [
        ada.post("/findings", row, prefer=RETURN),
        ada.post("/findings", [row, {**row, "severity": "moderate"}], prefer=RETURN),
        ada.post("/findings", f"{header}\n{line}\n{line}", content_type="text/csv", prefer=RETURN),
        ada.post("/findings?on_conflict=ref", {**row, "ref": REF}, prefer=f"{MERGE},{RETURN}"),
        ada.post("/findings?on_conflict=ref", {**row, "ref": OTHER_REF}, prefer=f"{IGNORE},{RETURN}"),
        ada.post("/findings?columns=" + header, [row], prefer=f"missing=default,{RETURN}"),
    ]

    assert [answer.status for answer in answers] == [201] * 6, [answer.text for answer in answers]
    assert {each["due_at"] for answer in answers for each in answer.json} == {DUE}


def test_a_given_deadline_stays(case: Callable) -> None:
    """An admin may give a later one than the rule's, too."""
    rows = [{**NEW, "due_at": "2027-11-25T12:00:00-05:00"}, {**NEW, "due_at": None}]

    made = case("ada").post("/findings", rows, prefer=RETURN)

    assert [row["due_at"] for row in made.json] == ["2027-11-25T17:00:00+00:00", DUE]


def test_deadline_counts_from_the_time_that_a_super_admin_gives(case: Callable) -> None:
    found = "2026-01-10T00:30:00"
    row = {**NEW, "severity": "severe", "created_at": found}

    in_utc = one(case("root").post("/findings", row, prefer=RETURN))
    in_zone = one(case("root").post("/findings", row, prefer=f"{RETURN},timezone=America/New_York"))

    assert in_utc["due_at"] == "2026-01-11T00:30:00+00:00"
    assert in_zone["due_at"] == "2026-01-11T00:30:00-05:00"


def test_columns_outside_of_the_request_have_no_effect_on_the_deadline(case: Callable) -> None:
    path = "/findings?columns=inspection_id,description,severity"
    row = {**NEW, "created_at": "2030-01-01", "due_at": "2031-01-01"}

    assert one(case("ada").post(path, row, prefer=RETURN))["due_at"] == DUE
    assert case("ada").post(path, {**row, "created_at": "soon"}).status == 201


def test_a_finding_of_the_last_year_is_refused(case: Callable) -> None:
    for severity in ("severe", "low"):
        row = {**NEW, "severity": severity, "created_at": "9999-12-31T12:00:00Z"}

        response = case("root").post("/findings", row)

        assert response.refusal == (400, "23514", "The finding was not made at that time.")


def test_unknown_or_missing_severity_is_refused(case: Callable) -> None:
    unknown = case("ada").post("/findings", {**NEW, "severity": "mild"})
    missing = case("ada").post("/findings", {"inspection_id": SCHEDULED, "description": "x"})

    assert (unknown.status, unknown.code) == (400, "23514")
    assert (missing.status, missing.code) == (400, "23502")


CHANGES = [
    {"due_at": "2099-01-01T00:00:00Z"},
    {"due_at": "2026-11-21T00:00:00Z"},
    {"due_at": None},
    {"severity": "life_threatening"},
    {"severity": "low"},
    {"found_at": "2026-11-01T00:00:00Z"},
]


@pytest.mark.parametrize("who", ["root", "ada", "mia", "service"])
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_functions_alone_change_time_deadline_and_severity(case: Callable, who: str, change: dict) -> None:
    before = case("root").get("/findings?order=id").text
    row = {**one(case("root").get(f"/findings?id=eq.{OPEN}")), **change}
    row = {name: value for name, value in row.items() if name not in ("created_at", "updated_at")}

    patched = case(who).patch(f"/findings?id=eq.{OPEN}", {**change, "place": "3D"})
    put = case(who).send("PUT", f"/findings?id=eq.{OPEN}", row)
    merged = case("root").post("/findings", [row], prefer=MERGE)

    name = next(iter(change))
    assert patched.refusal == (400, "428C9", f'column "{name}" can only be updated to DEFAULT')
    if change[name] is not None:  # a null in a row that is sent again means the stored value
        assert (put.status, put.code) == (400, "428C9")
        assert (merged.status, merged.code) == (400, "428C9")
        assert case("root").get("/findings?order=id").text == before


def test_a_repeated_request_with_the_stored_values_is_a_merge(case: Callable) -> None:
    row = one(case("root").get(f"/findings?id=eq.{OPEN}"))

    put = case("root").send("PUT", f"/findings?id=eq.{OPEN}", {**row, "place": "3D"}, prefer=RETURN)

    assert {**one(put), "updated_at": None} == {**row, "place": "3D", "updated_at": None}


def test_a_retry_that_ignores_known_findings_succeeds_after_a_new_severity(case: Callable) -> None:
    row = {**NEW, "ref": REF}
    made = one(case("ada").post("/findings?on_conflict=ref", row, prefer=f"{IGNORE},{RETURN}"))
    graded = case("ada").rpc("regrade_finding", {"p_finding_id": made["id"], "p_severity": "low", "p_note": "Minor."})
    assert graded.status == 200

    again = case("ada").post("/findings?on_conflict=ref", row, prefer=f"{IGNORE},{RETURN}")
    merged = case("ada").post("/findings?on_conflict=ref", row, prefer=MERGE)

    assert (again.status, again.json) == (201, [])
    assert (merged.status, merged.code) == (400, "428C9")


def test_readers_of_a_finding_do_not_change_its_place(case: Callable) -> None:
    changes = {"place": "3D"}

    assert case("moe").patch(f"/findings?id=eq.{OPEN}", changes).refusal == privilege("findings")
    assert case("bob").patch(f"/findings?id=eq.{OPEN}", changes, prefer=RETURN).json == []
    assert one(case("root").get(f"/findings?id=eq.{OPEN}"))["due_at"] == DUE_AT


# When a finding was made


def test_a_finding_of_an_earlier_day_is_due_from_that_day(case: Callable) -> None:
    """The visit of 2026-11-19 is entered on the next day."""
    row = {**NEW, "inspection_id": FAILED, "severity": "severe", "found_at": "2026-11-19T10:00:00-05:00"}

    made = one(case("ada").post("/findings", row, prefer=RETURN))

    assert made["found_at"] == "2026-11-19T15:00:00+00:00"
    assert made["due_at"] == "2026-11-20T15:00:00+00:00"
    assert made["created_at"] == MOMENT


@pytest.mark.parametrize(
    ("inspection_id", "zone", "found_at", "is_allowed"),
    [
        (SCHEDULED, "UTC", "2026-11-20T14:10:00Z", True),
        (SCHEDULED, "UTC", "2026-11-20T14:10:00.000001Z", False),
        (SCHEDULED, "UTC", "2020-01-01T00:00:00Z", True),
        (FAILED, "UTC", "2026-11-19T00:00:00Z", True),
        (FAILED, "UTC", "2026-11-18T23:59:59Z", False),
        (FAILED, "America/New_York", "2026-11-19T05:00:00Z", True),
        (FAILED, "America/New_York", "2026-11-19T04:59:59Z", False),
    ],
)
def test_a_finding_is_made_neither_before_its_visit_nor_in_the_future(
    world: Callable, inspection_id: int, zone: str, found_at: str, is_allowed: bool
) -> None:
    case = world(case_rows(), MOMENT, TIMEZONE=zone)
    row = {**NEW, "inspection_id": inspection_id, "found_at": found_at}
    number = len(case("root").get("/findings").json)

    answers = [
        case("ada").post("/findings", row, prefer="tx=rollback"),
        case("root").post("/findings", [row, row], prefer="tx=rollback"),
        case("ada").post("/findings?on_conflict=ref", {**row, "ref": REF}, prefer=f"{MERGE},tx=rollback"),
    ]

    expected = [(201, None)] * 3 if is_allowed else [(400, "23514")] * 3
    assert [(each.status, each.code if each.status == 400 else None) for each in answers] == expected
    if not is_allowed:
        assert answers[0].json["details"].startswith("findings_found_at_check: found_at lies ")
    assert len(case("root").get("/findings").json) == number


def test_an_inspector_gives_an_earlier_deadline_and_no_later_one(case: Callable) -> None:
    for due_at, status in ((DUE, 201), ("2026-11-21T00:00:00Z", 201), ("2026-12-21T00:00:00Z", 400)):
        made = case("mia").post("/findings", {**NEW, "due_at": due_at}, prefer="tx=rollback")

        assert made.status == status, made.text
    assert made.refusal == (400, "23514", f"The deadline is {DUE} at the latest: an admin extends findings.")
    assert made.json["details"] == "findings_due_at_check"


# Columns of the service


@pytest.mark.parametrize("who", ["root", "ada", "mia", "service"])
@pytest.mark.parametrize(
    "change", [{"status": "fixed"}, {"case_id": 7}, {"closed_at": MOMENT}], ids=lambda each: next(iter(each))
)
def test_payloads_do_not_set_columns_of_the_service(case: Callable, who: str, change: dict) -> None:
    sender = case(who)

    answers = [
        sender.post("/findings", {**NEW, **change}),
        sender.post("/findings", {**NEW, **change}, prefer=MERGE),
        sender.post("/findings", {**NEW, **change}, prefer=IGNORE),
        sender.post("/findings", [NEW | change, NEW | change]),
        sender.post("/findings?on_conflict=ref", {**NEW, **change, "ref": REF}, prefer=MERGE),
        sender.post("/findings?on_conflict=ref", {**NEW, **change, "ref": REF}, prefer=IGNORE),
        sender.patch(f"/findings?id=eq.{OPEN}", change),
        sender.send("PUT", f"/findings?id=eq.{OPEN}", {"id": OPEN, **NEW, **change}),
    ]

    assert [(answer.status, answer.code) for answer in answers] == [(400, "428C9")] * 8
    assert [row["id"] for row in case("root").get("/findings").json] == [1, 2, 3, 4, 5]


def test_a_new_finding_may_name_the_first_status(case: Callable) -> None:
    named = {**NEW, "status": "open", "closed_at": None}

    assert one(case("ada").post("/findings", named, prefer=RETURN))["status"] == "open"
    assert case("ada").post("/findings", [named, named]).status == 201
    assert case("ada").post("/findings?on_conflict=ref", {**named, "ref": REF}, prefer=MERGE).status == 201
    closed = {**named, "ref": REF, "status": "verified"}
    assert case("ada").post("/findings?on_conflict=ref", closed, prefer=MERGE).code == "428C9"


def test_put_keeps_the_columns_of_the_service(case: Callable) -> None:
    made = one(case("root").post("/findings", NEW, prefer=RETURN))
    case("moe").rpc("move_findings", {"p_finding_ids": [made["id"]], "p_to": "fixed"})
    row = {"id": made["id"], "inspection_id": SCHEDULED, "description": "Changed", "severity": "moderate"}

    put = one(case("root").send("PUT", f"/findings?id=eq.{made['id']}", row, prefer=RETURN))

    assert put == {**made, "description": "Changed", "status": "fixed", "fixed_at": MOMENT, "days_late": 0}
    assert [event[:2] for event in events(case)] == [(made["id"], "made"), (made["id"], "fixed")]


# Events


def events(case: Callable) -> list[tuple]:
    rows = case("root").get("/finding_events?order=id").json
    return [(row["finding_id"], row["kind"], row["user_id"], row["inspection_id"], row["at"]) for row in rows]


def test_new_findings_have_an_event(case: Callable) -> None:
    case("ada").post("/findings", NEW)
    case("mia").post("/findings", [NEW])
    case("root").post("/findings", [NEW, {**NEW, "inspection_id": FAILED}])
    case("service").post("/findings", NEW)

    assert events(case) == [
        (6, "made", ADA, SCHEDULED, MOMENT),
        (7, "made", MIA, SCHEDULED, MOMENT),
        (8, "made", ROOT, SCHEDULED, MOMENT),
        (9, "made", ROOT, FAILED, MOMENT),
        (10, "made", None, SCHEDULED, MOMENT),
    ]


def test_a_refused_or_undone_finding_has_no_event(case: Callable) -> None:
    case("ada").post("/findings", [NEW, {**NEW, "severity": "mild"}])
    case("ada").post("/findings", NEW, prefer="tx=rollback")

    assert events(case) == []


# Offline clients


@pytest.mark.parametrize("due_at", [{}, {"due_at": None}], ids=["absent", "null"])
def test_a_finding_that_is_sent_twice_exists_once(case: Callable, due_at: dict) -> None:
    row = {**NEW, **due_at, "ref": REF}
    clock = case("root").database.own.extensions["walkthrough"].clock
    first = one(case("mia").post("/findings?on_conflict=ref", row, prefer=f"{MERGE},{RETURN}"))
    clock.set("2026-11-22T14:05:00+00:00")

    second = one(case("mia").post("/findings?on_conflict=ref", row, prefer=f"{MERGE},{RETURN}"))
    ignored = case("mia").post("/findings?on_conflict=ref", row, prefer=f"{IGNORE},{RETURN}")

    assert second == {**first, "updated_at": "2026-11-22T14:05:00+00:00"}
    assert (ignored.status, ignored.json) == (201, [])
    assert first["due_at"] == DUE
    assert [event[:2] for event in events(case)] == [(first["id"], "made")]


def test_an_upsert_of_new_and_known_findings_keeps_and_fills_deadlines(case: Callable) -> None:
    case("mia").post("/findings?on_conflict=ref", {**NEW, "ref": REF}, prefer=MERGE)
    case("root").database.own.extensions["walkthrough"].clock.set("2026-11-22T14:05:00+00:00")
    rows = [
        {**NEW, "ref": OTHER_REF, "due_at": None, "place": None},
        {**NEW, "ref": REF, "due_at": None, "place": "3D"},
        {**NEW, "ref": REF[:-1] + "3", "due_at": "2026-12-01T00:00:00Z", "place": None},
    ]

    merged = case("mia").post("/findings?on_conflict=ref", rows, prefer=f"{MERGE},{RETURN}")

    assert merged.status == 201
    found = {row["ref"]: (row["due_at"], row["place"]) for row in case("root").get("/findings?ref=not.is.null").json}
    assert found == {
        REF: (DUE, "3D"),
        OTHER_REF: ("2026-12-22T23:59:59+00:00", None),
        REF[:-1] + "3": ("2026-12-01T00:00:00+00:00", None),
    }
    assert len(events(case)) == 3


def test_an_upsert_does_not_replace_a_deadline(case: Callable) -> None:
    row = {**NEW, "ref": REF, "due_at": "2026-12-01T00:00:00Z"}
    for due_at, code in ((row["due_at"], None), ("2026-12-01T01:00:00+01:00", None), (DUE_AT, "428C9")):
        merged = case("mia").post("/findings?on_conflict=ref", {**row, "due_at": due_at}, prefer=f"{MERGE},{RETURN}")

        assert (merged.json[0]["due_at"] if code is None else merged.code) == (code or "2026-12-01T00:00:00+00:00")


def test_a_finding_that_was_moved_is_not_reset_by_a_repeated_request(case: Callable) -> None:
    row = {**NEW, "ref": REF}
    made = one(case("mia").post("/findings?on_conflict=ref", row, prefer=f"{MERGE},{RETURN}"))
    case("mia").rpc("move_findings", {"p_finding_ids": [made["id"]], "p_to": "fixed"})

    again = one(case("mia").post("/findings?on_conflict=ref", row, prefer=f"{MERGE},{RETURN}"))

    assert again["status"] == "fixed"


@pytest.mark.parametrize("prefer", [MERGE, IGNORE, "missing=default"])
def test_the_reference_of_a_finding_of_another_client_is_free(case: Callable, prefer: str) -> None:
    hidden = one(case("root").post("/findings", {**NEW, "ref": REF}, prefer=RETURN))
    elsewhere = {**NEW, "inspection_id": 1920, "ref": REF, "due_at": None}

    made = case("bob").post("/findings?on_conflict=ref", elsewhere, prefer=f"{prefer},{RETURN}")
    again = case("bob").post("/findings?on_conflict=ref", elsewhere, prefer=f"{MERGE},{RETURN}")

    assert one(made)["inspection_id"] == 1920
    assert one(again)["id"] == one(made)["id"]
    assert one(case("root").get(f"/findings?id=eq.{hidden['id']}")) == hidden


def test_the_reference_of_a_finding_of_the_client_is_taken(case: Callable) -> None:
    case("root").post("/findings", {**NEW, "ref": REF})

    refused = case("ada").post("/findings", {**NEW, "inspection_id": FAILED, "ref": REF})

    assert (refused.status, refused.code, refused.json["details"]) == (
        409, "23505", f"Key (ref)=({REF}) already exists."
    )  # fmt: skip


def test_an_upsert_does_not_reveal_the_status_of_a_hidden_finding(case: Callable) -> None:
    """A manager of the client sees no findings of the inspection."""
    case("root").post("/findings", {**NEW, "ref": REF, "inspection_id": 1920})
    row = {**NEW, "inspection_id": 1920, "ref": REF}

    refusals = [
        case("ada").post("/findings?on_conflict=ref", {**row, "status": status}, prefer=prefer).whole
        for status in ("open", "fixed")
        for prefer in (MERGE, IGNORE)
    ]

    assert len({(status, body) for status, _, body in refusals}) == 1
