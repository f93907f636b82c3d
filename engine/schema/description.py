"""What the models say about tables, for the generators of both engines. Tables are in creation order, parents first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from models import RESOURCES, parents_first
from models.credential import HIDDEN
from models.fields import TENANT_COLUMN, ColumnDefault, ColumnInfo, Grant, Model, parents_of

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
    """Return whether a table is one of sign-in, which the API does not have."""
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


def visible_columns(model: type[Model]) -> tuple[str, ...]:
    return tuple(column.name for column in table_of(model).c if not info_of(column).hidden)


def owner_column(model: type[Model]) -> str | None:
    """Return the column whose change moves a row to another client; None if rows never move."""
    if model.grant is not None:
        return model.grant.grantee
    if model.audited_with is not None:
        return model.audited_with
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


def audit_reference(model: type[Model]) -> Reference | None:
    """Return the foreign key to the row whose client reads the audit entries of a table without a client."""
    return next((key for key in references_of(model) if key.column == model.audited_with), None)


def client_of_reference(key: Reference, row: str) -> str:
    """Return the client of the row to which a foreign key refers."""
    found = f"SELECT owner.{TENANT_COLUMN} FROM {key.parent} AS owner"
    return f"({found} WHERE owner.{key.parent_column} = {row}.{key.column})"


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
