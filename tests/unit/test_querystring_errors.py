"""The query string parser: errors and limits."""

from __future__ import annotations

import contextlib

import pytest

from engine.query.shape import NotEmbedded, Query
from models.types import Fault
from routes.postgrest.lexer import LimitExceeded, Limits, MalformedArray, NegativeLimit, NumberOutOfRange, Unparsable
from routes.postgrest.payload import Undecodable
from routes.postgrest.querystring import parse
from tests.support.cpu_time import cpu_time
from tests.support.querystrings import parse_text, split_cells, tree

UNPARSABLE = [
    *(
        f"select={text}"
        for text in split_cells(
            "id,|id,,name|id, ,name|id)|id)x|id(|id,a(b|(|)|()|(id)|*id|id*|*::text|a:*|id::|"
            'id::"text"|id::varchar(10)|id::text::int|id.count|id.nope()|id.name|*.count()|a:b:id|'
            'a::b:id|"id"x|"|"id|-id|id-|name->|name->>|name->-|name->-x|name->a.b|name->a:b|...|'
            "...clients|...x:clients(name)|x:...clients(name)|clients(name)x|clients(name|"
            "clients(name))|clients!a!b!c(name)|clients!(name)|clients!left|count(*)|count(id)|"
            "count( )|x:count(id)|a->b(id)|a::text(id)|clients(*,)|clients(,)|clients(,id)|id%0a|"
            "id%c2%a0|²|#|id#|a/b|a=b|id[0]|id'|id`|id\";--|x]|id;x|x:|:x|.x|clients.name"
        )
    ),
    *(
        f"order={text}"
        for text in split_cells(
            "| |id,|id,,name|,id|id.ASC|id. asc|id.|id.asc.|.asc|id.asc.desc|id.nullsfirst.asc|"
            "id.nullsfirstx|id.descc|id.nulls|id.desc.nullsmiddle|clients(name|clients(name,id)|"
            "clients()|clients(name)x|clients(name)(x)|clients(x(name))|clients.name|a->b(c)|*|id*|"
            "id)|id;drop|count()|c:name|id::text|clients!inner(name)|id%0a|id.desc.nullslast.x"
        )
    ),
    *(
        f"x={text}"
        for text in split_cells(
            "|eq|.1|.|not.|not|not.not.eq.1|not.foo.1|noteq.1|Not.eq.1|foo.1|Eq.x|ILIKE.x| eq.1|"
            "eq .1|eq,1|eqq.1|e.1|ne.1|is|is.|is.nullx|is.nul|is. null|is.null x|is.1|is(any).null|"
            "in|in.|in.1|in.(1|in.(1,2|in.(1))|in.(1)x|in.((1))|in.{1}|in(any).{1}|eq(any){1}|eq(any|"
            "eq(ANY).{1}|eq(some).{1}|eq().1|eq( any).{1}|eq(any)(all).{1}|neq(any).{1}|cs(any).{1}|"
            'isdistinct(any).{1}|isdistinct|fts().x|fts("x").x|fts(a-b).x|ftsx.y|fts(english)|1|'
            'in.(a")b,")'
        )
    ),
    *(
        f"or={text}"
        for text in split_cells(
            "|(|)|()|(,)|(id)|(id.eq)|(id.eq.1|(id.eq.1,)|(,id.eq.1)|(id.eq.1,id.eq.2|(id.eq.1)x|"
            "(id.eq.1))|((id.eq.1))|(id.eq.1)(id.eq.2)|(id.foo.1)|(id. eq.1)|(*.eq.1)|(id.in.1,2)|"
            "(id.in.(1)x)|(id.is.nullx)|(name.cs.{a,b}c)|(name.cs.{a,b)|and(id.eq.1)|(and)|(or)|(not)|"
            "(not.or)|(not.id.eq.1)|(not.not.and(id.eq.1))|(not.xor(id.eq.1))|(AND(id.eq.1))|"
            "(and(id.eq.1)x)|(and())|(clients.name.eq.1)|(count().eq.1)|(name.eq.a\\,b)|(name.eq.a(b))|"
            '("and"(id.eq.1))|id.eq.1|(id.eq.1;id.eq.2'
        )
    ),
    *(
        f"{key}=eq.1"
        for key in split_cells('|*|x*|x)|x(|x.|.x|..|x..y|x:y|x->|x->y.z|x->"y"z|x,y|x!y|->x|\'x\'|-x|x-|x%3By|x"y"|"x')
    ),
    *(f"{key}=(id.eq.1)" for key in split_cells('"or"|or.|.or|xor|Or|OR| or|or |not|x."or"|a->b.or')),
    *(
        f"{parameter}={text}"
        for parameter in ("columns", "on_conflict")
        for text in split_cells('|id,|,id|id)|id.x|*|id->x|((|id,,name|"id')
    ),
    *(
        f"{parameter}={text}"
        for parameter in ("limit", "offset")
        for text in split_cells("|abc|1e3|1.0|0x10| 1|1 |%2B1|١|1_000|(1)|--1|-|-a|null|1,2|9x")
    ),
    "offset=-1",
    "limit=2&limit=x",
    "select=c(id)&c.limit=x",
    "select=c(id)&c.order=",
    "select=c(id)&c->a.limit=1",
    'select=c(id)&c."limit"=1',
    ".limit=1",
    "limit.=1",
    "x.select=id",
    "nope.id=foo.1",
    "nope.limit=x",
    "id=eq.1&=",
]


