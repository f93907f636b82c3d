"""THE rule: which role reads and writes which rows.

The conditions are in access/predicates.py; this file gives them to roles and tables. No other file decides this, but
triggers refuse the writes of managers to closed visits (`Model.refusals`). Below are the rights of roles besides rows,
and the functions that other modules call. `flask schema --write` writes the table of docs/ACCESS.md from both files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from access.predicates import (
    CLIENT_ADMIN,
    CLIENT_MANAGER,
    SUPER_ADMIN,
    AnyOf,
    Condition,
    Predicate,
    alias,
    all_of,
    any_of,
    building_by_claim,
    building_grant,
    client_ownership,
    every_row,
    inspection_grant,
    issued_by_caller,
    no_row,
    of_granted_building,
    of_own_case,
    of_own_finding,
    of_own_inspection,
    of_own_open_visit,
    of_own_visit,
    of_unverified_finding,
    of_visible_building,
    of_visible_finding,
    of_visible_inspection,
    on_own_building,
    on_own_inspection,
    on_visible_inspection,
    own_client,
    own_manager,
    own_user,
    own_visit,
    shared,
    signed_by_caller_or_unsigned,
    through_building,
    to_caller,
    to_own_manager,
    to_own_user,
    used_in_visible_inspection,
    visible_by_claim,
)
from access.roles import GRANT_PROFILES, GrantKind, GrantProfile, Role
from engine.query.statement import Action, ReadScope, Rule
from models import (
    AuditLog,
    Building,
    BuildingDetail,
    CalibrationCheck,
    Client,
    ClientAdminBuildingAccess,
    ClientAdminInspectionAccess,
    ClientManagerBuildingAccess,
    ClientManagerInspectionAccess,
    DeadlineRule,
    File,
    Finding,
    FindingEvent,
    Inspection,
    InspectionPlan,
    Inspector,
    IssuedReport,
    LeadStandard,
    Notice,
    ReportLead,
    Schedule,
    User,
    XrfInstrument,
    XrfLimit,
    finding_move,
)
from models.fields import Model, Row
from models.finding_move import Mover
from models.types import Denial
from models.vocabulary import EXTENDED


@dataclass(frozen=True, slots=True)
class Policy:
    """What a role may do with a table's rows. Without a predicate, the role lacks the privilege (403).

    `read`: the rows that the role reads. `write`: the rows that the role inserts, changes and deletes. `insert`,
    `update` and `delete` replace it for one action; `no_row` takes the privilege away. `check`: the rows that an insert
    or update may leave; the default is the action's predicate. `implied_by`: a model of which each visible row makes
    the rows that it references, or that reference it, visible. `by_grants_only`: only grants make rows visible.
    """

    read: Predicate
    write: Predicate | None = None
    insert: Predicate | None = None
    update: Predicate | None = None
    delete: Predicate | None = None
    check: Predicate | None = None
    implied_by: type[Model] | None = None
    by_grants_only: bool = False

    def predicate(self, action: Action) -> Predicate | None:
        """Return the predicate for existing rows (`USING` in PostgreSQL)."""
        if action is Action.READ:
            return self.read
        own = {Action.INSERT: self.insert, Action.UPDATE: self.update, Action.DELETE: self.delete}[action]
        return own or self.write

    def write_check(self, action: Action) -> Predicate | None:
        """Return the predicate for rows that an insert or update leaves (`WITH CHECK` in PostgreSQL)."""
        return self.check or self.predicate(action)


SERVICE_PROFILE = GRANT_PROFILES[SUPER_ADMIN, False, False]
"""The profile of the service key."""

INSPECTOR_ROLE = CLIENT_MANAGER
"""The role of users who may be linked to an inspector."""

# Row rules

EVERYTHING = Policy(read=every_row, write=every_row)

# Triggers write the audit log. No role has the privilege to change it, not even super admins.
AUDIT = {
    SUPER_ADMIN: Policy(read=every_row),
    CLIENT_ADMIN: Policy(read=client_ownership),
    CLIENT_MANAGER: Policy(read=no_row),
}

ADMIN_GRANTS = {SUPER_ADMIN: EVERYTHING, CLIENT_ADMIN: Policy(read=to_own_user), CLIENT_MANAGER: Policy(read=no_row)}

PART_OF_INSPECTION = {
    SUPER_ADMIN: EVERYTHING,
    CLIENT_ADMIN: Policy(
        read=any_of(client_ownership, of_visible_inspection), write=client_ownership, implied_by=Inspection
    ),
    CLIENT_MANAGER: Policy(read=of_visible_inspection, write=of_own_visit, implied_by=Inspection),
}
"""Readings, calibration checks and findings."""

INSTRUMENTS = {
    SUPER_ADMIN: EVERYTHING,
    CLIENT_ADMIN: Policy(read=any_of(client_ownership, shared, used_in_visible_inspection), write=client_ownership),
    CLIENT_MANAGER: Policy(read=used_in_visible_inspection),
}
"""XRF instruments, and their limits."""

PART_OF_BUILDING = {
    SUPER_ADMIN: EVERYTHING,
    CLIENT_ADMIN: Policy(
        read=any_of(client_ownership, of_visible_building), write=client_ownership, implied_by=Building
    ),
    CLIENT_MANAGER: Policy(read=of_visible_building, implied_by=Building),
}
"""Schedules and details of buildings."""

FILE_WRITES: dict[Role, Predicate] = {
    SUPER_ADMIN: every_row,
    CLIENT_ADMIN: client_ownership,
    CLIENT_MANAGER: any_of(of_own_visit, of_own_finding),
}
"""The files that each role stores, replaces, moves and removes with /storage/v1, and whose captions it changes."""

FILE_ADDITIONS: dict[Role, Predicate] = {
    SUPER_ADMIN: every_row,
    CLIENT_ADMIN: any_of(client_ownership, of_unverified_finding),
    CLIENT_MANAGER: any_of(of_own_visit, of_own_finding, of_unverified_finding),
}
"""The new files that each role stores: who marks a finding fixed adds the proof."""

of_visible_row = any_of(of_visible_inspection, of_visible_finding, of_visible_building)


def files_policy(role: Role, read: Predicate) -> Policy:
    """Return the policy of files for a role. /storage/v1 alone inserts and deletes files."""
    return Policy(read=read, insert=no_row, update=FILE_WRITES[role], delete=no_row)


POLICIES: dict[type[Model], dict[Role, Policy]] = {
    Building: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=any_of(client_ownership, building_grant), write=client_ownership),
        CLIENT_MANAGER: Policy(read=building_by_claim, by_grants_only=True),
    },
    Inspection: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=any_of(client_ownership, through_building, inspection_grant),
            write=client_ownership,
            implied_by=Building,
        ),
        CLIENT_MANAGER: Policy(read=visible_by_claim, implied_by=Building, by_grants_only=True),
    },
    ReportLead: PART_OF_INSPECTION,
    CalibrationCheck: PART_OF_INSPECTION,
    XrfInstrument: INSTRUMENTS,
    XrfLimit: INSTRUMENTS,
    LeadStandard: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=any_of(client_ownership, shared), write=client_ownership),
        CLIENT_MANAGER: Policy(read=any_of(client_ownership, shared)),
    },
    BuildingDetail: PART_OF_BUILDING,
    Schedule: PART_OF_BUILDING,
    InspectionPlan: {
        SUPER_ADMIN: Policy(read=every_row),
        CLIENT_ADMIN: Policy(read=any_of(client_ownership, of_visible_inspection), implied_by=Inspection),
        CLIENT_MANAGER: Policy(read=of_visible_inspection, implied_by=Inspection),
    },
    DeadlineRule: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=any_of(client_ownership, shared), write=client_ownership),
        CLIENT_MANAGER: Policy(read=any_of(client_ownership, shared)),
    },
    Finding: PART_OF_INSPECTION,
    FindingEvent: {
        SUPER_ADMIN: Policy(read=every_row),
        CLIENT_ADMIN: Policy(read=any_of(client_ownership, of_visible_finding), implied_by=Finding),
        CLIENT_MANAGER: Policy(read=of_visible_finding, implied_by=Finding),
    },
    File: {
        SUPER_ADMIN: files_policy(SUPER_ADMIN, every_row),
        CLIENT_ADMIN: files_policy(CLIENT_ADMIN, any_of(client_ownership, *of_visible_row.parts)),
        CLIENT_MANAGER: files_policy(CLIENT_MANAGER, of_visible_row),
    },
    IssuedReport: {
        SUPER_ADMIN: Policy(read=every_row),
        # The former client of a building that moved keeps the reports that it issued.
        CLIENT_ADMIN: Policy(read=any_of(client_ownership, of_own_inspection, of_visible_inspection)),
        CLIENT_MANAGER: Policy(read=of_visible_inspection, implied_by=Inspection),
    },
    Notice: {
        SUPER_ADMIN: Policy(read=every_row),
        CLIENT_ADMIN: Policy(read=client_ownership),
        CLIENT_MANAGER: Policy(
            read=any_of(all_of(client_ownership, of_granted_building), all_of(client_ownership, issued_by_caller))
        ),
    },
    Inspector: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=every_row),
        CLIENT_MANAGER: Policy(read=on_visible_inspection, implied_by=Inspection),
    },
    Client: {SUPER_ADMIN: EVERYTHING, CLIENT_ADMIN: Policy(read=own_client), CLIENT_MANAGER: Policy(read=own_client)},
    User: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(read=client_ownership, write=own_manager),
        CLIENT_MANAGER: Policy(read=own_user),
    },
    AuditLog: AUDIT,
    ClientAdminBuildingAccess: ADMIN_GRANTS,
    ClientAdminInspectionAccess: ADMIN_GRANTS,
    ClientManagerBuildingAccess: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=to_own_manager,
            write=all_of(to_own_manager, on_own_building),
            check=all_of(to_own_manager, on_own_building, signed_by_caller_or_unsigned),
        ),
        CLIENT_MANAGER: Policy(read=to_caller),
    },
    ClientManagerInspectionAccess: {
        SUPER_ADMIN: EVERYTHING,
        CLIENT_ADMIN: Policy(
            read=to_own_manager,
            write=all_of(to_own_manager, on_own_inspection),
            check=all_of(to_own_manager, on_own_inspection, signed_by_caller_or_unsigned),
        ),
        CLIENT_MANAGER: Policy(read=to_caller),
    },
}

SEEN: dict[Role, Predicate] = dict.fromkeys(Role, every_row)
DECIDED: dict[Role, Predicate] = {SUPER_ADMIN: every_row, CLIENT_ADMIN: client_ownership, CLIENT_MANAGER: no_row}
INSPECTED: dict[Role, Predicate] = {**DECIDED, CLIENT_MANAGER: of_own_case}

GRADED: dict[Role, Predicate] = {**DECIDED, CLIENT_MANAGER: of_own_open_visit}

MOVERS: dict[Mover, dict[Role, Predicate]] = {
    Mover.READER: SEEN,
    Mover.DECIDER: DECIDED,
    Mover.INSPECTOR: INSPECTED,
    Mover.GRADER: GRADED,
}
"""The visible findings that each role moves."""

FINDING_MOVES: dict[str, dict[Role, Predicate]] = {move.kind: MOVERS[move.who] for move in finding_move.FINDING_MOVES}
"""By kind of event: the visible findings to which each role adds such an event."""

LETTERED_FINDINGS: dict[Role, Predicate] = {**DECIDED, CLIENT_MANAGER: all_of(client_ownership, of_own_visit)}
"""The visible findings about which each role issues letters."""

SERVED_LETTERS: dict[Role, Predicate] = {**DECIDED, CLIENT_MANAGER: issued_by_caller}
"""The visible letters of which each role records the service."""

WITHDRAWN_LETTERS: dict[Role, Predicate] = {**DECIDED}
"""The visible letters that each role withdraws."""

DEFECT_REPORTS: dict[Role, Predicate] = {**DECIDED, CLIENT_MANAGER: building_grant}
"""The visible buildings of which each role reports a defect."""

CONDUCTED_VISITS: dict[Role, Predicate] = {**DECIDED, CLIENT_MANAGER: own_visit}
"""The visible inspections that a role starts, closes and re-inspects."""

WITHDRAWN_REPORTS: dict[Role, Predicate] = {**DECIDED, CLIENT_ADMIN: of_own_inspection}
"""The visible issued reports that a role withdraws: those of visits that are its client's today."""

