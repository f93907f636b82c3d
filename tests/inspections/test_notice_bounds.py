"""Letters: what hidden visits and former clients keep for themselves, and how many and how large letters are."""

from collections.abc import Callable

import pytest

from inspections.reports import frozen, notices
from tests.conftest import MAX, ROOT
from tests.inspections.case_world import FAILED, FIXED, IVO, MOMENT, OPEN, finding, inspection
from tests.inspections.test_notices import issue, rows, serve, withdraw

HIDDEN_VISIT, SECRET = 1950, 50


@pytest.fixture
def case(world: Callable) -> Callable:
    """Building 1 has a visit of another inspector, which mia does not see. Building 2 has one of mia."""
    made = rows()
    made["inspections"] += [
        inspection(HIDDEN_VISIT, 1, "failed", "2026-11-19", inspector_id=IVO),
        inspection(1951, 2, "failed", "2026-11-19"),
    ]
    made["findings"] += [finding(SECRET, HIDDEN_VISIT, description="Secret"), finding(51, 1951)]
    return world(made, MOMENT)


# Who reads


def test_inspector_does_not_read_letters_about_hidden_visits(case: Callable) -> None:
    assert case("mia").get(f"/findings?id=eq.{SECRET}").json == []
    issue(case, "ada", SECRET)

    assert case("mia").get("/notices").json == []
    assert case("mia").get("/buildings?id=eq.1&select=id,notices(id)").json == [{"id": 1, "notices": []}]
    assert case("mia").get("/reports/notices/1").refusal == (404, "PT404", "Letter not found")


def test_inspector_reads_their_own_letter(case: Callable) -> None:
    issue(case, "mia", OPEN)

    assert case("mia").get("/notices?select=id").json == [{"id": 1}]
    assert case("mia").get("/reports/notices/1").status == 200
    assert case("mia").get("/buildings?id=eq.1&select=notices(id)").json == [{"notices": [{"id": 1}]}]


def test_managers_of_a_new_client_do_not_read_letters_of_the_former_one(case: Callable) -> None:
    issue(case, "ada", OPEN)
    issue(case, "mia", FIXED)
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204
    grant = {"manager_id": MAX, "building_id": 1, "assigned_by": ROOT}
    assert case("root").post("/client_manager_building_access", grant).status == 201

    assert case("max").get("/notices").json == case("bob").get("/notices").json == []
    assert case("max").get("/buildings?id=eq.1&select=notices(id)").json == [{"notices": []}]
    events = case("max").get("/finding_events?select=kind,note,notices(number)").json
    assert events == [{"kind": "notified", "note": None, "notices": None}] * 2
    assert issue(case, "bob", SECRET).status == 200
    assert [row["client_id"] for row in case("max").get("/notices").json] == [2]
    assert [row["client_id"] for row in case("mia").get("/notices").json] == [1], "her own"


def test_inspector_of_another_client_writes_no_letter(case: Callable) -> None:
    assert case("mia").get("/findings?id=eq.51&select=id").json == [{"id": 51}]

    refusal = issue(case, "mia", 51, p_to_name="Elm", p_to_address="2 Elm Street").refusal

    assert refusal == (403, "42501", "permission denied to write a letter about every finding of the list")


# How many


def test_finding_is_in_one_letter_that_is_neither_served_nor_withdrawn(case: Callable) -> None:
    pending = f"notices_pending_check: finding {OPEN}"
    issue(case, "ada", OPEN)
    for who, ids in (("ada", (OPEN,)), ("mia", (OPEN, FIXED)), ("root", (FIXED, OPEN))):
        answer = issue(case, who, *ids)
        assert (answer.status, answer.code, answer.json["details"]) == (400, "23514", pending)

    withdraw(case)
    assert issue(case, "mia", OPEN, FIXED).status == 200
    assert issue(case, "ada", OPEN).json["details"] == pending
    serve(case, key=2)
    assert issue(case, "ada", OPEN).status == 200


def test_letter_of_a_former_client_does_not_wait_for_its_service(case: Callable) -> None:
    issue(case, "ada", OPEN)
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204

    assert issue(case, "bob", OPEN, p_to_name="Elm", p_to_address="2 Elm Street").status == 200
    assert issue(case, "bob", OPEN).status == 400


# How large


@pytest.mark.parametrize("place", ["letter", "page"])
def test_letter_is_bounded_before_the_writer_lock(world: Callable, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    made = rows()
    made["findings"] += [finding(key, FAILED, description='"' * 50_000) for key in range(1_000, 1_010)]
    case = world(made, MOMENT)
    # Quotation marks have 2 bytes in JSON, and at least 5 in the page.
    monkeypatch.setattr(frozen, "CONTENT_BYTES_MAX", {"letter": 999_999, "page": 2_000_000}[place])
    monkeypatch.setattr(notices, "next_number", None)

    answer = issue(case, "ada", *range(1_000, 1_010))

    assert (answer.status, answer.code) == (400, "54000")
    assert case("root").get("/notices").json == []


def test_size_is_checked_again_under_the_lock(case: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []

    def require_size(text: str) -> None:
        texts.append(text)

    monkeypatch.setattr(notices, "require_size", require_size)

    assert issue(case).status == 200
    assert ["2026-000001" in text for text in texts] == [False, False, False, True]
