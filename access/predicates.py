"""The predicates of row rules, the tables of grants, and the parameters of the API's functions.

A predicate is a function of a grant profile and a row's columns that returns an SQL condition. The row is a table
alias, or the values of a row that a write would leave. `access/policy.py` gives predicates to roles and tables.
Explanations report predicates by their names. Their docstrings are the words of the table in docs/ACCESS.md. A
parameter is a marshmallow field over a column type, so invalid values raise PostgreSQL's messages. A request may send
each parameter with or without the prefix `p_`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from marshmallow import fields

from access.roles import GrantKind, GrantProfile, Role
from engine.query.catalog import aliased
from engine.query.dialect.base import InSubquery, SmallInSubquery
from engine.query.statement import parameter
from models import (
    Building,
    CalibrationCheck,
    ClientAdminBuildingAccess,
    ClientAdminInspectionAccess,
    ClientManagerBuildingAccess,
    ClientManagerInspectionAccess,
    Finding,
    Inspection,
    InspectionPlan,
    Inspector,
    ReportLead,
    User,
)
from models.fields import Model, Row
from models.finding_move import UNRESOLVED
from models.types import (
    BIGINT,
    DATE,
    INTEGER,
    TEXT,
    ColumnType,
    Fault,
    InvalidArgument,
    InvalidDatetime,
    InvalidInput,
    invalid,
    quote_json,
)
from models.vocabulary import OPEN_STATUSES

SUPER_ADMIN, CLIENT_ADMIN, CLIENT_MANAGER = Role

Condition = sa.ColumnElement[bool]
Predicate = Callable[[GrantProfile, Row], Condition]


class CALLER:
    """The caller's values as parameters of the plan."""

    id: sa.BindParameter[str] = parameter("caller_id", User.__table__.c.id.type)
    client_id: sa.BindParameter[int] = parameter("caller_client_id", sa.BigInteger)
    visits_since: sa.BindParameter[str] = parameter("visits_since", DATE.storage)


def equals(column: Row, value: Row) -> Condition:
    condition: Condition = column == value
    return condition


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction. The SQL omits parts that are false for the grant profile."""

    parts: tuple[Predicate, ...]

    def __call__(self, profile: GrantProfile, row: Row) -> Condition:
        conditions = [part(profile, row) for part in self.parts]
        possible = [each for each in conditions if not isinstance(each, sa.False_)]
        return sa.or_(*possible) if possible else sa.false()


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction. It is false if a part is false for the grant profile."""

    parts: tuple[Predicate, ...]

    def __call__(self, profile: GrantProfile, row: Row) -> Condition:
        conditions = [part(profile, row) for part in self.parts]
        if any(isinstance(each, sa.False_) for each in conditions):
            return sa.false()
        return sa.and_(sa.true(), *conditions)


def any_of(*parts: Predicate) -> AnyOf:
    return AnyOf(parts)


def all_of(*parts: Predicate) -> AllOf:
    return AllOf(parts)


def in_subquery(key: Row, column: Row, where: Condition) -> Condition:
    """Return `key IN (SELECT column … WHERE where)`, or false if `where` is false."""
    values = sa.select(column).where(where)
    return sa.false() if isinstance(where, sa.False_) else InSubquery(key, values)


def in_small_subquery(key: Row, column: Row, where: Condition) -> Condition:
    """Return the same condition, marked as selecting few rows: the grants of one user."""
    values = sa.select(column).where(where)
    return sa.false() if isinstance(where, sa.False_) else SmallInSubquery(key, values)


def alias(model: type[Model], name: str) -> Row:
    """Return an alias of a table for use in a rule. The plan's guard exempts these aliases by their names."""
    return aliased(model.__table__, name)


# Predicates


def every_row(profile: GrantProfile, row: Row) -> Condition:
    """Every row."""
    return sa.true()


def no_row(profile: GrantProfile, row: Row) -> Condition:
    """No row."""
    return sa.false()


def client_ownership(profile: GrantProfile, row: Row) -> Condition:
    """Rows of their client."""
    return equals(row.client_id, CALLER.client_id)


