"""The demonstration has issued reports and letters, which functions of the API froze."""

import pathlib

import pytest

from demo import evidence
from demo.portfolio import SEED, compose, with_passwords
from demo.vocabulary import SUPER_ADMIN
from models.finding_move import EVENT_KINDS
from tests.conftest import Database, api_over
from tests.support.applications import import_world, open_app

pytestmark = pytest.mark.one_engine


def test_imported_portfolio_gets_reports_letters_and_every_kind_of_event(tmp_path: pathlib.Path) -> None:
    app = open_app(tmp_path / "demo.db")
    portfolio, _ = with_passwords(compose(date_of(app), SEED))
    import_world(app, tmp_path / "demo.db", portfolio)

    evidence.issue(app, SUPER_ADMIN[1])

    api = api_over(Database(lambda: app, None, app))("service")
    columns = "id,kind,inspection_id,replaces_id,is_withdrawn:withdrawn_at"
    lead, former, amended = api.get(f"/issued_reports?select={columns}&order=id").json
    assert [each["kind"] for each in (lead, former, amended)] == ["lead", "findings", "findings"]
    assert (lead["is_withdrawn"], amended["is_withdrawn"]) == (None, None)
    assert former["is_withdrawn"] is not None
    assert amended["replaces_id"] == former["id"]
    served, unserved = api.get("/notices?select=served_on,served_how,building_id&order=id").json
    assert (served["served_on"], served["served_how"]) == (date_of(app).isoformat(), "post")
    assert unserved["served_on"] is None
    assert served["building_id"] != unserved["building_id"]
    kinds = api.get("/finding_events?select=kind,count()").json
    assert {each["kind"] for each in kinds} == {*EVENT_KINDS}


def date_of(app: object) -> object:
    with app.app_context(), app.extensions["walkthrough"].reading() as transaction:
        return transaction.today
