"""The API's description, the pages that show it, and Swagger 2.0.

`/` answers with OpenAPI 3.1 and `/rest/v1` with PostgREST's Swagger 2.0; a browser gets a page with links. `/docs`
shows the document in Swagger UI, from flask-swagger-ui. The page loads nothing from other hosts and has no inline
script or style. The documents hold no data and are the same for every caller. Swagger 2.0 is derived from the OpenAPI
3.1 document. Type generators and Supabase's getOpenApiSpec take each definition for a table. So the definitions are the
tables' rows, and other schemas stand where they are used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from typing import Final

from flask import Blueprint, Response, current_app, render_template, request

from access.decorators import public, requires_valid_credentials
from routes.functions.rpc import FUNCTIONS
from routes.http.middleware import StaticFiles, respond, url_path
from routes.openapi.document import openapi_document
from routes.openapi.schemas import POSTGRES_DEFAULT, POSTGRES_TYPE, Json
from routes.postgrest import representation
from routes.postgrest.preferences import BODIES, DOCUMENT, DOCUMENT_AS_POSTGREST, ROWS, MediaType, parse_accept
from routes.postgrest.representation import Representation

METHODS: Final = ("get", "post", "patch", "delete")
"""PostgREST describes these only."""
COPIED: Final[tuple[str, ...]] = ("operationId", "tags", "summary", "description", "security")
WIDTHS: Final = {"integer": "int32", "bigint": "int64"}
"""Swagger's integer formats. Type generators treat any other format as 32 bits."""
JWT: Final = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": 'Add the token prepending "Bearer " (without quotes) to it',
}


def swagger_document(document: Json) -> Json:
    """Return the Swagger 2.0 of an OpenAPI 3.1 document."""
    return Converter(document).document()


class Converter:
    """Converts the parts of one OpenAPI 3.1 document."""

    def __init__(self, source: Json) -> None:
        self.source = source
        self.components: Json = source["components"]
        self.tables = [name for name in self.components["schemas"] if f"/{name}" in source["paths"]]
        data_paths = {"/", *(f"/{name}" for name in self.tables)}
        self.paths = {
            path: item for path, item in source["paths"].items() if path in data_paths or path.startswith("/rpc/")
        }

    def document(self) -> Json:
        parameters = self.components["parameters"]
        return {
            "swagger": "2.0",
            "info": self.source["info"],
            "basePath": self.source["servers"][0]["url"],
            "consumes": [media.value for media in BODIES],
            "produces": [media.value for media in ROWS],
            "tags": self.source["tags"],
            "paths": {
                path: {method: self.operation(item[method]) for method in METHODS if method in item}
                for path, item in self.paths.items()
            },
            "definitions": {name: self.schema(self.components["schemas"][name]) for name in self.tables},
            "parameters": {name: self.parameter(each) for name, each in parameters.items()},
            "responses": {name: self.response(each) for name, each in self.components["responses"].items()},
            "securityDefinitions": {"apikey": self.components["securitySchemes"]["apikey"], "JWT": JWT},
            "security": self.source["security"],
        }

    def operation(self, operation: Json) -> Json:
        converted: Json = {key: operation[key] for key in COPIED if key in operation}
        parameters = [self.parameter(each) for each in operation.get("parameters", ())]
        body = operation.get("requestBody")
        if body is not None:
            schema = self.schema(body["content"][MediaType.JSON.value]["schema"])
            parameters.insert(0, {"name": "body", "in": "body", "required": body["required"], "schema": schema})
            converted["consumes"] = list(body["content"])
        return {
            **converted,
            "produces": list(operation["responses"].get("200", {}).get("content", ())),
            "parameters": parameters,
            "responses": {status: self.response(each) for status, each in operation["responses"].items()},
        }

    def parameter(self, parameter: Json) -> Json:
        if "$ref" in parameter:
            return local_ref(parameter)
        rest = {key: value for key, value in parameter.items() if key != "schema"}
        return rest | self.schema(parameter["schema"])

    def response(self, response: Json) -> Json:
        if "$ref" in response:
            return local_ref(response)
        converted: Json = {"description": response["description"]}
        headers = response.get("headers")
        if headers is not None:
            converted["headers"] = {name: self.header(each) for name, each in headers.items()}
        if MediaType.JSON.value in response.get("content", ()):
            converted["schema"] = self.schema(response["content"][MediaType.JSON.value]["schema"])
        return converted

    def header(self, header: Json) -> Json:
        if "$ref" in header:
            header = self.components["headers"][last_name(header)]
        return {key: value for key, value in header.items() if key != "schema"} | self.schema(header["schema"])

    def schema(self, schema: Json) -> Json:
        """Return a schema without what Swagger 2.0 lacks: alternatives, constants, and null as a type."""
        if "$ref" in schema:
            name = last_name(schema)
            table = name.partition(".")[0]
            if table in self.tables:
                return {"$ref": f"#/definitions/{table}"}
            return self.schema(self.components["schemas"][name])
        if "anyOf" in schema:
            first, rest = schema["anyOf"][0], {key: value for key, value in schema.items() if key != "anyOf"}
            return rest | self.schema(first)
        converted = {key: value for key, value in schema.items() if key not in REPLACED} | replacements(schema)
        if "properties" in schema:
            converted["properties"] = {name: self.schema(each) for name, each in schema["properties"].items()}
            # A null is an absent value in Swagger 2.0, and an empty list is not allowed.
            required = [name for name in schema.get("required", ()) if not is_nullable(schema["properties"][name])]
            converted |= {"required": required} if required else {}
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                converted[key] = self.schema(schema[key])
        return converted


