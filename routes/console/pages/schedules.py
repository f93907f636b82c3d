"""Schedules: those of a building, common intervals, and one schedule for many buildings."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from flask import Response, g, request

from access.caller import Caller
from access.session import current_time
from engine.open import local_day, reading
from engine.query.statement import Action
from inspections import planned_visits
from inspections.recurrence import COMMON_INTERVALS
from inspections.schedules import spread_day
from models import Schedule
from models.types import BIGINT, Fault, InvalidInput
from models.vocabulary import COUNTED_FROM
from routes.console.components import fields, queries, row_choice
from routes.console.components.display import Cell, Heading, Shown
from routes.console.components.fields import Field, FormValues, parameter_fields
from routes.console.components.list_query import ListQuery, parse_list_query
from routes.console.components.lists import MoreFilters, listing_of
from routes.console.components.page import Undo, render_confirmation
from routes.console.components.records import (
    PREVIEW,
    FunctionForm,
    RecordForm,
    field_of,
    form_page,
    read_ids,
    record_form,
    require_row,
    save,
    update_row,
)
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import (
    capital,
    counted,
    interval,
    lateness,
    long_day,
    name,
    schedule_name,
    schedule_title,
    status,
    type_cell,
    type_name,
)
from routes.console.pages.findings import add_visit_titles, titled_visit
from routes.console.pages.rows import show_page
from routes.console.pages.undo import undo_of
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.functions.rpc import FUNCTIONS
from routes.postgrest.lexer import LimitExceeded
from routes.postgrest.payload import decode_pairs

NAME, PLANS, BUILDINGS = "schedules", "inspection_plans", "buildings"
SCHEDULES_SHOWN = 50
BUILDINGS_MAX = 1_000
BUILDINGS_IN_URL = 100
PREVIEWED = 6
PLAN = f"{PLANS}(inspection_id,due_on,inspections(id,date_visited,status))"
COLUMNS = (
    f"select=id,inspection_type,title,every,unit,grace_days,ended_on,open:{PLAN},last:{PLAN}"
    "&open.outcome=is.null&last.outcome=eq.done&last.order=occurrence.desc&last.limit=1"
)
APPLIED = (
    "inspection_type", "title", "every", "unit", "counted_from", "first_due", "grace_days", "early_days",
    "inspector_id", "basis",
)  # fmt: skip
SPREAD = parameter_fields(FUNCTIONS["apply_schedule"].parameters)["p_spread_days"]


# The schedules of a building


def building_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    table, today = table_of(NAME), local_day(current_time())
    text = f"{COLUMNS}&building_id=eq.{row['id']}&order=ended_on.desc.nullsfirst,inspection_type,title,id"
    rows = queries.first_page(caller, NAME, text, SCHEDULES_SHOWN).rows
    headings = [Heading("Schedule", ""), Heading("Interval", "wide"), Heading("Next due", "")]
    headings += [Heading(label, "wide") for label in ("Booked for", "Last result")]
    return "related.html", {
        "other": table,
        "shown": Shown(headings, [schedule_cells(each, today) for each in rows], [str(each["id"]) for each in rows]),
        "actions": {str(each["id"]): schedule_links(each) for each in rows} if may_edit else {},
        "all": console_url(f"{table.path}?building_id=eq.{row['id']}"),
        "new": console_url(f"{table.path}/new?building_id={row['id']}") if may_edit else "",
    }


def schedule_cells(row: Row, today: datetime.date) -> list[Cell]:
    due, booked = Cell(f"Ended {long_day(row['ended_on'])}" if row["ended_on"] else "–"), Cell("–")
    for plan in row["open"]:
        due, booked = Cell(due_text(plan, row, today)), visit_cell(plan)
    last = [
        Cell(f"{status(each['inspections']['status'])}, {visit_cell(each).text}", visit_cell(each).url)
        for each in row["last"]
    ]
    every = capital(interval(row["every"], row["unit"]))
    return [
        Cell(schedule_name(row), console_url(f"/{NAME}/{row['id']}")),
        Cell(every),
        due,
        booked,
        *(last or [Cell("–")]),
    ]


def due_text(plan: Row, schedule: Row, today: datetime.date) -> str:
    """Return the due date of an open plan, and how late it is after the days of grace."""
    is_late = str(today - datetime.timedelta(schedule["grace_days"])) > plan["due_on"]
    day = long_day(plan["due_on"])
    return f"{day}, {lateness(plan['due_on'], today)}" if is_late else day


def visit_cell(plan: Row) -> Cell:
    return Cell(
        capital(long_day(plan["inspections"]["date_visited"])), console_url(f"/inspections/{plan['inspection_id']}")
    )


def schedule_links(row: Row) -> list[tuple[str, str]]:
    links = [("Skip", console_url(f"/inspections/{each['inspection_id']}/skip_occurrence")) for each in row["open"]]
    return [*links, *([("End", console_url(f"/{NAME}/{row['id']}/end"))] if not row["ended_on"] else [])]


# The form of a schedule


def schedule_section(texts: Mapping[str, str], key: int | None = None) -> Section:
    """Return the common intervals, the next dates of an interval, and the open visits of the schedule `key`."""
    offers = [
        f"{type_name(each.inspection_type)}, {each.title}: {interval(each.every, each.unit)} ({each.basis})"
        for each in COMMON_INTERVALS
    ]
    return "schedule_form.html", {
        "offers": offers,
        "dates": shown_dates(texts),
        "visits": open_visit_lines(key) if key is not None else (),
    }


def open_visit_lines(key: int) -> list[tuple[str, str, bool]]:
    """Return the day of each open visit of a schedule, its URL, and whether it follows changes of the schedule."""
    with reading() as transaction:
        open_visits = planned_visits.read_open_visits(transaction, "schedule_id", [(key,)])
        following = planned_visits.without_records(transaction, open_visits)
    return [
        (long_day(each.visited), console_url(f"/inspections/{each.inspection_id}"), each in following)
        for each in open_visits
    ]


def with_common_interval(values: FormValues) -> FormValues:
    """Return the values with the common interval of the pressed button. A typed title and a typed date stay."""
    chosen = {str(number): each for number, each in enumerate(COMMON_INTERVALS)}.get(g.form[PREVIEW])
    if chosen is None:
        return values
    filled = {name: fields.as_text(value) for name, value in asdict(chosen).items()}
    own_title = values.typed.get("title", "").strip()
    if own_title and own_title not in {each.title for each in COMMON_INTERVALS}:
        filled["title"] = own_title
    first_due = values.typed.get("first_due") or str(local_day(current_time()))
    return FormValues({**values.typed, **filled, "first_due": first_due}, seen=values.seen)


def preview(caller: Caller, texts: Mapping[str, str]) -> list[str]:
    """Return the first dates of a schedule's form. Raise a fault if its interval is not valid."""
    arguments = {f"p_{each}": texts.get(each, "").strip() for each in ("every", "unit", "first_due")}
    with reading() as transaction:
        dates: list[str] = queries.call(transaction, caller, "preview_schedule", {**arguments, "p_count": PREVIEWED})
    return dates


