"""What a database refuses by its constraints, as facts with their evidence. Knows no database by name."""

from __future__ import annotations

from engine.query.catalog import catalog
from models.errors import Fault


class UniqueViolation(Fault):
    """A key that is taken (23505)."""

    def __init__(self, constraint: str, details: str | None = None) -> None:
        super().__init__(f'duplicate key value violates unique constraint "{constraint}"', details)
        self.constraint = constraint


class NotNullViolation(Fault):
    """A required column without a value (23502)."""

    def __init__(self, relation: str, column: str) -> None:
        super().__init__(
            f'null value in column "{column}" of relation "{relation}" violates not-null constraint'
        )
        self.column = column


class CheckViolation(Fault):
    """A row that a CHECK, or a rule of the schema, refuses (23514)."""

    def __init__(self, constraint: str) -> None:
        relation = next(
            (name for name in sorted(catalog().relations, key=len, reverse=True)
             if constraint.startswith(name)), "row"
        )  # fmt: skip
        super().__init__(
            CHECKS.get(constraint)
            or f'new row for relation "{relation}" violates check constraint "{constraint}"'
        )
        self.constraint = constraint


CHECKS = {
    "users_last_super_admin_check": "the last enabled super admin cannot be deleted, disabled "
    "or demoted",
    "users_id_stays_check": "the id of a user cannot be changed",
    "clients_id_once_check": "the id is one that a client had before, and is given to no other one",
}


class ForeignKeyViolation(Fault):
    """A row that points at nothing, or that others point at (23503)."""

    def __init__(
        self,
        message: str = "insert or update on table violates foreign key constraint",
        details: str | None = None,
    ) -> None:
        super().__init__(message, details)

    @classmethod
    def missing(
        cls, relation: str, constraint: str, column: str, value: object, there: str
    ) -> ForeignKeyViolation:
        return cls(
            f'insert or update on table "{relation}" violates foreign key constraint "{constraint}"',
            f'Key ({column})=({value}) is not present in table "{there}".',
        )

    @classmethod
    def referenced(
        cls, relation: str, constraint: str, key: str, value: object, by: str
    ) -> ForeignKeyViolation:
        return cls(
            f'update or delete on table "{relation}" violates foreign key constraint '
            f'"{constraint}" on table "{by}"',
            f'Key ({key})=({value}) is still referenced from table "{by}".',
        )


class Locked(Fault):
    """Somebody else holds the database for too long (55P03)."""


class Unreachable(Fault):
    """A server that does not answer, or does not let us in (08006). Trying again is right."""


class OnlyReads(Unreachable):
    """A server that takes no writes, or not of this user: a standby, say. It may become a primary."""

    def __init__(self) -> None:
        super().__init__("the database only reads: it is a standby, or it or its user was told to")


class NotPermitted(Fault):
    """Something that the service needs, and its user may not do on the server (42501). What that is names tables which
    are nobody's to see: commands say it, answers do not."""

    def __init__(self, told: str) -> None:
        super().__init__("the database does not let its user do what is needed")
        self.told = told

    def __str__(self) -> str:
        return f"{self.message}: {self.told}"


class Unresolved(Unreachable):
    """A server that was told to COMMIT and did not answer (08007). To try again may be to write twice."""


VIOLATIONS = (UniqueViolation, ForeignKeyViolation, CheckViolation, NotNullViolation)
"""What a row may be at fault of, after which a transaction goes on: not a full disk, nor time that is over."""


def unique_violation(columns: str) -> Fault:
    """The violation of the constraint over columns named as `table.column, table.column`."""
    if columns.startswith("index '"):
        name = columns.removeprefix("index '").removesuffix("'")
        return UniqueViolation("users_email_key" if name == "users_lower_email_key" else name)
    relation_name = columns.split(".")[0]
    named = tuple(part.split(".")[1] for part in columns.split(", "))
    relation = catalog().relations.get(relation_name)
    uniques = relation.uniques if relation is not None else {}
    constraint = next((name for name, over in uniques.items() if over == named), None)
    return UniqueViolation(constraint or f"{relation_name}_{'_'.join(named)}_key")
