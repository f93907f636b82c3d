"""A lead inspection of client 1, an inspection of client 2, and XRF instruments: shared, and of each client."""

from collections.abc import Callable

from tests.inspections.case_world import case_rows, inspection, times

MOMENT = "2026-11-20T21:00:00+00:00"
DAY = "2026-11-20"
LEAD, OTHER_LEAD = 2000, 2001
"""Inspections: moe has a grant on the building of LEAD; OTHER_LEAD is of client 2."""

SHARED, BANDED, OWN, OTHERS, UNKNOWN = 20417, 30001, 30002, 30003, 99999
"""Numbers of instruments: of no client, of no client with two limits, of client 1, of client 2, and of none."""

RETURN = "return=representation"


def instrument(id_: int, gun_id: int, client_id: int | None = None, **values: object) -> dict:
    return {
        "id": id_, "gun_id": gun_id, "client_id": client_id, "make": "Niton", "model": "XLp 300A",
        "serial": f"S-{gun_id}", **times(), **values,
    }  # fmt: skip


def lead_rows() -> dict:
    rows = case_rows()
    rows["inspections"] += [
        inspection(LEAD, 1, "in_progress", DAY, inspection_type="lead"),
        inspection(OTHER_LEAD, 2, "in_progress", DAY, inspection_type="lead", inspector_id=2),
    ]
    rows["xrf_instruments"] = [
        instrument(1, SHARED),
        instrument(2, BANDED, negative_below=0.91, positive_from=1.2),
        instrument(3, OWN, 1, negative_below=0.5, positive_from=0.5, check_low=0.5, check_high=0.6, check_minutes=60),
        instrument(4, OTHERS, 2, negative_below=0.1, positive_from=0.1, check_low=0.1, check_high=0.2),
    ]
    rows["xrf_limits"] = [
        {"gun_id": BANDED, "substrate": "Brick", "negative_below": 0.4, "positive_from": 0.6, **times()}
    ]
    return rows


def at(clock: str) -> str:
    return f"{DAY}T{clock}:00+00:00"


WORKED_CHECKS = [
    (at("14:00"), (1.0, 1.1, 1.0), 1.033, "pass"),
    (at("18:05"), (0.9, 1.0, 1.0), 0.967, "pass"),
    (at("20:00"), (1.3, 1.3, 1.2), 1.267, "fail"),
]
WORKED_READINGS = [
    (1, at("14:10"), "Wood", 0.3, "negative", "valid"),
    (2, at("15:42"), "wood", 1.0, "positive", "valid"),
    (3, at("17:55"), "wood", 1.4, "positive", "valid"),
    (4, at("18:02"), "wood", 0.2, "negative", "late"),
    (5, at("18:20"), "wood", 0.9, "negative", "doubtful"),
    (6, at("19:10"), "wood", 2.6, "positive", "doubtful"),
]
"""The worked example: gun SHARED, with the time limit of 240 minutes."""


def check(clock: str, values: tuple[float, float, float], **more: object) -> dict:
    first, second, third = values
    return {
        "inspection_id": LEAD, "gun_id": SHARED, "taken_at": clock, "first": first, "second": second, "third": third,
        **more,
    }  # fmt: skip


def worked_checks() -> list[dict]:
    return [check(clock, values) for clock, values, _, _ in WORKED_CHECKS]


def worked_readings() -> list[dict]:
    return [
        {
            "inspection_id": LEAD, "gun_id": SHARED, "reading_no": number, "taken_at": clock, "substrate": substrate,
            "component": "sill" if number % 2 else "door", "lead_mg_cm2": value,
        }
        for number, clock, substrate, value, _, _ in WORKED_READINGS
    ]  # fmt: skip


def make(api: Callable, table: str, body: object, who: str = "ada", **options: object) -> list[dict]:
    """Post rows and return them."""
    made = api(who).post(f"/{table}", body, prefer=RETURN, **options)
    assert made.status == 201, made.text
    rows: list[dict] = made.json
    return rows


def reading(value: float | None = None, gun_id: int | None = SHARED, **more: object) -> dict:
    return {"inspection_id": LEAD, "gun_id": gun_id, "lead_mg_cm2": value, **more}


def stored(api: Callable, table: str, id_: int) -> dict:
    [row] = api("root").get(f"/{table}?id=eq.{id_}").json
    return row
