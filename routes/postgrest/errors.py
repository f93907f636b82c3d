"""The data API's faults: status and code of each. The nearest base class applies.

Messages are the fault's own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from access import access_token, assignments, decorators, parameters, session
from access.accounts import throttle
from engine.interface.faults import (
    DiskFailed,
    DiskFull,
    FileCorrupt,
    Locked,
    LockTimeout,
    NotPermitted,
    ResponseTooLarge,
    TimedOut,
    TooManyConnections,
    Unreachable,
    Unresolved,
)
from engine.query import catalog, constraints, large_results, patterns, shape
from engine.query.dialect import sqlite_functions as sql_functions
from engine.query.read import aggregates, columns, embed, operators, planner
from engine.query.write import row_security, upsert
from engine.storage import file_identity
from inspections import faults
from inspections.reporting import chart
from models import types
from models.errors import Denial, Fault
from routes.postgrest import (
    calls,
    csv,
    encoding,
    lexer,
    limits,
    media,
    operands,
    payload,
    preferences,
    representation,
    requests,
)

STATUSES: dict[type[Fault], tuple[int, str]] = {
    # Parsing
    lexer.Unparsable: (400, "PGRST100"),
    limits.LimitExceeded: (400, "PGRST100"),
    limits.TooManyNames: (400, "54000"),
    encoding.Undecodable: (400, "PGRST100"),
    operands.MalformedArray: (400, "22P02"),
    limits.NumberOutOfRange: (400, "22003"),
    limits.UnsatisfiableRange: (416, "PGRST103"),
    payload.InvalidPayload: (400, "PGRST102"),
    payload.KeysDiffer: (400, "PGRST102"),
    payload.UntranslatableText: (400, "22P05"),
    csv.MalformedCsv: (400, "PGRST102"),
    media.UnsupportedMediaType: (415, "PGRST102"),
    media.UnsupportedContentEncoding: (415, "PGRST102"),
    media.NotAcceptable: (406, "PGRST107"),
    preferences.InvalidPreferences: (400, "PGRST122"),
    requests.UnknownPath: (404, "PGRST125"),
    requests.UnknownRelation: (404, "PGRST205"),
    requests.UnknownProfile: (406, "PGRST106"),
    requests.MethodNotAllowed: (405, "PGRST117"),
    requests.BadRequest: (400, "PGRST100"),
    requests.BodyTooLarge: (413, "PGRST102"),
    requests.MissingWhere: (400, "21000"),
    requests.LimitWithoutOrder: (400, "PGRST109"),
    requests.KeyNotFiltered: (405, "PGRST105"),
    requests.PutWithRange: (400, "PGRST114"),
    requests.KeyNotNamed: (400, "42703"),
    requests.KeyMismatch: (400, "PGRST115"),
    requests.NotSingular: (406, "PGRST116"),
    requests.TooManyAffected: (400, "PGRST124"),
    representation.TooDeep: (400, "54001"),
    representation.TooLarge: (400, "22003"),
    # Credentials
    session.InvalidApiKey: (401, "PGRST302"),
    decorators.AnonymousDenied: (401, "42501"),
    Denial: (403, "42501"),
    access_token.InvalidToken: (401, "PGRST301"),
    access_token.RefusedClaims: (401, "PGRST303"),
    throttle.RateLimitExceeded: (429, "PGRST429"),
    # Functions
    calls.UnknownFunction: (404, "PGRST202"),
    calls.MethodCannotCall: (405, "PGRST101"),
    calls.ConflictingArguments: (400, "22023"),
    calls.MaxAffectedOnScalar: (400, "PGRST128"),
    parameters.ParameterOutOfRange: (400, "22023"),
    parameters.TooManyIds: (400, "PGRST100"),
    chart.InvalidPeriod: (400, "22023"),
    chart.TooManyLabels: (400, "54000"),
    assignments.InvalidGrantee: (400, "23514"),
    # Inspections
    faults.NoSuchRow: (404, "PT404"),
    faults.InvalidClosing: (400, "22023"),
    faults.InvalidMove: (400, "22023"),
    faults.VisitNotStartable: (400, "23514"),
    faults.VisitClosed: (400, "23514"),
    faults.ResultInFuture: (400, "23514"),
    faults.ReinspectionTooEarly: (400, "23514"),
    faults.NextVisitTouched: (409, "23505"),
    faults.VisitWithoutResult: (400, "23514"),
    faults.VisitRequired: (400, "23514"),
    faults.VisitNotSkippable: (400, "23514"),
    faults.MoveNotAllowed: (400, "23514"),
    faults.InspectorNotManager: (400, "23514"),
    faults.ReportTooLarge: (400, "54000"),
    faults.UnreadableFile: (400, "22P04"),
    faults.InvalidImport: (400, "22023"),
    faults.UnfitCell: (400, "22P02"),
    faults.SkippedLines: (400, "01000"),
    # Files
    faults.NoSuchBucket: (404, "PT404"),
    faults.NoSuchFile: (404, "PT404"),
    faults.FileExists: (409, "23505"),
    faults.InvalidFileName: (400, "22023"),
    faults.FileTooLarge: (413, "54000"),
    faults.FileEmpty: (400, "22023"),
    faults.UnknownFileType: (415, "22023"),
    faults.NoRoomForFile: (507, "54000"),
    faults.BytesMissing: (503, "55P03"),
    faults.NoThumbnail: (400, "22023"),
    faults.InvalidLink: (400, "22023"),
    faults.LinkExpired: (400, "22023"),
    # Queries
    catalog.UnknownColumn: (400, "42703"),
    catalog.UnknownPayloadColumn: (400, "PGRST204"),
    catalog.UnknownRelationship: (400, "PGRST200"),
    catalog.AmbiguousRelationship: (300, "PGRST201"),
    shape.NotEmbedded: (400, "PGRST108"),
    planner.NotToOne: (400, "PGRST118"),
    embed.AggregateSpread: (400, "PGRST127"),
    aggregates.NotGrouped: (400, "42803"),
    columns.UnknownAggregate: (404, "42883"),
    embed.DuplicateEmbed: (400, "42712"),
    embed.TooManyColumns: (400, "54011"),
    operators.UnknownOperator: (404, "42883"),
    operators.NotBoolean: (400, "42804"),
    sql_functions.UnknownType: (400, "42704"),
    sql_functions.CannotCast: (400, "42846"),
    patterns.InvalidRegularExpression: (400, "2201B"),
    patterns.NoRegularExpressions: (400, "0A000"),
    patterns.InvalidEscape: (400, "22025"),
    # Values
    types.InvalidInput: (400, "22P02"),
    types.InvalidDatetime: (400, "22007"),
    types.DatetimeOutOfRange: (400, "22008"),
    types.DisplacementOutOfRange: (400, "22009"),
    types.UnknownTimezone: (400, "22023"),
    types.OutOfRange: (400, "22003"),
    types.TextTooLong: (400, "22001"),
    types.NulInText: (400, "22P05"),
    # Writes
    row_security.ProtectedColumn: (400, "428C9"),
    upsert.NoSuchConstraint: (400, "42P10"),
    upsert.SameRowTwice: (400, "21000"),
    ResponseTooLarge: (400, "54000"),
    constraints.UniqueViolation: (409, "23505"),
    constraints.ForeignKeyViolation: (409, "23503"),
    constraints.NotNullViolation: (400, "23502"),
    constraints.CheckViolation: (400, "23514"),
    # The database
    TimedOut: (500, "57014"),
    DiskFull: (503, "53100"),
    DiskFailed: (500, "58030"),
    FileCorrupt: (500, "XX001"),
    file_identity.DatabaseFileReplaced: (503, "58P01"),
    Locked: (503, "55P03"),
    Unreachable: (503, "08006"),
    NotPermitted: (500, "42501"),
    Unresolved: (503, "08007"),
    LockTimeout: (503, "55P03"),
    TooManyConnections: (503, "53300"),
    large_results.TooManyLargeResults: (503, "53200"),
}


@dataclass(frozen=True, slots=True)
class RenderedFault:
    """A rendered error: JSON with the same four keys every time."""

    status: int
    headers: dict[str, str]
    body: bytes


def render_fault(fault: Fault) -> RenderedFault:
    """Return a fault's status, headers and body."""
    status, code = lookup(type(fault))
    details: object = fault.details
    if isinstance(fault, catalog.AmbiguousRelationship):
        details = fault.candidates
    return RenderedFault(
        status, error_headers(fault, status, code), error_body(code, fault.message, details, fault.hint)
    )


