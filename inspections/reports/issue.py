"""issue_report: freezes a report of a closed visit, with a number, a signature and a hash.

The report holds all rows of the visit, and not only those that its issuer reads. Every reader of the visit reads it.
So a findings report has the findings of its own visit, and none of former visits of the case.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

from PIL import Image

from access.caller import SERVICE_CALLER, Caller
from access.decorators import function
from access.predicates import bounded_text, choice, long_text, optional_parameter, required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.statement import UNRESTRICTED
from engine.rows import insert_rows, read_rows
from inspections.faults import (
    InvalidSignature,
    NoThumbnail,
    ReportChanged,
    ReportHasGaps,
    ReportIssued,
    ReportWithoutResult,
)
from inspections.files.images import decodable, read_head
from inspections.files.thumbnails import IMAGE_ERRORS
from inspections.reports.changes import list_changes
from inspections.reports.content import FINDINGS_REPORT, FindingsReport, InspectionReport, LeadReport, ReportedFile
from inspections.reports.frozen import (
    RENDERERS,
    canonical_json,
    image_source,
    next_number,
    require_size,
    sha256_of,
    thumbnails_of,
)
from inspections.reports.reports import RULES, read_report
from inspections.visits import conducted_visit
from models import IssuedReport
from models.issued_report import SIGNATURE_BYTES_MAX
from models.types import BIGINT, TEXT, InvalidArgument
from models.vocabulary import PNG, REPORT_KINDS, VISIT_RESULTS

TABLE: Final = IssuedReport.__tablename__
NAME_CHARACTERS_MAX: Final = 200
SIGNATURE_SIZE_MAX: Final = (1_200, 600)
SECONDS_MAX: Final = 20.0
"""The time of a call. Photographs without a thumbnail are decoded before the lock."""
NUMBER: Final = f"{uuid.uuid4()}"
"""What stands for the number in a page that has none yet. No text of a person is equal to it."""


@dataclass(frozen=True, slots=True)
class IssuedNumber:
    """The result of issue_report."""

    id: int
    number: str
    sha256: str
    kind: str
    issued_at: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A report that is ready but for its number, for which NUMBER stands in its page.

    `said` and `issued` are JSON. `replaces_id` is the id of the withdrawn report that it replaces.
    """

    report: InspectionReport
    said: dict[str, Any]
    issued: dict[str, Any]
    thumbnails: Mapping[str, str]
    page: str
    replaces_id: int | None

    def content(self, number: str) -> dict[str, Any]:
        issued = {**self.issued, "number": number}
        page = self.page.replace(NUMBER, number)
        return {"report": self.said, "issued": issued, "thumbnails": self.thumbnails, "page": page}


def prepare_issue(
    transaction: Transaction,
    caller: Caller,
    inspection_id: int,
    kind: str,
    signed_name: str,
    rule: str | None = None,
    signature_png: str | None = None,
    gaps_reason: str | None = None,
) -> dict[str, Any]:
    """Return the arguments of `issue_report`. Thumbnails and page are made here, without the writer lock.

    Raise as `issue_report` does, and InvalidArgument, InvalidSignature, TooManyThumbnails or BytesMissing.
    """
    if rule is not None and kind == FINDINGS_REPORT:
        raise InvalidArgument("p_rule needs p_kind lead")
    if not signed_name.strip():
        raise InvalidArgument("p_signed_name is blank")
    reason = (gaps_reason or "").strip() or None
    signature = read_signature(signature_png) if signature_png is not None else None
    report, former = read_issuable(transaction, caller, inspection_id, kind, rule, reason)
    # As JSON, since the changes compare it with the content of the former report.
    said = json.loads(canonical_json(dataclasses.asdict(report)))
    issued = {
        "number": NUMBER,
        "issued_at": transaction.now,
        "person": read_person(transaction, caller.id),
        "signed_name": signed_name.strip(),
        "signature_sha256": None if signature is None else hashlib.sha256(base64.b64decode(signature)).hexdigest(),
        "gaps_reason": reason if gaps_of(report) else None,
        **replacement(transaction, former, said),
    }
    shown = {key: image for key, image in thumbnails_of(files_of(report)).items() if image}
    page = RENDERERS[kind](report, issued, transaction.time_zone, image_source(shown))
    prepared = Prepared(report, said, issued, shown, page, former["id"] if former is not None else None)
    require_size(canonical_json(prepared.content(NUMBER)))
    return {
        "inspection_id": inspection_id,
        "kind": kind,
        "signed_name": signed_name.strip(),
        "rule": rule,
        "signature": signature,
        "gaps_reason": reason,
        "prepared": prepared,
    }


