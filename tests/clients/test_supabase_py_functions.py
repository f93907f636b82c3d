"""Function calls with supabase-py."""

from datetime import UTC, datetime

import pytest

from tests.clients.consumers import Client, error_of
from tests.clients.rows import LOFTS, SignedIn, building, inspections
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID


@pytest.fixture
def ada(signed_in: SignedIn) -> Client:
    return signed_in("ada")


@pytest.fixture
def root(signed_in: SignedIn) -> Client:
    return signed_in("root")


@pytest.fixture
def max_(signed_in: SignedIn) -> Client:
    return signed_in("max")


# -- Functions


def test_dashboard_counts_what_is_visible(max_: Client) -> None:
    summary = max_.rpc("get_inspections_dashboard_summary_fast").execute().data

    generated = datetime.fromisoformat(summary.pop("generated_at"))
    assert abs((datetime.now(UTC) - generated).total_seconds()) < 60
    assert summary == {
        "total_inspections": 2,
        "total_buildings": 1,
        "by_status": {"scheduled": 0, "in_progress": 0, "completed": 1, "failed": 0, "cancelled": 1},
        "by_type": {"annual": 0, "fire": 0, "lead": 1, "structural": 0, "emergency": 1},
        "overdue": 0,
        "upcoming": 0,
        "completed_this_month": 0,
        "last_inspection": summary["last_inspection"],
        "next_inspection": None,
        "open_findings": 1,
        "findings_overdue": 1,
        "today": generated.date().isoformat(),
        "timezone": "UTC",
    }


def test_dashboard_counts_the_overdue(signed_in: SignedIn) -> None:
    summary = signed_in("moe").rpc("get_inspections_dashboard_summary_fast", get=True).execute()

    assert summary.data["total_inspections"] == 4
    assert summary.data["overdue"] == 2  # 3 and 9, scheduled in the past


def test_chart_has_no_gaps(max_: Client) -> None:
    span = {"start_date": "2025-05-05", "end_date": "2025-05-08"}

    for get in (False, True):
        chart = max_.rpc("get_building_stats_chart_fast", span, get=get).execute().data

        assert (chart["start_date"], chart["end_date"]) == ("2025-05-05", "2025-05-08")
        assert chart["interval"] == "day"
        assert [(point["period"], point["total"]) for point in chart["series"]] == [
            ("2025-05-05", 0),
            ("2025-05-06", 1),
            ("2025-05-07", 1),
            ("2025-05-08", 0),
        ]
        assert chart["series"][1]["by_status"]["completed"] == 1
        assert chart["buildings"] == [
            {"building_id": LOFTS, "name": 'Ash, "The" Lofts (North)', "total": 2, "completed": 1, "failed": 0}
        ]


def test_chart_with_inverted_dates_is_refused(max_: Client) -> None:
    span = {"p_start_date": "2025-05-08", "p_end_date": "2025-05-05"}

    assert error_of(max_.rpc("get_building_stats_chart_fast", span).execute)[0] == "22023"


def test_building_stats(max_: Client) -> None:
    for get in (False, True):
        call = max_.rpc("get_building_stats", {"building_id": LOFTS}, get=get)

        stats = call.execute().data

        assert (stats["building_id"], stats["name"]) == (LOFTS, 'Ash, "The" Lofts (North)')
        assert (stats["total_inspections"], stats["overdue"]) == (2, 0)
        assert (stats["by_status"]["completed"], stats["by_type"]["lead"]) == (1, 1)
        assert stats["lead"]["readings"] == 2
        assert stats["lead"]["by_result"]["negative"] == 1


def test_building_stats_of_hidden_and_missing_buildings_share_one_error(max_: Client) -> None:
    refusals = {error_of(max_.rpc("get_building_stats", {"p_building_id": id_}).execute) for id_ in (1, 999)}

    assert len({message.replace("999", "1") for _, message in refusals}) == 1
    assert {code for code, _ in refusals} == {"PT404"}


