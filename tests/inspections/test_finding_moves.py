"""move_findings: which moves exist, who may make them, what they need, and what they leave."""

from collections.abc import Callable

import pytest

from engine.storage.transaction import SqliteTransaction
from tests.conftest import ADA, MIA, MOE, ROOT, Response
from tests.inspections.case_world import (
    AGAIN,
    DAY_BEFORE,
    DUE_AT,
    ELSEWHERE,
    FAILED,
    FIXED,
    HIDDEN,
    MISSING,
    MOMENT,
    OLD,
    OPEN,
    SCHEDULED,
    STATUSES,
    TODAY,
    VERIFIED,
    WAIVED,
    case_rows,
    finding,
    inspection,
    rounds_of_case,
    stored_findings,
)

LATER = "2027-01-15T12:00:00+00:00"
KEYS = {status: id_ for id_, status in STATUSES.items()}
EVERYONE = {"root", "ada", "bob", "moe", "mia", "service"}
"""The callers who see the findings of FAILED. max does not."""
DECIDING = {"root", "ada", "service"}
INSPECTING = {*DECIDING, "mia"}

TARGETS = {
    "fixed": {"p_to": "fixed"},
    "verified": {"p_to": "verified", "p_inspection_id": AGAIN, "p_how": "visit"},
    "waived": {"p_to": "waived", "p_note": "The owner proves it."},
    "open": {"p_to": "open", "p_note": "It is not done."},
    "extended": {"p_to": "open", "p_note": "Parts are late.", "p_due_at": LATER},
    "remark": {"p_to": "remark", "p_note": "No access."},
}

RIGHTS = {
    "fixed": EVERYONE,
    "verified": INSPECTING,
    "waived": DECIDING,
    "open": INSPECTING,
    "extended": DECIDING,
    "remark": EVERYONE,
}

MOVES = {
    ("open", "fixed"), ("open", "verified"), ("fixed", "verified"), ("open", "waived"), ("fixed", "waived"),
    ("fixed", "open"), ("verified", "open"), ("waived", "open"),
    ("open", "extended"), ("fixed", "extended"), ("verified", "extended"), ("waived", "extended"),
    ("open", "remark"), ("fixed", "remark"), ("verified", "remark"), ("waived", "remark"),
}  # fmt: skip
"""Status and target. A finding that is reopened with p_due_at has a new deadline, too."""


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(rounds_of_case(), MOMENT)


def move(case: Callable, who: str, *ids: int, prefer: str | None = None, **arguments: object) -> Response:
    return case(who).rpc("move_findings", {"p_finding_ids": ids, **arguments}, prefer=prefer)


def expected(who: str, status: str, target: str) -> tuple:
    """Return what the tables of the requirements say: status, code and details, or the counts."""
    if who == "max":
        return 404, "PT404", None
    if who not in RIGHTS[target]:
        return 403, "42501", None
    if (status, target) in MOVES:
        return 200, {"moved": 1, "already": 0}
    if status == target:
        return 200, {"moved": 0, "already": 1}
    return 400, "23514", f"findings_move_check: finding {KEYS[status]}: {status} -> {target}"


@pytest.mark.parametrize("who", [*sorted(EVERYONE), "max"])
def test_moves_by_caller_status_and_target(case: Callable, who: str) -> None:
    before = stored_findings(case)
    for id_, status in STATUSES.items():
        for target, arguments in TARGETS.items():
            response = move(case, who, id_, prefer="tx=rollback", **arguments)

            body = response.json
            found = (200, body) if response.status == 200 else (response.status, body["code"], body["details"])
            assert found == expected(who, status, target), (status, target, response.text)
    assert stored_findings(case) == before


@pytest.mark.parametrize("key", [HIDDEN, MISSING, 0, -(2**63), 2**63 - 1])
def test_findings_out_of_reach_do_not_exist(case: Callable, key: int) -> None:
    before = stored_findings(case)

    for who in ("ada", "moe", "mia", "max"):
        for arguments in TARGETS.values():
            response = move(case, who, OPEN if who != "max" else MISSING, key, **arguments)

            assert (response.status, response.json) == (
                404, {"code": "PT404", "message": "Finding not found", "details": None, "hint": None}
            )  # fmt: skip
    assert stored_findings(case) == before


