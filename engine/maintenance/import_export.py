"""Import and export every resource's rows as JSON, and copy a whole database into an empty one.

Each runs in one transaction and a fixed order. An archive is an object of table -> array of rows. A row has all visible
columns. A user's row may also have `app_metadata`, `user_metadata` and `banned_until`. An import also takes a user's
`password`. An export holds no secret. A copy works between engines and includes hidden tables. It streams rows in key
order. Before the COMMIT the target is read again and compared by row count and digest. Sequences continue after the
highest id that the source ever used.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, singledispatch
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from engine.interface.database import CURRENT, Database, Transaction, stored_timestamp
from engine.query.catalog import ConstraintViolation, Relation, catalog
from engine.query.statement import (
    PLANS_MAX,
    UNRESTRICTED,
    Binding,
    Slot,
    Statement,
    compile_statement,
    new_value,
    parameter,
)
from engine.query.write import row_layout
from engine.query.write.row_layout import IMPORTED_ID_MAX, default_value, require_id
from engine.query.write.rules import DOMAIN_RULES, diagnose_write
from engine.query.write.statements import WriteBuilder
from engine.storage.file_copies import drafted
from models import RESOURCES, credential, parents_first
from models.audit_log import BULK_RELATION
from models.fields import ColumnDefault
from models.types import BOOLEAN, JSON, Bound, Fault
from system import sync

IMPORT_SECONDS_MAX = 3_600.0
BATCH_ROWS = 1_000
CONTENT = "content"
"""The column of what a report or a letter says."""
NAMES_MAX = 100
"""As the API allows in an object. No table has as many columns."""

ACCOUNT_FIELDS = ("password", "app_metadata", "user_metadata", "banned_until")

UserImporter = Callable[[Transaction, str, Mapping[str, object]], None]
"""Stores the ACCOUNT_FIELDS of a user, given the user's id, in the transaction of the import."""


def archive_tables() -> list[str]:
    """Return the tables of an archive, parents before children, so that every foreign key finds its row."""
    return [name for name in parents_first() if not RESOURCES[name].written_by_triggers]


class InvalidArchive(Fault):
    """A document that is no archive, or a row in it that cannot be inserted."""


def import_archive(
    database: Database,
    archive: object,
    import_user: UserImporter,
    place_of: Callable[[str, int], str] = "{}[{}]".format,
) -> dict[str, int]:
    """Insert every row of an archive, or none. Return the number of rows by table; raise InvalidArchive.

    No domain rule runs but `imported`: the archive holds the rows that the rules made. `place_of`: the place of a
    table's row in the user's file, for errors.
    """
    tables = read_tables(archive)
    with database.writing(seconds_max=IMPORT_SECONDS_MAX) as transaction:
        is_new = has_no_rows(transaction)
        # The audit log gets one entry for the import. The archive holds the rows.
        transaction.run(transaction.dialect.pause_audit)
        counts: dict[str, int] = {}
        for name in archive_tables():
            relation = catalog().relations[name]
            accounts: list[tuple[str, str, dict[str, object]]] = []
            if relation.model.shipped and name in tables and is_new:
                transaction.run(f"DELETE FROM {name}")  # noqa: S608 - a constant name
            for number, row in enumerate(tables.get(name, [])):
                place = place_of(name, number)
                with locate_faults(place):
                    user_id, account = import_row(transaction, relation, row, place)
                if relation.name == "users":
                    accounts.append((place, user_id, account))
            # After all users, since a banned user may come first and must not be the last super admin.
            for place, user_id, account in accounts:
                with locate_faults(place):
                    import_user(transaction, user_id, account)
            counts[name] = len(tables.get(name, []))
            if name in DOMAIN_RULES and tables.get(name):
                DOMAIN_RULES[name].imported(transaction, frozenset.intersection(*map(frozenset, tables[name])))
        transaction.run(transaction.dialect.resume_audit, (transaction.now,))
        row_layout.record_entry(
            transaction, "import", BULK_RELATION, actor_id=None, client_id=None, details=dict(counts)
        )
    return counts


@contextmanager
def locate_faults(place: str) -> Iterator[None]:
    """Turn a fault of a row into InvalidArchive with the place of the row and of the columns."""
    try:
        yield
    except InvalidArchive:
        raise
    except Fault as fault:
        columns = fault.columns if isinstance(fault, ConstraintViolation) else ()
        raise InvalidArchive(f"{locate(place, columns)}: {text_of(fault)}") from fault
    except ValueError as error:  # a lone surrogate, or NaN
        raise InvalidArchive(f"{place}: {error}") from error


