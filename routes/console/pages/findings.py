"""Findings: the list by deadline, and the forms that move them, one or many."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from access import policy
from access.authentication import current_time
from access.caller import Caller
from access.decorators import load_caller
from engine.current import database, local_day, reading, writing
from inspections import findings
from inspections.deadlines import end_of_day
from inspections.findings import Move
from models.types import InvalidInput, read_date
from models.vocabulary import EXTENDED, FINDING_STATUSES, FIXED, MADE, OPEN, REMARK, REOPENED, VERIFIED, WAIVED
from routes.console.components import downloads, queries
from routes.console.components.bulk import ask_for_ticks, chosen_ids, return_path
from routes.console.components.fields import Field, FormValues
from routes.console.components.function_forms import FunctionForm
from routes.console.components.lists import MoreFilters, list_page
from routes.console.components.page import Pairs, Undo, bp, render_page
from routes.console.components.submissions import once
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Table, table_of
from routes.console.components.template_filters import counted, deadline, long_day, moment
from routes.console.components.titles import finding_title
from routes.console.pages.photographs import finding_photographs, photographs_of_findings
from routes.console.pages.rows import own_view, show_page
from routes.console.session import auth
from routes.functions.registry import FUNCTIONS
from routes.postgrest.limits import LimitExceeded
from routes.postgrest.requests import UnknownPath

NAME = "findings"
EVENTS = "finding_events"
PRINT = "With photographs"
SHOWN_MAX = 200
FIRST_VIEW = "status=eq.open"
COLUMNS = "select=id,inspection_id,place,item,description,severity,status,due_at"
NOTE = Field("note", "Note", "textarea")
REQUIRED_NOTE = Field("note", "Note", "textarea", required=True)


@dataclass(frozen=True, slots=True)
class FindingMove:
    """A button of findings: its label, the statuses that it applies to, its form, and the target that it asks for."""

    verb: str
    done: str
    sources: tuple[str, ...]
    target: str
    fields: tuple[Field, ...] = (REQUIRED_NOTE,)


MOVES: Mapping[str, FindingMove] = {
    FIXED: FindingMove("Mark fixed", FIXED, (OPEN,), FIXED, (NOTE,)),
    VERIFIED: FindingMove("Verify", VERIFIED, (FIXED,), VERIFIED, (NOTE,)),
    WAIVED: FindingMove("Waive", WAIVED, (OPEN, FIXED), WAIVED),
    EXTENDED: FindingMove(
        "Extend", EXTENDED, (OPEN,), OPEN, (Field("due_at", "New deadline", "date", required=True), REQUIRED_NOTE)
    ),
    REOPENED: FindingMove("Reopen", REOPENED, (FIXED, VERIFIED, WAIVED), OPEN),
    REMARK: FindingMove("Remark", "remarked", FINDING_STATUSES, REMARK),
}
"""The moves by the kind of event that they add."""

EVENT_WORDS: Mapping[str, str] = {
    MADE: "Found",
    FIXED: "Marked fixed",
    VERIFIED: "Verified",
    WAIVED: "Waived",
    REOPENED: "Reopened",
    EXTENDED: "Deadline extended",
    REMARK: "Remark",
}
"""What happened, by the kind of an event."""


# Deadlines


def now() -> datetime.datetime:
    return datetime.datetime.fromtimestamp(current_time(), datetime.UTC)


def start_of(day: datetime.date) -> datetime.datetime:
    """Return the moment at which a day begins in TIMEZONE."""
    return datetime.datetime.combine(day, datetime.time(), database().time_zone).astimezone(datetime.UTC)


def due_text(row: Row) -> str:
    """Return the day of the deadline, and for an open finding how late it is."""
    day = local_day(datetime.datetime.fromisoformat(row["due_at"]).timestamp())
    return f"{deadline(row['due_at'], now())}, {long_day(day)}" if row["status"] == OPEN else long_day(day)


def due_cell(row: Row) -> tuple[str, str]:
    """Return the deadline. A list, whose rows have fewer columns than a page, has no room for the day."""
    is_listed = "closed_at" not in row and row["status"] == OPEN
    return deadline(row["due_at"], now()) if is_listed else due_text(row), ""


def named_deadlines() -> dict[tuple[str, str], Pairs]:
    """Return the filters of the list by deadline, as of now."""
    begin, today = now(), local_day(current_time())
    since = ("due_at", f"gte.{begin.isoformat()}")
    return {
        ("due_at", "late"): (("due_at", f"lt.{begin.isoformat()}"),),
        ("due_at", "today"): (since, ("due_at", f"lt.{start_of(today + datetime.timedelta(1)).isoformat()}")),
        ("due_at", "week"): (since, ("due_at", f"lt.{start_of(today + datetime.timedelta(7)).isoformat()}")),
    }


# Visits and events


def add_visit_titles(caller: Caller, rows: list[Row], column: str) -> None:
    """Add the titles of the inspections that a column of rows names, as far as the caller sees them."""
    ids = {row[column] for row in rows if row.get(column) is not None}
    table = table_of("inspections")
    text = f"select={table.title_select}&id=in.({','.join(map(str, ids))})"
    visits = queries.select_rows(caller, table.name, text, limit=len(ids)).rows if ids else []
    titles = {visit["id"]: table.title(visit) for visit in visits}
    for row in rows:
        row[f"{column}_title"] = titles.get(row.get(column))


def titled_visit(row: Row, column: str, noun: str) -> tuple[str, str]:
    """Return the title of an inspection with its link; the inspection of a case is its first visit."""
    if row[column] is None:
        return "–", ""
    title = row[f"{column}_title"]
    return (title, f"{PATH}/inspections/{row[column]}") if title is not None else (f"{noun} {row[column]}", "")


@own_view(EVENTS, "")
def list_events(table: Table, caller: Caller) -> Response:
    return list_page(
        table, caller, more=MoreFilters({"kind": {f"eq.{kind}": text for kind, text in EVENT_WORDS.items()}})
    )


def views() -> list[tuple[str, str]]:
    return [
        ("Open", FIRST_VIEW),
        ("Late", "status=eq.open&due_at=late"),
        ("Today", "status=eq.open&due_at=today"),
        ("This week", "status=eq.open&due_at=week"),
        ("To verify", "status=eq.fixed"),
        ("All", ""),
    ]


# Moves


def movable(caller: Caller, kind: str, ids: Sequence[int]) -> set[int]:
    """Return those of the visible findings to which the caller may add this kind of event."""
    due_at = "" if kind == EXTENDED else None
    with reading() as transaction:
        found = findings.read_findings(transaction, caller, Move(MOVES[kind].target, due_at=due_at), ids)
    return {each.id for each in found if each.is_allowed}


def findings_of_case(caller: Caller, key: int, case_id: int) -> list[Row]:
    """Return the findings of an inspection and those of its case that are not waived, with the moves of each.

    A re-inspection verifies findings, also open ones, and the fixed ones are the first. The first visit verifies none.
    """
    of_case = f"and(case_id.eq.{case_id},status.neq.{WAIVED})"
    text = f"{COLUMNS}&or=(inspection_id.eq.{key},{of_case})&order=due_at,id"
    rows = queries.first_page(caller, NAME, text, SHOWN_MAX).rows
    ids = [row["id"] for row in rows]
    is_first = key == case_id
    sources = {FIXED: (OPEN,)} if is_first else {FIXED: (OPEN,), VERIFIED: (OPEN, FIXED)}
    allowed = {kind: movable(caller, kind, ids) for kind in sources}
    photographs = photographs_of_findings(caller, ids)
    for row in rows:
        row["photographs"] = photographs.get(row["id"], [])
        row["due"] = due_text(row)
        row["moves"] = [
            (kind, MOVES[kind].verb)
            for kind, permitted in allowed.items()
            if row["id"] in permitted and row["status"] in sources[kind]
        ]
    order = FINDING_STATUSES if is_first else (FIXED, OPEN, VERIFIED, WAIVED)
    return sorted(rows, key=lambda row: order.index(row["status"]))


def move_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    """Return the buttons of a finding's page."""
    return [
        (move.verb, f"{PATH}/{NAME}/move/{kind}?ids={row['id']}&back=/{NAME}/{row['id']}")
        for kind, move in MOVES.items()
        if row["status"] in move.sources and movable(caller, kind, [row["id"]])
    ]


