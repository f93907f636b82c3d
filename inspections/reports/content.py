"""What a report of an inspection says, as plain data. Its JSON and its page have the same content."""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from inspections.deadlines import days_late
from inspections.lead.assessment import (
    CONFLICT,
    DOUBTFUL,
    INVALID,
    LATE,
    NO_CHECK,
    NO_VALUE,
    OTHER_STANDARD,
    OUT_OF_SERVICE,
    OUTSIDE_VISIT,
    UNCONFIRMED,
    UNDECIDED,
    UNKNOWN_GUN,
    Assessed,
)
from inspections.lead.classification import Standard, grade, gravest
from models.finding_move import FINDING_STATUSES
from models.vocabulary import INCONCLUSIVE, OPEN, POSITIVE, READING_METHODS, REPORT_KINDS, SEVERITIES, XRF

Part = TypeVar("Part")
Row = Mapping[str, Any]

LEAD_REPORT, FINDINGS_REPORT = REPORT_KINDS

REMARKS: Final[Mapping[str, str]] = {
    NO_CHECK: "No passed calibration check before it",
    LATE: "Too long after the calibration check before it",
    DOUBTFUL: "The calibration check after it failed",
    UNCONFIRMED: "No calibration check after it yet",
}
"""By validity of a reading: what the report says beside it. A valid reading has no remark."""

DOUBT_REMARKS: Final[Mapping[str, str]] = {
    UNKNOWN_GUN: "Not compared with the limits of its instrument",
    CONFLICT: "The stated result differs from the value",
    UNDECIDED: "Inconclusive: counts as positive until it is decided",
    OTHER_STANDARD: "Compared with limits of another standard",
    OUT_OF_SERVICE: "The instrument was retired, or its service or leak test overdue",
    OUTSIDE_VISIT: "Taken more than a day from the visit",
    NO_VALUE: "No value",
}
"""By doubt of a reading: what the report says beside it."""

BY_ORDER: Final = "Time by the order of the file"


@dataclass(frozen=True, slots=True)
class ReportedVisit:
    id: int
    inspection_type: str | None
    date_visited: str | None
    status: str | None
    notes: str | None


@dataclass(frozen=True, slots=True)
class ReportedBuilding:
    """The building and its details. A caller who does not see it reads nulls."""

    id: int | None
    name: str | None
    address: str | None
    city: str | None
    state: str | None
    zip: str | None
    units: int | None
    year_built: int | None
    parcel: str | None
    child_occupied: str | None


@dataclass(frozen=True, slots=True)
class ReportedOwner:
    """The owner of the building's details, or else its client."""

    name: str | None
    address: str | None
    phone: str | None


@dataclass(frozen=True, slots=True)
class ReportedInspector:
    name: str | None
    license: str | None
    license_state: str | None
    license_expires_on: str | None
    firm: str | None
    firm_address: str | None
    firm_phone: str | None
    firm_certificate: str | None


@dataclass(frozen=True, slots=True)
class ReportedLimit:
    """Limits in mg/cm² that readings of an instrument in a mode were compared with, and the substrates of these."""

    mode: str | None
    substrates: tuple[str, ...]
    negative_below: float
    positive_from: float
    limits_from: str


@dataclass(frozen=True, slots=True)
class ReportedInstrument:
    """An XRF instrument that a reading or a check names. An unknown one has its number and its limits only.

    The limits are those that its readings keep, so that a later change of the instrument changes no report.
    """

    gun_id: int
    make: str | None
    model: str | None
    serial: str | None
    mode: str | None
    sheet: str | None
    sheet_on: str | None
    check_minutes: int | None
    limits: tuple[ReportedLimit, ...]


@dataclass(frozen=True, slots=True)
class ReportedCheck:
    """A calibration check: three readings of the standard, their mean, and the limits of that moment."""

    id: int
    gun_id: int
    taken_at: str
    first: float
    second: float
    third: float
    mean: float
    check_low: float | None
    check_high: float | None
    result: str
    note: str | None
    voided: str | None

    @property
    def counts(self) -> bool:
        return not self.voided


