"""The protocol of function calls: names, spellings, methods, media types and preferences."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, MIA, MOE

pytestmark = pytest.mark.one_engine

CHECK = "check_building_access_v2"
CHART = "get_building_stats_chart_fast"
ASSIGN = "assign_to_client_manager"
CHECK_ARGUMENTS = {"p_building_id": 1, "p_user_id": MOE}
CHECK_QUERY = f"/rpc/{CHECK}?p_building_id=1&p_user_id={MOE}"
GRANTED = {"manager_id": MIA, "building_ids": [1], "inspection_ids": []}


# ── what is not found ────────────────────────────────────────────────────────────────────────────────────

# method, path, body: message, details' middle, hint
NOT_FOUND = [
    (
        "GET", "/rpc/get_building_stats", None,
        "public.get_building_stats without parameters",
        "public.get_building_stats without parameters",
        "public.get_building_stats(building_id)",
    ),
    (
        "GET", "/rpc/get_building_stats?zoo=2&building_id=1", None,
        "public.get_building_stats(building_id, zoo)",
        "public.get_building_stats with parameters building_id, zoo",
        "public.get_building_stats(building_id)",
    ),
    (
        "POST", f"/rpc/{CHECK}", {"p_building_id": 1},
        f"public.{CHECK}(p_building_id)",
        f"public.{CHECK} with parameter p_building_id or with a single unnamed json/jsonb parameter",
        f"public.{CHECK}(p_building_id, p_user_id)",
    ),
    (
        "POST", f"/rpc/{CHECK}", {"p_p_building_id": 1, "user_id": MOE},
        f"public.{CHECK}(p_p_building_id, user_id)",
        f"public.{CHECK} with parameters p_p_building_id, user_id or with a single unnamed json/jsonb parameter",
        f"public.{CHECK}(p_building_id, p_user_id)",
    ),
    (
        "GET", "/rpc/get_building_stat?building_id=1", None,
        "public.get_building_stat(building_id)",
        "public.get_building_stat with parameter building_id",
        "public.get_building_stats",
    ),
    ("GET", "/rpc/", None, "public. without parameters", "public. without parameters", None),
    ("GET", "/rpc/pg_sleep?n=1", None, "public.pg_sleep(n)", "public.pg_sleep with parameter n", None),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "called", "searched", "hint"), NOT_FOUND)
def test_unknown_function_error_matches_postgrest(
    api: Callable, method: str, path: str, body: object, called: str, searched: str, hint: str | None
) -> None:
    response = api("ada").send(method, path, body)

    assert response.status == 404
    assert response.json == {
        "code": "PGRST202",
        "message": f"Could not find the function {called} in the schema cache",
        "details": f"Searched for the function {searched}, but no matches were found in the schema cache.",
        "hint": f"Perhaps you meant to call the function {hint}" if hint else None,
    }


def test_anonymous_caller_learns_no_function_names(api: Callable) -> None:
    there = api("nobody").rpc(CHECK, CHECK_ARGUMENTS)
    missing = api("nobody").rpc("pg_sleep")

    assert (there.status, there.code) == (missing.status, missing.code) == (401, "42501")


# ── methods ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("name", [CHECK, ASSIGN, "pg_sleep"])
def test_unsupported_methods_are_refused(api: Callable, name: str, method: str) -> None:
    response = api("ada").send(method, f"/rpc/{name}", {})

    assert response.refusal == (405, "PGRST101", f"Cannot use the {method} method on RPC")


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_volatile_function_refuses_get(api: Callable, who: str) -> None:
    response = api(who).get(f"/rpc/{ASSIGN}?manager_id={MIA}&building_ids={{1}}&inspection_ids={{}}")

    assert response.refusal == (405, "PGRST101", "Cannot use the GET method on RPC")
    assert response.headers["Allow"] == "OPTIONS, POST"


def test_head_equals_get_without_body(api: Callable) -> None:
    response = api("ada").head(CHECK_QUERY)

    assert (response.status, response.text) == (200, "")
    assert response.headers["Content-Range"] == "0-0/*"


@pytest.mark.parametrize(("name", "allowed"), [(CHECK, "OPTIONS,GET,HEAD,POST"), (ASSIGN, "OPTIONS,POST")])
def test_options_lists_methods_publicly(api: Callable, name: str, allowed: str) -> None:
    response = api("nobody").send("OPTIONS", f"/rpc/{name}")

    assert (response.status, response.text) == (200, "")
    assert response.headers["Allow"] == allowed


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────


def test_form_equals_json(api: Callable) -> None:
    response = api("ada").post(
        f"/rpc/{CHECK}", f"p_building_id=1&user_id={MOE}", content_type="application/x-www-form-urlencoded"
    )

    assert (response.status, response.json) == (200, True)


def test_form_arrays_are_literals(api: Callable) -> None:
    response = api("ada").post(
        f"/rpc/{ASSIGN}",
        f'manager_id={MIA}&building_ids={{1,"2"}}&inspection_ids={{}}',
        content_type="application/x-www-form-urlencoded",
    )

    assert response.json["assigned_buildings"] == 2


@pytest.mark.parametrize("body", ["", " \n", "null", " null\n"], ids=repr)
def test_empty_body_has_no_arguments(api: Callable, body: str) -> None:
    assert api("ada").post("/rpc/get_inspections_dashboard_summary_fast", body).status == 200
    assert api("ada").post("/rpc/get_building_stats", body).code == "PGRST202"


def test_array_of_objects_is_refused(api: Callable) -> None:
    response = api("ada").post("/rpc/get_building_stats", [{"building_id": 1}])

    assert response.refusal == (400, "PGRST102", "A JSON object is expected")


def test_last_repeated_parameter_applies(api: Callable) -> None:
    response = api("ada").get("/rpc/get_building_stats?building_id=1&building_id=2")

    assert response.json["building_id"] == 2


def test_same_value_in_both_spellings_is_accepted(api: Callable) -> None:
    arguments = {"building_id": "1", "p_building_id": 1, "user_id": MOE.upper(), "p_user_id": MOE}

    assert api("ada").rpc(CHECK, arguments).json is True


def test_different_values_in_both_spellings_are_refused(api: Callable) -> None:
    response = api("ada").rpc(CHECK, {**CHECK_ARGUMENTS, "building_id": 2})

    assert response.json == {
        "code": "22023",
        "message": 'the parameter "building_id" is given twice with different values',
        "details": None,
        "hint": 'Give either "building_id" or "p_building_id".',
    }


def test_absent_spelling_does_not_conflict(api: Callable) -> None:
    response = api("ada").rpc(CHART, {"start_date": None, "p_start_date": "2025-01-01"})

    assert response.json["start_date"] == "2025-01-01"


# body of a POST, its code
WRONG_VALUES = [
    ({"p_building_id": "x", "p_user_id": MOE}, '22P02 invalid input syntax for type bigint: "x"'),
    ({"p_building_id": None, "p_user_id": MOE}, '22P02 invalid input syntax for type bigint: "null"'),
    ({"p_building_id": True, "p_user_id": MOE}, '22P02 invalid input syntax for type bigint: "true"'),
    ({"p_building_id": 1, "p_user_id": "x"}, '22P02 invalid input syntax for type uuid: "x"'),
    ({"p_building_id": 2**63, "p_user_id": MOE}, f'22003 value "{2**63}" is out of range for type bigint'),
]


@pytest.mark.parametrize(("body", "reported"), WRONG_VALUES, ids=[reported for _, reported in WRONG_VALUES])
def test_invalid_value_messages_match_postgresql(api: Callable, body: dict, reported: str) -> None:
    response = api("ada").rpc(CHECK, body)

    assert (response.status, f"{response.code} {response.message}") == (400, reported)


def test_filter_on_scalar_is_unknown_column(api: Callable) -> None:
    response = api("ada").post(f"/rpc/{ASSIGN}?building_id=eq.1&limit=1", GRANTED)

    assert response.refusal == (400, "42703", f"column {ASSIGN}.building_id does not exist")
    assert api("mia").get("/buildings?select=id").json == []


@pytest.mark.parametrize("value", [5, 1.5, True, [], {}, ["2025-01-01"]], ids=repr)
def test_non_text_date_is_invalid(api: Callable, value: object) -> None:
    response = api("ada").rpc(CHART, {"start_date": value})

    assert (response.status, response.code) == (400, "22P02")
    assert response.json["message"].startswith("invalid input syntax for type date: ")


def test_post_query_holds_filters(api: Callable) -> None:
    response = api("ada").post(f"/rpc/{CHECK}?building_id=1", CHECK_ARGUMENTS)

    assert response.refusal == (400, "PGRST100", '"failed to parse filter (1)" (line 1, column 1)')


# other query parameters of a GET, with filter syntax
FILTERS_OF_A_GET = [
    ("&z=eq.1", 400, "42703"),
    ("&z=not.in.(1,2)", 400, "42703"),
    ("&z=in.(1", 404, "PGRST202"),
    ("&z=1", 404, "PGRST202"),
]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("more", "status", "code"), FILTERS_OF_A_GET)
def test_get_filter_is_not_a_parameter(api: Callable, method: str, more: str, status: int, code: str) -> None:
    response = api("ada").send(method, CHECK_QUERY + more)

    assert response.status == status
    assert response.headers["Proxy-Status"] == f"PostgREST; error={code}"


def test_get_parameter_in_filter_syntax_is_a_filter(api: Callable) -> None:
    response = api("ada").get("/rpc/get_building_stats?building_id=eq.1")

    assert (response.status, response.code) == (404, "PGRST202")


def test_post_query_may_hold_reserved_parameters(api: Callable) -> None:
    response = api("ada").post(f"/rpc/{CHECK}?select=*&order=id&limit=0&offset=7", CHECK_ARGUMENTS)

    assert (response.status, response.json) == (200, True)


def test_unknown_schema_is_refused(api: Callable) -> None:
    response = api("ada").rpc(CHECK, CHECK_ARGUMENTS, headers={"Content-Profile": "private"})

    assert (response.status, response.code) == (406, "PGRST106")


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────

# Accept, Content-Type, the body of a boolean
MEDIA = [
    (None, "application/json; charset=utf-8", "true"),
    ("*/*", "application/json; charset=utf-8", "true"),
    ("application/vnd.pgrst.object+json", "application/vnd.pgrst.object+json; charset=utf-8", "true"),
    ("text/csv", "text/csv; charset=utf-8", "pgrst_scalar\nt"),
]


@pytest.mark.parametrize(("accept", "content_type", "body"), MEDIA)
def test_boolean_result_is_bare_json(api: Callable, accept: str | None, content_type: str, body: str) -> None:
    response = api("ada").get(CHECK_QUERY, headers={"Accept": accept})

    assert (response.status, response.text) == (200, body)
    assert response.headers["Content-Type"] == content_type
    assert response.headers["Content-Range"] == "0-0/*"
    assert "Preference-Applied" not in response.headers


def test_object_result_is_one_csv_cell(api: Callable) -> None:
    response = api("ada").get(f"/rpc/explain_building_access?p_building_id=2&p_user_id={MIA}", accept="text/csv")

    assert response.text == 'pgrst_scalar\n"{""allowed"": false, ""reasons"": []}"'


def test_stripped_result_has_no_nulls(api: Callable) -> None:
    response = api("ada").get(
        f"/rpc/explain_building_access?p_building_id=2&p_user_id={ADA}",
        accept="application/vnd.pgrst.object+json;nulls=stripped",
    )

    assert response.text == '{"allowed":true,"reasons":[{"rule":"client_ownership"}]}'


def test_unsupported_media_type_is_refused(api: Callable) -> None:
    response = api("ada").get(CHECK_QUERY, accept="image/png")

    assert (response.status, response.code) == (406, "PGRST107")


@pytest.mark.parametrize("count", ["exact", "planned", "estimated"])
def test_count_of_scalar_is_one(api: Callable, count: str) -> None:
    response = api("ada").rpc(CHECK, CHECK_ARGUMENTS, prefer=f"count={count},return=minimal,tx=rollback")

    assert (response.status, response.text) == (200, "true")
    assert response.headers["Content-Range"] == "0-0/1"
    assert response.headers["Preference-Applied"] == f"count={count}, tx=rollback"


def test_rollback_returns_result_and_stores_nothing(api: Callable) -> None:
    response = api("ada").rpc(ASSIGN, GRANTED, prefer="tx=rollback")

    assert response.json["assigned_buildings"] == 1
    assert response.headers["Preference-Applied"] == "tx=rollback"
    assert api("mia").get("/buildings?select=id").json == []


def test_strict_max_affected_is_refused(api: Callable) -> None:
    response = api("ada").rpc(ASSIGN, GRANTED, prefer="handling=strict,max-affected=1")

    assert (response.status, response.code) == (400, "PGRST128")
    assert api("mia").get("/buildings?select=id").json == []


def test_result_keys_keep_their_order(api: Callable) -> None:
    dashboard = api("moe").rpc("get_inspections_dashboard_summary_fast").json
    chart = api("moe").rpc(CHART, {"start_date": "2025-04-10", "end_date": "2025-04-10"}).json
    stats = api("moe").rpc("get_building_stats", {"building_id": 1}).json

    assert list(dashboard) == [
        "total_inspections", "total_buildings", "by_status", "by_type", "overdue", "upcoming",
        "completed_this_month", "last_inspection", "next_inspection", "open_findings", "findings_overdue",
        "generated_at", "today", "timezone",
    ]  # fmt: skip
    assert list(chart) == ["start_date", "end_date", "interval", "series", "buildings"]
    assert list(chart["series"][0]) == ["period", "total", "by_status"]
    assert list(chart["buildings"][0]) == ["building_id", "name", "total", "completed", "failed"]
    assert list(stats) == [
        "building_id", "name", "total_inspections", "by_status", "by_type", "last_inspection",
        "next_inspection", "overdue", "completion_rate", "failure_rate", "lead",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 404),
        ("?columns=", 404),
        ("?columns=building_id", 200),
        ('?columns="building_id"', 200),
        ("?columns=building_id,more", 404),
        ("?columns=building_id&columns=more", 200),
        ("?columns=more", 404),
        ("?columns=(", 400),
        ("?columns=building_id&on_conflict=id", 200),
    ],
)
def test_columns_select_body_arguments(api: Callable, query: str, status: int) -> None:
    response = api("root").post(f"/rpc/get_building_stats{query}", {"building_id": 1, "more": 2})

    assert response.status == status, response.text


def test_columns_are_ignored_by_get(api: Callable) -> None:
    path = "/rpc/get_building_stats?building_id=1&columns=more"

    assert api("root").get(path).status == 200


def test_selected_missing_argument_is_null(api: Callable) -> None:
    for body in ({}, None):
        response = api("root").post("/rpc/get_building_stats?columns=building_id", body)

        assert (response.status, response.code) == (400, "22P02"), response.text
