"""What a letter about findings of a building says, as plain data. Its JSON and its page have the same content.

Every table is read under the rule of the person who issues the letter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from access.caller import Caller
from engine.interface.database import Transaction
from engine.query.statement import UNRESTRICTED
from engine.rows import read_rows
from inspections.deadlines import valid_deadlines
from inspections.files.thumbnails import FORMATS
from inspections.reports.content import (
    ReportedBuilding,
    ReportedFile,
    ReportedOwner,
    is_given,
    pick,
    reported_files,
    reported_owner,
)
from inspections.reports.reports import first, visible_rows
from models import Building, BuildingDetail, Client, FindingEvent, Notice
from models.vocabulary import EXTENDED, NOTIFIED, SEVERITIES

PHOTOGRAPHS_MAX: Final = 2
"""The photographs of a finding in a letter."""
IMAGES_MAX: Final = 100

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServedTime:
    """A time to correct a finding that counts from the service of the letter, in hours or days.

    `not_before` is the deadline of a finding that was extended: it stays if it is later.
    """

    amount: int
    is_days: bool
    not_before: str | None


@dataclass(frozen=True, slots=True)
class LetterFinding:
    """A finding of a letter. With `from_service`, its deadline counts from the service, and `due_at` until then."""

    id: int
    place: str | None
    item: str | None
    code: str | None
    description: str
    severity: str
    found_at: str
    due_at: str | None
    from_service: ServedTime | None
    files: tuple[ReportedFile, ...]


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter: who sends it to whom, the building, and the findings to be corrected, the gravest first."""

    sender: ReportedOwner
    to_name: str
    to_address: str
    building: ReportedBuilding
    made_on: str
    answer_by: str
    time_zone: str
    findings: tuple[LetterFinding, ...]

    @property
    def photographs(self) -> list[ReportedFile]:
        """The photographs whose images the letter has: PHOTOGRAPHS_MAX of a finding, and IMAGES_MAX in all."""
        images = ([file for file in each.files if file.mimetype in FORMATS] for each in self.findings)
        return [file for files in images for file in files[:PHOTOGRAPHS_MAX]][:IMAGES_MAX]


def read_letter(
    transaction: Transaction, caller: Caller, building_id: int, findings: Sequence[Row], **given: str | None
) -> Letter:
    """Return a letter about findings of a visible building, by the values of the call in `given`.

    The addressee is the owner in the details of the building, or else its client. An addressee or a sender that is
    neither given nor visible is an empty text. Raise ReportTooLarge.
    """
    rows = partial(visible_rows, transaction, caller)
    building = first(rows(Building.__tablename__, "id", [building_id]))
    details = first(rows(BuildingDetail.__tablename__, "building_id", [building_id]))
    client = first(rows(Client.__tablename__, "id", [building.get("client_id")]))
    owner = reported_owner(details, client)
    files: dict[int, list[dict[str, Any]]] = {}
    for each in rows("files", "finding_id", [row["id"] for row in findings], "created_at", "id"):
        files.setdefault(each["finding_id"], []).append(each)
    times = times_from_service(transaction, findings)
    graves = sorted(findings, key=lambda row: (SEVERITIES.index(row["severity"]), row["due_at"] or "~", row["id"]))
    return Letter(
        sender=pick(ReportedOwner, client),
        to_name=(given["to_name"] or "").strip() or owner.name or "",
        to_address=(given["to_address"] or "").strip() or owner.address or "",
        building=pick(ReportedBuilding, building, details),
        made_on=transaction.today.isoformat(),
        answer_by=given["answer_by"] or "",
        time_zone=str(transaction.time_zone),
        findings=tuple(letter_finding(each, times.get(each["id"]), files.get(each["id"], ())) for each in graves),
    )


def letter_finding(row: Row, time: ServedTime | None, files: Sequence[Row]) -> LetterFinding:
    return pick(LetterFinding, row, from_service=time, files=reported_files(files))


def missing_part(letter: Letter) -> str | None:
    """Return what a letter lacks to be sent, as the name of a column; None if it is complete."""
    parts = {"client_id": letter.sender.name, "to_name": letter.to_name, "to_address": letter.to_address}
    return next((name for name, value in parts.items() if not is_given(value)), None)


def times_from_service(transaction: Transaction, findings: Sequence[Row]) -> dict[int, ServedTime]:
    """Return, by finding, the time to correct it that counts from the next service of a letter.

    A deadline counts from the first service, also if that letter was withdrawn later. Letters of another client, which
    had the building before, count only if the deadline counted from them.
    """
    ids = [row["id"] for row in findings]
    columns = ("finding_id", "client_id", "kind", "notice_id")
    events = read_rows(
        transaction, UNRESTRICTED, FindingEvent.__tablename__, columns, finding_id=ids, kind=(EXTENDED, NOTIFIED)
    )  # fmt: skip
    served = served_letters(transaction, {each["notice_id"] for each in events if each["notice_id"] is not None})
    settled = {
        each["finding_id"]
        for each in events
        if each["notice_id"] in served and (each["kind"] == EXTENDED or served[each["notice_id"]] == each["client_id"])
    }
    extended = {each["finding_id"] for each in events if each["kind"] == EXTENDED and each["notice_id"] is None}
    return {
        row["id"]: ServedTime(deadline.number, deadline.is_days, row["due_at"] if row["id"] in extended else None)
        for row, deadline in zip(findings, valid_deadlines(transaction, findings), strict=True)
        if deadline is not None and deadline.is_from_service and row["id"] not in settled
    }


def served_letters(transaction: Transaction, ids: Collection[int]) -> dict[int, int]:
    """Return the clients of those letters that were served, by the ids of the letters."""
    columns = ("id", "client_id", "served_on")
    rows = read_rows(transaction, UNRESTRICTED, Notice.__tablename__, columns, id=ids)
    return {row["id"]: row["client_id"] for row in rows if row["served_on"] is not None}
