"""The list, the pages, the forms and the CSV file of every registered table, by role."""

import csv
import io
from collections.abc import Callable
from urllib.parse import quote

import pytest

from access.roles import GrantProfile
from engine.query.statement import Action
from routes.console.components.tables import all_tables, table_of
from tests.conftest import UNKNOWN_USER_ID
from tests.console.generic import ROLES, GenericPage, generic_pages, key_text, known_key
from tests.support.factories import RowFactory, key_filter, row_changes

pytestmark = pytest.mark.one_engine

PAGES = list(generic_pages())
TABLES = [each.name for each in all_tables()]
TYPED = [
    page.table.name for page in PAGES
    if page.suffix == "/new" and not page.table.presentation.has_own_forms and page.permits("root")
]  # fmt: skip
"""The tables with the generic form."""


@pytest.mark.parametrize("who", ROLES)
@pytest.mark.parametrize("page", PAGES, ids=[page.path for page in PAGES])
def test_generic_page_opens_for_permitted_roles_only(browse_shared: Callable, page: GenericPage, who: str) -> None:
    answer = browse_shared(who).get(page.path)

    if not page.permits(who):
        assert answer.status_code == 403
    elif "{key}" in page.suffix:
        assert answer.status_code in (200, 404)
    else:
        assert answer.status_code == 200


@pytest.mark.parametrize("name", TABLES)
def test_row_page_shows_visible_rows_only(browse_shared: Callable, api: Callable, name: str) -> None:
    table = table_of(name)
    key = known_key(table)
    filters = "&".join(f"{column}=eq.{value}" for column, value in zip(table.relation.key, key.split(","), strict=True))
    for who in ROLES:
        if table.permits_profile(GrantProfile(ROLES[who]), Action.READ):
            is_visible = bool(api(who).get(f"/{name}?{filters}").json)
            answer = browse_shared(who).get(f"/console{table.path}/{key}")
            assert answer.status_code == (200 if is_visible else 404), who


@pytest.mark.parametrize("name", TABLES)
def test_hidden_and_missing_rows_of_a_table_have_equal_responses(
    browse_shared: Callable, api: Callable, name: str
) -> None:
    table, visible = table_of(name), api("ada").get(f"/{name}").json
    missing = "999" if table.has_number else ",".join([UNKNOWN_USER_ID, "999"][: len(table.relation.key)])
    hidden = [key_text(table, row) for row in api("root").get(f"/{name}").json if row not in visible]
    ada = browse_shared("ada")

    answers = [ada.get(f"/console{table.path}/{key}") for key in (missing, *hidden)]

    assert {answer.status_code for answer in answers} == {404}
    assert {answer.text for answer in answers} == {answers[0].text}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("who", ROLES)
def test_list_and_csv_have_the_rows_of_the_api(browse_shared: Callable, api: Callable, name: str, who: str) -> None:
    table = table_of(name)
    if not table.permits_profile(GrantProfile(ROLES[who]), Action.READ) or name == "audit_log":
        return
    expected = {tuple(str(row[each]) for each in table.relation.key) for row in api(who).get(f"/{name}").json}

    page = browse_shared(who).page(f"/console{table.path}")
    rows = list(csv.reader(io.StringIO(browse_shared(who).get(f"/console{table.path}.csv").text.lstrip("\ufeff"))))

    places = [rows[0].index(each) for each in table.relation.key]
    assert {tuple(row[place] for place in places) for row in rows[1:]} == expected
    assert page.partition("<tbody>")[2].count("<tr>") == len(expected)
    assert set(table.shown_columns) <= set(rows[0])


def as_typed(row: dict[str, object]) -> dict[str, str]:
    return {column: str(value) for column, value in row.items()}


@pytest.mark.parametrize("name", TYPED)
def test_create_edit_and_delete_a_row(browse: Callable, api: Callable, name: str) -> None:
    root, path, factory = browse("root"), f"/console{table_of(name).path}", RowFactory(api)
    new = {
        column: text
        for column, text in as_typed(factory.body(name)).items()
        if column not in table_of(name).presentation.without_field
    }

    made = root.fill_in(f"{path}/new", new)
    assert f"{table_of(name).label} created." in root.page(made.headers["Location"])
    order = ",".join(f"{each}.desc" for each in table_of(name).relation.key)
    [row] = api("root").get(f"/{name}?order={order}&limit=1").json
    page, key = f"{path}/{quote(key_text(table_of(name), row))}", key_filter(name, row)
    change = as_typed(row_changes(name, new, table_of(name).presentation.without_field))
    assert root.fill_in(f"{page}/edit", change).status_code == 303
    (row,) = api("root").get(f"/{name}?{key}").json
    assert as_typed({column: row[column] for column in new}) == {**new, **change}

    assert ">Delete</button>" in root.page(f"{page}/delete")
    assert root.send(f"{page}/delete").status_code == 303
    assert root.get(page).status_code == 404


