"""The console's own words, in the place of the names of tables, columns, ids and bytes."""

import datetime
import re
from collections.abc import Callable

import pytest

from tests.conftest import MOE
from tests.console.test_audit_log_pages import UUID, texts

pytestmark = pytest.mark.one_engine


@pytest.mark.parametrize("path", ["/console/client_manager_building_access", "/console/buildings/1"])
def test_grants_are_called_by_people_and_places(browse_shared: Callable, path: str) -> None:
    page = texts(browse_shared("ada").page(path))

    assert "Building access of client managers" in page
    assert "Client manager building access" not in page
    assert not UUID.search(page)


def test_page_of_a_grant_is_called_by_its_user_and_building(browse_shared: Callable) -> None:
    page = browse_shared("ada").page(f"/console/client_manager_building_access/{MOE},1")

    assert "Moe, Harbor House" in page
    assert not UUID.search(texts(page))


@pytest.mark.parametrize("path", ["findings/new", "import/findings"])
def test_hints_name_no_function(browse_shared: Callable, path: str) -> None:
    assert not re.search(r"\b[a-z]+_[a-z_]+\b", texts(browse_shared("ada").page(f"/console/{path}")))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("nocol=eq.1", "The address names the column “nocol”, which this list does not have."),
        ("order=nocol", "The address names the column “nocol”, which this list does not have."),
        ("status=foo.1", "The address has a filter that this list does not read."),
        ("id=eq.x", "The address has a filter that this list does not read."),
        ("date_visited=eq.2026-02-30", "The address has a filter that this list does not read."),
    ],
)
def test_wrong_filter_is_refused_in_words(browse_shared: Callable, query: str, text: str) -> None:
    answer = browse_shared("ada").get(f"/console/inspections?{query}")

    assert answer.status_code == 400
    assert text in answer.text


def test_deactivated_user_reads_why_the_sign_in_fails(browse: Callable, api: Callable) -> None:
    moe = browse("moe")
    assert api("root").put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "24h"}).status == 200

    answer = moe.sign_in("moe")

    assert "This user is deactivated. Ask an administrator of your company." in answer.text
    assert "banned" not in answer.text


def test_visits_to_choose_from_begin_with_the_newest(browse: Callable, api: Callable) -> None:
    assert api("ada").post("/inspections", {"building_id": 1, "inspection_type": "undated"}).status == 201
    page = browse("ada").page("/console/import/reports_lead")

    options = re.search(r'name="inspection_id".*?</select>', page, re.DOTALL)[0]
    found = re.findall(r"(\d+ [A-Z][a-z]{2} \d{4})</option>", options)
    days = [datetime.datetime.strptime(each, "%d %b %Y") for each in found]  # noqa: DTZ007
    assert len(days) > 2
    assert days == sorted(days, reverse=True)
    assert options.rindex("Undated at Harbor House") > options.rindex(found[-1])


def test_suggested_visits_begin_with_the_newest(browse_shared: Callable) -> None:
    found = browse_shared("ada").get("/console/inspections/suggest?q=harbor").json

    texts = [re.search(r"\d+ [A-Z][a-z]{2} \d{4}", each["value"])[0] for each in found]
    days = [datetime.datetime.strptime(each, "%d %b %Y") for each in texts]  # noqa: DTZ007
    assert len(days) > 1
    assert days == sorted(days, reverse=True)


def test_row_is_called_by_the_word_of_its_title(browse_shared: Callable) -> None:
    root = browse_shared("root")
    path = re.search(r'href="(/console/deadline_rules/[0-9]+)"', root.page("/console/deadline_rules"))[1]

    assert re.search(r"<h1>(Life threatening|Severe|Moderate|Low) ", root.page(path))


def test_acronyms_keep_their_capitals(browse_shared: Callable) -> None:
    assert "No XRF limits match." in browse_shared("root").page("/console/xrf_limits?substrate=eq.none")
