"""Letters to owners: issued about findings of a building, served, and withdrawn.

A letter is frozen when it is issued: content, number and hash never change. The policy decides about which findings a
person writes, and which letters they serve or withdraw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.explain import ROW_ID
from access.policy import LETTERED_FINDINGS, SERVED_LETTERS, WITHDRAWN_LETTERS, PermissionDenied, has_right
from access.predicates import choice, id_array, optional_parameter, required_parameter
from access.roles import EVERY_ROLE
from engine.interface.clock import in_zone
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, parameter
from engine.rows import Select, insert_rows, prepared, read_rows, update_rows
from inspections.deadlines import FindingDeadline
from inspections.faults import LetterNotIssued, LetterNotServed, LetterNotWithdrawn, NoSuchRow
from inspections.reports.frozen import (
    RENDERERS,
    canonical_json,
    image_source,
    next_number,
    require_size,
    sha256_of,
    thumbnails_of,
)
from inspections.reports.letter import Letter, missing_part, read_letter, times_from_service
from models import Finding, FindingEvent, Inspection, Notice, User
from models.finding_move import UNRESOLVED
from models.types import BIGINT, DATE, TEXT
from models.vocabulary import EXTENDED, NOTIFIED, OPEN, SERVICES

TABLE: Final = Notice.__tablename__
FINDINGS: Final = Finding.__tablename__
EVENTS: Final = FindingEvent.__tablename__
FINDINGS_MAX: Final = 200
SECONDS_MAX: Final = 20.0
"""The time of a call with the most photographs on a slow machine. They are read before the writer lock."""
NOUN: Final = "Letter"
COLUMNS: Final = (
    "id", "inspection_id", "place", "item", "code", "description", "severity", "status", "found_at", "due_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class IssuedNotice:
    """The result of issue_notice."""

    id: int
    number: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ServedNotice:
    """The result of serve_notice. `deadlines` is the number of findings with a new deadline."""

    id: int
    number: str
    served_on: str
    deadlines: int


@dataclass(frozen=True, slots=True)
class WithdrawnNotice:
    """The result of withdraw_notice."""

    id: int
    number: str
    withdrawn_at: str


# Issue


def prepare_notice(
    transaction: Transaction,
    caller: Caller,
    finding_ids: Sequence[int],
    answer_by: str,
    to_name: str | None = None,
    to_address: str | None = None,
) -> dict[str, Any]:
    """Return the arguments of `issue_notice`, with the thumbnails. Raise as that does, and TooManyThumbnails.

    It renders the letter to check its size without the writer lock.
    """
    given = {"to_name": to_name, "to_address": to_address, "answer_by": answer_by}
    letter = require_letter(transaction, caller, finding_ids, given)
    thumbnails = thumbnails_of(letter.photographs)
    sized_content(letter, issued_values(transaction, caller, "0000-000000"), thumbnails)
    return {"finding_ids": finding_ids, **given, "thumbnails": thumbnails}


@function(
    "issue_notice",
    summary="Write a letter about open findings of a building to its owner, with a number and a hash",
    roles=EVERY_ROLE,
    parameters={
        "p_finding_ids": id_array(FINDINGS_MAX, count_min=1),
        "p_to_name": optional_parameter(TEXT).in_form("To"),
        "p_to_address": optional_parameter(TEXT).in_form("Address", is_multiline=True),
        "p_answer_by": required_parameter(DATE).in_form("Answer by"),
    },
    is_volatile=True,
    seconds_max=SECONDS_MAX,
    preparation=prepare_notice,
)
def issue_notice(
    transaction: Transaction,
    caller: Caller,
    finding_ids: Sequence[int],
    answer_by: str,
    to_name: str | None = None,
    to_address: str | None = None,
    thumbnails: Mapping[str, str] | None = None,
) -> IssuedNotice:
    """Freeze a letter, and add an event of the kind `notified` to each finding.

    Raise NoSuchRow, PermissionDenied, LetterNotIssued, ReportTooLarge or ContentTooLarge.
    """
    given = {"to_name": to_name, "to_address": to_address, "answer_by": answer_by}
    letter = require_letter(transaction, caller, finding_ids, given)
    building_id = cast(int, letter.building.id)
    [client] = read_rows(transaction, UNRESTRICTED, "buildings", ("client_id",), id=building_id)
    number = next_number(transaction, TABLE, client["client_id"])
    content, text = sized_content(letter, issued_values(transaction, caller, number), thumbnails or {})
    sha256 = sha256_of(text)
    row = {
        "number": number,
        "building_id": building_id,
        "client_id": client["client_id"],
        "to_name": letter.to_name,
        "to_address": letter.to_address,
        "answer_by": letter.answer_by,
        "content": content,
        "sha256": sha256,
        "issued_by": caller.id,
        "issued_at": transaction.now,
    }
    [(notice_id,)] = insert_rows(transaction, TABLE, [row])
    events = [{"finding_id": each.id, "kind": NOTIFIED, "notice_id": notice_id} for each in letter.findings]
    insert_rows(transaction, EVENTS, events)
    return IssuedNotice(cast(int, notice_id), number, sha256)


def require_letter(
    transaction: Transaction, caller: Caller, finding_ids: Sequence[int], given: Mapping[str, str | None]
) -> Letter:
    """Return the letter that a call asks for.

    Raise NoSuchRow, PermissionDenied, LetterNotIssued or ReportTooLarge.
    """
    if (given["answer_by"] or "") < transaction.today.isoformat():
        raise LetterNotIssued(
            f"The answer is expected today, on {transaction.today.isoformat()}, or later.", "notices_answer_by_check"
        )
    letter = draft_letter(transaction, caller, finding_ids, given)
    if (missing := missing_part(letter)) is not None:
        raise LetterNotIssued(
            "A letter needs the name and the address of its addressee, and the name of its sender.",
            f"notices_{missing}_check: neither given nor known",
        )
    return letter


def draft_letter(
    transaction: Transaction, caller: Caller, finding_ids: Sequence[int], given: Mapping[str, str | None]
) -> Letter:
    """Return a letter that may lack an addressee, a sender or a day for the answer.

    Raise NoSuchRow unless the caller sees all findings, PermissionDenied, LetterNotIssued or ReportTooLarge.
    """
    ids = sorted(set(finding_ids))
    rights = rights_statement.all(transaction, caller, keys=ids)
    if len(rights) < len(ids):
        raise NoSuchRow("Finding")
    if not all(is_allowed for _, is_allowed in rights):
        raise PermissionDenied("permission denied to write a letter about every finding of the list")
    if len({building_id for building_id, _ in rights}) > 1:
        raise LetterNotIssued("A letter is about findings of one building.", "notices_building_check")
    findings = read_rows(transaction, caller, FINDINGS, COLUMNS, id=ids)
    for each in findings:
        if each["status"] not in UNRESOLVED:
            raise LetterNotIssued(
                "A letter is about findings that are open or fixed.",
                f"notices_status_check: finding {each['id']}: {each['status']}",
            )
    [(building_id, _), *_] = rights
    if (pending := pending_finding(transaction, building_id, ids)) is not None:
        raise LetterNotIssued(
            "Another letter about a finding is neither served nor withdrawn.",
            f"notices_pending_check: finding {pending}",
        )
    return read_letter(transaction, caller, building_id, findings, **given)


def pending_finding(transaction: Transaction, building_id: int, finding_ids: Sequence[int]) -> int | None:
    """Return the first finding that a letter names, of the building's client, which is neither served nor withdrawn.

    None if there is none.
    """
    [building] = read_rows(transaction, UNRESTRICTED, "buildings", ("client_id",), id=building_id)
    pending = read_rows(
        transaction, UNRESTRICTED, TABLE, ("id",), building_id=building_id, client_id=building["client_id"],
        served_on=None, withdrawn_at=None,
    )  # fmt: skip
    letters = {each["id"] for each in pending}
    named = read_rows(
        transaction, UNRESTRICTED, EVENTS, ("finding_id",), finding_id=finding_ids, notice_id=letters, kind=NOTIFIED
    )  # fmt: skip
    return min((each["finding_id"] for each in named), default=None)


def may_write_letter(transaction: Transaction, caller: Caller, finding_id: int) -> bool:
    """Return whether the caller may write a letter about a visible finding."""
    return any(is_allowed for _, is_allowed in rights_statement.all(transaction, caller, keys=[finding_id]))


@prepared(Planner)
def rights_statement(planner: Planner) -> Select:
    """Return the query for the building of each visible finding in `Binding.keys`, and whether the caller may write a
    letter about it.
    """
    finding, scope = planner.visible(Finding)
    visit, visible = planner.visible(Inspection)
    is_allowed = has_right(LETTERED_FINDINGS, planner.rule, finding.c)
    among = planner.dialect.in_list(finding.c.id, BIGINT, parameter("keys", sa.Text))
    return (
        sa.select(visit.c.building_id, sa.case((is_allowed, 1), else_=0))
        .select_from(finding.join(visit, visit.c.id == finding.c.inspection_id))
        .where(among, scope, visible)
        .order_by(finding.c.id)
    )


def issued_values(transaction: Transaction, caller: Caller, number: str) -> dict[str, Any]:
    """Return the number, the time and the person of a letter. The service key is no person."""
    people = read_rows(transaction, UNRESTRICTED, User.__tablename__, ("name",), id=caller.id) if caller.id else []
    return {"number": number, "issued_at": transaction.now, "person": people[0]["name"] if people else None}


def frozen_letter(letter: Letter, issued: Mapping[str, Any], thumbnails: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of a letter. A photograph that was stored after its preparation has no image.

    Raise ContentTooLarge before it renders the page, whose text is longer.
    """
    require_size(canonical_json(asdict(letter)))
    images = {each.sha256: thumbnails.get(each.sha256, "") for each in letter.photographs}
    page = RENDERERS["notice"](letter, issued, image_source(images))
    shown = {sha256: image for sha256, image in images.items() if image}
    return {"letter": asdict(letter), "issued": dict(issued), "thumbnails": shown, "page": page}


