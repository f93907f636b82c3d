"""The SQL that the models give: tables, columns, CHECKs, indexes and statistics, for the generators of both engines.

Tables are in creation order, parents first. Lines have at most LINE_MAX characters.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from models import RESOURCES, parents_first
from models.credential import HIDDEN
from models.fields import TENANT_COLUMN, ColumnDefault, ColumnInfo, Grant, Index, Model, Refusal, indexes_of, parents_of
from models.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT32, INTEGER, TEXT, TEXT_BYTES_MAX, TIMESTAMP, UUID

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
ENGINES = (SQLITE, POSTGRESQL)

ACTIONS_ON_DELETE = ("CASCADE", "SET NULL")
"""What a deletion does to the rows that refer to the deleted one, if it does not fail."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key of one column."""

    model: type[Model]
    column: str
    parent: str
    parent_column: str
    on_delete: str
    on_update: str
    is_tenant: bool
    """Whether the parent determines the row's client."""

    @property
    def table(self) -> str:
        return table_of(self.model).name


def table_of(model: type[Model]) -> sa.Table:
    table = model.__table__
    assert isinstance(table, sa.Table)
    return table


def info_of(column: sa.Column[Any]) -> ColumnInfo:
    info: ColumnInfo = column.info["column"]
    return info


def is_hidden(model: type[Model]) -> bool:
    """Return whether the API does not have a table."""
    return model in HIDDEN


def resources() -> list[type[Model]]:
    return [RESOURCES[name] for name in parents_first()]


def audited() -> list[type[Model]]:
    """Return the tables whose changes the audit log holds."""
    return [model for model in resources() if not model.written_by_triggers]


def grant_of(model: type[Model]) -> Grant:
    grant = model.grant
    assert grant is not None
    return grant


def grant_tables() -> list[type[Model]]:
    return [model for model in audited() if model.grant is not None]


def written_by_service() -> set[str]:
    """Return the names of the tables that only the service writes. It never changes an id."""
    return {table_of(model).name for model in resources() if model.written_by_service}


def key_of(model: type[Model]) -> tuple[str, ...]:
    return tuple(column.name for column in table_of(model).primary_key)


def logged_columns(model: type[Model]) -> tuple[str, ...]:
    """Return the columns whose values the audit log holds."""
    columns = ((column.name, info_of(column)) for column in table_of(model).c)
    return tuple(name for name, info in columns if info.logged and not info.hidden)


def owner_column(model: type[Model]) -> str | None:
    """Return the column whose change moves a row to another client; None if rows never move."""
    if model.grant is not None:
        return model.grant.grantee
    return TENANT_COLUMN if model.tenant not in (None, "id") else None


def references_of(model: type[Model]) -> list[Reference]:
    """Return the foreign keys of a table in column order."""
    tenants = {key.parent.name for key in parents_of(model)}
    return [
        Reference(
            model,
            column.name,
            key.column.table.name,
            key.column.name,
            key.ondelete or "",
            # The compound key changes a row's client with its parent's, and so updates the id, too.
            "CASCADE" if column.name in tenants else key.onupdate or "",
            column.name in tenants,
        )
        for column in table_of(model).c
        for key in column.foreign_keys
    ]


def references_to(table: str, actions: Iterable[str] = ACTIONS_ON_DELETE) -> list[Reference]:
    """Return the foreign keys of audited tables that refer to a table, by what a deletion does."""
    keys = [key for model in audited() for key in references_of(model) if key.parent == table]
    return [key for action in actions for key in keys if key.on_delete == action]


def tenant_children(model: type[Model]) -> list[Reference]:
    """Return the foreign keys of the tables whose rows have the client of a row of this table."""
    keys = (key for child in audited() for key in references_of(child))
    return [key for key in keys if key.is_tenant and key.parent == model.__tablename__]


def parent_model(key: Reference) -> type[Model]:
    return next(model for model in resources() if model.__tablename__ == key.parent)


def has_tenant_key(model: type[Model], engine: str) -> bool:
    """Return whether the key of a table and its client are a key, to which children refer."""
    return model.sqlite_compound_key if engine == SQLITE else bool(tenant_children(model))


def is_compound(key: Reference, engine: str) -> bool:
    """Return whether a foreign key includes the client. Else triggers keep the client equal to the parent's."""
    return key.is_tenant and has_tenant_key(parent_model(key), engine)


def held_by_triggers() -> list[Reference]:
    """Return the foreign keys of SQLite without the client, of tables with the client of their parent."""
    keys = (key for model in audited() for key in references_of(model))
    return [key for key in keys if key.is_tenant and not is_compound(key, SQLITE)]