def form_of(caller: Caller, kind: str, source: MultiDict[str, str]) -> tuple[list[int], FunctionForm]:
    """Return the findings that a request names, and the form that moves them."""
    if kind not in MOVES:
        raise UnknownPath
    ids = chosen_ids(table_of(NAME), caller, source, deadline_filters())
    move, back = MOVES[kind], return_path(source, NAME)
    title = f"{move.verb}: {title_of(caller, ids)}"
    hidden = (("ids", ",".join(map(str, ids))), ("back", back), ("visit", source.get("visit", "")))
    return ids, FunctionForm(title, move.verb, move.fields, back, hidden)


def title_of(caller: Caller, ids: Sequence[int]) -> str:
    """Return the title of a single finding that the caller sees, or the number of findings."""
    table = table_of(NAME)
    row = queries.first_row(caller, NAME, f"select={table.title_select}&id=eq.{ids[0]}") if len(ids) == 1 else None
    return table.title(row) if row is not None else counted(len(ids), "finding")


@bp.get(f"/{NAME}/move/<kind>")
@auth.requires_session()
def show_move(caller: Caller, kind: str) -> Response:
    try:
        ids, form = form_of(caller, kind, request.args)
    except (InvalidInput, LimitExceeded) as fault:
        return ask_for_ticks(return_path(request.args, NAME), "finding", MOVES[kind].verb, fault)
    if not ids:
        return ask_for_ticks(form.back, "finding", MOVES[kind].verb)
    refused = len(set(ids) - movable(caller, kind, ids))
    if refused and not policy.may_move_findings(caller.profile, kind):
        raise policy.PermissionDenied("permission denied for function move_findings")
    if refused:
        why = InvalidInput(f"You may not move {refused} of {counted(len(ids), 'ticked finding')}")
        return ask_for_ticks(form.back, "finding", MOVES[kind].verb, why)
    return form.page(FormValues({}))


