"""The console's view of a table, derived from its model (models/fields.py) and its presentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from access import policy
from access.caller import Caller
from access.roles import GrantProfile, Role
from engine.query.catalog import Attribute, ForeignKey, Relation, catalog
from engine.query.statement import Action
from models.fields import ColumnDefault, Model, parents_of
from models.types import BIGINT, DATE, TIMESTAMP, Fault
from routes.console.components.list_query import Pairs, Part
from routes.console.components.template_filters import isolated, name, words
from routes.console.session.urls import console_url
from routes.http.faults import UnknownPath

Row = dict[str, Any]
Section = tuple[str, Mapping[str, object]]
"""A template of a part of a row's page, and its values."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """How every page shows a table's rows where the model does not say it. Views have what one page needs."""

    path: str = ""
    """The part of the URL. It defaults to the table's name."""
    parts: Callable[[Pairs], Sequence[Part]] = field(default=lambda filters: ())
    """Returns the parts of the list from its filters, if its rows are not in one order."""
    first_view: str = ""
    """The query string of the list that the navigation opens."""
    allowed: Callable[[Role], bool] = field(default=lambda role: True)
    """Whether a role with the privilege to read may open the pages."""
    in_navigation: bool | None = None
    """Whether the navigation has a link to the list. By default it has, unless the rows are `part_of` another row."""
    part_of: str = ""
    """The reference to the row whose page appears after a change, with links to edit and delete the rows."""
    related_by: tuple[str, ...] | None = None
    """The references whose rows' pages list the rows that refer to them. By default all."""
    related: Callable[[Caller, str, Row], bool] | None = None
    """Whether the page of a row lists the rows that refer to it by this column, if that depends on the row."""
    title: Callable[[Row], str] | None = None
    """A row's name on every page, as an isolated text. `title_columns` are the columns that it needs."""
    title_columns: tuple[str, ...] = ()
    title_references: tuple[str, ...] = ()
    """References to rows whose titles the title needs."""
    title_embeds: tuple[str, ...] = ()
    """Rows that refer to the row and that the title needs, as in `select=`."""
    row_links: Callable[[Row, str], list[tuple[str, str]]] = field(default=lambda row, url: [])
    """Further links of a row in the list of the row that it is part of, from the URL of the row."""
    describe: Callable[[Row], str] | None = None
    """A row in the middle of a sentence."""
    badges: tuple[str, ...] = ()
    """Columns that the list shows as badges, and the page beside its heading."""
    prepare: Callable[[Caller, list[Row]], None] = field(default=lambda caller, rows: None)
    """Adds values to rows before they are shown."""
    orders: Mapping[str, str] = field(default_factory=dict)
    """By reference: the order of the list by it, if that is not by the title of its row."""
    cells: Mapping[str, Callable[[Row], tuple[str, str]]] = field(default_factory=dict)
    """By column: the text and the URL of a row's value."""
    states: Mapping[str, Callable[[Row], tuple[str, str]]] = field(default_factory=dict)
    """By column: the text and the badge of a row's value."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """By column: the heading of the list, if that is not the label of the column."""
    printed: Mapping[str, Callable[[Row], str]] = field(default_factory=dict)
    """By column of `cells`: what paper shows after a row's text, or an empty text."""
    hidden: tuple[str, ...] = ()
    """Columns that the page leaves to a section."""
    slim: str = ""
    """The column that a telephone shows below the first. It defaults to the first that it leaves out."""
    has_own_forms: bool = False
    """The table's module has the forms that create and edit rows."""
    without_field: tuple[str, ...] = ()
    """Columns that have no field in forms."""
    choice_columns: tuple[str, ...] = ()
    """Columns that tell rows of one title apart in a choice."""


PRESENTATIONS: dict[str, Presentation] = {}
DEFAULT_PRESENTATION = Presentation()


