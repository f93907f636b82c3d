"""What changed between two versions of a report: its head, and its rows by their ids, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from models.types import canonical_json

LINES_MAX: Final = 200
CHARACTERS_MAX: Final = 200
"""Of a value in a line. The former report has the whole value."""

HEAD: Final = ("visit", "building", "owner", "inspector", "standard", "standard_percent")
"""The parts of a report that are one object each."""
ROWS: Final[Mapping[str, str]] = {"readings": "id", "checks": "id", "instruments": "gun_id"}
"""The parts of a report that are rows, and the name of the id of each."""
FOLLOWING: Final = frozenset(
    {"validity", "doubts", "counts", "remark", "confirmed_by", "is_late", "days_late", "files"}
)
"""Fields of rows that follow from other fields or from the time, or that are listed on their own."""

ADDED, REMOVED, CHANGED = "added", "removed", "changed"

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportChange:
    """A row that was added or removed, or a field that was changed. `id` is null in the head of the report."""

    part: str
    id: int | str | None
    change: str
    field: str | None
    before: str | None
    after: str | None


def list_changes(before: Report, after: Report) -> tuple[list[ReportChange], int]:
    """Return the first LINES_MAX changes between two reports of a kind as JSON, and the number of all."""
    changes = [*all_changes(before, after)]
    return changes[:LINES_MAX], len(changes)


def all_changes(before: Report, after: Report) -> Iterator[ReportChange]:
    for part in ("rule", *HEAD):
        yield from changed_fields(part, None, as_fields(before.get(part), part), as_fields(after.get(part), part))
    yield from changed_rows("findings", findings_of(before), findings_of(after))
    for part, key in ROWS.items():
        yield from changed_rows(part, by_key(before, part, key), by_key(after, part, key))
    yield from changed_rows("files", files_of(before), files_of(after))


def as_fields(value: object, part: str) -> Mapping[str, Any]:
    """Return a part of the head as an object."""
    return value if isinstance(value, Mapping) else {part: value}


def by_key(report: Report, part: str, key: str) -> dict[Any, Report]:
    return {each[key]: each for each in report.get(part, ())}


def findings_of(report: Report) -> dict[Any, Report]:
    return {each["id"]: each for group in report.get("severities", ()) for each in group["findings"]}


def files_of(report: Report) -> dict[Any, Report]:
    """Return the files of the visit and of its findings."""
    lists = (report["files"], *(each["files"] for each in findings_of(report).values()))
    return {each["id"]: each for files in lists for each in files}


def changed_rows(part: str, before: Mapping[Any, Report], after: Mapping[Any, Report]) -> Iterator[ReportChange]:
    """Yield the changes of rows: the changed and added ones in their new order, then the removed ones."""
    for key, row in after.items():
        if key not in before:
            yield ReportChange(part, key, ADDED, None, None, None)
        else:
            yield from changed_fields(part, key, before[key], row)
    for key in before:
        if key not in after:
            yield ReportChange(part, key, REMOVED, None, None, None)


def changed_fields(part: str, key: Any, before: Report, after: Report) -> Iterator[ReportChange]:
    """Yield a change for each field with another value. A field that one of them lacks is null there."""
    for name in dict.fromkeys((*before, *after)):
        former, new = before.get(name), after.get(name)
        if former != new and name not in FOLLOWING:
            yield ReportChange(part, key, CHANGED, name, shown(former), shown(new))


def shown(value: object) -> str | None:
    """Return a value as a text of CHARACTERS_MAX characters at most; a text is as it is.

    >>> shown("a" * 201) == "a" * 199 + "…", shown(0.5), shown([1, "b"]), shown(None)
    (True, '0.5', '[1,"b"]', None)
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= CHARACTERS_MAX else f"{text[: CHARACTERS_MAX - 1]}…"
