"""import_csv: writes the rows of a CSV file, or says what it would write.

The rights are those of a POST to the target. A dry run, which is the default, only reads.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from access import policy
from access.caller import Caller
from access.decorators import function
from access.predicates import Parameter, boolean, choice, id_array, json_object, long_text, text_array
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.catalog import Relation, catalog
from engine.query.statement import Action, Binding
from engine.query.write.row_layout import convert_value
from inspections.faults import InvalidImport, UnnamedColumn
from inspections.imports.batch import Batch
from inspections.imports.checks import (
    CLOSED_CHOICES,
    check_findings,
    clear_deadlines,
    settle_closed,
    split_checks,
    write_verifications,
)
from inspections.imports.reader import (
    HEADER_NAMES_MIN,
    LINES_MAX,
    ColumnMapping,
    FileTable,
    columns_without_field,
    given_mapping,
    proposed_mapping,
    read_table,
)
from inspections.imports.rows import (
    CheckRow,
    FileFormat,
    ImportProblem,
    ImportRow,
    ProblemLog,
    RowReader,
    SkippedLine,
    split_jobs,
    spread_times,
)
from inspections.imports.sources import (
    CHECKS,
    DATE_FORMATS,
    DECIMAL_MARKS,
    FINDINGS,
    MEASURED,
    POINT,
    PRESETS,
    READINGS,
    TARGETS,
    YMD,
    Source,
    deadline_of,
    find_source,
    sources_of,
)
from inspections.lead.classification import classify_readings
from inspections.lead.readings import reading_of
from models.types import TEXT, TIMESTAMP, Bound, read_timestamp
from settings import BODY_BYTES_MAX, CSV_BYTES_MAX

"""The length of a call. JSON escapes the line ends and quotation marks of the file."""
SECONDS_MAX: Final = 20.0
"""The time of a call with LINES_MAX lines on a slow machine. Other writers wait for 5 s."""
KEY_COLUMNS_MAX: Final = 20
SAMPLE_ROWS: Final = 5


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import writes, and the errors for which it writes nothing.

    `lines` are those below the header. `to_insert`, `already` and `inserted` count rows of the target, and `checks`
    new calibration checks. `errors_total` does not count warnings. `skipped` are lines that are no rows, and `jobs`
    those of a file that has several.
    """

    lines: int
    header_line: int
    mapping: dict[str, str]
    unmapped: list[str]
    meta: dict[str, str]
    to_insert: int
    already: int
    checks: int
    errors_total: int
    errors: list[ImportProblem]
    sample: list[dict[str, object]]
    inserted: int
    skipped_total: int
    skipped: list[SkippedLine]
    jobs: list[str]


def local_time() -> Parameter:
    """Return an optional parameter that is a time, in `TIMEZONE` if it has no offset."""
    return Parameter(TIMESTAMP.name, TEXT.read_json, dict(TIMESTAMP.schema), required=False)


@dataclass(frozen=True, slots=True)
class ImportFile:
    """What a file means: its rows and its calibration checks, the problems of its cells, and its jobs."""

    relation: Relation
    table: FileTable
    columns: ColumnMapping
    rows: list[ImportRow]
    checks: list[CheckRow]
    log: ProblemLog
    zone: ZoneInfo | None
    jobs: list[str]


def read_file(
    transaction: Transaction,
    caller: Caller,
    target: str,
    csv: str,
    preset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
    defaults: Mapping[str, Bound] | None = None,
    date_format: str = YMD,
    decimal: str = POINT,
    taken_from: str | None = None,
    taken_to: str | None = None,
    split: Mapping[str, Bound] | None = None,
    skip_lines: Sequence[int] = (),
    closed: str | None = None,
    key: Sequence[str] | None = None,
    dry_run: bool = True,
) -> dict[str, Any]:
    """Return the arguments of `import_csv`.

    Raise PermissionDenied without the privilege, and UnreadableFile, InvalidImport or UnknownPayloadColumn.
    """
    relation = relation_for(caller, target)
    sources = sources_of(target, preset)
    table = read_mapped_table(csv, sources, mapping)
    columns = (
        proposed_mapping(sources, table.header, table.lines)
        if mapping is None
        else given_mapping(relation, sources, table.header, mapping)
    )
    relation.require_payload_columns(key or ())
    log = ProblemLog()
    zone = transaction.time_zone if isinstance(transaction.time_zone, ZoneInfo) else None
    rows: list[ImportRow] = []
    checks: list[CheckRow] = []
    jobs: list[str] = []
    if table.is_known:
        for name in columns_without_field(relation, columns, table.lines):
            log.warn(table.header_line, name, None, "the column fills no field, and its values are left out")
        binding = Binding(parameters=caller.parameters, zone=zone)
        reader = RowReader(transaction, relation, binding, FileFormat(date_format, decimal), log)
        rows = reader.read(table, columns, read_defaults(relation, binding, defaults or {}), frozenset(skip_lines))
        jobs = split_jobs(target, rows, split, log)
        if taken_from is not None or taken_to is not None:
            spread_readings(target, rows, binding, taken_from, taken_to)
        rows, checks = split_checks(rows, log) if target == READINGS else (rows, [])
    else:
        add_unknown_columns(table, columns, log)
    file = ImportFile(relation, table, columns, rows, checks, log, zone, jobs)
    named = None if key is None else tuple(dict.fromkeys(key))
    return {"file": file, "key": named, "closed": closed, "dry_run": dry_run}