def building_grant(profile: GrantProfile, building: Row) -> Condition:
    """Granted buildings."""
    return has_grant(profile, GrantKind.BUILDING, building.id)


def through_building(profile: GrantProfile, inspection: Row) -> Condition:
    """Inspections of granted buildings."""
    return has_grant(profile, GrantKind.BUILDING, inspection.building_id)


def of_granted_building(profile: GrantProfile, row: Row) -> Condition:
    """Rows of granted buildings."""
    return has_grant(profile, GrantKind.BUILDING, row.building_id)


def inspection_grant(profile: GrantProfile, inspection: Row) -> Condition:
    """Granted inspections."""
    return has_grant(profile, GrantKind.INSPECTION, inspection.id)


def own_visit(profile: GrantProfile, inspection: Row) -> Condition:
    """Visits of the inspector whose user they are: open ones, and those of the last OWN_VISIT_DAYS days."""
    return in_own_visits(profile, inspection.id, "id")


def has_own_visit(profile: GrantProfile, building: Row) -> Condition:
    """Buildings of such visits."""
    return in_own_visits(profile, building.id, "building_id")


def of_own_visit(profile: GrantProfile, row: Row) -> Condition:
    """Rows of their own visits."""
    return in_own_visits(profile, row.inspection_id, "id")


def of_own_open_visit(profile: GrantProfile, row: Row) -> Condition:
    """Rows of their own visits that are not closed."""
    if not profile.is_inspector:
        return sa.false()
    visit, inspector = alias(Inspection, "rule_visits"), alias(Inspector, "rule_inspectors")
    link = sa.select(inspector.c.id).where(inspector.c.user_id == CALLER.id).scalar_subquery()
    is_own = sa.and_(visit.c.inspector_id == link, visit.c.status.in_(OPEN_STATUSES))
    return in_small_subquery(row.inspection_id, visit.c.id, is_own)


def of_own_case(profile: GrantProfile, finding: Row) -> Condition:
    """Findings of cases with such a visit."""
    if not profile.is_inspector:
        return sa.false()
    plan = alias(InspectionPlan, "rule_plans")
    of_case = in_small_subquery(finding.case_id, plan.c.case_id, of_own_visit(profile, plan.c))
    return sa.or_(of_own_visit(profile, finding), of_case)


def in_own_visits(profile: GrantProfile, key: Row, column: str) -> Condition:
    """Return the condition that a key is a column of one of the caller's own visits."""
    if not profile.is_inspector:
        return sa.false()
    visit, inspector = alias(Inspection, "rule_visits"), alias(Inspector, "rule_inspectors")
    link = sa.select(inspector.c.id).where(inspector.c.user_id == CALLER.id).scalar_subquery()
    is_current = sa.or_(visit.c.status.in_(OPEN_STATUSES), visit.c.date_visited >= CALLER.visits_since)
    return in_small_subquery(key, visit.c[column], sa.and_(visit.c.inspector_id == link, is_current))


def of_visible_inspection(profile: GrantProfile, row: Row) -> Condition:
    """Rows of inspections that a grant or a visit of theirs shows."""
    inspection = alias(Inspection, "rule_inspections")
    return in_small_subquery(row.inspection_id, inspection.c.id, visible_by_claim(profile, inspection.c))


def of_own_inspection(profile: GrantProfile, row: Row) -> Condition:
    """Rows of inspections of their client."""
    inspection = alias(Inspection, "rule_inspections").c
    is_own = client_ownership(profile, inspection)
    return sa.select(inspection.id).where(inspection.id == row.inspection_id, is_own).exists()


def of_visible_building(profile: GrantProfile, row: Row) -> Condition:
    """Rows of buildings that a grant or a visit of theirs shows."""
    building = alias(Building, "rule_buildings")
    return in_small_subquery(row.building_id, building.c.id, building_by_claim(profile, building.c))


def of_visible_finding(profile: GrantProfile, row: Row) -> Condition:
    """Rows of findings that they read."""
    return of_finding(profile, row, of_visible_inspection)