@pytest.mark.parametrize("text", UNPARSABLE)
def test_malformed_parameter_is_refused(text: str) -> None:
    with pytest.raises(Unparsable):
        parse_text(text)


OTHERS: list[tuple[str, type[Fault], str]] = [
    ("nope.id=eq.1", NotEmbedded, "'nope' is not an embedded resource in this request"),
    ("nope.order=id", NotEmbedded, "'nope' is not"),
    ("nope.limit=1", NotEmbedded, "'nope' is not"),
    ("nope.offset=1", NotEmbedded, "'nope' is not"),
    ("nope.or=(id.eq.1)", NotEmbedded, "'nope' is not"),
    ("not.x.y.and=(id.eq.1)", NotEmbedded, "'x' is not"),
    ("and.or=(id.eq.1)", NotEmbedded, "'and' is not"),
    ("not.id=eq.1", NotEmbedded, "'not' is not"),
    ("select.id=eq.1", NotEmbedded, "'select' is not"),
    ("x.columns=eq.1", NotEmbedded, "'x' is not"),
    ("order.limit=1", NotEmbedded, "'order' is not"),
    ("a.b->c=eq.1", NotEmbedded, "'a' is not"),
    ("select=c&c.id=eq.1", NotEmbedded, "'c' is not"),
    ("select=c(id)&c.b.id=eq.1", NotEmbedded, "'b' is not"),
    ("select=i:t(id)&i.t.id=eq.1", NotEmbedded, "'t' is not"),
    ("select=C(id)&c.id=eq.1", NotEmbedded, "'c' is not"),
    ("limit=-1", NegativeLimit, "Requested range not satisfiable"),
    ("limit=-99999999999999999999", NegativeLimit, "Requested range not satisfiable"),
    ("select=c(id)&c.limit=-1", NegativeLimit, "Requested range not satisfiable"),
    ("limit=9223372036854775808", NumberOutOfRange, 'value "9223372036854775808" is out of range'),
    ("offset=99999999999999999999", NumberOutOfRange, "for type bigint"),
    ("limit=" + "9" * 5000, NumberOutOfRange, "for type bigint"),
    *(
        (f"x=eq(any).{literal}", MalformedArray, "malformed array literal")
        for literal in split_cells(
            '|1|{|}|{1|1,2}|{1,}|{,1}|{a,,b}|{a}b}|{a}{b}|{a}x|x{a}|{a"b"}|{"b"a}|{"a" x}|{"a|{a\\}|'
            '{"a\\"}|{"}|{a{b}|{{a}}|{{1},{2}}|[1:2]={1,2}|{1,NULL|{null,}|{NULL NULL,{}'
        )
    ),
    ("id=eq.%ff", Undecodable, 'invalid byte sequence for encoding "UTF8": 0xff'),
    ("id=eq.%00", Undecodable, "0x00"),
    ("%00=eq.1", Undecodable, "0x00"),
    ("id=eq.%ed%a0%80", Undecodable, "0xed"),
    ("id=eq.%E9", Undecodable, "0xe9"),
    ("ignored%ff", Undecodable, "0xff"),
]