def grants_on(table: str) -> list[tuple[type[Model], Grant]]:
    """Return the grants whose target is a row of this table."""
    found = ((model, grant_of(model)) for model in grant_tables())
    return [
        (model, grant)
        for model, grant in found
        if any(key.column == grant.target and key.parent == table for key in references_of(model))
    ]


def grants_of_users() -> list[tuple[str, str]]:
    """Return the grant tables, each with the column of its user."""
    return [(model.__tablename__, grant_of(model).grantee) for model in grant_tables()]


def sequence_tables() -> list[str]:
    """Return the tables whose ids the database counts."""
    return [
        model.__tablename__
        for model in audited()
        if any(info_of(column).default is ColumnDefault.SEQUENCE for column in table_of(model).primary_key)
    ]


def tables_without_rights() -> list[type[Model]]:
    """Return the audited tables whose new rows change no rights: those of neither grants nor users."""
    users = {
        key.parent for model in grant_tables() for key in references_of(model) if key.column == grant_of(model).grantee
    }
    return [model for model in audited() if model.grant is None and model.__tablename__ not in users]


def columns_with_rights() -> list[tuple[str, bool]]:
    """Return the columns of `tables_without_rights` whose change may change rights: keys, clients, references and
    `deciding_columns`.

    Each comes with whether it may be null before the change.
    """
    found: dict[str, bool] = {}
    for model in tables_without_rights():
        references = [key.column for key in references_of(model)]
        for name in (*key_of(model), model.tenant, *references, *model.deciding_columns):
            if name is not None:
                found[name] = found.get(name, False) or bool(table_of(model).c[name].nullable)
    return list(found.items())


ID_MAX = 2**53 - 1  # JavaScript represents every integer up to here

SQLITE_TYPES = {BIGINT: "INTEGER", INTEGER: "INTEGER", DOUBLE: "REAL", BOOLEAN: "INTEGER"}
"""The types that are not TEXT."""

POSTGRESQL_TYPES = {TIMESTAMP: "timestamptz", TEXT: 'text COLLATE "C"'}
"""The types that are not spelled as in the API."""

DATE_FORM = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"


def literal(value: str | float | None, engine: str = SQLITE) -> str:
    """Return a value as SQL.

    >>> literal("it's"), literal(-90), literal(2.50), literal(False)
    ("'it''s'", '-90', '2.5', '0')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool) and engine != SQLITE:
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if value == int(value) else repr(value)


def is_generated(column: sa.Column[Any]) -> bool:
    """Return whether a column is an integer key that the database counts."""
    return column.primary_key and info_of(column).type is BIGINT and len(column.table.primary_key) == 1


def has_rowid(model: type[Model]) -> bool:
    """Return whether a SQLite table stores its rows by an integer: by its own key, or because its keys are random.

    Rows by a random key would scatter a bulk insert over the file.
    """
    key = list(table_of(model).primary_key)
    return len(key) == 1 and (is_generated(key[0]) or info_of(key[0]).default is not None)


def definition(model: type[Model], column: sa.Column[Any], engine: str) -> str:
    """Return a column's type and what belongs to it, without CHECKs and foreign keys."""
    info = info_of(column)
    if engine == SQLITE:
        words = [SQLITE_TYPES.get(info.type, "TEXT")]
        if is_generated(column):
            words.append("PRIMARY KEY" + (" AUTOINCREMENT" if info.default is ColumnDefault.SEQUENCE else ""))
        else:
            words += ["PRIMARY KEY"] if key_of(model) == (column.name,) else []
            words += ["NOT NULL"] if not column.nullable else []
    else:
        words = [POSTGRESQL_TYPES.get(info.type, info.type.name)]
        if is_generated(column):
            words.append("GENERATED BY DEFAULT AS IDENTITY")
        elif not column.nullable:
            words.append("NOT NULL")
    if info.stored_default is not None:
        words.append(f"DEFAULT {literal(info.stored_default, engine)}")
    return " ".join(words)


def check_name(model: type[Model], column: sa.Column[Any]) -> str:
    return f"{model.__tablename__}_{column.name}_check"


def check_of(model: type[Model], column: sa.Column[Any], engine: str) -> str | None:
    """Return the condition of a column's CHECK, or None. The types of PostgreSQL need fewer conditions."""
    if model.written_by_triggers:
        return None
    if column.foreign_keys or info_of(column).hidden:
        return None
    conditions = [*ranges(column, engine), *texts(model, column, engine)]
    return " AND ".join(conditions) or None


