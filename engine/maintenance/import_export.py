"""Import and export: every resource's rows as JSON, all or nothing, in one order that never changes.

The format is an object of table -> array of rows, each row all its visible columns. A user carries what is kept
beside the row, where there is something: `app_metadata`, `user_metadata`, `banned_until`; and may bring a `password` on
the way in. Nothing secret ever goes out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from engine import audit
from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.plan_cache import PLANS_MAX
from engine.query.rule import Action
from engine.query.rule import ReadScope
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.query.write.constraint_diagnosis import diagnose_write
from engine.query.write.insert import IMPORTED_ID_MAX
from engine.query.write.insert import default_value
from engine.query.write.insert import require_id
from engine.query.write.statements import WriteBuilder
from engine.storage import file_copies as copies
from engine.storage.atomic_files import drafted
from engine.storage.database import Database
from engine.storage.transaction import Transaction
from engine.storage.transaction import stored_timestamp
from models.audit_log import BULK_RELATION
from models.errors import Fault
from models.fields import ColumnDefault
from models.types import DOUBLE
from models.types import Bound

ORDER = (
    "clients",
    "users",
    "inspectors",
    "buildings",
    "inspections",
    "reports_lead",
    "client_admin_building_access",
    "client_manager_building_access",
    "client_admin_inspection_access",
    "client_manager_inspection_access",
)
"""Parents before children, so that every foreign key has something to point at."""

IMPORT_SECONDS_MAX = 3_600.0
ROWS_A_LOOK = 1_000

BESIDE_A_USER = ("password", "app_metadata", "user_metadata", "banned_until")

UserImporter = Callable[[Transaction, str, Mapping[str, object]], None]
"""Gives the user of an id what is kept beside their row, in the transaction that makes them."""


class InvalidArchive(Fault):
    """A file that is no archive, or a row in it that cannot be kept."""


class Unrestricted:
    """The rule of the command line, where whoever holds the file may do everything."""

    def rows(self, action: Action, model: Any, row: Any) -> sa.ColumnElement[bool]:
        return sa.true()

    def check(self, model: Any, row: Any) -> sa.ColumnElement[bool]:
        return sa.true()

    def implied(self, model: Any, by: Any) -> bool:
        return False

    def read_scope(self, model: Any) -> ReadScope:
        return ReadScope.EVERYTHING

    @property
    def protected_columns(self) -> frozenset[str]:
        return frozenset()


def import_archive(database: Database, archive: object, furnish: UserImporter) -> dict[str, int]:
    """Insert every row of an archive or none; the number of rows by table."""
    tables = read_tables(archive)
    with database.writing(seconds_max=IMPORT_SECONDS_MAX) as transaction:
        # One line in the audit trail for all of it: what was imported stands in the file.
        transaction.run(transaction.dialect.pause_audit)
        counts: dict[str, int] = {}
        for name in ORDER:
            relation = catalog().relations[name]
            beside: list[tuple[int, str, dict[str, object]]] = []
            for place, row in enumerate(tables.get(name, [])):
                with at_place(name, place):
                    user_id, given = import_row(transaction, relation, row)
                if relation.name == "users":
                    beside.append((place, user_id, given))
            # Once all are there: who is banned may not be the last super admin, and may come first.
            for place, user_id, given in beside:
                with at_place(name, place):
                    furnish(transaction, user_id, given)
            counts[name] = len(tables.get(name, []))
        transaction.run(transaction.dialect.resume_audit, (transaction.now,))
        audit.record_event(
            transaction,
            "import",
            BULK_RELATION,
            actor_id=None,
            client_id=None,
            details=dict(counts),
        )
    return counts


@contextmanager
def at_place(name: str, place: int) -> Iterator[None]:
    """Around what is done with a row: whatever is wrong with it is told with its place."""
    try:
        yield
    except Fault as fault:
        raise InvalidArchive(f"{name}[{place}]: {fault.message}") from fault
    except ValueError as error:  # half of a surrogate pair, or no number of JSON's
        raise InvalidArchive(f"{name}[{place}]: {error}") from error


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of an archive, of its names and values: of what it says twice, one would be left out without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidArchive(f'an object of the archive has "{twice}" twice')
    return found


def read_tables(archive: object) -> dict[str, list[dict[str, object]]]:
    if not isinstance(archive, dict):
        raise InvalidArchive("an archive is a JSON object of table -> rows")
    for name, rows in archive.items():
        if name not in ORDER:
            raise InvalidArchive(f'there is no table "{name}"')
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InvalidArchive(f"{name} is not an array of objects")
    return archive


def has_no_rows(transaction: Transaction) -> bool:
    """Whether there is no row of any resource."""
    found = (
        transaction.value(f"SELECT EXISTS (SELECT 1 FROM {name})")  # noqa: S608 - names of our own
        for name in ORDER
    )
    return not any(found)


def import_row(
    transaction: Transaction, relation: Relation, row: dict[str, object]
) -> tuple[str, dict[str, object]]:
    """Insert a row; its id, where it has one, and what it says of a user beside that."""
    given = dict(row)
    names = BESIDE_A_USER if relation.name == "users" else ()
    beside = {name: given.pop(name) for name in names if name in given}
    values: dict[str, Bound] = {}
    for name, value in given.items():
        attribute = relation.payload_attribute(name)
        values[name] = attribute.type.read_json(value)
        if name == "id" and attribute.default is ColumnDefault.SEQUENCE:
            require_id(relation, values[name], IMPORTED_ID_MAX)
    for name, attribute in relation.attributes.items():
        if name not in values:
            found = default_value(attribute.default, transaction.now, Binding())
            if found is not None:
                values[name] = found
    columns = tuple(values)
    statement = insert_statement(transaction.dialect.name, relation.name, columns)
    with diagnose_write(transaction, relation, lambda: values, []):
        transaction.run(statement.sql, statement.bind(Binding(new=tuple(values.values()))))
    return str(values.get("id")), beside


@lru_cache(maxsize=PLANS_MAX)
def insert_statement(database: str, name: str, columns: tuple[str, ...]) -> Statement:
    return WriteBuilder(database, name, Unrestricted()).insert(columns)


def export_archive(transaction: Transaction) -> Iterator[str]:
    """The archive as text, piece by piece: tables in their order, rows by key, one row a line."""
    yield "{"
    for place, name in enumerate(ORDER):
        yield f'{"," if place else ""}\n "{name}": ['
        for number, row in enumerate(rows_of(transaction, catalog().relations[name])):
            yield f"{',' if number else ''}\n  {row}"
        yield "\n ]"
    yield "\n}\n"


def write_archive(transaction: Transaction, file: Path) -> None:
    """The archive as a file that only its owner can read: whole, or what was there stays."""
    if file.exists() and not file.is_file():  # a pipe, or a terminal: it has no place to be put in
        with file.open("w", encoding="utf-8") as out:
            out.writelines(export_archive(transaction))
        return
    with drafted(file) as draft:
        with draft.open("w", encoding="utf-8") as out:
            out.writelines(export_archive(transaction))
        copies.sync(draft)
        draft.replace(file)
    copies.sync(file.parent)


def rows_of(transaction: Transaction, relation: Relation) -> Iterator[str]:
    table = relation.table
    names = list(relation.attributes)
    everything = sa.select(*(table.c[name] for name in names)).order_by(*table.primary_key)
    statement = str(everything.compile(dialect=transaction.dialect.sa_dialect))
    doubles = {name for name, each in relation.attributes.items() if each.type is DOUBLE}
    beside = account_fields(transaction) if relation.name == "users" else {}
    for rows in transaction.pages(statement, ROWS_A_LOOK):
        for row in rows:
            values = {
                name: as_double(value) if name in doubles and value is not None else value
                for name, value in zip(names, row, strict=True)
            }
            values.update(beside.get(values.get("id"), {}))
            yield json.dumps(values, ensure_ascii=False)


def as_double(value: float | str) -> float:
    """A double as either database has it: SQLite may hand out a whole one as an integer, and keeps no sign of a nought.

    >>> as_double(42), as_double(-0.0)
    (42.0, 0.0)
    """
    return float(value) + 0.0


BESIDES = (
    "SELECT user_id, app_metadata, user_metadata, disabled_until FROM credentials"
    " WHERE app_metadata <> '{}' OR user_metadata <> '{}' OR disabled_until <> 0"
)


def account_fields(transaction: Transaction) -> dict[object, dict[str, object]]:
    """What is kept beside the users' rows, by their ids; nothing of those of whom there is no more than a password."""
    found: dict[object, dict[str, object]] = {}
    for user_id, app, user, until in transaction.all(BESIDES):
        said = {"app_metadata": json.loads(app), "user_metadata": json.loads(user)}
        found[str(user_id)] = {name: value for name, value in said.items() if value}
        if until:
            found[str(user_id)]["banned_until"] = stored_timestamp(until)
    return found
