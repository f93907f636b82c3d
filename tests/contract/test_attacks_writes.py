"""Attack catalogue, group W: writing foreign rows. Marks name the entries.

W16 and W17 need concurrent requests; tests/http covers them.
"""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, RESOURCES, ROOT, Response, dump, ids, privilege, rule

NEW_BUILDING = {"name": "New", "client_id": 1}
NEW_INSPECTION = {"building_id": 1, "inspection_type": "x"}


def unchanged_after(
    api: Callable, who: str, method: str, path: str, body: object = None, **options: object
) -> Response:
    """Send a request, check that it wrote nothing, and return the response."""
    before = dump(api)
    response = api(who).send(method, path, body, **options)
    assert dump(api) == before
    return response


# ── W01-W06: reach ───────────────────────────────────────────────────────────────────────────────────────


# malformed requests for which the privilege is checked first
MALFORMED_REQUESTS = [
    ("POST", "", "{"),
    ("POST", "?select=nope", {"nope": 1}),
    ("POST", "?columns=nope", [{"id": "x"}]),
    ("PATCH", "", {"nope": 1}),
    ("PATCH", "?nope=foo.1", "{"),
    ("PATCH", "?id=eq.abc", {}),
    ("PUT", "", {}),
    ("PUT", "?id=eq.1", {"id": 2}),
    ("DELETE", "", None),
    ("DELETE", "?id=eq.999", None),
]


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.parametrize(("method", "query", "body"), MALFORMED_REQUESTS)
@pytest.mark.attack(entry="W01")
def test_manager_is_refused_before_the_row_is_read(
    unchanging_api: Callable, table: str, method: str, query: str, body: object
) -> None:
    response = unchanging_api("moe").send(method, f"/{table}{query}", body)

    assert response.refusal == privilege(table)


@pytest.mark.attack(entry="W02")
def test_building_of_a_foreign_client_is_refused(api: Callable) -> None:
    response = unchanged_after(api, "ada", "POST", "/buildings", {"name": "N", "client_id": 2})

    assert response.refusal == rule("buildings")


@pytest.mark.parametrize("body", [{"name": "N", "client_id": None}, {"name": "N"}], ids=["null", "absent"])
@pytest.mark.attack(entry="W02")
def test_building_without_a_client_is_refused(api: Callable, body: dict) -> None:
    response = unchanged_after(api, "ada", "POST", "/buildings", body)

    assert (response.status, response.code) == (403, "42501")


@pytest.mark.parametrize("client", ["abc", "1.0", 1.5, True, [], {}], ids=repr)
@pytest.mark.attack(entry="W02")
def test_client_id_must_be_an_integer(api: Callable, client: object) -> None:
    body = {"name": "N", "client_id": client}

    response = unchanged_after(api, "ada", "POST", "/buildings", body)

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.attack(entry="W02")
def test_client_id_with_zero_fraction_is_refused(api: Callable) -> None:
    response = unchanged_after(api, "ada", "POST", "/buildings", '{"name": "N", "client_id": 1.0}')

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/buildings?id=eq.1", {"client_id": 2}),
        ("/inspections?id=eq.1", {"building_id": 4}),
        ("/inspections?id=eq.1", {"building_id": 5}),
    ],
)
@pytest.mark.attack(entry="W03")
def test_rule_applies_to_the_new_row(api: Callable, path: str, change: dict) -> None:
    response = unchanged_after(api, "ada", "PATCH", path, change)

    assert response.refusal == rule(path.strip("/").partition("?")[0])


@pytest.mark.parametrize("path", ["/buildings?id=eq.4", "/buildings?id=eq.5", "/buildings?client_id=eq.2"])
@pytest.mark.attack(entry="W04")
def test_foreign_row_cannot_be_moved_to_own_client(api: Callable, path: str) -> None:
    response = unchanged_after(api, "ada", "PATCH", path, {"client_id": 1}, prefer="return=representation")

    assert (response.status, response.json) == (200, [])


@pytest.mark.attack(entry="W04")
def test_delete_of_all_users_takes_own_managers_only(api: Callable) -> None:
    response = api("ada").delete("/users?id=not.is.null&select=id", prefer="return=representation")

    assert ids(response) == {MOE, MIA}
    assert ids(api("root").get("/users?select=id")) == {ROOT, ADA, BOB, MAX}


BULKS = [
    ("own-foreign", [NEW_BUILDING, {"name": "N", "client_id": 2}]),
    ("foreign-own", [{"name": "N", "client_id": 2}, NEW_BUILDING]),
    ("thousand-last-foreign", [NEW_BUILDING] * 999 + [{"name": "N", "client_id": 2}]),
]


