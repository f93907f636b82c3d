"""Changes of many inspections from their list: the preview, the one write, and the undo."""

import html
import re
from collections.abc import Callable

import pytest

from tests.console.conftest import Form, FormClient
from tests.console.inspection_rows import (
    CLOSED_VISIT,
    IVO,
    LATE_VISIT,
    NEXT_VISIT,
    TODAY,
    VISIT,
    YESTERDAY,
    add_visits,
    set_clock,
)

LIST = "/console/inspections"
BACK = "back=/inspections%3Fbuilding_id%3Deq.1"
OF_ANOTHER_CLIENT, READ_ONLY = 6, 8


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)


def values(api: Callable, column: str, *ids: int) -> list[object]:
    rows = api("service").get(f"/inspections?id=in.({','.join(map(str, ids))})&order=id").json
    return [row[column] for row in rows]


def address(column: str, *ids: int) -> str:
    return f"{LIST}/change/{column}?{BACK}&{'&'.join(f'ids={each}' for each in ids)}"


def confirm(user: FormClient, page: str, column: str) -> str:
    """Press Save on a preview and return the page that follows."""
    path = f"{LIST}/change/{column}/confirm"
    answer = user.client.post(path, data=Form(page, path).with_({}))
    assert answer.status_code == 303, answer.text
    return user.page(answer.headers["Location"])


def test_list_has_boxes_and_buttons_for_admins(browse: Callable) -> None:
    page = browse("ada").page(LIST)
    assert re.findall(rf'{LIST}/change/(\w+)">([\w ]+)<', page) == [
        ("inspector_id", "Assign an inspector"),
        ("date_visited", "Move the date"),
        ("status", "Cancel the visits"),
    ]
    assert 'name="ids"' not in browse("moe").page(LIST)


