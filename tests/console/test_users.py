"""Users, their grants, and explanations of access, through the forms of the console."""

import html
import re
from collections.abc import Callable, Mapping

import pytest

from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT
from tests.console.conftest import COOKIE

pytestmark = pytest.mark.one_engine


def test_building_grant_is_previewed_and_saved(browse: Callable) -> None:
    ada, mia = browse("ada"), browse("mia")
    assert "No inspections to show." in mia.page("/console/inspections")
    pair = f"{MIA}:2"

    preview = ada.send("/console/access", {"grant": pair, "pair": pair})

    assert "Mia will see" in preview.text
    assert "<b>2</b> inspections and <b>0</b> lead readings" in preview.text
    assert "No inspections to show." in mia.page("/console/inspections")
    done = ada.send("/console/access/confirm", {"made": pair}, form="/console/access")
    assert done.status_code == 303
    assert "Mill Court" in mia.page("/console/inspections")
    gone = ada.send("/console/access", {"was": pair, "pair": pair})
    assert "Mia will no longer see" in gone.text
    assert "<b>2</b> inspections" in gone.text
    ada.send("/console/access/confirm", {"gone": pair}, form="/console/access")
    assert "No inspections to show." in mia.page("/console/inspections")


def test_preview_counts_only_newly_visible_rows(browse: Callable) -> None:
    pair = f"{MOE}:2"  # whose inspection 3 moe sees by a grant of its own

    preview = browse("ada").send("/console/access", {"grant": pair, "pair": pair})

    assert "<b>1</b> inspection" in preview.text


def test_all_and_none_change_a_column(browse: Callable) -> None:
    ada = browse("ada")
    page = ada.page("/console/access")
    pairs = set(re.findall(r'name="pair" value="([^"]+)"', page))
    assert pairs == {f"{who}:{key}" for who in (MOE, MIA) for key in (1, 2, 3, 6)}

    csrf = ada.token("/console/access")
    every = ada.client.post("/console/access", data={"csrf": csrf, "pair": sorted(pairs), "all": MIA})
    none = ada.client.post(
        "/console/access",
        data={"csrf": csrf, "pair": sorted(pairs), "grant": f"{MOE}:1", "was": f"{MOE}:1", "none": MOE},
    )

    assert every.text.count('name="made"') == 4
    assert none.text.count('name="gone"') == 1


@pytest.mark.parametrize("pair", [f"{MAX}:1", f"{MOE}:4", f"{MOE}:5", f"{MOE}:999", f"{ADA}:1", f"{BOB}:1"])
def test_building_grant_out_of_reach_is_refused(browse: Callable, api: Callable, pair: str) -> None:
    before = api("root").get("/client_manager_building_access").json

    answer = browse("ada").send("/console/access/confirm", {"made": pair}, form="/console/access")

    assert answer.status_code in (400, 403)
    assert api("root").get("/client_manager_building_access").json == before


def test_grants_are_atomic(app: object, browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    before = api("root").get("/client_manager_building_access").json
    csrf = ada.token("/console/access")

    ada.client.post(
        "/console/access/confirm", data={"csrf": csrf, "made": [f"{MIA}:1", f"{MOE}:4"], "gone": [f"{MOE}:1"]}
    )

    assert api("root").get("/client_manager_building_access").json == before


def test_create_manager_with_password_and_buildings(browse: Callable) -> None:
    ada = browse("ada")
    csrf = ada.token("/console/people/new")
    given = {
        "csrf": csrf,
        "name": "Nia",
        "email": "Nia@acme.example",
        "password": "nia walks too",
        "building": ["2", "3"],
    }

    made = ada.client.post("/console/people/new", data={**given, "building": ["2", "3"]})

    assert made.status_code == 303
    nia = browse()
    nia.sign_in_first("nia@acme.example", "nia walks too")
    page = nia.page("/console/buildings")
    assert ("Mill Court" in page, "Depot 100%" in page, "Harbor House" in page) == (True, True, False)


NEW_MANAGER = {"name": "Eva", "email": "eva@acme.example", "password": "eva's password"}


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"email": "x@y..z"}, "email", "This is no e-mail address."),
        ({"email": "<a@c.org>"}, "email", "This is no e-mail address."),
        ({"email": "moe@acme.example"}, "email", "A user with this email address has already been registered"),
        ({"password": "short"}, "password", "Password should be at least 8 characters."),
    ],
)
def test_problem_of_a_new_user_stands_at_its_field(browse: Callable, changes: dict, field: str, problem: str) -> None:
    typed = {**NEW_MANAGER, **changes}

    refused = browse("ada").fill_in("/console/people/new", typed)

    assert refused.status_code in (400, 422)
    [shown] = re.findall(rf'<p class="wrong" id="d-{field}">([^<]*)</p>', refused.text)
    assert html.unescape(shown) == problem
    assert 'value="Eva"' in refused.text
    assert f'value="{html.escape(typed["email"])}"' in refused.text
    assert "eva&#39;s password" not in refused.text


