"""Every recorded answer of a real PostgREST, replayed; every write on a fresh copy of the data set."""

import json
import pathlib
from collections.abc import Callable

import pytest

from tests import recorded

CASES = json.loads((pathlib.Path(__file__).parents[1] / "data" / "cases.json").read_text())

# Cases whose recorded answer we do not give, on purpose: id -> reason.
DELIBERATE_DIFFERENCES: dict[str, str] = {
    "insert-0873": "12.0.2 heads a written row's CSV by the alphabet, its cells stand as selected",
}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_answer_is_the_recorded_one(api: Callable, case: dict) -> None:
    if reason := DELIBERATE_DIFFERENCES.get(case["id"]):
        pytest.skip(reason)

    answer = api(recorded.sender(case["user"])).send(
        case["method"], case["path"], case["body"], **spelled(case)
    )

    assert recorded.difference(case, answer) is None


def spelled(case: dict) -> dict:
    """Split the case's headers the way `send` takes them; the body's type is the case's or none."""
    headers = dict(case["headers"])
    return {"content_type": headers.pop("Content-Type", None), "headers": headers}


def test_every_deliberate_difference_names_a_recorded_case() -> None:
    assert set(DELIBERATE_DIFFERENCES) <= {case["id"] for case in CASES}
