"""Lead inspections: readings, calibration checks, XRF instruments and details of buildings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from demo.sampler import Row, Sampler
from models.vocabulary import (
    CHECK_RESULTS,
    COMPLETED,
    FAILED,
    HAZARD_CLASSES,
    INCONCLUSIVE,
    LEAD,
    NEGATIVE,
    OCCUPANCIES,
    POSITIVE,
    XRF,
)

PASS, FAIL = CHECK_RESULTS
GUNS = (20417, 20418, 31122, 40950)
BANDED = GUNS[-1]
"""The instrument with inconclusive values: those from 0.91 to less than 1.2."""

ROOMS = ("Kitchen", "Living room", "Bedroom 1", "Bedroom 2", "Bathroom", "Hall", "Porch")
COMPONENTS = (
    ("Window sill", "wood"), ("Window sash", "wood"), ("Door frame", "wood"), ("Baseboard", "wood"),
    ("Wall", "plaster"), ("Ceiling", "drywall"), ("Radiator", "metal"), ("Railing", "metal"),
)  # fmt: skip
COLORS = ("white", "white", "beige", "green", "grey")
GOOD, BAD = (1.0, 1.1, 1.0), (1.3, 1.3, 1.2)
MEANS: Final = {GOOD: (1.033, PASS), BAD: (1.267, FAIL)}
START = 9
"""The hour of the first check. The readings follow every five minutes."""


class LeadComposer:
    """Generates the rows of lead inspections.

    The last check of the newest failed one failed. The newest completed one has no last check, and its building no
    details.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.readings: list[Row] = []
        self.checks: list[Row] = []

    def compose(self, inspections: Sequence[Row]) -> None:
        finished = [each for each in inspections if is_finished(each)]
        newest = {each["status"]: each["id"] for each in sorted(finished, key=lambda each: each["date_visited"])}
        for inspection in finished:
            is_newest = newest[inspection["status"]] == inspection["id"]
            self.inspect(inspection, is_newest=is_newest)

    def inspect(self, inspection: Row, *, is_newest: bool) -> None:
        """Add the readings of an inspection, and the checks before and after them."""
        gun_id, day = self.sampler.rng.choice(GUNS), date.fromisoformat(inspection["date_visited"])
        results = self.results(is_failed=inspection["status"] == FAILED, is_banded=gun_id == BANDED)
        self.add_check(inspection, gun_id, day, 0, GOOD)
        for number, result in enumerate(results, start=1):
            self.add_reading(inspection, gun_id, day, number, result)
        if inspection["status"] == COMPLETED and is_newest:
            return
        measured = BAD if is_newest else GOOD
        self.add_check(inspection, gun_id, day, len(results) + 1, measured)

    def results(self, *, is_failed: bool, is_banded: bool) -> Sequence[str]:
        """Return the results of readings. A failed lead inspection has a positive one; a completed one has none."""
        choice = self.sampler.weighted_choice
        results = [choice(negative=95, inconclusive=5 if is_banded else 0) for _ in range(self.sampler.count(6, 18))]
        if is_failed:
            for index in self.sampler.rng.sample(range(len(results)), self.sampler.count(1, 4)):
                results[index] = POSITIVE
        return results

    def value(self, result: str) -> float:
        low, high = {NEGATIVE: (1, 8), INCONCLUSIVE: (10, 11), POSITIVE: (13, 64)}[result]
        return self.sampler.rng.randint(low, high) / 10

    def add_reading(self, inspection: Row, gun_id: int, day: date, number: int, result: str) -> None:
        component, substrate = self.sampler.rng.choice(COMPONENTS)
        self.readings.append({
            "id": len(self.readings) + 1, "inspection_id": inspection["id"], "gun_id": gun_id, "result": result,
            "reading_no": number, "taken_at": moment(day, number), "dwelling": f"{1 + number // 8}A",
            "room": self.sampler.rng.choice(ROOMS), "wall": self.sampler.rng.choice("ABCD"), "component": component,
            "substrate": substrate, "color": self.sampler.rng.choice(COLORS), "condition": "intact",
            "lead_mg_cm2": self.value(result), "qualifier": None, "method": XRF, "classification": result,
            "voided": None, "ref": None, "note": None,
        })  # fmt: skip

    def add_check(
        self, inspection: Row, gun_id: int, day: date, number: int, measured: tuple[float, float, float]
    ) -> None:
        first, second, third = measured
        mean, result = MEANS[measured]
        at = moment(day, number)
        self.checks.append({
            "id": len(self.checks) + 1, "inspection_id": inspection["id"], "gun_id": gun_id, "taken_at": at,
            "first": first, "second": second, "third": third, "mean": mean, "result": result, "check_low": 0.8,
            "check_high": 1.2, "ref": None, "note": None, "created_at": at, "updated_at": at,
        })  # fmt: skip

    def instruments(self, since: date) -> Iterator[Row]:
        """Yield the instruments, which all clients share."""
        for number, gun_id in enumerate(GUNS, start=1):
            made_at = self.sampler.moment(since, 9)
            low, high = (0.91, 1.2) if gun_id == BANDED else (1.0, 1.0)
            yield {
                "id": number, "gun_id": gun_id, "client_id": None, "make": "Niton", "model": "XLp 300A",
                "serial": f"{24_000 + 31 * number}", "mode": "K+L standard", "sheet": "Niton XLp 300, edition 1",
                "sheet_on": "2004-09-24", "standard": 1.02, "check_low": 0.8, "check_high": 1.2, "check_minutes": 240,
                "negative_below": low, "positive_from": high, "serviced_on": self.sampler.day(-300).isoformat(),
                "service_due_on": self.sampler.day(20 * number).isoformat(),
                "leak_test_due_on": self.sampler.day(45 * number - 60).isoformat(), "retired_on": None,
                "created_at": made_at, "updated_at": made_at,
            }  # fmt: skip

    def limits(self, since: date) -> Iterator[Row]:
        """Yield the other limits of an instrument on metal."""
        made_at = self.sampler.moment(since, 9)
        limits = {"negative_below": 0.81, "positive_from": 1.21}
        yield {"gun_id": BANDED, "substrate": "tile", **limits, "created_at": made_at, "updated_at": made_at}

    def details(self, buildings: Sequence[Row], inspections: Sequence[Row], owners: Sequence[str]) -> Iterator[Row]:
        """Yield the details of the buildings, except that of the newest completed lead inspection."""
        completed = [each for each in inspections if is_finished(each) and each["status"] == COMPLETED]
        newest = max(completed, key=lambda each: each["date_visited"], default=None)
        for building in buildings:
            if newest is not None and building["id"] == newest["building_id"]:
                continue
            yield {
                "building_id": building["id"], "year_built": self.sampler.rng.randint(1890, 1977),
                "parcel": f"{building['id']:03}-B-{self.sampler.rng.randint(1, 40):03}",
                "owner_name": owners[building["client_id"] - 1], "owner_address": building["address"],
                "owner_phone": "+1 207 555 0100", "child_occupied": self.sampler.rng.choice(OCCUPANCIES),
                "hazard_class": self.sampler.rng.choice(HAZARD_CLASSES),
                "created_at": building["created_at"], "updated_at": building["created_at"],
            }  # fmt: skip


def is_finished(inspection: Row) -> bool:
    return inspection["inspection_type"] == LEAD and inspection["status"] in (COMPLETED, FAILED)


def moment(day: date, number: int) -> str:
    """Return the time of a reading or check of a day, by its number."""
    minutes = 60 * START + 5 * number
    return f"{day.isoformat()}T{minutes // 60:02}:{minutes % 60:02}:00+00:00"
