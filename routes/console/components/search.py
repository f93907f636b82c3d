"""How a list's rows are found where a word is looked for: exactly, and in less time than in the list's order.

In that order every row would be fetched through an index, from all over the file, and its embed with it.
So the embed's rows are looked for first, then the numbers of the rows that match, in the order in which
they are stored; where those are few, they are the list. Every step is a query of the dialect. Knows no Flask.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote
from urllib.parse import urlencode

from access.caller import Caller
from routes.console.components import queries as engine
from routes.console.components.list_query import SAFE
from routes.console.components.list_query import SOUGHT
from routes.console.components.list_query import Wanted
from routes.console.components.queries import Found

KEYS_MAX = 1_000  # of a list that is found by its numbers; more are found soon in any order
EMBEDDED_KEYS_MAX = 500
SOUGHT_ARM = f",{SOUGHT}.not.is.null)"


def find(caller: Caller, asked: Wanted, limit: int, *, total: bool = True) -> Found:
    """The rows of a list from its offset on; the total, unless it takes looking at every row."""
    relation, offset = asked.listing.relation, asked.offset
    if not asked.is_searched:
        return engine.ask(caller, relation, asked.text(), limit=limit, offset=offset, total=total)
    asked = by_embedded_key(caller, asked)
    by_number = replace(asked, order="id.desc").text()
    found = engine.first(caller, relation, by_number, KEYS_MAX)
    if found.has_more:
        return engine.ask(caller, relation, asked.text(), limit=limit, offset=offset)
    keys = ",".join(str(row["id"]) for row in found.rows)
    named = replace(asked, filters=(("id", f"in.({keys})"), *of_embeds(asked))).text()
    return engine.ask(caller, relation, named, limit=limit, offset=offset, total=total)


def of_embeds(asked: Wanted) -> list[tuple[str, str]]:
    """What an address says of the embeds that are shown, and not of the rows."""
    paths = [(pair, pair[0].split(".")) for pair in asked.filters]
    return [pair for pair, path in paths if len(path) > 1 and path[0] not in ("not", SOUGHT)]


def by_embedded_key(caller: Caller, asked: Wanted) -> Wanted:
    """The same question, with the embed's rows that have the word named by their keys, if they are few."""
    sought = [pair for pair in asked.filters if pair[0].startswith(f"{SOUGHT}.")]
    embed = asked.listing.searched_embed
    has_arm = [name for name, value in asked.filters if value.endswith(SOUGHT_ARM)] == ["or"]
    if embed is None or not has_arm or [name for name, _ in sought] != [f"{SOUGHT}.{embed[1]}"]:
        return asked
    relation, column = embed
    named = urlencode([("select", "id"), (column, sought[0][1])], safe=SAFE, quote_via=quote)
    found = engine.ask(caller, relation, named, limit=EMBEDDED_KEYS_MAX + 1).rows
    if len(found) > EMBEDDED_KEYS_MAX:
        return asked
    keys = ",".join(str(row["id"]) for row in found)
    arm = f",{asked.listing.searched_key}.in.({keys}))" if found else ")"
    filters = tuple(
        (name, value.removesuffix(SOUGHT_ARM) + arm if value.endswith(SOUGHT_ARM) else value)
        for name, value in asked.filters
        if (name, value) not in sought
    )
    return replace(asked, filters=filters)
