"""The statements that create tables, indexes and statistics."""

from __future__ import annotations

from collections.abc import Iterator

from engine.schema.columns import check_name, check_of, definition, has_rowid
from engine.schema.description import (
    POSTGRESQL,
    SQLITE,
    Reference,
    has_tenant_key,
    is_compound,
    key_of,
    references_of,
    table_of,
)
from engine.schema.layout import INDENT, LINE_MAX, comment
from models.fields import TENANT_COLUMN, Index, Model, indexes_of


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
