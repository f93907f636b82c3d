"""The audit log's list and its entries, and the links to them."""

import csv
import datetime
import html
import io
import json
import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA, MOE
from tests.console.conftest import EMAILS

LOG = "/console/audit_log"


def changed(api: Callable, browse: Callable) -> None:
    """Let Ada change an inspection, and Root a building of another client."""
    browse("ada").fill_in("/console/inspections/1/edit", {"notes": "by Ada", "status": "failed"})
    api("root").patch("/buildings?id=eq.4", {"city": "Troy"})


def test_page_of_a_row_links_to_its_entries(browse: Callable, api: Callable) -> None:
    changed(api, browse)
    ada = browse("ada")
    link = f"{LOG}?relation=eq.inspections&amp;row_key=eq.1"

    assert f'href="{link}"' in ada.page("/console/inspections/1")
    page = ada.page(link.replace("&amp;", "&"))
    assert "1–1" in page
    assert 'href="/console/inspections/1"' in page
    assert 'value="1"' in page
    assert LOG not in browse("moe").page("/console/inspections/1")


def rows_of_log(page: str) -> list[str]:
    """Return the cells of the column of rows."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in body.split("</tr>")[:-1]]
    return [html.unescape(re.sub(r"<[^>]*>", "", cells[-1])).strip() for cells in rows]


def test_entries_name_their_rows(browse: Callable, api: Callable) -> None:
    root = api("root")
    (new,) = root.post("/inspectors", {"name": "Zoe", "email": "zoe@x.example"}, prefer="return=representation").json
    inspection = root.get("/inspections?id=eq.1&select=inspection_type,date_visited,buildings(name)").json[0]
    grants = "/client_manager_building_access?select=building_id,buildings(name)"
    (grant, *_) = root.get(f"{grants}&manager_id=eq.{MOE}").json
    of_grant = f"manager_id=eq.{MOE}&building_id=eq.{grant['building_id']}"
    writes = [
        lambda: root.delete(f"/inspectors?id=eq.{new['id']}"),
        lambda: root.patch("/inspections?id=eq.1", {"notes": "b"}),
        lambda: root.patch("/buildings?id=eq.4", {"name": "Mill"}),
        lambda: root.patch(f"/users?id=eq.{MOE}", {"name": "Moses"}),
        lambda: root.delete(f"/client_manager_building_access?{of_grant}"),
    ]
    assert [write().status for write in writes] == [204] * len(writes)

    shown = rows_of_log(browse("root").page(f"{LOG}?action=in.(insert,update,delete)"))[:6]

    assert shown[0] == f"Moses, {grant['buildings']['name']}"
    assert shown[1:3] == ["Moses", "Mill (4)"]
    assert re.fullmatch(rf"\w+ at {inspection['buildings']['name']}, \d+ \w+ \d+ \(1\)", shown[3])
    assert shown[4:] == [f"Zoe ({new['id']})"] * 2  # deleted, and made


def test_title_of_a_hidden_row_is_not_in_the_log(browse: Callable, api: Callable) -> None:
    """A client admin reads the entries of their client, and no name of a row of another client."""
    changed(api, browse)

    assert rows_of_log(browse("ada").page(f"{LOG}?relation=eq.buildings")) == []


def test_entry_shows_the_values_before_and_after(browse: Callable, api: Callable) -> None:
    changed(api, browse)
    (entry,) = api("ada").get("/audit_log?relation=eq.inspections&select=id,before,after").json

    page = browse("ada").page(f"{LOG}/{entry['id']}")

    for label, before, after in (("Notes", "all fine", "by Ada"), ("Status", "Completed", "Failed")):
        assert f'<th scope="row">{label}</th><td>{before}</td><td>{after}</td>' in page
    assert f'href="/console/people/{ADA}">Ada</a>' in page


def test_admin_sees_entries_of_their_client_only(browse: Callable, api: Callable) -> None:
    changed(api, browse)
    (entry,) = api("root").get("/audit_log?relation=eq.buildings&select=id").json

    assert browse("root").get(f"{LOG}/{entry['id']}").status_code == 200
    assert browse("ada").get(f"{LOG}/{entry['id']}").status_code == 404
    assert "Buildings" not in browse("ada").page(f"{LOG}?relation=eq.buildings").partition("<tbody>")[2]


@pytest.mark.parametrize("path", [LOG, f"{LOG}/1", f"{LOG}.csv"])
def test_manager_does_not_open_the_audit_log(browse_shared: Callable, path: str) -> None:
    assert browse_shared("moe").get(path).status_code == 403


def test_form_filters_by_table_row_person_and_time(browse: Callable, api: Callable) -> None:
    changed(api, browse)
    today = datetime.datetime.now(datetime.UTC).date()
    ada = browse("ada")
    typed = {
        "relation": "eq.inspections",
        "is_row_key": "1",
        "actor_id": f"eq.{ADA}",
        "from": str(today),
        "to": str(today),
    }

    page = ada.narrow(LOG, typed).text

    following = today + datetime.timedelta(1)
    assert f"at=gte.{today}&amp;at=lt.{following}" in page
    assert "1–1" in page
    empty = ada.narrow(LOG, {**typed, "actor_id": f"eq.{MOE}"}).text
    assert empty.count("No rows") == 1
    assert "No rows match." in empty


def test_many_persons_are_suggested_and_found_by_name_or_email(
    browse: Callable, api: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(api, browse)
    monkeypatch.setattr("routes.console.pages.audit_log.USERS_LISTED_MAX", 1)
    ada = browse("ada")
    assert 'data-suggest="/console/people/suggest"' in ada.page(LOG)

    def found(typed: str) -> str:
        answer = ada.narrow(LOG, {"is_actor_id": typed, "relation": "eq.inspections"})
        assert answer.status_code == 303
        return ada.page(answer.headers["Location"])

    for typed in ("Ada", EMAILS["ada"]):
        page = found(typed)
        assert f'name="is_actor_id" value="{EMAILS["ada"]}"' in re.sub(r"\s+", " ", page).replace(
            'placeholder="name or e-mail" ', ""
        )
        assert "1–1" in page
    assert "No rows match." in found(EMAILS["moe"])
    # A user of another client is found no more than a missing one.
    assert found(EMAILS["bob"]).partition("<main")[2] == found("nobody@x.example").partition("<main")[2]


def test_csv_has_the_values_as_json(browse: Callable, api: Callable) -> None:
    changed(api, browse)

    text = browse("ada").get(f"{LOG}.csv?relation=eq.inspections").text
    (entry,) = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))

    assert json.loads(entry["after"])["notes"] == "by Ada"


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def texts(page: str) -> str:
    """Return the text of a page's main part, without addresses and the values of forms."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.partition("<main")[2].partition("This list in the API")[0]))


