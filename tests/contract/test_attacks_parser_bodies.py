"""Attack catalogue, group P, from P08: hostile bodies and headers. Marks name the entries."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.conftest import dump, ids
from tests.contract.test_attacks_parser import BUILDING, ERROR_KEYS, refused

pytestmark = pytest.mark.one_engine

GOOD = json.dumps(BUILDING)
BODIES = [
    ("nan", '{"name": "N", "client_id": NaN}'),
    ("infinity", '{"name": "N", "client_id": -Infinity}'),
    ("deep", '{"name": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    ("deep-open", "[" * 100_000),
    ("two-marks", b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD.encode()),
    ("utf-16", GOOD.encode("utf-16")),
    ("utf-32", GOOD.encode("utf-32")),
    ("latin-1", '{"name": "é", "client_id": 1}'.encode("latin-1")),
    ("trailing", GOOD + "x"),
    ("two", GOOD + GOOD),
    ("comma", '{"name": "N", "client_id": 1,}'),
    ("comment", '{"name": "N", "client_id": 1} // x'),
    ("single-quotes", "{'name': 'N', 'client_id': 1}"),
    ("raw-control", '{"name": "a\nb", "client_id": 1}'),
    ("empty", ""),
    ("blank", "   "),
]


@pytest.mark.parametrize("body", [body for _, body in BODIES], ids=[id_ for id_, _ in BODIES])
@pytest.mark.attack(entry="P08")
def test_invalid_json_is_refused(api: Callable, body: str | bytes) -> None:
    before = dump(api)

    response = api("root").post("/buildings", body)

    assert refused(response, 400, "PGRST102"), response.text[:200]
    assert dump(api) == before


@pytest.mark.attack(entry="P08")
def test_number_of_5000_digits_is_refused(api: Callable) -> None:
    response = api("root").post("/buildings", '{"name": "N", "client_id": ' + "9" * 5000 + "}")

    assert response.status == 400
    assert response.code in ("PGRST102", "22003")


@pytest.mark.attack(entry="P08")
def test_last_duplicate_key_applies_to_rule_and_execution(api: Callable) -> None:
    foreign_last = api("ada").post("/buildings", '{"name": "N", "client_id": 1, "client_id": 2}')
    own_last = api("ada").post(
        "/buildings?select=client_id", '{"name": "N", "client_id": 2, "client_id": 1}', prefer="return=representation"
    )

    assert foreign_last.code == "42501"
    assert (own_last.status, own_last.json) == (201, [{"client_id": 1}])


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        "application/xml",
        "application/octet-stream",
    ],
)
@pytest.mark.parametrize("path", ["/buildings", "/rpc/get_building_stats"])
@pytest.mark.attack(entry="P09")
def test_other_content_types_are_refused(api: Callable, path: str, content_type: str) -> None:
    before = dump(api)

    response = api("root").post(path, GOOD, content_type=content_type)

    assert refused(response, 415), response.text
    assert dump(api) == before


@pytest.mark.attack(entry="P09")
def test_compressed_body_is_refused(api: Callable) -> None:
    response = api("root").post("/buildings", gzip.compress(GOOD.encode()), headers={"Content-Encoding": "gzip"})

    assert refused(response, 415)


@pytest.mark.attack(entry="P09")
def test_compressed_body_is_refused_by_the_sign_in_too(api: Callable) -> None:
    body = gzip.compress(b'{"email": "ada@acme.example", "password": "any"}')

    response = api("root").post("/auth/v1/token?grant_type=password", body, headers={"Content-Encoding": "gzip"})

    assert (response.status, response.json["code"], response.json["error_code"]) == (415, "bad_json", "bad_json")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "application/json;charset=UTF-8"])
@pytest.mark.attack(entry="P09")
def test_utf8_charset_is_accepted(api: Callable, content_type: str) -> None:
    assert api("root").post("/buildings", GOOD, content_type=content_type).status == 201


CSVS = [
    ("ragged-short", "name,client_id\nA,1\nB\n"),
    ("ragged-long", "name,client_id\nA,1\nB,1,2\n"),
    ("unknown-header", "name,client_id,nope\nA,1,2\n"),
    ("hidden-header", "name,client_id,password_hash\nA,1,2\n"),
    ("nul", "name,client_id\nA,1\nB\x00C,1\n"),
    ("wide", "name,client_id" + ",x" * 1_000_000 + "\n"),
    ("not-utf-8", "name,client_id\nA,1\n\xff,1\n".encode("latin-1")),
]


@pytest.mark.parametrize("body", [body for _, body in CSVS], ids=[id_ for id_, _ in CSVS])
@pytest.mark.attack(entry="P10")
def test_bad_csv_inserts_nothing(api: Callable, body: str | bytes) -> None:
    before = dump(api)

    response = api("root").post("/buildings", body, content_type="text/csv")

    assert refused(response, 400), response.text[:200]
    assert dump(api) == before


@pytest.mark.parametrize("query", ["", "&columns=address,name,client_id"], ids=["all", "columns"])
@pytest.mark.attack(entry="P10")
def test_csv_byte_order_mark_is_skipped(api: Callable, query: str) -> None:
    """Spreadsheets start a CSV with a byte order mark, which is not part of the first column's name."""
    body = "\ufeffaddress,name,client_id\r\n12 Mill Lane,Mill Court,1\r\n".encode()

    response = api("root").post(
        f"/buildings?select=address,name{query}", body, content_type="text/csv", prefer="return=representation"
    )

    assert response.status == 201
    assert response.json == [{"address": "12 Mill Lane", "name": "Mill Court"}]


