"""The deadlines of findings by severity: the setting FINDING_DEADLINES."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from models.finding import SEVERITIES
from models.types import write_timestamp

HOURS_MAX = 8_760
DAYS_MAX = 3_660
PART = re.compile(r"([a-z_]+)=([1-9][0-9]{0,4})([hd])")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time to correct a finding: a number of hours, or of days that end at 23:59:59."""

    number: int
    is_days: bool

    def after(self, found: datetime.datetime, zone: datetime.tzinfo) -> str:
        """Return the deadline of a finding as a stored timestamp. Days are those of `zone`."""
        if not self.is_days:
            return write_timestamp(found + datetime.timedelta(hours=self.number))
        day = found.astimezone(zone).date() + datetime.timedelta(days=self.number)
        end = datetime.datetime.combine(day, datetime.time(23, 59, 59), tzinfo=zone)
        return write_timestamp(end.astimezone(datetime.UTC))


def parse_deadlines(text: str) -> Mapping[str, Deadline]:
    """Return the deadline of each severity; raise ValueError with one sentence.

    >>> parse_deadlines("life_threatening=24h,severe=24h,moderate=30d,low=60d")["moderate"]
    Deadline(number=30, is_days=True)
    """
    deadlines: dict[str, Deadline] = {}
    for part in text.split(","):
        matched = PART.fullmatch(part.strip())
        if matched is None or matched[1] not in SEVERITIES:
            raise ValueError(f"'{part.strip()[:80]}' is not a severity with hours or days such as moderate=30d")
        number, is_days = int(matched[2]), matched[3] == "d"
        if number > (DAYS_MAX if is_days else HOURS_MAX):
            raise ValueError(f"'{part.strip()}' is longer than {DAYS_MAX} days or {HOURS_MAX} hours")
        deadlines[matched[1]] = Deadline(number, is_days)
    missing = [severity for severity in SEVERITIES if severity not in deadlines]
    if missing:
        raise ValueError(f"there is no deadline for {', '.join(missing)}")
    return MappingProxyType(deadlines)


FINDING_DEADLINES = "life_threatening=24h,severe=24h,moderate=30d,low=60d"
"""The default: 24 CFR 982.404 and NSPIRE."""
DEFAULT_DEADLINES = parse_deadlines(FINDING_DEADLINES)