def of_own_finding(profile: GrantProfile, row: Row) -> Condition:
    """Rows of findings of their own visits."""
    return of_finding(profile, row, of_own_visit)


def of_unverified_finding(profile: GrantProfile, row: Row) -> Condition:
    """Rows of findings that they read and that are open or fixed."""
    return of_finding(profile, row, unverified)


def unverified(profile: GrantProfile, finding: Row) -> Condition:
    """Findings that they read and that are open or fixed."""
    return sa.and_(of_visible_inspection(profile, finding), finding.status.in_(UNRESOLVED))


def of_finding(profile: GrantProfile, row: Row, predicate: Predicate) -> Condition:
    """Return the condition that a predicate holds for the finding of a row."""
    finding = alias(Finding, "rule_findings")
    return in_small_subquery(row.finding_id, finding.c.id, predicate(profile, finding.c))


def issued_by_caller(profile: GrantProfile, notice: Row) -> Condition:
    """Letters that they issued."""
    return equals(notice.issued_by, CALLER.id)


def shared(profile: GrantProfile, row: Row) -> Condition:
    """Shared rows: those without a client."""
    condition: Condition = row.client_id.is_(None)
    return condition


def used_in_visible_inspection(profile: GrantProfile, instrument: Row) -> Condition:
    """Instruments, shared or of the inspection's client, that a reading or check of an inspection they read names."""
    readings, checks = alias(ReportLead, "rule_readings"), alias(CalibrationCheck, "rule_checks")
    visible = [(row.c, of_visible_inspection(profile, row.c)) for row in (readings, checks)]
    if any(isinstance(where, sa.False_) for _, where in visible):
        return sa.false()
    used = sa.union(*(sa.select(row.gun_id, row.client_id).where(where) for row, where in visible)).subquery(
        "rule_used"
    )
    is_shared = sa.and_(shared(profile, instrument), instrument.gun_id.in_(sa.select(used.c.gun_id)))
    return sa.or_(is_shared, sa.tuple_(instrument.gun_id, instrument.client_id).in_(sa.select(used)))


def on_visible_inspection(profile: GrantProfile, inspector: Row) -> Condition:
    """Inspectors of inspections that they read."""
    inspection = alias(Inspection, "rule_inspections")
    visible = visible_by_claim(profile, inspection.c)
    return in_subquery(inspector.id, inspection.c.inspector_id, visible)


def own_client(profile: GrantProfile, client: Row) -> Condition:
    """Their client."""
    return equals(client.id, CALLER.client_id)


def own_user(profile: GrantProfile, user: Row) -> Condition:
    """Themselves."""
    return equals(user.id, CALLER.id)


def own_manager(profile: GrantProfile, user: Row) -> Condition:
    """Managers of their client."""
    return sa.and_(user.client_id == CALLER.client_id, user.role == CLIENT_MANAGER.value)


def to_own_user(profile: GrantProfile, grant: Row) -> Condition:
    """Grants to users of their client."""
    user = alias(User, "rule_users")
    return in_subquery(grant.admin_id, user.c.id, user.c.client_id == CALLER.client_id)


def to_own_manager(profile: GrantProfile, grant: Row) -> Condition:
    """Grants to managers of their client."""
    user = alias(User, "rule_users")
    return in_subquery(grant.manager_id, user.c.id, own_manager(profile, user.c))


def to_caller(profile: GrantProfile, grant: Row) -> Condition:
    """Grants to themselves."""
    return equals(grant.manager_id, CALLER.id)


def on_own_building(profile: GrantProfile, grant: Row) -> Condition:
    """On buildings of their client."""
    building = alias(Building, "rule_buildings")
    return in_subquery(grant.building_id, building.c.id, client_ownership(profile, building.c))


def on_own_inspection(profile: GrantProfile, grant: Row) -> Condition:
    """On inspections of their client."""
    inspection = alias(Inspection, "rule_inspections")
    return in_subquery(grant.inspection_id, inspection.c.id, client_ownership(profile, inspection.c))