@dataclass(frozen=True, slots=True)
class ReportedReading:
    """A reading. `counts` is false for one that is void or not valid. `remark` says why, or what is still open.

    `result` is the one that counts, by the value, the stated result, and the readings that confirm it.
    `confirmed_by` has the ids of these, without void ones.
    """

    id: int
    reading_no: int | None
    taken_at: str | None
    gun_id: int | None
    method: str
    dwelling: str | None
    room: str | None
    wall: str | None
    component: str | None
    substrate: str | None
    color: str | None
    condition: str | None
    mode: str | None
    lead_mg_cm2: float | None
    lead_percent: float | None
    qualifier: str | None
    classification: str | None
    negative_below: float | None
    positive_from: float | None
    limits_from: str | None
    sample_no: str | None
    lab_name: str | None
    reported_on: str | None
    confirms_id: int | None
    confirmed_by: tuple[int, ...]
    time_is_by_order: bool
    result: str | None
    voided: str | None
    note: str | None
    validity: str | None
    doubts: tuple[str, ...]
    counts: bool
    remark: str | None

    @property
    def is_positive(self) -> bool:
        """Whether the front of the report lists it: a positive reading that is not void, valid or not.

        An inconclusive reading counts as positive until it is decided.
        """
        return self.result in (POSITIVE, INCONCLUSIVE) and self.voided is None


@dataclass(frozen=True, slots=True)
class ReportedFile:
    """A photograph or document, and the hash of its bytes. `taken_at` is the local time of the camera."""

    id: str
    bucket: str
    name: str
    mimetype: str
    size: int
    sha256: str
    width: int | None
    height: int | None
    taken_at: str | None
    caption: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding of the case. `is_late`: it is open after its deadline.

    `days_late` counts the begun days from the deadline to the correction, and to now while the finding is open.
    """

    id: int
    inspection_id: int
    place: str | None
    item: str | None
    code: str | None
    description: str
    severity: str
    status: str
    found_at: str
    due_at: str | None
    fixed_at: str | None
    days_late: int | None
    closed_at: str | None
    created_at: str
    is_late: bool
    files: tuple[ReportedFile, ...]


@dataclass(frozen=True, slots=True)
class FindingsOfSeverity:
    severity: str
    findings: tuple[ReportedFinding, ...]


@dataclass(frozen=True, slots=True)
class ReportGap:
    """What the rule requires and the report lacks: a code for programs, and words."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class InspectionReport:
    """What every report has. `made_on` is today, and `files` are those of the inspection itself."""

    kind: str
    made_on: str
    visit: ReportedVisit
    building: ReportedBuilding
    owner: ReportedOwner
    inspector: ReportedInspector
    files: tuple[ReportedFile, ...]


@dataclass(frozen=True, slots=True)
class LeadReport(InspectionReport):
    """The lead report. Its rule, cited by `citation`, decides the gaps. `positives` are the readings of its front."""

    rule: str
    citation: str
    standard: Standard | None
    standard_percent: Standard | None
    is_complete: bool
    gaps: tuple[ReportGap, ...]
    positives: tuple[ReportedReading, ...]
    instruments: tuple[ReportedInstrument, ...]
    checks: tuple[ReportedCheck, ...]
    readings: tuple[ReportedReading, ...]

    @property
    def doubts(self) -> Counter[str]:
        """The number of readings that count, by their doubts."""
        return Counter(doubt for each in self.readings if each.counts for doubt in each.doubts)

    @property
    def labels(self) -> dict[int, str]:
        """The number of each reading by its id. A reading without a number of its own has its id."""
        numbers = Counter(each.reading_no for each in self.readings)
        return {
            each.id: f"id {each.id}"
            if each.reading_no is None or numbers[each.reading_no] > 1
            else f"{each.reading_no}"
            for each in self.readings
        }


@dataclass(frozen=True, slots=True)
class FindingsReport(InspectionReport):
    """The findings of the inspection's case, the gravest first, and their number by status."""

    by_status: dict[str, int]
    late: int
    severities: tuple[FindingsOfSeverity, ...]


