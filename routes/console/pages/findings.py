"""Findings: the list by deadline, the forms that move one or many, and the report of a building's defect."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.policy import PermissionDenied
from access.session import current_time
from engine.open import database, local_day, reading, writing
from engine.query.statement import Action
from engine.rows import EMBEDDED_MAX
from inspections import findings
from inspections.deadlines import end_of_day
from inspections.findings import may_report_defect, were_moved
from models import FindingEvent, finding_move
from models.finding_move import FINDING_STATUSES, UNRESOLVED, FindingMove
from models.types import InvalidInput, read_date
from models.vocabulary import FIXED, MADE, NOTIFIED, OPEN, REGRADED, REOPENED, VERIFICATIONS, VERIFIED, WAIVED
from routes.console.components import lists, queries, records, row_choice
from routes.console.components.error_pages import RowsRefused
from routes.console.components.fields import Choice, Field, FormValues, choices, parameter_fields
from routes.console.components.lists import (
    MoreFilters,
    ask_for_ticks,
    chosen_ids,
    list_page,
    require_allowed,
    return_path,
)
from routes.console.components.page import Pairs, Undo, render_page
from routes.console.components.queries import once
from routes.console.components.records import FunctionForm, RecordForm
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import (
    counted,
    day,
    deadline,
    finding_title,
    inspection_title,
    moment,
    words,
)
from routes.console.pages.letters import bulk_links, letter_links
from routes.console.pages.photographs import finding_photographs, insert_with_files, photographs_of_findings
from routes.console.pages.rows import show_page
from routes.console.session import auth
from routes.console.session.file_forms import read_sent_files, removing_sent_files
from routes.console.session.urls import console_url
from routes.functions.rpc import FUNCTIONS
from routes.http.faults import UnknownPath
from routes.postgrest.lexer import LimitExceeded

NAME = "findings"
EVENTS = "finding_events"
PRINT = "With photographs"
NO_DEADLINE = "no deadline"
NAMED_DEADLINES = {"Late": "late", "Today": "today", "This week": "week"}
SHOWN_MAX = 200
ON_BUILDING_MAX = 15
VISIT_TITLE = "id,inspection_type,date_visited,buildings(name)"
FIRST_VIEW = f"status=eq.open&{row_choice.IN_USE}"
COLUMNS = "select=id,inspection_id,place,item,description,severity,status,due_at"
BUILDINGS, FUNCTION, VERB = "buildings", "report_defect", "Report a defect"
HOW_NAMES = {"visit": "A visit", "photo": "A photograph", "certificate": "A certificate"}
MOVE_FIELDS = parameter_fields(FUNCTIONS["move_findings"].parameters)
MOVE_FIELDS[finding_move.HOW] = replace(MOVE_FIELDS[finding_move.HOW], choices=choices(VERIFICATIONS, HOW_NAMES))
REGRADE_FIELDS = parameter_fields(FUNCTIONS["regrade_finding"].parameters)
DEFECT_FIELDS = tuple(parameter_fields(FUNCTIONS[FUNCTION].parameters).values())

MOVES: Mapping[str, FindingMove] = finding_move.MOVE_OF_KIND
"""The moves by the kind of event that they add."""

EVENT_WORDS: Mapping[str, str] = {
    MADE: "Found",
    **{kind: move.words for kind, move in MOVES.items()},
    NOTIFIED: "Named in a letter",
}
"""What happened, by the kind of an event."""


def fields_of(caller: Caller, kind: str, ids: Sequence[int]) -> tuple[Field, ...]:
    """Return the fields of a move's form. A single finding is verified by one of the later visits of its case."""
    move = MOVES[kind]
    if kind == REGRADED:
        return tuple(REGRADE_FIELDS.values())
    needed = tuple(replace(MOVE_FIELDS[name], required=True) for name in move.needs if name in MOVE_FIELDS)
    note = () if finding_move.NOTE in move.needs else (MOVE_FIELDS[finding_move.NOTE],)
    visits = later_visits(caller, ids)[ids[0]] if kind == VERIFIED and len(ids) == 1 else ()
    choices = tuple(Choice(str(each["id"]), inspection_title(each)) for each in visits)
    visit = (Field("visit", "Visit", "select", required=True, choices=choices),) if choices else ()
    return (*needed, *visit, *note)