def signed_by_caller_or_unsigned(profile: GrantProfile, grant: Row) -> Condition:
    """With `assigned_by` null or themselves."""
    return sa.or_(grant.assigned_by.is_(None), grant.assigned_by == CALLER.id)


OWN_VISIT_DAYS = 90
"""For this number of days after its date, its inspector reads a closed visit and moves its findings."""

visible_by_claim = any_of(through_building, inspection_grant, own_visit)
building_by_claim = any_of(building_grant, has_own_visit)


@dataclass(frozen=True, slots=True)
class GrantTable:
    """A table of grants, and the names of its columns for the grantee and the target.

    `ignore_own_client`: the role reads all buildings of its own client. A grant on one of these adds nothing, so it
    does not count in the grant profile.
    """

    model: type[Model]
    grantee: str
    target: str
    kind: GrantKind
    ignore_own_client: bool = False


def grant_table(model: type[Model], kind: GrantKind, *, ignore_own_client: bool = False) -> GrantTable:
    assert model.grant is not None
    return GrantTable(model, model.grant.grantee, model.grant.target, kind, ignore_own_client)


GRANT_TABLES: dict[tuple[Role, GrantKind], GrantTable] = {
    (CLIENT_ADMIN, GrantKind.BUILDING): grant_table(
        ClientAdminBuildingAccess, GrantKind.BUILDING, ignore_own_client=True
    ),
    (CLIENT_ADMIN, GrantKind.INSPECTION): grant_table(ClientAdminInspectionAccess, GrantKind.INSPECTION),
    (CLIENT_MANAGER, GrantKind.BUILDING): grant_table(ClientManagerBuildingAccess, GrantKind.BUILDING),
    (CLIENT_MANAGER, GrantKind.INSPECTION): grant_table(ClientManagerInspectionAccess, GrantKind.INSPECTION),
}


def has_grant(profile: GrantProfile, kind: GrantKind, key: Row) -> Condition:
    """Return the condition that the caller holds a grant of this kind on the key.

    The subquery is not correlated, so that the planner can start a list from it.
    """
    if kind not in profile.kinds or (profile.role, kind) not in GRANT_TABLES:
        return sa.false()
    grants = GRANT_TABLES[profile.role, kind]
    grant = alias(grants.model, f"rule_{kind.value}_grants")
    return in_small_subquery(key, grant.c[grants.target], grant.c[grants.grantee] == CALLER.id)


PREFIX: Final = "p_"


class TooManyIds(Fault, code="PGRST100"):
    """An array with more ids than its parameter takes."""

    def __init__(self, count_max: int) -> None:
        super().__init__(f"A request may have at most {count_max} ids in an array.")


class Parameter(fields.Field[Any]):
    """A parameter: the type's name, its reader, and its JSON schema."""

    def __init__(
        self, type_name: str, read: Callable[[object], object], document: Mapping[str, object], *, required: bool = True
    ) -> None:
        super().__init__(required=required, allow_none=not required)
        self.type_name = type_name
        self.read = read
        self.document = document
        self.label = self.hint = ""
        self.is_multiline = False

    def in_form(self, label: str, hint: str = "", *, is_multiline: bool = False) -> Parameter:
        """Return the parameter with the label and the hint of its field in forms."""
        self.label, self.hint, self.is_multiline = label, hint, is_multiline
        return self

    @property
    def is_array(self) -> bool:
        return self.document["type"] == "array"

    def deserialize(
        self, value: Any, attr: str | None = None, data: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        if value is None and self.required:
            raise invalid(self.type_name, "null")
        return super().deserialize(value, attr, data, **options)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **options: Any) -> Any:
        try:
            return self.read(value)
        except InvalidDatetime:
            if isinstance(value, str):
                raise
            raise invalid(self.type_name, quote_json(value)) from None


def required_parameter(kind: ColumnType) -> Parameter:
    """Return a required parameter of a column type."""
    return Parameter(kind.name, kind.read_json, dict(kind.schema))


def optional_parameter(kind: ColumnType) -> Parameter:
    """Return an optional parameter of a column type."""
    return Parameter(kind.name, kind.read_json, dict(kind.schema), required=False)


