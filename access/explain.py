"""Explain whether a user may read a row, and by which rules: the policy's predicates with that user's values.

A caller may ask about the users whom they can read. This is checked before the row. The answer for a row that the
caller cannot read is the same as for one that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from access.caller import Caller
from access.decorators import function
from access.policy import POLICIES, AccessRule, PermissionDenied, Policy
from access.predicates import (
    CALLER,
    GRANT_TABLES,
    AllOf,
    AnyOf,
    Predicate,
    alias,
    building_grant,
    every_row,
    inspection_grant,
    no_row,
    required_parameter,
    through_building,
)
from access.roles import EVERY_ROLE, GrantKind, GrantProfile, Role
from access.session import caller_of_user, full_profile, visits_since
from engine.interface.database import Transaction
from engine.query.dialect.base import SmallInSubquery
from engine.query.read.planner import Planner
from engine.query.statement import Action, parameter
from engine.rows import Select, prepared, read_rows
from models import RESOURCES, Building, Inspection, User
from models.fields import Model, Row
from models.types import BIGINT, UUID

EVIDENCE: dict[Predicate, tuple[GrantKind, str]] = {
    building_grant: (GrantKind.BUILDING, "id"),
    through_building: (GrantKind.BUILDING, "building_id"),
    inspection_grant: (GrantKind.INSPECTION, "id"),
}
"""The predicates that depend on a grant: the kind of grant, and the row's column that the grant references."""


USER_COLUMNS = {CALLER.id.key: "id", CALLER.client_id.key: "client_id"}
"""By parameter of the rule: the user's column that holds its value."""

ROW_ID = parameter("row_id")
"""The id of the row that a caller asks about."""


class UserNotReadable(PermissionDenied):
    """The caller cannot read the user, or the user does not exist. The error does not reveal which."""

    def __init__(self) -> None:
        super().__init__("permission denied to ask about this user")


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that lets a user read a row, by its name in the policy. For a grant: who granted it, and when."""

    rule: str
    granted_by: str | None
    granted_at: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a user may read a row, and all rules that let them."""

    allowed: bool
    reasons: tuple[Reason, ...]


NOT_ALLOWED = Explanation(False, ())


@dataclass(frozen=True, slots=True)
class Reader:
    """A user who may read a row, and all rules that let them."""

    id: str
    name: str
    role: Role
    reasons: tuple[Reason, ...]


def is_readable(transaction: Transaction, caller: Caller, model: type[Model], key: int, user_id: str) -> bool:
    """Return whether both the caller and the user may read a row; raise UserNotReadable."""
    user = readable_user(transaction, caller, user_id)
    return can_read(transaction, caller, model, key) and can_read(transaction, user, model, key)


def explain(transaction: Transaction, caller: Caller, model: type[Model], key: int, user_id: str) -> Explanation:
    """Return whether and why a user may read a row; raise UserNotReadable.

    For a row that the caller may not read, return that the user may not.
    """
    user = readable_user(transaction, caller, user_id)
    if not can_read(transaction, caller, model, key):
        return NOT_ALLOWED
    row = plan_reasons.one(transaction, user, user.profile, model, row_id=key)
    if row is None:
        return NOT_ALLOWED
    reasons = reasons_of(row, user.role, model)
    return Explanation(bool(reasons), reasons)


def list_readers(
    transaction: Transaction, caller: Caller, model: type[Model], key: int, users_max: int
) -> list[Reader]:
    """Return the users whom the caller may read and who may read a row, by role and name: at most `users_max`.

    Return none for a row that the caller may not read.
    """
    readers: list[Reader] = []
    for role in Role:
        since = visits_since(transaction, full_profile(role)) or caller.visits_since
        limit = users_max - len(readers)
        rows = plan_readers.all(transaction, caller, role, model, row_id=key, visits_since=since, users_max=limit)
        readers += [Reader(str(row[0]), row[1], role, reasons_of(row[2:], role, model)) for row in rows]
    return readers


def reasons_of(columns: Row, role: Role, model: type[Model]) -> tuple[Reason, ...]:
    """Return the reasons that the columns of `reason_columns` hold."""
    return tuple(
        Reason(alternative_name(alternative, role), *columns[place + 1 : place + 3])
        for place, alternative in zip(range(0, len(columns), 3), alternatives_of(role, model), strict=True)
        if columns[place]
    )