def sized_content(
    letter: Letter, issued: Mapping[str, Any], thumbnails: Mapping[str, str]
) -> tuple[dict[str, Any], str]:
    """Return the content of a letter, and its canonical text. Raise ContentTooLarge."""
    content = frozen_letter(letter, issued, thumbnails)
    text = canonical_json(content)
    require_size(text)
    return content, text


# Service and withdrawal


@dataclass(frozen=True, slots=True)
class NoticeState:
    """A visible letter, and whether the caller has a right on it."""

    id: int
    number: str
    client_id: int
    issued_at: str
    served_on: str | None
    withdrawn_at: str | None
    is_allowed: bool


def read_notice(transaction: Transaction, caller: Caller, right: str, notice_id: int) -> NoticeState:
    """Return a letter on which the caller has the right of a function. Raise NoSuchRow or PermissionDenied."""
    state = read_state(transaction, caller, right, notice_id)
    if not state.is_allowed:
        raise PermissionDenied(f"permission denied to {right} this letter")
    return state


def read_state(transaction: Transaction, caller: Caller, right: str, notice_id: int) -> NoticeState:
    """Return a visible letter, and whether the caller has the right of a function on it. Raise NoSuchRow."""
    row = notice_statement.one(transaction, caller, right, row_id=notice_id)
    if row is None:
        raise NoSuchRow(NOUN)
    return NoticeState(*row)


