"""Lead inspections: readings, calibration checks, XRF instruments and details of buildings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from demo.visits import Row, Sampler
from models.vocabulary import (
    CHECK_RESULTS,
    COMPLETED,
    FAILED,
    HAZARD_CLASSES,
    LEAD,
    NEGATIVE,
    OCCUPANCIES,
    POSITIVE,
    SHEET,
    XRF,
)

PASS, FAIL = CHECK_RESULTS
GUNS = (20417, 20418, 31122, 40950)

ROOMS = ("Kitchen", "Living room", "Bedroom 1", "Bedroom 2", "Bathroom", "Hall", "Porch")
COMPONENTS = (
    ("Window sill", "wood"), ("Window sash", "wood"), ("Door frame", "wood"), ("Baseboard", "wood"),
    ("Wall", "plaster"), ("Ceiling", "drywall"), ("Radiator", "metal"), ("Railing", "metal"),
)  # fmt: skip
COLORS = ("white", "white", "beige", "green", "grey")
GOOD, LOW, BAD = (1.0, 1.1, 1.0), (0.9, 1.0, 1.0), (1.3, 1.3, 1.2)
MEANS: Final = {GOOD: (1.033, PASS), LOW: (0.967, PASS), BAD: (1.267, FAIL)}
START = 9
"""The hour of the first check. The readings follow every five minutes."""

EXAMPLE_CHECKS = (("14:00", GOOD), ("18:05", LOW), ("20:00", BAD), ("20:10", GOOD), ("20:40", GOOD))
EXAMPLE_READINGS = (
    ("14:10", 0.3, NEGATIVE), ("15:42", 1.0, POSITIVE), ("17:55", 1.4, POSITIVE), ("18:02", 0.2, NEGATIVE),
    ("18:20", 0.9, NEGATIVE), ("19:10", 2.6, POSITIVE),
)  # fmt: skip
REPEATED = {4: "20:15", 5: "20:20", 6: "20:25"}
"""The readings of the example that are taken again: one too long after its check, two before a check that failed."""


class LeadComposer:
    """Generates the rows of lead inspections.

    On the day of the newest failed one a check failed, and three readings were taken again. The newest completed one of
    another building has no last check, and its building no details. Both have an inspector.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.readings: list[Row] = []
        self.checks: list[Row] = []
        self.incomplete: Row = {}

    def compose(self, inspections: Sequence[Row]) -> None:
        finished = [each for each in inspections if is_finished(each)]
        assigned = [each for each in finished if each["inspector_id"] is not None and self.is_past(each)]
        example = newest(each for each in assigned if each["status"] == FAILED)
        others = [each for each in assigned if each["building_id"] != example.get("building_id")]
        self.incomplete = newest(each for each in others if each["status"] == COMPLETED)
        for inspection in finished:
            if inspection is example:
                self.inspect_as_example(inspection)
            else:
                self.inspect(inspection)

    def is_past(self, inspection: Row) -> bool:
        return date.fromisoformat(inspection["date_visited"]) < self.sampler.today

    def inspect(self, inspection: Row) -> None:
        """Add the readings of an inspection, and the checks before and after them."""
        gun_id = self.sampler.rng.choice(GUNS)
        results = self.results(is_failed=inspection["status"] == FAILED)
        self.add_check(inspection, gun_id, clock(0), GOOD)
        for number, result in enumerate(results, start=1):
            self.add_reading(inspection, gun_id, clock(number), number, result, self.value(result))
        if inspection is not self.incomplete:
            self.add_check(inspection, gun_id, clock(len(results) + 1), GOOD)

    def inspect_as_example(self, inspection: Row) -> None:
        """Add the readings and checks of a day on which a check failed."""
        for at, measured in EXAMPLE_CHECKS:
            self.add_check(inspection, GUNS[0], at, measured)
        for number, (at, value, result) in enumerate(EXAMPLE_READINGS, start=1):
            self.add_reading(inspection, GUNS[0], at, number, result, value)
        first = self.readings[-len(EXAMPLE_READINGS) :]
        for number, (repeated, at) in enumerate(REPEATED.items(), start=len(EXAMPLE_READINGS) + 1):
            again = {"id": len(self.readings) + 1, "reading_no": number, "taken_at": moment(inspection, at)}
            self.readings.append({**first[repeated - 1], **again})
            first[repeated - 1]["voided"] = f"Repeated as reading {number}"

    def results(self, *, is_failed: bool) -> Sequence[str]:
        """Return the results of readings. A failed lead inspection has a positive one; a completed one has none."""
        results = [NEGATIVE] * self.sampler.count(6, 18)
        if is_failed:
            for index in self.sampler.rng.sample(range(len(results)), self.sampler.count(1, 4)):
                results[index] = POSITIVE
        return results

    def value(self, result: str) -> float:
        low, high = {NEGATIVE: (1, 8), POSITIVE: (13, 64)}[result]
        return self.sampler.rng.randint(low, high) / 10

    def add_reading(self, inspection: Row, gun_id: int, at: str, number: int, result: str, value: float) -> None:
        component, substrate = self.sampler.rng.choice(COMPONENTS)
        self.readings.append({
            "id": len(self.readings) + 1, "inspection_id": inspection["id"], "gun_id": gun_id, "result": result,
            "reading_no": number, "taken_at": moment(inspection, at), "dwelling": f"{1 + number // 8}A",
            "room": self.sampler.rng.choice(ROOMS), "wall": self.sampler.rng.choice("ABCD"), "component": component,
            "substrate": substrate, "color": self.sampler.rng.choice(COLORS), "condition": "intact",
            "lead_mg_cm2": value, "qualifier": None, "method": XRF, "classification": result,
            "negative_below": 1.0, "positive_from": 1.0, "limits_from": SHEET, "lead_percent": None, "mode": None,
            "sample_no": None, "lab_name": None, "reported_on": None, "confirms_id": None, "time_is_by_order": False,
            "voided": None, "ref": None,
            "note": None, "updated_at": moment(inspection, at),
        })  # fmt: skip

    def add_check(self, inspection: Row, gun_id: int, at: str, measured: tuple[float, float, float]) -> None:
        first, second, third = measured
        mean, result = MEANS[measured]
        taken_at = moment(inspection, at)
        self.checks.append({
            "id": len(self.checks) + 1, "inspection_id": inspection["id"], "gun_id": gun_id, "taken_at": taken_at,
            "first": first, "second": second, "third": third, "mean": mean, "result": result, "check_low": 0.8,
            "check_high": 1.2, "ref": None, "note": None, "created_at": taken_at, "updated_at": taken_at,
            "voided": None,
        })  # fmt: skip

    def instruments(self, since: date) -> Iterator[Row]:
        """Yield the instruments, which all clients share."""
        for number, gun_id in enumerate(GUNS, start=1):
            made_at = self.sampler.moment(since, 9)
            yield {
                "id": number, "gun_id": gun_id, "client_id": None, "make": "Niton", "model": "XLp 300A",
                "serial": f"{24_000 + 31 * number}", "mode": "K+L standard", "sheet": "Niton XLp 300, edition 1",
                "sheet_on": "2004-09-24", "standard": 1.02, "check_low": 0.8, "check_high": 1.2, "check_minutes": 240,
                "negative_below": 1.0, "positive_from": 1.0, "serviced_on": self.sampler.day(-300).isoformat(),
                "service_due_on": self.sampler.day(20 * number).isoformat(),
                "leak_test_due_on": self.sampler.day(15 * number).isoformat(), "retired_on": None,
                "created_at": made_at, "updated_at": made_at,
            }  # fmt: skip

    def details(self, buildings: Sequence[Row], owners: Sequence[str]) -> Iterator[Row]:
        """Yield the details of the buildings, except that of the incomplete inspection."""
        for building in buildings:
            if building["id"] == self.incomplete.get("building_id"):
                continue
            yield {
                "building_id": building["id"], "year_built": self.sampler.rng.randint(1890, 1977),
                "parcel": f"{building['id']:03}-B-{self.sampler.rng.randint(1, 40):03}",
                "owner_name": owners[building["client_id"] - 1], "owner_address": building["address"],
                "owner_phone": "+1 207 555 0100", "child_occupied": self.sampler.rng.choice(OCCUPANCIES),
                "hazard_class": self.sampler.rng.choice(HAZARD_CLASSES), "closed_on": None, "hold_reason": None,
                "created_at": building["created_at"], "updated_at": building["created_at"],
            }  # fmt: skip


def is_finished(inspection: Row) -> bool:
    return inspection["inspection_type"] == LEAD and inspection["status"] in (COMPLETED, FAILED)


def newest(inspections: Iterable[Row]) -> Row:
    """Return the inspection that was visited last; an empty row if there is none."""
    return max(inspections, key=lambda each: each["date_visited"], default={})


def clock(number: int) -> str:
    """Return the time of a reading or check by its number."""
    minutes = 60 * START + 5 * number
    return f"{minutes // 60:02}:{minutes % 60:02}"


def moment(inspection: Row, at: str) -> str:
    return f"{inspection['date_visited']}T{at}:00+00:00"