WRITES_CLOSED_VISITS: dict[Role, bool] = {SUPER_ADMIN: True, CLIENT_ADMIN: True, CLIENT_MANAGER: False}
"""Whether a role writes the rows of closed inspections that it may write. Triggers refuse it (`Model.refusals`)."""

CALENDAR_VISITS: dict[Role, Predicate] = {**CONDUCTED_VISITS, SUPER_ADMIN: no_row}
"""The visible inspections in the calendar feed of a role."""

SUPER_ADMIN_COLUMNS = frozenset({"id", "created_at", "updated_at"})
"""Columns to which only super admins assign values."""

SUPER_ADMIN_COLUMNS_OF: dict[type[Model], frozenset[str]] = {BuildingDetail: frozenset({"hold_reason"})}
"""Further columns of this kind, by table."""

DEFAULT_ROLES: dict[Role, Role] = {CLIENT_ADMIN: CLIENT_MANAGER}
"""The role of a new user for requests that name none, by the caller's role. Other callers have to name one."""


# Functions for other modules


@cache
def permits(profile: GrantProfile, action: Action, model: type[Model]) -> bool:
    """Return whether a profile has the privilege for an action on the table.

    A predicate for writes that holds for no row of the profile gives no privilege.
    """
    policy = POLICIES[model].get(profile.role)
    predicate = policy.predicate(action) if policy is not None else None
    if predicate is None or action is Action.READ:
        return predicate is not None
    return not isinstance(predicate(profile, alias(model, "rule_rows").c), sa.False_)


