"""Columns, keys and relationships by the dialect's names; what is hidden does not exist here.

Made once from the models. Knows neither SQL nor who asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from models import RESOURCES
from models.errors import Fault
from models.fields import ColumnDefault
from models.fields import Model
from models.types import ColumnType

ALIASES_MAX = 1_000  # tables times places in a plan, which are few: embeds are five deep at most


class UnknownColumn(Fault):
    """A name that no visible column of the relation has (42703)."""


class UnknownPayloadColumn(Fault):
    """The same in a body or in `columns` (PGRST204)."""


class UnknownRelationship(Fault):
    """An embed that no foreign key leads to (PGRST200)."""


class AmbiguousRelationship(Fault):
    """An embed that several foreign keys lead to (PGRST201); `ways` lists them for the details."""

    def __init__(self, message: str, hint: str, ways: list[dict[str, str]]) -> None:
        super().__init__(message, hint=hint)
        self.ways = ways


@dataclass(frozen=True, slots=True)
class Attribute:
    """A visible column of a relation."""

    name: str
    type: ColumnType
    required: bool
    default: ColumnDefault | None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key by its visible column."""

    name: str
    relation: str
    column: str
    referred: str
    referred_column: str
    ondelete: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A resource as the dialect sees it."""

    name: str
    model: type[Model]
    attributes: dict[str, Attribute]
    key: tuple[str, ...]
    uniques: dict[str, tuple[str, ...]]
    foreign_keys: tuple[ForeignKey, ...]

    @property
    def table(self) -> sa.Table:
        table = self.model.__table__
        assert isinstance(table, sa.Table)
        return table

    @property
    def numbered(self) -> str | None:
        """The column whose values the database counts up, if there is one."""
        return next(
            (
                name
                for name, each in self.attributes.items()
                if each.default is ColumnDefault.SEQUENCE
            ),
            None,
        )

    def attribute(self, name: str) -> Attribute:
        """The visible column of that name, or UnknownColumn."""
        found = self.attributes.get(name)
        if found is None:
            raise UnknownColumn(f"column {self.name}.{name} does not exist", hint=self.hint(name))
        return found

    def payload_attribute(self, name: str) -> Attribute:
        """The same for a name out of a body, whose error has a code of its own."""
        found = self.attributes.get(name)
        if found is None:
            message = f"Could not find the '{name}' column of '{self.name}' in the schema cache"
            raise UnknownPayloadColumn(message, hint=None)
        return found

    def is_tied(self, name: str) -> bool:
        """Whether a column's value ties a row to others, which may change along with it."""
        refers = any(each.column == name for each in self.foreign_keys)
        return refers or name in self.key or name in self.model.carrying

    def hint(self, name: str) -> str | None:
        close = get_close_matches(name[:64], self.attributes, n=1, cutoff=0.75)
        return (
            f'Perhaps you meant to reference the column "{self.name}.{close[0]}".'
            if close
            else None
        )


@dataclass(frozen=True, slots=True)
class Relationship:
    """A way from one relation to another: `pairs` are (column here, column there).

    Many-to-many goes through `junction`: `pairs` then are (column here, junction column), and
    `far_pairs` (junction column, column there).
    """

    source: str
    target: str
    cardinality: str  # many-to-one, one-to-many, many-to-many
    constraint: str
    pairs: tuple[tuple[str, str], ...]
    junction: str | None = None
    far_pairs: tuple[tuple[str, str], ...] = ()
    far_constraint: str | None = None

    @property
    def to_one(self) -> bool:
        return self.cardinality == "many-to-one"

    def answers(self, target: str, hint: str | None) -> bool:
        """Whether `target!hint` names this relationship, as PostgREST resolves both."""
        column_here, column_there = self.pairs[0]
        if hint is None and self.junction is not None:
            return target == self.target
        if hint is None:
            return target in (self.target, self.constraint, column_here)
        if target != self.target:
            return False
        if self.junction is not None:
            return hint == self.junction
        return hint in (self.constraint, column_here, column_there)

    def describe(self) -> dict[str, str]:
        """One of the ways an ambiguous embed could go, as PGRST201's details list it."""
        described = {
            "cardinality": self.cardinality,
            "embedding": f"{self.source} with {self.target}",
        }
        if self.junction is not None:
            here, there = self.pairs[0][1], self.far_pairs[0][0]
            used = f"{self.junction} using {self.constraint}({here}) and {self.far_constraint}({there})"
            return described | {"relationship": used}
        used = f"{self.constraint} using {self.source}({self.pairs[0][0]}) and {self.target}({self.pairs[0][1]})"
        return described | {"relationship": used}

    def hint(self) -> str:
        name = self.junction if self.junction is not None else self.constraint
        return f"{self.target}!{name}"