@pytest.mark.attack(entry="P10")
def test_csv_cells_are_returned_unchanged(api: Callable) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)"]
    api("root").post("/buildings", [{"name": name, "client_id": 1} for name in names])

    response = api("root").get("/buildings?select=name&id=gt.6&order=id", accept="text/csv")

    assert [row for (row,) in csv.reader(io.StringIO(response.text))] == ["name", *names]
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ("/buildings?name=like.*#4*&id=eq.1", "name=like.*"),
        ("/buildings?id=eq.1#", "id=eq.1"),
        ("/buildings#?id=eq.1", ""),
    ],
)
@pytest.mark.attack(entry="P10")
def test_target_with_fragment_is_refused(api: Callable, raw: str, sent: str) -> None:
    """A server drops what follows `#`. A write would lose filters and affect more rows."""
    environ = {"RAW_URI": raw, "QUERY_STRING": sent}
    before = dump(api)

    responses = [api("root").get("/buildings", environ=environ)]
    responses.append(api("root").delete("/buildings", environ=environ))
    responses.append(api("root").patch("/buildings", {"name": "x"}, environ=environ))

    assert all(refused(each, 400, "PGRST100") for each in responses)
    assert "%23" in responses[0].message
    assert dump(api) == before


# ── P11-P13: headers and answers ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("variable", ["HTTP_PREFER", "HTTP_RANGE", "HTTP_ACCEPT", "HTTP_ORIGIN"])
@pytest.mark.parametrize("value", ["count=exact\r\nX-Evil: 1", "x\nX-Evil: 1", "0-1\rX-Evil: 1"])
@pytest.mark.attack(entry="P11")
def test_header_value_starts_no_new_header(api: Callable, variable: str, value: str) -> None:
    response = api("root").get("/buildings", environ={variable: value})

    assert response.status < 500
    assert "X-Evil" not in response.headers
    assert all("\n" not in v and "\r" not in v for _, v in response.headers.items())


@pytest.mark.parametrize("query", ["select=id%0d%0aX-Evil:1", "name=eq.%0d%0aX-Evil:1", "%0d%0aX-Evil=eq.1"])
@pytest.mark.attack(entry="P11")
def test_query_starts_no_new_header(api: Callable, query: str) -> None:
    response = api("root").get(f"/buildings?{query}")

    assert response.status in (200, 400)
    assert "X-Evil" not in response.headers


@pytest.mark.attack(entry="P11")
def test_location_starts_no_new_header(api: Callable) -> None:
    response = api("root").post(
        "/users",
        {"email": "a\r\nX-Evil: 1@x.example", "name": "a\r\nX-Evil: 1", "role": "client_manager", "client_id": 1},
        prefer="return=headers-only",
    )

    assert response.status in (201, 400)
    assert "X-Evil" not in response.headers


@pytest.mark.parametrize("prefer", ["foo=bar, handling=strict", "handling=strict, count=nope"])
@pytest.mark.attack(entry="P11")
def test_unknown_preference_is_refused_when_strict(api: Callable, prefer: str) -> None:
    assert refused(api("root").get("/buildings", prefer=prefer), 400, "PGRST122")


@pytest.mark.attack(entry="P11")
def test_unknown_preference_is_ignored_otherwise(api: Callable) -> None:
    response = api("root").get("/buildings?select=id", prefer="foo=bar")

    assert ids(response) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("handling", ["handling=lenient", "handling=strict"])
@pytest.mark.attack(entry="P11")
def test_unknown_time_zone_is_refused(api: Callable, handling: str) -> None:
    prefer = f"{handling}, timezone=Nowhere/Land"
    root = api("root")
    found = [
        root.get("/buildings", prefer=prefer),
        root.post("/buildings", BUILDING, prefer=prefer),
        root.patch("/buildings?id=eq.1", {"name": "Elsewhere"}, prefer=prefer),
        root.delete("/buildings?id=eq.6", prefer=prefer),
        root.rpc("get_building_stats", {"building_id": 1}, prefer=prefer),
    ]

    expected = (400, "22023", 'invalid value for parameter "TimeZone": "Nowhere/Land"')
    assert [each.refusal for each in found] == [expected] * len(found)
    assert ids(root.get("/buildings?name=neq.Elsewhere")) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("profile", ["other", "api", "PUBLIC", "pg_catalog", "main"])
@pytest.mark.attack(entry="P11")
def test_unknown_schemas_are_refused(api: Callable, profile: str) -> None:
    read = api("root").get("/buildings", headers={"Accept-Profile": profile})
    written = api("root").post("/buildings", BUILDING, headers={"Content-Profile": profile})

    assert refused(read, 406, "PGRST106")
    assert refused(written, 406, "PGRST106")