def test_log_is_filtered_by_what_was_done(browse: Callable, api: Callable) -> None:
    changed(api, browse)
    ada = browse("ada")

    page = ada.narrow(LOG, {"action": "eq.update"}).text

    assert '<option value="eq.update" selected>Changed</option>' in page
    assert len(rows_of_log(page)) == 1
    assert "Form sent" not in texts(page).partition("Time")[2]


def test_sent_form_is_listed_in_words(browse: Callable, api: Callable) -> None:
    browse("ada").fill_in("/console/inspections/new", {"building_id": "1", "inspection_type": "fire"})
    page = browse("ada").page(f"{LOG}?action=eq.submitted")

    assert rows_of_log(page) == ["–"]
    assert "Form sent" in page
    assert not re.search(r"[0-9a-f]{64}", texts(page))


def test_entry_of_a_grant_names_the_user_and_the_building(browse: Callable, api: Callable) -> None:
    grant = {"manager_id": MOE, "building_id": 2}
    assert api("ada").post("/client_manager_building_access", grant).status == 201
    log = "/audit_log?relation=eq.client_manager_building_access&action=eq.insert&order=id.desc&limit=1&select=id"
    (entry,) = api("ada").get(log).json

    page = browse("ada").page(f"{LOG}/{entry['id']}")

    assert "Building access of client managers" in page
    assert '<th scope="row">Client manager</th><td>–</td><td>Moe</td>' in page
    assert not UUID.search(texts(page))


def test_entry_of_an_api_key_names_its_user(browse: Callable, api: Callable) -> None:
    made = api("ada").post(f"/auth/v1/admin/users/{MOE}/api_keys", {"name": "Tablet"})
    assert made.status in (200, 201)
    (entry,) = api("ada").get("/audit_log?action=eq.create_api_key&select=id").json

    page = browse("ada").page(f"{LOG}/{entry['id']}")

    assert "API key made" in page
    assert "<td>Moe</td>" in page
    assert not UUID.search(texts(page))


def test_refused_function_is_called_by_its_words(browse: Callable, api: Callable) -> None:
    assert api("moe").post("/rpc/apply_schedule", {"p_building_ids": [1]}).status == 403

    page = browse("ada").page(f"{LOG}?action=eq.refused")

    assert "Apply schedule" in page
    assert "apply_schedule" not in texts(page)
