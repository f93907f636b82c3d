"""The errors of constraints, independent of the database."""

from __future__ import annotations

from engine.query.catalog import Relation, catalog
from models.errors import Fault


class ConstraintViolation(Fault):
    """A row that violates a constraint. The transaction can go on.

    `columns`: those of the constraint; empty if they are unknown.
    """

    columns: tuple[str, ...] = ()


class UniqueViolation(ConstraintViolation):
    """A duplicate key (23505)."""

    def __init__(self, constraint: str, details: str | None = None) -> None:
        super().__init__(f'duplicate key value violates unique constraint "{constraint}"', details)
        self.constraint = constraint
        uniques = (each.uniques.get(constraint) for each in catalog().relations.values())
        self.columns = next((columns for columns in uniques if columns is not None), ())


class NotNullViolation(ConstraintViolation):
    """A required column without a value (23502)."""

    def __init__(self, relation: str, column: str) -> None:
        super().__init__(f'null value in column "{column}" of relation "{relation}" violates not-null constraint')
        self.columns = (column,)


class CheckViolation(ConstraintViolation):
    """A row that violates a CHECK constraint or a trigger's check (23514)."""

    def __init__(self, constraint: str, details: str | None = None) -> None:
        owners = [name for name in catalog().relations if constraint.startswith(f"{name}_")]
        relation = max(owners, key=len, default="row")
        super().__init__(
            CHECKS.get(constraint) or f'new row for relation "{relation}" violates check constraint "{constraint}"',
            details,
        )
        self.constraint = constraint
        column = constraint.removeprefix(f"{relation}_").removesuffix("_check")
        found = catalog().relations.get(relation)
        self.columns = (column,) if found is not None and column in found.attributes else ()


CHECKS = {
    "users_last_super_admin_check": "the last enabled super admin cannot be deleted, disabled or demoted",
    "users_id_stays_check": "the id of a user cannot be changed",
    "clients_id_once_check": "a client had this id before, and ids are not reused",
}


class ForeignKeyViolation(ConstraintViolation):
    """A reference to a missing row, or a delete of a referenced row (23503)."""

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
    uniques = {**relation.uniques, **unique_indexes(relation)} if relation is not None else {}
    constraint = next((name for name, key in uniques.items() if key == names), None)
    return UniqueViolation(constraint or f"{relation_name}_{'_'.join(names)}_key")


def unique_indexes(relation: Relation) -> dict[str, tuple[str, ...]]:
    """Return the columns of the unique indexes by name. PostgreSQL reports these names."""
    return {index.name: index.columns for index in relation.model.indexes if index.unique}