SERVE, WITHDRAW = "serve", "withdraw"
RIGHTS: Final = {SERVE: SERVED_LETTERS, WITHDRAW: WITHDRAWN_LETTERS}


@prepared(Planner)
def notice_statement(planner: Planner, right: str) -> Select:
    """Return the query for the fields of NoticeState of a visible letter."""
    notice, scope = planner.visible(Notice)
    columns = notice.c
    is_allowed = has_right(RIGHTS[right], planner.rule, columns)
    selected = sa.select(
        columns.id,
        columns.number,
        columns.client_id,
        columns.issued_at,
        columns.served_on,
        columns.withdrawn_at,
        sa.case((is_allowed, 1), else_=0),
    )
    return selected.where(columns.id == ROW_ID, scope)


@function(
    "serve_notice",
    summary="Record when and how a letter was served; deadlines that count from the service count from that day",
    roles=EVERY_ROLE,
    parameters={
        "p_id": required_parameter(BIGINT),
        "p_served_on": required_parameter(DATE).in_form("Served on"),
        "p_how": choice(SERVICES).in_form("Served by"),
    },
    is_volatile=True,
)
def serve_notice(transaction: Transaction, caller: Caller, id: int, served_on: str, how: str) -> ServedNotice:  # noqa: A002
    """Record the service of a letter, once. Raise NoSuchRow, PermissionDenied or LetterNotServed."""
    notice = read_notice(transaction, caller, SERVE, id)
    if notice.withdrawn_at is not None:
        raise LetterNotServed("The letter was withdrawn.", "notices_withdrawn_check")
    if notice.served_on is not None:
        raise LetterNotServed(f"The letter was served on {notice.served_on} already.", "notices_served_check")
    issued = in_zone(notice.issued_at, transaction.time_zone)
    earliest, today = f"{issued:%Y-%m-%d}", transaction.today.isoformat()
    if not earliest <= served_on <= today:
        raise LetterNotServed(f"The day lies between {earliest} and {today}.", "notices_served_on_check")
    changed = count_from_service(transaction, notice, served_on)
    update_rows(transaction, TABLE, [(notice.id,)], {"served_on": served_on, "served_how": how})
    return ServedNotice(notice.id, notice.number, served_on, changed)