@dataclass(frozen=True)
class Table:
    """A table of the registry with its pages."""

    relation: Relation
    presentation: Presentation

    @cached_property
    def name(self) -> str:
        return self.relation.name

    @cached_property
    def model(self) -> type[Model]:
        return self.relation.model

    @cached_property
    def label(self) -> str:
        """The singular, such as "Audit entry"."""
        spaced = "".join(f" {each}" if each.isupper() else each for each in self.model.__name__)
        return self.model.label or words(spaced.strip().lower())

    @cached_property
    def noun(self) -> str:
        is_acronym = self.label[1:2].isupper()
        return self.label if is_acronym else self.label[:1].lower() + self.label[1:]

    @cached_property
    def plural(self) -> str:
        return self.model.plural or words(self.name)

    @cached_property
    def nouns(self) -> str:
        """The plural in the middle of a sentence. An acronym keeps its capitals."""
        return self.plural if self.plural[1:2].isupper() else self.plural[:1].lower() + self.plural[1:]

    @cached_property
    def purpose(self) -> str:
        """What a row is, in a sentence."""
        return f"{(self.model.__doc__ or '').partition('. ')[0].strip().rstrip('.')}."

    @cached_property
    def path(self) -> str:
        return f"/{self.presentation.path or self.name}"

    @cached_property
    def title_column(self) -> str:
        by_default = "name" if "name" in self.relation.attributes else self.relation.key[0]
        return self.model.title_column or by_default

    @cached_property
    def title_attribute(self) -> Attribute:
        return self.relation.attributes[self.title_column]

    @cached_property
    def title_columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.relation.key, self.title_column, *self.presentation.title_columns)))

    @cached_property
    def order(self) -> str:
        return self.model.list_order or f"{self.title_column}.asc"

    @cached_property
    def has_number(self) -> bool:
        """Whether the key is one number."""
        return len(self.relation.key) == 1 and self.relation.attributes[self.relation.key[0]].type is BIGINT

    @cached_property
    def references(self) -> dict[str, RowReference]:
        """The references of the table's columns, by column."""
        referred = [each.referred for each in self.relation.foreign_keys]
        return {
            each.column: RowReference(each, is_only=referred.count(each.referred) == 1)
            for each in self.relation.foreign_keys
        }

    @cached_property
    def parent(self) -> RowReference | None:
        """The reference to the row that determines the client, if the table has no client of its own."""
        return self.references.get(self.model.tenant or "") if parents_of(self.model) else None

    def listed(self, caller: Caller) -> list[Attribute]:
        """Return the columns of the list, the title first. A user of one client needs no column of the client."""
        leaves_out = self.model.tenant if caller.client_id is not None and self.parent is None else None
        columns = [each for each in self.relation.attributes.values() if each.info.listed and each.name != leaves_out]
        columns.sort(key=lambda each: each.name != self.title_column)
        return columns

    def listed_references(self, caller: Caller) -> list[RowReference]:
        """Return the references of the list's columns to tables that the caller has the privilege to read."""
        references = [self.references[each.name] for each in self.listed(caller) if each.name in self.references]
        return [each for each in references if policy.permits(caller.profile, Action.READ, each.table.model)]

    def narrow(self, columns: Sequence[Attribute]) -> set[str]:
        """Return the names of the columns that a telephone shows."""
        marked = {each.name for each in columns if each.info.narrow}
        if len(self.relation.key) > 1:
            return {*self.relation.key}
        first = columns[:2] if self.title_column in self.references else columns[:3]
        return {self.title_column} | (marked or {each.name for each in first})

    def select(self, columns: str) -> str:
        """Return `select=` for these columns, the title columns and the referred rows."""
        embeds = [each.select() for each in self.references.values()]
        return ",".join((columns, *embeds, *self.presentation.title_embeds))

    @cached_property
    def shown_columns(self) -> tuple[str, ...]:
        """The columns that pages and files have. The large ones that the audit log leaves out are not among them."""
        return tuple(each.name for each in self.relation.attributes.values() if each.info.logged)

    @property
    def page_select(self) -> str:
        """Return `select=` for the page of a row."""
        return self.select(",".join(self.shown_columns))

    @property
    def title_select(self) -> str:
        """Return the columns and embeds that the title of a row needs."""
        embeds = [self.references[each].select() for each in self.presentation.title_references]
        return ",".join((*self.title_columns, *embeds, *self.presentation.title_embeds))

    def list_select(self, caller: Caller) -> str:
        """Return `select=` for the columns of the list."""
        columns = (*self.title_columns, *(each.name for each in self.listed(caller)))
        return self.select(",".join(dict.fromkeys(columns)))

    def permits(self, caller: Caller, action: Action) -> bool:
        """Return whether the caller has the privilege and may open the pages."""
        return self.permits_profile(caller.profile, action)

    def permits_profile(self, profile: GrantProfile, action: Action) -> bool:
        return self.presentation.allowed(profile.role) and policy.permits(profile, action, self.model)

    @property
    def writable(self) -> set[str]:
        """The columns of the forms. Databases generate numbers and times."""
        return {
            each.name
            for each in self.relation.attributes.values()
            if (each.default is None or (each.default is ColumnDefault.COMPUTED and not each.required))
            and not each.info.service
            and each.name not in self.presentation.without_field
        }

    @property
    def choice_select(self) -> str:
        return ",".join((self.title_select, *self.presentation.choice_columns))

    def choice_query(self) -> str:
        """Return the query string of the rows to choose from."""
        order = ",".join(
            (self.choice_order, *(f"{each}.desc" if self.is_dated else each for each in self.relation.key))
        )
        return f"select={self.choice_select}&order={order}"

    @property
    def is_dated(self) -> bool:
        """Whether the rows have a date in the place of a title."""
        return self.title_attribute.type in (DATE, TIMESTAMP)

    @property
    def choice_order(self) -> str:
        """The order of rows to choose from: by title, or the newest first and those without a date last."""
        return f"{self.title_column}.{'desc.nullslast' if self.is_dated else 'asc'}"

    def choice_label(self, row: Row) -> str:
        """Return the label of a row to choose."""
        return ", ".join(
            (self.title(row), *(isolated(str(row[each])) for each in self.presentation.choice_columns if row[each]))
        )

    def numbered_label(self, row: Row) -> str:
        return f"{self.choice_label(row)}, number {self.key_text(row)}"

    def choice_labels(self, rows: Sequence[Row]) -> list[str]:
        """Return the labels of rows to choose. Rows of one title have their address or number, too."""
        labels = [self.title(row) if self.has_number else self.choice_label(row) for row in rows]
        for longer in (self.choice_label, self.numbered_label):
            counts = Counter(labels)
            labels = [longer(row) if counts[label] > 1 else label for row, label in zip(rows, labels, strict=True)]
        return labels

    # Rows

    def key_titles(self, row: Row) -> list[str]:
        """Return the titles of the rows that a key of several columns names, as far as the row has them."""
        keys = [self.references[each] for each in self.relation.key if each in self.references]
        return [each.table.title(row[each.embed]) for each in keys if row.get(each.embed)]

    def describe(self, row: Row) -> str:
        """Return a row in the middle of a sentence."""
        if self.presentation.describe is not None:
            return self.presentation.describe(row)
        title = self.title(row)
        is_number = self.presentation.title is None and self.title_column in self.relation.key
        return title[:1].lower() + title[1:] if is_number else title

    def key_text(self, row: Row) -> str:
        return ",".join(str(row[each]) for each in self.relation.key)

    def row_path(self, row: Row, home: str = "") -> str:
        """Return the path of a row's page, below that of the console, or its URL if `home` is the URL of the list."""
        return f"{home or self.path}/{quote(self.key_text(row))}"

    def url(self, row: Row) -> str:
        return console_url(self.row_path(row))

    def home(self, row: Mapping[str, object], key: object = "") -> str:
        """Return the path of the page of the row that a row is part of, of the row itself, or of the list."""
        whole = self.references.get(self.presentation.part_of)
        if whole is not None and row.get(whole.column):
            if whole.key.referred_column not in whole.table.relation.key:
                return f"{self.path}?{whole.column}=eq.{row[whole.column]}"
            return f"{whole.table.path}/{row[whole.column]}"
        return f"{self.path}/{key}" if key else self.path

    def filters(self, key: object) -> str:
        """Return the query string of the row with this key; raise UnknownPath if the text is not a key."""
        texts = str(key).split(",", len(self.relation.key) - 1) if len(self.relation.key) > 1 else [str(key)]
        if len(texts) != len(self.relation.key):
            raise UnknownPath
        pairs = zip(self.relation.key, texts, strict=True)
        if self.has_number:
            return f"{self.relation.key[0]}=eq.{key}"
        try:
            values = [(name, self.relation.attributes[name].type.read_text(text)) for name, text in pairs]
        except Fault as fault:
            raise UnknownPath from fault
        return "&".join(f"{name}=eq.{quote(str(value))}" for name, value in values)

    def title(self, row: Row) -> str:
        """Return the name of a row in headings, links and messages."""
        if self.presentation.title is not None:
            return self.presentation.title(row)
        if len(self.relation.key) > 1 and (titles := self.key_titles(row)):
            return ", ".join(titles)
        if self.title_column in self.relation.key or row[self.title_column] is None:
            return f"{self.label} {self.key_text(row)}"
        info, value = self.title_attribute.info, row[self.title_column]
        return words(value) if value in (info.allowed_values or info.common_values) else name(value)


