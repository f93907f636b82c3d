"""Small writes that came together, over HTTP: who sends them, and what each is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from models.joint import Joint
from tests.conftest import Api
from tests.conftest import Response
from tests.signin import Service

ROW = {"building_id": 1, "inspection_type": "fire", "notes": "new"}
ROW_OF_BOB = {"building_id": 4, "inspection_type": "fire", "notes": "new"}
NEW = "/inspections?notes=eq.new&select=id,building_id,status&order=id"

Call = Callable[[], Response]


def post(api: Api, row: dict[str, object], prefer: str = "") -> Call:
    return partial(api.post, "/inspections", row, prefer=prefer or None)


def together(*calls: Call) -> list[Response]:
    """The answers to requests that came together."""
    answers: list[Response | None] = [None] * len(calls)

    def task(place: int, call: Call) -> None:
        answers[place] = call()

    Joint(lambda: None).work([partial(task, *each) for each in enumerate(calls)])
    return [each for each in answers if each is not None]


def written(service: Service) -> list[int]:
    """The buildings of the new inspections, in the order of their ids."""
    return [each["building_id"] for each in service.api("root").get(NEW).json]
