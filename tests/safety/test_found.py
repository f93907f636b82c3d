"""What the machines of this directory found: each find once more, small and by hand."""

from collections.abc import Callable

from tests.conftest import MOE


def test_grant_without_its_grantee_lacks_it(api: Callable) -> None:
    """Found by the two worlds: the compiler warned of a key that was left out, and so broke off."""
    answer = api("root").post("/client_manager_inspection_access", {"inspection_id": 1})

    assert (answer.status, answer.code) == (400, "23502")


def test_upsert_of_a_grant_without_its_grantee_is_refused_alike(api: Callable) -> None:
    answer = api("ada").post(
        "/client_manager_building_access?columns=building_id",
        {"building_id": 1, "manager_id": MOE},
        prefer="resolution=merge-duplicates",
    )

    assert (answer.status, answer.code) == (403, "42501")
