"""Attack catalogue, group W, from W13: cascades, written values and users. Marks name the entries."""

import json
from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MOE, ROOT, ids, rule
from tests.contract.test_attacks_writes import NEW_BUILDING, NEW_INSPECTION, unchanged_after


@pytest.mark.parametrize("path", ["/buildings?id=eq.1", "/clients?id=eq.1", "/clients?id=eq.2"])
@pytest.mark.attack(entry="W13")
def test_referenced_row_is_not_deleted(api: Callable, path: str) -> None:
    response = unchanged_after(api, "root", "DELETE", path)

    assert (response.status, response.code) == (409, "23503")


# path, then the paths whose rows go with it, and those whose rows stay
TO_MANAGERS = "/client_manager_building_access"
CASCADES = [
    (
        "/inspections?id=eq.3",
        ("/client_admin_inspection_access", "/client_manager_inspection_access"),
        ("/buildings?id=eq.2", "/inspectors?id=eq.1"),
    ),
    ("/inspections?id=eq.2", ("/reports_lead?inspection_id=eq.2",), ("/buildings?id=eq.1", "/reports_lead?id=eq.3")),
    (
        f"/users?id=eq.{MOE}",
        (f"{TO_MANAGERS}?manager_id=eq.{MOE}", "/client_manager_inspection_access"),
        (f"{TO_MANAGERS}?manager_id=eq.{MAX}", "/clients?id=eq.1"),
    ),
    (
        f"/users?id=eq.{BOB}",
        ("/client_admin_inspection_access",),
        (f"{TO_MANAGERS}?manager_id=eq.{MAX}&assigned_by=is.null",),
    ),
    (
        "/inspectors?id=eq.3",
        ("/inspections?inspector_id=eq.3",),
        ("/inspections?id=eq.5&inspector_id=is.null", "/inspections?id=eq.6&inspector_id=is.null"),
    ),
]


@pytest.mark.parametrize(("path", "gone", "kept"), CASCADES, ids=[path for path, _, _ in CASCADES])
@pytest.mark.attack(entry="W13")
def test_deletion_cascades_exactly(api: Callable, path: str, gone: tuple, kept: tuple) -> None:
    response = api("root").delete(path)

    assert response.status == 204
    assert [api("root").get(other).json for other in (path, *gone)] == [[]] * (1 + len(gone))
    assert [len(api("root").get(other).json) for other in kept] == [1] * len(kept)


@pytest.mark.attack(entry="W14")
def test_moved_building_loses_the_old_clients_grants(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MAX, "building_id": 1})

    api("root").patch("/buildings?id=eq.1", {"client_id": 2})

    assert api("moe").get("/buildings").json == []
    assert ids(api("max").get("/buildings?select=id")) == {1, 4}
    assert ids(api("ada").get("/buildings?select=id")) == {2, 3, 5, 6}


@pytest.mark.attack(entry="W14")
def test_moved_inspection_loses_the_old_clients_grants(api: Callable) -> None:
    api("root").patch("/inspections?id=eq.3", {"building_id": 5})

    assert ids(api("moe").get("/inspections?select=id")) == {1, 2, 9}
    assert ids(api("bob").get("/inspections?select=id")) == {3, 6, 7, 8}
    assert api("root").get("/client_manager_inspection_access").json == []
    assert len(api("root").get("/client_admin_inspection_access").json) == 1


@pytest.mark.parametrize(
    "change",
    [{"role": "client_admin"}, {"client_id": 2}, {"role": "super_admin", "client_id": None}],
    ids=["role", "client", "both"],
)
@pytest.mark.attack(entry="W15")
def test_changed_user_loses_grants_and_token(api: Callable, change: dict) -> None:
    api("root").patch(f"/users?id=eq.{MOE}", change)

    refused = api("moe").get("/inspections")
    assert (refused.status, refused.code) == (401, "PGRST303")
    for table in ("client_manager_building_access", "client_manager_inspection_access"):
        assert api("root").get(f"/{table}?manager_id=eq.{MOE}").json == []