@function(
    "issue_report",
    summary="Freeze and sign a report of a closed visit",
    roles=EVERY_ROLE,
    parameters={
        "p_inspection_id": required_parameter(BIGINT),
        "p_kind": choice(REPORT_KINDS).in_form("Report"),
        "p_signed_name": bounded_text(NAME_CHARACTERS_MAX).in_form("Name of the person who signs"),
        "p_rule": choice(RULES, required=False).in_form("Rule", "Of a lead report. By default, that of the state."),
        "p_signature_png": long_text(SIGNATURE_BYTES_MAX * 4 // 3 + 4, required=False).in_form("Drawn signature"),
        "p_gaps_reason": optional_parameter(TEXT).in_form(
            "Reason for an incomplete report", "The report prints it.", is_multiline=True
        ),
    },
    is_volatile=True,
    seconds_max=SECONDS_MAX,
    preparation=prepare_issue,
)
def issue_report(
    transaction: Transaction,
    caller: Caller,
    inspection_id: int,
    kind: str,
    signed_name: str,
    rule: str | None = None,
    signature: str | None = None,
    gaps_reason: str | None = None,
    prepared: Prepared | None = None,
) -> IssuedNumber:
    """Store the content, page and hash of a report, which replaces the withdrawn one of the visit and kind.

    `signature` is a PNG in base64. Raise NoSuchRow, PermissionDenied, ReportWithoutResult, ReportIssued, ReportHasGaps,
    ReportTooLarge, or ReportChanged if the rows are others than those of `prepared`.
    """
    report, former = read_issuable(transaction, caller, inspection_id, kind, rule, gaps_reason)
    replaces_id = former["id"] if former is not None else None
    if prepared is None or (report, replaces_id) != (prepared.report, prepared.replaces_id):
        raise ReportChanged
    [visit] = read_rows(transaction, UNRESTRICTED, "inspections", ("client_id",), id=inspection_id)
    number = next_number(transaction, TABLE, visit["client_id"])
    content = prepared.content(number)
    sha256 = sha256_of(canonical_json(content))
    issued_at = prepared.issued["issued_at"]
    row = {
        "inspection_id": inspection_id,
        "client_id": visit["client_id"],
        "kind": kind,
        "rule": report.rule if isinstance(report, LeadReport) else None,
        "number": number,
        "content": content,
        "sha256": sha256,
        "signed_name": signed_name,
        "signature": signature,
        "issued_at": issued_at,
        "replaces_id": replaces_id,
    }
    [(key,)] = insert_rows(transaction, TABLE, [row])
    return IssuedNumber(int(str(key)), number, sha256, kind, issued_at)


def read_issuable(
    transaction: Transaction, caller: Caller, inspection_id: int, kind: str, rule: str | None, gaps_reason: str | None
) -> tuple[InspectionReport, dict[str, Any] | None]:
    """Return the complete report of a visit that the caller may issue, and the withdrawn one that it replaces.

    Raise NoSuchRow, PermissionDenied, ReportWithoutResult, ReportIssued, ReportHasGaps or ReportTooLarge.
    """
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status not in VISIT_RESULTS:
        raise ReportWithoutResult
    columns = ("id", "number", "sha256", "withdrawn_at", "withdrawn_note")
    issued = read_rows(transaction, UNRESTRICTED, TABLE, columns, inspection_id=inspection_id, kind=kind)
    if any(each["withdrawn_at"] is None for each in issued):
        raise ReportIssued
    report = read_report(transaction, SERVICE_CALLER, inspection_id, kind, rule, of_visit_only=True)
    gaps = gaps_of(report)
    if gaps and gaps_reason is None:
        raise ReportHasGaps(gaps)
    return report, issued[-1] if issued else None


def gaps_of(report: InspectionReport) -> list[str]:
    """Return the codes of what the report lacks, each once."""
    return list(dict.fromkeys(each.code for each in report.gaps)) if isinstance(report, LeadReport) else []


def files_of(report: InspectionReport) -> Iterator[ReportedFile]:
    """Yield the files that a report lists."""
    yield from report.files
    if isinstance(report, FindingsReport):
        for group in report.severities:
            for finding in group.findings:
                yield from finding.files


def read_person(transaction: Transaction, user_id: str | None) -> dict[str, Any] | None:
    """Return id and name of a user; None for the service key."""
    if user_id is None:
        return None
    return next(iter(read_rows(transaction, UNRESTRICTED, "users", ("id", "name"), id=user_id)), None)


def replacement(transaction: Transaction, former: dict[str, Any] | None, report: dict[str, Any]) -> dict[str, Any]:
    """Return what an issued report says of the report that it replaces, and what changed since."""
    if former is None:
        return {"replaces": None, "changes": [], "changes_total": 0}
    [row] = read_rows(transaction, UNRESTRICTED, TABLE, ("content",), id=former["id"])
    changes, total = list_changes(json.loads(row["content"])["report"], report)
    replaces = {name: former[name] for name in ("number", "sha256", "withdrawn_at", "withdrawn_note")}
    return {"replaces": replaces, "changes": [dataclasses.asdict(each) for each in changes], "changes_total": total}


def read_signature(text: str) -> str:
    """Return a drawn signature as a PNG in base64 that has its picture and nothing else. Raise InvalidSignature."""
    refused = InvalidSignature(*SIGNATURE_SIZE_MAX, SIGNATURE_BYTES_MAX)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise refused from None
    head = read_head(BytesIO(data)) if len(data) <= SIGNATURE_BYTES_MAX else None
    if head is None or head.mimetype != PNG:
        raise refused
    size = head.width, head.height
    if not all(1 <= side <= side_max for side, side_max in zip(size, SIGNATURE_SIZE_MAX, strict=True)):
        raise refused
    try:
        picture = decodable(data, head, size).stream
        with Image.open(BytesIO(picture), formats=["PNG"]) as image:
            image.load()
    except (NoThumbnail, *IMAGE_ERRORS):
        raise refused from None
    return base64.b64encode(picture).decode()