@pytest.mark.parametrize("rows", [rows for _, rows in BULKS], ids=[id_ for id_, _ in BULKS])
@pytest.mark.attack(entry="W05")
def test_one_foreign_row_refuses_the_bulk(api: Callable, rows: list) -> None:
    response = unchanged_after(api, "ada", "POST", "/buildings", rows)

    assert response.refusal == rule("buildings")


@pytest.mark.attack(entry="W05")
def test_one_foreign_row_refuses_the_csv(api: Callable) -> None:
    text = "name,client_id\n" + "New,1\n" * 999 + "Foreign,2\n"

    response = unchanged_after(api, "ada", "POST", "/buildings", text, content_type="text/csv")

    assert response.refusal == rule("buildings")


@pytest.mark.attack(entry="W05")
def test_one_invalid_value_refuses_the_bulk(api: Callable) -> None:
    rows = [{**NEW_BUILDING, "floors": floors} for floors in (2, "many")]
    text = "name,client_id,floors\nA,1,2\nB,1,many\n"

    as_json = unchanged_after(api, "ada", "POST", "/buildings", rows)
    as_csv = unchanged_after(api, "ada", "POST", "/buildings", text, content_type="text/csv")

    assert (as_json.status, as_json.code) == (400, "22P02")
    assert (as_csv.status, as_csv.code) == (400, "22P02")


@pytest.mark.attack(entry="W06")
def test_one_row_leaving_the_callers_scope_refuses_all(api: Callable) -> None:
    table = "client_manager_building_access"
    api("root").post(f"/{table}", {"manager_id": MIA, "building_id": 2})  # signed by root

    response = unchanged_after(
        api, "ada", "PATCH", f"/{table}?building_id=in.(1,2)", {"assigned_at": "2026-01-01T00:00:00Z"}
    )

    assert response.refusal == rule(table)


# ── W07-W12: malformed and too broad ─────────────────────────────────────────────────────────────────────


@pytest.mark.attack(entry="W07")
def test_put_of_another_id_than_the_filters_is_refused(api: Callable) -> None:
    body = {"id": 2, **NEW_BUILDING}

    response = unchanged_after(api, "root", "PUT", "/buildings?id=eq.1", body)

    assert (response.status, response.code) == (400, "PGRST115")


@pytest.mark.parametrize(
    "query", ["", "?id=gt.1", "?id=in.(1)", "?id=eq.1&name=eq.x", "?name=eq.x", "?or=(id.eq.1,id.eq.2)"]
)
@pytest.mark.attack(entry="W07")
def test_put_needs_exactly_the_key(api: Callable, query: str) -> None:
    body = {"id": 1, **NEW_BUILDING}

    response = unchanged_after(api, "root", "PUT", f"/buildings{query}", body)

    assert (response.status, response.code) == (405, "PGRST105")


@pytest.mark.parametrize("body", [[], [{"id": 1, **NEW_BUILDING}] * 2], ids=["none", "two"])
@pytest.mark.attack(entry="W07")
def test_put_takes_one_row(api: Callable, body: list) -> None:
    response = unchanged_after(api, "root", "PUT", "/buildings?id=eq.1", body)

    assert response.status == 400


@pytest.mark.parametrize(
    "body",
    [
        {**NEW_BUILDING, "nope": 1},
        {**NEW_BUILDING, "clients": {"id": 1}},
        {**NEW_BUILDING, "inspections": []},
        {**NEW_BUILDING, "password_hash": "x"},
        {**NEW_BUILDING, "rowid": 1},
    ],
    ids=lambda body: list(body)[-1],
)
@pytest.mark.attack(entry="W08")
def test_unknown_column_is_refused(api: Callable, body: dict) -> None:
    response = unchanged_after(api, "root", "POST", "/buildings", body)

    assert (response.status, response.code) == (400, "PGRST204")


@pytest.mark.attack(entry="W08")
def test_hidden_column_of_inspections_is_unknown(api: Callable) -> None:
    body = {**NEW_INSPECTION, "building_id": 4, "client_id": 1}

    response = unchanged_after(api, "ada", "POST", "/inspections", body)

    assert (response.status, response.code) == (400, "PGRST204")


@pytest.mark.attack(entry="W08")
def test_columns_with_an_unknown_name_is_refused(api: Callable) -> None:
    response = unchanged_after(api, "ada", "POST", "/buildings?columns=name,nope", NEW_BUILDING)

    assert (response.status, response.code) == (400, "PGRST204")


