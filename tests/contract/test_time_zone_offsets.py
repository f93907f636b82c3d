"""Numeric offsets in `Prefer: timezone`, as PostgreSQL's setting takes them: hours east, hours with minutes west."""

from collections.abc import Callable

import pytest

MOMENT = "2025-01-01T00:00:00Z"
OFFSETS = [
    ("-4", "2024-12-31T20:00:00-04:00"),
    ("5", "2025-01-01T05:00:00+05:00"),
    ("+5.5", "2025-01-01T05:30:00+05:30"),
    ("+05:30", "2024-12-31T18:30:00-05:30"),
    ("-05:30", "2025-01-01T05:30:00+05:30"),
    ("+00:00", "2025-01-01T00:00:00+00:00"),
    ("15:59", "2024-12-31T08:01:00-15:59"),
]


@pytest.mark.parametrize(("offset", "printed"), OFFSETS)
def test_offset_is_a_time_zone(api: Callable, offset: str, printed: str) -> None:
    path, root = "/inspections?id=eq.2", api("root")
    assert root.patch(path, {"created_at": MOMENT}).status == 204

    response = root.get(f"{path}&select=created_at,day:created_at::date", prefer=f"timezone={offset}")

    assert (response.status, response.json) == (200, [{"created_at": printed, "day": printed[:10]}])
    assert response.headers["Preference-Applied"] == f"timezone={offset}"


@pytest.mark.parametrize(("offset", "printed"), OFFSETS)
def test_time_without_an_offset_is_local(api: Callable, offset: str, printed: str) -> None:
    path, root, local = "/inspections?id=eq.2", api("root"), printed[:19]
    assert root.patch(path, {"created_at": local}, prefer=f"timezone={offset}").status == 204

    assert root.get(f"{path}&select=created_at").json == [{"created_at": "2025-01-01T00:00:00+00:00"}]
    found = root.get(f"{path}&created_at=eq.{local}&select=id", prefer=f"timezone={offset}")
    assert found.json == [{"id": 2}]


@pytest.mark.parametrize("offset", ["+16:00", "168", "+0530", "<+05>-5", "UTC+3", "1e1", "9" * 5_000])
def test_other_offset_is_refused(api: Callable, offset: str) -> None:
    response = api("ada").get("/inspections?limit=1", prefer=f"timezone={offset}")

    assert (response.status, response.code) == (400, "22023")