def bounded_integer(minimum: int, maximum: int, *, required: bool = True) -> Parameter:
    """Return a parameter that is an integer from `minimum` to `maximum`."""

    def read(value: object) -> object:
        number = INTEGER.read_json(value)
        if isinstance(number, int) and not minimum <= number <= maximum:
            raise InvalidArgument(f"expected an integer from {minimum} to {maximum}, not {number}")
        return number

    document = {**dict(INTEGER.schema), "minimum": minimum, "maximum": maximum}
    return Parameter(INTEGER.name, read, document, required=required)


def bounded_text(characters_max: int) -> Parameter:
    """Return a required parameter that is a text of 1 to `characters_max` characters."""

    def read(value: object) -> object:
        text = TEXT.read_json(value)
        if isinstance(text, str) and not 1 <= len(text) <= characters_max:
            raise InvalidArgument(f"expected a text of 1 to {characters_max} characters, not {len(text)}")
        return text

    return Parameter(TEXT.name, read, {"type": "string", "minLength": 1, "maxLength": characters_max})


def choice(values: tuple[str, ...], *, required: bool = True) -> Parameter:
    """Return a parameter that is one of some texts."""

    def read(value: object) -> object:
        text = TEXT.read_json(value)
        if text not in values:
            raise InvalidArgument(f'expected one of {", ".join(values)}, not "{str(text)[:200]}"')
        return text

    return Parameter(TEXT.name, read, {"type": "string", "enum": list(values)}, required=required)


def long_text(bytes_max: int, *, required: bool = True) -> Parameter:
    """Return a parameter that is a text of at most `bytes_max` bytes in UTF-8, such as a file."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise invalid(TEXT.name, quote_json(value))
        if len(value) > bytes_max or len(value.encode()) > bytes_max:
            raise InvalidArgument(f"expected a text of at most {bytes_max} bytes")
        return value

    return Parameter(TEXT.name, read, {"type": "string", "maxLength": bytes_max}, required=required)


BOOLEANS: Final = {True: True, False: False, "true": True, "false": False}


def boolean() -> Parameter:
    """Return an optional parameter that is true or false."""

    def read(value: object) -> object:
        if not isinstance(value, bool | str) or value not in BOOLEANS:
            raise invalid("boolean", quote_json(value))
        return BOOLEANS[value]

    return Parameter("boolean", read, {"type": "boolean"}, required=False)


def json_object(*types: type) -> Parameter:
    """Return an optional parameter that is a JSON object whose values have one of these types."""

    def read(value: object) -> object:
        if not isinstance(value, dict) or not all(isinstance(each, types) for each in value.values()):
            raise InvalidInput("expected JSON object of plain values")
        return value

    return Parameter("jsonb", read, {"type": "object"}, required=False)


def text_array(count_max: int) -> Parameter:
    """Return an optional parameter that is an array of at most `count_max` texts."""

    def read(value: object) -> object:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidInput("expected JSON array of texts")
        if len(value) > count_max:
            raise InvalidArgument(f"expected at most {count_max} texts in the array")
        return tuple(value)

    document = {"type": "array", "items": {"type": "string"}, "maxItems": count_max}
    return Parameter("text[]", read, document, required=False)


def id_array(count_max: int, *, count_min: int = 0, required: bool = True) -> Parameter:
    """Return a parameter that is an array of `count_min` to `count_max` ids."""

    def read(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise InvalidInput("expected JSON array")
        if len(value) > count_max:
            raise TooManyIds(count_max)
        if len(value) < count_min:
            raise InvalidArgument(f"expected at least {count_min} id in the array")
        return tuple(map(read_id, value))

    document: dict[str, object] = {"type": "array", "items": dict(BIGINT.schema), "maxItems": count_max}
    if count_min:
        document["minItems"] = count_min
    return Parameter("bigint[]", read, document, required=required)


def read_id(value: object) -> object:
    if value is None:
        raise invalid(BIGINT.name, "null")
    return BIGINT.read_json(value)


def unprefixed(name: str) -> str:
    return name.removeprefix(PREFIX)