def locate(place: str, columns: Sequence[str]) -> str:
    """Return the place of a row's columns, as the API names it."""
    return f"{place}, column{'s' * (len(columns) > 1)} {', '.join(columns)}" if columns else place


def text_of(fault: Fault) -> str:
    return ": ".join(filter(None, (fault.message, fault.details, fault.hint)))


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object of an archive as a dict. Raise InvalidArchive for a repeated key."""
    values = dict(pairs)
    if len(values) < len(pairs):
        [(repeated, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidArchive(f'an object of the archive has "{repeated}" twice')
    return values


def read_tables(archive: object) -> dict[str, list[dict[str, object]]]:
    """Return the tables of an archive. Raise InvalidArchive if it has another form."""
    if not isinstance(archive, dict):
        raise InvalidArchive("an archive is a JSON object of table -> rows")
    known = archive_tables()
    for name, rows in archive.items():
        if name not in known:
            raise InvalidArchive(f'there is no table "{name}": the tables are {", ".join(known)}')
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InvalidArchive(f"{name} is not an array of objects")
    return archive


def has_no_rows(transaction: Transaction) -> bool:
    """Return whether no resource has a row, beside the tables with rows of a new database."""
    has_rows = (
        transaction.value(f"SELECT EXISTS (SELECT 1 FROM {name})")  # noqa: S608 - constant names
        for name in archive_tables()
        if not RESOURCES[name].shipped
    )
    return not any(has_rows)


def import_row(
    transaction: Transaction, relation: Relation, row: dict[str, object], place: str
) -> tuple[str, dict[str, object]]:
    """Insert a row. Return its id, as text, and its ACCOUNT_FIELDS."""
    if len(row) > NAMES_MAX:
        raise InvalidArchive(f"{place}: a row has at most {NAMES_MAX} names")
    columns_given = dict(row)
    names = ACCOUNT_FIELDS if relation.name == "users" else ()
    account = {name: columns_given.pop(name) for name in names if name in columns_given}
    relation.require_payload_columns(columns_given)
    values = {name: read_value(relation, name, value, place) for name, value in columns_given.items()}
    for name, attribute in relation.attributes.items():
        if name not in values:
            value = default_value(relation, attribute, transaction, Binding(), row)
            if value is not None:
                values[name] = value
    columns = tuple(values)
    statement = insert_statement(transaction.dialect.name, relation.name, columns)
    with diagnose_write(transaction, relation, lambda: values, []):
        transaction.run(statement.sql, statement.bind(Binding(new=tuple(values.values()))))
    return str(values.get("id")), account


def read_value(relation: Relation, name: str, value: object, place: str) -> Bound:
    """Return the value of a row's column. Raise InvalidArchive with the place of the row and the column."""
    attribute = relation.attributes[name]
    try:
        converted = attribute.type.read_json(value)
        if name == "id" and attribute.default is ColumnDefault.SEQUENCE:
            require_id(relation, converted, IMPORTED_ID_MAX)
    except Fault as fault:
        raise InvalidArchive(f"{locate(place, (name,))}: {text_of(fault)}") from fault
    return converted


@lru_cache(maxsize=PLANS_MAX)
def insert_statement(database: str, name: str, columns: tuple[str, ...]) -> Statement:
    """Return the INSERT of one row with these columns."""
    return WriteBuilder(database, name, UNRESTRICTED).insert(columns)


RowsOf = Callable[[str], sa.ColumnElement[bool] | None]
"""Returns the condition on the exported rows of a table; None for all."""

ValueOf = Callable[[Any], sa.ColumnElement[Any]]
"""Returns SQL for the exported value of a column."""


def export_archive(
    transaction: Transaction, rows_of: RowsOf = lambda _: None, value_of: ValueOf = lambda column: column
) -> Iterator[str]:
    """Yield the archive as text: the tables in the order of `archive_tables`, the rows in key order, one row a line.

    `rows_of` chooses the rows, and `value_of` the values.
    """
    yield "{"
    for place, name in enumerate(archive_tables()):
        yield f'{"," if place else ""}\n "{name}": ['
        for number, row in enumerate(json_rows(transaction, catalog().relations[name], rows_of(name), value_of)):
            yield f"{',' if number else ''}\n  {row}"
        yield "\n ]"
    yield "\n}\n"


