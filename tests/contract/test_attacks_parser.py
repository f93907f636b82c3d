"""Attack catalogue, group P: hostile query strings. Marks name the entries."""

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.conftest import Response, dump, ids
from tests.support.cpu_time import cpu_time

pytestmark = pytest.mark.one_engine

ERROR_KEYS = {"code", "message", "details", "hint"}
MIB = 1024 * 1024
BUILDING = {"name": "New", "client_id": 1}
COLUMNS = [
    "id",
    "name",
    "address",
    "city",
    "state",
    "zip",
    "client_id",
    "created_at",
    "updated_at",
    "latitude",
    "longitude",
    "building_type",
    "floors",
    "units",
]


def refused(response: Response, status: int, code: str | None = None) -> bool:
    """Return whether the response is an error of the standard shape, with this status and code."""
    return response.status == status and set(response.json) == ERROR_KEYS and (code is None or response.code == code)


# ── P01-P03: injection ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "query",
    [
        'select=id";--',
        "select=id]x",
        "select=[id]",
        "select=`id`",
        "select=buildings.name",
        "select=id from buildings",
        "select=id)",
        "select=(id",
        "order=id;drop",
        "order=id;drop table buildings",
        "order=id desc",
        "order=1",
        "order=id.sideways",
        "order=(select id)",
        "id=eq.1;drop table buildings",
        "or=(id.eq.1);--",
        "id=eq.1 or 1=1",
        "on_conflict=id);--",
    ],
)
@pytest.mark.attack(entry="P01")
def test_sql_is_not_a_query(api: Callable, query: str) -> None:
    before = dump(api)
    name, _, value = query.partition("=")

    if name == "on_conflict":
        response = api("root").post(f"/buildings?{name}={quote(value)}", BUILDING, prefer="resolution=merge-duplicates")
    else:
        response = api("root").get(f"/buildings?{name}={quote(value)}")

    assert refused(response, 400), response.text
    assert dump(api) == before


@pytest.mark.parametrize(
    "value", ["1 or 1=1", "'", "' OR '1'='1", '"', "\\", "%", "_", "*", "); DROP TABLE buildings;--", "\\'"]
)
@pytest.mark.attack(entry="P01")
def test_value_is_bound_not_interpolated(api: Callable, value: str) -> None:
    assert api("root").get(f"/buildings?name=eq.{quote(value)}").json == []


@pytest.mark.parametrize("value", ["1 or 1=1", "'", "\\", "%", "_", "*", 'x"y', "a,b(c)"])
@pytest.mark.attack(entry="P01")
def test_stored_value_is_found_by_equality(api: Callable, value: str) -> None:
    api("root").post("/buildings", {"name": value, "client_id": 1})

    rows = api("root").get(f"/buildings?select=name&name=eq.{quote(value)}").json

    assert rows == [{"name": value}]


@pytest.mark.parametrize(
    ("operator", "found"),
    [
        ("eq.*", set()),
        ("neq.*", {1, 2, 3, 4, 5, 6}),
        ("in.(*)", set()),
        ("like.*", {1, 2, 3, 4, 5, 6}),
        ("ilike.*house", {1}),
        ("like.%25House", {1}),
    ],
)
@pytest.mark.attack(entry="P01")
def test_star_is_a_wildcard_of_like_only(api: Callable, operator: str, found: set) -> None:
    assert ids(api("root").get(f"/buildings?select=id&name={operator}")) == found


PAGES = [
    ("limit=abc", 400, "PGRST100"),
    ("limit=1e3", 400, "PGRST100"),
    ("limit=1.5", 400, "PGRST100"),
    ("limit=", 400, "PGRST100"),
    ("limit=０", 400, "PGRST100"),
    ("limit=-1", 416, "PGRST103"),
    ("limit=100000000000000000000", 400, "22003"),
    ("offset=-1", 400, "PGRST100"),
    ("offset=abc", 400, "PGRST100"),
    ("offset=1e3", 400, "PGRST100"),
]


@pytest.mark.parametrize(("query", "status", "code"), PAGES, ids=[query for query, _, _ in PAGES])
@pytest.mark.attack(entry="P02")
def test_limit_is_never_unlimited(api: Callable, query: str, status: int, code: str) -> None:
    name, _, value = query.partition("=")

    response = api("root").get(f"/buildings?{name}={quote(value)}")

    assert refused(response, status, code), response.text


@pytest.mark.attack(entry="P02")
def test_embedded_limit_is_capped(api: Callable) -> None:
    response = api("root").get("/buildings?select=id,inspections(id)&inspections.limit=abc")

    assert refused(response, 400, "PGRST100")


