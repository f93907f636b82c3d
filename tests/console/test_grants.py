"""Access given and taken in the console: single inspections to anybody, buildings to client admins."""

import re
from collections.abc import Callable

import pytest

from routes.console.components import queries as engine
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import ROOT

TABLES = (
    "client_manager_building_access",
    "client_admin_building_access",
    "client_manager_inspection_access",
    "client_admin_inspection_access",
)
PREVIEW = "/console/inspections/{}/access?person={}"


def everything(api: Callable) -> list[object]:
    return [api("root").get(f"/{table}").json for table in TABLES]


def offered(page: str) -> set[str]:
    """To whom the page of an inspection offers to grant it."""
    return set(re.findall(r'<option value="([0-9a-f-]{36})"', page))


# Single inspections


def test_an_inspection_is_shown_for_what_it_reveals_then_granted_then_taken_back(
    desk: Callable, api: Callable
) -> None:
    ada, mia = desk("ada"), desk("mia")
    preview = PREVIEW.format(2, MIA)

    page = ada.page(preview)

    assert "Mia will see" in page
    assert "the lead inspection of 2025-04-10 at Harbor House" in page
    assert "<b>2</b> lead readings" in page
    assert "its inspector, Ivo Kral" in page
    assert "They will not see its building" in page
    assert mia.get("/console/inspections/2").status_code == 404
    sent = ada.send("/console/inspections/2/access", {"person": MIA, "do": "give"}, form=preview)
    assert "The inspection is granted to Mia." in ada.page(sent.headers["Location"])
    seen = mia.page("/console/inspections/2")
    assert "only this inspection was granted" in seen
    assert ("positive" in seen, "Ivo Kral" in seen) == (True, True)
    assert api("mia").get("/inspections?select=id").json == [{"id": 2}]
    assert api("mia").get("/buildings").json == []
    grants = "/client_manager_inspection_access?select=assigned_by"
    assert api("root").get(f"{grants}&manager_id=eq.{MIA}").json == [{"assigned_by": ADA}]

    again = ada.page(preview)
    assert "Mia will no longer see" in again
    ada.send("/console/inspections/2/access", {"person": MIA, "do": "take"}, form=preview)
    assert mia.get("/console/inspections/2").status_code == 404


def test_a_preview_says_what_is_seen_by_other_rules(desk: Callable) -> None:
    ada = desk("ada")

    through = ada.page(PREVIEW.format(1, MOE))
    ada.send("/console/access/confirm", {"made": f"{MOE}:2"}, form="/console/access")
    kept = ada.page(PREVIEW.format(3, MOE))

    assert "Moe sees it already" in through
    assert "Its building was granted to the person." in through
    assert "will see</h2>" not in through
    assert "Moe goes on seeing it even so" in kept
    assert "no longer" not in kept


def test_the_page_says_who_holds_a_grant_and_to_whom_one_may_give_it(office: Callable) -> None:
    for who, key, held, people, taken_back in (
        ("ada", 3, {"Moe"}, {MIA}, {MOE}),
        ("root", 3, {"Moe", "Bob"}, {MIA, MAX, ADA}, {MOE, BOB}),
        ("ada", 1, set(), {MOE, MIA}, set()),
        ("ada", 8, set(), set(), set()),
        ("bob", 3, {"Bob"}, set(), set()),
        ("moe", 3, set(), set(), set()),
    ):
        page = office(who).page(f"/console/inspections/{key}")
        shown = set(re.findall(r'class="where">(\w+)</a>', page))
        back = set(re.findall(r'/access\?person=([^"]+)"', page))
        assert (shown, offered(page), back) == (held, people, taken_back), (who, key)


