"""The URL of a list: its search word, filters and order, and the values of the list's form.

A form cannot submit `date_visited=gte.2026-01-01`, so the URL accepts `from=` and similar fields too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from models.types import Fault, read_date
from routes.console.session.urls import console_url
from routes.http.middleware import url_path
from routes.postgrest.lexer import parse_bigint

PAGE_ROWS = 50
SEARCH_CHARACTERS_MAX = 100
TICKED = "ticked"  # the keys of the rows whose boxes are ticked
RESERVED_PARAMETERS = (TICKED, "select", "limit", "offset", "order", "q", "columns", "on_conflict")
EXACT_FIELD = "is_"  # the prefix of the field of a column whose value is typed
TITLE_FIELD = "has_"  # the prefix of the field that takes a part of the title of a referred row
SEARCH_EMBED = "sought"  # the beginning of the aliases of the embeds that a search filters
WORDS_MAX = 8  # of a search, which adds an embed for each word and reference; the last one holds the rest of the text
NUMBERED = re.compile(r"(?:.*, )?number ([0-9]{1,19})", re.DOTALL)
"""A row with its number, as a field suggests it."""
SAFE = '*,.():"!'
EMBED_PAGES = (".order", ".limit", ".offset")

Pairs = Sequence[tuple[str, str]]
IN_PARTS = "parts"  # the order of a list that consists of parts, each in an order of its own
Part = tuple[Pairs, str]
"""The filters and the order of a part of a list. No row is in two parts, and each row is in one."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The texts that a search looks into: columns of a relation, and the texts of its to-one embeds, by `select` name.

    The access rule of its own relation applies to each embed.
    """

    columns: tuple[str, ...] = ()
    embeds: Mapping[str, Searched] = field(default_factory=dict)

    def filters(self, pattern: str, alias: str, path: str = "") -> tuple[list[str], list[tuple[str, str]]]:
        """Return the embeds to select, and the filters that find a pattern in any of the texts.

        `alias` begins the aliases of the embeds, and `path` the names of the filters.
        """
        disjuncts = [f'{column}.ilike."{pattern}"' for column in self.columns]
        selects: list[str] = []
        pairs: list[tuple[str, str]] = []
        for place, (embed, texts) in enumerate(self.embeds.items()):
            name = f"{alias}{place}"
            inner, filters = texts.filters(pattern, f"{name}_", f"{path}{name}.")
            selects.append(f"{name}:{embed}({','.join(inner)})")
            disjuncts.append(f"{name}.not.is.null")
            pairs += filters
        return selects, [(f"{path}or", f"({','.join(disjuncts)})"), *pairs]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the console: its relation, columns, searched texts and order.

    `equals` maps columns to the filters of their select, with labels. `exact` are columns whose value is typed.
    `titles` maps columns of which a part is typed to the column of the row's number. `ranges` maps columns to
    the fields of their first and last day; `moments` are those of timestamps. `named` maps filters of the URL to the
    filters and the embeds (`select`) that they stand for. `newest_first` are the orders by date. `own_orders` are
    orders that the API does not have or that differ there. `parts` returns the parts of a list in the order IN_PARTS
    from its filters, and `order_in_api` is its order in the API.
    """

    relation: str
    select: str
    order: str
    searched: Searched = Searched()
    equals: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    exact: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    moments: frozenset[str] = frozenset()
    named: Mapping[tuple[str, str], Pairs] = field(default_factory=dict)
    newest_first: frozenset[str] = frozenset()
    own_orders: frozenset[str] = frozenset()
    parts: Callable[[Pairs], Sequence[Part]] = field(default=lambda filters: ())
    order_in_api: str = ""
    key: tuple[str, ...] = ("id",)
    page: str = ""

    @property
    def path(self) -> str:
        """The path of the list, below that of the console."""
        return self.page or f"/{self.relation}"

    def field_of(self, name: str, value: str) -> tuple[str, str] | None:
        """Return the form field that represents exactly this filter, and its value, or None."""
        if value in self.equals.get(name, ()):
            return name, value
        operator, _, text = value.partition(".")
        if name in self.exact and operator == "eq" and text.strip() == text:
            return EXACT_FIELD + name, text
        part = value.removeprefix("ilike.*").removesuffix("*")
        if name in self.titles and part.strip() == part != "" and value == f"ilike.*{part}*":
            return TITLE_FIELD + name, part
        titles = [title for title, column in self.titles.items() if column == name]
        if titles and operator == "eq" and text.isascii() and text.isdigit():
            return TITLE_FIELD + titles[0], f"number {text}"
        last = "lt" if name in self.moments else "lte"
        if name not in self.ranges or operator not in ("gte", last) or not is_date(text):
            return None
        if operator == "lt":
            text = shift_day(text, -1)
        return (self.ranges[name][operator != "gte"], text) if text else None

    def filter_of(self, name: str, value: str) -> tuple[str, str]:
        """Return the filter that a field of the form represents, or the filter itself."""
        value_text = value.strip()
        numbered = NUMBERED.fullmatch(value_text)
        if name.removeprefix(EXACT_FIELD) in self.exact and name.startswith(EXACT_FIELD):
            return name.removeprefix(EXACT_FIELD), f"eq.{numbered[1] if numbered else value_text}"
        if name.removeprefix(TITLE_FIELD) in self.titles and name.startswith(TITLE_FIELD):
            title = name.removeprefix(TITLE_FIELD)
            return (self.titles[title], f"eq.{numbered[1]}") if numbered else (title, f"ilike.*{value_text}*")
        for column, (first, last) in self.ranges.items():
            if name == first:
                return column, f"gte.{value}"
            if name == last:
                return column, f"lt.{shift_day(value, 1) or value}" if column in self.moments else f"lte.{value}"
        return name, value


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The filters, order, offset and search word of a list's URL."""

    listing: Listing
    filters: Pairs
    order: str
    offset: int
    word: str = ""

    def text(self) -> str:
        """Return the query string for the engine."""
        selects, search = self.search_filters()
        found = [each for pair in self.filters for each in self.listing.named.get(pair, (pair,))]
        filters = [each for each in found if each[0] != "select"]
        selects += [text for name, text in found if name == "select"]
        select = ("select", ",".join((self.listing.select, *selects)))
        pairs = [select, *search, *filters, *self.embed_conditions(), ("order", self.total_order())]
        return urlencode(pairs, safe=SAFE, quote_via=quote)

    def parts(self) -> list[str]:
        """Return the query string of each part of the list, in order."""
        parts = self.listing.parts(self.filters) if self.order == IN_PARTS else ()
        queries = [replace(self, filters=(*self.filters, *filters), order=order) for filters, order in parts]
        return [each.text() for each in queries or (self,)]

    def search_filters(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the embeds without columns, and the filters, of the search for each word.

        Each word has embeds of its own: the search must not filter the embeds that the list shows.
        """
        selects: list[str] = []
        pairs: list[tuple[str, str]] = []
        for number, word in enumerate(self.word.split(maxsplit=WORDS_MAX - 1)):
            embeds, filters = self.listing.searched.filters(word_pattern(word), f"{SEARCH_EMBED}{number}_")
            selects += embeds
            pairs += filters
        return selects, pairs

    def embed_conditions(self) -> list[tuple[str, str]]:
        """Return a condition for each embed with a filter: the list holds only rows that have such an embedded row."""
        embeds = [name.partition(".")[0] for name, _ in self.filters if "." in name and not name.endswith(EMBED_PAGES)]
        return [(each, "not.is.null") for each in dict.fromkeys(embeds) if each != "not"]

    def total_order(self) -> str:
        """Return the order with the key as the last term, so that pages neither repeat nor skip a row."""
        order = self.listing.order_in_api if self.order == IN_PARTS else self.order
        columns = {term.split(".")[0] for term in order.split(",")}
        return ",".join((order, *(f"{each}.desc" for each in self.listing.key if each not in columns)))

    def url(self, **changes: str | int) -> str:
        """Return the URL of the list with another order or offset."""
        return console_url(self.path(**changes))

    def path(self, **changes: str | int) -> str:
        """Return the path and query of the list, below the path of the console, with another order or offset."""
        pairs = [("q", self.word)] if self.word else []
        pairs += self.filters
        order = str(changes.get("order", self.order))
        offset = changes.get("offset", 0)
        if order != self.listing.order:
            pairs.append(("order", order))
        if offset:
            pairs.append(("offset", str(offset)))
        query = urlencode(pairs, safe=SAFE, quote_via=quote)
        return f"{self.listing.path}?{query}" if query else self.listing.path

    def narrowed_url(self, *filters: tuple[str, str]) -> str:
        """Return the URL of the list with more filters, from its first row."""
        return replace(self, filters=(*self.filters, *filters)).url()

    def filters_by(self, column: str) -> bool:
        return any(name == column for name, _ in self.filters)

    def csv_url(self, *filters: tuple[str, str]) -> str:
        """Return the URL of the CSV file, with more filters."""
        path = replace(self, filters=(*self.filters, *filters)).path()
        return console_url(path.replace(self.listing.path, f"{self.listing.path}.csv", 1))

    def api_url(self) -> str:
        is_own = self.order.partition(".")[0] in self.listing.own_orders
        query = replace(self, order=self.listing.order) if is_own else self
        return url_path(f"/{self.listing.relation}?{query.text()}")

    def sorted_by(self, column: str) -> str:
        """Return the `aria-sort` value of a column: ascending, descending or none."""
        first, _, rest = self.order.split(",")[0].partition(".")
        if first != column:
            return "none"
        return "descending" if rest.startswith("desc") else "ascending"

    def sort_url(self, column: str) -> str:
        """Return the URL of the other order of a column. Another column is ascending first, a date newest first."""
        shown = self.sorted_by(column)
        downward = column in self.listing.newest_first if shown == "none" else shown == "ascending"
        return self.url(order=f"{column}.desc" if downward else f"{column}.asc")

    def form_values(self) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return the form values, and the filters that no form field represents.

        If one field could represent two filters, it represents the first. The page shows the other filters, and the
        form keeps them.
        """
        typed = {"q": self.word} if self.word else {}
        unshown_filters: list[tuple[str, str]] = []
        for pair in self.filters:
            shown = self.listing.field_of(*pair)
            if shown is not None and shown[0] not in typed:
                typed[shown[0]] = shown[1]
            else:
                unshown_filters.append(pair)
        return typed, unshown_filters


def parse_list_query(listing: Listing, pairs: Sequence[tuple[str, str | None]]) -> ListQuery:
    """Return the query of the pairs of a URL. An empty value is ignored."""
    # Browsers submit line ends as CR LF.
    values = [(name, value.replace("\r\n", "\n")) for name, value in pairs if value and value.strip()]
    filters = tuple(listing.filter_of(*pair) for pair in values if pair[0] not in RESERVED_PARAMETERS)
    parameters = dict(values)
    offset = parameters.get("offset", "0")
    offset_rows = parse_bigint(offset) if offset.isascii() and offset.isdigit() else 0
    word = "".join(parameters.get("q", "").splitlines()).strip()[:SEARCH_CHARACTERS_MAX].rstrip()
    return ListQuery(listing, filters, parameters.get("order", listing.order), offset_rows, word)


def is_date(text: str) -> bool:
    """Return whether a date input can show this text.

    >>> is_date("2026-02-28"), is_date("2026-02-30"), is_date("2026-02-28T10:00"), is_date("today")
    (True, False, False, False)
    """
    try:
        return read_date(text) == text
    except Fault:
        return False


def shift_day(day: str, days: int) -> str:
    """Return the day that many days later, or an empty text if there is none.

    >>> shift_day("2026-02-28", 1), shift_day("0001-01-01", -1), shift_day("x", 1)
    ('2026-03-01', '', '')
    """
    try:
        return (datetime.date.fromisoformat(day) + datetime.timedelta(days)).isoformat()
    except (ValueError, OverflowError):
        return ""


def quote_pattern(text: str) -> str:
    """Return the pattern of a text for ilike in a URL.

    >>> quote_pattern("50% a*b")
    '50%5C%25%20a%5C%2Ab'
    """
    return quote(re.sub(r"([\\%_*])", r"\\\1", text), safe="")


def word_pattern(word: str) -> str:
    r"""Return the pattern of a word of a search, quoted for a list of filters. A `*` stands for any text.

    >>> print(word_pattern('"50%'), word_pattern("a*b"))
    *\"50\\%* *a*b*
    """
    pattern = re.sub(r"([\\%_])", r"\\\1", word)
    return "*{}*".format(pattern.replace("\\", "\\\\").replace('"', '\\"'))