@pytest.mark.parametrize("client", [1, 2])
@pytest.mark.attack(entry="W08")
def test_columns_does_not_skip_the_rule(api: Callable, client: int) -> None:
    body = {"name": "N", "client_id": client}

    response = unchanged_after(api, "ada", "POST", "/buildings?columns=name", body)

    assert (response.status, response.code) == (403, "42501")


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@pytest.mark.parametrize(
    "body", ['"str"', "5", "null", "true", "[[]]", "[1]", "[null]", '["x"]', "[{}, 1]"], ids=lambda body: f"body-{body}"
)
@pytest.mark.attack(entry="W09")
def test_body_must_be_rows(api: Callable, method: str, body: str) -> None:
    response = unchanged_after(api, "root", method, "/buildings?id=eq.1", body)

    assert (response.status, response.code) == (400, "PGRST102")


@pytest.mark.attack(entry="W09")
def test_empty_array_writes_nothing(api: Callable) -> None:
    response = unchanged_after(api, "ada", "POST", "/buildings", [], prefer="return=representation")

    assert (response.status, response.json) == (201, [])


TOO_BROAD = [
    "",
    "?select=id",
    "?order=id",
    "?limit=1&order=id",
    "?select=id,buildings(id)&buildings.id=eq.1",
    "?select=id,buildings(id)&buildings.or=(id.eq.1,id.eq.2)",
    "?columns=notes",
]


@pytest.mark.parametrize("who", ["root", "service", "ada"])
@pytest.mark.parametrize("query", TOO_BROAD)
@pytest.mark.parametrize(("method", "word"), [("PATCH", "UPDATE"), ("DELETE", "DELETE")])
@pytest.mark.attack(entry="W10")
def test_write_without_a_filter_is_refused(
    unchanging_api: Callable, method: str, word: str, query: str, who: str
) -> None:
    body = {"notes": "x"} if method == "PATCH" else None

    response = unchanged_after(unchanging_api, who, method, f"/inspections{query}", body)

    assert response.refusal == (400, "21000", f"{word} requires a WHERE clause")


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize("query", ["id=gt.0&status%3Deq.failed", "id=eq.1&status", "status&id=eq.1"])
@pytest.mark.attack(entry="W10")
def test_write_with_parameter_without_equals_is_refused(api: Callable, method: str, query: str) -> None:
    """A read ignores a parameter without `=`, as PostgREST does. In a write it may be a malformed filter."""
    body = {"notes": "x"} if method == "PATCH" else None

    response = unchanged_after(api, "root", method, f"/inspections?{query}", body)

    assert (response.status, response.code) == (400, "PGRST100")
    assert "without '='" in response.message
    assert api("root").get(f"/inspections?{query}").status == 200


@pytest.mark.attack(entry="W10")
def test_empty_parameter_is_not_a_filter(api: Callable) -> None:
    assert api("root").delete("/inspections?&id=eq.1&").status == 204


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.attack(entry="W11")
def test_more_rows_than_max_affected_change_nothing(api: Callable, method: str) -> None:
    body = {"notes": "x"} if method == "PATCH" else None

    response = unchanged_after(
        api, "root", method, "/inspections?id=in.(1,2)", body, prefer="handling=strict, max-affected=1"
    )

    assert (response.status, response.code) == (400, "PGRST124")


@pytest.mark.attack(entry="W11")
def test_as_many_rows_as_max_affected_are_changed(api: Callable) -> None:
    response = api("root").delete("/inspections?id=in.(1,2)", prefer="handling=strict, max-affected=2")

    assert response.status == 204
    assert ids(api("root").get("/inspections?select=id&id=lte.3")) == {3}


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.attack(entry="W11")
def test_limit_without_order_is_refused(api: Callable, method: str) -> None:
    body = {"notes": "x"} if method == "PATCH" else None

    response = unchanged_after(api, "root", method, "/inspections?id=gt.0&limit=2", body)

    assert (response.status, response.code) == (400, "PGRST109")


@pytest.mark.attack(entry="W11")
def test_limit_with_order_takes_exactly_those_rows(api: Callable) -> None:
    response = api("root").delete("/inspections?id=gt.0&limit=2&order=id.desc")

    assert response.status == 204
    assert ids(api("root").get("/inspections?select=id")) == {1, 2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize("query", ["idd=eq.1", "id.eq=1", "id=1", "id=", "and=()", "or=()", "id", "=eq.1", "id=eq"])
@pytest.mark.attack(entry="W12")
def test_misspelled_filter_deletes_nothing(unchanging_api: Callable, query: str) -> None:
    response = unchanged_after(unchanging_api, "root", "DELETE", f"/reports_lead?{query}")

    assert response.status == 400


@pytest.mark.attack(entry="W12")
def test_two_filters_on_a_column_are_combined(unchanging_api: Callable) -> None:
    response = unchanged_after(
        unchanging_api, "root", "DELETE", "/reports_lead?id=eq.1&id=eq.2", prefer="return=representation"
    )

    assert (response.status, response.json) == (200, [])
