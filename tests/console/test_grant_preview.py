"""Grant previews count only buildings that the caller may grant."""

import re
from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, MOE


@pytest.mark.parametrize("pair", [f"{MOE}:4", f"{MOE}:1", f"{ADA}:4"])
@pytest.mark.parametrize("field", ["was", "grant"])
def test_preview_does_not_count_other_clients_buildings(browse: Callable, api: Callable, field: str, pair: str) -> None:
    """Bob may ask about his own people alone; Ada of hers, whatever else those were granted."""
    assert api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4}).status == 201
    numbers = []
    for _ in range(2):
        answer = browse("ada").send("/console/access", {field: pair})
        numbers.append(re.findall(r"<b>([\d,]+)</b>", answer.text))
        api("root").post("/inspections", {"building_id": 4, "inspection_type": "fire"})

    assert numbers[0] == numbers[1]
    if pair.endswith(":4"):
        assert numbers[0] in ([], ["0", "0", "0"])


@pytest.mark.parametrize("others", [4, 5])
def test_preview_ignores_buildings_out_of_reach(browse: Callable, api: Callable, others: int) -> None:
    """What the caller does not see is not taken away from what they see."""
    ada = browse("ada")
    csrf = ada.token("/console/access")
    root = api("root")
    if others == 4:
        body = {"manager_id": MOE, "building_id": 4}
        assert root.post("/client_manager_building_access", body).status == 201

    def counts(grants: list[str]) -> list[str]:
        answer = ada.client.post("/console/access", data={"csrf": csrf, "grant": grants})
        return re.findall(r"<b>([\d,]+)</b>", answer.text)

    assert counts([f"{MOE}:2"]) == counts([f"{MOE}:2", f"{MOE}:{others}"])
    assert BOB not in ada.page("/console/access")
