"""Issued reports in the console: the form that issues one, the lock, the withdrawal, the list, and the verification."""

import base64
import html
import re
from collections.abc import Callable

import pytest

from tests.conftest import MIA
from tests.console.conftest import Form, FormClient
from tests.console.inspection_rows import set_clock
from tests.support.storage import picture

pytestmark = pytest.mark.one_engine

VISIT, HIDDEN, OPEN = "/console/inspections/2", "/console/inspections/6", "/console/inspections/3"
"""A failed lead visit of Mia's, one of another client, and one without a result."""
ISSUE = f"{VISIT}/issue"
PNG = base64.b64encode(picture("signature", size=(300, 120))).decode()
NOTHING = "No report that you may read has this number or hash."
REASON = "The owner is away."


@pytest.fixture(autouse=True)
def inspector(app: object, api: Callable) -> None:
    """Make Mia the inspector of the visit, which was yesterday."""
    set_clock(app, "2025-04-11T12:00:00+00:00")
    assert api("service").patch("/inspectors?id=eq.2", {"user_id": MIA}).status == 204


def links_to(page: str, end: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(rf'href="([^"]*/{end}(?:\?[^"]*)?)"', page)]


def issue(client: FormClient, kind: str = "findings", **typed: str) -> None:
    """Issue a report of the visit by its form."""
    answer = client.fill_in(f"{ISSUE}?kind={kind}", {"signed_name": "Ivo Kral", **typed})
    assert (answer.status_code, answer.headers.get("Location")) == (303, VISIT), answer.text


def rows_of(api: Callable) -> list[dict]:
    return api("service").get("/issued_reports?order=id").json


def withdraw(client: FormClient, key: int, note: str = "The address was wrong.") -> None:
    answer = client.fill_in(f"/console/issued_reports/{key}/withdraw", {"note": note})
    assert (answer.status_code, answer.headers.get("Location")) == (303, VISIT), answer.text


# Who issues


@pytest.mark.parametrize("who", ["root", "ada", "mia"])
def test_who_conducts_the_visit_issues_each_kind_once(browse: Callable, api: Callable, who: str) -> None:
    client = browse(who)
    kinds = [f"{ISSUE}?kind=lead", f"{ISSUE}?kind=findings"]
    assert set(links_to(client.page(VISIT), "issue")) == set(kinds)

    issue(client)

    page = client.page(VISIT)
    assert set(links_to(page, "issue")) == {kinds[0]}
    [row] = rows_of(api)
    assert (row["kind"], row["signed_name"], row["signature"]) == ("findings", "Ivo Kral", None)
    assert f"Report {row['number']} issued." in page
    assert set(links_to(page, "page")) == {f"/console/issued_reports/{row['id']}/page"}


@pytest.mark.parametrize(("who", "visit", "status"), [("moe", VISIT, 403), ("ada", HIDDEN, 404), ("max", VISIT, 404)])
def test_others_have_neither_button_nor_form(browse: Callable, who: str, visit: str, status: int) -> None:
    client = browse(who)

    assert links_to(client.get(visit).text, "issue") == []
    assert client.get(f"{visit}/issue?kind=findings").status_code == status
    assert client.send(f"{visit}/issue?kind=findings", {"signed_name": "x"}, "/console/account").status_code == status


def test_open_visit_has_no_form(browse: Callable) -> None:
    ada = browse("ada")

    assert links_to(ada.page(OPEN), "issue") == []
    assert ada.get(f"{OPEN}/issue?kind=findings").headers["Location"] == OPEN
    assert "completed or failed visit only" in ada.page(OPEN)


@pytest.mark.parametrize("query", ["", "?kind=fire", "?kind="])
def test_unknown_kind_has_no_form(browse: Callable, query: str) -> None:
    assert browse("ada").get(f"{ISSUE}{query}").status_code == 404


# The form