@pytest.mark.parametrize(
    "query",
    [
        "select=(",
        "select=" + "(" * 5000,
        "select=" + "a(" * 5000,
        "select=" + "," * 10000,
        'select="id',
        "or=" + "(" * 5000,
        "or=(" + "and(" * 2000 + "id.eq.1" + ")" * 2001,
        "or=(" + "not.and(" * 2000 + "id.eq.1" + ")" * 2001,
        "id=" + "not." * 5000 + "eq.1",
        "id=in.(" + "(" * 5000,
        'name=in.("open',
        "order=" + "," * 5000,
        "order=" + "buildings(" * 1000,
        "select=" + "->a" * 2000,
    ],
    ids=lambda query: query[:20],
)
@pytest.mark.attack(entry="P03")
def test_parser_fails_early(api: Callable, query: str) -> None:
    seconds = []
    for _ in range(3):
        with cpu_time() as taken:
            response = api("root").get(f"/buildings?{query}")
        seconds += taken
        assert refused(response, 400), response.text[:200]

    assert min(seconds) < 0.5


# ── P04: limits ───────────────────────────────────────────────────────────────


def nested_embeds(depth: int) -> str:
    names = ["inspections" if n % 2 == 0 else "buildings" for n in range(depth)]
    return "select=id," + "(".join(names) + "(id" + ")" * depth


def nested_logic(depth: int) -> str:
    return "or=(" + "and(" * (depth - 1) + "id.gt.0" + ")" * depth


BOUNDS = [
    ("embeds-deep", 5, nested_embeds),
    ("logic-deep", 10, nested_logic),
    ("conditions", 100, lambda n: "&".join(["id=gt.0"] * n)),
    ("conditions-in-a-tree", 100, lambda n: "or=(" + ",".join(["id.gt.0"] * n) + ")"),
    ("in-values", 1000, lambda n: "id=in.(" + ",".join(map(str, range(n))) + ")"),
    ("like-pattern", 256, lambda n: "name=like." + "a" * n),
    ("ilike-pattern", 256, lambda n: "name=ilike." + "a" * n),
    ("order-terms", 16, lambda n: "order=" + ",".join((COLUMNS * 2)[:n])),
]


@pytest.mark.parametrize(("bound", "query"), [line[1:] for line in BOUNDS], ids=[line[0] for line in BOUNDS])
@pytest.mark.attack(entry="P04")
def test_limit_is_accepted_and_one_more_is_refused(api: Callable, bound: int, query: Callable) -> None:
    at_it = api("root").get(f"/buildings?{query(bound)}")
    beyond = api("root").get(f"/buildings?{query(bound + 1)}")

    assert at_it.status == 200, at_it.text[:200]
    assert refused(beyond, 400), beyond.text[:200]
    assert str(bound) in beyond.message.replace(",", "")


@pytest.mark.attack(entry="P04")
def test_bulk_is_limited_to_1000_rows(api: Callable) -> None:
    at_it = api("root").post("/buildings", [BUILDING] * 1000)
    beyond = api("root").post("/buildings", [BUILDING] * 1001)

    assert at_it.status == 201
    assert refused(beyond, 400)
    assert "1000" in beyond.message.replace(",", "")
    assert api("root").head("/buildings", prefer="count=exact").total == "1006"


def json_of_size(size: int) -> str:
    body = json.dumps([{**BUILDING, "address": ""}])
    return body + " " * (size - len(body))


@pytest.mark.attack(entry="P04")
def test_json_is_limited_to_one_mebibyte(api: Callable) -> None:
    at_it = api("root").post("/buildings", json_of_size(MIB))
    beyond = api("root").post("/buildings", json_of_size(MIB + 1))

    assert at_it.status == 201
    assert beyond.status == 413
    assert set(beyond.json) == ERROR_KEYS
    assert api("root").head("/buildings", prefer="count=exact").total == "7"