def pick(kind: type[Part], *rows: Row, **values: object) -> Part:
    """Return the part with the values of its names in `values`, else in the first row that has one, else null."""

    def value(name: str) -> object:
        return next((row[name] for row in (values, *rows) if row.get(name) not in (None, "")), None)

    return kind(**{each.name: value(each.name) for each in dataclasses.fields(kind)})  # type: ignore[arg-type]


def reported_owner(details: Row, client: Row) -> ReportedOwner:
    """Return the owner of the details if they name one, otherwise the client. Their values are never mixed."""
    if is_given(details.get("owner_name")):
        return ReportedOwner(details["owner_name"], details.get("owner_address"), details.get("owner_phone"))
    return pick(ReportedOwner, client)


def reported_reading(row: Row, assessed: Assessed | None, confirmed_by: Sequence[int] = ()) -> ReportedReading:
    """Return a reading. A void one is not assessed. Only readings of XRF instruments have a validity."""
    voided = row["voided"] or None
    validity, doubts = (assessed.validity, assessed.doubts) if assessed is not None else (None, ())
    result = assessed.result if assessed is not None else gravest((row["classification"], grade(row["result"])))
    remarks = remarks_of(validity, doubts)
    if row["time_is_by_order"]:
        remarks.append(BY_ORDER)
    remark = f"Void: {voided}" if voided is not None else "; ".join(remarks) or None
    counts = voided is None and validity not in INVALID
    return pick(
        ReportedReading,
        row,
        validity=validity,
        doubts=doubts,
        remark=remark,
        counts=counts,
        result=result,
        confirmed_by=tuple(confirmed_by),
        time_is_by_order=bool(row["time_is_by_order"]),
    )


def remarks_of(validity: str | None, doubts: Iterable[str]) -> list[str]:
    """Return what is wrong with a reading, in words."""
    remarks = (REMARKS.get(validity or ""), *map(DOUBT_REMARKS.get, doubts))
    return [each for each in remarks if each is not None]


def reported_limits(rows: Iterable[Row]) -> tuple[ReportedLimit, ...]:
    """Return the different limits that XRF readings keep, with the modes and substrates of the readings."""
    found: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in rows:
        if row["method"] == XRF and row["positive_from"] is not None:
            limits = row["mode"], row["negative_below"], row["positive_from"], row["limits_from"]
            found.setdefault(limits, {}).update({row["substrate"]: None} if row["substrate"] else {})
    return tuple(
        ReportedLimit(mode, tuple(substrates), below, above, limits_from)
        for (mode, below, above, limits_from), substrates in found.items()
    )


def front_of(readings: Sequence[ReportedReading]) -> tuple[ReportedReading, ...]:
    """Return the positive readings, grouped by method."""
    positives = [each for each in readings if each.is_positive]
    return tuple(sorted(positives, key=lambda each: READING_METHODS.index(each.method)))


def reported_files(rows: Sequence[Row]) -> tuple[ReportedFile, ...]:
    return tuple(pick(ReportedFile, each) for each in rows)


def reported_finding(row: Row, now: datetime.datetime, files: Sequence[Row]) -> ReportedFinding:
    late = row["days_late"]
    if row["status"] == OPEN and row["due_at"] is not None:
        late = days_late(now, datetime.datetime.fromisoformat(row["due_at"]))
    is_late = row["status"] == OPEN and bool(late)
    return pick(ReportedFinding, row, days_late=late, is_late=is_late, files=reported_files(files))


def by_severity(findings: Sequence[ReportedFinding]) -> tuple[FindingsOfSeverity, ...]:
    """Return the findings of each severity that has some, the gravest first."""
    groups = {severity: tuple(each for each in findings if each.severity == severity) for severity in SEVERITIES}
    return tuple(FindingsOfSeverity(severity, group) for severity, group in groups.items() if group)


def by_status(findings: Sequence[ReportedFinding]) -> dict[str, int]:
    return {status: sum(each.status == status for each in findings) for status in FINDING_STATUSES}


def is_given(value: object) -> bool:
    """Return whether a value says something: not null, and not blank."""
    return value is not None and str(value).strip() != ""