def test_function_accepts_head(max_: Client) -> None:
    answer = max_.rpc("get_building_stats", {"building_id": LOFTS}, head=True).execute()

    assert answer.data == []


def test_assign_buildings_to_an_admin(root: Client, signed_in: SignedIn) -> None:
    first, second = building(root, client_id=2), building(root, client_id=2)
    both = {"admin_id": ADA, "building_ids": [first, second]}

    answers = [
        root.rpc("assign_buildings_to_client_admin", arguments).execute().data
        for arguments in ({"admin_id": ADA, "building_ids": [first]}, both)
    ]

    assert answers == [
        {"success": True, "assigned": 1, "already_assigned": 0},
        {"success": True, "assigned": 1, "already_assigned": 1},
    ]
    seen = signed_in("ada").table("buildings").select("id").in_("id", [first, second]).execute()
    assert len(seen.data) == 2


def test_assign_inspections_to_an_admin(root: Client, signed_in: SignedIn) -> None:
    place = building(root)
    (inspection,) = inspections(root, place, "a")
    arguments = {"p_admin_id": BOB, "p_inspection_ids": [inspection]}

    answer = root.rpc("assign_inspections_to_client_admin", arguments).execute().data

    assert answer == {"success": True, "assigned": 1, "already_assigned": 0}
    seen = signed_in("bob").table("inspections").select("id,buildings(id)").eq("id", inspection)
    assert seen.execute().data == [{"id": inspection, "buildings": None}]


def test_assign_to_a_manager(ada: Client, signed_in: SignedIn) -> None:
    place, other = building(ada), building(ada)
    (inspection,) = inspections(ada, other, "a")
    arguments = {"manager_id": MOE, "building_ids": [place], "inspection_ids": [inspection]}

    answers = [ada.rpc("assign_to_client_manager", arguments).execute().data for _ in range(2)]

    assert answers == [
        {"success": True, "assigned_buildings": 1, "assigned_inspections": 1, "already_assigned": 0},
        {"success": True, "assigned_buildings": 0, "assigned_inspections": 0, "already_assigned": 2},
    ]
    moe = signed_in("moe")
    houses = moe.table("buildings").select("id").in_("id", [place, other]).execute().data
    assert houses == [{"id": place}]


CALLS_REFUSED = {
    "an admin assigns no admins": (
        "ada",
        ("assign_buildings_to_client_admin", {"admin_id": ADA, "building_ids": [1]}),
        "42501",
    ),
    "a manager cannot assign": (
        "max",
        ("assign_to_client_manager", {"manager_id": MAX, "building_ids": [], "inspection_ids": []}),
        "42501",
    ),
    "another's building": (
        "ada",
        ("assign_to_client_manager", {"manager_id": MOE, "building_ids": [LOFTS], "inspection_ids": []}),
        "42501",
    ),
    "another's manager": (
        "ada",
        ("assign_to_client_manager", {"manager_id": MAX, "building_ids": [1], "inspection_ids": []}),
        "23514",
    ),
    "an admin is no manager": (
        "root",
        ("assign_to_client_manager", {"manager_id": ADA, "building_ids": [1], "inspection_ids": []}),
        "23514",
    ),
    "nobody": (
        "root",
        ("assign_buildings_to_client_admin", {"admin_id": UNKNOWN_USER_ID, "building_ids": [1]}),
        "23514",
    ),
    "no such building": (
        "root",
        ("assign_buildings_to_client_admin", {"admin_id": ADA, "building_ids": [1, 999]}),
        "42501",
    ),
    "about another user": ("max", ("check_building_access_v2", {"p_building_id": LOFTS, "p_user_id": BOB}), "42501"),
    "an unknown parameter": ("max", ("get_building_stats", {"building": 1}), "PGRST202"),
    "a missing parameter": ("max", ("get_building_stats", {}), "PGRST202"),
    "two opinions": ("max", ("get_building_stats", {"building_id": 1, "p_building_id": 2}), None),
    "a wrong type": ("max", ("get_building_stats", {"building_id": "x"}), "22P02"),
    "an unknown function": ("max", ("nope", {}), "PGRST202"),
}


