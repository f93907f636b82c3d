"""The OpenAPI and Swagger documents: valid, complete, and the same for all callers."""

import json
import re
from collections.abc import Callable

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV31SpecValidator

import config
from engine.query.catalog import catalog
from models.types import BIGINT, INTEGER
from routes.functions import rpc
from routes.functions.rpc import FUNCTIONS
from tests.conftest import CAST, RESOURCES
from tests.support.factories import RowFactory

pytestmark = pytest.mark.one_engine

SWAGGER = "application/openapi+json"
JSON = "application/json"
SUPABASE_ROOTS = ("/rest/v1", "/rest/v1/")
ROOTS = ("/", *SUPABASE_ROOTS)
UNDOCUMENTED = {
    "/audit_log",
    "/metrics",
    "/docs",
    "/docs/{name}",
    "/rpc/{name}",
    "/auth/v1/.well-known/jwks.json",
    "/auth/v1/signup",
}
"""Routes that are no part of the data API's: the operator's, the page, and what is always refused.
Nor is the console, all of which stands under /console/: it answers people, not programs."""
OFTEN_HIDDEN = ("password_hash", "encrypted_password", "sqlite", "gunicorn", "service_key", "metrics")


def routes(app: object) -> dict[str, set[str]]:
    """Return each route's methods by its path in the document's notation."""
    found: dict[str, set[str]] = {}
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", rule.rule)
        found.setdefault(path, set()).update(rule.methods - {"OPTIONS"})
    return {
        path: methods for path, methods in found.items() if path not in UNDOCUMENTED and not path.startswith("/console")
    }


def operations(document: dict) -> dict[str, set[str]]:
    verbs = {"get", "head", "post", "put", "patch", "delete"}
    return {path: {method.upper() for method in item if method in verbs} for path, item in document["paths"].items()}


def faults(schema: dict, value: object) -> list[str]:
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [fault.message for fault in validator.iter_errors(value)]


@pytest.fixture
def document(api: Callable) -> dict:
    return api("root").get("/").json


@pytest.fixture
def swagger(api: Callable) -> dict:
    return api("root").get("/", accept=SWAGGER).json


def test_document_is_valid_openapi_3_1(document: dict) -> None:
    assert document["openapi"] == "3.1.0"
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


def test_document_is_valid_swagger_2_0(swagger: dict) -> None:
    assert swagger["swagger"] == "2.0"
    assert list(OpenAPIV2SpecValidator(swagger).iter_errors()) == []


@pytest.mark.parametrize(
    ("accept", "expected", "key"),
    [
        pytest.param("*/*", JSON, "openapi", id="anything"),
        pytest.param("application/json", JSON, "openapi", id="json"),
        pytest.param(SWAGGER, SWAGGER, "swagger", id="openapi"),
        pytest.param(f"text/html, {SWAGGER};q=0.5", SWAGGER, "swagger", id="second"),
    ],
)
def test_accept_selects_document(api: Callable, accept: str, expected: str, key: str) -> None:
    response = api("moe").get("/", accept=accept)

    assert (response.status, response.headers["Content-Type"]) == (200, f"{expected}; charset=utf-8")
    assert key in response.json


@pytest.mark.parametrize("path", SUPABASE_ROOTS)
@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("*/*", SWAGGER, id="anything"),
        pytest.param("application/json", JSON, id="json"),
        pytest.param(SWAGGER, SWAGGER, id="openapi"),
        pytest.param(f"{JSON};q=0.5, {SWAGGER};q=0.4", JSON, id="either"),
    ],
)
def test_rest_v1_serves_swagger(api: Callable, path: str, accept: str, expected: str) -> None:
    """n8n's node, vue-postgrest and ra-supabase's getSchema read `definitions`, whatever their Accept
    header.
    """
    response = api("moe").get(path, accept=accept)

    assert (response.status, response.headers["Content-Type"]) == (200, f"{expected}; charset=utf-8")
    assert response.json == api("moe").get("/", accept=SWAGGER).json


