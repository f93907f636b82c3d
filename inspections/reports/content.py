"""What a report of an inspection says, as plain data. Its JSON and its page have the same content."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from inspections.lead.summary import outcome_of
from inspections.lead.validity import DOUBTFUL, LATE, NO_CHECK, UNCONFIRMED
from models.vocabulary import FINDING_STATUSES, LEAD, OPEN, POSITIVE, READING_METHODS, SEVERITIES

Part = TypeVar("Part")
Row = Mapping[str, Any]

LEAD_REPORT: Final = LEAD
FINDINGS_REPORT: Final = "findings"
REPORT_KINDS: Final = (LEAD_REPORT, FINDINGS_REPORT)

STANDARD_MG_CM2: Final = 1.0
"""Lead-based paint has this much lead or more: 40 CFR 745.227(h)(1)."""

REMARKS: Final[Mapping[str, str]] = {
    NO_CHECK: "No passed calibration check before it",
    LATE: "Too long after the calibration check before it",
    DOUBTFUL: "The calibration check after it failed",
    UNCONFIRMED: "No calibration check after it yet",
}
"""By validity of a reading: what the report says beside it. A valid reading has no remark."""

INVALID: Final = (NO_CHECK, LATE, DOUBTFUL)


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
    """The limits of an instrument for a substrate, in mg/cm²."""

    substrate: str
    negative_below: float
    positive_from: float


@dataclass(frozen=True, slots=True)
class ReportedInstrument:
    """An XRF instrument that a reading or a check names. One that the caller does not see has its number only."""

    gun_id: int
    make: str | None
    model: str | None
    serial: str | None
    mode: str | None
    sheet: str | None
    sheet_on: str | None
    negative_below: float | None
    positive_from: float | None
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


@dataclass(frozen=True, slots=True)
class ReportedReading:
    """A reading. `counts` is false for one that is void or not valid. `remark` says why, or what is still open."""

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
    lead_mg_cm2: float | None
    qualifier: str | None
    result: str | None
    voided: str | None
    note: str | None
    validity: str | None
    counts: bool
    remark: str | None

    @property
    def is_positive(self) -> bool:
        """Whether the front of the report lists it: a positive reading that is not void, valid or not."""
        return self.result == POSITIVE and self.voided is None


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
    """A finding of the case. `is_late`: it is open after its deadline."""

    id: int
    inspection_id: int
    place: str | None
    item: str | None
    code: str | None
    description: str
    severity: str
    status: str
    due_at: str
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
    standard_mg_cm2: float
    is_complete: bool
    gaps: tuple[ReportGap, ...]
    positives: tuple[ReportedReading, ...]
    instruments: tuple[ReportedInstrument, ...]
    checks: tuple[ReportedCheck, ...]
    readings: tuple[ReportedReading, ...]


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


def reported_reading(row: Row, validity: str | None) -> ReportedReading:
    """Return a reading. Only readings of XRF instruments that are not void have a validity."""
    voided = row["voided"] or None
    remark = f"Void: {voided}" if voided is not None else REMARKS.get(validity or "")
    counts = voided is None and validity not in INVALID
    return pick(ReportedReading, row, validity=validity, remark=remark, counts=counts, result=outcome_of(row))


def front_of(readings: Sequence[ReportedReading]) -> tuple[ReportedReading, ...]:
    """Return the positive readings, grouped by method."""
    positives = [each for each in readings if each.is_positive]
    return tuple(sorted(positives, key=lambda each: READING_METHODS.index(each.method)))


def reported_files(rows: Sequence[Row]) -> tuple[ReportedFile, ...]:
    return tuple(pick(ReportedFile, each) for each in rows)


def reported_finding(row: Row, now: datetime.datetime, files: Sequence[Row]) -> ReportedFinding:
    is_late = row["status"] == OPEN and datetime.datetime.fromisoformat(row["due_at"]) < now
    return pick(ReportedFinding, row, is_late=is_late, files=reported_files(files))


def by_severity(findings: Sequence[ReportedFinding]) -> tuple[FindingsOfSeverity, ...]:
    """Return the findings of each severity that has some, the gravest first."""
    groups = {severity: tuple(each for each in findings if each.severity == severity) for severity in SEVERITIES}
    return tuple(FindingsOfSeverity(severity, group) for severity, group in groups.items() if group)


def by_status(findings: Sequence[ReportedFinding]) -> dict[str, int]:
    return {status: sum(each.status == status for each in findings) for status in FINDING_STATUSES}


def is_given(value: object) -> bool:
    """Return whether a value says something: not null, and not blank."""
    return value is not None and str(value).strip() != ""