def ranges(column: sa.Column[Any], engine: str) -> Iterator[str]:
    """Yield the conditions of a number."""
    info, name = info_of(column), column.name
    low, high = info.minimum, info.maximum
    if info.default is ColumnDefault.SEQUENCE:
        low, high = 1, ID_MAX
    elif info.type is INTEGER and engine == SQLITE:
        low, high = INT32[0] if low is None else low, INT32[1] if high is None else high
    if low is not None and high is not None:
        yield f"{name} BETWEEN {literal(low)} AND {literal(high)}"
    elif low is not None:
        yield f"{name} >= {literal(low)}"
    elif high is not None:
        yield f"{name} <= {literal(high)}"


def texts(model: type[Model], column: sa.Column[Any], engine: str) -> Iterator[str]:
    """Yield the conditions of a text, and on SQLite of a type that is stored as one."""
    info, name = info_of(column), column.name
    if info.allowed_values:
        yield f"{name} IN ({', '.join(map(literal, info.allowed_values))})"
    elif info.type is TEXT:
        bytes_max = info.bytes_max or (None if is_hidden(model) else TEXT_BYTES_MAX)
        size = f"length(CAST({name} AS BLOB))" if engine == SQLITE else f"octet_length({name})"
        if bytes_max is not None:
            yield f"{size} <= {bytes_max}"
    elif engine == SQLITE and info.type is BOOLEAN:
        yield f"{name} IN (0, 1)"
    elif engine == SQLITE and info.type is UUID:
        yield f"length({name}) = 36 AND {name} = lower({name})"
    elif engine == SQLITE and info.type is DATE:
        yield f"{name} GLOB '{DATE_FORM}'"
    elif engine == SQLITE and info.type is TIMESTAMP:
        yield f"{name} GLOB '{DATE_FORM}T*+00:00'"


LINE_MAX = 120
INDENT = "    "


def comment(text: str) -> str:
    """Return a docstring as the lines of a comment; nothing for an empty one.

    >>> comment("One.\\n\\n    Two.")
    '-- One.\\n-- Two.\\n'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    lines = [line for each in paragraphs for line in textwrap.wrap(" ".join(each.split()), LINE_MAX - 3)]
    return "".join(f"-- {line}\n" for line in lines)


def fill(items: Iterable[str], indent: str, separator: str = ", ") -> str:
    """Return a list of SQL on lines that begin with `indent` and break between items only. They leave room for INDENT.

    >>> fill(["a", "b"], "  ")
    '  a, b'
    """
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(separator) + len(item) < LINE_MAX - len(INDENT):
            lines[-1] += separator + item
        else:
            if lines:
                lines[-1] += separator.rstrip()
            lines.append(indent + item)
    return "\n".join(lines)


def create_statements(model: type[Model], engine: str) -> str:
    """Return the statements of a table, with comments: the table, its indexes and its statistics."""
    parts = [comment(model.__doc__ or ""), comment(tenant_comment(model, engine)), create_table(model, engine)]
    parts += [create_index(model, index, engine) for index in indexes_of(model, engine)]
    if engine == POSTGRESQL:
        parts += [create_statistics(model, column) for column in model.indexed_texts]
    return "".join(parts)


def tenant_comment(model: type[Model], engine: str) -> str:
    keys = [key for key in references_of(model) if key.is_tenant]
    if not keys:
        return ""
    compound = {is_compound(key, engine) for key in keys}
    foreign_keys = "compound foreign keys enforce" if len(keys) > 1 else "compound foreign key enforces"
    means = {
        frozenset({True}): f"The {foreign_keys}",
        frozenset({False}): "Triggers enforce",
        frozenset({True, False}): "Triggers and a compound foreign key enforce",
    }[frozenset(compound)]
    parents = " or ".join(key.parent for key in keys)
    return f"{TENANT_COLUMN} is hidden and equals that of the row in {parents}. {means} this."


def create_table(model: type[Model], engine: str) -> str:
    table = table_of(model)
    width = max(len(column.name) for column in table.c)
    lines = [f"{column.name:<{width}} {definition(model, column, engine)}" for column in table.c]
    lines += constraints(model, engine)
    body = ",\n".join(INDENT + line for line in lines)
    return f"CREATE TABLE {table.name} (\n{body}\n){options(model, engine)};\n"


def options(model: type[Model], engine: str) -> str:
    if engine != SQLITE:
        return ""
    return " STRICT" if has_rowid(model) else " STRICT, WITHOUT ROWID"


def constraints(model: type[Model], engine: str) -> Iterator[str]:
    """Yield the constraints of a table: keys, foreign keys, then CHECKs."""
    table = table_of(model)
    key = key_of(model)
    if engine == POSTGRESQL or len(key) > 1:
        yield f"CONSTRAINT {table.name}_pkey PRIMARY KEY ({', '.join(key)})"
    for end, columns in model.unique.items():
        yield f"CONSTRAINT {table.name}_{end} UNIQUE ({', '.join(columns)})"
    if has_tenant_key(model, engine):
        columns = (*key, TENANT_COLUMN)
        yield f"CONSTRAINT {table.name}_{'_'.join(columns)}_key UNIQUE ({', '.join(columns)})"
    for reference in references_of(model):
        yield foreign_key(reference, engine)
    for column in table.c:
        condition = check_of(model, column, engine)
        if condition is not None:
            yield constraint(check_name(model, column), f"CHECK ({condition})")
    for end, condition in model.checks.items():
        yield constraint(f"{table.name}_{end}", f"CHECK ({condition})")


def foreign_key(key: Reference, engine: str) -> str:
    own, others = key.column, key.parent_column
    if is_compound(key, engine):
        own, others = f"{own}, {TENANT_COLUMN}", f"{others}, {TENANT_COLUMN}"
    head = f"{key.table}_{key.column}_fkey FOREIGN KEY ({own})"
    tail = f"REFERENCES {key.parent} ({others})"
    tail += f" ON UPDATE {key.on_update}" if key.on_update else ""
    tail += f" ON DELETE {key.on_delete}" if key.on_delete else ""
    return constraint(head, tail)


def constraint(head: str, tail: str) -> str:
    """Return a constraint on one line, or on two lines if it is too long."""
    text = f"CONSTRAINT {head} {tail}"
    return text if len(INDENT + text) < LINE_MAX else f"CONSTRAINT {head}\n{INDENT * 2}{tail}"


def create_index(model: type[Model], index: Index, engine: str) -> str:
    kind = "UNIQUE INDEX" if index.unique else "INDEX"
    where = f" WHERE {index.where}" if index.where else ""
    columns = ", ".join(index.columns)
    return f"{comment(index.comment)}CREATE {kind} {index.name} ON {model.__tablename__} ({columns}){where};\n"


def create_statistics(model: type[Model], column: str) -> str:
    """Return the statement for the lengths of an indexed text, which PostgreSQL's planner compares with the index."""
    table = model.__tablename__
    return f"CREATE STATISTICS {table}_{column}_length ON (char_length({column})) FROM {table};\n"


