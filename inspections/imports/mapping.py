"""What the columns of a file mean: the fields that they fill, proposed by their names or given by the caller."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache
from itertools import groupby
from typing import Final

from engine.query.catalog import Relation, catalog
from inspections.faults import InvalidImport
from models.types import TEXT
from models.vocabulary import LIFE_THREATENING, LOW, MODERATE

TARGETS: Final = ("buildings", "inspections", "reports_lead", "calibration_checks", "findings", "schedules")
BUILDINGS, INSPECTIONS, READINGS, CHECKS, FINDINGS, SCHEDULES = TARGETS
DEVICES: Final = ("viken_pb200i", "niton")
OWN_FORMAT: Final = "walkthrough"
PRESETS: Final = (*DEVICES, OWN_FORMAT)

UNIT: Final = "unit"
"""The unit of a measurement, which is compared and not stored."""
FOUND_ON: Final = "found_on"
"""The day on which a finding was made, from which its deadline follows."""
FILE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {READINGS: (UNIT,), FINDINGS: (FOUND_ON,)}
"""Fields that are no columns of the target."""

JOINED_FIELDS: Final = frozenset({"room", "place"})
"""Texts to which several columns contribute."""

PART: Final = ", {}"

LETTERS_MIN: Final = 4
"""XRF instruments cut the names of columns. A name of this length is enough, if only one column begins with it."""
NAME_CHARACTERS_MAX: Final = 64
NO_LETTER: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Source:
    """A column of files: the field that it fills, and its names in small letters and digits.

    `part` is its place in a text to which several columns contribute, and `words` are the values that its words mean.
    """

    field: str
    names: tuple[str, ...]
    part: str = PART
    words: Mapping[str, str] = dataclass_field(default_factory=dict, hash=False)
    is_cut: bool = False
    """An XRF instrument may cut the name."""


def device_source(name: str, *names: str, part: str = PART) -> Source:
    return Source(name, names, part, is_cut=True)


DEVICE_SOURCES: Final = {
    DEVICES[0]: (
        device_source("reading_no", "reading"),
        device_source("lead_mg_cm2", "concentration"),
        device_source("result", "result"),
        device_source("component", "component"),
        device_source("color", "color", "colour"),
        device_source("substrate", "substrate"),
        device_source("room", "roomtype"),
        device_source("room", "roomnumber", part=" {}"),
        device_source("wall", "side"),
        device_source("condition", "condition"),
        device_source(UNIT, "unit"),
    ),
    DEVICES[1]: (
        device_source("reading_no", "readingno", "readingnumber"),
        device_source("taken_at", "time"),
        device_source("component", "component"),
        device_source("substrate", "substrate"),
        device_source("wall", "side"),
        device_source("condition", "condition"),
        device_source("color", "color", "colour"),
        device_source("room", "room"),
        device_source("room", "floor", part=", floor {}"),
        device_source("result", "results"),
        device_source("lead_mg_cm2", "pbc"),
        device_source(UNIT, "units"),
    ),
}

VIOLATION_SOURCES: Final = (
    Source("code", ("violationid",)),
    Source("place", ("apartment",)),
    Source("place", ("story",), part=", story {}"),
    Source("severity", ("violationclass",), words={"c": LIFE_THREATENING, "b": MODERATE, "a": LOW}),
    Source(FOUND_ON, ("inspectiondate",)),
    Source("due_at", ("originalcorrectbydate",)),
    Source("description", ("novdescription",)),
)
"""New York's violations of the Housing Maintenance Code."""


def letters(name: str) -> str:
    """Return a name in small letters and digits.

    >>> letters("Reading #"), letters("ROOM NUM")
    ('reading', 'roomnum')
    """
    return NO_LETTER.sub("", name.lower())


def own_sources(relation: Relation) -> Iterator[Source]:
    """Yield the columns by their own names and labels. A file cannot choose keys, times and values of the service."""
    references = {each.column for each in relation.foreign_keys}
    for name, each in relation.attributes.items():
        if name in relation.key or each.info.service or name in ("created_at", "updated_at"):
            continue
        label = letters(each.info.label) if name not in references else ""
        yield Source(name, tuple(filter(None, (letters(name), label))))