ROLLED_BACK = [
    ("POST", "/buildings", NEW_BUILDING),
    ("PATCH", "/buildings?id=eq.1", {"client_id": 2}),
    ("PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}),
    ("DELETE", f"/users?id=eq.{MOE}", None),
    ("DELETE", "/inspections?id=eq.2", None),
    ("DELETE", "/inspectors?id=eq.3", None),
    ("PUT", "/buildings?id=eq.700", {"id": 700, **NEW_BUILDING}),
]


@pytest.mark.parametrize(("method", "path", "body"), ROLLED_BACK, ids=[f"{m} {p}" for m, p, _ in ROLLED_BACK])
@pytest.mark.attack(entry="W18")
def test_rolled_back_write_responds_and_stores_nothing(
    api: Callable, method: str, path: str, body: dict | None
) -> None:
    response = unchanged_after(api, "root", method, path, body, prefer="return=representation, tx=rollback")

    assert response.status in (200, 201)
    assert len(response.json) == 1
    assert "tx=rollback" in response.headers["Preference-Applied"]
    assert api("moe").get("/buildings").status == 200


# ── W19-W24: values and people ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    ['"a\\u0000b"', '"\\ud800"', '"\\udc00x"', json.dumps("x" * 65537), json.dumps("é" * 40000)],
    ids=["nul", "high-surrogate", "low-surrogate", "64KiB+1", "64KiB-of-two-byte-letters"],
)
@pytest.mark.attack(entry="W19")
def test_text_that_cannot_be_stored_is_refused(api: Callable, text: str) -> None:
    body = f'{{"building_id": 1, "inspection_type": "x", "notes": {text}}}'

    response = unchanged_after(api, "ada", "POST", "/inspections", body)

    assert response.status == 400


@pytest.mark.parametrize(
    "text",
    ["x" * 65536, "\u202eabc\u202c", "\x1b[31m", "a\r\nb\tc", " x ", "", "🏢", "' OR 1=1 --", "\x7f"],
    ids=["64KiB", "bidi", "escape", "lines", "blanks", "empty", "astral", "quote", "delete"],
)
@pytest.mark.attack(entry="W19")
def test_any_other_text_is_stored_as_given(api: Callable, text: str) -> None:
    response = api("ada").post(
        "/inspections?select=notes", {**NEW_INSPECTION, "notes": text}, prefer="return=representation"
    )

    assert (response.status, response.json) == (201, [{"notes": text}])


@pytest.mark.parametrize("value", [5, 1.5, True, False, [], ["x"], {}, {"a": 1}], ids=repr)
@pytest.mark.attack(entry="W19")
def test_text_takes_strings_only(api: Callable, value: object) -> None:
    body = {**NEW_INSPECTION, "notes": value}

    response = unchanged_after(api, "ada", "POST", "/inspections", body)

    assert (response.status, response.code) == (400, "22P02")


DATES = [
    ("2026-02-30", "22008"),
    ("2025-02-29", "22008"),
    ("2026-13-01", "22008"),
    ("20260230", "22008"),
    ("2026-W01-1", "22007"),
    ("2026-001", "22007"),
    ("01/02/2026", "22007"),
    ("2026-1-32", "22008"),
    ("yesterday", "22007"),
    ("now", "22007"),
    ("0000-01-01", "22008"),
    ("", "22007"),
]


@pytest.mark.parametrize(("value", "code"), DATES)
@pytest.mark.attack(entry="W20")
def test_date_is_iso_and_exists(api: Callable, value: str, code: str) -> None:
    body = {**NEW_INSPECTION, "date_visited": value}

    response = unchanged_after(api, "ada", "POST", "/inspections", body)

    assert (response.status, response.code) == (400, code)


@pytest.mark.parametrize("value", ["2024-02-29", "2026-12-31", "1999-01-01"])
@pytest.mark.attack(entry="W20")
def test_existing_date_is_stored(api: Callable, value: str) -> None:
    response = api("ada").post(
        "/inspections?select=date_visited", {**NEW_INSPECTION, "date_visited": value}, prefer="return=representation"
    )

    assert response.json == [{"date_visited": value}]


# id, JSON text of the value, code
NUMBERS = [
    ("fraction", "1.9", "22P02"),
    ("underscore", '"1_000"', "22P02"),
    ("full-width", '"１２"', "22P02"),
    ("true", "true", "22P02"),
    ("array", "[1]", "22P02"),
    ("object", "{}", "22P02"),
    ("text", '"many"', "22P02"),
    ("exponent", "1e308", "22P02"),
    ("10^30", "1" + "0" * 30, "22003"),
    ("2^31", "2147483648", "22003"),
    ("-2^31-1", "-2147483649", "22003"),
    ("nan", "NaN", "PGRST102"),
    ("infinity", "Infinity", "PGRST102"),
    ("minus-infinity", "-Infinity", "PGRST102"),
]


