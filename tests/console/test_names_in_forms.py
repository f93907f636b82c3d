"""What forms say by name: the rows that *Why?* finds, the client of the access matrix, and warnings about clients."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from routes.console.components.fields import Choice, Field
from routes.console.components.records import only_choice
from routes.console.pages import grants
from tests.clients.server import password_of
from tests.conftest import ADA, MIA, MOE
from tests.console.conftest import EMAILS, FormClient
from tests.support.applications import import_world, open_app

WHY = "/console/why"


# The explanation of access


@pytest.mark.parametrize(
    ("who", "query", "text"),
    [
        ("ada", f"person={MOE}&kind=building&key=harbor", "Granted this building"),
        ("ada", f"person={MOE}&kind=building&key=mill+court", "No rule gives this user access"),
        ("ada", f"person={MOE}&kind=inspection&key=mill", "Choose one"),
        ("moe", "kind=building&key=Harbor+House", "Granted this building"),
        ("root", "kind=building&key=100%25", "Super admins see everything"),
    ],
)
def test_explanation_finds_a_building_by_name(browse_shared: Callable, who: str, query: str, text: str) -> None:
    assert text in browse_shared(who).page(f"{WHY}?{query}")


@pytest.mark.parametrize("who", ["ada", "moe"])
@pytest.mark.parametrize("key", ["Lofts", "Nowhere", "zz*"])
def test_explanation_of_a_hidden_name_equals_that_of_a_missing_one(browse_shared: Callable, who: str, key: str) -> None:
    answer = browse_shared(who).get(WHY, query_string={"kind": "building", "key": key})

    assert (answer.status_code, "You can see no building of this name" in answer.text) == (400, True)


def test_explanation_lists_the_rows_of_a_name(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = browse_shared("ada")
    page = ada.page(f"{WHY}?person={MOE}&kind=inspection&key=harbor")
    links = re.findall(rf'href="({WHY}\?person={MOE}&amp;kind=inspection&amp;key=(\d+))"', page)
    monkeypatch.setattr(grants, "MATCHES_SHOWN", 2)

    assert sorted(number for _, number in links) == ["1", "2", "9"]
    assert "Granted the building" in ada.page(links[0][0].replace("&amp;", "&"))
    assert "Only the first 2 are shown." in ada.page(f"{WHY}?kind=inspection&key=harbor")


def test_explanation_finds_a_user_by_name(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "USERS_LISTED_MAX", 1)
    root, ada = browse_shared("root"), browse_shared("ada")

    assert "Moe can see" in root.page(f"{WHY}?person=moe&key=1")
    assert "Enter the e-mail" in root.get(f"{WHY}?person=m&key=1").text
    hidden, missing = (ada.get(f"{WHY}?person={name}&key=1").text for name in ("bob", "zzz"))
    assert "You can see no user of this name" in hidden
    assert hidden.replace("bob", "zzz") == missing


# The access matrix


def shown(page: str) -> tuple[set[str], set[str]]:
    """Return the users and the buildings of the matrix."""
    pairs = [each.split(":") for each in re.findall(r'name="pair" value="([^"]+)"', page)]
    return {user for user, _ in pairs}, {building for _, building in pairs}


@pytest.mark.parametrize(
    ("query", "users", "buildings"),
    [
        ("", {MOE, MIA}, {"1", "2", "3", "6"}),
        ("?client=0", 3, {"1", "2", "3", "4", "5", "6"}),
        (f"?person={MOE}", {MOE}, {"1", "2", "3", "6"}),
        ("?building=4", 1, {"4"}),
        (f"?person={MOE}&building=4", {MOE}, {"4"}),
    ],
)
def test_matrix_opens_with_one_client(
    browse_shared: Callable, query: str, users: set | int, buildings: set[str]
) -> None:
    found = shown(browse_shared("root").page(f"/console/access{query}"))

    assert found[1] == buildings
    assert users in (found[0], len(found[0]))


def test_matrix_shows_whole_names(browse: Callable, api: Callable) -> None:
    long = "Harborline Waterfront Apartments, North Tower and Parking Structure (formerly Pier 9)"
    api("root").patch("/buildings?id=eq.1", {"name": long})
    api("root").patch(f"/users?id=eq.{MOE}", {"name": "Bartholomew Featherstonehaugh-Cholmondeley"})

    page = browse("ada").page("/console/access")

    assert f">{long}</a>" in page
    assert ">Bartholomew Featherstonehaugh-Cholmondeley</a>" in page


# Users


def test_deactivated_users_are_marked_wherever_they_are_named(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    ada.send(f"/console/people/{MIA}/disable", form=f"/console/people/{MIA}/deactivation")
    api("root").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 2})

    for path in ("/console/people", WHY, "/console/devices", "/console/inspections/2", "/console/buildings/2"):
        page = ada.page(path)
        assert "Mia (deactivated)" in page, path
        assert "Moe (deactivated)" not in page, path
    assert "<small>deactivated</small>" in ada.page("/console/access")


NIA = {"name": "Nia", "email": "nia@x.example", "password": "nia walks too"}


def test_new_manager_with_a_building_of_another_client_is_warned_about(browse: Callable, api: Callable) -> None:
    root, path = browse("root"), "/console/people/new"
    given = {**NIA, "role": "client_manager", "client_id": "1"}

    warned = root.send(path, {**given, "building": "4"})
    other = root.send(path, {**given, "building": "5", "warned": "4"})
    own = root.send(path, {**given, "email": "own@x.example", "building": "1"})

    assert (warned.status_code, other.status_code, own.status_code) == (400, 400, 303)
    assert "Beyond their client: Ash, &#34;The&#34; Lofts (North) (Borough Estates)." in warned.text
    assert '<input type="hidden" name="warned" value="4">' in warned.text
    assert root.send(path, {**given, "building": "4", "warned": "4"}).status_code == 303
    [made] = api("root").get("/users?email=eq.nia@x.example&select=id").json
    grants = f"/client_manager_building_access?manager_id=eq.{made['id']}&select=building_id"
    assert api("root").get(grants).json == [{"building_id": 4}]


@pytest.mark.parametrize(
    ("role", "client", "message"),
    [
        ("client_manager", "", "A client manager needs a client."),
        ("client_admin", " ", "A client admin needs a client."),
        ("super_admin", "1", "A super admin has no client."),
    ],
)
def test_client_that_does_not_fit_the_role_is_named(browse: Callable, role: str, client: str, message: str) -> None:
    answer = browse("root").send("/console/people/new", {**NIA, "role": role, "client_id": client})

    assert (answer.status_code, message in answer.text) == (400, True)


def test_role_without_its_client_is_named_at_an_edit(browse: Callable) -> None:
    root, path = browse("root"), f"/console/people/{ADA}/edit"

    assert "A super admin has no client." in root.fill_in(path, {"role": "super_admin"}).text
    assert "A client admin needs a client." in root.fill_in(path, {"client_id": ""}).text


def test_api_says_which_users_have_a_client(api: Callable) -> None:
    body = {"email": "n@x.example", "password": "nia walks too"}

    manager = api("service").post("/auth/v1/admin/users", {**body, "app_metadata": {"role": "client_manager"}})
    admin = {**body, "app_metadata": {"role": "super_admin", "client_id": 1}}

    assert "A client_manager needs a client: set client_id to its number" in manager.text
    assert "A super_admin has no client: leave out client_id" in api("service").post("/auth/v1/admin/users", admin).text


# A new database


@pytest.fixture
def one_client(tmp_path: Path) -> FormClient:
    """The console of a database with one client and one building, signed in as its super admin."""
    file = tmp_path / "walkthrough.db"
    app = open_app(file)
    root = {"email": EMAILS["root"], "name": "Root", "role": "super_admin", "password": password_of("root")}
    rows = {"clients": [{"id": 1, "name": "Acme"}], "buildings": [{"id": 1, "name": "Depot", "client_id": 1}]}
    import_world(app, file, {**rows, "users": [root]})
    client = FormClient(app.test_client())
    client.sign_in("root")
    return client


@pytest.mark.parametrize(
    ("path", "choice"),
    [("buildings/new", "1"), ("people/new", "1"), ("inspections/new", "1"), ("buildings/new?client_id=1", "1")],
)
def test_only_client_is_preselected(one_client: FormClient, path: str, choice: str) -> None:
    page = one_client.page(f"/console/{path}")

    assert re.search(rf'<option value="{choice}" selected>(Acme|Depot)</option>', page)


def test_page_of_a_client_leads_to_its_new_user(one_client: FormClient, browse_shared: Callable) -> None:
    assert 'href="/console/people/new?client_id=1">New user</a>' in one_client.page("/console/clients/1")
    assert '<option value="2" selected>Borough' in browse_shared("root").page("/console/people/new?client_id=2")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Field("client_id", "Client", "select", choices=(Choice("1", "Acme"),)), "1"),
        (Field("building_id", "Building", "select", required=True, choices=(Choice("7", "Depot"),)), "7"),
        (Field("inspector_id", "Inspector", "select", choices=(Choice("1", "Ines"),)), ""),
        (Field("client_id", "Client", "select", choices=(Choice("1", "A"), Choice("2", "B"))), ""),
        (Field("name", "Name", required=True), ""),
    ],
)
def test_only_choice_of_a_field(field: Field, value: str) -> None:
    assert only_choice(field) == value


def test_sign_in_page_without_users_names_the_command(tmp_path: Path, browse: Callable) -> None:
    empty = FormClient(open_app(tmp_path / "empty.db").test_client())
    failed = empty.send("/console/sign-in", {"email": "you@example.org", "password": "wrong"})

    assert failed.status_code == 400
    for page in (empty.page("/console/sign-in"), failed.text):
        assert ".venv/bin/flask --app app create-user you@example.org --role super_admin" in page
    assert "create-user" not in browse().page("/console/sign-in")


# Long names


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("buildings/1/edit", "name"),
        ("clients/1/edit", "name"),
        ("inspectors/1/edit", "name"),
        (f"people/{MOE}/edit", "name"),
        ("buildings/new", "name"),
        ("people/new", "name"),
    ],
)
def test_name_has_at_most_200_characters(browse: Callable, path: str, field: str) -> None:
    root, path = browse("root"), f"/console/{path}"

    refused = root.fill_in(path, {field: "n" * 201})

    assert re.search(rf'name="{field}"[^>]* maxlength="200"', root.page(path))
    assert (refused.status_code, "Name has at most 200 characters. This one has 201." in refused.text) == (400, True)
    assert "n" * 201 in refused.text
    if path.endswith("edit"):
        assert root.fill_in(path, {field: "n" * 200}).status_code == 303


def test_own_name_has_at_most_200_characters(browse: Callable) -> None:
    moe = browse("moe")

    refused = moe.send("/console/account/name", {"name": "n" * 201}, "/console/account")

    assert (refused.status_code, "Name has at most 200 characters." in refused.text) == (400, True)


def test_longer_name_of_the_api_stays_when_other_fields_change(browse: Callable, api: Callable) -> None:
    assert api("root").patch("/buildings?id=eq.1", {"name": "n" * 300}).status == 204

    saved = browse("root").fill_in("/console/buildings/1/edit", {"city": "Salem"})

    assert saved.status_code == 303
    [row] = api("root").get("/buildings?id=eq.1&select=name,city").json
    assert row == {"name": "n" * 300, "city": "Salem"}