@pytest.mark.parametrize(
    ("who", "key", "person", "status"),
    [
        pytest.param("ada", 1, MAX, 404, id="a manager of another client"),
        pytest.param("ada", 1, NO_ONE, 404, id="nobody"),
        pytest.param("ada", 1, "nonsense", 404, id="no id"),
        pytest.param("ada", 1, ADA, 403, id="an admin, by an admin"),
        pytest.param("ada", 8, MOE, 403, id="an inspection that one reads"),
        pytest.param("ada", 6, MOE, 403, id="an inspection of another client"),
        pytest.param("ada", 999, MOE, 403, id="no inspection"),
        pytest.param("bob", 3, MAX, 403, id="an inspection that one was granted"),
        pytest.param("moe", 1, MIA, 403, id="by a manager"),
        pytest.param("moe", 1, MOE, 403, id="to oneself"),
        pytest.param("root", 1, ROOT, 400, id="to a super admin"),
        pytest.param("root", 999, MOE, 403, id="no inspection, by root"),
    ],
)
def test_no_inspection_is_granted_beyond_ones_reach(
    desk: Callable, api: Callable, who: str, key: int, person: str, status: int
) -> None:
    before = everything(api)

    answer = desk(who).send(
        f"/console/inspections/{key}/access", {"person": person, "do": "give"}, form="/console/"
    )

    assert answer.status_code == status
    assert everything(api) == before
    assert desk(who).get(PREVIEW.format(key, person)).status_code in (403, 404)


@pytest.mark.parametrize(
    ("who", "key", "person", "status"),
    [
        pytest.param("ada", 3, BOB, 404, id="of somebody out of sight"),
        pytest.param("bob", 3, BOB, 403, id="one's own, which is a super admin's to take"),
        pytest.param("moe", 3, MOE, 403, id="by the manager who holds it"),
        pytest.param("ada", 1, MOE, 404, id="that there is not"),
        pytest.param("root", 1, MOE, 404, id="that there is not, by root"),
    ],
)
def test_no_grant_is_taken_back_beyond_ones_reach(
    desk: Callable, api: Callable, who: str, key: int, person: str, status: int
) -> None:
    before = everything(api)

    answer = desk(who).send(
        f"/console/inspections/{key}/access", {"person": person, "do": "take"}, form="/console/"
    )

    assert answer.status_code == status
    assert everything(api) == before


def test_a_super_admin_grants_an_inspection_across_clients(desk: Callable, api: Callable) -> None:
    root = desk("root")

    page = root.page(PREVIEW.format(6, ADA))
    for person in (ADA, MAX, MIA):
        sent = root.send(
            "/console/inspections/6/access", {"person": person, "do": "give"}, form="/console/"
        )
        assert sent.status_code == 303

    assert "Ada is an admin of Acme Housing." in page
    assert "<b>2</b> lead readings" in page
    assert "Max sees it already" in root.page(PREVIEW.format(7, MAX))
    assert api("ada").get("/inspections?id=eq.6&select=id,buildings(id)").json == [
        {"id": 6, "buildings": None}
    ]
    assert api("mia").get("/inspections?select=id").json == [{"id": 6}]


def test_somebody_is_named_by_their_email_too(office: Callable) -> None:
    assert "Mia will see" in office("ada").page(PREVIEW.format(2, " Mia@acme.example "))
    assert office("ada").get(PREVIEW.format(2, "max@borough.example")).status_code == 404


@pytest.mark.parametrize("typed", ["Nia@Acme.Example", "nia@acme.example", " NIA@ACME.EXAMPLE"])
def test_an_email_is_found_as_the_sign_in_finds_it(
    desk: Callable, api: Callable, typed: str
) -> None:
    nia = {"name": "Nia", "email": "Nia@Acme.Example", "role": "client_manager", "client_id": 1}
    assert api("root").post("/users", nia).status == 201

    assert "Nia will see" in desk("ada").page(PREVIEW.format(2, typed))


def test_a_hidden_email_and_none_are_one_answer(office: Callable) -> None:
    hidden, missing, odd = (
        office("ada").get(PREVIEW.format(2, email))
        for email in ("max@borough.example", "nobody@borough.example", "a%00@b")
    )

    assert hidden.status_code == 404
    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)
    assert odd.status_code == 404