@pytest.mark.parametrize(("text", "code"), [line[1:] for line in NUMBERS], ids=[line[0] for line in NUMBERS])
@pytest.mark.attack(entry="W21")
def test_integer_is_an_integer(api: Callable, text: str, code: str) -> None:
    body = f'{{"name": "N", "client_id": 1, "floors": {text}}}'

    response = unchanged_after(api, "ada", "POST", "/buildings", body)

    assert (response.status, response.code) == (400, code)


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 0])
@pytest.mark.attack(entry="W21")
def test_integer_within_its_range_is_stored(api: Callable, value: int) -> None:
    body = {"inspection_id": 1, "gun_id": value}

    response = api("ada").post("/reports_lead?select=gun_id", body, prefer="return=representation")

    assert response.json == [{"gun_id": value}]


@pytest.mark.parametrize("value", [0.1, 42.123456789012345, -71.05, 1e-300, 89.99999999999999, 5e-324])
@pytest.mark.attack(entry="W21")
def test_double_round_trips_exactly(api: Callable, value: float) -> None:
    response = api("ada").post(
        "/buildings?select=latitude", {**NEW_BUILDING, "latitude": value}, prefer="return=representation"
    )

    assert response.json == [{"latitude": value}]


@pytest.mark.parametrize("value", [2**63 - 1, 2**53, 2**52 + 1, 0, -1], ids=["2^63-1", "2^53", "2^52+1", "0", "-1"])
@pytest.mark.attack(entry="W22")
def test_id_out_of_range_is_refused_without_effect(api: Callable, value: int) -> None:
    response = unchanged_after(api, "root", "POST", "/buildings", {"id": value, **NEW_BUILDING})

    assert (response.status, response.code) == (400, "22003")
    assert api("ada").post("/buildings", NEW_BUILDING).status == 201


@pytest.mark.parametrize("value", [7, 2**52], ids=["7", "2^52"])
@pytest.mark.attack(entry="W22")
def test_id_within_range_is_accepted_and_sequence_continues(api: Callable, value: int) -> None:
    api("root").post("/buildings", {"id": value, **NEW_BUILDING})

    response = api("ada").post("/buildings?select=id", NEW_BUILDING, prefer="return=representation")

    assert response.json == [{"id": value + 1}]


def user(**more: object) -> dict:
    return {"email": "new@x.example", "name": "New", "role": "client_manager", "client_id": 1, **more}


@pytest.mark.parametrize(
    "body",
    [
        user(role="client_admin"),
        user(role="super_admin", client_id=None),
        user(role="super_admin"),
        user(client_id=2),
        {"email": "new@x.example", "name": "New"},
    ],
    ids=["client-admin", "super-admin", "super-admin-of-client", "other-client", "neither"],
)
@pytest.mark.attack(entry="W23")
def test_admin_creates_own_managers_only(api: Callable, body: dict) -> None:
    response = unchanged_after(api, "ada", "POST", "/users", body)

    assert response.refusal == rule("users")


@pytest.mark.parametrize(
    "change", [{"role": "client_admin"}, {"role": "super_admin", "client_id": None}, {"client_id": 2}]
)
@pytest.mark.attack(entry="W23")
def test_admin_promotes_no_user(api: Callable, change: dict) -> None:
    response = unchanged_after(api, "ada", "PATCH", f"/users?id=eq.{MOE}", change)

    assert response.refusal == rule("users")


@pytest.mark.parametrize("whom", [BOB, ROOT, ADA], ids=["bob", "root", "herself"])
@pytest.mark.parametrize("change", [{"name": "x"}, {"role": "client_manager"}, {"client_id": 1}])
@pytest.mark.attack(entry="W23")
def test_admin_changes_no_foreign_user(api: Callable, whom: str, change: dict) -> None:
    response = unchanged_after(api, "ada", "PATCH", f"/users?id=eq.{whom}", change, prefer="return=representation")

    assert (response.status, response.json) == (200, [])


@pytest.mark.parametrize("who", ["root", "service"])
@pytest.mark.parametrize(("method", "body"), [("DELETE", None), ("PATCH", {"role": "client_admin", "client_id": 1})])
@pytest.mark.attack(entry="W24")
def test_last_super_admin_stays(api: Callable, who: str, method: str, body: dict | None) -> None:
    response = unchanged_after(api, who, method, f"/users?id=eq.{ROOT}", body)

    assert (response.status, response.code) == (400, "23514")