def insert_shipped(model: type[Model], engine: str) -> str:
    """Return the statement that inserts the rows of a new database. All of them have the same columns."""
    names = list(model.shipped[0])
    rows = [", ".join(literal(row[name], engine) for name in names) for row in model.shipped]
    values = ",\n".join(f"{INDENT}({row})" for row in rows)
    return f"INSERT INTO {model.__tablename__} ({', '.join(names)}) VALUES\n{values};\n"


def refusals() -> Iterator[tuple[str, Refusal]]:
    """Yield the writes that triggers refuse, with the name of their table."""
    for model in audited():
        for refusal in model.refusals:
            yield model.__tablename__, refusal


def refused_writes(table: str, refusal: Refusal, actor: str) -> list[tuple[str, str, str]]:
    """Return the end of the name, the event and the condition of each trigger of a refusal. `actor` is SQL.

    An insert is refused after the row is there: a repeated upsert that ignores an existing row inserts nothing.
    """
    columns = refused_columns(table, refusal)
    of_columns = f" OF {', '.join(columns)}" if columns else ""
    events = (
        ("insert", "AFTER INSERT", ("NEW",)),
        ("update", f"AFTER UPDATE{of_columns}", ("OLD",) if refusal.is_about_moves else ("OLD", "NEW")),
        ("delete", "BEFORE DELETE", ("OLD",)),
    )
    found = []
    for name, when, rows in events:
        if name in refusal.events:
            keys = ", ".join(refusal.key.format(row=row) for row in rows)
            further = differences(refusal, columns) if name == "update" else ""
            found.append((name, when, refusal.condition.format(actor=actor, keys=keys) + further))
    return found


def refused_columns(table: str, refusal: Refusal) -> tuple[str, ...]:
    """Return the columns whose updates count; none for all."""
    if refusal.columns or not refusal.is_about_changes:
        return refusal.columns
    return tuple(
        column.name
        for column in RESOURCES[table].__table__.c
        if column.name not in (TENANT_COLUMN, "updated_at")
        and all(key.ondelete != "SET NULL" for key in column.foreign_keys)
    )


def differences(refusal: Refusal, columns: tuple[str, ...]) -> str:
    """Return the further condition of an update that counts only if a column or the key changes."""
    if refusal.is_about_moves:
        before, after = (refusal.key.format(row=row) for row in ("OLD", "NEW"))
        return f"\n    AND {before} IS DISTINCT FROM {after}"
    if not refusal.is_about_changes:
        return ""
    changes = fill((f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in columns), INDENT * 2, " OR ")
    return f"\n    AND (\n{changes})"