def count_from_service(transaction: Transaction, notice: NoticeState, served_on: str) -> int:
    """Give the open findings of a letter their deadlines before its service is recorded. Return how many changed.

    A building that went to another client took its findings along: these stay as they are.

    An event keeps both values. A deadline that was extended by hand stays if it is later, and one that
    counts from an earlier service in any case.
    """
    named = read_rows(transaction, UNRESTRICTED, EVENTS, ("finding_id",), notice_id=notice.id, kind=NOTIFIED)
    columns = ("id", "inspection_id", "severity", "found_at", "due_at")
    ids = {each["finding_id"] for each in named}
    findings = read_rows(
        transaction, UNRESTRICTED, FINDINGS, columns, id=ids, status=OPEN, client_id=notice.client_id
    )  # fmt: skip
    times = times_from_service(transaction, findings)
    events = []
    for each in findings:
        if (time := times.get(each["id"])) is not None:
            counted = FindingDeadline(time.amount, time.is_days).after_service(served_on, transaction.time_zone)
            due_at = max(counted, time.not_before or "")
            if due_at == each["due_at"]:
                continue
            update_rows(transaction, FINDINGS, [(each["id"],)], {"due_at": due_at})
            events.append(
                {
                    "finding_id": each["id"],
                    "kind": EXTENDED,
                    "note": "A letter was served",
                    "due_before": each["due_at"],
                    "due_after": due_at,
                    "notice_id": notice.id,
                }
            )
    insert_rows(transaction, EVENTS, events)
    return len(events)


@function(
    "withdraw_notice",
    summary="Withdraw a letter. Its deadlines and its page stay",
    roles=EVERY_ROLE,
    parameters={
        "p_id": required_parameter(BIGINT),
        "p_note": required_parameter(TEXT).in_form("Reason", is_multiline=True),
    },
    is_volatile=True,
)
def withdraw_notice(transaction: Transaction, caller: Caller, id: int, note: str) -> WithdrawnNotice:  # noqa: A002
    """Withdraw a letter, once. Raise NoSuchRow, PermissionDenied or LetterNotWithdrawn."""
    notice = read_notice(transaction, caller, WITHDRAW, id)
    if notice.withdrawn_at is not None:
        raise LetterNotWithdrawn("The letter is withdrawn already.", "notices_withdrawn_check")
    if not note.strip():
        raise LetterNotWithdrawn("A withdrawal needs a reason.", "notices_withdrawn_note_check")
    changes = {"withdrawn_at": transaction.now, "withdrawn_note": note}
    update_rows(transaction, TABLE, [(notice.id,)], changes)
    return WithdrawnNotice(notice.id, notice.number, transaction.now)
