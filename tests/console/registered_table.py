"""Register a table that the project does not have, and use its console pages. `test_registered_table` runs this."""

import sys
from pathlib import Path
from typing import ClassVar

from access import policy
from access.caller import Role
from access.policy import EVERYTHING, Policy, client_ownership
from models import RESOURCES
from models.fields import ColumnDefault, Model, column, references
from models.types import BIGINT, INTEGER, TEXT
from tests.clients.server import password_of
from tests.console.conftest import EMAILS, FormClient
from tests.support import databases
from tests.support.applications import open_app


class Elevator(Model):
    """An elevator of a building."""

    __tablename__ = "elevators"
    tenant: ClassVar = "building_id"

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    building_id = column(BIGINT, references("buildings.id"), required=True, label="Building", listed=True)
    inspector_id = column(BIGINT, references("inspectors.id", on_delete="set null"), label="Checked by", listed=True)
    name = column(TEXT, required=True, listed=True, searchable=True)
    kind = column(TEXT, required=True, allowed_values=("passengers", "goods"), listed=True)
    persons = column(INTEGER, minimum=1, maximum=50, help="The most persons at a time.", listed=True)


def register() -> None:
    RESOURCES["elevators"] = Elevator
    policy.POLICIES[Elevator] = {
        Role.SUPER_ADMIN: EVERYTHING,
        Role.CLIENT_ADMIN: Policy(read=client_ownership, write=client_ownership),
        Role.CLIENT_MANAGER: Policy(read=policy.no_row),
    }


def create_table(file: Path) -> None:
    databases.sql(
        file,
        "CREATE TABLE elevators (id INTEGER PRIMARY KEY, building_id INTEGER NOT NULL, inspector_id INTEGER,"
        " name TEXT NOT NULL, kind TEXT NOT NULL, persons INTEGER, client_id INTEGER NOT NULL) STRICT",
    )


def main(file: Path) -> None:
    register()
    create_table(file)
    app = open_app(file)
    root, ada, moe = (FormClient(app.test_client()) for _ in range(3))
    for client, name in ((root, "root"), (ada, "ada"), (moe, "moe")):
        assert client.sign_in(name).status_code == 303, (EMAILS[name], password_of(name))

    assert 'href="/console/elevators">Elevators</a>' in ada.page("/console/")
    form = ada.page("/console/elevators/new")
    assert '<option value="goods">Goods</option>' in form
    assert 'max="50"' in form
    assert "The most persons at a time." in form
    typed = {"building_id": "1", "name": "North", "kind": "goods"}
    refused = ada.send("/console/elevators/new", {**typed, "persons": "51"})
    assert "Persons is at most 50." in refused.text
    made = ada.fill_in("/console/elevators/new", {**typed, "persons": "8"})
    page = made.headers["Location"].partition("?")[0]
    assert "Harbor House" in ada.page(page)
    assert "North" in ada.page("/console/buildings/1"), "the page of the building lists it"
    assert ada.fill_in(f"{page}/edit", {"persons": "9"}).status_code == 303
    assert "Harbor House" in ada.page("/console/elevators?kind=eq.goods&persons=eq.9")
    assert ",North,goods,9" in ada.get("/console/elevators.csv").text
    assert (moe.get(page).status_code, moe.get("/console/elevators/new").status_code) == (404, 403)
    assert "1 elevators" in root.page("/console/buildings/1/delete")
    assert "Delete North?" in ada.page(f"{page}/delete")
    assert ada.send(f"{page}/delete").status_code == 303
    assert ada.get(page).status_code == 404


if __name__ == "__main__":
    main(Path(sys.argv[1]))