@pytest.mark.parametrize("path", ["/profiles", "/rest/v1/profiles", "/rpc/hello", "/a/b"])
@pytest.mark.parametrize("header", ["Accept-Profile", "Content-Profile"])
@pytest.mark.attack(entry="P11")
def test_unknown_schema_precedes_other_errors(api: Callable, path: str, header: str) -> None:
    found = [
        api("root").get(path, headers={header: "private"}),
        api("root").post(path, {}, headers={header: "private"}),
    ]

    assert all(refused(each, 406, "PGRST106") for each in found)
    assert api("root").get(path, headers={header: "public"}).status == 404


@pytest.mark.parametrize("header", ["Accept-Profile", "Content-Profile"])
@pytest.mark.attack(entry="P11")
def test_unknown_schema_error_hints_at_public(api: Callable, header: str) -> None:
    response = api("root").get("/buildings", headers={header: "x" * 300})

    assert response.refusal == (406, "PGRST106", f"Invalid schema: {'x' * 200}…")
    assert response.json["hint"] == "Only the following schemas are exposed: public"


@pytest.mark.parametrize(
    ("method", "path", "body", "header"),
    [
        ("GET", "/buildings", None, "Accept-Profile"),
        ("HEAD", "/buildings", None, "Accept-Profile"),
        ("POST", "/buildings", BUILDING, "Content-Profile"),
        ("POST", "/rpc/get_inspections_dashboard_summary_fast", {}, "Content-Profile"),
        ("GET", "/rpc/get_inspections_dashboard_summary_fast", None, "Accept-Profile"),
    ],
)
@pytest.mark.attack(entry="P11")
def test_public_schema_is_confirmed_in_content_profile(
    api: Callable, method: str, path: str, body: dict | None, header: str
) -> None:
    other = ({"Accept-Profile", "Content-Profile"} - {header}).pop()

    def expected(name: str) -> tuple[bool, str | None]:
        answer = api("root").send(method, path, body, headers={name: "public"}, prefer="return=representation")
        return answer.status < 300, answer.headers.get("Content-Profile")

    assert expected(header) == (True, "public")
    assert expected(other) == (True, None)


SCRIPT = "<script>alert(1)</script>"
ERRORS = [
    ("GET", "/nope", None),
    ("GET", f"/{quote(SCRIPT)}", None),
    ("GET", f"/buildings?select={quote(SCRIPT)}", None),
    ("GET", f"/buildings?{quote(SCRIPT)}=eq.1", None),
    ("GET", f"/buildings?id=eq.{quote(SCRIPT)}", None),
    ("GET", "/buildings?select=id,nope(id)", None),
    ("GET", "/buildings?limit=abc", None),
    ("GET", "/buildings?name=match.[", None),
    ("GET", "/inspections?select=notes::int", None),
    ("POST", "/buildings", "{"),
    ("POST", "/buildings", {SCRIPT: 1}),
    ("POST", "/buildings", {"name": "N", "client_id": 999}),
    ("POST", "/buildings", {"id": 1, **BUILDING}),
    ("POST", "/buildings", {"name": "N", "client_id": SCRIPT}),
    ("PATCH", "/buildings", {"name": "x"}),
    ("DELETE", "/buildings?id=eq.1", None),
    ("DELETE", "/", None),
    ("POST", f"/rpc/{quote(SCRIPT)}", {}),
    ("PUT", "/rpc/get_building_stats", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), ERRORS, ids=[f"{m} {p}" for m, p, _ in ERRORS])
@pytest.mark.attack(entry="P12")
def test_error_has_one_shape_and_reveals_no_internals(api: Callable, method: str, path: str, body: object) -> None:
    response = api("root").send(method, path, body)

    assert 400 <= response.status < 500
    assert set(response.json) == ERROR_KEYS
    assert response.headers["Content-Type"].startswith("application/json")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    for word in ("SELECT ", "INSERT ", "sqlite", "sqlalchemy", "Traceback", ".py", "werkzeug"):
        assert word not in response.text


@pytest.mark.attack(entry="P12")
def test_script_in_a_row_is_served_as_json(api: Callable) -> None:
    api("root").post("/buildings", {"name": SCRIPT, "client_id": 1})

    response = api("root").get("/buildings?id=gt.6")

    assert response.json[0]["name"] == SCRIPT
    assert response.headers["Content-Type"].startswith("application/json")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("body", ["{}", "{", "[1]", "null", '{"id": 4}'])
@pytest.mark.attack(entry="P13")
def test_body_of_a_read_is_ignored(api: Callable, body: str) -> None:
    response = api("moe").send("GET", "/buildings?select=id", body)

    assert ids(response) == {1}


@pytest.mark.attack(entry="P13")
def test_body_of_a_get_call_is_ignored(api: Callable) -> None:
    path = "/rpc/get_building_stats?building_id=1"

    same = api("moe").send("GET", path, {"building_id": 1})
    other = api("moe").send("GET", path, {"building_id": 4})

    assert (same.status, same.json["building_id"]) == (200, 1)
    assert other.status == 400 or other.json["building_id"] == 1
