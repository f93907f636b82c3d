"""How writes are answered, as PostgREST answers them: statuses, one object, PUT, what is checked first."""

from collections.abc import Callable

import pytest

from tests.test_catalogue_write import NEW_BUILDING
from tests.test_catalogue_write import unchanged_after

SINGULAR = "application/vnd.pgrst.object+json"
TWO = "/inspections?id=in.(1,2)"
NONE = "/inspections?id=eq.999"

# method, path, body: writes of two rows, and of none
NOT_ONE = [
    ("POST", "/buildings", [NEW_BUILDING] * 2),
    ("POST", "/buildings", []),
    ("PATCH", TWO, {"notes": "x"}),
    ("PATCH", NONE, {"notes": "x"}),
    ("PATCH", "/inspections?id=eq.1", {}),
    ("DELETE", TWO, None),
    ("DELETE", NONE, None),
]


@pytest.mark.parametrize("prefer", [None, "return=minimal", "return=representation"])
@pytest.mark.parametrize(("method", "path", "body"), NOT_ONE)
def test_one_object_is_no_two_rows_and_none_wanted_back_or_not(
    api: Callable, method: str, path: str, body: object, prefer: str | None
) -> None:
    response = unchanged_after(api, "root", method, path, body, accept=SINGULAR, prefer=prefer)

    assert (response.status, response.code) == (406, "PGRST116")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/buildings", NEW_BUILDING, 201),
        ("PATCH", "/inspections?id=eq.1", {"notes": "x"}, 204),
        ("DELETE", "/inspections?id=eq.1", None, 204),
    ],
)
def test_one_object_is_one_row_not_wanted_back(
    api: Callable, method: str, path: str, body: object, status: int
) -> None:
    response = api("root").send(method, path, body, accept=SINGULAR)

    assert (response.status, response.text) == (status, "")


MERGE = "resolution=merge-duplicates"
MERGED = {"id": 1, "name": "Merged", "client_id": 1}
FRESH = {"id": 600, "name": "Fresh", "client_id": 1}


@pytest.mark.parametrize("wanted", ["", ", return=minimal", ", return=representation"])
@pytest.mark.parametrize(
    ("body", "status"),
    [(MERGED, 200), ([MERGED, FRESH], 201), (FRESH, 201), ([], 200)],
    ids=["merged", "both", "made", "nothing"],
)
def test_upsert_that_made_no_row_is_200_wanted_back_or_not(
    api: Callable, body: object, status: int, wanted: str
) -> None:
    response = api("root").post("/buildings", body, prefer=MERGE + wanted)

    assert response.status == status


@pytest.mark.parametrize("body", [MERGED, FRESH, []], ids=["there", "made", "nothing"])
def test_upsert_that_ignores_what_is_there_is_201(api: Callable, body: object) -> None:
    response = api("root").post("/buildings", body, prefer="resolution=ignore-duplicates")

    assert (response.status, response.text) == (201, "")
