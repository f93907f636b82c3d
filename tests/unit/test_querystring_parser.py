"""The query string parser: select, filters, logic trees, order, and the node that each parameter addresses."""

from __future__ import annotations

import pytest

from engine.query.shape import Column, Condition, Embed, Filter, LogicTree, Node, OrderTerm, Shape, Step, Value
from routes.postgrest.querystring import parse
from tests.support.querystrings import parse_text, root, words

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
    "meta->a": (Column("meta", path=(Step("a"),)),),
    "meta->a->>b": (Column("meta", path=(Step("a"), Step("b", as_text=True))),),
    "x:meta->0": (Column("meta", "x", (Step("0"),)),),
    "meta->-1": (Column("meta", path=(Step("-1"),)),),
    "meta->1x": (Column("meta", path=(Step("1x"),)),),
    'meta->"a b"::text': (Column("meta", path=(Step("a b"),), cast="text"),),
    "meta->a-b": (Column("meta", path=(Step("a-b"),)),),
    "meta->!@$_a": (Column("meta", path=(Step("!@$_a"),)),),
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


@pytest.mark.parametrize(("text", "items"), [pytest.param(*row, id=row[0]) for row in SELECTS.items()])
def test_select_is_parsed(text: str, items: tuple[Column | Embed, ...]) -> None:
    assert root(f"select={text}").items == items


X = "x"
FILTERS: dict[str, tuple[Filter, tuple[Value, ...]]] = {
    **{
        f"x={operator}.1": (Filter(X, operator, value=0), ("1",))
        for operator in words(
            "eq neq gt gte lt lte like ilike match imatch isdistinct cs cd ov sl sr nxr nxl adj fts plfts phfts wfts"
        )
    },
    **{
        f"x={operator}({quantifier}).{{1,2}}": (Filter(X, operator, quantifier=quantifier, value=0), (("1", "2"),))
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
    "x=not.like(any).{a*}": (Filter(X, "like", negated=True, quantifier="any", value=0), (("a*",),)),
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
    "x=gte.2025-01-02 03:04:05%2B00:00": (Filter(X, "gte", value=0), ("2025-01-02 03:04:05+00:00",)),
    "x=fts(english).cat": (Filter(X, "fts", value=0), ("cat",)),
    "x=wfts(my config).cat": (Filter(X, "wfts", value=0), ("cat",)),
    'x=cs.{"a":{"b":[1]}}': (Filter(X, "cs", value=0), ('{"a":{"b":[1]}}',)),
    "x=in.(1,2)": (Filter(X, "in", value=0), (("1", "2"),)),
    "x=not.in.(1,2)": (Filter(X, "in", negated=True, value=0), (("1", "2"),)),
    "x=in.()": (Filter(X, "in", value=0), ((),)),
    "x=in.( )": (Filter(X, "in", value=0), ((),)),
    'x=in.("")': (Filter(X, "in", value=0), ((),)),
    'x=in.("","")': (Filter(X, "in", value=0), (("", ""),)),
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
    'x=eq(any).{"a,b","c\\"d",\\{,""}': (Filter(X, "eq", quantifier="any", value=0), (("a,b", 'c"d', "{", ""),)),
    'x=eq(any).{"null",a\\ }': (Filter(X, "eq", quantifier="any", value=0), (("null", "a "),)),
    "x->a->>b=eq.1": (Filter(X, "eq", (Step("a"), Step("b", as_text=True)), value=0), ("1",)),
    "meta-%3E%3Ek=eq.v": (Filter("meta", "eq", (Step("k", as_text=True),), value=0), ("v",)),
    "x[]=eq.1": (Filter(X, "eq", value=0), ("1",)),
    "x%5B0%5D=eq.1": (Filter(X, "eq", value=0), ("1",)),
    '"x"[12]=eq.1': (Filter(X, "eq", value=0), ("1",)),
    "x%5B0%5D%5B0%5D%5B1%5D=eq.1": (Filter(X, "eq", value=0), ("1",)),
    "or[0]=eq.1": (Filter("or", "eq", value=0), ("1",)),
    '"a:b(c)"=eq.1': (Filter("a:b(c)", "eq", value=0), ("1",)),
    '"odd col" =eq.1': (Filter("odd col", "eq", value=0), ("1",)),
    "+x+=eq.1": (Filter(X, "eq", value=0), ("1",)),
    "buildings=not.is.null": (Filter("buildings", "is", negated=True, keyword="null"), ()),
    "not=eq.1": (Filter("not", "eq", value=0), ("1",)),
}


@pytest.mark.parametrize(("text", "condition", "values"), [pytest.param(k, *v, id=k) for k, v in FILTERS.items()])
def test_filter_is_parsed(text: str, condition: Filter, values: tuple[Value, ...]) -> None:
    query = parse_text(text)

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
    "or=(and(a.eq.1),b.eq.2)": (LogicTree("or", (LogicTree("and", (eq("a", 0),)), eq("b", 1))), ("1", "2")),
    "or=(not.and (a.eq.1) ,b.eq.2)": (LogicTree("or", (LogicTree("and", (eq("a", 0),), True), eq("b", 1))), ("1", "2")),
    "or=(a.not.eq.1)": (LogicTree("or", (Filter("a", "eq", negated=True, value=0),)), ("1",)),
    "or=(a.is.null,b.eq.1)": (LogicTree("or", (Filter("a", "is", keyword="null"), eq("b", 0))), ("1",)),
    "or=(buildings.not.is.null)": (LogicTree("or", (Filter("buildings", "is", negated=True, keyword="null"),)), ()),
    "or=(a.in.(1,2) ,b.eq.3)": (LogicTree("or", (Filter("a", "in", value=0), eq("b", 1))), (("1", "2"), "3")),
    'or=(a.in.("x)",y))': (LogicTree("or", (Filter("a", "in", value=0),)), (("x)", "y"),)),
    "or=(a.eq(any).{1,2},b.eq.3)": (
        LogicTree("or", (Filter("a", "eq", quantifier="any", value=0), eq("b", 1))),
        (("1", "2"), "3"),
    ),
    'or=(a.eq(any).{"x)y",z})': (LogicTree("or", (Filter("a", "eq", quantifier="any", value=0),)), (("x)y", "z"),)),
    "or=(a.cs.{1,2},b.eq.3)": (LogicTree("or", (Filter("a", "cs", value=0), eq("b", 1))), ("{1,2}", "3")),
    'or=(a.eq."x,y)")': (LogicTree("or", (eq("a", 0),)), ("x,y)",)),
    'or=(a.eq."x"y)': (LogicTree("or", (eq("a", 0),)), ('"x"y',)),
    'or=(a.eq."x\\"y")': (LogicTree("or", (eq("a", 0),)), ('x"y',)),
    'or=(a.eq.",b.eq.)': (LogicTree("or", (eq("a", 0), eq("b", 1))), ('"', "")),
    "or=(a.eq.x (y z)": (LogicTree("or", (eq("a", 0),)), ("x (y z",)),
    "or=(a .eq.1)": (LogicTree("or", (eq("a", 0),)), ("1",)),
    'or=("a b".eq.1)': (LogicTree("or", (eq("a b", 0),)), ("1",)),
    "or=(a->x->>y.eq.1)": (
        LogicTree("or", (Filter("a", "eq", (Step("x"), Step("y", as_text=True)), value=0),)),
        ("1",),
    ),
    "or=(and.eq.1,or.eq.2,not.eq.3)": (LogicTree("or", (eq("and", 0), eq("or", 1), eq("not", 2))), ("1", "2", "3")),
    "or=(android.eq.1,order.eq.2)": (LogicTree("or", (eq("android", 0), eq("order", 1))), ("1", "2")),
}


