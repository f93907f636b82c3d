"""Events and cases of findings: words for what happened, and links to visits that the caller sees."""

from collections.abc import Callable

import pytest

from tests.conftest import MIA

pytestmark = pytest.mark.one_engine

VISIT = '<a href="/console/inspections/2">Lead at Harbor House, 10 Apr 2025</a>'


def test_page_of_a_finding_has_events_in_words_and_links_its_case(browse_shared: Callable) -> None:
    page = browse_shared("ada").page("/console/findings/1")

    assert f"<dt>Case</dt><dd>{VISIT}</dd>" in page.replace(' class=""', "")
    events = page.partition('id="finding_events"')[2]
    assert (VISIT in events, ">Found<" in events, ">Made<" in events) == (True, True, False)


def test_page_of_an_event_is_called_by_what_happened_and_when(browse_shared: Callable) -> None:
    page = browse_shared("ada").page("/console/finding_events/1")

    assert "<h1>Found, 5 Jan 2025, 00:00 UTC" in page
    assert VISIT in page


def test_list_of_events_filters_by_the_same_words(browse_shared: Callable) -> None:
    page = browse_shared("ada").page("/console/finding_events")

    assert '<option value="eq.fixed">Marked fixed</option>' in page
    assert '<option value="eq.made">Found</option>' in page


def test_case_whose_first_visit_is_hidden_has_no_link(browse: Callable, api: Callable) -> None:
    """Mia inspects the re-inspection of inspection 2, and not that visit."""
    service = api("service")
    assert service.patch("/inspectors?id=eq.3", {"user_id": MIA}).status == 204
    again = {"p_inspection_id": 2, "p_date_visited": "2099-01-01", "p_inspector_id": 3}
    visit = api("ada").rpc("reinspect", again).json["inspection_id"]
    finding = {"id": 50, "inspection_id": visit, "description": "Again", "severity": "low"}
    assert service.post("/findings", finding).status == 201

    page = browse("mia").page("/console/findings/50")

    assert ("Case 2" in page, "/console/inspections/2" in page) == (True, False)