@function(
    "import_csv",
    summary="Import a CSV file, or say what an import would do",
    roles=EVERY_ROLE,
    parameters={
        "p_target": choice(TARGETS),
        "p_csv": long_text(CSV_BYTES_MAX),
        "p_preset": choice(PRESETS, required=False),
        "p_mapping": json_object(str, type(None)),
        "p_defaults": json_object(str, int, float, type(None)),
        "p_date_format": choice(DATE_FORMATS, required=False),
        "p_decimal": choice(DECIMAL_MARKS, required=False),
        "p_taken_from": local_time(),
        "p_taken_to": local_time(),
        "p_split": json_object(str, int),
        "p_skip_lines": id_array(LINES_MAX, required=False),
        "p_closed": choice(CLOSED_CHOICES, required=False),
        "p_key": text_array(KEY_COLUMNS_MAX),
        "p_dry_run": boolean(),
    },
    is_volatile=True,
    body_bytes_max=BODY_BYTES_MAX,
    seconds_max=SECONDS_MAX,
    preparation=read_file,
)
def import_csv(
    transaction: Transaction,
    caller: Caller,
    file: ImportFile,
    key: tuple[str, ...] | None = None,
    closed: str | None = None,
    dry_run: bool = True,
) -> ImportResult:
    """Insert the rows of a file that are new, if no line has an error; with `dry_run` only check them.

    Raise PermissionDenied without the privilege.
    """
    relation, log = relation_for(caller, file.relation.name), file.log
    binding = Binding(parameters=caller.parameters, zone=file.zone)
    batch = Batch(transaction, caller, relation, file.rows, log, binding, key)
    check_batch = (
        Batch(transaction, caller, relation_for(caller, CHECKS), file.checks, log, binding) if file.checks else None
    )
    batches = [each for each in (check_batch, batch) if each is not None]
    for each in batches:
        each.check()
    if relation.name == FINDINGS:
        batch.new = settle_closed(transaction, batch.new, closed, log)
        check_findings(transaction, caller, batch)
    for each in batches:
        each.check_closed_visits()
    if relation.name == READINGS:
        warn_of_conflicts(transaction, batch.new, log)
    is_written = not dry_run and not log.total
    if is_written:
        keys = [each.write() for each in batches][-1]
        if relation.name == FINDINGS:
            findings = [*zip(batch.new, keys, strict=True)]
            clear_deadlines(transaction, findings)
            write_verifications(transaction, caller, findings)
    return ImportResult(
        len(file.table.lines),
        file.table.header_line,
        file.columns.names,
        file.columns.unmapped,
        file.table.meta,
        len(batch.new),
        batch.already,
        len(check_batch.new) if check_batch is not None else 0,
        log.total,
        sorted(log.listed, key=lambda each: each.line),
        [dict(row.values) for row in batch.new[:SAMPLE_ROWS]],
        len(batch.new) if is_written else 0,
        log.skipped_total,
        log.skipped,
        file.jobs,
    )


def add_unknown_columns(table: FileTable, columns: ColumnMapping, log: ProblemLog) -> None:
    """Add an error for each column that nothing knows, with its cell of the first line."""
    line = table.lines[0] if table.lines else None
    for name in columns.unmapped:
        place = table.header.index(name)
        cell = line.cells[place].strip() if line is not None and place < len(line.cells) else None
        log.add_of_file(table.header_line if line is None else line.number, name, cell, UnnamedColumn())


def warn_of_conflicts(transaction: Transaction, rows: Sequence[ImportRow], log: ProblemLog) -> None:
    """Warn of each new reading whose result is another one than its classification."""
    timed = [row for row in rows if row.values.get("result") and row.values.get(MEASURED) is not None]
    outcomes = classify_readings(transaction, [reading_of(row.values) for row in timed])
    for row, classification in zip(timed, (each.classification for each in outcomes), strict=True):
        result = row.values["result"]
        if classification != result:
            line, column, value = row.place("result")
            log.warn(
                line,
                column,
                value,
                f"the result is {result}, and by its limits the value is {classification}: the graver of both counts",
            )


def spread_readings(
    target: str, rows: Sequence[ImportRow], binding: Binding, taken_from: str | None, taken_to: str | None
) -> None:
    """Give times to the readings without one. Raise InvalidImport unless both ends are given, for readings."""
    if target != READINGS:
        raise InvalidImport(f"p_taken_from and p_taken_to need p_target {READINGS}")
    if taken_from is None or taken_to is None:
        raise InvalidImport("p_taken_from and p_taken_to need each other")
    start, end = (
        datetime.datetime.fromisoformat(read_timestamp(each, binding.zone)) for each in (taken_from, taken_to)
    )
    spread_times(rows, start, end)


def relation_for(caller: Caller, target: str) -> Relation:
    """Return a relation; raise PermissionDenied unless the caller may insert some of its rows."""
    relation = catalog().relations[target]
    policy.require(caller.profile, Action.INSERT, relation.model)
    return relation


def read_mapped_table(csv: str, sources: Sequence[Source], mapping: Mapping[str, str | None] | None) -> FileTable:
    """Return the table of a file, whose header has names of the sources or of the mapping."""
    given = {name.strip() for name in mapping or ()}
    if mapping is not None and not given:
        raise InvalidImport("the mapping has no column")
    names_min = min(HEADER_NAMES_MIN, len(given)) if given else HEADER_NAMES_MIN
    return read_table(
        csv,
        lambda name: name in given or find_source(sources, name) is not None,
        names_min,
        takes_unknown=mapping is None,
    )


def read_defaults(relation: Relation, binding: Binding, defaults: Mapping[str, Bound]) -> dict[str, Bound]:
    """Return the values of fields that a line leaves empty; raise the fault of an unknown field or of its value."""
    relation.require_payload_columns(defaults)
    attributes = relation.attributes
    return {
        name: convert_value(attributes[name], deadline_of(attributes[name], value), binding)
        for name, value in defaults.items()
    }