@pytest.mark.parametrize(("text", "tree", "values"), [pytest.param(k, *v, id=k) for k, v in TREES.items()])
def test_logic_tree_is_parsed(text: str, tree: LogicTree, values: tuple[Value, ...]) -> None:
    query = parse_text(text)

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
    "meta->x.desc": (OrderTerm("meta", (Step("x"),), descending=True),),
    "meta->>x->1.nullslast": (OrderTerm("meta", (Step("x", as_text=True), Step("1")), nulls="nullslast"),),
    "buildings(name)": (OrderTerm("name", embed="buildings"),),
    "b ( name ) .desc": (OrderTerm("name", embed="b", descending=True),),
    "b(meta->x).desc.nullsfirst,id": (
        OrderTerm("meta", (Step("x"),), "b", descending=True, nulls="nullsfirst"),
        OrderTerm("id"),
    ),
}


@pytest.mark.parametrize(("text", "terms"), [pytest.param(*row, id=row[0]) for row in ORDERS.items()])
def test_order_is_parsed(text: str, terms: tuple[OrderTerm, ...]) -> None:
    assert root(f"order={text}").order == terms


# -- where a parameter goes ---------------------------------------------------------------------


def embedded(node: Node, *places: int) -> Node:
    for place in places:
        embed = node.items[place]
        assert isinstance(embed, Embed)
        node = embed.node
    return node


def test_parameters_apply_to_the_addressed_embed() -> None:
    query = parse_text(
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


@pytest.mark.parametrize("key", ["not.b.or", "b.not.or", '"b".not.or'])
def test_logic_tree_path_accepts_not_at_any_position(key: str) -> None:
    query = parse_text(f"select=b(id)&{key}=(x.eq.1)")

    assert embedded(query.shape.root, 0).conditions == (LogicTree("or", (eq("x", 0),), True),)


@pytest.mark.parametrize(
    ("select", "name", "place"),
    [
        pytest.param("i:t(id),t(id)", "t", 1, id="a relation beside its alias"),
        pytest.param("i:t(id)", "t", 0, id="the relation of the only alias"),
        pytest.param("i:t(id),t(id)", "i", 0, id="an alias"),
        pytest.param("t:c(id),x:t(id)", "t", 0, id="an alias before a relation"),
        pytest.param("x:t(id),t:c(id)", "t", 1, id="an alias after a relation"),
        pytest.param("id,...c(id)", "c", 1, id="a spread"),
        pytest.param("t,t(id)", "t", 1, id="never a column"),
    ],
)
def test_path_selects_embed_by_its_output_name(select: str, name: str, place: int) -> None:
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
def test_query_string_is_parsed(text: str, shape: Shape) -> None:
    assert parse_text(text).shape == shape


def test_repeated_filters_are_combined() -> None:
    assert root("a=gte.1&a=lt.5").conditions == (Filter("a", "gte", value=0), Filter("a", "lt", value=1))


@pytest.mark.parametrize("number", ["0", "007", "9223372036854775807"])
def test_limit_and_offset_must_be_integers(number: str) -> None:
    assert parse_text(f"limit={number}&offset={number}").values == (int(number), int(number))


def test_queries_that_differ_in_values_share_a_shape() -> None:
    one, other = parse_text("id=in.(1,2)&limit=1"), parse_text("id=in.(3,4,5)&limit=2")

    assert one.shape == other.shape
    assert hash(one.shape) == hash(other.shape)
    assert one.values != other.values


def test_short_query_string_is_cached() -> None:
    assert parse(b"select=id&id=in.(1)") is parse(b"select=" + b"id&id=in.(1)")
