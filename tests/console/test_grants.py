"""Grants in the console: inspections to managers and admins, buildings to client admins."""

import re
from collections.abc import Callable

import pytest

from routes.console.components import queries
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID

pytestmark = pytest.mark.one_engine

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


def test_inspection_grant_is_previewed_created_and_revoked(browse: Callable, api: Callable) -> None:
    ada, mia = browse("ada"), browse("mia")
    preview = PREVIEW.format(2, MIA)

    page = ada.page(preview)

    assert "Mia will see" in page
    assert "Lead at Harbor House, 10 Apr 2025" in page
    assert "<b>2</b> lead readings" in page
    assert "its inspector, Ivo Kral" in page
    assert "They will not see its building" in page
    assert mia.get("/console/inspections/2").status_code == 404
    sent = ada.send("/console/inspections/2/access", {"person": MIA, "do": "give"}, form=preview)
    assert "Inspection granted to Mia." in ada.page(sent.headers["Location"])
    seen = mia.page("/console/inspections/2")
    assert "you were granted only this inspection" in seen
    assert ("Positive" in seen, "Ivo Kral" in seen) == (True, True)
    assert api("mia").get("/inspections?select=id").json == [{"id": 2}]
    assert api("mia").get("/buildings").json == []
    grants = "/client_manager_inspection_access?select=assigned_by"
    assert api("root").get(f"{grants}&manager_id=eq.{MIA}").json == [{"assigned_by": ADA}]

    again = ada.page(preview)
    assert "Mia will no longer see" in again
    ada.send("/console/inspections/2/access", {"person": MIA, "do": "take"}, form=preview)
    assert mia.get("/console/inspections/2").status_code == 404


def test_preview_lists_other_rules(browse: Callable) -> None:
    ada = browse("ada")

    through = ada.page(PREVIEW.format(1, MOE))
    ada.send("/console/access/confirm", {"made": f"{MOE}:2"}, form="/console/access")
    after = ada.page(PREVIEW.format(3, MOE))

    assert "Moe can already see it" in through
    assert "Granted the building of this inspection" in through
    assert "will see</h2>" not in through
    assert "Moe can still see it" in after
    assert "no longer" not in after


def test_inspection_page_lists_holders_and_eligible_users(browse_shared: Callable) -> None:
    for who, key, held, people, taken_back in (
        ("ada", 3, {"Moe"}, {MIA}, {MOE}),
        ("root", 3, {"Moe", "Bob"}, {MIA, MAX, ADA}, {MOE, BOB}),
        ("ada", 1, set(), {MOE, MIA}, set()),
        ("ada", 8, set(), set(), set()),
        ("bob", 3, {"Bob"}, set(), set()),
        ("moe", 3, set(), set(), set()),
    ):
        page = browse_shared(who).page(f"/console/inspections/{key}")
        shown = set(re.findall(r'>Open<.*?</td><td class="[^"]*"><a href="/console/people/[^"]+">(\w+)</a>', page))
        back = set(re.findall(r'/access\?person=([^"&]+)&', page))
        assert (shown, offered(page), back) == (held, people, taken_back), (who, key)