def later_visits(caller: Caller, ids: Sequence[int]) -> dict[int, list[Row]]:
    """Return the started visits of later rounds by finding, the last one first, as far as the caller sees them."""
    key = f"id=in.({','.join(map(str, ids))})"
    found = queries.select_rows(caller, NAME, f"select=id,inspection_id,case_id&{key}", limit=len(ids)).rows
    cases = {row["case_id"] for row in found}
    text = f"select=inspection_id,case_id,round,inspections({VISIT_TITLE},status)&order=round.desc"
    among = f"{text}&case_id=in.({','.join(map(str, cases))})"
    plans = queries.first_page(caller, "inspection_plans", among, EMBEDDED_MAX).rows if cases else []
    rounds = {each["inspection_id"]: each["round"] for each in plans}
    return {
        row["id"]: [
            each["inspections"]
            for each in plans
            if each["case_id"] == row["case_id"]
            and each["round"] > rounds.get(row["inspection_id"], 1)
            and each["inspections"]["status"] in findings.STARTED
        ]
        for row in found
    }


# Deadlines


def now() -> datetime.datetime:
    return datetime.datetime.fromtimestamp(current_time(), datetime.UTC)


def start_of(day: datetime.date) -> datetime.datetime:
    """Return the moment at which a day begins in TIMEZONE."""
    return datetime.datetime.combine(day, datetime.time(), database().time_zone).astimezone(datetime.UTC)


def due_text(row: Row) -> str:
    """Return the day of the deadline, and for an open finding how late it is."""
    if row["due_at"] is None:
        return NO_DEADLINE
    return f"{deadline(row['due_at'], now())}, {day(row['due_at'])}" if row["status"] == OPEN else day(row["due_at"])


def due_cell(row: Row) -> tuple[str, str]:
    """Return the deadline. A list, whose rows have fewer columns than a page, has no room for the day."""
    return deadline(row["due_at"], now()) if due_day(row) else due_text(row), ""


def due_day(row: Row) -> str:
    """Return the day of a deadline that a list shows without it; paper has the day."""
    is_listed = "closed_at" not in row and row["status"] == OPEN and row["due_at"] is not None
    return day(row["due_at"]) if is_listed else ""


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
    return (title, console_url(f"/inspections/{row[column]}")) if title is not None else (f"{noun} {row[column]}", "")


def list_events(table: Table, caller: Caller) -> Response:
    return list_page(
        table, caller, more=MoreFilters({"kind": {f"eq.{kind}": text for kind, text in EVENT_WORDS.items()}})
    )


def views() -> list[tuple[str, str]]:
    return [
        ("Open", FIRST_VIEW),
        *((label, f"{FIRST_VIEW}&due_at={word}") for label, word in NAMED_DEADLINES.items()),
        *((each.view, f"status=eq.{each.target}&{row_choice.IN_USE}") for each in MOVES.values() if each.view),
        ("Closed buildings", row_choice.ONLY_CLOSED),
        ("All", ""),
    ]


# Moves


def movable(caller: Caller, kind: str, ids: Sequence[int]) -> set[int]:
    """Return those of the visible findings to which the caller may add this kind of event."""
    with reading() as transaction:
        found = findings.read_findings(transaction, caller, kind, ids)
    return {each.id for each in found if each.is_allowed}


def findings_of_case(caller: Caller, visit: Row, case_id: int) -> tuple[list[Row], bool]:
    """Return the findings of an inspection and those of its case that are not waived, with the moves of each, and
    whether there are more than the page shows.

    A started re-inspection verifies findings of earlier visits, also open ones, and the fixed ones are the first.
    """
    key = visit["id"]
    of_case = f"and(case_id.eq.{case_id},status.neq.{WAIVED})"
    text = f"{COLUMNS}&or=(inspection_id.eq.{key},{of_case})&order=due_at,id"
    page = queries.first_page(caller, NAME, text, SHOWN_MAX)
    rows, ids = page.rows, [row["id"] for row in page.rows]
    is_first = key == case_id
    kinds = (FIXED,) if is_first or visit["status"] not in findings.STARTED else (FIXED, VERIFIED)
    allowed = {kind: movable(caller, kind, ids) for kind in kinds}
    photographs = photographs_of_findings(caller, ids)
    for row in rows:
        row["photographs"] = photographs.get(row["id"], [])
        row["due"] = due_text(row)
        row["moves"] = [
            (kind, MOVES[kind].verb)
            for kind, permitted in allowed.items()
            if row["id"] in permitted
            and row["status"] in MOVES[kind].sources
            and (kind != VERIFIED or row["inspection_id"] < key)
        ]
    return sorted(
        rows, key=lambda row: (row["status"] != FIXED or is_first, FINDING_STATUSES.index(row["status"]))
    ), page.has_more