@pytest.mark.parametrize("name", CALLS_REFUSED)
def test_call_is_refused_with_its_code(signed_in: SignedIn, name: str) -> None:
    who, (function, arguments), code = CALLS_REFUSED[name]

    refusal = error_of(signed_in(who).rpc(function, arguments).execute)

    assert refusal[0] == (code or refusal[0]), refusal
    assert refusal[1], "an error has a message"


CHECKS = {
    "own grant": ("max", "check_building_access_v2", {"p_building_id": LOFTS, "p_user_id": MAX}),
    "by client": ("bob", "check_building_access_v2", {"p_building_id": 5, "p_user_id": BOB}),
    "anyone": ("root", "check_building_access_v2", {"p_building_id": 1, "p_user_id": MOE}),
    "through": ("max", "check_inspection_access", {"p_inspection_id": 7, "p_user_id": MAX}),
    "inspection": ("root", "check_inspection_access", {"p_inspection_id": 3, "p_user_id": BOB}),
}


@pytest.mark.parametrize("name", CHECKS)
def test_check_returns_true(signed_in: SignedIn, name: str) -> None:
    who, function, arguments = CHECKS[name]

    for get in (False, True):
        assert signed_in(who).rpc(function, arguments, get=get).execute().data is True


CHECKS_FALSE = {
    "hidden": ("max", "check_building_access_v2", {"p_building_id": 5, "p_user_id": MAX}),
    "missing": ("max", "check_building_access_v2", {"p_building_id": 999, "p_user_id": MAX}),
    "not theirs": ("root", "check_building_access_v2", {"p_building_id": 2, "p_user_id": MIA}),
    "the asker cannot see": ("bob", "check_inspection_access", {"p_inspection_id": 1, "p_user_id": MAX}),
}


@pytest.mark.parametrize("name", CHECKS_FALSE)
def test_check_returns_false(signed_in: SignedIn, name: str) -> None:
    who, function, arguments = CHECKS_FALSE[name]

    for get in (False, True):
        assert signed_in(who).rpc(function, arguments, get=get).execute().data is False


EXPLANATIONS = {
    "a grant": (
        "max",
        ("explain_building_access", {"p_building_id": LOFTS, "p_user_id": MAX}),
        [{"rule": "building_grant", "granted_by": BOB, "granted_at": "2025-02-12T00:00:00+00:00"}],
    ),
    "the company's": (
        "bob",
        ("explain_building_access", {"building_id": 5, "user_id": BOB}),
        [{"rule": "client_ownership", "granted_by": None, "granted_at": None}],
    ),
    "a super admin": (
        "root",
        ("explain_inspection_access", {"p_inspection_id": 1, "p_user_id": ROOT}),
        [{"rule": "super_admin", "granted_by": None, "granted_at": None}],
    ),
    "an inspection's grant": (
        "bob",
        ("explain_inspection_access", {"p_inspection_id": 3, "p_user_id": BOB}),
        [{"rule": "inspection_grant", "granted_by": ROOT, "granted_at": "2025-02-14T00:00:00+00:00"}],
    ),
}


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_explanation_lists_all_reasons(signed_in: SignedIn, name: str) -> None:
    who, (function, arguments), reasons = EXPLANATIONS[name]

    for get in (False, True):
        answer = signed_in(who).rpc(function, arguments, get=get).execute().data

        assert answer == {"allowed": True, "reasons": reasons}


def test_explanation_of_a_hidden_row_has_no_reasons(max_: Client) -> None:
    arguments = {"p_building_id": 1, "p_user_id": MAX}

    answer = max_.rpc("explain_building_access", arguments).execute().data

    assert answer == {"allowed": False, "reasons": []}