def may_permit(role: Role, action: Action, model: type[Model]) -> bool:
    """Return whether some profile of the role has the privilege for an action on the table."""
    return permits(GrantProfile(role, frozenset(GrantKind), is_inspector=True), action, model)


def sees_all(role: Role, model: type[Model]) -> bool:
    """Return whether the role reads every row of the table."""
    policy = POLICIES[model].get(role)
    return policy is not None and policy.read is every_row


CLIENTS_OWN: frozenset[Predicate] = frozenset({client_ownership, of_own_visit})
"""Predicates of rows of the caller's client, except for the visits that an inspector makes at another client."""


def writes_own_client(role: Role, actions: Iterable[Action], model: type[Model]) -> bool:
    """Return whether writes of the role are expected to change rows of its own client only, in one table."""
    policy = POLICIES[model].get(role)
    return policy is not None and all(
        policy.predicate(action) in CLIENTS_OWN and policy.write_check(action) in CLIENTS_OWN for action in actions
    )


READ_SCOPES: dict[Predicate, ReadScope] = {every_row: ReadScope.EVERYTHING, client_ownership: ReadScope.OWN_CLIENT}


@cache
def read_scope_of(read: Predicate, profile: GrantProfile, model: type[Model]) -> ReadScope | None:
    """Return the read_scope of a predicate, or None if it depends on other rows, as grants do."""
    row = alias(model, "rule_rows").c
    parts = read.parts if isinstance(read, AnyOf) else (read,)
    possible = [part for part in parts if not isinstance(part(profile, row), sa.False_)]
    return READ_SCOPES.get(possible[0]) if len(possible) == 1 else None


