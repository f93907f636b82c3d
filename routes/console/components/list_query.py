"""A list's URL: the dialect's own parameters, read back into the form that made them.

A form cannot write `date_visited=gte.2026-01-01`, so it sends `from=` and the like together with `find=`,
and is sent on to the address in the dialect, which is what is bookmarked, sorted and paged. Knows no Flask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from urllib.parse import quote
from urllib.parse import urlencode

from models.errors import Fault
from models.types import read_date
from routes.postgrest.limits import parse_bigint

PAGE_ROWS = 50
SEARCH_CHARACTERS_MAX = 100
OWN = ("select", "limit", "offset", "order", "find", "done", "seal", "columns", "on_conflict")
WORD = re.compile(r'\.ilike\."\*((?:[^"\\]|\\.)*)\*"')
COSTLY = re.compile(r"(?:^|[.,(])(?:i?like|i?match)[.(]")  # operators that look into every row
LINE_ENDS = re.compile(r"[\r\n]")
SOUGHT = "sought"  # the embed through which a word is looked for
SAFE = '*,.():"!'

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the console: which relation, which columns, how it is searched and sorted.

    `searched` are text columns; `searched_embed` a column of a to-one embed that is searched as well, and
    `searched_key` the column that names that embed's row. `equals` are columns with the filters that a
    field of their name offers, `ranges` columns with the fields of their first and last day.
    """

    relation: str
    select: str
    order: str
    searched: tuple[str, ...]
    searched_embed: tuple[str, str] | None = None
    searched_key: str = ""
    equals: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    page: str = ""

    @property
    def path(self) -> str:
        return f"/console/{self.page or self.relation}"

    def field_of(self, name: str, value: str) -> tuple[str, str] | None:
        """The field that shows exactly this filter, and what stands in it then."""
        if value in self.equals.get(name, ()):
            return name, value
        operator, date = value[:4], value[4:]
        if name in self.ranges and operator in ("gte.", "lte.") and is_date(date):
            return self.ranges[name][operator == "lte."], date
        return None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an address asks of a list."""

    listing: Listing
    filters: Pairs
    order: str
    offset: int

    @property
    def is_searched(self) -> bool:
        return any(COSTLY.search(value) for _, value in self.filters)

    @property
    def is_embed_searched(self) -> bool:
        return any(f"{SOUGHT}." in text for pair in self.filters for text in pair)

    def text(self) -> str:
        """The query string that the engine is asked with."""
        select = self.listing.select
        if self.listing.searched_embed is not None and self.is_embed_searched:
            # An embed of its own, without columns: the one that is shown is not filtered by the word.
            select += f",{SOUGHT}:{self.listing.searched_embed[0]}()"
        pairs = [("select", select), *self.filters, ("order", self.total_order())]
        return urlencode(pairs, safe=SAFE, quote_via=quote)

    def total_order(self) -> str:
        """The order, with the key as its last word, so that pages neither repeat nor lose a row."""
        named = {term.split(".")[0] for term in self.order.split(",")}
        return self.order if "id" in named else f"{self.order},id.desc"

    def url(self, **changes: str | int) -> str:
        """The same list in another order, or from another row on."""
        pairs = [*self.filters]
        order = str(changes.get("order", self.order))
        offset = changes.get("offset", 0)
        if order != self.listing.order:
            pairs.append(("order", order))
        if offset:
            pairs.append(("offset", str(offset)))
        query = urlencode(pairs, safe=SAFE, quote_via=quote)
        return f"{self.listing.path}?{query}" if query else self.listing.path

    def narrowed_url(self, *filters: tuple[str, str]) -> str:
        """The same list with more filters, from its beginning."""
        return Wanted(self.listing, (*self.filters, *filters), self.order, 0).url()

    def filters_by(self, column: str) -> bool:
        return any(name == column for name, _ in self.filters)

    def csv_url(self) -> str:
        return self.url().replace(self.listing.path, f"{self.listing.path}.csv", 1)

    def api_url(self) -> str:
        return f"/{self.listing.relation}?{self.text()}"

    def sorted_by(self, column: str) -> str:
        """ascending, descending or none: what a column's heading says of itself."""
        first, _, rest = self.order.split(",")[0].partition(".")
        if first != column:
            return "none"
        return "descending" if rest.startswith("desc") else "ascending"

    def sort_url(self, column: str) -> str:
        upward = self.sorted_by(column) == "descending"
        return self.url(order=f"{column}.asc" if upward else f"{column}.desc")

    def typed(self) -> dict[str, str]:
        """What the form would hold that made this address."""
        return self.divided()[0]

    def others(self) -> list[tuple[str, str]]:
        """Filters that no field of the form stands for: they are said in words and kept."""
        return self.divided()[1]

    def divided(self) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """The filters one by one: in the field that shows exactly this one, or among the others. So is
        the second of two that one field would show."""
        word, made = self.word()
        typed = {"q": word} if word else {}
        others: list[tuple[str, str]] = []
        for pair in self.filters:
            shown = self.listing.field_of(*pair)
            if pair in made:
                made.remove(pair)
            elif shown is not None and shown[0] not in typed:
                typed[shown[0]] = shown[1]
            else:
                others.append(pair)
        return typed, others

    def word(self) -> tuple[str, list[tuple[str, str]]]:
        """The word that was looked for, with the filters that looking for it makes: all of those are here."""
        for _, value in self.filters:
            found = WORD.search(value)
            word = re.sub(r"\\(.)", r"\1", found[1]) if found is not None else ""
            made = search(self.listing, word)
            if word and typed_word(word) == word and all(pair in self.filters for pair in made):
                return word, made
        return "", []