@bp.post(f"/{NAME}/move/<kind>")
@auth.requires_call(FUNCTIONS["move_findings"])
def submit_move(caller: Caller, kind: str) -> Response:
    ids, form = form_of(caller, kind, g.form)
    if not ids:
        return ask_for_ticks(form.back, "finding", MOVES[kind].verb)

    def call(arguments: dict[str, Any]) -> tuple[str, Undo | None]:
        if "p_due_at" in arguments:
            day = datetime.date.fromisoformat(read_date(arguments["p_due_at"]))
            arguments["p_due_at"] = end_of_day(day, database().time_zone).astimezone(datetime.UTC).isoformat()
        arguments["p_to"] = MOVES[kind].target
        with writing() as transaction:
            mover = load_caller(transaction)

            def move() -> int:
                return sum(
                    queries.call(
                        transaction,
                        mover,
                        "move_findings",
                        {**arguments, "p_finding_ids": group, "p_inspection_id": visit},
                    )["moved"]
                    for visit, group in by_visit(mover, kind, ids, g.form.get("visit", "")).items()
                )

            moved = once(transaction, mover, "move_findings", move)
        done = f"{counted(moved, 'finding')} {MOVES[kind].done}."
        return done, undo_of(mover, kind, ids, form) if moved == len(ids) else None

    return form.submit(call)