def lookup(kind: type[Fault]) -> tuple[int, str]:
    """Return the status and code of the nearest base class. A fault without an entry is a bug and gives status 500."""
    for ancestor in kind.__mro__:
        if ancestor in STATUSES:
            return STATUSES[ancestor]
    return 500, "XX000"


def error_body(code: str, message: str, details: object, hint: str | None) -> bytes:
    """Return the JSON body of an error."""
    document = {"code": code, "message": message, "details": details, "hint": hint}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def error_headers(fault: Fault, status: int, code: str) -> dict[str, str]:
    """Return an error's headers. Proxy-Status carries the code to HEAD, in the form that clients parse."""
    fields = {"Content-Type": "application/json; charset=utf-8", "Proxy-Status": f"PostgREST; error={code}"}
    if status == 401:
        fields["WWW-Authenticate"] = challenge(fault)
    if status == 503 and not isinstance(fault, Unresolved):
        fields["Retry-After"] = "1"
    if isinstance(fault, throttle.RateLimitExceeded):
        fields["Retry-After"] = str(fault.retry_after_seconds)
    if isinstance(fault, requests.OffsetOutOfRange):
        fields |= {"Content-Range": f"*/{fault.total}", **fault.applied}
    if isinstance(fault, requests.MethodNotAllowed):
        fields["Allow"] = ", ".join(fault.allowed)
    return fields


def challenge(fault: Fault) -> str:
    if isinstance(fault, access_token.InvalidToken | access_token.RefusedClaims):
        description = fault.message.replace("\\", "").replace('"', "'")
        return f'Bearer error="invalid_token", error_description="{description}"'
    return "Bearer"
