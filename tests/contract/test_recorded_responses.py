"""Replays all recorded PostgREST responses. Each write runs on a fresh copy of the data."""

import json
import pathlib
from collections.abc import Callable

import pytest

from tests.support import recorded

CASES = json.loads((pathlib.Path(__file__).parents[1] / "data" / "cases.json").read_text())

# Recorded cases with a deliberate difference: id -> reason.
DELIBERATE_DIFFERENCES: dict[str, str] = {
    "insert-0873": "12.0.2 heads a written row's CSV by the alphabet, its cells stand as selected",
    "update-1139": "PATCH takes one object: an empty array is refused",
    "update-1153": "PATCH takes one object: 12.0.2 writes the first of two and drops the other",
}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_response_matches_recording(api: Callable, case: dict) -> None:
    if reason := DELIBERATE_DIFFERENCES.get(case["id"]):
        pytest.skip(reason)

    answer = api(recorded.sender(case["user"])).send(case["method"], case["path"], case["body"], **send_arguments(case))

    assert recorded.difference(case, answer) is None


def send_arguments(case: dict) -> dict:
    """Split the case's headers into the arguments of `send`. The content type is the case's, or none."""
    headers = dict(case["headers"])
    return {"content_type": headers.pop("Content-Type", None), "headers": headers}


def test_listed_differences_are_recorded_cases() -> None:
    assert set(DELIBERATE_DIFFERENCES) <= {case["id"] for case in CASES}
