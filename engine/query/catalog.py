"""The schema cache: relations, columns, keys and relationships of the API, and the errors of constraints.

The cache is built once from the models, without hidden columns. A SQLite index may begin with a column copied from the
parent, as that of inspections by client and building does. A search by building therefore includes the building's
client. Otherwise SQLite searches client by client.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any

import sqlalchemy as sa

from models import RESOURCES
from models.fields import ColumnDefault, ColumnInfo, Model
from models.types import COMPOSED_TEXT, ColumnType, Fault

NAME_CHARACTERS_MAX = 64  # longer names are cut in messages
NAMED_MAX = 20  # unknown columns in a message
NO_IDENTIFIER = re.compile(r"[^a-z0-9]+")
ALIASES_MAX = 1_000  # tables × aliases of a plan; embeds are at most 5 levels deep


class UnknownColumn(Fault, code="42703"):
    """A column that the relation does not have, or that is hidden."""


class UnknownPayloadColumn(Fault, code="PGRST204"):
    """An unknown column in a body or in `columns`."""


class UnknownRelationship(Fault, code="PGRST200"):
    """An embed without a foreign key to it."""


class AmbiguousRelationship(Fault, code="PGRST201"):
    """An embed with several relationships to it (PGRST201). `candidates` describes them for the error's details."""

    def __init__(self, message: str, hint: str, candidates: list[dict[str, str]]) -> None:
        super().__init__(message, hint=hint)
        self.candidates = candidates


@dataclass(frozen=True, slots=True)
class Attribute:
    """A visible column of a relation."""

    name: str
    required: bool
    info: ColumnInfo
    type: ColumnType
    default: ColumnDefault | None
    stored_default: str | int | None

    @property
    def filter_type(self) -> ColumnType:
        return COMPOSED_TEXT if self.info.is_composed else self.type

    @property
    def has_default(self) -> bool:
        """Whether a payload may omit the column although it is required."""
        return self.default is not None or self.stored_default is not None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key and its visible column."""

    name: str
    relation: str
    column: str
    referred: str
    referred_column: str
    ondelete: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A resource with its visible columns, keys and foreign keys."""

    name: str
    model: type[Model]
    attributes: dict[str, Attribute]
    key: tuple[str, ...]
    uniques: dict[str, tuple[str, ...]]
    """The visible columns of the primary key and of the unique constraints, by the constraint's name."""
    stored_uniques: dict[str, tuple[str, ...]]
    """The same with the hidden client, within which a value is unique."""
    foreign_keys: tuple[ForeignKey, ...]

    @property
    def table(self) -> sa.Table:
        table = self.model.__table__
        assert isinstance(table, sa.Table)
        return table

    @property
    def sequence_column(self) -> str | None:
        """The column whose values the database generates from a sequence, or None."""
        return next((name for name, each in self.attributes.items() if each.default is ColumnDefault.SEQUENCE), None)

    def unique_columns(self, visible: tuple[str, ...]) -> tuple[str, ...]:
        """Return all columns of the unique constraint or index with these visible columns."""
        found = (self.stored_uniques[name] for name, columns in self.uniques.items() if columns == visible)
        return next(found, visible)

    @property
    def service_columns(self) -> frozenset[str]:
        """The columns that only the service changes."""
        return frozenset(name for name, each in self.attributes.items() if each.info.service)

    @property
    def insert_only_columns(self) -> frozenset[str]:
        """The columns that only functions change after the insert."""
        return frozenset(name for name, each in self.attributes.items() if each.info.insert_only)

    def attribute(self, name: str) -> Attribute:
        """Return a visible column; raise UnknownColumn if there is none."""
        attribute = self.attributes.get(name)
        if attribute is None:
            message = f"column {self.name}.{name} does not exist"
            raise UnknownColumn(message, hint=self.column_hint(name))
        return attribute

    def payload_attribute(self, name: str) -> Attribute:
        """Return a visible column named in a body; raise UnknownPayloadColumn if there is none."""
        self.require_payload_columns((name,))
        return self.attributes[name]

    def require_payload_columns(self, names: Iterable[str]) -> None:
        """Raise UnknownPayloadColumn for names that are no visible column.

        The fault has up to NAMED_MAX of them, and the nearest column of each.
        """
        every_unknown = [name for name in names if name not in self.attributes]
        if not every_unknown:
            return
        unknown = every_unknown[:NAMED_MAX]
        quoted = ", ".join(f"'{name[:NAME_CHARACTERS_MAX]}'" for name in unknown)
        if len(every_unknown) > NAMED_MAX:
            quoted += f" and {len(every_unknown) - NAMED_MAX} other"
        columns = "column" if len(every_unknown) == 1 else "columns"
        nearest = {name: self.nearest_column(name) for name in unknown}
        meant = ", ".join(
            f'"{column}" instead of "{name[:NAME_CHARACTERS_MAX]}"' for name, column in nearest.items() if column
        )
        raise UnknownPayloadColumn(
            f"Could not find the {quoted} {columns} of '{self.name}' in the schema cache",
            hint=f"Perhaps you meant {meant}." if meant else None,
        )

    def nearest_column(self, name: str) -> str | None:
        """Return the column of a similar name, for example `client_id` for `Client ID`; None if there is none."""
        spelled = NO_IDENTIFIER.sub("_", name[:NAME_CHARACTERS_MAX].strip().lower())
        return next(iter(get_close_matches(spelled, self.attributes, n=1, cutoff=0.6)), None)

    def affects_other_rows(self, name: str) -> bool:
        """Return whether a change of a column may change other rows."""
        refers = any(each.column == name for each in self.foreign_keys)
        return refers or name in self.key or name in self.model.cascading_columns

    def column_hint(self, name: str) -> str | None:
        close = get_close_matches(name[:64], self.attributes, n=1, cutoff=0.75)
        return f'Perhaps you meant to reference the column "{self.name}.{close[0]}".' if close else None