def test_one_of_a_thousand_out_of_reach_undoes_all(world: Callable) -> None:
    rows = case_rows()
    rows["findings"] += [finding(id_, FAILED) for id_ in range(1_000, 1_999)]
    case = world(rows, MOMENT)
    before = stored_findings(case)

    assert move(case, "moe", *range(1_000, 1_999), HIDDEN, p_to="fixed").status == 404
    assert stored_findings(case) == before

    assert move(case, "moe", *range(1_000, 1_999), OPEN, p_to="fixed").json == {"moved": 1_000, "already": 0}
    assert case("root").head("/finding_events?kind=eq.fixed", prefer="count=exact").total == "1000"


@pytest.mark.sqlite("listens to SQLite's driver")
def test_a_thousand_findings_take_as_many_statements_as_one(world: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rounds_of_case()
    rows["findings"] += [finding(id_, FAILED) for id_ in range(1_000, 2_000)]
    case, run, statements = world(rows, MOMENT), SqliteTransaction.run, []
    monkeypatch.setattr(SqliteTransaction, "run", lambda *given: statements.append(given[1]) or run(*given))
    numbers = []

    for ids in ([OPEN], range(1_000, 2_000)):
        statements.clear()
        assert move(case, "mia", *ids, **TARGETS["verified"]).status == 200
        numbers.append(len(statements))

    assert numbers[1] <= numbers[0] + 2 < 20, "and a savepoint around the events"


def test_findings_without_the_right_undo_all(world: Callable) -> None:
    rows = rounds_of_case()
    rows["inspections"].append(inspection(1940, 1, "failed", "2026-11-19", inspector_id=None))
    rows["findings"].append(finding(30, 1940))
    rows["client_manager_inspection_access"] = [{"manager_id": MIA, "inspection_id": 1940}]
    case = world(rows, MOMENT)
    before = stored_findings(case)

    refused = move(case, "mia", OPEN, 30, **TARGETS["verified"])

    assert refused.refusal == (403, "42501", "permission denied to move every finding of the list to verified")
    assert stored_findings(case) == before


def test_a_move_changes_the_finding_and_adds_an_event(case: Callable) -> None:
    steps = [
        ("moe", OPEN, {"p_to": "fixed"}, "fixed", "fixed", None, DUE_AT),
        ("mia", OPEN, TARGETS["verified"], "verified", "verified", MOMENT, DUE_AT),
        ("mia", OPEN, TARGETS["open"], "reopened", "open", None, DUE_AT),
        ("ada", OPEN, TARGETS["extended"], "extended", "open", None, LATER),
        ("root", OPEN, TARGETS["waived"], "waived", "waived", MOMENT, LATER),
        ("ada", OPEN, {**TARGETS["extended"], "p_due_at": DUE_AT}, "reopened", "open", None, DUE_AT),
        ("moe", OPEN, TARGETS["remark"], "remark", "open", None, DUE_AT),
    ]  # fmt: skip
    users = {"moe": MOE, "mia": MIA, "ada": ADA, "root": ROOT}

    for who, id_, arguments, kind, status, closed_at, due_at in steps:
        assert move(case, who, id_, **arguments).json == {"moved": 1, "already": 0}

        [row] = case("root").get(f"/findings?id=eq.{id_}").json
        assert (row["status"], row["closed_at"], row["due_at"]) == (status, closed_at, due_at)
        event = case("root").get("/finding_events?order=id.desc&limit=1").json[0]
        assert (event["finding_id"], event["kind"], event["user_id"], event["at"]) == (id_, kind, users[who], MOMENT)
        assert event["inspection_id"] == arguments.get("p_inspection_id")
        assert event["note"] == arguments.get("p_note")


def test_a_remark_changes_nothing_else(case: Callable) -> None:
    before = stored_findings(case)[0]

    assert move(case, "bob", OPEN, VERIFIED, **TARGETS["remark"]).json == {"moved": 2, "already": 0}

    assert stored_findings(case)[0] == before


def test_findings_in_the_status_are_counted_and_have_no_event(case: Callable) -> None:
    assert move(case, "ada", OPEN, FIXED, FIXED, p_to="fixed").json == {"moved": 1, "already": 1}
    assert move(case, "ada", OPEN, FIXED, WAIVED, **TARGETS["open"]).json == {"moved": 3, "already": 0}
    assert move(case, "ada", OPEN, FIXED, WAIVED, **TARGETS["open"]).json == {"moved": 0, "already": 3}

    assert [row["kind"] for row in case("root").get("/finding_events?order=id").json] == ["fixed"] + ["reopened"] * 3


def test_reopening_and_extending_together(case: Callable) -> None:
    assert move(case, "ada", OPEN, FIXED, **TARGETS["extended"]).json == {"moved": 2, "already": 0}

    rows = case("root").get("/finding_events?order=finding_id&select=finding_id,kind").json
    assert rows == [{"finding_id": OPEN, "kind": "extended"}, {"finding_id": FIXED, "kind": "reopened"}]
    assert {row["due_at"] for row in case("root").get(f"/findings?id=in.({OPEN},{FIXED})").json} == {LATER}


NEEDS = [
    (FIXED, {"p_to": "verified", "p_how": "photo"}, "fixed -> verified needs p_inspection_id"),
    (FIXED, {"p_to": "verified", "p_inspection_id": AGAIN}, "fixed -> verified needs p_how"),
    (
        FIXED, {"p_to": "verified", "p_inspection_id": OLD, "p_how": "visit"},
        "fixed -> verified needs an inspection of its case",
    ),
    (
        FIXED, {"p_to": "verified", "p_inspection_id": FAILED, "p_how": "visit"},
        "fixed -> verified needs a visit that was started after the finding was made",
    ),
    (OPEN, {"p_to": "fixed", "p_inspection_id": SCHEDULED}, "open -> fixed needs an inspection of its case"),
    (OPEN, {"p_to": "waived"}, "open -> waived needs p_note"),
    (OPEN, {"p_to": "waived", "p_note": " \n"}, "open -> waived needs p_note"),
    (FIXED, {"p_to": "open", "p_note": ""}, "fixed -> open needs p_note"),
    (OPEN, {"p_to": "open", "p_due_at": LATER}, "open -> open needs p_note"),
    (OPEN, {"p_to": "remark"}, "open -> remark needs p_note"),
]  # fmt: skip


@pytest.mark.parametrize(("id_", "arguments", "details"), NEEDS, ids=[details for _, _, details in NEEDS])
def test_a_move_without_what_it_needs_is_refused(case: Callable, id_: int, arguments: dict, details: str) -> None:
    before = stored_findings(case)

    response = move(case, "ada", id_, **arguments)

    assert response.refusal == (400, "23514", "A finding cannot be moved in this way.")
    assert response.json["details"] == f"findings_move_check: finding {id_}: {details}"
    assert stored_findings(case) == before


@pytest.mark.parametrize("key", [ELSEWHERE, MISSING])
def test_an_inspection_out_of_reach_does_not_exist(case: Callable, key: int) -> None:
    for who in ("ada", "mia"):
        response = move(case, who, OPEN, p_to="verified", p_inspection_id=key)

        assert response.refusal == (404, "PT404", "Inspection not found")


VALUES = [
    ({"p_finding_ids": []}, "22023"),
    ({"p_finding_ids": [1] * 1_001}, "PGRST100"),
    ({"p_finding_ids": ["x"]}, "22P02"),
    ({"p_finding_ids": [None]}, "22P02"),
    ({"p_to": "closed"}, "22023"),
    ({"p_to": None}, "22P02"),
    ({"p_to": 5}, "22P02"),
    ({"p_note": "x" * 70_000}, "22001"),
    ({"p_note": 5}, "22P02"),
    ({"p_due_at": "soon"}, "22007"),
    ({"p_due_at": LATER}, "22023"),
    ({"p_how": "visit"}, "22023"),
    ({"p_to": "verified", "p_how": "hearsay"}, "22023"),
    ({"p_inspection_id": "x"}, "22P02"),
]


@pytest.mark.parametrize(("change", "code"), VALUES, ids=[f"{next(iter(change))}-{code}" for change, code in VALUES])
def test_invalid_values_are_refused(case: Callable, change: dict, code: str) -> None:
    response = case("ada").rpc("move_findings", {"p_finding_ids": [OPEN], "p_to": "fixed", **change})

    assert (response.status, response.code) == (400, code)


def test_a_rolled_back_move_leaves_nothing(case: Callable) -> None:
    before = stored_findings(case)

    response = move(case, "moe", OPEN, p_to="fixed", prefer="tx=rollback")

    assert (response.status, response.json) == (200, {"moved": 1, "already": 0})
    assert stored_findings(case) == before


def test_a_manager_without_a_grant_and_an_unknown_finding_have_one_body(case: Callable) -> None:
    for target in TARGETS.values():
        hidden, missing = (move(case, "max", id_, **target) for id_ in (OPEN, MISSING))

        assert hidden.whole == missing.whole


def test_an_inspector_of_another_visit_does_not_verify(world: Callable) -> None:
    rows = rounds_of_case()
    for each in rows["inspections"]:
        each["inspector_id"] = None
    rows["client_manager_building_access"].append({"manager_id": MIA, "building_id": 1})
    case = world(rows, MOMENT)

    assert move(case, "mia", OPEN, **TARGETS["verified"]).status == 403
    assert move(case, "mia", OPEN, **TARGETS["fixed"]).status == 200


def test_the_inspector_of_another_round_verifies_findings_that_they_see(world: Callable) -> None:
    rows = rounds_of_case()
    rows["inspections"][0]["inspector_id"] = None
    rows["client_manager_building_access"].append({"manager_id": MIA, "building_id": 1})
    case = world(rows, MOMENT)

    verified = move(case, "mia", OPEN, FIXED, **TARGETS["verified"])

    assert verified.json == {"moved": 2, "already": 0}


@pytest.mark.parametrize(
    ("status", "day", "is_allowed"),
    [
        ("scheduled", TODAY, False),
        ("cancelled", TODAY, False),
        ("in_progress", TODAY, True),
        ("completed", "2026-11-19", True),
        ("failed", DAY_BEFORE, False),
        ("completed", None, False),
    ],
)
def test_a_visit_verifies_if_it_was_started_after_the_finding(
    world: Callable, status: str, day: str | None, is_allowed: bool
) -> None:
    rows = rounds_of_case()
    rows["inspections"][-1].update(status=status, date_visited=day)
    case = world(rows, MOMENT)

    verified = move(case, "ada", FIXED, **TARGETS["verified"])

    assert verified.status == (200 if is_allowed else 400), verified.text


def test_a_finding_of_a_round_is_verified_by_a_later_round(world: Callable) -> None:
    rows = rounds_of_case()
    rows["findings"].append(finding(30, AGAIN, case_id=FAILED, found_at=MOMENT))
    case = world(rows, MOMENT)

    for visit in (FAILED, AGAIN):
        refused = move(case, "ada", 30, p_to="verified", p_inspection_id=visit, p_how="visit")

        assert (refused.status, refused.code) == (400, "23514")


# When it was fixed, and how late


@pytest.mark.parametrize(
    ("due_at", "days"),
    [
        (None, None),
        ("2027-01-01T00:00:00+00:00", 0),
        (MOMENT, 0),
        ("2026-11-20T14:04:59+00:00", 1),
        ("2026-11-19T23:59:59+00:00", 1),
        ("2026-11-19T14:05:00+00:00", 1),
        ("2026-11-19T14:04:59+00:00", 2),
        ("2026-10-21T14:05:00+00:00", 30),
    ],
)
def test_days_late_count_from_the_deadline(world: Callable, due_at: str | None, days: int | None) -> None:
    rows = rounds_of_case()
    rows["findings"][0]["due_at"] = due_at
    case = world(rows, MOMENT)

    def state() -> tuple:
        [row] = case("root").get(f"/findings?id=eq.{OPEN}").json
        return row["fixed_at"], row["days_late"], row["closed_at"]

    assert state() == (None, None, None)
    move(case, "moe", OPEN, p_to="fixed")
    assert state() == (MOMENT, days, None)
    case("root").database.own.extensions["walkthrough"].clock.set(LATER)
    move(case, "ada", OPEN, **TARGETS["verified"])
    assert state() == (MOMENT, days, LATER)
    move(case, "ada", OPEN, **TARGETS["open"])
    assert state() == (None, None, None)
    assert [row["id"] for row in case("ada").get("/findings?days_late=gte.1").json] == []


def test_an_open_finding_that_is_verified_counts_as_fixed_then(case: Callable) -> None:
    move(case, "ada", OPEN, **TARGETS["verified"])

    [row] = case("root").get(f"/findings?id=eq.{OPEN}").json
    assert (row["fixed_at"], row["days_late"], row["closed_at"]) == (MOMENT, 0, MOMENT)


def test_events_hold_how_it_was_verified_and_both_deadlines(case: Callable) -> None:
    move(case, "ada", OPEN, **TARGETS["extended"])
    move(case, "ada", OPEN, p_to="verified", p_inspection_id=AGAIN, p_how="certificate")

    columns = "kind,how,due_before,due_after,severity_before,severity_after"
    assert case("root").get(f"/finding_events?order=id&select={columns}").json == [
        {"kind": "extended", "how": None, "due_before": DUE_AT, "due_after": LATER, "severity_before": None,
         "severity_after": None},
        {"kind": "verified", "how": "certificate", "due_before": None, "due_after": None, "severity_before": None,
         "severity_after": None},
    ]  # fmt: skip
