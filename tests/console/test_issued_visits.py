"""The console refuses the writes to a visit with an issued report, and offers none of them."""

from collections.abc import Callable

import pytest

from engine.rows import insert_rows
from tests.console.conftest import Form
from tests.console.inspection_rows import LATE, LATE_VISIT, add_findings, add_visits, set_clock
from tests.console.test_closed_visits import offered
from tests.inspections.issued_world import report

pytestmark = pytest.mark.one_engine

VISIT, FINDING = f"/console/inspections/{LATE_VISIT}", f"/console/findings/{LATE}"


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)
    add_findings(api)
    assert api("service").patch(f"/inspections?id=eq.{LATE_VISIT}", {"status": "failed"}).status == 204


def issue_report(app: object) -> None:
    row = {name: value for name, value in report(1, LATE_VISIT).items() if name != "id"}
    with app.extensions["walkthrough"].writing() as transaction:
        insert_rows(transaction, "issued_reports", [row])


@pytest.mark.parametrize("who", ["ada", "root"])
def test_issued_visit_offers_no_writes_of_its_evidence(browse: Callable, app: object, who: str) -> None:
    user = browse(who)
    assert offered(user.page(FINDING), FINDING) == ["edit", "delete", "files"]
    edit, delete = user.page(f"{FINDING}/edit"), user.page(f"{FINDING}/delete")
    issue_report(app)

    assert offered(user.page(FINDING), FINDING) == ["files"]  # a proof of correction
    assert f"{VISIT}/add/findings" not in user.page(VISIT)
    changed = user.fill_in(f"{FINDING}/edit", {"description": "Another."}, page=edit)
    deleted = user.client.post(f"{FINDING}/delete", data=Form(delete).with_({}))
    assert [each.status_code for each in (changed, deleted)] == [400, 400]
    assert all("issued report" in each.text for each in (changed, deleted))


def test_building_with_an_issued_report_is_not_deleted(browse: Callable, api: Callable, app: object) -> None:
    issue_report(app)
    building = api("service").get(f"/inspections?id=eq.{LATE_VISIT}&select=building_id").json[0]["building_id"]

    refused = browse("ada").fill_in(f"/console/buildings/{building}/delete", {})

    assert refused.status_code == 409
    assert api("service").get(f"/buildings?id=eq.{building}&select=id").json == [{"id": building}]


def test_client_admins_see_no_field_of_the_hold(browse: Callable) -> None:
    path = "/console/building_details/1/edit"
    assert 'name="hold_reason"' not in browse("ada").page(path)
    assert 'name="hold_reason"' in browse("root").page(path)