def shown_dates(texts: Mapping[str, str]) -> list[str]:
    try:
        return preview(g.caller, texts)
    except Fault:
        return []


def end_form() -> RecordForm:
    hint = "An open inspection that is due later is deleted, unless it was edited."
    return RecordForm(table_of(NAME), (Field("ended_on", "Ended on", "date", required=True, hint=hint),), verb="End")


@auth.requires(Action.UPDATE, Schedule)
def show_end(caller: Caller, key: int) -> Response:
    row = require_row(caller, Action.UPDATE, NAME, f"id=eq.{key}", f"select={table_of(NAME).select('*')}")
    return form_page(end_form(), FormValues({"ended_on": str(local_day(current_time()))}), row)


@auth.requires(Action.UPDATE, Schedule)
def end(caller: Caller, key: int) -> Response:
    return update_row(table_of(NAME), caller, key, lambda table, caller: end_form())


# One schedule for many buildings


def apply_links(caller: Caller, query: ListQuery) -> list[tuple[str, str]]:
    if not table_of(NAME).permits(caller, Action.INSERT):
        return []
    text = urlencode({"buildings": query.url().partition("?")[2]})
    return [("Apply a schedule to these buildings", console_url(f"/{NAME}/apply?{text}"))]


def apply_fields(caller: Caller) -> tuple[Field, ...]:
    table = table_of(NAME)
    return (*(field_of(table, caller, table.relation.attributes[each]) for each in APPLIED), SPREAD)


def apply_form(caller: Caller, number: int, values: Mapping[str, str], ids: str = "") -> FunctionForm:
    back = f"/{BUILDINGS}?{request.args.get('buildings', '')}".rstrip("?")
    heading = f"Apply a schedule to {counted(number, 'building')}"
    hidden = (("ids", ids),) if ids else ()
    return FunctionForm(heading, "Continue", apply_fields(caller), back, hidden, schedule_section(values))


def building_filters(caller: Caller) -> MoreFilters:
    """Return the filters of the list of buildings, which the links to its rows carry."""
    return MoreFilters(
        {row_choice.CLOSED: row_choice.OPTIONS},
        row_choice.named_filters(caller),
        labels={row_choice.CLOSED: row_choice.LABEL},
    )


def chosen_buildings(caller: Caller) -> list[Row]:
    """Return the buildings of the URL's list on which the caller may make schedules."""
    listing = listing_of(table_of(BUILDINGS), caller, more=building_filters(caller))
    query = parse_list_query(listing, decode_pairs(request.args.get("buildings", "").encode()))
    found = queries.select_rows(caller, BUILDINGS, query.text(), limit=BUILDINGS_MAX + 1, within=Action.UPDATE).rows
    if len(found) > BUILDINGS_MAX:
        raise LimitExceeded(BUILDINGS_MAX, "buildings at once")
    return found


@auth.requires(Action.INSERT, Schedule)
def show_apply(caller: Caller) -> Response:
    form = apply_form(caller, len(chosen_buildings(caller)), {})
    return form.page(FormValues({"counted_from": COUNTED_FROM[0]}))