@dataclass(frozen=True, slots=True)
class Relationship:
    """A relationship between two relations. `pairs` are (source column, target column).

    A many-to-many relationship has a `junction`. Its `pairs` are (source column, junction column), and its
    `far_pairs` are (junction column, target column).
    """

    source: str
    target: str
    cardinality: str  # many-to-one, one-to-many, one-to-one, many-to-many
    constraint: str
    pairs: tuple[tuple[str, str], ...]
    junction: str | None = None
    far_pairs: tuple[tuple[str, str], ...] = ()
    far_constraint: str | None = None

    @property
    def to_one(self) -> bool:
        return self.cardinality in ("many-to-one", "one-to-one")

    def matches(self, target: str, hint: str | None) -> bool:
        """Return whether `target!hint` refers to this relationship, by PostgREST's rules."""
        source_column, target_column = self.pairs[0]
        if hint is None and self.junction is not None:
            return target == self.target
        if hint is None:
            return target in (self.target, self.constraint, source_column)
        if target != self.target:
            return False
        if self.junction is not None:
            return hint == self.junction
        return hint in (self.constraint, source_column, target_column)

    def describe(self) -> dict[str, str]:
        """Return the relationship as an entry in the details of PGRST201."""
        description = {"cardinality": self.cardinality, "embedding": f"{self.source} with {self.target}"}
        if self.junction is not None:
            near, far = self.pairs[0][1], self.far_pairs[0][0]
            used = f"{self.junction} using {self.constraint}({near}) and {self.far_constraint}({far})"
            return description | {"relationship": used}
        used = f"{self.constraint} using {self.source}({self.pairs[0][0]}) and {self.target}({self.pairs[0][1]})"
        return description | {"relationship": used}

    def hint(self) -> str:
        name = self.junction if self.junction is not None else self.constraint
        return f"{self.target}!{name}"