@pytest.mark.parametrize(("text", "fault", "message"), OTHERS, ids=[row[0][:60] for row in OTHERS])
def test_parse_error_attributes(text: str, fault: type[Fault], message: str) -> None:
    with pytest.raises(Fault) as refused:
        parse_text(text)

    assert type(refused.value) is fault
    assert message in refused.value.message


def test_invalid_utf8_is_refused() -> None:
    with pytest.raises(Undecodable):
        parse(b"id=eq.\xff")


@pytest.mark.parametrize(
    ("text", "message", "details"),
    [
        pytest.param(
            "select=id,",
            '"failed to parse select parameter (id,)" (line 1, column 4)',
            'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
            id="select",
        ),
        pytest.param(
            "id=foo.1",
            '"failed to parse filter (foo.1)" (line 1, column 1)',
            'unexpected "f" expecting "not" or operator (eq, gt, ...)',
            id="filter",
        ),
        pytest.param(
            "or=(id.eq.1",
            '"failed to parse logic tree ((id.eq.1)" (line 1, column 11)',
            'unexpected end of input expecting "," or ")"',
            id="logic tree, counted with its operator",
        ),
        pytest.param(
            "order=id.ASC",
            '"failed to parse order (id.ASC)" (line 1, column 4)',
            'unexpected "A" expecting "asc", "desc", "nullsfirst" or "nullslast"',
            id="order",
        ),
        pytest.param(
            "=eq.1",
            '"failed to parse tree path ()" (line 1, column 1)',
            "unexpected end of input expecting field name (* or [a..z0..9_$])",
            id="tree path",
        ),
        pytest.param(
            "id[a]=eq.1",
            '"failed to parse tree path (id[a])" (line 1, column 3)',
            'unexpected "[" expecting letter, digit, "-", "->>", "->", delimiter (.) or end of input',
            id="tree path, and no mark of a list",
        ),
        pytest.param(
            "id[0][x]=eq.1",
            '"failed to parse tree path (id[0][x])" (line 1, column 6)',
            'unexpected "[" expecting letter, digit, "-", "->>", "->", delimiter (.) or end of input',
            id="tree path, and what is no second mark of a list",
        ),
        pytest.param(
            "columns=id,",
            '"failed to parse columns parameter (id,)" (line 1, column 4)',
            "unexpected end of input expecting field name (* or [a..z0..9_$])",
            id="columns",
        ),
    ],
)
def test_message_matches_postgrest(text: str, message: str, details: str) -> None:
    with pytest.raises(Unparsable) as refused:
        parse_text(text)

    assert (refused.value.message, refused.value.details) == (message, details)


def test_details_name_expected_tokens() -> None:
    with pytest.raises(NotEmbedded) as refused:
        parse_text("nope.id=eq.1")

    assert refused.value.hint == ("Verify that 'nope' is included in the 'select' query parameter.")


# -- bounds -------------------------------------------------------------------------------------


def nested(levels: int) -> str:
    return "select=" + "a(" * levels + "id" + ")" * levels


def listed(count: int) -> str:
    return ",".join(map(str, range(count)))


def conditions(count: int) -> str:
    inside = ",".join(["a.eq.1"] * (count - 2))
    return f"select=e(id)&x=eq.1&e.y=is.null&or=({inside})"