def readable_user(transaction: Transaction, caller: Caller, user_id: str) -> Caller:
    """Return the user as a caller; raise UserNotReadable if the caller may not read them."""
    user = caller_of_user(transaction, user_id) if can_read(transaction, caller, User, user_id) else None
    if user is None:
        raise UserNotReadable
    return user


def can_read(transaction: Transaction, caller: Caller, model: type[Model], key: int | str) -> bool:
    """Return whether the rule lets a caller read the row of an id."""
    return bool(read_rows(transaction, caller, model.__tablename__, ("id",), id=key))


@prepared(Planner)
def plan_reasons(planner: Planner, profile: GrantProfile, model: type[Model]) -> Select:
    """Return the query for the reasons of one user to read one row."""
    row = planner.alias(planner.catalog.relations[model.__tablename__])
    chosen = sa.select(*reason_columns(AccessRule(profile), model, row.c)).select_from(row)
    return chosen.where(row.c.id == ROW_ID)


@prepared(Planner)
def plan_readers(planner: Planner, role: Role, model: type[Model]) -> Select:
    """Return the query for the users of a role who read one row, with their reasons."""
    user, readable = planner.visible(User)
    row, visible = planner.visible(model)
    theirs = AccessRule(full_profile(role))
    reasons = [of_user(column, user) for column in reason_columns(theirs, model, row.c)]
    reads = of_user(theirs.rows(Action.READ, model, row.c), user)
    chosen = sa.select(user.c.id, user.c.name, *reasons).select_from(user.join(row, row.c.id == ROW_ID))
    chosen = chosen.where(user.c.role == role.value, readable, visible, reads)
    return chosen.order_by(user.c.name, user.c.id).limit(parameter("users_max", sa.BigInteger))


def of_user(expression: sa.ClauseElement, user: Row) -> Row:
    """Return an expression of a rule with a user's row in place of the caller: it searches by that user's key."""

    def replace(element: object, **options: object) -> object:
        if isinstance(element, SmallInSubquery):
            return of_user(element.as_exists(), user)
        column = USER_COLUMNS.get(element.key) if isinstance(element, sa.BindParameter) else None
        # A column of text does not add the users to the FROM clause of a sub-select.
        return sa.literal_column(f"{user.name}.{column}", user.c[column].type) if column is not None else None

    return visitors.replacement_traverse(expression, {}, replace)


def reason_columns(rule: AccessRule, model: type[Model], row: Row) -> list[sa.ColumnElement[object]]:
    """Return three columns for each alternative: whether it holds, grantor and time of its grant."""
    return [
        column
        for alternative in alternatives_of(rule.profile.role, model)
        for column in (sa.case((alternative(rule.profile, row), 1)), *evidence(rule, alternative, row))
    ]


def evidence(
    rule: AccessRule, alternative: Predicate, row: Row
) -> tuple[sa.ColumnElement[object], sa.ColumnElement[object]]:
    """Return grantor and time of the grant that an alternative depends on, or nulls if it depends on none."""
    kind, column = EVIDENCE.get(alternative, (None, ""))
    grants = GRANT_TABLES.get((rule.profile.role, kind)) if kind is not None else None
    if grants is None:
        return sa.literal(None), sa.literal(None)
    grant = alias(grants.model, f"rule_{alternative.__name__}").c
    conditions = (grant[grants.grantee] == CALLER.id, grant[grants.target] == row[column])
    return (
        sa.select(grant.assigned_by).where(*conditions).scalar_subquery(),
        sa.select(grant.assigned_at).where(*conditions).scalar_subquery(),
    )


def alternatives_of(role: Role, model: type[Model]) -> tuple[Predicate, ...]:
    """Return the predicates of which each lets a role read rows of a table."""
    read = POLICIES[model][role].read
    return read.parts if isinstance(read, AnyOf) else (read,)


def alternative_name(alternative: Predicate, role: Role) -> str:
    """Return the name of an alternative. For `every_row` it is the name of the role."""
    return role.value if alternative is every_row else alternative.__name__