def write_archive(transaction: Transaction, file: Path) -> None:
    """Write the archive to a file that only its owner can read. An error leaves an existing file unchanged."""
    if file.exists() and not file.is_file():  # a pipe or a terminal, which cannot be replaced
        with file.open("w", encoding="utf-8") as out:
            out.writelines(export_archive(transaction))
        return
    with drafted(file) as draft:
        with draft.open("w", encoding="utf-8") as out:
            out.writelines(export_archive(transaction))
        sync(draft)
        draft.replace(file)
    sync(file.parent)


def json_rows(
    transaction: Transaction,
    relation: Relation,
    condition: sa.ColumnElement[bool] | None = None,
    value_of: ValueOf = lambda column: column,
) -> Iterator[str]:
    """Yield the rows of a table as JSON objects, in key order. A condition has no parameters."""
    table = relation.table
    names = list(relation.attributes)
    chosen = sa.select(*(value_of(table.c[name]) for name in names)).order_by(*table.primary_key)
    if condition is not None:
        chosen = chosen.where(condition)
    statement = str(chosen.compile(dialect=transaction.dialect.sa_dialect))
    kinds = [relation.table.c[name].type for name in names]
    accounts = account_fields(transaction) if relation.name == "users" else {}
    for rows in transaction.pages(statement, rows_at_once(table, BATCH_ROWS)):
        for row in rows:
            values = {name: archived(kind, value) for name, kind, value in zip(names, kinds, row, strict=True)}
            values.update(accounts.get(values.get("id"), {}))
            yield json.dumps(values, ensure_ascii=False)


def rows_at_once(table: Any, rows_max: int) -> int:
    """Return how many rows of a table are read at once: one if each may have 16 MB of frozen content."""
    return 1 if CONTENT in table.c else rows_max


def archived(kind: sa.types.TypeEngine[Any], value: Any) -> Any:
    """Return a stored value as an archive has it: JSON is no text there. An import stores its canonical text."""
    return json.loads(value) if kind is JSON.storage and value is not None else json_value(kind, value)


def json_value(kind: sa.types.TypeEngine[Any], value: Any) -> Any:
    """Return a stored value in the form that is equal for both engines. SQLite stores a boolean as an integer."""
    if value is None:
        return None
    if kind is BOOLEAN.storage:
        return bool(value)
    return as_double(value) if isinstance(kind, sa.Double) else value


def as_double(value: float | str) -> float:
    """Return a double that is equal for both engines. SQLite may return an integer, and drops the sign of -0.0.

    >>> as_double(42), as_double(-0.0)
    (42.0, 0.0)
    """
    return float(value) + 0.0


ACCOUNTS_QUERY = (
    "SELECT user_id, app_metadata, user_metadata, disabled_until FROM credentials"
    " WHERE app_metadata <> '{}' OR user_metadata <> '{}' OR disabled_until <> 0"
)


def account_fields(transaction: Transaction) -> dict[object, dict[str, object]]:
    """Return the exported ACCOUNT_FIELDS by user id, without the users who have none."""
    accounts: dict[object, dict[str, object]] = {}
    for user_id, app, user, until in transaction.all(ACCOUNTS_QUERY):
        metadata = {"app_metadata": json.loads(app), "user_metadata": json.loads(user)}
        accounts[str(user_id)] = {name: value for name, value in metadata.items() if value}
        if until:
            accounts[str(user_id)]["banned_until"] = stored_timestamp(until)
    return accounts


COPY_SECONDS_MAX = 24 * 3_600.0
COPIED_ROWS = 1_000

NOT_COPIED = "facts"
"""The table of what belongs to one database."""

Progress = Callable[[int], None]
"""Called with the number of rows of each copied batch."""


class TargetNotEmpty(Fault):
    """The target holds rows. It stays unchanged."""


class CopyMismatch(Fault):
    """The target's rows differ from the source's, by a bug or a disk error. The target stays empty."""


def tables() -> list[sa.Table]:
    """Return the copied tables, parents before children. The hidden tables refer to those of an archive only."""
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
    shipped = {name for name, model in RESOURCES.items() if model.shipped}
    for table in tables():
        if table.name not in shipped and table_size(target, table):
            raise TargetNotEmpty(f'the target is not empty: "{table.name}" holds rows')
    target.run(target.dialect.pause_audit)
    for name in sorted(shipped):
        target.run(f"DELETE FROM {name}")  # noqa: S608 - constant names
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
    for batch in transaction.pages(statement, rows_at_once(table, COPIED_ROWS)):
        yield [tuple(normalize(each, value) for each, value in zip(table.c, row, strict=True)) for row in batch]


def normalize(column: Any, value: Any) -> Any:
    """Return a value in the form that is equal for both engines."""
    return json_value(column.type, value)


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
