"""The deadlines of findings: the computed default of `findings.due_at`, by the rows of deadline_rules."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from engine.interface.database import Database, Transaction
from engine.query.statement import UNRESTRICTED
from engine.rows import read_rows, update_rows
from models import DeadlineRule, Inspection
from models.deadline_rule import DAYS
from models.types import BIGINT, Fault, later_reading, read_timestamp, write_timestamp
from models.vocabulary import SERVED

LOG = logging.getLogger("walkthrough")
TABLE: Final = DeadlineRule.__tablename__
EARLY_CLOCK: Final = datetime.timedelta(minutes=5)
"""How far the clock of a client may be ahead."""
EARLIEST: Final = datetime.datetime(1900, 1, 1, tzinfo=datetime.UTC)
"""Before any finding. A day of the year 1 has no local time in some zones."""
COLUMNS: Final = (
    "id", "client_id", "inspection_type", "severity", "amount", "unit", "basis", "valid_from", "counts_from",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FindingDeadline:
    """A time to correct a finding: a number of hours, or of days that end at 23:59:59.

    `is_from_service`: it counts from the service of a letter, and from the finding until a letter was served.
    """

    number: int
    is_days: bool
    is_from_service: bool = False

    def after(self, found: datetime.datetime, zone: datetime.tzinfo) -> str:
        """Return the deadline of a finding as a stored timestamp. Days are those of `zone`."""
        return write_timestamp(self.moment_after(found, zone).astimezone(datetime.UTC))

    def moment_after(self, found: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
        """Return the deadline in any zone."""
        if not self.is_days:
            return found + datetime.timedelta(hours=self.number)
        return end_of_day(found.astimezone(zone).date() + datetime.timedelta(days=self.number), zone)

    def after_service(self, day: str, zone: datetime.tzinfo) -> str:
        """Return the deadline by the day on which a letter was served. Hours count from the end of that day."""
        return self.after(end_of_day(datetime.date.fromisoformat(day), zone), zone)


def end_of_day(day: datetime.date, zone: datetime.tzinfo) -> datetime.datetime:
    """Return the last second of a day: the later one, where the clock goes back at midnight.

    >>> from zoneinfo import ZoneInfo
    >>> end_of_day(datetime.date(2027, 4, 3), ZoneInfo("America/Santiago")).isoformat()
    '2027-04-03T23:59:59-04:00'
    """
    return later_reading(datetime.datetime.combine(day, datetime.time(23, 59, 59), tzinfo=zone))


def days_late(fixed: datetime.datetime, due: datetime.datetime) -> int:
    """Return the number of begun days of 24 hours from a deadline to a correction; 0 in time.

    >>> due = datetime.datetime(2026, 1, 31, 23, 59, 59)
    >>> days_late(due, due), days_late(due.replace(month=2, day=1), due), days_late(due.replace(month=2, day=2), due)
    (0, 1, 2)
    """
    return max(0, -((due - fixed) // datetime.timedelta(days=1)))


class DeadlineRules:
    """The rules that hold for some clients, those of everybody included."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.rules: dict[tuple[int | None, str | None, str], list[Mapping[str, Any]]] = {}
        for row in sorted(rows, key=lambda each: (each["valid_from"] or "", each["id"])):
            self.rules.setdefault((row["client_id"], row["inspection_type"], row["severity"]), []).append(row)

    def deadline(
        self, client_id: int | None, inspection_type: str | None, severity: str, day: datetime.date
    ) -> FindingDeadline | None:
        """Return the deadline by the most specific rule that is valid on a day, or None if there is none.

        The client's rules precede those of everybody, and those of the type precede those of any.
        """
        for client in dict.fromkeys((client_id, None)):
            for kind in dict.fromkeys((inspection_type, None)):
                rules = self.rules.get((client, kind, severity), ())
                valid = [rule for rule in rules if (rule["valid_from"] or "") <= day.isoformat()]
                if valid:
                    rule = valid[-1]
                    return FindingDeadline(rule["amount"], rule["unit"] == DAYS, rule["counts_from"] == SERVED)
        return None


def read_rules(transaction: Transaction, client_ids: Iterable[int]) -> list[dict[str, Any]]:
    """Return the rules of clients and those of everybody."""
    return read_rows(transaction, UNRESTRICTED, TABLE, COLUMNS, client_id={None, *client_ids})


def computed_deadlines(
    transaction: Transaction, findings: Sequence[Mapping[str, object]], zone: ZoneInfo | None = None
) -> list[str | None]:
    """Return the deadlines of findings by their inspection, severity and `found_at`; None where no rule is valid.

    A finding without `found_at` is found now. The table refuses one of another severity, and FindingRule one that is
    found later, or before EARLIEST.
    """
    return [
        deadline.after(found_in_range(transaction, finding, zone), transaction.time_zone)
        if deadline is not None
        else None
        for finding, deadline in zip(findings, valid_deadlines(transaction, findings, zone), strict=True)
    ]