def findings_of_building(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the unresolved findings of a building, the next deadline first, with their photographs."""
    filters = f"inspections.building_id=eq.{row['id']}&status=in.({','.join(UNRESOLVED)})"
    page = queries.first_page(caller, NAME, f"{COLUMNS},inspections!inner()&{filters}&order=due_at,id", ON_BUILDING_MAX)
    photographs = photographs_of_findings(caller, [each["id"] for each in page.rows]) if page.rows else {}
    for each in page.rows:
        each["photographs"], each["due"] = photographs.get(each["id"], []), due_text(each)
    return "building_findings.html", {
        "first": True,
        "findings": page.rows,
        "has_more": page.has_more,
        "all": console_url(f"/{NAME}?{filters}"),
    }


def move_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    """Return the buttons of a finding's page."""
    moves = [
        (move.verb, console_url(f"/{NAME}/move/{kind}?ids={row['id']}&back=/{NAME}/{row['id']}"))
        for kind, move in MOVES.items()
        if row["status"] in move.sources
        and movable(caller, kind, [row["id"]])
        and (kind != VERIFIED or later_visits(caller, [row["id"]])[row["id"]])
        and not (kind == REGRADED and queries.is_reported(row["inspection_id"]))
    ]
    return [*moves, *letter_links(caller, row)]


def form_of(caller: Caller, kind: str, source: MultiDict[str, str]) -> tuple[list[int], FunctionForm]:
    """Return the findings that a request names, and the form that moves them."""
    if kind not in MOVES:
        raise UnknownPath
    ids = chosen_ids(source)
    move, back = MOVES[kind], return_path(source, NAME)
    title = f"{move.verb}: {title_of(caller, ids)}"
    hidden: Pairs = (("ids", ",".join(map(str, ids))), ("back", back))
    fields = fields_of(caller, kind, ids) if ids else ()
    if "visit" in source and not any(each.name == "visit" for each in fields):
        hidden = (*hidden, ("visit", source["visit"]))
    return ids, FunctionForm(title, move.verb, fields, back, hidden)


def title_of(caller: Caller, ids: Sequence[int]) -> str:
    """Return the title of a single finding that the caller sees, or the number of findings."""
    table = table_of(NAME)
    row = queries.first_row(caller, NAME, f"select={table.title_select}&id=eq.{ids[0]}") if len(ids) == 1 else None
    return table.title(row) if row is not None else counted(len(ids), "finding")


def require_right(caller: Caller, kind: str) -> None:
    """Raise PermissionDenied for a caller who may move no finding in this way."""
    if not policy.may_move_findings(caller.profile, kind):
        raise policy.PermissionDenied("permission denied for function move_findings")


@auth.requires_session()
def show_move(caller: Caller, kind: str) -> Response:
    try:
        ids, form = form_of(caller, kind, request.args)
    except (InvalidInput, LimitExceeded) as fault:
        return ask_for_ticks(return_path(request.args, NAME), "finding", MOVES[kind].verb, fault)
    if not ids:
        return ask_for_ticks(form.back, "finding", MOVES[kind].verb)
    require_right(caller, kind)
    allowed = movable(caller, kind, ids)
    try:
        require_allowed(table_of(NAME), caller, ids, allowed, "move")
    except RowsRefused as fault:
        return ask_for_ticks(form.back, "finding", MOVES[kind].verb, fault)
    return form.page(FormValues({each.name: each.choices[0].value for each in form.fields if each.name == "visit"}))


@auth.requires_call(FUNCTIONS["move_findings"])
def submit_move(caller: Caller, kind: str) -> Response:
    ids, form = form_of(caller, kind, g.form)
    if not ids:
        return ask_for_ticks(form.back, "finding", MOVES[kind].verb)
    require_right(caller, kind)

    def call(arguments: dict[str, Any]) -> tuple[str, Undo | None]:
        if "p_due_at" in arguments:
            day = datetime.date.fromisoformat(read_date(arguments["p_due_at"]))
            arguments["p_due_at"] = end_of_day(day, database().time_zone).astimezone(datetime.UTC).isoformat()
        chosen = arguments.pop("p_visit", "") or g.form.get("visit", "")
        with writing() as transaction:
            mover = load_caller(transaction)

            def move() -> int:
                if kind == REGRADED:
                    for each in ids:
                        queries.call(transaction, mover, "regrade_finding", {**arguments, "p_finding_id": each})
                    return len(ids)
                target = {"p_to": MOVES[kind].target or kind}
                return sum(
                    queries.call(
                        transaction,
                        mover,
                        "move_findings",
                        {**arguments, **target, "p_finding_ids": group, "p_inspection_id": visit},
                    )["moved"]
                    for visit, group in by_visit(mover, kind, ids, chosen).items()
                )

            moved = once(transaction, mover, "move_findings", move)
        done = f"{counted(moved, 'finding')} {MOVES[kind].done or kind}."
        return done, undo_of(mover, kind, ids, form) if moved == len(ids) else None

    return form.submit(call)


def undo_of(caller: Caller, kind: str, ids: list[int], form: FunctionForm) -> Undo | None:
    """Return the form that reopens findings, or None if the move closes none or the caller may not reopen them."""
    if MOVES[kind].target not in MOVES[REOPENED].sources or movable(caller, REOPENED, ids) != set(ids):
        return None
    return Undo(f"/{NAME}/move/reopened", (*form.hidden, ("note", "Undo")))


def by_visit(caller: Caller, kind: str, ids: list[int], visit: str) -> dict[object, list[int]]:
    """Return the findings by the inspection that verifies them: by default the last started one of their case."""
    if visit or kind != VERIFIED:
        return {visit: ids}
    visits = later_visits(caller, ids)
    groups: dict[object, list[int]] = {}
    for each in ids:
        if each not in visits:
            raise UnknownPath
        last = visits[each][0]["id"] if visits[each] else ""
        groups.setdefault(last, []).append(each)
    return groups


@auth.requires_session()
def show_photographs(caller: Caller) -> Response:
    """Show the ticked findings with their photographs, to print them."""
    back = return_path(request.args, NAME)
    try:
        ids = chosen_ids(request.args)
    except (InvalidInput, LimitExceeded) as fault:
        return ask_for_ticks(back, "finding", PRINT, fault)
    if not ids:
        return ask_for_ticks(back, "finding", PRINT)
    table = table_of(NAME)
    text = f"select={table.select('*')}&id=in.({','.join(map(str, ids))})&order=due_at,id"
    rows = queries.first_page(caller, NAME, text, len(ids)).rows
    photographs = photographs_of_findings(caller, ids)
    shown = [(table.title(row), table.url(row), row, due_text(row), photographs.get(row["id"], ())) for row in rows]
    return render_page(
        "findings_photographs.html",
        title="Findings with photographs",
        findings=shown,
        back=back,
        company=queries.company_of(caller),
    )


# The entry of a visit


@removing_sent_files
@auth.requires_session(writes=True, read_files=read_sent_files)
def add_finding(caller: Caller, key: int) -> Response:
    """Add a finding with its photographs, all of it or nothing."""
    sent = g.get("sent_files", [])
    if not sent:
        return records.submit_quick_entry(caller, key, NAME)
    if not queries.records_visit(caller, key):
        raise UnknownPath
    return records.submit_quick_entry(caller, key, NAME, lambda name, row: insert_with_files(name, row, sent))


# Pages of any row


def finding_filters(caller: Caller) -> MoreFilters:
    """Return the filters of the list of findings beyond those of its columns."""
    selects = {
        "status": {f"in.({','.join(UNRESOLVED)})": words(" or ".join(UNRESOLVED))},
        "due_at": {word: label for label, word in NAMED_DEADLINES.items()},
        row_choice.CLOSED: row_choice.OPTIONS,
    }
    named = {**named_deadlines(), **row_choice.named_filters(caller, "inspections", "buildings")}
    return MoreFilters(selects, named, labels={row_choice.CLOSED: row_choice.LABEL})


def list_findings(table: Table, caller: Caller) -> Response:
    bulk = [
        (move.verb, console_url(f"/{NAME}/move/{kind}"))
        for kind, move in MOVES.items()
        if policy.may_move_findings(caller.profile, kind)
    ]
    bulk += bulk_links(caller)
    bulk.append((PRINT, console_url(f"/{NAME}/photographs")))
    rules = table_of("deadline_rules")
    links = [(rules.plural, console_url(rules.path))] if rules.permits(caller, Action.READ) else []
    return list_page(
        table,
        caller,
        more=finding_filters(caller),
        views=views(),
        counts_views=True,
        actions=lambda query: links,
        bulk=bulk,
    )


def download_findings(table: Table, caller: Caller) -> Response:
    return lists.download(table, caller, finding_filters(caller))


def finding_form(table: Table, caller: Caller) -> RecordForm:
    """Return the form with the time at which the finding was made."""
    record = records.record_form(table, caller)
    found = records.field_of(table, caller, table.relation.attributes["found_at"])
    return replace(record, fields=(*record.fields, found), initial={found.name: now().isoformat(timespec="seconds")})


def show_finding(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, sections=(finding_photographs,), actions=move_links, stays=was_moved)


def was_moved(caller: Caller, row: Row) -> bool:
    """Return whether a finding was moved: then it is not deleted."""
    text = f"select=finding_id,kind,at&finding_id=eq.{row['id']}"
    return were_moved(queries.first_page(caller, FindingEvent.__tablename__, text, EMBEDDED_MAX).rows)


PRESENTATIONS = {
    NAME: Presentation(
        first_view=FIRST_VIEW,
        title=finding_title,
        title_columns=("status", "item", "place"),
        title_references=("inspection_id",),
        badges=("severity", "status"),
        orders={"inspection_id": "inspections(buildings)"},
        prepare=lambda caller, rows: add_visit_titles(caller, rows, "case_id"),
        cells={"due_at": due_cell, "case_id": lambda row: titled_visit(row, "case_id", "Case")},
        printed={"due_at": due_day},
        hidden=("ref",),
        slim="place",
        without_field=("ref", "due_at"),
        related_by=(),
    ),
    "deadline_rules": Presentation(in_navigation=False),
    EVENTS: Presentation(
        part_of="finding_id",
        related_by=("finding_id",),
        title=lambda row: f"{EVENT_WORDS[row['kind']]}, {moment(row['at'])}",
        title_columns=("kind",),
        prepare=lambda caller, rows: add_visit_titles(caller, rows, "inspection_id"),
        cells={
            "kind": lambda row: (EVENT_WORDS[row["kind"]], ""),
            "inspection_id": lambda row: titled_visit(row, "inspection_id", "Inspection"),
        },
    ),
}


def defect_links(caller: Caller, row: Row) -> list[tuple[str, str]]:
    """Return the link to the form, for a caller who may report a defect of a building."""
    with reading() as transaction:
        is_allowed = may_report_defect(transaction, caller, row["id"])
    return [(VERB, console_url(f"/{BUILDINGS}/{row['id']}/defect"))] if is_allowed else []


def defect_form(caller: Caller, key: int) -> FunctionForm:
    """Raise UnknownPath or PermissionDenied for a caller who may not report a defect of this building."""
    table = table_of(BUILDINGS)
    row = queries.first_row(caller, BUILDINGS, f"select={table.title_select}&id=eq.{key}")
    if row is None:
        raise UnknownPath
    with reading() as transaction:
        if not may_report_defect(transaction, caller, key):
            raise PermissionDenied("permission denied to report a defect of this building")
    title = f"{VERB}: {table.title(row)}"
    return FunctionForm(title, VERB, DEFECT_FIELDS, f"/{BUILDINGS}/{key}")


@auth.requires_call(FUNCTIONS[FUNCTION])
def show_defect(caller: Caller, key: int) -> Response:
    return defect_form(caller, key).page(FormValues({}))


@auth.requires_call(FUNCTIONS[FUNCTION])
def submit_defect(caller: Caller, key: int) -> Response:
    def call(arguments: dict[str, Any]) -> tuple[str, Undo | None]:
        given = {name: text for name, text in arguments.items() if text}
        made = queries.call_to_write(FUNCTION, {**given, "p_building_id": key})
        return f"Defect reported as finding {made['finding_id']}.", None

    return defect_form(caller, key).submit(call)
