"""Hypothesis strategies for requests. They generate the same grammar as the generators, and can shrink a failure."""

from hypothesis import strategies as st

from tests.safety.read_generator import CASTS, EMBEDS
from tests.support.columns import COLUMNS, MODELLED_TABLES

tables = st.sampled_from(MODELLED_TABLES)
names = st.one_of(
    st.sampled_from(sorted({column for columns in COLUMNS.values() for column in columns})),
    st.sampled_from(("nope", "password_hash", "rowid", "Id", "na me", '"name"', "naïve", "*")),
)
casts = st.sampled_from(("", "", "", "::text", *(f"::{c}" for each in CASTS.values() for c in each)))
aggregates = st.sampled_from(("", "", "", "", ".count()", ".sum()", ".max()", ".avg()::int"))
aliases = st.sampled_from(("", "", "", "a:", "b:", '"q:r":'))
plain_values = st.one_of(
    st.integers(-5, 10_000_000_000_000_000_000_000).map(str),
    st.floats().map(repr),
    st.text(max_size=12),
    st.sampled_from(("", "null", "true", "2025-02-30", "2025-05-05T09:30:15+02:00", "*a*", "(a|b)*", "[x]")),
    st.uuids().map(str),
)
operators = st.sampled_from(
    [
        "eq",
        "neq",
        "gt",
        "gte",
        "lt",
        "lte",
        "like",
        "ilike",
        "match",
        "imatch",
        "is",
        "isdistinct",
        "in",
        "cs",
        "cd",
        "ov",
        "fts",
        "like(any)",
        "eq(all)",
        "nope",
    ]
)

items = st.builds("{}{}{}{}".format, aliases, names, aggregates, casts)
embed_targets = st.sampled_from(
    sorted(
        {relationship[0] for relationships in EMBEDS.values() for relationship in relationships}
        | {"nope", "sqlite_master", "users!nope"}
    )
)
joins = st.sampled_from(("", "", "!inner", "!left"))


def embedding(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    listed = st.lists(inner, max_size=4).map(",".join)
    embed = st.builds("{}{}{}({})".format, st.sampled_from(("", "", "x:", "...")), embed_targets, joins, listed)
    return st.one_of(items, embed)


selects = st.lists(st.recursive(items, embedding, max_leaves=8), max_size=4).map(",".join)


def listed(value: str) -> str:
    return f"({value},{value})"


operations = st.one_of(
    st.builds("{}.{}".format, operators, plain_values),
    st.builds("not.{}.{}".format, operators, plain_values),
    plain_values.map(lambda value: f"in.{listed(value)}"),
    plain_values.map(lambda value: f"eq(any).{{{value}}}"),
    st.sampled_from(("is.null", "is.true", "not.is.not_null", "is.nope", "", "eq", "not.", "not.not.eq.1")),
)
conditions = st.builds("{}.{}".format, names, operations)
trees = st.recursive(
    conditions,
    lambda inner: st.builds(
        "{}({})".format, st.sampled_from(("and", "or", "not.and", "not.or")), st.lists(inner, max_size=3).map(",".join)
    ),
    max_leaves=6,
)
paths = st.sampled_from(("", "", "", "buildings.", "inspections.", "x.", "inspections.buildings."))
parameters = st.one_of(
    st.builds("select={}".format, selects),
    st.builds("{}{}={}".format, paths, names, operations),
    st.builds("{}{}=({})".format, paths, st.sampled_from(("and", "or", "not.or")),
              st.lists(trees, max_size=3).map(",".join)),
    st.builds("{}order={}{}".format, paths, names,
              st.sampled_from(("", ".asc", ".desc.nullslast", ".nope", ",", "(x).desc"))),
    st.builds("{}{}={}".format, paths, st.sampled_from(("limit", "offset")),
              st.sampled_from(("0", "1", "-1", "abc", "1e3", "9223372036854775807", "99999999999999999999"))),
    st.builds("{}={}".format, st.sampled_from(("columns", "on_conflict")), st.lists(names, max_size=3).map(",".join)),
)  # fmt: skip
queries = st.lists(parameters, max_size=5).map(lambda parts: "&".join(parts).encode("utf-8", "replace"))

headers = st.fixed_dictionaries(
    {},
    optional={
        "prefer": st.lists(
            st.sampled_from(
                (
                    "return=representation", "return=minimal", "return=headers-only", "count=exact", "count=nope",
                    "tx=rollback", "resolution=merge-duplicates", "resolution=ignore-duplicates", "missing=default",
                    "handling=strict", "handling=lenient", "max-affected=1", "max-affected=x", "timezone=Asia/Tokyo",
                    "timezone=nope", "", "=", "return=,",
                )
            ),
            max_size=4,
        ).map(", ".join),
        "accept": st.sampled_from(
            (
                "text/csv", "application/json", "application/vnd.pgrst.object+json",
                "application/vnd.pgrst.array+json;nulls=stripped", "text/html", "*/*;q=0", "nope", "",
                "application/vnd.pgrst.plan+json",
            )
        ),
        "range": st.sampled_from(("0-1", "1-0", "5-", "-5", "a-b", "0-99999999999999999999", "bytes=0-1")),
        "content_profile": st.sampled_from(("public", "private")),
        "content_type": st.sampled_from(
            ("application/json", "text/csv", "text/plain", "application/json; charset=latin-1", "multipart/form-data",
             "")
        ),
    },
)  # fmt: skip

json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**65), 2**65),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(("2025-05-05", "1", "\x00", "\ud800", "client_manager", "a@b.example")),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
payload_rows = st.dictionaries(names, json_values, max_size=5)
payloads = st.one_of(payload_rows, st.lists(payload_rows, max_size=3), json_values)