@pytest.mark.parametrize(("who", "offered"), [("root", True), ("ada", False), ("moe", False)])
@pytest.mark.parametrize("name", ["clients", "inspectors"])
def test_links_to_forms_match_the_privileges(browse_shared: Callable, name: str, who: str, offered: bool) -> None:
    listed, page = browse_shared(who).page(f"/console/{name}"), browse_shared(who).page(f"/console/{name}/1")

    assert (f'href="/console/{name}/new"' in listed) is offered
    assert (f'href="/console/{name}/1/edit"' in page) is offered
    assert (f'href="/console/{name}/1/delete"' in page) is offered


def test_page_lists_rows_that_refer_to_it(browse_shared: Callable) -> None:
    client, inspector = (browse_shared("root").page(f"/console/{each}/1") for each in ("clients", "inspectors"))

    assert "/console/buildings?client_id=eq.1" in client
    assert "Harbor House" in client
    assert "/console/inspections?inspector_id=eq.1" in inspector
    assert "Harbor House" in inspector


def test_deletion_of_a_client_with_rows_is_blocked(browse: Callable) -> None:
    root = browse("root")

    page = root.page("/console/clients/1/delete")

    assert "4 buildings" in page
    assert ">Delete</button>" not in page
    assert root.send("/console/clients/1/delete", form="/console/").status_code == 409


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ({"latitude": "90.5"}, "Latitude is at most 90."),
        ({"longitude": "-181"}, "Longitude is at least -180."),
        ({"floors": "-1"}, "Floors is at least 0."),
        ({"name": ""}, "Name is required."),
    ],
)
def test_value_out_of_bounds_is_a_problem_of_the_form(browse: Callable, typed: dict[str, str], text: str) -> None:
    answer = browse("root").send("/console/buildings/1/edit", {"name": "x", "client_id": "1", **typed})

    assert answer.status_code == 400
    assert text in answer.text


def test_form_has_bounds_examples_and_help(browse_shared: Callable) -> None:
    page = browse_shared("root").page("/console/buildings/new")

    for text in ('min="-90"', 'max="90"', 'placeholder="Portland"', "Degrees north.", 'step="any"', 'step="1"'):
        assert text in page


def test_other_value_of_a_select_is_saved(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    path = "/console/inspections/1/edit"

    other = {"inspection_type": "other…", "inspection_type.other": "boiler"}
    assert ada.fill_in(path, other).status_code == 303
    assert api("ada").get("/inspections?id=eq.1&select=inspection_type").json == [{"inspection_type": "boiler"}]
    assert 'value="boiler"' in ada.page(path)
    assert ada.fill_in(path, {"inspection_type": "annual"}).status_code == 303
    assert api("ada").get("/inspections?id=eq.1&select=inspection_type").json == [{"inspection_type": "annual"}]


@pytest.mark.parametrize("status", ["scheduled", "completed"])
def test_planned_or_made_visit_needs_a_date(browse: Callable, api: Callable, status: str) -> None:
    ada, text = browse("ada"), f"A {status} inspection needs a date."
    given = {"building_id": "1", "inspection_type": "fire", "status": status}

    refused = ada.send("/console/inspections/new", given)
    assert (refused.status_code, text in refused.text) == (400, True)
    assert ada.send("/console/inspections/new", {**given, "date_visited": "2026-02-03"}).status_code == 303

    edited = ada.fill_in("/console/inspections/1/edit", {"status": status, "date_visited": ""})
    assert (edited.status_code, text in edited.text) == (400, True)
    api("root").patch("/inspections?id=eq.1", {"status": "failed", "date_visited": None})
    changed = ada.send("/console/inspections/1/status", {"status": status}, form="/console/inspections/1")
    assert (changed.status_code, text in changed.text) == (400, True)
    assert ada.fill_in("/console/inspections/1/edit", {"notes": "still failed"}).status_code == 303


def test_reference_is_found_by_name_if_there_are_many(
    browse: Callable, api: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("routes.console.components.row_choice.CHOICES_MAX", 1)
    ada = browse("ada")

    made = ada.send("/console/inspections/new", {"building_id": "mill court", "inspection_type": "fire"})
    key = made.headers["Location"].partition("?")[0].rpartition("/")[2]
    assert api("ada").get(f"/inspections?id=eq.{key}&select=building_id").json == [{"building_id": 2}]

    unknown = ada.send("/console/inspections/new", {"building_id": "nowhere", "inspection_type": "fire"})
    assert (unknown.status_code, "no row has this name" in unknown.text) == (400, True)


@pytest.mark.parametrize("who", ROLES)
def test_suggestions_open_for_permitted_roles_only(browse_shared: Callable, who: str) -> None:
    lists = [page for page in PAGES if page.suffix == ""]

    answers = {page.path: browse_shared(who).get(f"{page.path}/suggest?q=a").status_code for page in lists}

    assert answers == {page.path: 200 if page.permits(who) else 403 for page in lists}


def test_child_forms_stay_on_the_page_of_the_parent(browse: Callable) -> None:
    ada = browse("ada")

    made = ada.fill_in("/console/reports_lead/new?inspection_id=2", {"gun_id": "5", "lead_mg_cm2": "0.3"})

    assert made.headers["Location"].startswith("/console/inspections/2")
