"""Letters about findings: the form that writes one, its page to print, its service and its withdrawal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.policy import PermissionDenied
from access.session import current_time
from engine.open import local_day, reading, writing
from engine.query.statement import Action
from inspections.faults import LetterNotIssued, NoSuchRow
from inspections.reports.notices import SERVE, WITHDRAW, NoticeState, draft_letter, may_write_letter, read_state
from models import Notice
from models.finding_move import UNRESOLVED
from models.types import INT64, InvalidInput
from models.vocabulary import SERVICES
from routes.console.components import fields, queries, records
from routes.console.components.fields import FormValues, choices, parameter_fields
from routes.console.components.lists import ask_for_ticks, chosen_ids, list_page, return_path
from routes.console.components.page import Undo, redirect_to
from routes.console.components.queries import once
from routes.console.components.records import FunctionForm
from routes.console.components.tables import Presentation, Row, Table
from routes.console.components.template_filters import counted, day
from routes.console.pages.rows import show_page
from routes.console.session import auth
from routes.console.session.urls import console_url
from routes.functions.rpc import FUNCTIONS
from routes.http.faults import UnknownPath
from routes.postgrest.lexer import LimitExceeded
from routes.postgrest.preferences import MediaType
from routes.reports.letters import letter_answer

NAME, FINDINGS = Notice.__tablename__, "findings"
ISSUE = "issue_notice"
VERB: Final = "Write letter"
SERVICE_NAMES = {"hand": "by hand", "posted": "posted at the building", "electronic": "electronically"}
ISSUE_FIELDS = parameter_fields(FUNCTIONS[ISSUE].parameters)
SERVE_FIELDS = parameter_fields(FUNCTIONS["serve_notice"].parameters)
SERVE_FIELDS["p_how"] = replace(SERVE_FIELDS["p_how"], choices=choices(SERVICES, SERVICE_NAMES))
WITHDRAW_FIELDS = parameter_fields(FUNCTIONS["withdraw_notice"].parameters)


# Write


def letter_links(caller: Caller, row: Row) -> list[tuple[str, str]]:
    """Return the button on the page of a finding, for a caller who may write a letter about it."""
    if row["status"] not in UNRESOLVED:
        return []
    with reading() as transaction:
        is_allowed = may_write_letter(transaction, caller, row["id"])
    return (
        [(VERB, console_url(f"/{FINDINGS}/letter?ids={row['id']}&back=/{FINDINGS}/{row['id']}"))] if is_allowed else []
    )


def bulk_links(caller: Caller) -> list[tuple[str, str]]:
    """Return the button of the list of findings."""
    is_allowed = policy.may_issue_letters(caller.profile)
    return [(VERB, console_url(f"/{FINDINGS}/letter"))] if is_allowed else []


def letter_form(ids: list[int], source: MultiDict[str, str]) -> FunctionForm:
    back = return_path(source, FINDINGS)
    hidden = (("ids", ",".join(map(str, ids))), ("back", back))
    title = f"{VERB} about {counted(len(ids), 'finding')}"
    needed = tuple(replace(each, required=True) for each in ISSUE_FIELDS.values())
    return FunctionForm(title, VERB, needed, back, hidden)


@auth.requires_session()
def show_letter_form(caller: Caller) -> Response:
    """Show the form with the owner of the building as the addressee."""
    back = return_path(request.args, FINDINGS)
    try:
        ids = chosen_ids(request.args)
        if not ids:
            return ask_for_ticks(back, "finding", VERB)
        if not policy.may_issue_letters(caller.profile):
            raise policy.PermissionDenied(f"permission denied for function {ISSUE}")
        with reading() as transaction:
            given = dict.fromkeys(("to_name", "to_address", "answer_by"))
            letter = draft_letter(transaction, caller, ids, given)
    except NoSuchRow as fault:
        raise UnknownPath from fault
    except (InvalidInput, LimitExceeded, LetterNotIssued) as fault:
        return ask_for_ticks(back, "finding", VERB, fault)
    typed = {"to_name": letter.to_name, "to_address": letter.to_address}
    return letter_form(ids, request.args).page(FormValues(typed))


@auth.requires_call(FUNCTIONS[ISSUE])
def write_letter(caller: Caller) -> Response:
    """Write the letter, and show its page in the console."""
    ids = chosen_ids(g.form)
    form = letter_form(ids, g.form)
    if not ids:
        return ask_for_ticks(form.back, "finding", VERB)
    values = fields.read_texts(form.fields, g.form.to_dict())
    arguments = {f"p_{name}": text.strip() for name, text in values.typed.items()} | {"p_finding_ids": ids}

    def store() -> Response:
        seconds_max = FUNCTIONS[ISSUE].seconds_max
        prepared: dict[str, Any] | None = None
        refusal: LetterNotIssued | None = None
        try:
            with reading(seconds_max) as snapshot:
                prepared = queries.prepare(snapshot, load_caller(snapshot), ISSUE, arguments)
        except LetterNotIssued as fault:  # perhaps since this very form was sent before
            refusal = fault
        with writing(seconds_max=seconds_max) as transaction:
            writer = load_caller(transaction)

            def change() -> Any:
                if prepared is None:
                    assert refusal is not None
                    raise refusal
                return queries.call_prepared(transaction, writer, ISSUE, prepared)

            issued = once(transaction, writer, ISSUE, change)
        return redirect_to(f"/{NAME}/{issued['id']}", f"Letter {issued['number']} is written. Print it.")

    try:
        return records.save(values, store, lambda status: form.page(values, status))
    except NoSuchRow as fault:
        raise UnknownPath from fault


# Pages of a letter


@auth.requires(Action.READ, Notice)
def show_letter_page(caller: Caller, key: int) -> Response:
    """Show the letter as it was issued, to print it."""
    if key > INT64[1]:
        raise UnknownPath
    try:
        response = letter_answer(caller, key, MediaType.HTML)
    except NoSuchRow as fault:
        raise UnknownPath from fault
    response.headers["Vary"] = "Cookie"
    return response


def state_of(caller: Caller, right: str, key: int) -> NoticeState:
    """Return a letter, and whether the caller may serve or withdraw it. Raise UnknownPath."""
    if key > INT64[1]:
        raise UnknownPath
    try:
        with reading() as transaction:
            return read_state(transaction, caller, right, key)
    except NoSuchRow as fault:
        raise UnknownPath from fault


def action_links(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    url = console_url(f"/{NAME}/{row['id']}")
    links = [("Letter", f"{url}/letter")]
    if row["withdrawn_at"] is None and row["served_on"] is None and state_of(caller, SERVE, row["id"]).is_allowed:
        links.append(("Served", f"{url}/serve"))
    if row["withdrawn_at"] is None and state_of(caller, WITHDRAW, row["id"]).is_allowed:
        links.append(("Withdraw", f"{url}/withdraw"))
    return links


def step_form(caller: Caller, step: str, key: int) -> FunctionForm:
    """Return the form of a step. Raise UnknownPath, or PermissionDenied for a caller who may not take it."""
    state = state_of(caller, step, key)
    if not state.is_allowed:
        raise PermissionDenied(f"permission denied to {step} this letter")
    title, verb, form_fields = {
        SERVE: (f"Letter {state.number} was served", "Served", SERVE_FIELDS),
        WITHDRAW: (f"Withdraw letter {state.number}", "Withdraw", WITHDRAW_FIELDS),
    }[step]
    return FunctionForm(title, verb, tuple(form_fields.values()), f"/{NAME}/{key}")


@auth.requires_session()
def show_step(caller: Caller, key: int, step: str) -> Response:
    return step_form(caller, step, key).page(FormValues({"served_on": local_day(current_time()).isoformat()}))


@auth.requires_session(writes=True)
def submit_step(caller: Caller, key: int, step: str) -> Response:
    def call(arguments: dict[str, Any]) -> tuple[str, Undo | None]:
        done = queries.call_to_write(f"{step}_notice", {**arguments, "p_id": key})
        if step == WITHDRAW:
            return f"Letter {done['number']} is withdrawn.", None
        changed = f" {counted(done['deadlines'], 'deadline')} counted from it." if done["deadlines"] else ""
        return f"Letter {done['number']} was served on {day(done['served_on'])}.{changed}", None

    return step_form(caller, step, key).submit(call)


def service_cell(row: Row) -> tuple[str, str]:
    """Return the state of a letter."""
    if row["withdrawn_at"] is not None:
        return "Withdrawn", ""
    return ("Not served" if row["served_on"] is None else day(row["served_on"])), ""


VIEWS = [
    ("Not served", "served_on=is.null&withdrawn_at=is.null"),
    ("Served", "served_on=not.is.null&withdrawn_at=is.null"),
    ("Withdrawn", "withdrawn_at=not.is.null"),
    ("All", ""),
]


def list_letters(table: Table, caller: Caller) -> Response:
    return list_page(table, caller, views=VIEWS)


def show_letter(table: Table, caller: Caller, key: int) -> Response:
    return show_page(table, caller, key, actions=action_links)


PRESENTATIONS = {
    NAME: Presentation(
        title=lambda row: f"Letter {row['number']}",
        title_columns=("number", "withdrawn_at"),
        cells={"served_on": service_cell},
        hidden=("content",),
        related_by=("building_id",),
    )
}