# Functions of the API


@function(
    "check_building_access_v2",
    summary="Whether a user may read a building",
    roles=EVERY_ROLE,
    parameters={"p_building_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
)
def check_building_access_v2(transaction: Transaction, caller: Caller, building_id: int, user_id: str) -> bool:
    return is_readable(transaction, caller, Building, building_id, user_id)


@function(
    "check_inspection_access",
    summary="Whether a user may read an inspection",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
)
def check_inspection_access(transaction: Transaction, caller: Caller, inspection_id: int, user_id: str) -> bool:
    return is_readable(transaction, caller, Inspection, inspection_id, user_id)


@function(
    "explain_building_access",
    summary="The rules that let a user read a building",
    roles=EVERY_ROLE,
    parameters={"p_building_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
)
def explain_building_access(transaction: Transaction, caller: Caller, building_id: int, user_id: str) -> Explanation:
    return explain(transaction, caller, Building, building_id, user_id)


@function(
    "explain_inspection_access",
    summary="The rules that let a user read an inspection",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT), "p_user_id": required_parameter(UUID)},
)
def explain_inspection_access(
    transaction: Transaction, caller: Caller, inspection_id: int, user_id: str
) -> Explanation:
    return explain(transaction, caller, Inspection, inspection_id, user_id)


# The table of docs/ACCESS.md, in the words of the predicates' docstrings

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "ACCESS.md"
BEGIN, END = "<!-- policies: begin -->\n", "<!-- policies: end -->"
HEAD = (
    "| table | client admin reads | client admin writes | client manager reads | client manager writes |\n"
    "|---|---|---|---|---|\n"
)
_, *ROLES = Role
"""Super admins read and write every row, so the table omits them."""


def write_table(path: Path = DOCUMENT) -> str:
    """Replace the table between the comments of the document. Return a line for the command."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}{table_text()}{END}{after}", encoding="utf-8")
    return f"{path.name}: the table of the access policy"


def table_text() -> str:
    """Return the table, in the order of the registry. Tables with the same rules share a row."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, model in RESOURCES.items():
        policies = [POLICIES[model][role] for role in ROLES]
        cells = tuple(words for each in policies for words in (words_of(each.read), words_of_writes(each)))
        names.setdefault(cells, []).append(name)
    return HEAD + "".join(f"| {' | '.join([', '.join(tables), *cells])} |\n" for cells, tables in names.items())


def words_of(predicate: Predicate) -> str:
    """Return a predicate in words: a semicolon means or, a comma means and.

    >>> from access.predicates import all_of, any_of, building_grant, client_ownership
    >>> words_of(any_of(client_ownership, building_grant)), words_of(all_of(client_ownership, building_grant))
    ('rows of their client; granted buildings', 'rows of their client, granted buildings')
    """
    if isinstance(predicate, AnyOf):
        return "; ".join(words_of(each) for each in predicate.parts)
    if isinstance(predicate, AllOf):
        return ", ".join(words_of(each) for each in predicate.parts)
    text = predicate.__doc__
    assert text is not None, f"{predicate} has no docstring"
    return text[0].lower() + text[1:].removesuffix(".")


def words_of_writes(policy: Policy) -> str:
    """Return the rows that a role may write, and what also holds after the write."""
    actions = (Action.INSERT, Action.UPDATE, Action.DELETE)
    predicates = {action: policy.predicate(action) for action in actions}
    if len(set(predicates.values())) > 1:
        return "; ".join(f"{action.value}: {words_of_privilege(each)}" for action, each in predicates.items())
    if policy.write is None or policy.check is None:
        return words_of_privilege(predicates[Action.UPDATE])
    words = words_of(policy.write)
    before, after = parts_of(policy.write), parts_of(policy.check)
    assert set(before) <= set(after), "a check without the condition of the write needs words of its own"
    return f"{words}; after the write also: {', '.join(words_of(each) for each in after if each not in before)}"


def words_of_privilege(predicate: Predicate | None) -> str:
    return "no privilege" if predicate in (None, no_row) else words_of(predicate)


def parts_of(predicate: Predicate) -> tuple[Predicate, ...]:
    return predicate.parts if isinstance(predicate, AllOf) else (predicate,)