REPLACED: Final = {"type", "const", "enum", "examples", "required", POSTGRES_TYPE, POSTGRES_DEFAULT}


def replacements(schema: Json) -> Json:
    """Return what Swagger 2.0 has in the place of the keywords in REPLACED, apart from `required`."""
    found: Json = {}
    if "type" in schema:
        found["type"] = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if "const" in schema:
        found["enum"] = [schema["const"]]
    if "enum" in schema:
        found["enum"] = [value for value in schema["enum"] if value is not None]
    if "examples" in schema:
        found["example"] = schema["examples"][0]
    if POSTGRES_TYPE in schema:
        found["format"] = WIDTHS.get(schema[POSTGRES_TYPE], schema[POSTGRES_TYPE])
    if POSTGRES_DEFAULT in schema:
        found["default"] = schema[POSTGRES_DEFAULT]
    return found


def is_nullable(schema: Json) -> bool:
    return "null" in schema.get("type", ())


def last_name(reference: Json) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def local_ref(reference: Json) -> Json:
    return {"$ref": reference["$ref"].replace("#/components/", "#/")}


POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # Swagger UI's style sheet holds its icons
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

PAGE: Final = files("routes") / "docs_page"
LIBRARY: Final = files("flask_swagger_ui") / "dist"
CSS: Final = "text/css; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
JAVASCRIPT: Final = "text/javascript; charset=utf-8"
FILES: Final = {
    "page.js": (PAGE, JAVASCRIPT),
    "page.css": (PAGE, CSS),
    "swagger-ui-bundle.js": (LIBRARY, JAVASCRIPT),
    "swagger-ui.css": (LIBRARY, CSS),
    "icon.svg": (files("routes.console") / "static", "image/svg+xml"),
}

STATIC: Final = StaticFiles("/docs", FILES, POLICY)
DOCUMENTS_KEY: Final = "walkthrough.documents"

ROOTS: Final = {False: '"servers": [{"url": "/"}]', True: '"basePath": "/"'}
"""By `as_swagger`, the text in a document that names the path of the API."""

bp = Blueprint("docs", __name__, template_folder="../docs_page")
root = Blueprint("root", __name__)


def document_text(*, as_swagger: bool) -> str:
    """Return a document's text. Two concurrent first requests may both render it, with the same result."""
    texts: dict[bool, str] = current_app.extensions.setdefault(DOCUMENTS_KEY, {})
    if as_swagger not in texts:
        document = openapi_document(FUNCTIONS.values())
        texts[as_swagger] = json.dumps(swagger_document(document) if as_swagger else document, ensure_ascii=False)
    text = texts[as_swagger]
    if prefix := request.script_root:
        root = ROOTS[as_swagger]
        text = text.replace(root, root.replace('"/"', f'"{prefix}"'), 1)
    return text


def serves_browsers(view: Callable[[], Response]) -> Callable[[], Response]:
    """Return a page with links for a browser at /. Other requests get the view's answer."""

    @wraps(view)
    def page_or_view() -> Response:
        is_home = request.path == "/" and is_from_browser()
        return page_response("home.html") if is_home else view()

    return page_or_view


def is_from_browser() -> bool:
    """Return whether the request is for HTML and has no credentials, which a browser does not send."""
    headers = request.headers
    accepts_html = "text/html" in headers.get("Accept", "").lower()
    return accepts_html and "apikey" not in headers and "Authorization" not in headers


@root.get("/")
@serves_browsers
@requires_valid_credentials
def document() -> Response:
    representation.require_profiles(request.headers.get("Accept-Profile"))
    as_postgrest = request.path != "/"
    media = parse_accept(request.headers.get("Accept"), DOCUMENT_AS_POSTGREST if as_postgrest else DOCUMENT)
    headers = {"Content-Type": f"{media.value}; charset=utf-8"}
    is_swagger = as_postgrest or media is MediaType.OPENAPI
    return respond(Representation(200, headers, document_text(as_swagger=is_swagger)))


@bp.get("/docs")
@public("the page holds no data")
def docs_page() -> Response:
    return page_response("index.html")


def page_response(page_name: str) -> Response:
    """Return a page. Its links to files carry their hashes."""
    page = render_template(page_name, static_url=STATIC.url, url_path=url_path)
    return Response(page, 200, {"Content-Type": HTML, "Content-Security-Policy": POLICY})


@bp.get("/docs/<name>")
@public("the page's public scripts, styles and document")
def file(name: str) -> Response:
    if name == "openapi.json":
        text = document_text(as_swagger=False)
        return Response(text, 200, {"Content-Type": "application/json; charset=utf-8"})
    return STATIC.respond(name)