def valid_deadlines(
    transaction: Transaction, findings: Sequence[Mapping[str, object]], zone: ZoneInfo | None = None
) -> list[FindingDeadline | None]:
    """Return the times to correct findings, by the rules that are valid on the day of each; None without a rule."""
    ids = [inspection_of(finding) for finding in findings]
    known = sorted({each for each in ids if each is not None})
    columns = ("id", "client_id", "inspection_type")
    inspections = {
        each["id"]: each for each in read_rows(transaction, UNRESTRICTED, Inspection.__tablename__, columns, id=known)
    }
    rules = DeadlineRules(read_rules(transaction, (each["client_id"] for each in inspections.values())))
    deadlines: list[FindingDeadline | None] = []
    for finding, inspection_id in zip(findings, ids, strict=True):
        day = found_in_range(transaction, finding, zone).astimezone(transaction.time_zone).date()
        inspection = inspections.get(inspection_id, {}) if inspection_id is not None else {}
        severity = str(finding.get("severity"))
        deadlines.append(rules.deadline(inspection.get("client_id"), inspection.get("inspection_type"), severity, day))
    return deadlines


def found_in_range(transaction: Transaction, finding: Mapping[str, object], zone: ZoneInfo | None) -> datetime.datetime:
    """Return when a finding was made, within the times that FindingRule takes."""
    return max(EARLIEST, min(found_at(transaction, finding, zone), transaction.moment + EARLY_CLOCK))


def inspection_of(finding: Mapping[str, object]) -> int | None:
    """Return the inspection of a new finding; None for a value that its column refuses."""
    try:
        value = BIGINT.read_json(finding.get("inspection_id"))
    except Fault:
        return None
    return value if isinstance(value, int) else None


def found_at(transaction: Transaction, finding: Mapping[str, object], zone: ZoneInfo | None) -> datetime.datetime:
    """Return when a finding was made: by default when it was created, and that is now unless an old row says it."""
    given = finding.get("found_at") or finding.get("created_at")
    return (
        datetime.datetime.fromisoformat(read_timestamp(given, zone)) if isinstance(given, str) else transaction.moment
    )


# The setting of earlier versions

SETTING: Final = "FINDING_DEADLINES"
OF_SETTING: Final = f"{SETTING} of this deployment"


def says_setting(rules: Iterable[Mapping[str, Any]], deadlines: Mapping[str, tuple[int, str]]) -> bool:
    """Return whether the rules of any type and day have the deadlines of the setting, and no others."""
    wanted = {(severity, amount, unit) for severity, (amount, unit) in deadlines.items()}
    return {(each["severity"], each["amount"], each["unit"]) for each in rules if is_general(each)} == wanted


def is_general(rule: Mapping[str, Any]) -> bool:
    """Return whether a rule holds for any inspection type and day."""
    return rule["inspection_type"] is None and rule["valid_from"] is None


def are_shipped(rules: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether rules are the unchanged ones of a new database."""
    columns = ("severity", "amount", "unit", "basis")
    shipped = {tuple(each[name] for name in columns) for each in DeadlineRule.shipped}
    found = {tuple(each[name] for name in columns) for each in rules}
    return all(map(is_general, rules)) and found == shipped


def adopt_setting(transaction: Transaction, deadlines: Mapping[str, tuple[int, str]]) -> bool:
    """Give everybody's rules the deadlines of the setting if they are those of a new database.

    Return whether everybody's rules now say what the setting says.
    """
    rules = read_rules(transaction, ())
    if says_setting(rules, deadlines):
        return True
    if not are_shipped(rules):
        return False
    for each in rules:
        amount, unit = deadlines[each["severity"]]
        if (amount, unit) != (each["amount"], each["unit"]):
            changes = {"amount": amount, "unit": unit, "basis": OF_SETTING}
            update_rows(transaction, TABLE, [(each["id"],)], changes)
    return True


def adopt_deadlines(database: Database, deadlines: Mapping[str, tuple[int, str]] | None) -> None:
    """Adopt the setting, if there is one, at the start of a process. Warn if the rules say something else."""
    if deadlines is None:
        return
    try:
        with database.reading() as transaction:
            is_adopted = says_setting(read_rules(transaction, ()), deadlines)
        if not is_adopted:
            with database.writing() as transaction:
                is_adopted = adopt_setting(transaction, deadlines)
    except Fault as fault:  # a database that cannot be written yet
        LOG.warning("%s is not adopted: %s", SETTING, fault.message)
        return
    if not is_adopted:
        LOG.warning("%s is ignored: the rows of deadline_rules differ, and decide", SETTING)
