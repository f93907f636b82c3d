"""The query string's parser: what it takes, what it refuses and why, and how long it may think.

Pure room: no database, no app. Recorded query strings come from `data/cases.json`.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import json
import pathlib
import time
from urllib.parse import quote
from urllib.parse import urlsplit

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from models.faults import Fault
from models.sql.query import Column
from models.sql.query import Condition
from models.sql.query import Embed
from models.sql.query import Filter
from models.sql.query import LogicTree
from models.sql.query import Node
from models.sql.query import OrderTerm
from models.sql.query import Query
from models.sql.query import Shape
from models.sql.query import Value
from routes.postgrest.encoding import Undecodable
from routes.postgrest.lexer import Unparsable
from routes.postgrest.limits import LIMITS
from routes.postgrest.limits import Limits
from routes.postgrest.limits import NegativeLimit
from routes.postgrest.limits import NumberOutOfRange
from routes.postgrest.limits import TooMuch
from routes.postgrest.operands import MalformedArray
from routes.postgrest.querystring import NotEmbedded
from routes.postgrest.querystring import pairs
from routes.postgrest.querystring import parse

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "cases.json").read_text("utf-8"))
FAULTS_BY_CODE = {"PGRST100": Unparsable, "PGRST108": NotEmbedded}


def ask(text: str) -> Query:
    """Parse a query string given as people read it."""
    return parse(quote(text, safe="/?&=%+()*,.:!'@$-_~{}<>;\"").encode())


def root(text: str) -> Node:
    return ask(text).shape.root


def rows(text: str) -> list[str]:
    """Take apart a table of short texts."""
    return text.split("|")


def words(text: str) -> list[str]:
    return text.split()


ROOMS = "conditions csv encoding lexer limits media operands payload preferences querystring ranges"


@pytest.mark.parametrize("room", [*words(ROOMS), "selection"])
def test_examples_in_the_reference_hold(room: str) -> None:
    assert doctest.testmod(importlib.import_module(f"routes.postgrest.{room}")).failed == 0


# -- recorded by PostgREST ----------------------------------------------------------------------


def recorded() -> list[object]:
    """List every distinct query string of a table request, with the fault it has here, if any."""
    found: dict[str, str | None] = {}
    for case in CASES:
        url = urlsplit(case["path"])
        if "/rpc/" in url.path or not url.query:
            continue
        code = case["expect"].get("code")
        found.setdefault(url.query, code if code in (*FAULTS_BY_CODE, "22003") else None)
    found["select=id&order=inspections(id)"] = None  # whether that is embedded, the planner tells
    return [pytest.param(query, code, id=query) for query, code in found.items()]


@pytest.mark.parametrize(("query", "code"), recorded())
def test_recorded_query_strings_are_taken_or_refused_as_recorded(
    query: str, code: str | None
) -> None:
    query_string = query.encode()

    if code is None:
        assert isinstance(parse(query_string), Query)
    else:
        with pytest.raises({**FAULTS_BY_CODE, "22003": NumberOutOfRange}[code]):
            parse(query_string)


# -- accepted, and as what ----------------------------------------------------------------------

ID, NAME = Column("id"), Column("name")

SELECTS: dict[str, tuple[Column | Embed, ...]] = {
    "": (Column("*"),),
    " ": (Column("*"),),
    "\t ": (Column("*"),),
    ",": (Column("*"),),
    ",id": (Column("*"),),
    "*": (Column("*"),),
    "* ": (Column("*"),),
    "%2A": (Column("*"),),
    "*,id": (Column("*"), ID),
    "id": (ID,),
    " id ,\tname ": (ID, NAME),
    "id,id": (ID, ID),
    '"id"': (ID,),
    '"id" ,"name"': (ID, NAME),
    '"odd col"': (Column("odd col"),),
    '"a\\"b"': (Column('a"b'),),
    '"a:b(c),d"': (Column("a:b(c),d"),),
    "id name": (Column("id name"),),
    "date-visited": (Column("date-visited"),),
    "id - x": (Column("id-x"),),
    "_": (Column("_"),),
    "$1": (Column("$1"),),
    "länge": (Column("länge"),),
    "ид": (Column("ид"),),
    "label:name": (Column("name", "label"),),
    "c: id": (Column("id", "c"),),
    'c :"id"': (Column("id", "c"),),
    '"a b":id': (Column("id", "a b"),),
    "id::text": (Column("id", cast="text"),),
    "id:: double precision ": (Column("id", cast="double precision"),),
    "n:id::int4": (Column("id", "n", cast="int4"),),
    "count": (Column("*", aggregate="count"),),  # as clients count an embed
    "count()": (Column("*", aggregate="count"),),
    "n:count()::text": (Column("*", "n", aggregate="count", aggregate_cast="text"),),
    "id.count()": (Column("id", aggregate="count"),),
    "s:units.sum()::text": (Column("units", "s", aggregate="sum", aggregate_cast="text"),),
    "a::int.avg()::text": (Column("a", None, (), "int", "avg", "text"),),
    "d.max(),d.min()": (Column("d", aggregate="max"), Column("d", aggregate="min")),
    "meta->a": (Column("meta", path=("a",)),),
    "meta->a->>b": (Column("meta", path=("a", "b")),),
    "x:meta->0": (Column("meta", "x", ("0",)),),
    "meta->-1": (Column("meta", path=("-1",)),),
    "meta->1x": (Column("meta", path=("1x",)),),
    'meta->"a b"::text': (Column("meta", path=("a b",), cast="text"),),
    "meta->a-b": (Column("meta", path=("a-b",)),),
    "meta->!@$_a": (Column("meta", path=("!@$_a",)),),
    "clients()": (Embed("clients", Node(())),),
    "clients( )": (Embed("clients", Node(())),),
    "clients(name)": (Embed("clients", Node((NAME,))),),
    "clients (name )": (Embed("clients", Node((NAME,))),),
    "clients(count())": (Embed("clients", Node((Column("*", aggregate="count"),))),),
    "c:clients(name)": (Embed("clients", Node((NAME,)), "c"),),
    " c : clients(name)": (Embed("clients", Node((NAME,)), "c"),),
    "clients!inner(*)": (Embed("clients", Node(), join="inner"),),
    "clients!left(*)": (Embed("clients", Node(), join="left"),),
    "clients!fk(*)": (Embed("clients", Node(), hint="fk"),),
    "clients!fk!inner(*)": (Embed("clients", Node(), hint="fk", join="inner"),),
    "clients!inner!fk(*)": (Embed("clients", Node(), hint="fk", join="inner"),),
    "clients!inner!left(*)": (Embed("clients", Node(), join="inner"),),
    "clients!a!b(*)": (Embed("clients", Node(), hint="a"),),
    "clients!left_fk(*)": (Embed("clients", Node(), hint="left_fk"),),
    "b:buildings!building_id!inner(*)": (Embed("buildings", Node(), "b", "building_id", "inner"),),
    "...clients(name)": (Embed("clients", Node((NAME,)), spread=True),),
    "... clients!inner(name)": (Embed("clients", Node((NAME,)), join="inner", spread=True),),
    '"clients"(name),id': (Embed("clients", Node((NAME,))), ID),
    "a(b(id),name)": (Embed("a", Node((Embed("b", Node((ID,))), NAME))),),
}


@pytest.mark.parametrize(
    ("text", "items"), [pytest.param(*row, id=row[0]) for row in SELECTS.items()]
)
def test_select_is_read_as(text: str, items: tuple[Column | Embed, ...]) -> None:
    assert root(f"select={text}").items == items


X = "x"
FILTERS: dict[str, tuple[Filter, tuple[Value, ...]]] = {
    **{
        f"x={operator}.1": (Filter(X, operator, value=0), ("1",))
        for operator in words(
            "eq neq gt gte lt lte like ilike match imatch isdistinct cs cd ov sl sr nxr nxl adj fts"
            " plfts phfts wfts"
        )
    },
    **{
        f"x={operator}({quantifier}).{{1,2}}": (
            Filter(X, operator, quantifier=quantifier, value=0),
            (("1", "2"),),
        )
        for operator in words("eq gt gte lt lte like ilike match imatch")
        for quantifier in ("any", "all")
    },
    **{
        f"x=is.{keyword}": (Filter(X, "is", keyword=keyword.lower()), ())
        for keyword in words("null NULL Null not_null NOT_NULL true false unknown UNKNOWN")
    },
    "x=is.null ": (Filter(X, "is", keyword="null"), ()),
    "x=not.is.null": (Filter(X, "is", negated=True, keyword="null"), ()),
    "x=not.eq.1": (Filter(X, "eq", negated=True, value=0), ("1",)),
    "x=eq.not.1": (Filter(X, "eq", value=0), ("not.1",)),
    "x=not.like(any).{a*}": (
        Filter(X, "like", negated=True, quantifier="any", value=0),
        (("a*",),),
    ),
    "x=eq.": (Filter(X, "eq", value=0), ("",)),
    "x=eq..": (Filter(X, "eq", value=0), (".",)),
    "x=eq. 1 ": (Filter(X, "eq", value=0), (" 1 ",)),
    "x=eq.1=2": (Filter(X, "eq", value=0), ("1=2",)),
    "x=eq.a+b%2Bc": (Filter(X, "eq", value=0), ("a b+c",)),
    'x=eq.x,y(z)."q"': (Filter(X, "eq", value=0), ('x,y(z)."q"',)),
    "x=eq.a;b": (Filter(X, "eq", value=0), ("a;b",)),
    "x=eq.100%": (Filter(X, "eq", value=0), ("100%",)),
    "x=eq.a%0ab": (Filter(X, "eq", value=0), ("a\nb",)),
    "x=eq.null": (Filter(X, "eq", value=0), ("null",)),
    "x=gte.2025-01-02 03:04:05%2B00:00": (
        Filter(X, "gte", value=0),
        ("2025-01-02 03:04:05+00:00",),
    ),
    "x=fts(english).cat": (Filter(X, "fts", value=0), ("cat",)),
    "x=wfts(my config).cat": (Filter(X, "wfts", value=0), ("cat",)),
    'x=cs.{"a":{"b":[1]}}': (Filter(X, "cs", value=0), ('{"a":{"b":[1]}}',)),
    "x=in.(1,2)": (Filter(X, "in", value=0), (("1", "2"),)),
    "x=not.in.(1,2)": (Filter(X, "in", negated=True, value=0), (("1", "2"),)),
    "x=in.()": (Filter(X, "in", value=0), ((),)),
    "x=in.( )": (Filter(X, "in", value=0), ((),)),
    'x=in.("")': (Filter(X, "in", value=0), (("",),)),
    "x=in.(,)": (Filter(X, "in", value=0), (("", ""),)),
    "x=in.(1,)": (Filter(X, "in", value=0), (("1", ""),)),
    "x=in. ( 1 , 2) ": (Filter(X, "in", value=0), (("1 ", " 2"),)),
    'x=in.(x,"a,b",e",f with space,dot.ted)': (
        Filter(X, "in", value=0),
        (("x", "a,b", 'e"', "f with space", "dot.ted"),),
    ),
    'x=in.("e\\"f","x:y","\\\\")': (Filter(X, "in", value=0), (('e"f', "x:y", "\\"),)),
    'x=in.("a)b")': (Filter(X, "in", value=0), (("a)b",),)),
    'x=in.("1"x,"2" )': (Filter(X, "in", value=0), (('"1"x', '"2" '),)),
    'x=in.("a)': (Filter(X, "in", value=0), (('"a',),)),
    "x=eq(any).{}": (Filter(X, "eq", quantifier="any", value=0), ((),)),
    "x=eq(any). { a b , c } ": (Filter(X, "eq", quantifier="any", value=0), (("a b", "c"),)),
    'x=eq(any).{"a,b","c\\"d",\\{,""}': (
        Filter(X, "eq", quantifier="any", value=0),
        (("a,b", 'c"d', "{", ""),),
    ),
    'x=eq(any).{"null",a\\ }': (
        Filter(X, "eq", quantifier="any", value=0),
        (("null", "a "),),
    ),
    "x->a->>b=eq.1": (Filter(X, "eq", ("a", "b"), value=0), ("1",)),
    "meta-%3E%3Ek=eq.v": (Filter("meta", "eq", ("k",), value=0), ("v",)),
    '"a:b(c)"=eq.1': (Filter("a:b(c)", "eq", value=0), ("1",)),
    '"odd col" =eq.1': (Filter("odd col", "eq", value=0), ("1",)),
    "+x+=eq.1": (Filter(X, "eq", value=0), ("1",)),
    "buildings=not.is.null": (Filter("buildings", "is", negated=True, keyword="null"), ()),
    "not=eq.1": (Filter("not", "eq", value=0), ("1",)),
}


@pytest.mark.parametrize(
    ("text", "condition", "values"), [pytest.param(k, *v, id=k) for k, v in FILTERS.items()]
)
def test_filter_is_read_as(text: str, condition: Filter, values: tuple[Value, ...]) -> None:
    query = ask(text)

    assert query.shape.root.conditions == (condition,)
    assert query.values == values


def eq(column: str, value: int) -> Filter:
    return Filter(column, "eq", value=value)


TREES: dict[str, tuple[Condition, tuple[Value, ...]]] = {
    "or=(a.eq.1)": (LogicTree("or", (eq("a", 0),)), ("1",)),
    "and=(a.eq.1,b.eq.2)": (LogicTree("and", (eq("a", 0), eq("b", 1))), ("1", "2")),
    "or= ( a.eq.1, b.eq.2 ) ": (LogicTree("or", (eq("a", 0), eq("b", 1))), ("1", "2 ")),
    "not.or=(a.eq.1)": (LogicTree("or", (eq("a", 0),), True), ("1",)),
    "not.and=(a.eq.1)": (LogicTree("and", (eq("a", 0),), True), ("1",)),
    "or=(and(a.eq.1),b.eq.2)": (
        LogicTree("or", (LogicTree("and", (eq("a", 0),)), eq("b", 1))),
        ("1", "2"),
    ),
    "or=(not.and (a.eq.1) ,b.eq.2)": (
        LogicTree("or", (LogicTree("and", (eq("a", 0),), True), eq("b", 1))),
        ("1", "2"),
    ),
    "or=(a.not.eq.1)": (LogicTree("or", (Filter("a", "eq", negated=True, value=0),)), ("1",)),
    "or=(a.is.null,b.eq.1)": (
        LogicTree("or", (Filter("a", "is", keyword="null"), eq("b", 0))),
        ("1",),
    ),
    "or=(buildings.not.is.null)": (
        LogicTree("or", (Filter("buildings", "is", negated=True, keyword="null"),)),
        (),
    ),
    "or=(a.in.(1,2) ,b.eq.3)": (
        LogicTree("or", (Filter("a", "in", value=0), eq("b", 1))),
        (("1", "2"), "3"),
    ),
    'or=(a.in.("x)",y))': (LogicTree("or", (Filter("a", "in", value=0),)), (("x)", "y"),)),
    "or=(a.eq(any).{1,2},b.eq.3)": (
        LogicTree("or", (Filter("a", "eq", quantifier="any", value=0), eq("b", 1))),
        (("1", "2"), "3"),
    ),
    'or=(a.eq(any).{"x)y",z})': (
        LogicTree("or", (Filter("a", "eq", quantifier="any", value=0),)),
        (("x)y", "z"),),
    ),
    "or=(a.cs.{1,2},b.eq.3)": (
        LogicTree("or", (Filter("a", "cs", value=0), eq("b", 1))),
        ("{1,2}", "3"),
    ),
    'or=(a.eq."x,y)")': (LogicTree("or", (eq("a", 0),)), ("x,y)",)),
    'or=(a.eq."x"y)': (LogicTree("or", (eq("a", 0),)), ('"x"y',)),
    'or=(a.eq."x\\"y")': (LogicTree("or", (eq("a", 0),)), ('x"y',)),
    'or=(a.eq.",b.eq.)': (LogicTree("or", (eq("a", 0), eq("b", 1))), ('"', "")),
    "or=(a.eq.x (y z)": (LogicTree("or", (eq("a", 0),)), ("x (y z",)),
    "or=(a .eq.1)": (LogicTree("or", (eq("a", 0),)), ("1",)),
    'or=("a b".eq.1)': (LogicTree("or", (eq("a b", 0),)), ("1",)),
    "or=(a->x->>y.eq.1)": (LogicTree("or", (Filter("a", "eq", ("x", "y"), value=0),)), ("1",)),
    "or=(and.eq.1,or.eq.2,not.eq.3)": (
        LogicTree("or", (eq("and", 0), eq("or", 1), eq("not", 2))),
        ("1", "2", "3"),
    ),
    "or=(android.eq.1,order.eq.2)": (
        LogicTree("or", (eq("android", 0), eq("order", 1))),
        ("1", "2"),
    ),
}


@pytest.mark.parametrize(
    ("text", "tree", "values"), [pytest.param(k, *v, id=k) for k, v in TREES.items()]
)
def test_logic_tree_is_read_as(text: str, tree: LogicTree, values: tuple[Value, ...]) -> None:
    query = ask(text)

    assert query.shape.root.conditions == (tree,)
    assert query.values == values


ORDERS: dict[str, tuple[OrderTerm, ...]] = {
    "id": (OrderTerm("id"),),
    " id ": (OrderTerm("id"),),
    "id.asc": (OrderTerm("id"),),
    "id .desc ": (OrderTerm("id", descending=True),),
    "id.nullsfirst": (OrderTerm("id", nulls="nullsfirst"),),
    "id.desc.nullslast": (OrderTerm("id", descending=True, nulls="nullslast"),),
    "a.asc.nullslast, b.desc": (OrderTerm("a", nulls="nullslast"), OrderTerm("b", descending=True)),
    "id,id.desc": (OrderTerm("id"), OrderTerm("id", descending=True)),
    '"a.b".desc': (OrderTerm("a.b", descending=True),),
    "a-b": (OrderTerm("a-b"),),
    "meta->x.desc": (OrderTerm("meta", ("x",), descending=True),),
    "meta->>x->1.nullslast": (OrderTerm("meta", ("x", "1"), nulls="nullslast"),),
    "buildings(name)": (OrderTerm("name", embed="buildings"),),
    "b ( name ) .desc": (OrderTerm("name", embed="b", descending=True),),
    "b(meta->x).desc.nullsfirst,id": (
        OrderTerm("meta", ("x",), "b", descending=True, nulls="nullsfirst"),
        OrderTerm("id"),
    ),
}


@pytest.mark.parametrize(
    ("text", "terms"), [pytest.param(*row, id=row[0]) for row in ORDERS.items()]
)
def test_order_is_read_as(text: str, terms: tuple[OrderTerm, ...]) -> None:
    assert root(f"order={text}").order == terms


# -- where a parameter goes ---------------------------------------------------------------------


def embedded(node: Node, *places: int) -> Node:
    for place in places:
        embed = node.items[place]
        assert isinstance(embed, Embed)
        node = embed.node
    return node


def test_parameters_reach_the_embed_they_are_addressed_to() -> None:
    query = ask(
        "select=id,b:buildings(id,clients(name))&b.city=eq.Boston&b.order=id.desc&b.limit=3"
        "&b.offset=1&buildings.clients.name=like.A*&b.not.or=(x.eq.1,x.eq.2)&id=gt.0&limit=9"
    )
    outer = embedded(query.shape.root, 1)
    inner = embedded(query.shape.root, 1, 1)

    assert query.values == ("Boston", 3, 1, "A*", "1", "2", "0", 9)
    assert outer.conditions == (eq("city", 0), LogicTree("or", (eq("x", 4), eq("x", 5)), True))
    assert (outer.order, outer.limit, outer.offset) == ((OrderTerm("id", descending=True),), 1, 2)
    assert inner.conditions == (Filter("name", "like", value=3),)
    assert query.shape.root.conditions == (Filter("id", "gt", value=6),)
    assert query.shape.root.limit == 7


@pytest.mark.parametrize("key", ["not.b.or", "b.not.or", "b.not.not.or", '"b".not.or'])
def test_not_may_stand_anywhere_in_the_path_of_a_tree(key: str) -> None:
    query = ask(f"select=b(id)&{key}=(x.eq.1)")

    assert embedded(query.shape.root, 0).conditions == (LogicTree("or", (eq("x", 0),), True),)


@pytest.mark.parametrize(
    ("select", "name", "place"),
    [
        pytest.param("i:t(id),t(id)", "t", 0, id="the first relation, though it has an alias"),
        pytest.param("i:t(id),t(id)", "i", 0, id="an alias"),
        pytest.param("t:c(id),x:t(id)", "t", 0, id="an alias before a relation"),
        pytest.param("x:t(id),t:c(id)", "t", 0, id="a relation before an alias"),
        pytest.param("id,...c(id)", "c", 1, id="a spread"),
        pytest.param("t,t(id)", "t", 1, id="never a column"),
    ],
)
def test_the_first_embed_of_that_name_is_meant(select: str, name: str, place: int) -> None:
    node = root(f"select={select}&{name}.id=eq.1")

    assert embedded(node, place).conditions == (eq("id", 0),)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        pytest.param("select=id&select=name", Shape(Node((ID,))), id="select: the first"),
        pytest.param("select&select=name", Shape(), id="select: the first, which says nothing"),
        pytest.param("columns=id&columns=((", Shape(columns=("id",)), id="columns: the first"),
        pytest.param("on_conflict=a&on_conflict=(", Shape(on_conflict=("a",)), id="on_conflict"),
        pytest.param("limit=1&limit=2", Shape(Node(limit=1)), id="limit: the last"),
        pytest.param("offset=2&offset=1", Shape(Node(offset=1)), id="offset: the last"),
        pytest.param("order=a&order=b", Shape(Node(order=(OrderTerm("a"),))), id="order: first"),
        pytest.param('columns="a","b c", a', Shape(columns=("a", "b c")), id="columns"),
        pytest.param("on_conflict=a, b", Shape(on_conflict=("a", "b")), id="on_conflict, two"),
        pytest.param("columns&on_conflict&order&limit&or&id", Shape(), id="keys without ="),
        pytest.param("", Shape(), id="nothing"),
        pytest.param("&&", Shape(), id="ampersands"),
        pytest.param("sel%65ct=id", Shape(Node((ID,))), id="an escaped key"),
    ],
)
def test_request_is_read_as(text: str, shape: Shape) -> None:
    assert ask(text).shape == shape


def test_filters_of_one_column_all_hold() -> None:
    assert root("a=gte.1&a=lt.5").conditions == (
        Filter("a", "gte", value=0),
        Filter("a", "lt", value=1),
    )


@pytest.mark.parametrize("number", ["0", "007", "9223372036854775807"])
def test_limit_and_offset_are_whole_numbers(number: str) -> None:
    assert ask(f"limit={number}&offset={number}").values == (int(number), int(number))


def test_queries_that_differ_in_values_share_a_shape() -> None:
    one, other = ask("id=in.(1,2)&limit=1"), ask("id=in.(3,4,5)&limit=2")

    assert one.shape == other.shape
    assert hash(one.shape) == hash(other.shape)
    assert one.values != other.values


def test_a_short_query_string_is_parsed_once() -> None:
    assert parse(b"select=id&id=eq.1") is parse(b"select=" + b"id&id=eq.1")


# -- refused ------------------------------------------------------------------------------------

UNPARSABLE = [
    *(
        f"select={text}"
        for text in rows(
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
        for text in rows(
            "| |id,|id,,name|,id|id.ASC|id. asc|id.|id.asc.|.asc|id.asc.desc|id.nullsfirst.asc|"
            "id.nullsfirstx|id.descc|id.nulls|id.desc.nullsmiddle|clients(name|clients(name,id)|"
            "clients()|clients(name)x|clients(name)(x)|clients(x(name))|clients.name|a->b(c)|*|id*|"
            "id)|id;drop|count()|c:name|id::text|clients!inner(name)|id%0a|id.desc.nullslast.x"
        )
    ),
    *(
        f"x={text}"
        for text in rows(
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
        for text in rows(
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
        for key in rows(
            '|*|x*|x)|x(|x.|.x|..|x..y|x:y|x->|x->y.z|x->"y"z|x,y|x!y|->x|\'x\'|-x|x-|x%3By|x"y"|"x'
        )
    ),
    *(f"{key}=(id.eq.1)" for key in rows('"or"|or.|.or|xor|Or|OR| or|or |not|x."or"|a->b.or')),
    *(
        f"{parameter}={text}"
        for parameter in ("columns", "on_conflict")
        for text in rows('|id,|,id|id)|id.x|*|id->x|((|id,,name|"id')
    ),
    *(
        f"{parameter}={text}"
        for parameter in ("limit", "offset")
        for text in rows("|abc|1e3|1.0|0x10| 1|1 |%2B1|١|1_000|(1)|--1|-|-a|null|1,2|9x")
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
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(Unparsable):
        ask(text)


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
        for literal in rows(
            '|1|{|}|{1|1,2}|{1,}|{,1}|{a,,b}|{a}b}|{a}{b}|{a}x|x{a}|{a"b"}|{"b"a}|{"a" x}|{"a|{a\\}|'
            '{"a\\"}|{"}|{a{b}|{{a}}|{{1},{2}}|[1:2]={1,2}|{1,NULL}|{null}|{ Null }'
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
def test_refusal_names_the_fact(text: str, fault: type[Fault], message: str) -> None:
    with pytest.raises(Fault) as refused:
        ask(text)

    assert type(refused.value) is fault
    assert message in refused.value.message


def test_raw_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(Undecodable):
        parse(b"id=eq.\xff")


@pytest.mark.parametrize(
    ("text", "message", "details"),
    [
        pytest.param(
            "select=id,",
            '"failed to parse select parameter (id,)" (line 1, column 4)',
            'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or'
            ' "count()"',
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
            "columns=id,",
            '"failed to parse columns parameter (id,)" (line 1, column 4)',
            "unexpected end of input expecting field name (* or [a..z0..9_$])",
            id="columns",
        ),
    ],
)
def test_message_is_worded_as_postgrest_does(text: str, message: str, details: str) -> None:
    with pytest.raises(Unparsable) as refused:
        ask(text)

    assert (refused.value.message, refused.value.details) == (message, details)


def test_hint_says_where_to_look() -> None:
    with pytest.raises(NotEmbedded) as refused:
        ask("nope.id=eq.1")

    assert refused.value.hint == ("Verify that 'nope' is included in the 'select' query parameter.")


# -- bounds -------------------------------------------------------------------------------------


def nested(levels: int) -> str:
    return "select=" + "a(" * levels + "id" + ")" * levels


def tree(levels: int) -> str:
    return "or=" + "(and" * (levels - 1) + "(x.eq.1" + ")" * levels


def listed(count: int) -> str:
    return ",".join(map(str, range(count)))


def conditions(count: int) -> str:
    inside = ",".join(["a.eq.1"] * (count - 2))
    return f"select=e(id)&x=eq.1&e.y=is.null&or=({inside})"


BOUNDS = {
    "embeds": (5, "levels of embeds", nested),
    "and/or": (10, "levels of and/or", tree),
    "and/or under not": (
        10,
        "levels of and/or",
        lambda n: "and=" + "(not.or" * (n - 1) + "(x.is.null" + ")" * n,
    ),
    "conditions": (100, "conditions", conditions),
    "conditions, repeated": (100, "conditions", lambda n: "&".join(["x=eq.1"] * n)),
    "in": (1000, "values in a list", lambda n: f"x=in.({listed(n)})"),
    "in, quoted": (
        1000,
        "values in a list",
        lambda n: f"or=(x.in.({','.join([chr(34) * 2] * n)}))",
    ),
    "any": (1000, "values in a list", lambda n: f"x=eq(any).{{{listed(n)}}}"),
    "like": (256, "characters in a pattern", lambda n: f"x=like.{'a' * n}"),
    "imatch": (256, "characters in a pattern", lambda n: f"or=(x.not.imatch.{'a' * n})"),
    "ilike any": (256, "characters in a pattern", lambda n: f"x=ilike(any).{{a,{'é' * n}}}"),
    "order": (16, "order terms", lambda n: "order=" + ",".join(["id"] * n)),
    "order, in embeds": (
        16,
        "order terms",
        lambda n: f"select=e(id)&order=id&e.order={','.join(['id'] * (n - 1))}",
    ),
    "select": (500, "items in select", lambda n: "select=" + ",".join(["id"] * n)),
    "select, in embeds": (
        500,
        "items in select",
        lambda n: f"select=a({','.join(['b'] * (n - 1))})",
    ),
    "columns": (500, "names in columns", lambda n: f"columns={listed(n)}"),
    "on_conflict": (500, "names in on_conflict", lambda n: f"on_conflict={listed(n)}"),
    "bytes": (65536, "bytes of query string", lambda n: "x=eq." + "a" * (n - 5)),
}


@pytest.mark.parametrize(("bound", "what", "text"), BOUNDS.values(), ids=BOUNDS)
def test_bound_is_met_at_n_and_named_at_n_plus_1(bound: int, what: str, text: object) -> None:
    assert callable(text)
    assert isinstance(ask(text(bound)), Query)

    with pytest.raises(TooMuch, match=f"at most {bound} {what}"):
        ask(text(bound + 1))


def test_bounds_can_be_told() -> None:
    assert parse(b"a=eq.1&b=eq.2", Limits(conditions=2)).values == ("1", "2")

    with pytest.raises(TooMuch, match="at most 1 conditions"):
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
def test_floods_are_answered_at_once(text: str) -> None:
    begun = time.process_time()

    with contextlib.suppress(Fault):
        parse(text.encode())

    assert time.process_time() - begun < 0.25


# -- pairs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoded", "decoded"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"a=1&b=2", [("a", "1"), ("b", "2")], id="two"),
        pytest.param(b"a&b=", [("a", None), ("b", "")], id="no value, empty value"),
        pytest.param(b"a=1=2", [("a", "1=2")], id="an equals sign in a value"),
        pytest.param(b"a=1;b=2", [("a", "1;b=2")], id="a semicolon is no separator"),
        pytest.param(b"a+b=c+d", [("a b", "c d")], id="a plus is a space"),
        pytest.param(b"a=%2B%26%3D", [("a", "+&=")], id="escapes"),
        pytest.param(b"a=%zz%4", [("a", "%zz%4")], id="what is no escape stands for itself"),
        pytest.param("a=é".encode(), [("a", "é")], id="bare UTF-8"),
        pytest.param(b"a=%F0%9F%8F%A2", [("a", "\U0001f3e2")], id="four bytes"),
        pytest.param(b"a=%0d%0a", [("a", "\r\n")], id="line ends are values too"),
    ],
)
def test_pairs_are_decoded_as(encoded: bytes, decoded: list[tuple[str, str | None]]) -> None:
    assert pairs(encoded) == decoded


# -- properties ---------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *words("select order limit offset and or not columns on_conflict a b id eq in is like any"),
        *words('null ( ) , . & = " \\ { } * -> ->> : :: ! ... count() + %20 %ff %00 é - 1 desc ;'),
        *words("nullslast inner"),
    ]
)


@given(st.binary(max_size=200))
@example(b"\xed\xa0\x80=eq.1")
def test_any_bytes_are_parsed_or_refused(query_string: bytes) -> None:
    with contextlib.suppress(Fault):
        assert isinstance(parse(query_string), Query)


@given(st.lists(WORDS, max_size=40).map("".join))
def test_any_words_are_parsed_or_refused(text: str) -> None:
    try:
        query = parse(text.encode())
    except Fault:
        return

    assert query == parse(text.encode(), Limits(query_bytes=LIMITS.query_bytes))
    assert hash(query.shape) == query.shape.fingerprint


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_any_value_survives_the_way(value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    query = parse(
        f"a=eq.{quote(value, safe='')}&b=in.({quote(quoted, safe='')},x)"
        f"&c=eq(any).{{{quote(quoted, safe='')}}}&or=(d.eq.{quote(quoted, safe='')})".encode()
    )

    assert query.values == (value, (value, "x"), (value,), value)