class Catalog:
    """Everything that can be asked for, by name."""

    def __init__(self, resources: dict[str, type[Model]]) -> None:
        self.relations = {name: describe(name, model) for name, model in resources.items()}
        self.relationships: dict[str, tuple[Relationship, ...]] = {
            name: tuple(self.ways_from(name)) for name in self.relations
        }

    def published(self) -> list[Relation]:
        """The relations that documents tell of."""
        return [each for each in self.relations.values() if each.model.is_published]

    def ways_from(self, source: str) -> Iterator[Relationship]:
        for relation in self.relations.values():
            for fk in relation.foreign_keys:
                if fk.relation == source:
                    pairs = ((fk.column, fk.referred_column),)
                    yield Relationship(source, fk.referred, "many-to-one", fk.name, pairs)
                if fk.referred == source:
                    pairs = ((fk.referred_column, fk.column),)
                    yield Relationship(source, fk.relation, "one-to-many", fk.name, pairs)
            yield from self.ways_through(source, relation)

    def ways_through(self, source: str, junction: Relation) -> Iterator[Relationship]:
        """Many-to-many: both foreign keys lie within the junction's primary key."""
        keys = [fk for fk in junction.foreign_keys if fk.column in junction.key]
        for near in keys:
            for far in keys:
                if near is not far and near.referred == source:
                    yield Relationship(
                        source,
                        far.referred,
                        "many-to-many",
                        near.name,
                        ((near.referred_column, near.column),),
                        junction.name,
                        ((far.column, far.referred_column),),
                        far.name,
                    )

    def relationship(self, source: str, target: str, hint: str | None) -> Relationship:
        """The one relationship that `target!hint` names from `source`."""
        found = [way for way in self.relationships[source] if way.answers(target, hint)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise self.unknown(source, target, hint)
        raise self.ambiguous(source, target, found)

    def unknown(self, source: str, target: str, hint: str | None) -> UnknownRelationship:
        searched = f"Searched for a foreign key relationship between '{source}' and '{target}'"
        using = f" using the hint '{hint}'" if hint is not None else ""
        names = sorted({way.target for way in self.relationships[source]})
        close = get_close_matches(target[:64], names, n=1, cutoff=0.6)
        return UnknownRelationship(
            f"Could not find a relationship between '{source}' and '{target}' in the schema cache",
            f"{searched}{using} in the schema 'public', but no matches were found.",
            f"Perhaps you meant '{close[0]}' instead of '{target}'."
            if close and close[0] != target
            else None,
        )

    def ambiguous(
        self, source: str, target: str, found: list[Relationship]
    ) -> AmbiguousRelationship:
        tries = ", ".join(f"'{way.hint()}'" for way in found)
        return AmbiguousRelationship(
            "Could not embed because more than one relationship was found for "
            f"'{source}' and '{target}'",
            f"Try changing '{target}' to one of the following: {tries}. "
            "Find the desired relationship in the 'details' key.",
            [way.describe() for way in found],
        )


def describe(name: str, model: type[Model]) -> Relation:
    table: Any = model.__table__
    visible = [column for column in table.c if not column.info["hidden"]]
    names = {column.name for column in visible}
    uniques = {f"{name}_pkey": tuple(column.name for column in table.primary_key)}
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            uniques[str(constraint.name)] = tuple(column.name for column in constraint.columns)
    return Relation(
        name,
        model,
        {
            column.name: Attribute(
                column.name, column.info["type"], not column.nullable, column.info["default"]
            )
            for column in visible
        },
        tuple(column.name for column in table.primary_key),
        uniques,
        tuple(describe_foreign_keys(name, table, names)),
    )


def describe_foreign_keys(name: str, table: sa.Table, names: set[str]) -> Iterator[ForeignKey]:
    keys = sorted(
        table.foreign_key_constraints,
        key=lambda key: table.c[next(iter(key.column_keys))]._creation_order,
    )
    for key in keys:
        element = next(element for element in key.elements if element.parent.name in names)
        yield ForeignKey(
            str(key.name),
            name,
            element.parent.name,
            element.column.table.name,
            element.column.name,
            key.ondelete or "NO ACTION",
        )


@lru_cache(maxsize=ALIASES_MAX)
def aliased(table: Any, name: str) -> Any:
    """A table under another name. It is made once: its columns were a third of the work of planning."""
    return table.alias(name)


@cache
def catalog() -> Catalog:
    """The catalog of everything the API exposes."""
    return Catalog(RESOURCES)
