"""Calendar links over the data set with an inspector who signs in, and visits of today's feed and around it."""

import copy
import json
from collections.abc import Callable
from typing import Any

from icalendar import Calendar

from access.accounts.api_key import create_key, new_calendar_link
from access.caller import Caller
from access.roles import Role, grant_profile
from tests.conftest import CAST, DATASET, MIA, Response

MOMENT = "2026-03-10T12:00:00+00:00"
LATER = "2026-03-10T12:05:00+00:00"
INES, IVO, UMA = 1, 2, 3
BOOKED, UNDATED, OLDEST, TOO_OLD, LAST, TOO_FAR, OTHER_CLIENT, OF_INES = range(101, 109)


def visit(id_: int, building_id: int, day: str | None, **values: object) -> dict:
    return {
        "id": id_, "building_id": building_id, "inspection_type": "fire", "inspector_id": IVO, "notes": "secret note",
        "date_visited": day, "status": "scheduled", "created_at": MOMENT, "updated_at": MOMENT, **values,
    }  # fmt: skip


def calendar_rows() -> dict:
    """Return the data set with mia linked to Ivo, and visits of today's feed and around it."""
    rows = copy.deepcopy(json.loads(DATASET.read_text()))
    for each in rows["inspections"]:
        each["inspector_id"] = None
    rows["inspectors"][IVO - 1]["user_id"] = MIA
    rows["inspections"] += [
        visit(BOOKED, 2, "2026-03-12"),
        visit(UNDATED, 2, None),
        visit(OLDEST, 1, "2025-12-10", status="completed"),
        visit(TOO_OLD, 1, "2025-12-09", status="completed"),
        visit(LAST, 1, "2027-03-10"),
        visit(TOO_FAR, 1, "2027-03-11"),
        visit(OTHER_CLIENT, 4, "2026-04-01"),
        visit(OF_INES, 1, "2026-03-20", inspector_id=INES),
    ]
    plans = ((BOOKED, "2026-03-31", None), (UNDATED, "2026-05-01", None), (OF_INES, "2026-03-20", None))
    rows["inspection_plans"] += [
        {"inspection_id": key, "case_id": key, "round": 1, "due_on": due_on, "outcome": outcome,
         "created_at": MOMENT, "updated_at": MOMENT}
        for key, due_on, outcome in plans
    ]  # fmt: skip
    return rows


class Feeds:
    """A database, and the calendar links of its users."""

    def __init__(self, api: Callable) -> None:
        self.api = api
        self.app: Any = api("root").database.app_for("POST", "/")
        self.stored = self.app.extensions["walkthrough"]

    def caller(self, who: str, *, is_inspector: bool = False) -> Caller:
        person = CAST[who]
        profile = grant_profile(Role(person.role), False, False, is_inspector)
        return Caller(person.id, person.client_id, profile)

    def link(self, who: str, *, is_inspector: bool = False) -> str:
        """Return the path of a new link."""
        caller = self.caller(who, is_inspector=is_inspector)
        with self.stored.writing() as transaction:
            _, token = create_key(transaction, caller, str(caller.id), new_calendar_link("Phone"))
        return f"/calendar/{token}.ics"

    def get(self, path: str, **headers: str) -> Response:
        """Fetch a feed as a calendar program does, without a key or token."""
        return self.api("nobody").get(path, headers={"apikey": None, **headers})

    def events(self, path: str) -> list[Any]:
        answer = self.get(path)
        assert answer.status == 200, answer.text
        return Calendar.from_ical(answer.text).walk("VEVENT")

    def write(self, id_: int, **changes: object) -> None:
        answer = self.api("root").patch(f"/inspections?id=eq.{id_}", changes)
        assert answer.status == 204, answer.text
