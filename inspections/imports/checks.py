"""The checks of special files: calibration checks among readings, and findings that a rule refuses or a city closed.

Faults of findings are reported line by line, with the deadlines of new findings. Violations that a city has closed are
skipped, or imported as verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from access.caller import Caller
from access.policy import PermissionDenied, may_extend_findings
from engine.interface.database import Transaction
from engine.query.write.rules import Key
from engine.rows import insert_rows, update_rows
from inspections.faults import UnfitCell
from inspections.findings import found_out_of_range, late_deadlines, read_findings
from inspections.imports.batch import Batch
from inspections.imports.rows import READINGS_OF_CHECK, CheckRow, ImportRow, ProblemLog, text_of
from inspections.imports.sources import (
    CLASS,
    CLOSED_ON,
    CURRENT_STATUS,
    DUE_AT,
    FINDINGS,
    FOUND_AT,
    INFORMATION,
    MEASURED,
    SHOT,
    STANDARD_TOKENS,
    is_block,
    tokens_of,
)
from models.types import Bound, Fault
from models.vocabulary import VERIFIED, WAIVED


def split_checks(rows: Sequence[ImportRow], log: ProblemLog) -> tuple[list[ImportRow], list[CheckRow]]:
    """Return the readings, and the calibration checks: successive lines of one standard, in threes.

    Another number of lines is an error, since a check that failed may hide in it.
    """
    readings: list[ImportRow] = []
    checks: list[CheckRow] = []
    for standard, group in groupby(rows, key=standard_of):
        lines = list(group)
        if standard is None:
            readings += lines
        elif len(lines) % len(READINGS_OF_CHECK):
            log.add(lines[-1], "component", wrong_number(lines))
        else:
            checks += [check_of(lines[place : place + 3], log) for place in range(0, len(lines), 3)]
    return readings, checks


def wrong_number(lines: Sequence[ImportRow]) -> UnfitCell:
    numbers = ", ".join(str(each.line) for each in lines[:20])
    return UnfitCell(
        f"a calibration check has 3 readings in a row, and lines {numbers} are {len(lines)}:"
        " say which lines are left out (p_skip_lines)"
    )


def standard_of(row: ImportRow) -> tuple[Bound, ...] | None:
    """Return the inspection, instrument and standard of a calibration line; None for any other line."""
    component = row.values.get("component")
    if not is_block(component, STANDARD_TOKENS) and not (
        component is None and is_block(row.file_values.get(SHOT), STANDARD_TOKENS)
    ):
        return None
    name = " ".join(str(component or "").casefold().split())
    return row.values.get("inspection_id"), row.values.get("gun_id"), name


def check_of(lines: Sequence[ImportRow], log: ProblemLog) -> CheckRow:
    """Return the calibration check of three lines. A qualifier has no place in a mean."""
    first = lines[0]
    check = CheckRow(first.line, first.cells, first.mapping, readings=lines)
    check.values = {name: first.values.get(name) for name in ("inspection_id", "gun_id", "taken_at")}
    for name, line in zip(READINGS_OF_CHECK, lines, strict=True):
        check.values[name] = line.values.get(MEASURED)
        check.invalid |= {name} if MEASURED in line.invalid else set()
        check.is_valid = check.is_valid and line.is_valid
        if line.values.get("qualifier") is not None:
            log.add(check, name, UnfitCell("a calibration reading is a number"))
    check.invalid |= first.invalid
    return check


COMPARED: Final = ("inspection_id", "severity", FOUND_AT, DUE_AT)


def check_findings(transaction: Transaction, caller: Caller, batch: Batch) -> None:
    """Add the errors of new findings that their rule refuses, and give the others their computed deadlines."""
    positions = {row.line: position for position, row in enumerate(batch.rows)}
    findings: list[dict[str, Any]] = [
        {name: batch.value(positions[row.line], name) for name in COMPARED} for row in batch.new
    ]
    add_faults(batch.new, FOUND_AT, found_out_of_range(transaction, findings), batch.log)
    if not may_extend_findings(caller.role):
        add_faults(batch.new, DUE_AT, late_deadlines(transaction, findings), batch.log)
    for row, values in zip(batch.new, findings, strict=True):
        if values[DUE_AT] is not None and not has_no_deadline(row):
            row.values[DUE_AT] = values[DUE_AT]
    batch.new = [row for row in batch.new if row.is_valid]


def add_faults(rows: Sequence[ImportRow], name: str, faults: Sequence[Fault | None], log: ProblemLog) -> None:
    """Add the faults of rows. A deadline that no cell of the line gives follows from the class."""
    for row, fault in zip(rows, faults, strict=True):
        if fault is not None:
            columns = row.mapping.columns.get(name, ())
            is_of_class = name == DUE_AT and CLASS in row.file_values and not (columns and text_of(row.cells, columns))
            log.add(row, "severity" if is_of_class else name, fault)


def has_no_deadline(row: ImportRow) -> bool:
    """Return whether a finding only informs: nothing has to be corrected until a day."""
    return row.file_values.get(CLASS) == INFORMATION and row.values.get(DUE_AT) is None


def clear_deadlines(transaction: Transaction, findings: Sequence[tuple[ImportRow, Key]]) -> None:
    """Take the computed deadlines of new findings that only inform away."""
    update_rows(transaction, FINDINGS, [key for row, key in findings if has_no_deadline(row)], {DUE_AT: None})


CLOSED_CHOICES: Final = ("skip", VERIFIED)
SKIP: Final = CLOSED_CHOICES[0]
ASKED: Final = "the city has closed this violation: leave such lines out, or import them as verified (p_closed)"
NOTE_CHARACTERS_MAX: Final = 200
CLOSED_TOKENS: Final = frozenset(
    {
        "closed", "close", "dismissed", "resolved", "complied", "abated", "corrected", "cured", "cleared", "satisfied",
        "inactive", VERIFIED, WAIVED,
    }
)  # fmt: skip
"""Words of a status that ends a violation."""


def is_closed(file_values: Mapping[str, Bound]) -> bool:
    """Return whether a city has closed a violation.

    >>> is_closed({CURRENT_STATUS: "VIOLATION CLOSED"}), is_closed({CURRENT_STATUS: "NOT CLOSED"})
    (True, False)
    """
    tokens = tokens_of(file_values.get(CURRENT_STATUS))
    return not CLOSED_TOKENS.isdisjoint(tokens) and "not" not in tokens


def settle_closed(
    transaction: Transaction, rows: Sequence[ImportRow], closed: str | None, log: ProblemLog
) -> list[ImportRow]:
    """Return the new findings to write. Each violation that the city has closed is skipped, verified or an error."""
    kept: list[ImportRow] = []
    for row in rows:
        if not is_closed(row.file_values):
            kept.append(row)
        elif closed is None:
            log.add(row, CURRENT_STATUS, UnfitCell(ASKED))
        elif closed == SKIP:
            log.skip(row.line, "the city has closed the violation")
        else:
            row.service_values |= {"status": VERIFIED, "closed_at": row.file_values.get(CLOSED_ON, transaction.now)}
            kept.append(row)
    return kept


def write_verifications(transaction: Transaction, caller: Caller, findings: Sequence[tuple[ImportRow, Key]]) -> None:
    """Add the event to findings that were imported as verified. Raise PermissionDenied without the right to verify."""
    verified = [(row, key[0]) for row, key in findings if row.service_values.get("status") == VERIFIED]
    if not verified:
        return
    states = read_findings(transaction, caller, VERIFIED, [int(str(key)) for _, key in verified])
    if not all(each.is_allowed for each in states):
        raise PermissionDenied("permission denied to verify every finding of the file")
    events = [
        {
            "finding_id": key,
            "kind": VERIFIED,
            "inspection_id": row.values.get("inspection_id"),
            "note": f"Imported as {str(row.file_values[CURRENT_STATUS])[:NOTE_CHARACTERS_MAX]}.",
        }
        for row, key in verified
    ]
    insert_rows(transaction, "finding_events", events)
