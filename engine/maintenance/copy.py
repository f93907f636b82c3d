"""Copy a whole database into an empty one of either engine, hidden tables included, in one transaction.

Rows are streamed in key order. Before the COMMIT the target is read again and compared by row count and digest.
Sequences continue after the highest id that the source ever used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import Any

import sqlalchemy as sa

from engine.interface.database import Database
from engine.interface.transaction import CURRENT, Transaction
from engine.maintenance.import_export import archive_tables, as_double
from engine.query.statement import Binding, Slot, Statement, compile_statement, new_value, parameter
from models import credential
from models.errors import Fault

COPY_SECONDS_MAX = 24 * 3_600.0
BATCH_ROWS = 1_000

NOT_COPIED = "facts"
"""The table of what belongs to one database."""

Progress = Callable[[int], None]
"""Called with the number of rows of each copied batch."""


class TargetNotEmpty(Fault):
    """The target holds rows. It stays unchanged."""


class CopyMismatch(Fault):
    """The target's rows differ from the source's, by a bug or a disk error. The target stays empty."""


def tables() -> list[sa.Table]:
    """Return the copied tables, parents before children. Only tables of an archive have foreign keys."""
    known = credential.metadata.tables
    ordered = archive_tables()
    others = [name for name in known if name not in (*ordered, NOT_COPIED)]
    return [known[name] for name in (*ordered, *others)]


def count_all_rows(source: Database) -> int:
    """Return the number of rows to copy."""
    with source.reading(seconds_max=COPY_SECONDS_MAX) as transaction:
        return sum(table_size(transaction, table) for table in tables())


def copy_all(source: Database, target: Database, progress: Progress) -> dict[str, int]:
    """Copy every row, or none. Return the number of rows by table.

    Raise TargetNotEmpty or CopyMismatch.
    """
    with source.reading(seconds_max=COPY_SECONDS_MAX) as reader:
        outer = CURRENT.set(None)  # the current transaction is the source's; the target has its own
        try:
            with target.writing(seconds_max=COPY_SECONDS_MAX) as writer:
                return copy_tables(reader, writer, progress)
        finally:
            CURRENT.reset(outer)


def copy_tables(source: Transaction, target: Transaction, progress: Progress) -> dict[str, int]:
    """Copy every table within two open transactions. Return the number of rows by table."""
    for each in (source, target):
        keep_transaction_open(each)
    for table in tables():
        if table_size(target, table):
            raise TargetNotEmpty(f'the target is not empty: "{table.name}" holds rows')
    target.run(target.dialect.pause_audit)
    counts: dict[str, int] = {}
    for table in tables():
        counts[table.name], digest = copy_table(source, target, table, progress)
        copied = table_size(target, table)
        if digest != digest_of(read_batches(target, table)) or counts[table.name] != copied:
            raise CopyMismatch(f'"{table.name}" differs from the source after the copy')
    advance_sequences(source, target)
    target.run(target.dialect.resume_audit, (target.now,))
    return counts


@singledispatch
def keep_transaction_open(transaction: Transaction) -> None:
    """Lift the idle timeout of one side's transaction while the other side works. SQLite has none."""


def copy_table(source: Transaction, target: Transaction, table: sa.Table, progress: Progress) -> tuple[int, str]:
    """Copy a table. Return the number of its rows and their digest in hexadecimal."""
    statement = insert_row(target, table)
    places = parameter_columns(statement)
    digest, rows = hashlib.sha256(), 0
    for batch in read_batches(source, table):
        digest.update(serialize(batch))
        target.insert_many(statement.sql, [[row[place] for place in places] for row in batch])
        rows += len(batch)
        progress(len(batch))
    return rows, digest.hexdigest()


def digest_of(batches: Iterator[list[Any]]) -> str:
    """Return the digest of rows in hexadecimal."""
    digest = hashlib.sha256()
    for batch in batches:
        digest.update(serialize(batch))
    return digest.hexdigest()


def serialize(batch: list[Any]) -> bytes:
    """Return rows as bytes that are equal for equal values of both engines."""
    return "".join(json.dumps(list(row)) + "\n" for row in batch).encode()


def read_batches(transaction: Transaction, table: sa.Table) -> Iterator[list[Any]]:
    """Yield the rows of a table in key order, at most BATCH_ROWS at a time."""
    everything = sa.select(*table.c).order_by(*table.primary_key)
    statement = str(everything.compile(dialect=transaction.dialect.sa_dialect))
    for batch in transaction.pages(statement, BATCH_ROWS):
        yield [tuple(normalize(each, value) for each, value in zip(table.c, row, strict=True)) for row in batch]


def normalize(column: Any, value: Any) -> Any:
    """Return a value in the form that is equal for both engines."""
    return as_double(value) if isinstance(column.type, sa.Double) and value is not None else value


def insert_row(transaction: Transaction, table: sa.Table) -> Statement:
    """Return the INSERT of one row of all columns."""
    values = {each.name: parameter(f"c{place}", each.type) for place, each in enumerate(table.c)}
    slots: dict[str, Slot] = {f"c{place}": new_value(place) for place in range(len(table.c))}
    return compile_statement(sa.insert(table).values(values), transaction.dialect.sa_dialect, slots)


def parameter_columns(statement: Statement) -> list[int]:
    """Return the column number of each parameter of a statement."""
    numbered = Binding(new=tuple(range(len(statement.slots))))
    return [int(value or 0) for value in statement.bind(numbered)]


def table_size(transaction: Transaction, table: sa.Table) -> int:
    """Return the number of rows of a table."""
    statement = sa.select(sa.func.count()).select_from(table)
    rows: int = transaction.value(str(statement.compile(dialect=transaction.dialect.sa_dialect)))
    return rows


def advance_sequences(source: Transaction, target: Transaction) -> None:
    """Set each sequence of the target to the highest id that the source ever used."""
    highest = dict(source.all(source.dialect.read_sequences))
    for table in tables():
        if "id" not in table.c or not isinstance(table.c.id.type, sa.Integer):
            continue
        largest = sa.select(sa.func.max(table.c.id))
        copied = target.value(str(largest.compile(dialect=target.dialect.sa_dialect)))
        last = max(highest.get(table.name, 0), copied or 0)
        for statement in target.dialect.set_sequence if last else ():
            target.run(statement, (table.name, last))
