"""Translates calls from PostgREST's dialect to PocketBase's, and answers back.

Ids of records are texts of 15 characters: numbers are padded with zeros, users have the first digits of their UUID.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from bench.dataset import COLUMNS, DatasetUser
from bench.dialect import Dialect, HttpAnswer
from bench.requests import EXACT, HttpCall
from bench.servers import SECRET
from bench.tokens import Tokens

USERS_COLLECTION: Final = "_pb_users_auth_"
ROWS_A_PAGE_MAX: Final = 1_000
RELATIONS: Final = {
    "building_id": "building", "inspector_id": "inspector", "client_id": "client",
    "inspection_id": "inspection", "manager_id": "manager",
}  # fmt: skip
"""PocketBase's relation fields by the column of the same meaning."""
EXPANDS: Final = {"buildings": "building", "inspectors": "inspector", "reports_lead": "reports_lead_via_inspection"}
OPERATORS: Final = {"eq": "=", "gt": ">"}


class PocketBaseTokens(Tokens):
    """Tokens as PocketBase signs them: by the user's token key and the secret of the collection."""

    def claims(self, user: DatasetUser) -> dict[str, object]:
        return {
            "type": "auth", "collectionId": USERS_COLLECTION, "id": user_record_id(user.id),
            "exp": super().claims(user)["exp"], "refreshable": False,
        }  # fmt: skip

    def key(self, user: DatasetUser) -> str:
        return token_key(user.id) + SECRET


class PocketBase(Dialect):
    """PocketBase's REST API. It has no counterpart to dashboards and charts."""

    name = "pocketbase"

    def __init__(self) -> None:
        super().__init__(PocketBaseTokens())

    def translate(self, call: HttpCall) -> HttpCall | None:
        table, query = split(call)
        records = f"/api/collections/{table}/records"
        if table not in COLUMNS:
            return None
        if call.method == "POST":
            return _insert(call, records)
        if "id" in query and query["id"].startswith("eq."):
            path = f"{records}/{record_id(query['id'][3:])}"
            if call.method == "PATCH":
                return replace(call, path=f"{path}?fields=id", prefer="")
            return replace(call, path=path)
        if call.method not in ("GET", "HEAD"):
            return None
        parameters = _list_parameters(call, query)
        if parameters is None:
            return None
        return replace(call, method="GET", path=f"{records}?{urlencode(parameters)}", prefer="")

    def read(self, call: HttpCall, answer: HttpAnswer) -> HttpAnswer:
        if answer.status != 200:
            return answer
        if call.method in ("POST", "PATCH"):
            return HttpAnswer(201 if call.method == "POST" else 204, None, b"")
        table, query = split(call)
        found = json.loads(answer.body)
        columns, embedded = select_of(query, table)
        rows = [row_of(each, columns, embedded) for each in found.get("items", [found])]
        total = found["totalItems"] if call.prefer == EXACT else None
        offset = int(query.get("offset", "0"))
        count = min(total or 0, ROWS_A_PAGE_MAX) if call.method == "HEAD" else len(rows)
        status = 206 if total is not None and offset + count < total else 200
        if offset and total is not None:
            status = 206
        span = f"{offset}-{offset + count - 1}" if count else "*"
        content_range = f"{span}/{'*' if total is None else total}"
        return HttpAnswer(status, content_range, json.dumps(rows).encode())


def split(call: HttpCall) -> tuple[str, dict[str, str]]:
    """Return the table and the query parameters of a call in PostgREST's dialect."""
    parts = urlsplit(call.path)
    return parts.path[1:], {name: values[0] for name, values in parse_qs(parts.query).items()}


def record_id(key: str | int) -> str:
    """Return the id of the record of a numeric key."""
    return f"{int(key):015d}"


def user_record_id(user_id: str) -> str:
    return user_id.replace("-", "")[:15]


def token_key(user_id: str) -> str:
    """Return a user's token key: 50 characters in PocketBase's users collection."""
    return (user_id.replace("-", "") * 2)[:50]