def test_form_says_what_is_missing_and_asks_why(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    assert api("service").delete("/building_details?building_id=eq.1").status == 204
    page = ada.page(f"{ISSUE}?kind=lead")
    missing = page.partition("What is missing")[2].partition("</section>")[0]
    assert "The year of construction is missing <a " in missing
    assert {*re.findall(r'href="([^"]+)"', missing)} == {"/console/buildings/1#details", f"{VISIT}#reports_lead"}
    assert "/console/inspectors/2/edit" in browse("root").page(f"{ISSUE}?kind=lead")
    assert dict(Form(page).fields)["rule"] == "federal"

    refused = ada.fill_in(f"{ISSUE}?kind=lead", {"signed_name": "Ivo Kral", "rule": "MN"})
    assert refused.status_code == 400
    assert "Say why the report is issued although something is missing." in refused.text
    assert dict(Form(refused.text).fields)["rule"] == "MN"
    assert rows_of(api) == []

    issue(ada, "lead", gaps_reason=REASON)
    [row] = rows_of(api)
    assert row["content"]["issued"]["gaps_reason"] == REASON


def test_findings_report_asks_for_the_name_alone(browse: Callable) -> None:
    fields = dict(Form(browse("ada").page(f"{ISSUE}?kind=findings")).fields)

    assert fields.keys() - {"csrf", "submission"} == {"signed_name", "signature_png"}
    assert (fields["signed_name"], fields["signature_png"]) == ("Ada", "")


def test_inspector_gets_no_links_to_what_they_may_not_edit(browse: Callable) -> None:
    page = browse("mia").page(f"{ISSUE}?kind=lead")

    assert "Some readings have no calibration check after them" in page
    assert "Correct<" not in page


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"signed_name": " "}, "Name of the person who signs is required."),
        ({"signed_name": "x" * 201}, "has at most 200 characters"),
        ({"signature_png": "bm8gcGljdHVyZQ=="}, "Clear it, and draw it again."),
    ],
)
def test_refusals_stand_in_the_form(browse: Callable, api: Callable, typed: dict, words: str) -> None:
    refused = browse("ada").fill_in(f"{ISSUE}?kind=findings", {"signed_name": "Ivo Kral", **typed})

    assert refused.status_code == 400
    assert words in refused.text
    assert rows_of(api) == []


def test_drawing_stays_in_a_refused_form(browse: Callable) -> None:
    refused = browse("ada").fill_in(f"{ISSUE}?kind=findings", {"signed_name": "", "signature_png": PNG})

    assert dict(Form(refused.text).fields)["signature_png"] == PNG


