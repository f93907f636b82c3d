"""A whole database into another, empty one, of either kind: every table, hidden ones too, in one transaction.

Rows stream through in the order of their keys. What has arrived is read again and compared, by count and
by digest, before anything is kept; ids go on where they were, also those of rows long deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import sqlalchemy as sa

from engine.maintenance.import_export import ORDER
from engine.maintenance.import_export import as_double
from engine.query.statement import Binding
from engine.query.statement import Slot
from engine.query.statement import Statement
from engine.query.statement import compile_statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from engine.storage.database import Database
from engine.storage.transaction import CURRENT
from engine.storage.transaction import Transaction
from models import audit_log
from models import credential
from models.errors import Fault

COPY_SECONDS_MAX = 24 * 3_600.0
ROWS_A_PAGE = 1_000

HIDDEN = ("credentials", "sessions", "attempts", "origins", "devices", "audit_log")
NAMES = (*ORDER, *HIDDEN)
"""Parents before children. The facts of a database are its own."""

Progress = Callable[[int], None]


class TargetNotEmpty(Fault):
    """A target that holds something already; nothing of it is changed."""


class CopyMismatch(Fault):
    """What arrived is not what was sent. Our bug, or the disk's: nothing is kept."""


def tables() -> list[sa.Table]:
    known = credential.metadata.tables
    assert set(known) - {"facts"} == set(NAMES), "a table that nobody copies"
    assert audit_log.AuditLog.__tablename__ in NAMES
    return [known[name] for name in NAMES]


def count_rows(source: Database) -> int:
    """How many rows there are to copy."""
    with source.reading(seconds_max=COPY_SECONDS_MAX) as transaction:
        return sum(count(transaction, table) for table in tables())


def copy_all(source: Database, target: Database, progress: Progress) -> dict[str, int]:
    """Copy every row, or none; the number of rows by table."""
    with source.reading(seconds_max=COPY_SECONDS_MAX) as sent:
        outer = CURRENT.set(
            None
        )  # the transaction under way is the source's; the target has its own
        try:
            with target.writing(seconds_max=COPY_SECONDS_MAX) as arrived:
                return copy_within(sent, arrived, progress)
        finally:
            CURRENT.reset(outer)


def copy_within(sent: Transaction, arrived: Transaction, progress: Progress) -> dict[str, int]:
    for each in (sent, arrived):
        keep_transaction_open(each)
    for table in tables():
        if count(arrived, table):
            raise TargetNotEmpty(f'the target is not empty: "{table.name}" holds rows')
    arrived.run(arrived.dialect.pause_audit)
    counts: dict[str, int] = {}
    for table in tables():
        counts[table.name], digest = copy_table(sent, arrived, table, progress)
        if digest != digest_of(pages(arrived, table)) or counts[table.name] != count(
            arrived, table
        ):
            raise CopyMismatch(f'"{table.name}" did not arrive as it was sent')
    advance_sequences(sent, arrived)
    arrived.run(arrived.dialect.resume_audit, (arrived.now,))
    return counts


@singledispatch
def keep_transaction_open(transaction: Transaction) -> None:
    """Let one side of a copy rest for as long as the other works; a file's does."""


def copy_table(
    sent: Transaction, arrived: Transaction, table: sa.Table, progress: Progress
) -> tuple[int, str]:
    """Send a table's rows; how many there were, and their digest."""
    statement = insertion(arrived, table)
    places = order_of(statement)
    digest, rows = hashlib.sha256(), 0
    for page in pages(sent, table):
        digest.update(written(page))
        arrived.insert_many(statement.sql, [[row[place] for place in places] for row in page])
        rows += len(page)
        progress(len(page))
    return rows, digest.hexdigest()


def digest_of(found: Iterator[list[Any]]) -> str:
    digest = hashlib.sha256()
    for page in found:
        digest.update(written(page))
    return digest.hexdigest()


def written(page: list[Any]) -> bytes:
    """Rows as bytes that are the same for the same values, whichever database they come from."""
    return "".join(json.dumps(list(row)) + "\n" for row in page).encode()


def pages(transaction: Transaction, table: sa.Table) -> Iterator[list[Any]]:
    everything = sa.select(*table.c).order_by(*table.primary_key)
    statement = str(everything.compile(dialect=transaction.dialect.sa_dialect))
    for page in transaction.pages(statement, ROWS_A_PAGE):
        yield [
            tuple(typed(each, value) for each, value in zip(table.c, row, strict=True))
            for row in page
        ]


def typed(column: Any, value: Any) -> Any:
    """A double is one on both."""
    return as_double(value) if isinstance(column.type, sa.Double) and value is not None else value


def insertion(transaction: Transaction, table: sa.Table) -> Statement:
    values = {each.name: parameter(f"c{place}", each.type) for place, each in enumerate(table.c)}
    slots: dict[str, Slot] = {f"c{place}": new_value(place) for place in range(len(table.c))}
    return compile_statement(sa.insert(table).values(values), transaction.dialect.sa_dialect, slots)


def order_of(statement: Statement) -> list[int]:
    """Which column each of a statement's parameters is."""
    numbered = Binding(new=tuple(range(len(statement.slots))))
    return [int(value or 0) for value in statement.bind(numbered)]


def count(transaction: Transaction, table: sa.Table) -> int:
    counted = sa.select(sa.func.count()).select_from(table)
    found: int = transaction.value(str(counted.compile(dialect=transaction.dialect.sa_dialect)))
    return found


def advance_sequences(sent: Transaction, arrived: Transaction) -> None:
    """The next id of each table is the one after the highest there ever was."""
    highest = dict(sent.all(sent.dialect.read_sequences))
    for table in tables():
        if "id" not in table.c or not isinstance(table.c.id.type, sa.Integer):
            continue
        largest = sa.select(sa.func.max(table.c.id))
        there = arrived.value(str(largest.compile(dialect=arrived.dialect.sa_dialect)))
        last = max(highest.get(table.name, 0), there or 0)
        for statement in arrived.dialect.set_sequence if last else ():
            arrived.run(statement, (table.name, last))