def _insert(call: HttpCall, records: str) -> HttpCall:
    """One record, or a batch of them in one transaction."""
    body = json.loads(call.body)
    if isinstance(body, dict):
        return replace(call, path=f"{records}?fields=id", prefer="", body=json.dumps(record(body)))
    requests = [{"method": "POST", "url": f"{records}?fields=id", "body": record(row)} for row in body]
    return replace(call, path="/api/batch", prefer="", body=json.dumps({"requests": requests}))


def record(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the API as a record."""
    found = {}
    for name, value in row.items():
        is_key = name == "id" or name in RELATIONS
        found[RELATIONS.get(name, name)] = record_id(value) if is_key else value
    return found


def _list_parameters(call: HttpCall, query: dict[str, str]) -> dict[str, str] | None:
    """Return the parameters of a list; None for an offset between two pages."""
    filters = [
        f"{RELATIONS.get(name, name)} {condition(name, value)}"
        for name, value in query.items()
        if name not in ("select", "order", "limit", "offset")
    ]
    limit = int(query.get("limit", ROWS_A_PAGE_MAX))
    page, rest = divmod(int(query.get("offset", "0")), limit)
    if rest:
        return None
    parameters = {"page": str(page + 1), "perPage": str(limit)}
    if filters:
        parameters["filter"] = " && ".join(filters)
    if "order" in query:
        parameters["sort"] = sort_of(query["order"])
    if call.prefer != EXACT:
        parameters["skipTotal"] = "1"
    if call.method == "HEAD":
        return parameters | {"perPage": "1", "fields": "id"}
    if "select" in query:
        table, _ = split(call)
        columns, embedded = select_of(query, table)
        names = ["*"] if query["select"].startswith("*") else [RELATIONS.get(c, c) for c in columns]
        names += [f"expand.{EXPANDS[e]}.{c}" for e, inner in embedded.items() for c in inner]
        parameters["fields"] = ",".join(names)
        if embedded:
            parameters["expand"] = ",".join(EXPANDS[each] for each in embedded)
    return parameters


def condition(name: str, value: str) -> str:
    operator, _, operand = value.partition(".")
    if name == "id" or name in RELATIONS:
        operand = record_id(operand)
    return f"{OPERATORS[operator]} '{operand}'"


def sort_of(order: str) -> str:
    """Return PocketBase's `sort`. The order by id alone is the order of insertion: new ids are random."""
    if order == "id":
        return "@rowid"
    keys = (key.partition(".") for key in order.split(","))
    return ",".join(f"-{name}" if direction == "desc" else name for name, _, direction in keys)


def select_of(query: dict[str, str], table: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns of a call's `select`, and the columns of each embedded relation."""
    columns: list[str] = []
    embedded: dict[str, list[str]] = {}
    for item in re.findall(r"([^,()]+)(?:\(([^)]*)\))?", query.get("select", "*")):
        if item[1]:
            embedded[item[0]] = item[1].split(",")
        else:
            columns += COLUMNS[table] if item[0] == "*" else [item[0]]
    return columns, embedded


def row_of(record: dict[str, Any], columns: list[str], embedded: dict[str, list[str]]) -> Any:
    """Return a record as a row of the API."""
    row = {name: value_of(name, record.get(RELATIONS.get(name, name))) for name in columns}
    for relation, inner in embedded.items():
        found = record.get("expand", {}).get(EXPANDS[relation])
        if relation == "reports_lead":
            row[relation] = [row_of(each, inner, {}) for each in found or []]
        else:
            row[relation] = row_of(found, inner, {}) if found else None
    return row


def value_of(name: str, value: Any) -> Any:
    """Return a field's value as the API prints it. PocketBase has empty texts in place of null."""
    if not isinstance(value, str):
        return value
    if value == "":
        return None
    if name == "id" or name in RELATIONS:
        return int(value) if value.isdecimal() else value
    if name == "date_visited":
        return value[:10]
    if name in ("created_at", "updated_at"):
        return f"{value[:10]}T{value[11:19]}+00:00"
    return value
