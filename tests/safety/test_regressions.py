"""Regression tests of failures that the random tests of this folder found."""

from collections.abc import Callable

from tests.conftest import MOE


def test_grant_without_grantee_violates_not_null(api: Callable) -> None:
    """Found by the two worlds: the planner stopped at the warning of a missing key."""
    response = api("root").post("/client_manager_inspection_access", {"inspection_id": 1})

    assert (response.status, response.code) == (400, "23502")


def test_grant_upsert_without_grantee_is_refused(api: Callable) -> None:
    response = api("ada").post(
        "/client_manager_building_access?columns=building_id",
        {"building_id": 1, "manager_id": MOE},
        prefer="resolution=merge-duplicates",
    )

    assert (response.status, response.code) == (403, "42501")