@pytest.mark.parametrize(
    ("who", "key", "person", "status"),
    [
        pytest.param("ada", 1, MAX, 404, id="a manager of another client"),
        pytest.param("ada", 1, UNKNOWN_USER_ID, 404, id="nobody"),
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
def test_inspection_grant_out_of_reach_is_refused(
    browse: Callable, api: Callable, who: str, key: int, person: str, status: int
) -> None:
    before = everything(api)

    answer = browse(who).send(f"/console/inspections/{key}/access", {"person": person, "do": "give"}, form="/console/")

    assert answer.status_code == status
    assert everything(api) == before
    assert browse(who).get(PREVIEW.format(key, person)).status_code in (403, 404)


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
def test_inspection_revocation_out_of_reach_is_refused(
    browse: Callable, api: Callable, who: str, key: int, person: str, status: int
) -> None:
    before = everything(api)

    answer = browse(who).send(f"/console/inspections/{key}/access", {"person": person, "do": "take"}, form="/console/")

    assert answer.status_code == status
    assert everything(api) == before


def test_super_admin_grants_inspections_across_clients(browse: Callable, api: Callable) -> None:
    root = browse("root")

    page = root.page(PREVIEW.format(6, ADA))
    for person in (ADA, MAX, MIA):
        sent = root.send("/console/inspections/6/access", {"person": person, "do": "give"}, form="/console/")
        assert sent.status_code == 303

    assert "Ada, client admin of Acme Housing." in page
    assert "<b>2</b> lead readings" in page
    assert "Max can already see it" in root.page(PREVIEW.format(7, MAX))
    assert api("ada").get("/inspections?id=eq.6&select=id,buildings(id)").json == [{"id": 6, "buildings": None}]
    assert api("mia").get("/inspections?select=id").json == [{"id": 6}]


def test_user_can_be_chosen_by_email(browse_shared: Callable) -> None:
    assert "Mia will see" in browse_shared("ada").page(PREVIEW.format(2, " Mia@acme.example "))
    assert browse_shared("ada").get(PREVIEW.format(2, "max@borough.example")).status_code == 404


@pytest.mark.parametrize("typed", ["Nia@Acme.Example", "nia@acme.example", " NIA@ACME.EXAMPLE"])
def test_email_matches_as_at_sign_in(browse: Callable, api: Callable, typed: str) -> None:
    nia = {"name": "Nia", "email": "Nia@Acme.Example", "role": "client_manager", "client_id": 1}
    assert api("root").post("/users", nia).status == 201

    assert "Nia will see" in browse("ada").page(PREVIEW.format(2, typed))


def test_hidden_and_missing_emails_have_equal_responses(browse_shared: Callable) -> None:
    hidden, missing, odd = (
        browse_shared("ada").get(PREVIEW.format(2, email))
        for email in ("max@borough.example", "nobody@borough.example", "a%00@b")
    )

    assert hidden.status_code == 404
    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)
    assert odd.status_code == 404


def test_hidden_and_missing_emails_cause_equal_queries(
    browse_shared: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, requested, one = browse_shared("ada"), [], queries.first_row

    def ask(caller: object, name: str, text: str, *more: object) -> object:
        requested[-1].append((name, re.sub("[0-9a-f-]{36}", "<id>", text)))
        return one(caller, name, text, *more)

    monkeypatch.setattr(queries, "first_row", ask)
    for email in ("max@borough.example", "nobody@borough.example"):
        requested.append([])
        ada.get(PREVIEW.format(2, email))

    assert requested[0] == requested[1]
    assert requested[0][-1] == ("users", "select=id,name,email,role,clients(name),inspectors(name)&id=eq.<id>")


def test_email_field_replaces_a_select_of_too_many_users(
    browse_shared: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from routes.console.pages import grants

    monkeypatch.setattr(grants, "GRANTEES_LISTED_MAX", 1)
    page = browse_shared("ada").page("/console/inspections/1")

    assert '<input id="person" name="person" type="text" inputmode="email"' in page
    assert offered(page) == set()


def test_inspection_grant_is_audited_with_its_grantor(browse: Callable, api: Callable) -> None:
    browse("ada").send("/console/inspections/2/access", {"person": MIA, "do": "give"}, form="/console/")

    of_grants = "relation=eq.client_manager_inspection_access"
    assert api("root").get(f"/audit_log?select=actor_id,action&{of_grants}").json == [
        {"actor_id": ADA, "action": "insert"}
    ]


def test_largest_pages_stay_below_the_size_limit(browse: Callable, api: Callable) -> None:
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
    buildings = [{"id": 1_000 + each, "name": f"{each} {letters}", "client_id": 1} for each in range(24)]
    assert root.post("/users", people).status == 201
    assert root.post("/buildings", buildings).status == 201
    table, holders = "/client_manager_building_access", [person["id"] for person in people]
    assert (
        root.post(
            table, [{"manager_id": who, "building_id": each["id"]} for who in holders[:8] for each in buildings]
        ).status
        == 201
    )
    assert (
        root.post(
            "/client_manager_inspection_access", [{"manager_id": who, "inspection_id": 1} for who in holders[:30]]
        ).status
        == 201
    )
    assert (
        root.post(
            "/reports_lead", [{"inspection_id": 1, "gun_id": 2_000_000_000, "result": letters * 2} for _ in range(60)]
        ).status
        == 201
    )

    matrix = browse("root").page("/console/access?client=1&q=WW")
    inspection = browse("root").page("/console/inspections/1")
    last = PREVIEW.format(1, holders[29])

    assert matrix.count('name="was"') == 8 * 24
    assert len(matrix) < 100_000
    assert ">All inspection access of client managers</a>" in inspection
    assert inspection.count("<option") > 100
    assert len(inspection) < 100_000
    assert "will no longer see" in browse("ada").page(last)


# Buildings, to client admins


ADMINS = "/console/access?role=client_admin"


def pairs_of(page: str) -> set[str]:
    return set(re.findall(r'name="pair" value="([^"]+)"', page))


def test_admin_matrix_shows_buildings_of_other_clients(browse_shared: Callable) -> None:
    page = browse_shared("root").page(ADMINS)

    assert pairs_of(page) == {
        f"{ADA}:1",  # her own, and granted all the same: it can be taken back
        f"{ADA}:4",
        f"{ADA}:5",
        *(f"{BOB}:{key}" for key in (1, 2, 3, 6)),
    }
    assert set(re.findall(r'name="was" value="([^"]+)"', page)) == {f"{ADA}:1", f"{ADA}:5"}
    assert page.count('class="own"') == 5
    of_acme = browse_shared("root").page(f"{ADMINS}&client=1")
    assert pairs_of(of_acme) == {f"{BOB}:{key}" for key in (1, 2, 3, 6)}


def test_client_admin_matrix_shows_managers_only(browse_shared: Callable) -> None:
    for query in ("", "?role=client_admin", "?role=super_admin", "?role=nonsense"):
        page = browse_shared("ada").page(f"/console/access{query}")
        assert pairs_of(page) == {f"{who}:{key}" for who in (MOE, MIA) for key in (1, 2, 3, 6)}
        assert 'name="role"' not in page


def test_buildings_are_granted_to_admins_in_bulk_and_revoked(browse: Callable, api: Callable) -> None:
    root = browse("root")
    csrf = root.token(ADMINS)
    pairs = sorted(pairs_of(root.page(ADMINS)))

    preview = root.client.post("/console/access", data={"csrf": csrf, "pair": pairs, "all": BOB})

    assert "Bob will see" in preview.text
    assert "<b>4</b> buildings" in preview.text
    # Inspection 3 he sees by a grant of its own.
    assert "<b>5</b> inspections and <b>2</b> lead readings" in preview.text
    made = re.findall(r'name="made" value="([^"]+)"', preview.text)
    sent = root.client.post(
        "/console/access/confirm", data={"csrf": csrf, "made": made, "gone": f"{ADA}:5", "back": "?role=client_admin"}
    )
    assert sent.headers["Location"] == "/console/access?role=client_admin"
    assert "4 granted, 1 revoked." in root.page(sent.headers["Location"])
    assert len(api("bob").get("/buildings?client_id=eq.1").json) == 4
    assert api("ada").get("/buildings?id=eq.5").json == []
    assert api("bob").patch("/buildings?id=eq.1", {"name": "x"}).status in (200, 204, 404)
    assert api("root").get("/buildings?id=eq.1&select=name").json == [{"name": "Harbor House"}]


def test_message_of_the_last_change_replaces_the_previous_one(browse: Callable) -> None:
    root = browse("root")
    first = root.send("/console/access/confirm", {"made": f"{BOB}:1", "back": "?q=h"}, form=ADMINS)
    assert first.headers["Location"] == "/console/access?q=h"
    second = root.client.post(
        "/console/access/confirm", data={"csrf": root.token("/console/account"), "gone": f"{BOB}:1", "back": "?q=h"}
    )

    page = root.page(second.headers["Location"])
    assert ("0 granted, 1 revoked." in page, "1 granted" in page) == (True, False)


def test_message_counts_only_effective_changes(browse: Callable) -> None:
    root = browse("root")
    csrf = root.token(ADMINS)

    pages = [
        root.page(root.client.post("/console/access/confirm", data={"csrf": csrf, **pairs}).headers["Location"])
        for pairs in (
            {"made": [f"{BOB}:1", f"{BOB}:2"]},
            {"made": [f"{BOB}:1", f"{BOB}:3"], "gone": [f"{ADA}:5", f"{ADA}:4"]},
            {"made": [f"{BOB}:1"], "gone": [f"{ADA}:5"]},
        )
    ]

    numbers = [re.search(r"(\d+) granted, (\d+) revoked", each) for each in pages]
    assert [each.groups() for each in numbers if each] == [("2", "0"), ("1", "1"), ("0", "0")]


def test_revocation_preview_counts_only_lost_rows(browse: Callable) -> None:
    root = browse("root")

    lost = root.send("/console/access", {"was": f"{ADA}:5", "pair": f"{ADA}:5"}, form=ADMINS)
    stays = root.send("/console/access", {"was": f"{ADA}:1", "pair": f"{ADA}:1"}, form=ADMINS)

    assert "Ada will no longer see" in lost.text
    assert "<b>1</b> inspection and <b>0</b> lead readings" in lost.text
    assert "<b>0</b> inspections" in stays.text  # which she sees as her client's


@pytest.mark.parametrize("who", ["ada", "bob", "moe"])
@pytest.mark.parametrize("given", [{"made": f"{BOB}:1"}, {"made": f"{ADA}:4"}, {"gone": f"{ADA}:5"}])
def test_only_super_admins_grant_to_admins(browse: Callable, api: Callable, who: str, given: dict[str, str]) -> None:
    before = everything(api)

    answer = browse(who).send("/console/access/confirm", given, form="/console/")

    assert answer.status_code in (400, 403)
    assert everything(api) == before


def test_pages_link_to_the_access_matrix(browse_shared: Callable) -> None:
    root, ada = browse_shared("root"), browse_shared("ada")

    assert f"/console/access?role=client_admin&amp;person={ADA}" in root.page(f"/console/people/{ADA}")  # fmt: skip
    assert "/console/access?role=client_admin&amp;building=5" in root.page("/console/buildings/5")
    assert "/console/access?role=client_manager&amp;building=1" in ada.page("/console/buildings/1")
    assert "role=client_admin" not in ada.page("/console/buildings/1")
    assert "/console/access?" not in ada.page("/console/buildings/5")
    assert pairs_of(root.page(f"{ADMINS}&building=5")) == {f"{ADA}:5"}