def test_inspector_is_assigned_after_a_preview_and_undone(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    before = values(api, "inspector_id", LATE_VISIT, VISIT)

    preview = ada.fill_in(address("inspector_id", LATE_VISIT, VISIT), {"inspector_id": "1"}).text
    assert "Mia (inspector: Ivo Kral) → Ines Vega" in preview
    assert values(api, "inspector_id", LATE_VISIT, VISIT) == before == [IVO, IVO]
    done = confirm(ada, preview, "inspector_id")

    assert "2 inspections assigned to Ines Vega." in done
    assert values(api, "inspector_id", LATE_VISIT, VISIT) == [1, 1]
    undone = confirm(ada, done, "inspector_id")
    assert "2 inspections assigned to Mia (inspector: Ivo Kral)." in undone
    assert values(api, "inspector_id", LATE_VISIT, VISIT) == before


@pytest.mark.parametrize(
    ("typed", "dates", "text"),
    [
        (
            {"days": "7"},
            ["2026-03-16", "2026-03-17"],
            "1 inspection moved to 16 Mar 2026, 1 inspection moved to 17 Mar 2026.",
        ),
        ({"date": "2026-04-01"}, ["2026-04-01", "2026-04-01"], "2 inspections moved to 1 Apr 2026."),
    ],
)
def test_dates_move_by_days_or_to_a_day(
    browse: Callable, api: Callable, typed: dict[str, str], dates: list[str], text: str
) -> None:
    ada = browse("ada")

    done = confirm(ada, ada.fill_in(address("date_visited", LATE_VISIT, VISIT), typed).text, "date_visited")

    assert text in done
    assert values(api, "date_visited", LATE_VISIT, VISIT) == dates
    confirm(ada, done, "date_visited")
    assert values(api, "date_visited", LATE_VISIT, VISIT) == [YESTERDAY, TODAY]


def test_open_inspections_are_cancelled(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    done = confirm(ada, ada.page(address("status", VISIT, NEXT_VISIT)), "status")

    assert "2 inspections cancelled." in done
    assert values(api, "status", VISIT, NEXT_VISIT) == ["cancelled", "cancelled"]
    assert "2 inspections set to Scheduled." in confirm(ada, done, "status")
    assert values(api, "status", VISIT, NEXT_VISIT) == ["scheduled", "scheduled"]


@pytest.mark.parametrize("key", [CLOSED_VISIT, READ_ONLY, OF_ANOTHER_CLIENT, 999])
def test_one_refused_row_refuses_all(browse: Callable, api: Callable, key: int) -> None:
    ada = browse("ada")

    answer = ada.get(address("status", VISIT, key))

    assert "The others are still ticked: press Cancel the visits." in html.unescape(
        ada.page(answer.headers["Location"])
    )
    assert values(api, "status", VISIT) == ["scheduled"]


def test_row_out_of_reach_is_refused_like_a_missing_one(browse: Callable) -> None:
    ada = browse("ada")
    texts = [ada.get(address("inspector_id", key)).text for key in (READ_ONLY, OF_ANOTHER_CLIENT, 999)]
    assert [re.sub(r'value="[^"]*"|[?&]ids=\d+', "", each) for each in texts] == [
        re.sub(r'value="[^"]*"|[?&]ids=\d+', "", texts[2])
    ] * 3


def test_rows_that_the_user_may_not_change_have_no_box(browse: Callable) -> None:
    page = browse("ada").page(LIST)
    boxes = {int(each) for each in re.findall(r'name="ids" value="(\d+)"', page)}
    every = browse("ada").page(f"{LIST}?ticked=all")

    assert f'href="{LIST}/{READ_ONLY}"' in page
    assert VISIT in boxes
    assert READ_ONLY not in boxes
    assert {int(each) for each in re.findall(r'name="ids" value="(\d+)" checked', every)} == boxes


def test_refusal_names_the_rows_that_the_user_sees_and_keeps_the_ticks(browse: Callable) -> None:
    ada = browse("ada")
    path = f"{LIST}/change/date_visited?back=/inspections?order=id.asc&ids={VISIT},{LATE_VISIT}"
    pages = {
        key: html.unescape(ada.page(ada.get(f"{path},{key}").headers["Location"]))
        for key in (READ_ONLY, OF_ANOTHER_CLIENT, 999)
    }
    title = re.search(r"<title>(.*?) · Walkthrough", ada.page(f"{LIST}/{READ_ONLY}"))

    assert title
    assert f"You may not change {html.unescape(title[1])}. The others are still ticked" in pages[READ_ONLY]
    assert "You may not change 1 of the chosen rows. The others are still ticked" in pages[999]
    assert [re.findall(r'name="ids" value="(\d+)" checked', each) for each in pages.values()] == [
        re.findall(rf'name="ids" value="({VISIT}|{LATE_VISIT})"', pages[999])
    ] * 3
    role = r'(role="status">.*?</p>)'
    assert re.search(role, pages[OF_ANOTHER_CLIENT])[1] == re.search(role, pages[999])[1]


def test_change_since_the_preview_refuses_all(browse: Callable, api: Callable) -> None:
    ada, path = browse("ada"), f"{LIST}/change/inspector_id/confirm"
    preview = ada.fill_in(address("inspector_id", LATE_VISIT, VISIT), {"inspector_id": "1"}).text
    api("service").patch(f"/inspections?id=eq.{VISIT}", {"inspector_id": None})

    answer = ada.client.post(path, data=Form(preview, path).with_({}))

    assert answer.status_code == 409
    assert values(api, "inspector_id", LATE_VISIT, VISIT) == [IVO, None]


def test_nothing_ticked_says_what_to_tick(browse: Callable) -> None:
    ada = browse("ada")
    answer = ada.get(f"{LIST}/change/status?{BACK}")
    assert "Tick at least one inspection, then press Cancel the visits." in html.unescape(
        ada.page(answer.headers["Location"])
    )


def test_all_rows_of_the_list_are_ticked_beyond_its_page(browse: Callable, api: Callable) -> None:
    rows = [
        {"id": 1_000 + each, "building_id": 6, "inspection_type": "fire", "status": "scheduled", "date_visited": TODAY}
        for each in range(73)
    ]
    assert api("service").post("/inspections", rows).status == 201
    ada = browse("ada")
    listed = ada.page(f"{LIST}?building_id=eq.6")
    link = re.search(r'<a href="([^"]+)">Tick all 73</a>', listed)
    assert link

    page = ada.page(html.unescape(link[1]))
    ticked = re.findall(r'name="ids" value="(\d+)" checked', page)

    assert (listed.count('name="ids"'), len(ticked)) == (50, 73)
    assert "Untick all" in page
    assert "Move the date: 72 inspections" in ada.page(address("date_visited", *map(int, ticked[1:])))


def test_many_values_are_counted_in_the_message(browse: Callable, api: Callable) -> None:
    added = {901: "2026-03-20", 902: "2026-03-21", 903: None}
    visit = {"building_id": 1, "inspection_type": "fire", "status": "scheduled"}
    rows = [{**visit, "id": key, "date_visited": day} for key, day in added.items()]
    assert api("service").post("/inspections", rows).status == 201
    ids = [LATE_VISIT, VISIT, NEXT_VISIT, *added]
    ada = browse("ada")

    done = confirm(ada, ada.fill_in(address("date_visited", *ids), {"date": "2026-04-01"}).text, "date_visited")

    assert "6 inspections moved to 1 Apr 2026." in done
    undone = confirm(ada, done, "date_visited")
    assert "1 inspection left without a date, 5 inspections moved to 5 days." in undone


def test_more_than_the_limit_is_refused(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routes.console.components.lists.CHOSEN_MAX", 1)
    ada = browse("ada")
    answer = ada.get(address("status", VISIT, NEXT_VISIT))
    assert "at most 1 rows at once. Tick other inspections" in ada.page(answer.headers["Location"])


@pytest.mark.parametrize("who", ["moe", "mia"])
def test_managers_change_nothing(browse: Callable, api: Callable, who: str) -> None:
    user = browse(who)
    assert user.get(address("status", VISIT)).status_code == 403
    fields = {"edit": f"scheduled:cancelled:{VISIT}"}
    assert user.send(f"{LIST}/change/status/confirm", fields, form="/console/").status_code == 403
    assert values(api, "status", VISIT) == ["scheduled"]