BOUNDS = {
    "embeds": (5, "levels of embeds", nested),
    "and/or": (10, "levels of and/or", tree),
    "and/or under not": (10, "levels of and/or", lambda n: "and=" + "(not.or" * (n - 1) + "(x.is.null" + ")" * n),
    "conditions": (100, "conditions", conditions),
    "conditions, repeated": (100, "conditions", lambda n: "&".join(["x=eq.1"] * n)),
    "in": (1000, "values in a list", lambda n: f"x=in.({listed(n)})"),
    "in, quoted": (1000, "values in a list", lambda n: f"or=(x.in.({','.join([chr(34) * 2] * n)}))"),
    "any": (1000, "values in a list", lambda n: f"x=eq(any).{{{listed(n)}}}"),
    "like": (256, "characters in a pattern", lambda n: f"x=like.{'a' * n}"),
    "imatch": (256, "characters in a pattern", lambda n: f"or=(x.not.imatch.{'a' * n})"),
    "ilike any": (256, "characters in a pattern", lambda n: f"x=ilike(any).{{a,{'é' * n}}}"),
    "path, of a select": (16, "steps of a JSON path", lambda n: "select=x" + "->a" * n),
    "path, of a filter": (16, "steps of a JSON path", lambda n: f"x{'->a' * n}=is.null"),
    "order": (16, "order terms", lambda n: "order=" + ",".join(["id"] * n)),
    "order, in embeds": (16, "order terms", lambda n: f"select=e(id)&order=id&e.order={','.join(['id'] * (n - 1))}"),
    "select": (500, "items in select", lambda n: "select=" + ",".join(["id"] * n)),
    "select, in embeds": (500, "items in select", lambda n: f"select=a({','.join(['b'] * (n - 1))})"),
    "embeds in all": (
        32,
        "embeds",
        lambda n: "select=" + ",".join([*(f"a{i}:b(c())" for i in range(n // 2)), *(["d()"] * (n % 2))]),
    ),
    "columns": (500, "names in columns", lambda n: f"columns={listed(n)}"),
    "on_conflict": (500, "names in on_conflict", lambda n: f"on_conflict={listed(n)}"),
    "bytes": (65536, "bytes of query string", lambda n: "x=eq." + "a" * (n - 5)),
}


@pytest.mark.parametrize(("bound", "what", "text"), BOUNDS.values(), ids=BOUNDS)
def test_limit_allows_n_and_refuses_n_plus_1(bound: int, what: str, text: object) -> None:
    assert callable(text)
    assert isinstance(parse_text(text(bound)), Query)

    with pytest.raises(LimitExceeded, match=f"at most {bound} {what}"):
        parse_text(text(bound + 1))


def test_limits_are_configurable() -> None:
    assert parse(b"a=eq.1&b=eq.2", Limits(conditions=2)).values == ("1", "2")

    with pytest.raises(LimitExceeded, match="at most 1 conditions"):
        parse(b"a=eq.1&b=eq.2", Limits(conditions=1))


FLOODS = {
    "5,000 parentheses in select": "select=" + "(" * 5000,
    "5,000 embeds": "select=" + "a(" * 5000,
    "5,000 closed embeds": nested(5000),
    "5,000 parentheses in or": "or=" + "(" * 5000,
    "5,000 ands": "or=(" + "and(" * 5000,
    "5,000 nots": "or=(" + "not." * 5000,
    "10,000 commas in select": "select=" + "," * 10_000,
    "10,000 commas after an id": "select=id" + "," * 10_000,
    "10,000 commas in in": "x=in.(" + "," * 10_000,
    "10,000 commas in any": "x=eq(any).{" + "," * 10_000,
    "10,000 commas in order": "order=id" + "," * 10_000,
    "10,000 items": "select=" + "id," * 10_000,
    "open quote in select": 'select="' + "a" * 60_000,
    "open quote in in": 'x=in.("' + "a" * 60_000,
    "backslashes in in": 'x=in.("' + "\\" * 59_999,
    "backslashes in any": 'x=eq(any).{"' + "\\" * 59_999,
    "bare backslashes in any": "x=eq(any).{" + "\\" * 59_998 + "}",
    "quotes in in": "x=in.(" + '"' * 60_000,
    "quotes in or": "or=(" + 'a.eq.",' * 8_000,
    "blanks": "select=id" + "+" * 60_000 + "!",
    "dashes": "select=" + "a-" * 30_000,
    "arrows": "select=" + "a->b" * 15_000,
    "dots": "." * 60_000 + "=eq.1",
    "path": "a." * 30_000 + "b=eq.1",
    "ampersands": "&" * 65_000,
    "valueless keys": "a&" * 32_000,
    "percents": "x=eq." + "%" * 60_000,
    "braces in or": "or=(a.cs." + "{" * 60_000,
}


@pytest.mark.parametrize("text", FLOODS.values(), ids=FLOODS)
def test_oversized_input_is_refused_quickly(text: str) -> None:
    with cpu_time() as seconds, contextlib.suppress(Fault):
        parse(text.encode())

    assert seconds[0] < 2