@pytest.mark.parametrize("accept", ["text/html", "text/csv", "application/vnd.pgrst.object+json"])
def test_unsupported_accept_is_refused(api: Callable, accept: str) -> None:
    response = api("root").get("/", accept=accept)

    assert (response.status, response.code) == (406, "PGRST107")


@pytest.mark.parametrize("path", ROOTS)
def test_head_equals_get_without_body(api: Callable, path: str) -> None:
    head, get = api("root").head(path), api("root").get(path)

    assert (head.status, head.text) == (200, "")
    assert head.headers["Content-Type"] == get.headers["Content-Type"]
    assert head.headers["Content-Length"] == str(len(get.text.encode()))


@pytest.mark.parametrize("path", ROOTS)
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        pytest.param({"apikey": None}, 401, "PGRST302", id="no-apikey"),
        pytest.param({"apikey": "wrong"}, 401, "PGRST302", id="wrong-apikey"),
        pytest.param({"Accept-Profile": "private"}, 406, "PGRST106", id="other-profile"),
        pytest.param({"Accept-Profile": "public"}, 200, None, id="own-profile"),
    ],
)
def test_document_requires_apikey_and_valid_profile(
    api: Callable, path: str, headers: dict, status: int, code: str | None
) -> None:
    response = api("root").get(path, headers=headers)

    assert (response.status, response.json.get("code")) == (status, code)


@pytest.mark.parametrize("path", ROOTS)
@pytest.mark.parametrize("accept", ["*/*", SWAGGER])
def test_document_is_the_same_for_all_callers(api: Callable, path: str, accept: str) -> None:
    assert len({api(who).get(path, accept=accept).text for who in CAST}) == 1


def test_document_lists_exactly_the_routes(document: dict, pristine: object) -> None:
    """docs/FILES.md describes /storage/v1."""
    others = ("/rest/v1", "/storage/v1")
    at_root = {path: methods for path, methods in routes(pristine).items() if not path.startswith(others)}

    assert operations(document) == at_root


def test_rest_v1_has_the_routes_of_tables_and_functions(document: dict, pristine: object) -> None:
    mirrored = {
        path.removeprefix("/rest/v1") or "/": methods
        for path, methods in routes(pristine).items()
        if path.startswith("/rest/v1") and path.removeprefix("/rest/v1") not in UNDOCUMENTED
    }
    both = {
        path: methods
        for path, methods in operations(document).items()
        if not path.startswith(("/auth/v1", "/live", "/ready", "/reports/", "/calendar/"))
    }

    assert mirrored == both
    assert "/rest/v1" in document["info"]["description"]


def test_single_server_has_all_paths(document: dict) -> None:
    """openapi-generator prefers a path's server to the configured one, so its client could not sign in."""
    own = [item for path in document["paths"].values() for item in (path, *path.values())]

    assert document["servers"] == [{"url": "/"}]
    assert not [item for item in own if "servers" in item]


def test_swagger_lists_tables_and_functions(swagger: dict) -> None:
    tables = {f"/{name}": {"GET", "POST", "PATCH", "DELETE"} for name in RESOURCES}
    functions = {f"/rpc/{each.name}": set(rpc.methods_of(each)) & {"GET", "POST"} for each in FUNCTIONS.values()}

    assert operations(swagger) == {"/": {"GET"}} | tables | functions
    assert set(swagger["definitions"]) == set(RESOURCES)
    assert {"swagger", "info", "paths", "definitions"} <= set(swagger)


BODIES = {
    "application/json": ('{"name": "Uma"}', '{"building_id": 1}'),
    "text/csv": ("name\nUma", None),
    "application/x-www-form-urlencoded": ("name=Uma", "building_id=1"),
}


