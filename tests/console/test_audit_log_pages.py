"""The audit log's list and its entries, and the links to them."""

import csv
import datetime
import io
import json
from collections.abc import Callable

import pytest

from tests.conftest import ADA, MOE

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


def test_entry_shows_the_values_before_and_after(browse: Callable, api: Callable) -> None:
    changed(api, browse)
    (entry,) = api("ada").get("/audit_log?relation=eq.inspections&select=id,before,after").json

    page = browse("ada").page(f"{LOG}/{entry['id']}")

    for label, before, after in (("Notes", "all fine", "by Ada"), ("Status", "completed", "failed")):
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
    assert "No rows match." in ada.narrow(LOG, {**typed, "actor_id": f"eq.{MOE}"}).text


def test_csv_has_the_values_as_json(browse: Callable, api: Callable) -> None:
    changed(api, browse)

    text = browse("ada").get(f"{LOG}.csv?relation=eq.inspections").text
    (entry,) = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))

    assert json.loads(entry["after"])["notes"] == "by Ada"
