"""Parses the Prefer header, after PostgREST's `ApiRequest/Preferences.hs`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeVar
from zoneinfo import available_timezones

from models.errors import Fault
from models.types import UnknownTimezone
from routes.postgrest.limits import excerpt
from routes.postgrest.media import CACHED_HEADERS_MAX

_TIMEZONE: Final = "timezone="
_MAX_AFFECTED: Final = re.compile(r"max-affected=([0-9]{1,18})")
_Choice = TypeVar("_Choice", bound=StrEnum)


class Return(StrEnum):
    """The response of a write."""

    MINIMAL = "return=minimal"
    HEADERS_ONLY = "return=headers-only"
    REPRESENTATION = "return=representation"


class Count(StrEnum):
    """The requested total. All three are exact here (docs/DIALECT.md)."""

    EXACT = "count=exact"
    PLANNED = "count=planned"
    ESTIMATED = "count=estimated"


class Resolution(StrEnum):
    """How an insert treats existing rows."""

    MERGE_DUPLICATES = "resolution=merge-duplicates"
    IGNORE_DUPLICATES = "resolution=ignore-duplicates"


class Missing(StrEnum):
    """The value of a column that `columns` names and a row lacks."""

    DEFAULT = "missing=default"
    NULL = "missing=null"


class Handling(StrEnum):
    """How unknown preferences are treated."""

    STRICT = "handling=strict"
    LENIENT = "handling=lenient"


class TransactionEnd(StrEnum):
    """How the transaction ends."""

    COMMIT = "tx=commit"
    ROLLBACK = "tx=rollback"


_CHOICES: Final = frozenset(
    choice.value for kind in (Return, Count, Resolution, Missing, Handling, TransactionEnd) for choice in kind
)


class Operation(StrEnum):
    """The kind of request, which determines the applicable preferences. UPSERT is PUT."""

    READ = "read"
    INSERT = "insert"
    UPDATE = "update"
    UPSERT = "upsert"
    DELETE = "delete"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The parsed Prefer header. `max_affected` applies only with handling=strict."""

    resolution: Resolution | None = None
    missing: Missing | None = None
    representation: Return | None = None
    count: Count | None = None
    transaction: TransactionEnd | None = None
    handling: Handling | None = None
    timezone: str | None = None
    max_affected: int | None = None

    def applied(self, operation: Operation) -> str | None:
        """Return the value of Preference-Applied, or None if the header is omitted.

        >>> wanted = parse_prefer("return=minimal, count=exact,missing=default")
        >>> wanted.applied(Operation.READ), wanted.applied(Operation.UPDATE)
        ('count=exact', 'missing=default, return=minimal, count=exact')
        >>> Preferences().applied(Operation.READ)
        """
        applied: list[str] = []
        if operation is Operation.INSERT and self.resolution:
            applied.append(self.resolution)
        if operation in (Operation.INSERT, Operation.UPDATE) and self.missing:
            applied.append(self.missing)
        if operation not in (Operation.READ, Operation.CALL) and self.representation:
            applied.append(self.representation)
        applied.extend(item for item in (self.count, self.transaction, self.handling) if item)
        if self.timezone and operation is not Operation.CALL:  # functions return timestamps in UTC
            applied.append(_TIMEZONE + self.timezone)
        # Differs from PostgREST: max-affected also applies to inserts.
        bound = operation is not Operation.READ
        if bound and self.handling is Handling.STRICT and self.max_affected is not None:
            applied.append(f"max-affected={self.max_affected}")
        return ", ".join(applied) or None


class InvalidPreferences(Fault):
    """Unknown preferences with handling=strict."""

    def __init__(self, invalid: Sequence[str]) -> None:
        super().__init__(
            "Invalid preferences given with handling=strict", f"Invalid preferences: {excerpt(', '.join(invalid))}"
        )
        self.invalid = tuple(invalid)


@lru_cache(maxsize=1)
def list_timezones() -> frozenset[str]:
    """Return the names of all time zones. The first call reads some 600 files."""
    return frozenset(available_timezones())


@lru_cache(maxsize=CACHED_HEADERS_MAX)
def parse_prefer(header: str) -> Preferences:
    """Parse the Prefer header. The first preference of each kind applies; unknown ones are ignored.

    As in PostgREST 16, an unknown time zone is refused. Differs from PostgREST: an offset (`timezone=-4`) is
    not a time zone.

    >>> parse_prefer("count=exact,return=minimal,count=planned, foo=bar").count
    <Count.EXACT: 'count=exact'>
    >>> parse_prefer("timezone=america/new_york").timezone
    'America/New_York'
    >>> parse_prefer("timezone=Nowhere/Land")
    Traceback (most recent call last):
    models.types.UnknownTimezone: invalid value for parameter "TimeZone": "Nowhere/Land"
    >>> parse_prefer("handling=strict, foo=bar, max-affected=many")
    Traceback (most recent call last):
    routes.postgrest.preferences.InvalidPreferences: Invalid preferences given with handling=strict
    """
    items = [item.strip() for item in header.split(",") if item.strip()]
    handling = _first_choice(Handling, items)
    if handling is Handling.STRICT:
        invalid = [item for item in items if not _is_known(item)]
        if invalid:
            raise InvalidPreferences(invalid)
    return Preferences(
        _first_choice(Resolution, items),
        _first_choice(Missing, items),
        _first_choice(Return, items),
        _first_choice(Count, items),
        _first_choice(TransactionEnd, items),
        handling,
        _first_timezone(items),
        _first_max_affected(items),
    )


def _first_choice(kind: type[_Choice], items: list[str]) -> _Choice | None:
    return next((choice for item in items for choice in kind if item == choice.value), None)


def _first_timezone(items: list[str]) -> str | None:
    """Return the canonical name of the time zone. Names are case-insensitive, as in PostgreSQL."""
    names = (item.removeprefix(_TIMEZONE) for item in items if item.startswith(_TIMEZONE))
    name = next(names, None)
    if name is None or name in list_timezones():
        return name
    for zone in list_timezones():
        if zone.lower() == name.lower():
            return zone
    raise UnknownTimezone(f'invalid value for parameter "TimeZone": "{excerpt(name)}"')


def _first_max_affected(items: list[str]) -> int | None:
    matches = (_MAX_AFFECTED.fullmatch(item) for item in items)
    return next((int(match[1]) for match in matches if match), None)


def _is_known(item: str) -> bool:
    return item in _CHOICES or item.startswith(_TIMEZONE) or _MAX_AFFECTED.fullmatch(item) is not None
