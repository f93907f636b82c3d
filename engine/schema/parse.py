"""Read the schemas that engine/schema/script.py writes: their tables by line, and their other objects by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

STATEMENT = re.compile(r"^(?=CREATE |INSERT )", re.MULTILINE)
CREATED = re.compile(
    r"CREATE (?:OR REPLACE )?(?:UNIQUE )?(TABLE|INDEX|STATISTICS|FUNCTION|TRIGGER|VIEW) (\w+)"
    r"(?:.*? (?:ON|FROM) (\w+))?"
)
COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)
CONSTRAINT = "CONSTRAINT"


@dataclass(frozen=True, slots=True)
class ParsedTable:
    """A table: the definitions of its columns and constraints by name, and its whole statement."""

    sql: str
    columns: dict[str, str] = field(default_factory=dict)
    constraints: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParsedObject:
    """An index, statistics, a function, a trigger or a view, and the table that it belongs to."""

    kind: str
    table: str
    sql: str


@dataclass(frozen=True, slots=True)
class ParsedSchema:
    """The objects of a script by name, in its order."""

    tables: Mapping[str, ParsedTable]
    objects: Mapping[tuple[str, str], ParsedObject]
    """By kind and name: a trigger of PostgreSQL and its function have one name."""

    def of_kind(self, *kinds: str) -> dict[str, ParsedObject]:
        return {name: each for (kind, name), each in self.objects.items() if kind in kinds}


def parse_schema(script: str) -> ParsedSchema:
    """Return the objects of a script. A statement begins at the start of a line."""
    tables: dict[str, ParsedTable] = {}
    objects: dict[tuple[str, str], ParsedObject] = {}
    for text in STATEMENT.split(script):
        statement = COMMENT.sub("", text).strip()
        created = CREATED.match(statement)
        if created is None:
            continue
        kind, name, table = created.groups()
        if kind == "TABLE":
            tables[name] = parse_table(statement)
        else:
            objects[kind, name] = ParsedObject(kind, table or "", statement)
    return ParsedSchema(tables, objects)


def parse_table(statement: str) -> ParsedTable:
    """Return a table by its lines. A line that is indented further continues the line before.

    >>> parse_table("CREATE TABLE a (\\n    id bigint NOT NULL,\\n    CONSTRAINT a_pkey PRIMARY KEY (id)\\n);").columns
    {'id': 'bigint NOT NULL'}
    """
    found = ParsedTable(statement)
    body = statement[statement.index("\n") + 1 : statement.rindex("\n)")]
    for line in re.sub(r"\n {5,}", " ", body).splitlines():
        name, _, rest = line.strip().removesuffix(",").partition(" ")
        if name == CONSTRAINT:
            name, _, rest = rest.partition(" ")
            found.constraints[name] = rest.strip()
        else:
            found.columns[name] = rest.strip()
    return found