def test_drawn_signature_is_on_the_page(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    issue(ada, signature_png=PNG)

    [row] = rows_of(api)
    page = ada.page(f"/console/issued_reports/{row['id']}/page")
    assert f"data:image/png;base64,{row['signature']}" in page


def test_repeated_submit_issues_once(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    form = Form(ada.page(f"{ISSUE}?kind=findings")).with_({"signed_name": "Ivo Kral"})

    answers = [ada.client.post(f"{ISSUE}?kind=findings", data=form) for _ in range(2)]

    assert [each.headers["Location"] for each in answers] == [VISIT] * 2
    assert "issued." in ada.page(VISIT)
    assert len(rows_of(api)) == 1


def test_second_person_reads_that_the_report_exists(browse: Callable, api: Callable) -> None:
    ada, mia = browse("ada"), browse("mia")
    page = ada.page(f"{ISSUE}?kind=findings")
    issue(mia)

    answer = ada.fill_in(f"{ISSUE}?kind=findings", {"signed_name": "Ada"}, page)

    assert (answer.status_code, answer.headers["Location"]) == (303, VISIT)
    assert "The visit has a report of this kind." in ada.page(VISIT)
    assert len(rows_of(api)) == 1


# The lock, the page and the withdrawal


def test_page_of_a_visit_is_locked_until_the_withdrawal(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    ways = (f"{VISIT}/edit", f"{VISIT}/delete", f"{VISIT}/status", f"{VISIT}/add/findings", f"{VISIT}/reclassify")
    before = [each for each in ways if f'"{each}"' in ada.page(VISIT)]
    assert before[:4] == list(ways[:4])
    issue(ada)
    [row] = rows_of(api)

    page = ada.page(VISIT)
    assert f'Locked by <a href="/console/issued_reports/{row["id"]}/page">findings report {row["number"]}</a>' in page
    assert [each for each in ways if f'"{each}"' in page] == []
    assert "Take the result back" not in page

    withdraw(ada, row["id"])
    page = ada.page(VISIT)
    assert "Locked by" not in page
    assert [each for each in ways if f'"{each}"' in page] == [each for each in before if "delete" not in each]
    assert "Withdrawn on" in page
    assert "The address was wrong." in page


def test_frozen_page_has_the_bytes_of_the_api(browse: Callable, api: Callable) -> None:
    issue(browse("ada"), "lead", gaps_reason=REASON, signature_png=PNG)
    [row] = rows_of(api)

    for who in ("ada", "moe", "mia"):
        shown = browse(who).get(f"/console/issued_reports/{row['id']}/page")
        expected = api("service").get(f"/reports/issued/{row['id']}", accept="text/html")
        assert shown.data.decode() == expected.text
        assert shown.headers["Content-Security-Policy"] == expected.headers["Content-Security-Policy"]
        assert "img-src data:" in shown.headers["Content-Security-Policy"]


def test_only_administrators_withdraw(browse: Callable, api: Callable) -> None:
    issue(browse("ada"))
    [row] = rows_of(api)
    path = f"/console/issued_reports/{row['id']}/withdraw"

    for who, status in (("mia", 403), ("moe", 403), ("max", 404), ("bob", 404)):
        client = browse(who)
        assert links_to(client.get(VISIT).text, "withdraw") == []
        assert client.get(path).status_code == status
        assert client.send(path, {"note": "x"}, "/console/account").status_code == status
    assert set(links_to(browse("ada").page(VISIT), "withdraw")) == {path}
    assert browse("ada").fill_in(path, {"note": " "}).status_code == 400
    withdraw(browse("root"), row["id"])

    again = browse("ada").get(path)
    assert again.headers["Location"] == f"/console/issued_reports/{row['id']}"


def test_amendment_names_what_it_replaces(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    issue(ada)
    withdraw(ada, 1)
    assert "It replaces report" in ada.page(f"{ISSUE}?kind=findings")

    issue(ada)

    first, second = rows_of(api)
    assert second["replaces_id"] == first["id"]
    page = ada.page(VISIT)
    assert f"Replaced by {second['number']}." in page
    own = ada.page(f"/console/issued_reports/{second['id']}")
    assert f'<a href="/console/issued_reports/{first["id"]}">{first["number"]}</a>' in own


# The list


def test_list_and_page_of_a_report(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    assert "/console/issued_reports?state=issued" in ada.page("/console/inspections")
    issue(ada)
    issue(ada, "lead", gaps_reason=REASON, signature_png=PNG)
    withdraw(ada, 1)
    first, second = rows_of(api)

    def numbers(query: str) -> list[str]:
        return re.findall(r'class="row" href="[^"]+">([^<]+)<', ada.page(f"/console/issued_reports{query}"))

    assert numbers("?state=issued") == [second["number"]]
    assert numbers("?state=withdrawn") == [first["number"]]
    assert set(numbers("")) == {first["number"], second["number"]}
    page = ada.page("/console/issued_reports")
    assert "Also filtered by" not in page
    assert re.findall(r'class="badge s-(\w+)">([^<]+)<', page) == [("completed", "Issued"), ("failed", "Withdrawn")]
    own = ada.page(f"/console/issued_reports/{second['id']}")
    assert second["sha256"] in own
    assert second["signature"] not in own
    assert "thumbnails" not in own
    for end in ("page", "withdraw"):
        assert links_to(own, end) == [f"/console/issued_reports/{second['id']}/{end}"]
    assert f'href="{VISIT}"' in own
    file = ada.get("/console/issued_reports.csv?state=issued").text
    assert second["number"] in file
    assert first["number"] not in file
    assert second["signature"] not in file


def test_other_clients_see_no_report(browse: Callable, api: Callable) -> None:
    issue(browse("ada"))
    [row] = rows_of(api)

    for who in ("bob", "max"):
        client = browse(who)
        assert row["number"] not in client.page("/console/issued_reports")
        for path in ("", "/page", "/withdraw"):
            hidden, missing = (client.get(f"/console/issued_reports/{key}{path}") for key in (row["id"], 999))
            assert (hidden.status_code, hidden.text) == (404, missing.text.replace("999", str(row["id"])))


# Verification


def test_verification_says_what_became_of_a_report(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    issue(ada)
    [first] = rows_of(api)
    assert links_to(ada.page("/console/issued_reports"), "verify") == ["/console/verify"]

    for typed in (first["number"], f" {first['sha256'].upper()} "):
        page = ada.get("/console/verify", query_string={"report": typed})
        assert f"Findings report {first['number']}" in page.text
        assert "by Ada. Signed by Ivo Kral." in page.text
        assert f'href="{VISIT}"' in page.text

    withdraw(ada, first["id"])
    assert "Withdrawn on" in ada.page(f"/console/verify?report={first['number']}")
    issue(ada)
    _, second = rows_of(api)
    assert f"Replaced by {second['number']}." in ada.page(f"/console/verify?report={first['sha256']}")
    assert "by another user" in browse("moe").page(f"/console/verify?report={first['sha256']}")


def test_verification_tells_nothing_of_hidden_reports(browse: Callable, api: Callable) -> None:
    issue(browse("ada"))
    [row] = rows_of(api)

    for who in ("bob", "max"):
        client = browse(who)
        assert NOTHING not in client.page("/console/verify")
        pairs = ((row["number"], "2031-000001"), (row["sha256"], "0" * 64))
        for hidden, missing in pairs:
            pages = [client.page(f"/console/verify?report={each}").replace(each, "") for each in (hidden, missing)]
            assert NOTHING in pages[0]
            assert pages[0] == pages[1]


def test_verification_needs_a_session(browse: Callable) -> None:
    assert browse().get("/console/verify?report=x").headers["Location"].startswith("/console/sign-in")