class PermissionDenied(Denial):
    """The role lacks the privilege (403, 42501)."""


def require(profile: GrantProfile, action: Action, model: type[Model]) -> None:
    """Raise PermissionDenied if the profile lacks the privilege."""
    if not permits(profile, action, model):
        raise PermissionDenied(f"permission denied for table {model.__tablename__}")


def read_only_columns(role: Role, model: type[Model]) -> frozenset[str]:
    """Return the columns of a table to which the role may not assign values."""
    if role is SUPER_ADMIN:
        return frozenset()
    return SUPER_ADMIN_COLUMNS | SUPER_ADMIN_COLUMNS_OF.get(model, frozenset())


def may_extend_findings(role: Role) -> bool:
    """Return whether a role gives findings a later deadline than their rule."""
    return FINDING_MOVES[EXTENDED][role] is not no_row


def may_move_findings(profile: GrantProfile, kind: str) -> bool:
    """Return whether a profile may add an event of a kind to some findings."""
    return not isinstance(FINDING_MOVES[kind][profile.role](profile, alias(Finding, "rule_rows").c), sa.False_)


def may_issue_letters(profile: GrantProfile) -> bool:
    """Return whether a profile may issue letters about some findings."""
    return not isinstance(LETTERED_FINDINGS[profile.role](profile, alias(Finding, "rule_rows").c), sa.False_)