@auth.requires(Action.INSERT, Schedule)
def confirm_apply(caller: Caller) -> Response:
    """Ask before the schedules are made. The form of the question names the buildings."""
    buildings = chosen_buildings(caller)
    ids = [row["id"] for row in buildings]
    values = fields.read_texts(apply_fields(caller), g.form)
    if PREVIEW in g.form:
        values = with_common_interval(values)
    form = apply_form(caller, len(ids), values.typed)
    if PREVIEW in g.form:
        return form.page(values)

    def ask() -> Response:
        dates = preview(caller, values.typed)
        existing = buildings_with_schedule(caller, values.typed, ids)
        if len(existing) == len(ids):
            raise InvalidInput("Each of the buildings has a schedule of this type and title")
        days = first_days(values.typed, dates[0], [each not in existing for each in ids])
        late = sum(day < str(local_day(current_time())) for day in days)
        every = interval(int(values.typed["every"]), values.typed["unit"])
        days_shown = ", ".join(map(long_day, dates))
        sentences = [f"{type_name(values.typed['inspection_type'])}, {every}, first on {days_shown}."]
        if days and min(days) != max(days):
            sentences.append(f"First dates from {long_day(min(days))} to {long_day(max(days))}.")
        if existing:
            sentences.append(f"{counted(len(existing), 'building')} with this schedule will be left out.")
        if late:
            sentences.append(f"{counted(late, 'visit')} will be overdue at once.")
        return render_confirmation(
            f"Apply a schedule to {counted(len(ids) - len(existing), 'building')}?",
            " ".join(sentences),
            names=[name(row["name"], 80) for row in buildings if row["id"] not in existing],
            verb="Apply",
            action=f"/{NAME}/apply/confirm?{urlencode({'buildings': request.args.get('buildings', '')})}",
            back=form.back,
            fields=(*values.typed.items(), ("ids", ",".join(map(str, ids)))),
        )

    return save(values, ask, lambda code: form.page(values, code))


@auth.requires_call(FUNCTIONS["apply_schedule"])
def apply(caller: Caller) -> Response:
    ids = read_ids([g.form.get("ids", "")])
    values = fields.read_texts(apply_fields(caller), g.form)

    def call(arguments: dict[str, Any]) -> tuple[str, Undo | None]:
        counts = queries.call_to_write("apply_schedule", {**arguments, "p_building_ids": ids})
        done = f"{counted(counts['made'], 'schedule')} created, {counts['already']:,} existed before."
        made = f"relation=eq.{NAME}&action=eq.insert&actor_id=eq.{caller.id}"
        return done, undo_of(caller, made) if counts["made"] else None

    filters = schedule_filters(values.typed, ids if len(ids) <= BUILDINGS_IN_URL else ())
    form = apply_form(caller, len(ids), values.typed, ",".join(map(str, ids)))
    return replace(form, result=f"/{NAME}?{filters}").submit(call)


def schedule_filters(typed: Mapping[str, str], ids: Sequence[int]) -> str:
    """Return the query string of the schedules of a type and title; without ids, of every building."""
    pairs = {each: f"eq.{typed[each].strip()}" for each in ("inspection_type", "title")}
    return urlencode(pairs | ({"building_id": f"in.({','.join(map(str, ids))})"} if ids else {}), safe="(),")


def buildings_with_schedule(caller: Caller, typed: Mapping[str, str], ids: Sequence[int]) -> set[int]:
    if not ids:
        return set()
    text = f"select=building_id&{schedule_filters(typed, ids)}"
    return {row["building_id"] for row in queries.select_rows(caller, NAME, text, limit=len(ids)).rows}


def first_days(typed: Mapping[str, str], first_due: str, is_new: Sequence[bool]) -> list[str]:
    """Return the days on which the buildings without the schedule are first due."""
    spread, first_day = (
        int(BIGINT.read_text(typed["spread_days"].strip() or "0") or 0),
        datetime.date.fromisoformat(first_due),
    )
    return [spread_day(first_day, place, spread) for place, new in enumerate(is_new) if new]


# Pages of any row


def end_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    return [("End", console_url(f"/{NAME}/{row['id']}/end"))] if may_edit else []


def show_schedule(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, actions=end_links)


def schedule_form(table: Table, caller: Caller) -> RecordForm:
    key = (request.view_args or {}).get("key")
    return replace(record_form(table, caller), section=partial(schedule_section, key=key), preview=with_common_interval)


PRESENTATIONS = {
    NAME: Presentation(
        in_navigation=True,
        part_of="building_id",
        title=schedule_title,
        title_columns=("title",),
        title_references=("building_id",),
        cells={"inspection_type": type_cell},
        hidden=("inspection_type",),
        related_by=("inspector_id",),
    ),
    PLANS: Presentation(
        part_of="inspection_id",
        related_by=("schedule_id",),
        prepare=lambda caller, rows: add_visit_titles(caller, rows, "case_id"),
        cells={"case_id": lambda row: titled_visit(row, "case_id", "Case")},
    ),
}