@cache
def sources_of(target: str, preset: str | None) -> tuple[Source, ...]:
    """Return the columns that files of a preset have; raise InvalidImport if the preset is one of another target."""
    if preset in DEVICES and target != READINGS:
        raise InvalidImport(f"the preset {preset} needs p_target {READINGS}")
    own = tuple(own_sources(catalog().relations[target]))
    if preset is not None:
        return (*own, *DEVICE_SOURCES.get(preset, ()))
    more = {READINGS: tuple(each for found in DEVICE_SOURCES.values() for each in found), FINDINGS: VIOLATION_SOURCES}
    return (*own, *more.get(target, ()))


def find_source(sources: Sequence[Source], name: str) -> Source | None:
    """Return the source of a column; None if its name is unknown, or cut and ambiguous."""
    word = letters(name)
    if not word:
        return None
    exact = next((each for each in sources if word in each.names), None)
    if exact is not None or len(word) < LETTERS_MIN:
        return exact
    cut = [each for each in sources if each.is_cut and any(known.startswith(word) for known in each.names)]
    return cut[0] if len({(each.field, each.part) for each in cut}) == 1 else None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of the file, and what it fills."""

    position: int
    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The columns that fill each field, in the order in which they contribute to it."""

    columns: Mapping[str, tuple[FileColumn, ...]]
    header: Sequence[str]

    @property
    def names(self) -> dict[str, str]:
        """The field of each column, in the order of the file."""
        columns = sorted((each for found in self.columns.values() for each in found), key=lambda each: each.position)
        return {each.name: each.source.field for each in columns}

    @property
    def unmapped(self) -> list[str]:
        return [name for name in dict.fromkeys(self.header) if name and name not in self.names]


def proposed_mapping(sources: Sequence[Source], header: Sequence[str]) -> ColumnMapping:
    """Return the mapping by the names of the columns. Of several columns for one field, the first one counts."""
    found: list[FileColumn] = []
    for position, name in enumerate(header):
        source = find_source(sources, name)
        if source is None or (source.field in {each.source.field for each in found} - JOINED_FIELDS):
            continue
        found.append(FileColumn(position, name, source))
    return mapping_of(sources, header, found)


def given_mapping(
    relation: Relation, sources: Sequence[Source], header: Sequence[str], fields: Mapping[str, str | None]
) -> ColumnMapping:
    """Return the mapping that a caller gives. Null leaves a column out.

    Raise InvalidImport for a column that the file does not have, and UnknownPayloadColumn for an unknown field.
    """
    found: list[FileColumn] = []
    for name, wanted in fields.items():
        if wanted is None:
            continue
        if name.strip() not in header:
            raise InvalidImport(f'the file has no column "{name[:NAME_CHARACTERS_MAX]}"')
        if wanted not in FILE_FIELDS.get(relation.name, ()):
            relation.require_payload_columns((wanted,))
        if wanted in {each.source.field for each in found} and relation.attributes[wanted].type is not TEXT:
            raise InvalidImport(f'several columns fill the field "{wanted}", which is no text')
        named = find_source(sources, name)
        if named is None or named.field != wanted:
            named = next((each for each in sources if each.field == wanted and each.words), Source(wanted, ()))
        found.append(FileColumn(header.index(name.strip()), name.strip(), named))
    return mapping_of(sources, header, found)


def mapping_of(sources: Sequence[Source], header: Sequence[str], found: Sequence[FileColumn]) -> ColumnMapping:
    """Return the mapping of these columns; raise InvalidImport if the header has the name of one of them twice."""
    repeated = next((each.name for each in found if header.count(each.name) > 1), None)
    if repeated is not None:
        raise InvalidImport(f'the header has the column "{repeated[:NAME_CHARACTERS_MAX]}" twice')
    places = {each: place for place, each in reversed([*enumerate(sources)])}

    def order(column: FileColumn) -> tuple[str, int, int]:
        return column.source.field, places.get(column.source, len(sources)), column.position

    fields = {
        name: tuple(columns) for name, columns in groupby(sorted(found, key=order), lambda each: each.source.field)
    }
    in_order = sorted(fields.items(), key=lambda each: min(column.position for column in each[1]))
    return ColumnMapping(dict(in_order), header)