def undo_of(caller: Caller, kind: str, ids: list[int], form: FunctionForm) -> Undo | None:
    """Return the form that reopens findings, or None if the move closes none or the caller may not reopen them."""
    if MOVES[kind].target not in MOVES[REOPENED].sources or movable(caller, REOPENED, ids) != set(ids):
        return None
    return Undo(f"/{NAME}/move/reopened", (*form.hidden, ("note", "Undo")))


def by_visit(caller: Caller, kind: str, ids: list[int], visit: str) -> dict[object, list[int]]:
    """Return the findings by the inspection that verifies them: by default the one that found them."""
    if visit or kind != VERIFIED:
        return {visit: ids}
    rows = queries.select_rows(
        caller, NAME, f"select=id,inspection_id&id=in.({','.join(map(str, ids))})", limit=len(ids)
    )
    groups: dict[object, list[int]] = {}
    for row in rows.rows:
        groups.setdefault(row["inspection_id"], []).append(row["id"])
    if sum(map(len, groups.values())) != len(ids):
        raise UnknownPath
    return groups


@bp.get(f"/{NAME}/photographs")
@auth.requires_session()
def show_photographs(caller: Caller) -> Response:
    """Show the ticked findings with their photographs, to print them."""
    back = return_path(request.args, NAME)
    try:
        ids = chosen_ids(table_of(NAME), caller, request.args, deadline_filters())
    except (InvalidInput, LimitExceeded) as fault:
        return ask_for_ticks(back, "finding", PRINT, fault)
    if not ids:
        return ask_for_ticks(back, "finding", PRINT)
    table = table_of(NAME)
    text = f"select={table.select('*')}&id=in.({','.join(map(str, ids))})&order=due_at,id"
    rows = queries.first_page(caller, NAME, text, len(ids)).rows
    photographs = photographs_of_findings(caller, ids)
    shown = [(table.title(row), table.url(row), row, due_text(row), photographs.get(row["id"], ())) for row in rows]
    return render_page("findings_photographs.html", title="Findings with photographs", findings=shown, back=back)


# Pages of any row


def deadline_filters() -> MoreFilters:
    return MoreFilters({"due_at": {"late": "Late", "today": "Today", "week": "This week"}}, named_deadlines())


@own_view(NAME, "")
def list_findings(table: Table, caller: Caller) -> Response:
    bulk = [
        (move.verb, f"{PATH}/{NAME}/move/{kind}")
        for kind, move in MOVES.items()
        if policy.may_move_findings(caller.profile, kind)
    ]
    bulk.append((PRINT, f"{PATH}/{NAME}/photographs"))
    return list_page(table, caller, more=deadline_filters(), views=views(), counts_views=True, bulk=bulk)


@own_view(NAME, ".csv")
def download_findings(table: Table, caller: Caller) -> Response:
    return downloads.download(table, caller, deadline_filters())


@own_view(NAME, "/{key}")
def show_finding(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, sections=(finding_photographs,), actions=move_links)


PRESENTATIONS[NAME] = Presentation(
    first_view=FIRST_VIEW,
    title=finding_title,
    title_columns=("status", "item", "place"),
    title_references=("inspection_id",),
    badges=("severity", "status"),
    orders={"inspection_id": "inspections(buildings)"},
    prepare=lambda caller, rows: add_visit_titles(caller, rows, "case_id"),
    cells={"due_at": due_cell, "case_id": lambda row: titled_visit(row, "case_id", "Case")},
    hidden=("ref",),
    slim="place",
    without_field=("ref",),
    related=lambda caller, column, row: False,
)
PRESENTATIONS[EVENTS] = Presentation(
    part_of="finding_id",
    related=lambda caller, column, row: column == "finding_id",
    title=lambda row: f"{EVENT_WORDS[row['kind']]}, {moment(row['at'])}",
    title_columns=("kind",),
    prepare=lambda caller, rows: add_visit_titles(caller, rows, "inspection_id"),
    cells={
        "kind": lambda row: (EVENT_WORDS[row["kind"]], ""),
        "inspection_id": lambda row: titled_visit(row, "inspection_id", "Inspection"),
    },
)