def wanted(listing: Listing, pairs: Sequence[tuple[str, str | None]]) -> Wanted:
    """What the pairs of a query string ask; an empty value asks nothing."""
    said = [(name, value) for name, value in pairs if value]
    filters = tuple(pair for pair in said if pair[0] not in OWN)
    given = dict(said)
    offset = given.get("offset", "0")
    offset_rows = parse_bigint(offset) if offset.isascii() and offset.isdigit() else 0
    return Wanted(listing, filters, given.get("order", listing.order), offset_rows)


def in_dialect(listing: Listing, form: Mapping[str, str], kept: Iterable[str] = ()) -> str:
    """The address that a list's form asks for; `kept` are filters that none of its fields shows, each as
    `name=value`."""
    spelled = [(name, "", name) for name in listing.equals]
    for name, (first, last) in listing.ranges.items():
        spelled += [(name, "gte.", first), (name, "lte.", last)]
    said = ((name, before, form.get(key, "").strip()) for name, before, key in spelled)
    pairs = [(name, before + value) for name, before, value in said if value]
    if word := typed_word(form.get("q", "")):
        pairs += search(listing, word)
    others = (text.partition("=") for text in kept)
    pairs += [(name, value) for name, _, value in others if value and name not in OWN]
    return Wanted(listing, tuple(pairs), form.get("order") or listing.order, 0).url()


def typed_word(text: str) -> str:
    """The word that is looked for when this was typed: in one line, as a field has it, and not too long."""
    return LINE_ENDS.sub("", text).strip()[:SEARCH_CHARACTERS_MAX].rstrip()


def is_date(text: str) -> bool:
    """Whether a field for dates can show this.

    >>> is_date("2026-02-28"), is_date("2026-02-30"), is_date("2026-02-28T10:00"), is_date("today")
    (True, False, False, False)
    """
    try:
        return read_date(text) == text
    except Fault:
        return False


def search(listing: Listing, word: str) -> list[tuple[str, str]]:
    """A word in any of the searched columns.

    >>> search(Listing("inspectors", "id", "name.asc", ("name", "email")), 'a "b"')
    [('or', '(name.ilike."*a \\\\"b\\\\"*",email.ilike."*a \\\\"b\\\\"*")')]
    """
    quoted = word.replace("\\", "\\\\").replace('"', '\\"')
    arms = [f'{column}.ilike."*{quoted}*"' for column in listing.searched]
    pairs: list[tuple[str, str]] = []
    if listing.searched_embed is not None:
        arms.append(f"{SOUGHT}.not.is.null")
        pairs.append((f"{SOUGHT}.{listing.searched_embed[1]}", f"ilike.*{word}*"))
    return [("or", f"({','.join(arms)})"), *pairs]