def test_swagger_lists_request_formats(api: Callable, swagger: dict) -> None:
    posted = swagger["paths"]["/rpc/get_building_stats"]["post"]
    called = {media for media, (_, arguments) in BODIES.items() if arguments is not None}

    assert (set(swagger["consumes"]), set(posted["consumes"])) == (set(BODIES), called)
    for media, (row, arguments) in BODIES.items():
        assert api("root").post("/inspectors", row, content_type=media).status == 201
        if arguments is not None:
            asked = api("root").post("/rpc/get_building_stats", arguments, content_type=media)
            assert asked.status == 200


def test_swagger_integer_formats(swagger: dict) -> None:
    """Generators know two integer formats and treat any other as 32 bits. Ids have up to 53 bits."""
    whole = {
        (name, expected["format"])
        for each in swagger["definitions"].values()
        for name, expected in each["properties"].items()
        if expected["type"] == "integer"
    }

    widths = {BIGINT.name: "int64", INTEGER.name: "int32"}
    columns = [each for table in RESOURCES for each in catalog().relations[table].attributes.values()]
    assert whole == {(each.name, widths[each.type.name]) for each in columns if each.type.name in widths}


def test_swagger_argument_formats(swagger: dict) -> None:
    wide = {"type": "integer", "format": "int64"}
    asked, assigned = (
        swagger["paths"][f"/rpc/{name}"] for name in ("get_building_stats", "assign_buildings_to_client_admin")
    )

    in_query = asked["get"]["parameters"][0]
    assert {"name": "building_id", "in": "query", "required": True, **wide}.items() <= in_query.items()
    assert wide.items() <= asked["post"]["parameters"][0]["schema"]["properties"]["building_id"].items()
    ids = assigned["post"]["parameters"][0]["schema"]["properties"]["building_ids"]
    assert {"type": "array", "format": "bigint[]", "items": wide}.items() <= ids.items()


@pytest.mark.parametrize("table", RESOURCES)
def test_columns_equal_the_catalog(api: Callable, table: str, document: dict, swagger: dict) -> None:
    relation = catalog().relations[table]
    schemas = document["components"]["schemas"]
    required = {each.name for each in relation.attributes.values() if each.required}

    for name in (table, f"{table}.new", f"{table}.changes"):
        assert list(schemas[name]["properties"]) == list(relation.attributes)
    assert list(swagger["definitions"][table]["properties"]) == list(relation.attributes)
    assert set(swagger["definitions"][table]["required"]) == required
    expected = document["paths"][f"/{table}"]["get"]["parameters"]
    assert [each["$ref"].rpartition(".")[2] for each in expected if f"/rowFilter.{table}." in each["$ref"]] == list(
        relation.attributes
    )


@pytest.mark.parametrize("table", RESOURCES)
def test_columns_have_the_description_and_example_of_the_model(table: str, document: dict, swagger: dict) -> None:
    relation = catalog().relations[table]
    documented = document["components"]["schemas"][table]
    posted = document["components"]["schemas"][f"{table}.new"]["properties"]
    definition = swagger["definitions"][table]

    assert documented["description"] == definition["description"] == relation.model.__doc__
    for name, attribute in relation.attributes.items():
        row, new, column = documented["properties"][name], posted[name], definition["properties"][name]
        assert all(attribute.info.help in each.get("description", "") for each in (row, new, column))
        example = attribute.info.example
        assert column.get("example") == example
        if example is not None:
            assert row["examples"] == new["examples"] == [example]
            assert faults(row, example) == faults(new, example) == []
            assert attribute.type.read_json(example) is not None


@pytest.mark.parametrize("table", RESOURCES)
def test_columns_have_the_values_and_bounds_of_the_model(table: str, document: dict, swagger: dict) -> None:
    posted = document["components"]["schemas"][f"{table}.new"]["properties"]
    for name, attribute in catalog().relations[table].attributes.items():
        info, new, column = attribute.info, posted[name], swagger["definitions"][table]["properties"][name]
        assert column.get("enum", []) == list(info.allowed_values)
        assert column.get("x-enum", []) == list(info.common_values)
        assert [column.get("minimum"), column.get("maximum")] == [info.minimum, info.maximum]
        for value in (*info.allowed_values, *info.common_values, info.minimum, info.maximum):
            assert value is None or faults(new, value) == []
        assert (faults(new, None) == []) is not attribute.required
        if info.allowed_values:
            assert faults(new, "other") != []
        if info.common_values:
            assert new["x-enum"] == list(info.common_values)
            assert faults(new, "other") == []
        if info.minimum is not None:
            assert faults(new, info.minimum - 1) != []
        if info.maximum is not None:
            assert faults(new, info.maximum + 1) != []