def has_calendar(profile: GrantProfile) -> bool:
    """Return whether some inspections are in the calendar feed of a profile."""
    return not isinstance(CALENDAR_VISITS[profile.role](profile, alias(Inspection, "rule_rows").c), sa.False_)


def may_administer(role: Role) -> bool:
    """Return whether the role may write users."""
    return permits(GrantProfile(role), Action.INSERT, User)


def has_right(rights: Mapping[Role, Predicate], rule: Rule, row: Row) -> Condition:
    """Return the condition that a caller with an access rule has a right on a row."""
    assert isinstance(rule, AccessRule)
    return rights[rule.profile.role](rule.profile, row)


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The rule for one grant profile, as the query engine receives it (engine/query/statement.py)."""

    profile: GrantProfile

    def rows(self, action: Action, model: type[Model], row: Row) -> Condition:
        """Return the condition for existing rows of an action; false if the role lacks the privilege."""
        policy = POLICIES[model].get(self.profile.role)
        predicate = policy.predicate(action) if policy is not None else None
        return predicate(self.profile, row) if predicate is not None else sa.false()

    def check(self, action: Action, model: type[Model], row: Row) -> Condition:
        """Return the condition for rows that an insert or update leaves; false if the role lacks the privilege."""
        policy = POLICIES[model].get(self.profile.role)
        predicate = policy.write_check(action) if policy is not None else None
        return predicate(self.profile, row) if predicate is not None else sa.false()

    def implied(self, model: type[Model], by: type[Model]) -> bool:
        """Return whether a visible row of `by` makes the rows of `model` that it is linked to visible.

        An inspector reads a building of a visit, and no other inspections of the building.
        """
        if self.profile.is_inspector and (model, by) == (Inspection, Building):
            return False
        policy = POLICIES[model].get(self.profile.role)
        return policy is not None and policy.implied_by is by

    def read_scope(self, model: type[Model]) -> ReadScope | None:
        """Return the read_scope of reads, or None if it depends on other rows."""
        policy = POLICIES[model].get(self.profile.role)
        return read_scope_of(policy.read, self.profile, model) if policy is not None else None

    def reads_by_grants_only(self, model: type[Model]) -> bool:
        """Return whether all rows of the table that the caller reads are visible by grants."""
        policy = POLICIES[model].get(self.profile.role)
        return policy is not None and policy.by_grants_only and not self.profile.is_inspector

    def protected_columns(self, model: type[Model]) -> frozenset[str]:
        """Return the columns of a table to which a payload may not assign values."""
        return read_only_columns(self.profile.role, model)
