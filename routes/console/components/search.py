"""Find the rows of a list with a search word.

In the list's order, an index scan would read every row and its embed in random order. Instead, find the matching rows
of the embed first, then the ids of the matching rows in storage order. If there are few ids, select the rows by id.
Each step is a query of the dialect. This module does not use Flask.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote, urlencode

from access.caller import Caller
from routes.console.components import queries
from routes.console.components.list_query import SAFE, SEARCH_EMBED, ListQuery
from routes.console.components.queries import QueryResult

KEYS_MAX = 1_000  # with more matches, a scan in the list's order finds a page soon
EMBEDDED_KEYS_MAX = 500
EMBED_DISJUNCT = f",{SEARCH_EMBED}.not.is.null)"


def find_rows(caller: Caller, query: ListQuery, limit: int, *, total: bool = True) -> QueryResult:
    """Return the rows of a list from its offset on, and the total if it needs no full scan."""
    relation, offset = query.listing.relation, query.offset
    if not query.is_searched:
        return queries.select_rows(caller, relation, query.text(), limit=limit, offset=offset, total=total)
    query = by_embedded_key(caller, query)
    by_number = replace(query, order="id.desc").text()
    page = queries.first_page(caller, relation, by_number, KEYS_MAX)
    if page.has_more:
        return queries.select_rows(caller, relation, query.text(), limit=limit, offset=offset)
    keys = ",".join(str(row["id"]) for row in page.rows)
    by_key = replace(query, filters=(("id", f"in.({keys})"), *embed_filters(query))).text()
    return queries.select_rows(caller, relation, by_key, limit=limit, offset=offset, total=total)


def embed_filters(query: ListQuery) -> list[tuple[str, str]]:
    """Return the filters of the URL on embeds that the list shows."""
    paths = [(pair, pair[0].split(".")) for pair in query.filters]
    return [pair for pair, path in paths if len(path) > 1 and path[0] not in ("not", SEARCH_EMBED)]


def by_embedded_key(caller: Caller, query: ListQuery) -> ListQuery:
    """Return the query with the matching rows of the embed named by key, if they are few."""
    embed_conditions = [pair for pair in query.filters if pair[0].startswith(f"{SEARCH_EMBED}.")]
    embed = query.listing.searched_embed
    has_disjunct = [name for name, value in query.filters if value.endswith(EMBED_DISJUNCT)] == ["or"]
    if embed is None or not has_disjunct or [name for name, _ in embed_conditions] != [f"{SEARCH_EMBED}.{embed[1]}"]:
        return query
    relation, column = embed
    text = urlencode([("select", "id"), (column, embed_conditions[0][1])], safe=SAFE, quote_via=quote)
    rows = queries.select_rows(caller, relation, text, limit=EMBEDDED_KEYS_MAX + 1).rows
    if len(rows) > EMBEDDED_KEYS_MAX:
        return query
    keys = ",".join(str(row["id"]) for row in rows)
    disjunct = f",{query.listing.searched_key}.in.({keys}))" if rows else ")"
    filters = tuple(
        (name, value.removesuffix(EMBED_DISJUNCT) + disjunct if value.endswith(EMBED_DISJUNCT) else value)
        for name, value in query.filters
        if (name, value) not in embed_conditions
    )
    return replace(query, filters=filters)
