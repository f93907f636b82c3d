"""Valid rows of any table, made from its description: examples, and references to rows that exist."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from urllib.parse import quote

from engine.query.catalog import Attribute, Relation, catalog
from models.fields import ColumnDefault
from models.types import BIGINT, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, UUID
from tests.conftest import DATASET, ROOT
from tests.inspections.file_world import Files
from tests.support.frozen_rows import FROZEN, insert, update

Row = dict[str, object]

PROTECTED = ("id", "created_at", "updated_at")
"""Columns that only super admins write."""

PLAIN_VALUES: dict[str, Callable[[int], object]] = {
    TEXT.name: lambda number: f"text {number}",
    BIGINT.name: lambda number: number,
    INTEGER.name: lambda number: number,
    DOUBLE.name: lambda number: number + 0.5,
    DATE.name: lambda number: f"2026-01-{number % 28 + 1:02}",
    TIMESTAMP.name: lambda number: f"2026-01-{number % 28 + 1:02}T09:30:15+00:00",
    UUID.name: lambda number: f"00000000-0000-4000-a000-{number:012}",
}
"""By type: the values of columns without an example."""


def in_unique_constraint(relation: Relation, column: str) -> bool:
    """Return whether the column is part of a key, a unique constraint or a unique index."""
    indexes = (index.columns for index in relation.model.indexes if index.unique)
    return any(column in part for columns in (*relation.uniques.values(), *indexes) for part in columns)


def plain_value(relation: Relation, attribute: Attribute, number: int) -> object:
    """Return a valid value of a column that is no reference; another for each number where it has to be unique."""
    info = attribute.info
    if info.allowed_values:
        return info.example or info.allowed_values[0]
    if info.example is None:
        return PLAIN_VALUES[attribute.type.name](number)
    if not in_unique_constraint(relation, attribute.name):
        return info.example
    return f"{number}.{info.example}" if attribute.type is TEXT else PLAIN_VALUES[attribute.type.name](number)


def other_value(relation: Relation, attribute: Attribute, number: int) -> object:
    """Return another valid value than `plain_value` for the same number."""
    others = [each for each in attribute.info.allowed_values if each != attribute.info.example]
    if others:
        return others[0]
    if attribute.info.maximum is not None:
        return attribute.info.minimum
    value = plain_value(relation, attribute, number + 1)
    return f"other-{value}" if attribute.type is TEXT else PLAIN_VALUES[attribute.type.name](number + 1)


def plain_attributes(relation: Relation) -> Iterator[Attribute]:
    """Yield the columns of a payload without a generated default that are no references."""
    references = {key.column for key in relation.foreign_keys}
    for attribute in relation.attributes.values():
        if attribute.default is None and not attribute.info.service and attribute.name not in references:
            yield attribute


def existing_row(table: str) -> Row:
    """Return a row of the data set, the last of its table. Without one, return a row of examples with unknown keys."""
    relation = catalog().relations[table]
    rows = json.loads(DATASET.read_text()).get(table)
    if rows:
        return {name: rows[-1][name] for name in relation.attributes if name in rows[-1]}
    if table in FROZEN:
        return FROZEN[table][0](1, 1, 1)
    row = {each.name: plain_value(relation, each, 1) for each in plain_attributes(relation)}
    for name in (*relation.key, *(key.column for key in relation.foreign_keys)):
        row.setdefault(name, PLAIN_VALUES[relation.attributes[name].type.name](1))
    return row


def key_filter(table: str, row: Row) -> str:
    return "&".join(f"{name}=eq.{quote(str(row[name]))}" for name in catalog().relations[table].key)


def row_changes(table: str, row: Row, without: tuple[str, ...] = ()) -> Row:
    """Return the smallest valid change of a row: a new value of its first plain column that is no key."""
    relation = catalog().relations[table]
    if table in FROZEN:
        return {"withdrawn_note": "other"}
    fixed = (*PROTECTED, *relation.key, *without)
    references = {key.column for key in relation.foreign_keys}
    for attribute in relation.attributes.values():
        is_fixed = attribute.info.service or attribute.info.insert_only or len(attribute.info.allowed_values) == 1
        if not is_fixed and attribute.name not in (*fixed, *references):
            return {attribute.name: other_value(relation, attribute, 500)}
    raise AssertionError(f"{table} has no plain column")


WRITTEN_BY_SERVICE = {
    "inspection_plans": ("schedules", "schedule_id", "id"),
    "finding_events": ("findings", "finding_id", "id"),
}
"""By table: the table whose new row creates a row of it, its column that refers to that row, and the column there."""


RANGES = (("negative_below", "positive_from"), ("check_low", "check_high"))
"""Columns of which the first is at most the second."""


class RowFactory:
    """Creates rows of one client as a super admin. The rows that they refer to are created first."""

    numbers = count(100)

    def __init__(self, api: Callable, client_id: int = 1) -> None:
        self.root = api("root")
        self.client_id = client_id
        self.shared: dict[str, Row] = {}

    def body(self, table: str, **values: object) -> Row:
        """Return a new row without the columns that have a default."""
        relation, number = catalog().relations[table], next(self.numbers)
        row = {each.name: plain_value(relation, each, number) for each in plain_attributes(relation)}
        for key in relation.foreign_keys:
            column = relation.attributes[key.column]
            if column.name in values or column.info.service:
                continue
            if column.default is ColumnDefault.CALLER_ID:
                row[column.name] = None
            else:
                row[column.name] = self.parent(relation, column.name, key.referred)[key.referred_column]
        if table == "xrf_limits":
            row["gun_id"] = self.row("xrf_instruments")["gun_id"]
        for name in ("confirms_id", "hold_reason"):  # a reading of the same visit; a held building keeps its rows
            row.pop(name, None)
        for low, high in RANGES:
            if low in row and low in values:
                row[high] = max(row[high], min(values[low], 100 if low == "negative_below" else 50))
            if high in row and high in values:
                row[low] = min(row[low], max(values[high], 0))
        return {**row, **values}

    def parent(self, relation: Relation, column: str, referred: str) -> Row:
        """Return the row that a column refers to: the shared one, or a new one where the column has to be unique."""
        grant = relation.model.grant
        if grant is not None and column == grant.grantee:
            return self.create(referred, role=grant.role)
        is_unique = referred != "clients" and in_unique_constraint(relation, column)
        return self.create(referred) if is_unique else self.row(referred)

    def create(self, table: str, **values: object) -> Row:
        """Create a row and return it.

        The service writes some tables: a new row of their parent creates theirs.
        """
        if table == "files":
            return self.create_file("inspections")
        if table in FROZEN:
            return self.create_frozen(table, **values)
        if table in WRITTEN_BY_SERVICE:
            parent, column, source = WRITTEN_BY_SERVICE[table]
            made = self.create(parent)
            return self.root.get(f"/{table}?{column}=eq.{made[source]}").json[0]
        made = self.root.post(f"/{table}", self.body(table, **values), prefer="return=representation")
        assert made.status == 201, made.text
        [row] = made.json
        return row

    def create_file(self, bucket: str) -> Row:
        app = self.root.database.app_for("POST", "/")
        files = Files(lambda who: self.root, app.extensions["walkthrough.files"], "root")
        made = files.put(f"{bucket}/{self.create(bucket)['id']}/{next(self.numbers)}.jpg")
        return self.root.get(f"/files?id=eq.{made.id}").json[0]

    def create_frozen(self, table: str, **values: object) -> Row:
        """Insert an issued report or a letter of the caller."""
        row_of, parent = FROZEN[table]
        people = dict.fromkeys({"issued_by", "withdrawn_by"} & {*catalog().relations[table].attributes}, ROOT)
        row = row_of(next(self.numbers), self.row(parent)["id"], self.client_id, **{**people, **values})
        insert(self.root.database.app_for("POST", "/"), ROOT, table, [row])
        return self.root.get(f"/{table}?id=eq.{row['id']}").json[0]

    def refer(self, table: str, row: Row, column: str, key: object) -> None:
        """Make a row refer to another one. The service itself changes the tables that it writes."""
        if catalog().relations[table].model.written_by_service and table != "files":
            update(self.root.database.app_for("POST", "/"), ROOT, table, row["id"], {column: key})
        else:
            assert self.root.patch(f"/{table}?{key_filter(table, row)}", {column: key}).status == 204

    def row(self, table: str) -> Row:
        """Return a row of the client, the same at each call. It is created at the first one."""
        if table not in self.shared:
            found = self.root.get(f"/clients?id=eq.{self.client_id}").json if table == "clients" else []
            self.shared[table] = found[0] if found else self.create(table)
        return self.shared[table]