def test_required_columns_of_new_rows(document: dict) -> None:
    schemas = document["components"]["schemas"]
    for table in RESOURCES:
        columns = catalog().relations[table].attributes.values()
        required = {each.name for each in columns if each.required and not each.has_default and not each.info.service}
        assert set(schemas[f"{table}.new"].get("required", ())) == required
    assert schemas["inspections.new"]["required"] == ["building_id", "inspection_type"]


def test_write_preferences_are_documented(document: dict) -> None:
    """The document includes the preferences in Preference-Applied."""
    expected = {
        name: document["components"]["parameters"][f"Prefer{name}"]["description"]
        for name in ("Read", "Insert", "Update", "Put", "Delete", "Call")
    }

    bounded = {name for name, text in expected.items() if "max-affected" in text}
    with_defaults = {name for name, text in expected.items() if "missing" in text}

    assert bounded == {"Insert", "Update", "Put", "Delete"}
    assert with_defaults == {"Insert", "Update"}


@pytest.mark.parametrize("table", RESOURCES)
def test_rows_match_schema(api: Callable, table: str, document: dict) -> None:
    schema = document["components"]["schemas"][table]

    RowFactory(api).row(table)

    for row in api("root").get(f"/{table}").json:
        assert faults(schema, row) == []


def test_user_matches_schema(api: Callable, document: dict) -> None:
    """Keys that are always present are required. openapi-python-client generates invalid code for an
    optional constant.
    """
    schema = document["components"]["schemas"]["auth.user"]

    user = api("root").get("/auth/v1/user").json

    assert faults(schema, user) == []
    assert set(schema["required"]) == set(user)
    assert set(schema["properties"]) - set(user) == {"banned_until"}


CALLS = {
    "get_inspections_dashboard_summary_fast": "",
    "get_building_stats_chart_fast": "",
    "get_building_stats": "?building_id=1",
    "check_building_access_v2": "?building_id=1&user_id=00000000-0000-4000-8000-000000000012",
    "explain_building_access": "?building_id=1&user_id=00000000-0000-4000-8000-000000000012",
}


@pytest.mark.parametrize("name", CALLS)
def test_function_results_match_schema(api: Callable, name: str, document: dict) -> None:
    answers = document["paths"][f"/rpc/{name}"]["get"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]

    answered = api("root").get(f"/rpc/{name}{CALLS[name]}").json

    assert faults(schema, answered) == []


@pytest.mark.parametrize("accept", ["*/*", SWAGGER])
def test_operations_have_summaries_errors_and_unique_names(api: Callable, accept: str) -> None:
    document = api("root").get("/", accept=accept).json
    operations = [
        item[method]
        for item in document["paths"].values()
        for method in ("get", "head", "post", "put", "patch", "delete")
        if method in item
    ]
    named = [each["operationId"] for each in operations]

    assert len(named) == len(set(named))
    for each in operations:
        assert each["summary"]
        assert any(400 <= int(status) < 500 for status in each["responses"]), each["operationId"]


def test_document_reveals_no_internals(api: Callable) -> None:
    for accept in ("*/*", SWAGGER):
        text = api("root").get("/", accept=accept).text.lower()
        assert [word for word in OFTEN_HIDDEN if word in text] == []
        assert json.loads(text)["info"]["version"] == config.__version__
    properties = api("root").get("/").json["components"]["schemas"]["inspections"]["properties"]
    assert "client_id" not in properties  # the hidden column