@dataclass(frozen=True)
class RowReference:
    """A column that refers to a row of a table. `is_only`: no other column refers to the table."""

    key: ForeignKey
    is_only: bool

    @property
    def column(self) -> str:
        return self.key.column

    @property
    def table(self) -> Table:
        return table_of(self.key.referred)

    @property
    def embed(self) -> str:
        """The name of the referred row in a row of the table."""
        return self.key.referred if self.is_only else f"{self.column}_row"

    @property
    def source(self) -> str:
        """The referred relation as `select` names it."""
        return self.key.referred if self.is_only else f"{self.key.referred}!{self.key.name}"

    def select(self) -> str:
        alias = "" if self.is_only else f"{self.embed}:"
        return f"{alias}{self.source}({self.table.title_select})"


TABLES: dict[str, Table] = {}
"""The tables by name, with what is computed once for each."""


def table_of(name: str) -> Table:
    relation, presentation = catalog().relations[name], PRESENTATIONS.get(name, DEFAULT_PRESENTATION)
    table = TABLES.get(name)
    if table is None or table.relation is not relation or table.presentation is not presentation:
        table = TABLES[name] = Table(relation, presentation)
    return table


def all_tables() -> list[Table]:
    """Return the tables of the registry in its order."""
    return [table_of(name) for name in catalog().relations]


def referring(table: Table) -> list[tuple[Table, ForeignKey]]:
    """Return the tables with a reference to a table, and the reference."""
    return [(each, key) for each in all_tables() for key in each.relation.foreign_keys if key.referred == table.name]
