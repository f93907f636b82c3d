"""import_csv: writes the rows of a CSV file, or says what it would write.

The rights are those of a POST to the target. A dry run, which is the default, only reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from access import policy
from access.caller import Caller
from access.functions import function
from access.parameters import boolean, choice, json_object, long_text, text_array
from access.roles import EVERY_ROLE
from engine.interface.transaction import Transaction
from engine.query.catalog import Relation, catalog
from engine.query.rule import Action
from engine.query.statement import Binding
from engine.query.write.row_layout import convert_value
from inspections.faults import InvalidImport
from inspections.imports.batch import Batch
from inspections.imports.cells import DATE_FORMATS, YMD
from inspections.imports.mapping import (
    CHECKS,
    PRESETS,
    READINGS,
    TARGETS,
    Source,
    find_source,
    given_mapping,
    proposed_mapping,
    sources_of,
)
from inspections.imports.reader import BYTES_MAX, HEADER_NAMES_MIN, FileTable, read_table
from inspections.imports.rows import ImportProblem, ProblemLog, RowReader, split_checks
from models.types import Bound

BODY_BYTES_MAX: Final = 6 << 20
"""The length of a call. JSON escapes the line ends and quotation marks of the file."""
SECONDS_MAX: Final = 20.0
"""The time of a call with LINES_MAX lines on a slow machine. Other writers wait for 5 s."""
KEY_COLUMNS_MAX: Final = 20
SAMPLE_ROWS: Final = 5


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import writes, and the errors for which it writes nothing.

    `lines` are those below the header. `to_insert`, `already` and `inserted` count rows of the target, and `checks`
    new calibration checks. `errors_total` does not count warnings.
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


@function(
    "import_csv",
    summary="Import a CSV file, or say what an import would do",
    roles=EVERY_ROLE,
    parameters={
        "p_target": choice(TARGETS),
        "p_csv": long_text(BYTES_MAX),
        "p_preset": choice(PRESETS, required=False),
        "p_mapping": json_object(str, type(None)),
        "p_defaults": json_object(str, int, float, type(None)),
        "p_date_format": choice(DATE_FORMATS, required=False),
        "p_key": text_array(KEY_COLUMNS_MAX),
        "p_dry_run": boolean(),
    },
    is_volatile=True,
    body_bytes_max=BODY_BYTES_MAX,
    seconds_max=SECONDS_MAX,
)
def import_csv(
    transaction: Transaction,
    caller: Caller,
    target: str,
    csv: str,
    preset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
    defaults: Mapping[str, Bound] | None = None,
    date_format: str = YMD,
    key: Sequence[str] | None = None,
    dry_run: bool = True,
) -> ImportResult:
    """Insert the rows of a file that are new, if no line has an error; with `dry_run` only check them.

    Raise PermissionDenied without the privilege, and UnreadableFile, InvalidImport or UnknownPayloadColumn.
    """
    relation = relation_for(caller, target)
    sources = sources_of(target, preset)
    table = read_mapped_table(csv, sources, mapping)
    columns = (
        proposed_mapping(sources, table.header)
        if mapping is None
        else given_mapping(relation, sources, table.header, mapping)
    )
    relation.require_payload_columns(key or ())
    log = ProblemLog()
    zone = transaction.time_zone if isinstance(transaction.time_zone, ZoneInfo) else None
    binding = Binding(parameters=caller.parameters, zone=zone)
    reader = RowReader(transaction, relation, binding, date_format, log)
    rows = reader.read(table, columns, read_defaults(relation, binding, defaults or {}))
    rows, checks = split_checks(rows, log) if target == READINGS else (rows, [])
    batch = Batch(transaction, caller, relation, rows, log, binding, None if key is None else tuple(dict.fromkeys(key)))
    check_batch = Batch(transaction, caller, relation_for(caller, CHECKS), checks, log, binding) if checks else None
    batches = [each for each in (check_batch, batch) if each is not None]
    for each in batches:
        each.check()
    is_written = not dry_run and not log.total
    if is_written:
        for each in batches:
            each.write()
    return ImportResult(
        len(table.lines),
        table.header_line,
        columns.names,
        columns.unmapped,
        table.meta,
        len(batch.new),
        batch.already,
        len(check_batch.new) if check_batch is not None else 0,
        log.total,
        sorted(log.listed, key=lambda each: each.line),
        [dict(row.values) for row in batch.new[:SAMPLE_ROWS]],
        len(batch.new) if is_written else 0,
    )


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
    return read_table(csv, lambda name: name in given or find_source(sources, name) is not None, names_min)


def read_defaults(relation: Relation, binding: Binding, defaults: Mapping[str, Bound]) -> dict[str, Bound]:
    """Return the values of fields that a line leaves empty; raise the fault of an unknown field or of its value."""
    relation.require_payload_columns(defaults)
    return {name: convert_value(relation.attributes[name], value, binding) for name, value in defaults.items()}
