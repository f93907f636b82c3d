"""What people do here: inspections and buildings made, changed, deleted; access given and taken; boards."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import ROOT

USER = f"/auth/v1/admin/users/{MOE}"
SCRIPT = '<script>alert("x")</script>'


def test_an_inspection_is_made_changed_and_deleted(desk: Callable, api: Callable) -> None:
    ada = desk("ada")

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


def test_a_wrong_form_is_shown_again_with_what_was_typed(desk: Callable) -> None:
    answer = desk("ada").send(
        "/console/inspections/new",
        {
            "building_id": "",
            "inspection_type": "",
            "date_visited": "2026-02-30",
            "notes": "keep me",
        },
    )

    assert answer.status_code == 400
    for said in ("Building is needed.", "Type is needed.", "date/time field value", "keep me"):
        assert said in answer.text


@pytest.mark.parametrize("building", ["4", "5", "999"])
def test_what_is_out_of_reach_is_refused_whoever_asks(
    desk: Callable, api: Callable, building: str
) -> None:
    answer = desk("ada").send(
        "/console/inspections/new", {"building_id": building, "inspection_type": "fire"}
    )

    assert answer.status_code == 403
    assert "outside of what you may change" in answer.text


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
        (f"/console/people/{MOE}/revoke", {"kind": "building", "key": "1"}),
        ("/console/access/confirm", {"made": f"{MOE}:2"}),
        ("/console/devices", {"name": "x", "person": MOE, "days": "30"}),
    ],
)
def test_a_manager_changes_nothing(
    desk: Callable, api: Callable, path: str, given: dict[str, str]
) -> None:
    tables = ("inspections", "buildings", "users", "client_manager_building_access")
    before = [api("root").get(f"/{table}").json for table in tables]

    answer = desk("moe").send(path, given, form="/console/")

    assert answer.status_code == 403
    assert [api("root").get(f"/{table}").json for table in tables] == before


@pytest.mark.parametrize(
    "path",
    [
        "/console/inspections/8/status",
        "/console/inspections/8/delete",
        "/console/inspections/6/status",
    ],
)
def test_an_admin_changes_nothing_of_another_client(
    desk: Callable, api: Callable, path: str
) -> None:
    before = api("root").get("/inspections").json

    answer = desk("ada").send(path, {"status": "failed"}, form="/console/")

    assert answer.status_code == 404
    assert api("root").get("/inspections").json == before


def test_refusals_stand_in_the_audit_trail(desk: Callable, api: Callable) -> None:
    moe, ada = desk("moe"), desk("ada")
    moe.get("/console/people")
    moe.get(f"/console/why?person={ADA}&kind=building&key=1")
    ada.send("/console/inspections/new", {"building_id": "4", "inspection_type": "fire"})

    found = api("root").get("/audit_log?action=eq.refused&select=actor_id,relation&order=id").json
    assert found == [
        {"actor_id": MOE, "relation": "console/people"},
        {"actor_id": MOE, "relation": "console/why"},
        {"actor_id": ADA, "relation": "console/inspections/new"},
    ]


def test_what_is_changed_here_is_audited_as_its_doers(desk: Callable, api: Callable) -> None:
    desk("ada").send("/console/inspections/1/status", {"status": "failed"}, form="/console/")

    found = api("root").get("/audit_log?relation=eq.inspections&select=actor_id,action").json
    assert found == [{"actor_id": ADA, "action": "update"}]


def test_a_building_is_made_and_changed(desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    made = ada.send(
        "/console/buildings/new",
        {"name": "New", "latitude": "42.5", "longitude": "-71", "floors": "3"},
    )
    path = made.headers["Location"].partition("?")[0]

    assert "42.5, -71" in ada.page(path)
    assert ada.send(f"{path}/edit", {"name": "Newer", "client_id": "2"}).status_code == 303
    key = path.rpartition("/")[2]
    assert api("ada").get(f"/buildings?id=eq.{key}&select=name,client_id,floors").json == [
        {"name": "Newer", "client_id": 1, "floors": None}
    ]


def test_a_deletion_says_what_it_would_take(desk: Callable) -> None:
    ada = desk("ada")

    assert "2 lead readings" in ada.page("/console/inspections/2/delete")
    assert "1 people&#39;s access to it" in ada.page("/console/inspections/3/delete")
    blocked = ada.page("/console/buildings/1/delete")
    assert "3 inspections" in blocked
    assert ">Delete</button>" not in blocked
    assert ada.send("/console/buildings/1/delete", form="/console/").status_code == 409


# Access


def test_a_grant_is_shown_for_what_it_reveals_then_made(desk: Callable) -> None:
    ada, mia = desk("ada"), desk("mia")
    assert "No inspection fits." in mia.page("/console/inspections")
    pair = f"{MIA}:2"

    preview = ada.send("/console/access", {"grant": pair, "pair": pair})

    assert "Mia will see" in preview.text
    assert "<b>2</b> inspections and <b>0</b> lead readings" in preview.text
    assert "No inspection fits." in mia.page("/console/inspections")
    done = ada.send("/console/access/confirm", {"made": pair}, form="/console/access")
    assert done.status_code == 303
    assert "Mill Court" in mia.page("/console/inspections")
    gone = ada.send("/console/access", {"was": pair, "pair": pair})
    assert "Mia will no longer see" in gone.text
    assert "<b>2</b> inspections" in gone.text
    ada.send("/console/access/confirm", {"gone": pair}, form="/console/access")
    assert "No inspection fits." in mia.page("/console/inspections")


def test_a_preview_counts_what_is_not_seen_already(desk: Callable) -> None:
    pair = f"{MOE}:2"  # whose inspection 3 moe sees by a grant of its own

    preview = desk("ada").send("/console/access", {"grant": pair, "pair": pair})

    assert "<b>1</b> inspections" in preview.text


def test_all_and_none_tick_a_column(desk: Callable) -> None:
    ada = desk("ada")
    page = ada.page("/console/access")
    pairs = set(re.findall(r'name="pair" value="([^"]+)"', page))
    assert pairs == {f"{who}:{key}" for who in (MOE, MIA) for key in (1, 2, 3, 6)}

    csrf = ada.token("/console/access")
    every = ada.client.post(
        "/console/access", data={"csrf": csrf, "pair": sorted(pairs), "all": MIA}
    )
    none = ada.client.post(
        "/console/access",
        data={
            "csrf": csrf,
            "pair": sorted(pairs),
            "grant": f"{MOE}:1",
            "was": f"{MOE}:1",
            "none": MOE,
        },
    )

    assert every.text.count('name="made"') == 4
    assert none.text.count('name="gone"') == 1


@pytest.mark.parametrize(
    "pair", [f"{MAX}:1", f"{MOE}:4", f"{MOE}:5", f"{MOE}:999", f"{ADA}:1", f"{BOB}:1"]
)
def test_no_grant_beyond_ones_reach(desk: Callable, api: Callable, pair: str) -> None:
    before = api("root").get("/client_manager_building_access").json

    answer = desk("ada").send("/console/access/confirm", {"made": pair}, form="/console/access")

    assert answer.status_code in (400, 403)
    assert api("root").get("/client_manager_building_access").json == before


def test_one_wrong_pair_spoils_all(app: object, desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    before = api("root").get("/client_manager_building_access").json
    csrf = ada.token("/console/access")

    ada.client.post(
        "/console/access/confirm",
        data={"csrf": csrf, "made": [f"{MIA}:1", f"{MOE}:4"], "gone": [f"{MOE}:1"]},
    )

    assert api("root").get("/client_manager_building_access").json == before


def test_a_manager_is_made_with_password_and_buildings_in_one_form(desk: Callable) -> None:
    ada = desk("ada")
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
    nia = desk()
    signed_in = nia.send(
        "/console/sign-in", {"email": "nia@acme.example", "password": "nia walks too"}
    )
    assert signed_in.status_code == 303
    page = nia.page("/console/buildings")
    assert ("Mill Court" in page, "Depot 100%" in page, "Harbor House" in page) == (
        True,
        True,
        False,
    )


def test_a_manager_with_a_building_out_of_reach_is_not_made(desk: Callable, api: Callable) -> None:
    answer = desk("ada").send(
        "/console/people/new",
        {"name": "Nia", "email": "nia@acme.example", "password": "nia walks too", "building": "4"},
    )

    assert answer.status_code == 403
    assert api("root").get("/users?name=eq.Nia").json == []


def test_a_client_admin_makes_no_admin(desk: Callable, api: Callable) -> None:
    desk("ada").send(
        "/console/people/new",
        {
            "name": "N",
            "email": "n@acme.example",
            "password": "nia walks too",
            "role": "super_admin",
            "client_id": "2",
        },
    )

    assert api("root").get("/users?name=eq.N&select=role,client_id").json == [
        {"role": "client_manager", "client_id": 1}
    ]


def test_a_super_admin_chooses_role_and_client(desk: Callable, api: Callable) -> None:
    root = desk("root")
    given = {
        "name": "N",
        "email": "n@x.example",
        "password": "nia walks too",
        "role": "client_admin",
        "client_id": "2",
    }

    assert root.send("/console/people/new", given).status_code == 303
    assert root.send("/console/people/new", given).status_code in (409, 422)
    assert root.send(
        "/console/people/new", {**given, "email": "m@x.example", "role": "boss"}
    ).status_code in (400, 422)
    assert api("root").get("/users?name=eq.N&select=role,client_id").json == [
        {"role": "client_admin", "client_id": 2}
    ]


def test_the_last_super_admin_stays(desk: Callable) -> None:
    root = desk("root")

    assert root.send(f"/console/people/{ROOT}/delete").status_code == 400
    assert root.send(f"/console/people/{ROOT}/disable", form="/console/").status_code == 400
    assert root.get("/console/").status_code == 200


def test_shutting_somebody_out_and_letting_them_in_again(desk: Callable) -> None:
    ada, moe = desk("ada"), desk("moe")
    path = f"/console/people/{MOE}"

    assert ada.send(f"{path}/disable", form=path).status_code == 303
    assert moe.get("/console/").status_code == 303
    assert "cannot sign in" in ada.page(path)
    ada.send(f"{path}/enable", form=path)
    assert desk("moe").get("/console/").status_code == 200


def test_revoking_from_the_persons_page(desk: Callable) -> None:
    ada, moe = desk("ada"), desk("moe")
    path = f"/console/people/{MOE}"

    ada.send(f"{path}/revoke", {"kind": "building", "key": "1"}, form=path)
    ada.send(f"{path}/revoke", {"kind": "inspection", "key": "3"}, form=path)

    assert "No inspection fits." in moe.page("/console/inspections")


@pytest.mark.parametrize(
    ("who", "query", "said"),
    [
        ("ada", f"person={MOE}&kind=building&key=1", "building_grant"),
        ("ada", f"person={MOE}&kind=inspection&key=3", "inspection_grant"),
        ("ada", f"person={MOE}&kind=inspection&key=1", "through_building"),
        ("ada", f"person={ADA}&kind=building&key=1", "client_ownership"),
        ("ada", f"person={MOE}&kind=building&key=2", "cannot see"),
        ("ada", f"person={MOE}&kind=building&key=4", "cannot see"),
        ("root", f"person={ROOT}&kind=building&key=4", "super_admin"),
        ("moe", "kind=building&key=1", "building_grant"),
    ],
)
def test_why(office: Callable, who: str, query: str, said: str) -> None:
    assert said in office(who).page(f"/console/why?{query}")


@pytest.mark.parametrize(
    ("who", "person"), [("ada", BOB), ("ada", MAX), ("moe", ADA), ("moe", MIA)]
)
def test_one_asks_only_about_whom_one_sees(office: Callable, who: str, person: str) -> None:
    answer = office(who).get(f"/console/why?person={person}&kind=building&key=1")

    assert "can see" not in answer.text
    assert "role does not allow" in answer.text


# Boards


def make_board(admin: object, person: str = MOE, days: str = "90") -> str:
    answer = admin.send("/console/devices", {"name": "Hall", "person": person, "days": days})
    found = re.search(r'class="token">(wtk_[^<]+)<', answer.text)
    assert found, answer.text
    return found[1]


def enter(desk: Callable, token: str) -> object:
    board = desk()
    answer = board.send("/console/kiosk/enter", {"token": token})
    assert answer.status_code == 303, answer.text
    flags = next(each for each in answer.headers.getlist("Set-Cookie") if "kiosk" in each)
    assert "HttpOnly" in flags
    assert "SameSite=Strict" in flags
    assert "Path=/console/kiosk" in flags
    return board


def test_a_board_shows_what_its_user_sees_and_nothing_else(desk: Callable) -> None:
    board = enter(desk, make_board(desk("ada")))

    page = board.page("/console/kiosk")

    assert "Harbor House" in page
    assert "Ash, " not in page
    for path in ("/console/", "/console/inspections", "/console/buildings/1", "/console/why"):
        assert board.get(path).status_code == 303, path
    for path in ("/console/kiosk", "/console/kiosk/board"):
        assert board.client.post(path).status_code == 405


def test_a_board_cannot_write_by_construction(
    app: object, desk: Callable, monkeypatch: object
) -> None:
    from models.db import writing
    from routes.console import kiosk

    board = enter(desk, make_board(desk("ada")))
    tried: list[str] = []

    def attempt(caller: object) -> dict:
        from models.db import reading

        for way in (lambda: writing().__enter__(), lambda: None):
            try:
                way()
                with reading() as transaction:
                    transaction.run("UPDATE buildings SET name = 'x'")
            except Exception as refusal:  # noqa: BLE001  (whichever it is, it is refused)
                tried.append(type(refusal).__name__)
        return {}

    monkeypatch.setattr(kiosk, "picture", attempt)
    board.get("/console/kiosk/board")

    assert len(tried) == 2
    assert "x" not in re.findall(r'class="where">([^<]*)<', desk("ada").page("/console/"))


@pytest.mark.parametrize("token", ["", "x", "wtk_", "wtk_" + "A" * 43, "ö", "A" * 3_000])
def test_a_wrong_token_shows_nothing(desk: Callable, token: str) -> None:
    board = desk()
    assert board.send("/console/kiosk/enter", {"token": token}).status_code == 401
    if token.isascii():
        board.client.set_cookie("walkthrough_kiosk", token, path="/console/kiosk")
        assert board.get("/console/kiosk/board").status_code == 401


def revoke_board(desk: Callable, api: Callable) -> None:
    ada = desk("ada")
    found = re.search(r"/console/devices/([^/]+)/revoke", ada.page("/console/devices"))
    assert found
    ada.send(f"/console/devices/{found[1]}/revoke", form="/console/devices")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(revoke_board, id="revoked"),
        pytest.param(lambda desk, api: api("root").delete(f"/users?id=eq.{MOE}"), id="user deleted"),
        pytest.param(lambda desk, api: api("root").put(USER, {"role": "client_admin"}), id="promoted"),
        pytest.param(lambda desk, api: api("root").put(USER, {"ban_duration": "24h"}), id="disabled"),
        pytest.param(lambda desk, api: api("root").put(USER, {"password": "another one"}), id="new password"),
    ],
)  # fmt: skip
def test_what_ends_a_board(desk: Callable, api: Callable, end: Callable) -> None:
    board = enter(desk, make_board(desk("ada")))
    assert board.get("/console/kiosk/board").status_code == 200

    end(desk, api)

    assert board.get("/console/kiosk/board").status_code == 401


def test_a_board_runs_out(app: object, desk: Callable) -> None:
    import time

    import models.db

    board = enter(desk, make_board(desk("ada"), days="30"))
    real = time.time
    try:
        models.db.time.time = lambda: real() + 30 * 86_400 + 1
        assert board.get("/console/kiosk/board").status_code == 401
    finally:
        models.db.time.time = real


def test_a_boards_token_is_no_bearer_and_is_not_kept(
    app: object, desk: Callable, api: Callable
) -> None:
    from tests.conftest import Bearer

    token = make_board(desk("ada"))

    assert api(Bearer(f"Bearer {token}")).get("/inspections").status == 401
    with app.app_context():
        from models.db import reading

        with reading() as transaction:
            rows = transaction.all("SELECT * FROM devices")
    assert len(rows) == 1
    assert token not in str(rows)


@pytest.mark.parametrize(
    ("who", "person", "made"),
    [
        ("ada", MOE, True),
        ("ada", ADA, True),
        ("ada", BOB, False),
        ("ada", MAX, False),
        ("ada", ROOT, False),
        ("root", BOB, True),
        ("root", ROOT, True),
    ],
)
def test_whose_board_one_may_make(desk: Callable, who: str, person: str, made: bool) -> None:
    answer = desk(who).send("/console/devices", {"name": "Hall", "person": person, "days": "30"})

    assert ("wtk_" in answer.text) is made


def test_one_revokes_only_what_one_could_make(desk: Callable) -> None:
    root, ada = desk("root"), desk("ada")
    board = enter(desk, make_board(root, BOB))
    found = re.search(r"/console/devices/([^/]+)/revoke", root.page("/console/devices"))
    assert found
    assert found[1] not in ada.page("/console/devices")

    answer = ada.send(f"/console/devices/{found[1]}/revoke", form="/console/devices")

    assert answer.status_code == 404
    assert board.get("/console/kiosk/board").status_code == 200


# Text


def test_what_is_stored_shows_as_text(app: object, desk: Callable, api: Callable) -> None:
    root = api("root")
    text = SCRIPT + "'\"><img src=x onerror=alert(1)>{{ 7*7 }}"
    columns = ("name", "address", "city", "state", "zip", "building_type")
    root.patch("/buildings?id=eq.1", dict.fromkeys(columns, text))
    root.patch(
        "/inspections?id=eq.2",
        {"inspection_type": text, "status": text, "notes": text, "inspector_id": 1},
    )
    root.patch("/inspectors?id=eq.1", {"name": text, "email": text})
    root.patch("/reports_lead?id=eq.1", {"result": text})
    root.patch("/clients?id=eq.1", {"name": text})
    root.patch(f"/users?id=eq.{MOE}", {"name": text})
    root.patch(
        f"/users?id=eq.{MIA}", {"name": text, "email": f"{SCRIPT.replace(' ', '')}@x.example"}
    )
    admin = desk("root")
    assert (
        admin.send("/console/devices", {"name": text, "person": MOE, "days": "30"}).status_code
        == 200
    )
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
        *(desk("root").get(path).text for path in (
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
            re.fullmatch(r'<script src="/console/static/\w+\.js" defer>', each) for each in scripts
        )
        assert "<img" not in page
        assert "49" not in re.findall(r">\s*(49)\s*<", page)
    assert sum("&lt;script&gt;" in page for page in pages) > 15
