"""Who reads and writes XRF instruments and their limits."""

from collections.abc import Callable

import pytest

from tests.conftest import privilege
from tests.inspections.case_world import times
from tests.inspections.lead_world import (
    BANDED,
    LEAD,
    MOMENT,
    OTHER_LEAD,
    OTHERS,
    OWN,
    SHARED,
    check,
    instrument,
    lead_rows,
    make,
    reading,
)


def limited_rows() -> dict:
    """Return the rows with one limit for each instrument."""
    rows = lead_rows()
    rows["xrf_limits"] = [
        {"gun_id": gun_id, "substrate": "wood", "negative_below": 1, "positive_from": 1, **times()}
        for gun_id in (SHARED, BANDED, OWN, OTHERS)
    ]
    return rows


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(limited_rows(), MOMENT)


def guns(lead: Callable, who: str, table: str) -> list[int]:
    return [each["gun_id"] for each in lead(who).get(f"/{table}?order=gun_id").json]


tables = pytest.mark.parametrize("table", ["xrf_instruments", "xrf_limits"])


@tables
@pytest.mark.parametrize(
    ("who", "visible"),
    [
        ("root", [SHARED, BANDED, OWN, OTHERS]),
        ("ada", [SHARED, BANDED, OWN]),
        ("bob", [SHARED, BANDED, OTHERS]),
        ("moe", []),
        ("mia", []),
        ("max", []),
    ],
)
def test_instruments_of_other_clients_and_unused_ones_are_hidden(
    lead: Callable, table: str, who: str, visible: list
) -> None:
    assert guns(lead, who, table) == visible


@tables
@pytest.mark.parametrize("made_by", ["reports_lead", "calibration_checks"])
def test_manager_reads_the_instruments_used_in_a_visible_inspection(lead: Callable, table: str, made_by: str) -> None:
    """The number of an instrument of another client, which a reading may name, shows nothing of it."""
    for gun_id in (SHARED, OWN, OTHERS):
        body = reading(0.3, gun_id) if made_by == "reports_lead" else check(MOMENT, (1.0, 1.0, 1.0), gun_id=gun_id)
        make(lead, made_by, body)

    assert {who: guns(lead, who, table) for who in ("moe", "mia", "max")} == {
        "moe": [SHARED, OWN],
        "mia": [SHARED, OWN],
        "max": [],
    }


@tables
def test_own_instrument_named_in_an_inspection_of_another_client_stays_hidden(lead: Callable, table: str) -> None:
    lead("root").patch("/inspectors?id=eq.2", {"user_id": None})
    lead("root").patch(f"/inspections?id=eq.{OTHER_LEAD}", {"inspector_id": 1})
    make(lead, "reports_lead", {**reading(0.3, OWN), "inspection_id": OTHER_LEAD}, "bob")

    assert guns(lead, "mia", table) == []


CHANGES = {"xrf_instruments": {"mode": "K"}, "xrf_limits": {"negative_below": 0.5}}


@tables
@pytest.mark.parametrize(("who", "written"), [("root", {SHARED, OWN, OTHERS}), ("ada", {OWN}), ("bob", {OTHERS})])
def test_admin_writes_the_instruments_of_their_client(lead: Callable, table: str, who: str, written: set) -> None:
    for gun_id in (SHARED, OWN, OTHERS):
        changed = lead(who).patch(f"/{table}?gun_id=eq.{gun_id}", CHANGES[table], prefer="return=representation")
        assert (changed.status, len(changed.json)) == (200, int(gun_id in written))
    for gun_id in (SHARED, OWN, OTHERS):
        removed = lead(who).delete(f"/xrf_limits?gun_id=eq.{gun_id}", prefer="return=representation")
        assert len(removed.json) == int(gun_id in written)


@pytest.mark.parametrize("client_id", [None, 2])
def test_client_admin_makes_instruments_of_their_client_only(lead: Callable, client_id: int | None) -> None:
    body = instrument(99, 40001, client_id)
    for name in ("id", "created_at", "updated_at"):
        del body[name]

    refused = lead("ada").post("/xrf_instruments", body)

    assert (refused.status, refused.code) == (403, "42501") if client_id else refused.status in (400, 403)
    make(lead, "xrf_instruments", {**body, "client_id": 1})


@pytest.mark.parametrize("gun_id", [SHARED, OTHERS, 40_001])
def test_limit_of_an_instrument_that_is_not_theirs_is_refused_as_for_a_missing_one(lead: Callable, gun_id: int) -> None:
    body = {"substrate": "tile", "negative_below": 1, "positive_from": 1}

    refused = lead("ada").post("/xrf_limits", {**body, "gun_id": gun_id})

    assert (refused.status, refused.code) == (403, "42501")
    assert refused.message == 'new row violates row-level security policy for table "xrf_limits"'
    make(lead, "xrf_limits", {**body, "gun_id": OWN})


@tables
@pytest.mark.parametrize("who", ["moe", "mia", "max"])
def test_managers_write_none(lead: Callable, table: str, who: str) -> None:
    make(lead, "reports_lead", reading(0.3))

    assert lead(who).patch(f"/{table}?gun_id=eq.{SHARED}", CHANGES[table]).refusal == privilege(table)


def test_inspector_writes_the_checks_of_own_visits_only(lead: Callable) -> None:
    make(lead, "calibration_checks", check(MOMENT, (1.0, 1.0, 1.0)), "mia")

    other = lead("mia").post("/calibration_checks", check(MOMENT, (1.0, 1.0, 1.0), inspection_id=OTHER_LEAD))
    unlinked = lead("moe").post("/calibration_checks", check(MOMENT, (1.0, 1.0, 1.0)))

    assert other.code == "42501"
    assert unlinked.refusal == privilege("calibration_checks")
    assert LEAD in [each["inspection_id"] for each in lead("moe").get("/calibration_checks").json]