def test_generated_password_is_shown_once(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    shown = ada.send("/console/people/new", {**NEW_MANAGER, "password": "", "generate": "1"})

    assert shown.status_code == 200
    [password] = re.findall(r'name="password"[^>]*value="([^"]{16})"', shown.text)
    assert "This password is shown once." in shown.text
    assert 'value="eva@acme.example"' in shown.text
    assert api("root").get("/users?email=eq.eva@acme.example").json == []
    made = ada.fill_in("/console/people/new", {**NEW_MANAGER, "password": password})
    assert made.status_code == 303
    assert password not in ada.page(made.headers["Location"])


def test_password_of_a_user_is_generated_in_the_form(browse: Callable) -> None:
    typed = {"name": "Moe", "email": "moe@acme.example", "generate": "1"}

    shown = browse("ada").send(f"/console/people/{MOE}/edit", typed)

    assert shown.status_code == 200
    assert re.search(r'name="password"[^>]*value="[^"]{16}"', shown.text)


def test_create_manager_with_building_out_of_reach_is_refused(browse: Callable, api: Callable) -> None:
    answer = browse("ada").send(
        "/console/people/new",
        {"name": "Nia", "email": "nia@acme.example", "password": "nia walks too", "building": "4"},
    )

    assert answer.status_code == 403
    assert api("root").get("/users?name=eq.Nia").json == []


def test_client_admin_creates_managers_only(browse: Callable, api: Callable) -> None:
    browse("ada").send(
        "/console/people/new",
        {"name": "N", "email": "n@acme.example", "password": "nia walks too", "role": "super_admin", "client_id": "2"},
    )

    assert api("root").get("/users?name=eq.N&select=role,client_id").json == [
        {"role": "client_manager", "client_id": 1}
    ]


def test_super_admin_chooses_role_and_client(browse: Callable, api: Callable) -> None:
    root = browse("root")
    given = {"name": "N", "email": "n@x.example", "password": "nia walks too", "role": "client_admin", "client_id": "2"}

    assert root.send("/console/people/new", given).status_code == 303
    assert root.send("/console/people/new", given).status_code in (409, 422)
    assert root.send("/console/people/new", {**given, "email": "m@x.example", "role": "boss"}).status_code in (400, 422)
    assert api("root").get("/users?name=eq.N&select=role,client_id").json == [{"role": "client_admin", "client_id": 2}]


def test_last_super_admin_cannot_be_removed(browse: Callable) -> None:
    root = browse("root")

    assert root.send(f"/console/people/{ROOT}/delete").status_code == 400
    assert root.send(f"/console/people/{ROOT}/disable", form="/console/").status_code == 400
    assert root.get("/console/").status_code == 200


def test_deactivate_and_reactivate_user(browse: Callable) -> None:
    ada, moe = browse("ada"), browse("moe")
    path = f"/console/people/{MOE}"

    assert ada.send(f"{path}/disable", form=path).status_code == 303
    assert moe.get("/console/").status_code == 303
    assert "Deactivated" in ada.page(path)
    ada.send(f"{path}/enable", form=path)
    assert browse("moe").get("/console/").status_code == 200


def test_temporary_ban_suspends_the_session(browse: Callable, api: Callable) -> None:
    moe, user = browse("moe"), f"/auth/v1/admin/users/{MOE}"
    cookie = moe.cookie.value

    for duration, status in (("24h", 303), ("none", 200)):
        assert api("root").put(user, {"ban_duration": duration}).status == 200
        moe.client.set_cookie(COOKIE, cookie, path="/console")
        assert moe.get("/console/").status_code == status


def test_user_page_offers_only_permitted_revocations(browse: Callable, api: Callable) -> None:
    """Moe holds buildings 1, which is Ada's, 5, which she sees, and 4, which she does not."""
    for key in (4, 5):
        row = {"manager_id": MOE, "building_id": key}
        assert api("root").post("/client_manager_building_access", row).status == 201
    path = f"/console/people/{MOE}"

    for who, links, revoked in (
        ("ada", {"/console/buildings/1", "/console/buildings/5", "/console/inspections/3"}, {"1", "3"}),
        ("root", {*(f"/console/buildings/{key}" for key in (1, 4, 5)), "/console/inspections/3"}, {"1", "3", "4", "5"}),
    ):  # fmt: skip
        page = browse(who).page(path)
        assert set(re.findall(r'<td class="[^"]*"><a href="(/console/(?:buildings|inspections)/[^"]+)"', page)) == links
        assert set(re.findall(r"(?:buildings|inspections)/(\d+)/access[^\"]*\">Revoke<", page)) == revoked


@pytest.mark.parametrize(
    ("who", "query", "text"),
    [
        ("ada", f"person={MOE}&kind=building&key=1", "Granted this building by Ada on "),
        ("ada", f"person={MOE}&kind=inspection&key=3", "Granted this inspection"),
        ("ada", f"person={MOE}&kind=inspection&key=1", "Granted the building of this inspection"),
        ("ada", f"person={ADA}&kind=building&key=1", "Client admin of the owner"),
        ("ada", f"person={MOE}&kind=building&key=2", "cannot see"),
        ("ada", f"person={MOE}&kind=building&key=4", "cannot see"),
        ("root", f"person={ROOT}&kind=building&key=4", "Super admins see everything"),
        ("moe", "kind=building&key=1", "Granted this building by an administrator on "),
    ],
)
def test_explanation_shows_the_rule_in_words(browse_shared: Callable, who: str, query: str, text: str) -> None:
    assert text in browse_shared(who).page(f"/console/why?{query}")


@pytest.mark.parametrize(("who", "person"), [("ada", BOB), ("ada", MAX), ("moe", ADA), ("moe", MIA)])
def test_explanation_of_a_hidden_user_is_refused(browse_shared: Callable, who: str, person: str) -> None:
    answer = browse_shared(who).get(f"/console/why?person={person}&kind=building&key=1")

    assert "can see" not in answer.text
    assert "role does not allow" in answer.text


def test_user_of_an_inspector_is_made_and_linked_at_once(browse: Callable, api: Callable) -> None:
    made = api("service").post("/inspectors", {"id": 9, "name": "Nia Berg", "email": "nia@acme.example"})
    assert made.status == 201
    root, path = browse("root"), "/console/people/new?inspector=9"
    assert f'href="{path}"' in root.page("/console/inspectors/9")
    typed = {"name": "Nia Berg", "email": "nia@acme.example", "role": "client_manager", "client_id": "1"}
    assert all(f'value="{text}"' in root.page(path) for text in ("Nia Berg", "nia@acme.example"))

    wrong = root.send(path, {**typed, "role": "client_admin", "password": "secret-9"})
    assert wrong.status_code == 400
    assert api("service").get("/users?email=eq.nia@acme.example").json == []
    assert root.send(path, {**typed, "password": "secret-9"}).status_code == 303

    [user] = api("service").get("/users?email=eq.nia@acme.example").json
    assert api("service").get("/inspectors?id=eq.9&select=user_id").json == [{"user_id": user["id"]}]
    assert f'href="{path}"' not in root.page("/console/inspectors/9")
    assert f"/console/people/{user['id']}" in root.page("/console/inspectors/9")
    assert root.get(path).status_code == 404
    assert browse("ada").get("/console/people/new?inspector=1").status_code == 404


@pytest.mark.parametrize(("more", "page"), [({}, "people/new?inspector="), ({"user_id": MIA}, "inspectors/")])
def test_form_of_a_new_inspector_leads_to_their_user(
    browse: Callable, api: Callable, more: Mapping[str, str], page: str
) -> None:
    root, label = browse("root"), "Create, then make a user to sign in as"
    assert label in root.page("/console/inspectors/new")

    sent = root.send("/console/inspectors/new", {"name": "Nia Berg", "email": "nia@acme.example", **more, "next": "1"})

    [inspector] = api("service").get("/inspectors?name=eq.Nia Berg").json
    assert sent.status_code == 303
    assert sent.headers["Location"].startswith(f"/console/{page}{inspector['id']}")
    if not more:
        assert 'value="nia@acme.example"' in root.page(f"/console/people/new?inspector={inspector['id']}")
    assert label not in root.page(f"/console/inspectors/{inspector['id']}/edit")