def csv_of_size(size: int) -> str:
    line = "N,1," + "x" * 60000 + "\n"
    text = "name,client_id,address\n" + line * ((size - 23) // len(line))
    rest = size - len(text)
    return text + "N,1," + "x" * (rest - 5) + "\n"


@pytest.mark.attack(entry="P04")
def test_csv_is_limited_to_five_mebibytes(api: Callable) -> None:
    options = {"content_type": "text/csv"}

    at_it = api("root").post("/buildings", csv_of_size(5 * MIB), **options)
    beyond = api("root").post("/buildings", csv_of_size(5 * MIB + 1), **options)

    assert at_it.status == 201
    assert beyond.status == 413
    assert set(beyond.json) == ERROR_KEYS


@pytest.mark.attack(entry="P04")
def test_all_limits_together_finish_in_time(api: Callable) -> None:
    values = ",".join(map(str, range(1000)))
    conditions = "&".join(["name=ilike.*" + "a" * 250] * 98)
    order = ",".join((COLUMNS * 2)[:16])

    with cpu_time() as seconds:
        response = api("root").get(f"/buildings?{nested_embeds(5)}&{conditions}&id=in.({values})&order={order}")

    assert response.status == 200
    assert seconds[0] < 10


# ── P05-P07: bytes, repetition, patterns ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("bad", ["%ff", "%00", "%ed%a0%80", "%c0%af", "a%00b"])
@pytest.mark.parametrize(
    "query",
    [
        "select={}",
        "name=eq.{}",
        "name=like.{}*",
        "name=in.(a,{})",
        "order={}",
        "or=(name.eq.{})",
        "{}=eq.1",
        "limit={}",
    ],
)
@pytest.mark.attack(entry="P05")
def test_invalid_utf8_in_query_is_refused(api: Callable, query: str, bad: str) -> None:
    assert refused(api("root").get("/buildings?" + query.format(bad)), 400)


@pytest.mark.parametrize("bad", ["\xff", "\x00", "\xed\xa0\x80"], ids=["ff", "nul", "surrogate"])
@pytest.mark.parametrize("path", ["/buildings{}", "/{}", "/rpc/get_building_stats{}", "/rest/v1/{}"])
@pytest.mark.attack(entry="P05")
def test_invalid_utf8_in_path_is_refused(api: Callable, path: str, bad: str) -> None:
    response = api("root").get("/buildings", environ={"PATH_INFO": path.format(bad)})

    assert refused(response, 400), response.text


@pytest.mark.parametrize("bad", ["%ff", "%00", "%ed%a0%80", "\xff"], ids=ascii)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"), ("GET", "/rest/v1/"), ("GET", "/live"), ("GET", "/ready"), ("OPTIONS", "/buildings"),
        ("GET", "/auth/v1/settings"), ("GET", "/auth/v1/admin/users"), ("POST", "/auth/v1/token"),
        ("GET", "/nosuch"),
    ],
)  # fmt: skip
@pytest.mark.attack(entry="P05")
def test_invalid_utf8_in_unused_query_is_refused(api: Callable, method: str, path: str, bad: str) -> None:
    response = api("root").send(method, path, environ={"QUERY_STRING": f"grant_type=x&x={bad}"})

    assert response.status == 400
    assert response.json["message"].startswith(("invalid byte sequence", "unsupported Unicode"))
    without_text = {"QUERY_STRING": "x=%c3%bc"}
    assert "byte sequence" not in api("root").send(method, path, environ=without_text).text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/live", 400),
        ("GET", "/ready", 400),
        ("OPTIONS", "/buildings", 400),
        ("GET", "/", 401),
        ("GET", "/buildings", 401),
    ],
)
@pytest.mark.attack(entry="P05")
def test_missing_credentials_precede_invalid_utf8(api: Callable, method: str, path: str, status: int) -> None:
    response = api("nobody").send(method, path, headers={"apikey": "wrong"}, environ={"QUERY_STRING": "x=%ff"})

    assert response.status == status


@pytest.mark.attack(entry="P05")
def test_invalid_utf8_in_call_is_refused(api: Callable) -> None:
    assert refused(api("root").get("/rpc/get_building_stats?building_id=%00"), 400)
    assert refused(api("root").get("/rpc/get_building_stats?%ff=1"), 400)


@pytest.mark.attack(entry="P06")
def test_first_repeated_parameter_applies(api: Callable) -> None:
    path = "/buildings?select=id&select=name&order=id.desc&order=id.asc"

    assert api("root").get(path).json == [{"id": n} for n in (6, 5, 4, 3, 2, 1)]


@pytest.mark.attack(entry="P06")
def test_repeated_filters_are_combined(api: Callable) -> None:
    assert ids(api("root").get("/buildings?select=id&id=gt.1&id=lt.4")) == {2, 3}
    assert ids(api("root").get("/buildings?select=id&or=(id.eq.1,id.eq.2)&or=(id.eq.2,id.eq.3)")) == {2}


@pytest.mark.attack(entry="P06")
def test_repeated_selection_does_not_widen_a_write(api: Callable) -> None:
    response = api("ada").post(
        "/buildings?columns=name,client_id&columns=name,client_id,city",
        {**BUILDING, "city": "Oslo"},
        prefer="return=representation",
    )

    assert (response.status, response.json[0]["city"]) == (201, None)


@pytest.mark.parametrize("operator", ["like", "ilike", "not.like", "like(any)"])
@pytest.mark.attack(entry="P07")
def test_like_pattern_is_limited(api: Callable, operator: str) -> None:
    pattern = "a" * 257
    value = f"{{{pattern}}}" if "(" in operator else pattern

    assert refused(api("root").get(f"/buildings?name={operator}.{value}"), 400)


@pytest.mark.parametrize("operator", ["match", "imatch"])
@pytest.mark.parametrize("pattern", ["^(a|aa)+$", "^(a+)+$", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$"])
@pytest.mark.attack(entry="P07")
def test_pattern_has_no_catastrophic_backtracking(api: Callable, pattern: str, operator: str) -> None:
    api("root").patch("/inspections?id=eq.1", {"notes": "a" * 60000 + "!"})
    seconds = []

    for _ in range(3):
        with cpu_time() as taken:
            response = api("root").get(f"/inspections?select=id&notes={operator}.{quote(pattern)}")
        seconds += taken
        assert response.status in (200, 400)

    assert min(seconds) < 0.5