class Catalog:
    """The relations and relationships of the API, by name."""

    def __init__(self, resources: dict[str, type[Model]]) -> None:
        self.relations = {name: relation_of(name, model) for name, model in resources.items()}
        self.relationships: dict[str, tuple[Relationship, ...]] = {
            name: tuple(self.relationships_from(name)) for name in self.relations
        }

    def published(self) -> list[Relation]:
        """Return the relations that the API documents describe."""
        return [each for each in self.relations.values() if each.model.is_published]

    def relationships_from(self, source: str) -> Iterator[Relationship]:
        """Yield the relationships of a relation, in both directions of each foreign key."""
        for relation in self.relations.values():
            for fk in relation.foreign_keys:
                is_unique = (fk.column,) in relation.uniques.values()
                if fk.relation == source:
                    kind, pairs = "one-to-one" if is_unique else "many-to-one", ((fk.column, fk.referred_column),)
                    yield Relationship(source, fk.referred, kind, fk.name, pairs)
                if fk.referred == source:
                    kind, pairs = "one-to-one" if is_unique else "one-to-many", ((fk.referred_column, fk.column),)
                    yield Relationship(source, fk.relation, kind, fk.name, pairs)
            yield from self.many_to_many_from(source, relation)

    def many_to_many_from(self, source: str, junction: Relation) -> Iterator[Relationship]:
        """Yield the many-to-many relationships through a junction: its primary key holds both foreign keys."""
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
        """Return the relationship that `target!hint` refers to.

        Raise UnknownRelationship if there is none, and AmbiguousRelationship if there are several.
        """
        matches = [each for each in self.relationships[source] if each.matches(target, hint)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            raise self.unknown_relationship(source, target, hint)
        raise self.ambiguous_relationship(source, target, matches)

    def unknown_relationship(self, source: str, target: str, hint: str | None) -> UnknownRelationship:
        searched = f"Searched for a foreign key relationship between '{source}' and '{target}'"
        using = f" using the hint '{hint}'" if hint is not None else ""
        names = sorted({each.target for each in self.relationships[source]})
        close = get_close_matches(target[:64], names, n=1, cutoff=0.6)
        return UnknownRelationship(
            f"Could not find a relationship between '{source}' and '{target}' in the schema cache",
            f"{searched}{using} in the schema 'public', but no matches were found.",
            f"Perhaps you meant '{close[0]}' instead of '{target}'." if close and close[0] != target else None,
        )

    def ambiguous_relationship(self, source: str, target: str, matches: list[Relationship]) -> AmbiguousRelationship:
        hints = ", ".join(f"'{each.hint()}'" for each in matches)
        return AmbiguousRelationship(
            f"Could not embed because more than one relationship was found for '{source}' and '{target}'",
            f"Try changing '{target}' to one of the following: {hints}. "
            "Find the desired relationship in the 'details' key.",
            [each.describe() for each in matches],
        )


def attribute_of(column: sa.Column[Any]) -> Attribute:
    info: ColumnInfo = column.info["column"]
    return Attribute(column.name, not column.nullable, info, info.type, info.default, info.stored_default)


def relation_of(name: str, model: type[Model]) -> Relation:
    table: Any = model.__table__
    visible = [column for column in table.c if not column.info["column"].hidden]
    names = {column.name for column in visible}
    uniques = {f"{name}_pkey": tuple(column.name for column in table.primary_key)}
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            uniques[str(constraint.name)] = tuple(column.name for column in constraint.columns)
    return Relation(
        name,
        model,
        {column.name: attribute_of(column) for column in visible},
        tuple(column.name for column in table.primary_key),
        {each: tuple(column for column in columns if column in names) for each, columns in uniques.items()},
        uniques,
        tuple(foreign_keys_of(name, table, names)),
    )


def foreign_keys_of(name: str, table: sa.Table, names: set[str]) -> Iterator[ForeignKey]:
    keys = sorted(table.foreign_key_constraints, key=lambda key: table.c[next(iter(key.column_keys))]._creation_order)
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
    """Return a table under an alias. Aliases are cached: creating their columns is a third of the planning time."""
    return table.alias(name)


@cache
def catalog() -> Catalog:
    """Return the catalog of the API."""
    return Catalog(RESOURCES)


class ConstraintViolation(Fault):
    """A row that violates a constraint. The transaction can go on.

    `columns`: those of the constraint; empty if they are unknown.
    """

    columns: tuple[str, ...] = ()


class UniqueViolation(ConstraintViolation, code="23505"):
    """A duplicate key."""

    def __init__(self, constraint: str, details: str | None = None) -> None:
        super().__init__(f'duplicate key value violates unique constraint "{constraint}"', details)
        self.constraint = constraint
        uniques = (each.uniques.get(constraint) for each in catalog().relations.values())
        self.columns = next((columns for columns in uniques if columns is not None), ())


class NotNullViolation(ConstraintViolation, code="23502"):
    """A required column without a value."""

    def __init__(self, relation: str, column: str) -> None:
        super().__init__(f'null value in column "{column}" of relation "{relation}" violates not-null constraint')
        self.columns = (column,)


class CheckViolation(ConstraintViolation, code="23514"):
    """A row that violates a CHECK constraint or a trigger's check."""

    def __init__(self, constraint: str, details: str | None = None) -> None:
        owners = [name for name in catalog().relations if constraint.startswith(f"{name}_")]
        relation = max(owners, key=len, default="row")
        refused = refusal_messages().get(constraint)
        standard = f'new row for relation "{relation}" violates check constraint "{constraint}"'
        super().__init__(refused or CHECKS.get(constraint, standard), details or (constraint if refused else None))
        self.constraint = constraint
        column = constraint.removeprefix(f"{relation}_").removesuffix("_check")
        found = catalog().relations.get(relation)
        self.columns = (column,) if found is not None and column in found.attributes else ()


def refusal_messages() -> Mapping[str, str]:
    """Return the messages of `Model.refusals` by constraint."""
    refusals = (each for relation in catalog().relations.values() for each in relation.model.refusals)
    return {each.constraint: each.message for each in refusals}


CHECKS = {
    "users_last_super_admin_check": "the last enabled super admin cannot be deleted, disabled or demoted",
    "users_id_stays_check": "the id of a user cannot be changed",
    "clients_id_once_check": "a client had this id before, and ids are not reused",
}


class ForeignKeyViolation(ConstraintViolation, code="23503"):
    """A reference to a missing row, or a delete of a referenced row."""

    def __init__(
        self, message: str = "insert or update on table violates foreign key constraint", details: str | None = None
    ) -> None:
        super().__init__(message, details)

    @classmethod
    def missing(cls, relation: str, constraint: str, column: str, value: object, referred: str) -> ForeignKeyViolation:
        """Return the violation of a row that refers to a missing row."""
        violation = cls(
            f'insert or update on table "{relation}" violates foreign key constraint "{constraint}"',
            f'Key ({column})=({value}) is not present in table "{referred}".',
        )
        violation.columns = (column,)
        return violation

    @classmethod
    def referenced(cls, relation: str, constraint: str, key: str, value: object, by: str) -> ForeignKeyViolation:
        """Return the violation of a changed or deleted row that table `by` refers to."""
        return cls(
            f'update or delete on table "{relation}" violates foreign key constraint "{constraint}" on table "{by}"',
            f'Key ({key})=({value}) is still referenced from table "{by}".',
        )


def unique_violation(columns: str) -> Fault:
    """Return the violation of the unique constraint over columns that SQLite lists as `table.column, table.column`."""
    if columns.startswith("index '"):
        name = columns.removeprefix("index '").removesuffix("'")
        return UniqueViolation("users_email_key" if name == "users_lower_email_key" else name)
    relation_name = columns.split(".")[0]
    names = tuple(part.split(".")[1] for part in columns.split(", "))
    relation = catalog().relations.get(relation_name)
    uniques = {**relation.stored_uniques, **unique_indexes(relation)} if relation is not None else {}
    constraint = next((name for name, key in uniques.items() if key == names), None)
    return UniqueViolation(constraint or f"{relation_name}_{'_'.join(names)}_key")


def unique_indexes(relation: Relation) -> dict[str, tuple[str, ...]]:
    """Return the columns of the unique indexes by name. PostgreSQL reports these names."""
    return {index.name: index.columns for index in relation.model.indexes if index.unique}


Expression = sa.ColumnElement[Any]


def prefix_column(relation: Relation, name: str) -> str | None:
    """Return the column, copied from the parent, with which the index of column `name` begins; None without one."""
    return relation.model.index_prefix.get(name)


def parent_of(relation: Relation, name: str) -> tuple[Expression, Expression]:
    """Return two columns of a foreign key's parent: its key, and the prefix that its rows copy."""
    (fk,) = (each for each in relation.foreign_keys if each.column == name)
    parent = aliased(catalog().relations[fk.referred].table, "rule_parent")
    return parent.c[fk.referred_column], parent.c[relation.model.index_prefix[name]]


def prefix_of_parent(relation: Relation, name: str, key: Expression) -> Expression:
    """Return the prefix of the parent with this key, as a scalar sub-select."""
    parent_key, prefix = parent_of(relation, name)
    row = sa.select(prefix).where(parent_key == key)
    return row.correlate_except(parent_key.table).scalar_subquery()
