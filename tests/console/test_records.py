"""Create, edit and delete inspections and buildings; stored markup is escaped."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA, MIA, MOE
from tests.console.inspection_rows import TODAY, set_clock

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

SCRIPT = '<script>alert("x")</script>'


def test_create_edit_and_delete_inspection(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    made = ada.send(
        "/console/inspections/new",
        {"building_id": "2", "inspection_type": "fire", "date_visited": "2026-02-03", "inspector_id": "1"},
    )  # fmt: skip
    path = made.headers["Location"].partition("?")[0]
    key = path.rpartition("/")[2]
    ada.send(f"{path}/status", {"status": "failed"}, form=path)
    ada.send(f"{path}/edit", {"building_id": "3", "inspection_type": "lead", "notes": "c"})

    columns = "building_id,inspection_type,date_visited,status,inspector_id,notes"
    assert api("ada").get(f"/inspections?id=eq.{key}&select={columns}").json == [
        {
            "building_id": 3,
            "inspection_type": "lead",
            "date_visited": None,
            "status": None,
            "inspector_id": None,
            "notes": "c",
        }
    ]  # fmt: skip
    assert ada.send(f"{path}/delete").status_code == 303
    assert ada.get(path).status_code == 404


def test_new_inspection_is_scheduled_today(app: object, browse: Callable) -> None:
    set_clock(app)
    ada = browse("ada")

    page, given = ada.page("/console/inspections/new"), ada.page("/console/inspections/new?date_visited=2026-05-01")
    assert f'value="{TODAY}"' in page
    assert '<option value="scheduled" selected>' in page
    assert 'value="2026-05-01"' in given


def test_invalid_form_is_returned_with_its_input(browse: Callable) -> None:
    answer = browse("ada").send(
        "/console/inspections/new",
        {"building_id": "", "inspection_type": "", "date_visited": "2026-02-30", "notes": "keep me"},
    )

    assert answer.status_code == 400
    for text in ("Building is required.", "Type is required.", "Date: this day does not exist.", "keep me"):
        assert text in answer.text


@pytest.mark.parametrize("building", ["4", "5", "999"])
def test_building_out_of_reach_is_403(browse: Callable, api: Callable, building: str) -> None:
    answer = browse("ada").send("/console/inspections/new", {"building_id": building, "inspection_type": "fire"})

    assert answer.status_code == 403
    assert "You are not allowed to make this change." in answer.text


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/console/inspections/1/status", {"status": "failed"}),
        ("/console/inspections/1/edit", {"building_id": "1", "inspection_type": "x"}),
        ("/console/inspections/1/delete", {}),
        ("/console/inspections/new", {"building_id": "1", "inspection_type": "x"}),
        ("/console/buildings/new", {"name": "x"}),
        ("/console/buildings/1/edit", {"name": "x"}),
        ("/console/buildings/1/delete", {}),
        ("/console/people/new", {"name": "x", "email": "x@x.example", "password": "xxxxxxxx"}),
        (f"/console/client_manager_building_access/{MOE},1/delete", {}),
        ("/console/access/confirm", {"made": f"{MOE}:2"}),
        ("/console/devices", {"name": "x", "person": MOE, "days": "30"}),
    ],
)
def test_manager_writes_are_403(browse: Callable, api: Callable, path: str, given: dict[str, str]) -> None:
    tables = ("inspections", "buildings", "users", "client_manager_building_access")
    before = [api("root").get(f"/{table}").json for table in tables]

    answer = browse("moe").send(path, given, form="/console/")

    assert answer.status_code == 403
    assert [api("root").get(f"/{table}").json for table in tables] == before


@pytest.mark.parametrize(
    "path", ["/console/inspections/8/status", "/console/inspections/8/delete", "/console/inspections/6/status"]
)
def test_admin_writes_to_another_client_are_404(browse: Callable, api: Callable, path: str) -> None:
    before = api("root").get("/inspections").json

    answer = browse("ada").send(path, {"status": "failed"}, form="/console/")

    assert answer.status_code == 404
    assert api("root").get("/inspections").json == before


def test_refusals_are_in_the_audit_log(browse: Callable, api: Callable) -> None:
    moe, ada = browse("moe"), browse("ada")
    moe.get("/console/people")
    moe.get(f"/console/why?person={ADA}&kind=building&key=1")
    ada.send("/console/inspections/new", {"building_id": "4", "inspection_type": "fire"})

    found = api("root").get("/audit_log?action=eq.refused&select=actor_id,relation&order=id").json
    assert found == [
        {"actor_id": MOE, "relation": "console/people"},
        {"actor_id": MOE, "relation": "console/why"},
        {"actor_id": ADA, "relation": "console/inspections/new"},
    ]


def test_changes_are_audited_with_their_actor(browse: Callable, api: Callable) -> None:
    browse("ada").send("/console/inspections/1/status", {"status": "failed"}, form="/console/")

    found = api("root").get("/audit_log?relation=eq.inspections&select=actor_id,action").json
    assert found == [{"actor_id": ADA, "action": "update"}]


def test_create_and_edit_building(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    made = ada.send("/console/buildings/new", {"name": "New", "latitude": "42.5", "longitude": "-71", "floors": "3"})
    path = made.headers["Location"].partition("?")[0]

    assert "42.5</dd>" in ada.page(path)
    assert ada.send(f"{path}/edit", {"name": "Newer", "client_id": "2"}).status_code == 303
    key = path.rpartition("/")[2]
    assert api("ada").get(f"/buildings?id=eq.{key}&select=name,client_id,floors").json == [
        {"name": "Newer", "client_id": 1, "floors": None}
    ]


def test_spaces_are_kept_in_text_and_stripped_from_numbers(browse: Callable, api: Callable) -> None:
    typed = {"name": " Mill  Court ", "latitude": " 42.5 ", "floors": " 3 "}

    made = browse("ada").send("/console/buildings/new", typed)

    key = made.headers["Location"].partition("?")[0].rpartition("/")[2]
    assert api("ada").get(f"/buildings?id=eq.{key}&select=name,latitude,floors").json == [
        {"name": " Mill  Court ", "latitude": 42.5, "floors": 3}
    ]


def test_deletion_page_lists_dependent_rows(browse: Callable) -> None:
    ada = browse("ada")

    assert "2 lead readings" in ada.page("/console/inspections/2/delete")
    assert "1 access grant<" in ada.page("/console/inspections/3/delete")
    blocked = ada.page("/console/buildings/1/delete")
    assert "3 inspections" in blocked
    assert ">Delete</button>" not in blocked
    assert ada.send("/console/buildings/1/delete", form="/console/").status_code == 409


def test_stored_markup_is_escaped(app: object, browse: Callable, api: Callable) -> None:
    root = api("root")
    text = SCRIPT + "'\"><img src=x onerror=alert(1)>{{ 7*7 }}"
    columns = ("name", "address", "city", "state", "zip", "building_type")
    root.patch("/buildings?id=eq.1", dict.fromkeys(columns, text))
    root.patch("/inspections?id=eq.2", {"inspection_type": text, "status": text, "notes": text, "inspector_id": 1})
    root.patch("/inspectors?id=eq.1", {"name": text, "email": text})
    root.patch("/reports_lead?id=eq.1", {"result": text})
    root.patch("/clients?id=eq.1", {"name": text})
    root.patch(f"/users?id=eq.{MOE}", {"name": text})
    root.patch(f"/users?id=eq.{MIA}", {"name": text, "email": f"{SCRIPT.replace(' ', '')}@x.example"})
    admin = browse("root")
    assert admin.send("/console/devices", {"name": text, "person": MOE, "days": "30"}).status_code == 303
    pair = f"{MOE}:2"
    pages = [
        admin.send("/console/access", {"grant": pair, "pair": pair}).text,
        admin.send("/console/inspections/new", {"building_id": text, "inspection_type": text, "notes": text}).text,
        admin.send("/console/people/new", {"name": text, "email": text}).text,
        admin.get("/console/?done=" + SCRIPT).text,
        admin.get("/console/inspections", query_string={"notes": f"eq.{SCRIPT}"}).text,
        admin.get("/console/?from=" + SCRIPT).text,
        admin.get("/console/why?key=" + SCRIPT).text,
        admin.get("/console/sign-in?next=" + SCRIPT).text,
        *(browse("root").get(path).text for path in (
            "/console/", "/console/inspections", "/console/inspections/2", "/console/inspections/2/edit",
            "/console/inspections/2/delete", "/console/buildings", "/console/buildings/1",
            "/console/buildings/1/edit", "/console/buildings/1/delete", "/console/inspectors",
            "/console/people", f"/console/people/{MOE}", f"/console/people/{MOE}/edit",
            f"/console/people/{MOE}/delete", "/console/people/new", "/console/access", "/console/devices",
            f"/console/why?person={MOE}&kind=building&key=1", "/console/kiosk", "/console/kiosk/board",
        )),
    ]  # fmt: skip

    for page in pages:
        scripts = re.findall(r"<script[^>]*>", page)
        assert all(
            re.fullmatch(r'<script src="/console/static/\w+\.[0-9a-f]{12}\.js" defer>', each) for each in scripts
        )
        assert "<img" not in page
        assert "49" not in re.findall(r">\s*(49)\s*<", page)
    assert sum("&lt;script&gt;" in page for page in pages) > 15