def test_a_hidden_email_and_none_take_the_same_questions(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, asked, one = office("ada"), [], engine.one

    def ask(caller: object, name: str, text: str, *more: object) -> object:
        asked[-1].append((name, re.sub("[0-9a-f-]{36}", "<id>", text)))
        return one(caller, name, text, *more)

    monkeypatch.setattr(engine, "one", ask)
    for email in ("max@borough.example", "nobody@borough.example"):
        asked.append([])
        ada.get(PREVIEW.format(2, email))

    assert asked[0] == asked[1]
    assert asked[0][-1] == ("users", "select=id,name,email,role,clients(name)&id=eq.<id>")


def test_an_inspection_is_granted_to_an_email_where_people_are_too_many_to_list(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from routes.console.pages import inspection_access

    monkeypatch.setattr(inspection_access, "PEOPLE_OFFERED", 1)
    page = office("ada").page("/console/inspections/1")

    assert '<input id="person" name="person" type="text" inputmode="email"' in page
    assert offered(page) == set()


def test_grants_of_inspections_are_audited_as_their_givers(desk: Callable, api: Callable) -> None:
    desk("ada").send(
        "/console/inspections/2/access", {"person": MIA, "do": "give"}, form="/console/"
    )

    of_grants = "relation=eq.client_manager_inspection_access"
    assert api("root").get(f"/audit_log?select=actor_id,action&{of_grants}").json == [
        {"actor_id": ADA, "action": "insert"}
    ]


def test_the_fullest_pages_weigh_less_than_they_may(desk: Callable, api: Callable) -> None:
    root, letters = api("root"), "W" * 60
    people = [
        {
            "id": f"00000000-0000-4000-8000-{number:012}",
            "name": f"{number} {letters}",
            "email": f"p{number}@x.example",
            "role": "client_manager",
            "client_id": 1,
        }
        for number in range(1_000, 1_140)
    ]
    buildings = [
        {"id": 1_000 + each, "name": f"{each} {letters}", "client_id": 1} for each in range(24)
    ]
    assert root.post("/users", people).status == 201
    assert root.post("/buildings", buildings).status == 201
    table, holders = "/client_manager_building_access", [person["id"] for person in people]
    assert (
        root.post(
            table,
            [
                {"manager_id": who, "building_id": each["id"]}
                for who in holders[:8]
                for each in buildings
            ],
        ).status
        == 201
    )
    assert (
        root.post(
            "/client_manager_inspection_access",
            [{"manager_id": who, "inspection_id": 1} for who in holders[:30]],
        ).status
        == 201
    )
    assert (
        root.post(
            "/reports_lead",
            [
                {"inspection_id": 1, "gun_id": 2_000_000_000, "result": letters * 2}
                for _ in range(60)
            ],
        ).status
        == 201
    )

    matrix = desk("root").page("/console/access?client=1&q=WW")
    inspection = desk("root").page("/console/inspections/1")
    last = PREVIEW.format(1, holders[29])

    assert matrix.count('name="was"') == 8 * 24
    assert len(matrix) < 100_000
    assert "And others: these are the first." in inspection
    assert inspection.count("<option") > 100
    assert len(inspection) < 100_000
    assert "will no longer see" in desk("ada").page(last)


# Buildings, to client admins


ADMINS = "/console/access?role=client_admin"


def pairs_of(page: str) -> set[str]:
    return set(re.findall(r'name="pair" value="([^"]+)"', page))


def test_a_super_admin_sees_admins_by_buildings_of_other_clients(office: Callable) -> None:
    page = office("root").page(ADMINS)

    assert pairs_of(page) == {
        f"{ADA}:1",  # her own, and granted all the same: it can be taken back
        f"{ADA}:4",
        f"{ADA}:5",
        *(f"{BOB}:{key}" for key in (1, 2, 3, 6)),
    }
    assert set(re.findall(r'name="was" value="([^"]+)"', page)) == {f"{ADA}:1", f"{ADA}:5"}
    assert page.count('class="own"') == 5
    of_acme = office("root").page(f"{ADMINS}&client=1")
    assert pairs_of(of_acme) == {f"{BOB}:{key}" for key in (1, 2, 3, 6)}


def test_a_client_admin_assigns_managers_only(office: Callable) -> None:
    for query in ("", "?role=client_admin", "?role=super_admin", "?role=nonsense"):
        page = office("ada").page(f"/console/access{query}")
        assert pairs_of(page) == {f"{who}:{key}" for who in (MOE, MIA) for key in (1, 2, 3, 6)}
        assert 'name="role"' not in page


def test_buildings_are_granted_to_admins_in_bulk_and_taken_back(
    desk: Callable, api: Callable
) -> None:
    root = desk("root")
    csrf = root.token(ADMINS)
    pairs = sorted(pairs_of(root.page(ADMINS)))

    preview = root.client.post("/console/access", data={"csrf": csrf, "pair": pairs, "all": BOB})

    assert "Bob will see" in preview.text
    assert "<b>4</b> buildings" in preview.text
    # Inspection 3 he sees by a grant of its own.
    assert "<b>5</b> inspections and <b>2</b> lead readings" in preview.text
    made = re.findall(r'name="made" value="([^"]+)"', preview.text)
    sent = root.client.post(
        "/console/access/confirm",
        data={"csrf": csrf, "made": made, "gone": f"{ADA}:5", "back": "?role=client_admin"},
    )
    assert sent.headers["Location"].startswith("/console/access?role=client_admin&done=4+granted")
    assert len(api("bob").get("/buildings?client_id=eq.1").json) == 4
    assert api("ada").get("/buildings?id=eq.5").json == []
    assert api("bob").patch("/buildings?id=eq.1", {"name": "x"}).status in (200, 204, 404)
    assert api("root").get("/buildings?id=eq.1&select=name").json == [{"name": "Harbor House"}]


def test_what_was_done_last_is_told_not_what_was_done_before(desk: Callable) -> None:
    root = desk("root")
    first = root.send("/console/access/confirm", {"made": f"{BOB}:1", "back": "?q=h"}, form=ADMINS)
    told = first.headers["Location"].removeprefix("/console/access")

    second = root.send("/console/access/confirm", {"gone": f"{BOB}:1", "back": told}, form=ADMINS)

    assert second.headers["Location"].startswith("/console/access?q=h&done=0+granted")
    assert "0 granted, 1 revoked." in root.page(second.headers["Location"])


def test_what_was_so_already_is_not_told_as_done(desk: Callable) -> None:
    root = desk("root")
    csrf = root.token(ADMINS)

    told = [
        root.client.post("/console/access/confirm", data={"csrf": csrf, **pairs}).headers[
            "Location"
        ]
        for pairs in (
            {"made": [f"{BOB}:1", f"{BOB}:2"]},
            {"made": [f"{BOB}:1", f"{BOB}:3"], "gone": [f"{ADA}:5", f"{ADA}:4"]},
            {"made": [f"{BOB}:1"], "gone": [f"{ADA}:5"]},
        )
    ]

    numbers = [re.search(r"done=(\d+)\+granted%2C\+(\d+)\+revoked", each) for each in told]
    assert [each.groups() for each in numbers if each] == [("2", "0"), ("1", "1"), ("0", "0")]


def test_a_revocation_says_what_is_lost_and_what_stays(desk: Callable) -> None:
    root = desk("root")

    lost = root.send("/console/access", {"was": f"{ADA}:5", "pair": f"{ADA}:5"}, form=ADMINS)
    stays = root.send("/console/access", {"was": f"{ADA}:1", "pair": f"{ADA}:1"}, form=ADMINS)

    assert "Ada will no longer see" in lost.text
    assert "<b>1</b> inspections and <b>0</b> lead readings" in lost.text
    assert "<b>0</b> inspections" in stays.text  # which she sees as her client's


@pytest.mark.parametrize("who", ["ada", "bob", "moe"])
@pytest.mark.parametrize(
    "given", [{"made": f"{BOB}:1"}, {"made": f"{ADA}:4"}, {"gone": f"{ADA}:5"}]
)
def test_nobody_else_grants_to_admins(
    desk: Callable, api: Callable, who: str, given: dict[str, str]
) -> None:
    before = everything(api)

    answer = desk(who).send("/console/access/confirm", given, form="/console/")

    assert answer.status_code in (400, 403)
    assert everything(api) == before


def test_pages_lead_to_where_access_is_given(office: Callable) -> None:
    root, ada = office("root"), office("ada")

    assert f"/console/access?role=client_admin&amp;person={ADA}" in root.page(f"/console/people/{ADA}")  # fmt: skip
    assert "/console/access?role=client_admin&amp;building=5" in root.page("/console/buildings/5")
    assert "/console/access?role=client_manager&amp;building=1" in ada.page("/console/buildings/1")
    assert "role=client_admin" not in ada.page("/console/buildings/1")
    assert "/console/access?" not in ada.page("/console/buildings/5")
    assert pairs_of(root.page(f"{ADMINS}&building=5")) == {f"{ADA}:5"}
