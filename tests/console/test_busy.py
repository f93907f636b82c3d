"""A service that is too busy to keep a form: what was typed is shown again, with when to try again."""

from collections.abc import Callable

import pytest

from access import explain
from engine.storage.sqlite import timed_out
from engine.storage.writer_lock import LockTimeout
from models.errors import Fault
from tests.conftest import MOE
from tests.console.conftest import EMAILS
from tests.console.conftest import Form

BUSY = "The service is busy just now, and nothing was kept. Send it again."
LONG = "That took too long, and nothing was kept. Send it again."
FAULTS = [
    pytest.param(LockTimeout(), BUSY, id="lock timeout"),
    pytest.param(timed_out(), LONG, id="late"),
]

FORMS = [
    ("/console/inspections/new", {"inspection_type": "fire", "building_id": "1", "notes": "typed"}),
    ("/console/inspections/1/edit", {"notes": "typed"}),
    ("/console/inspections/2/readings/new", {"result": "typed"}),
    ("/console/inspections/2/readings/1/edit", {"result": "typed"}),
    ("/console/buildings/new", {"name": "typed"}),
    ("/console/buildings/1/edit", {"name": "typed"}),
    ("/console/people/new", {"name": "typed", "email": "n@acme.example", "password": "n walks"}),
    (f"/console/people/{MOE}/edit", {"name": "typed"}),
]


@pytest.fixture
def fail(app: object, monkeypatch: pytest.MonkeyPatch) -> Callable[[Fault], None]:
    """`fail(fault)`: from now on nobody gets a turn to write."""

    def have(fault: Fault) -> None:
        def refuse(*arguments: object, **named: object) -> None:
            raise fault

        monkeypatch.setattr(app.extensions["walkthrough"], "writing", refuse)

    return have


@pytest.mark.parametrize(("fault", "words"), FAULTS)
@pytest.mark.parametrize(("path", "typed"), FORMS, ids=[path for path, _ in FORMS])
def test_what_was_typed_is_shown_again(
    desk: Callable, fail: Callable, path: str, typed: dict[str, str], fault: Fault, words: str
) -> None:
    ada = desk("ada")
    fail(fault)

    answer = ada.fill_in(path, typed)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert f'<p class="problem" role="alert">{words}</p>' in answer.text
    shown = dict(Form(answer.text).fields)
    assert {name: shown[name] for name in typed if name != "password"} == {
        name: text for name, text in typed.items() if name != "password"
    }


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_a_board_and_a_sign_in_are_asked_for_again(
    desk: Callable, fail: Callable, fault: Fault, words: str
) -> None:
    ada, person = desk("ada"), desk()
    fail(fault)

    board = ada.send("/console/devices", {"name": "Hall", "person": MOE, "days": "30"})
    signed_in = person.send("/console/sign-in", {"email": EMAILS["moe"], "password": "x"})

    for answer, typed in ((board, "Hall"), (signed_in, EMAILS["moe"])):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert words in answer.text
        assert f'value="{typed}"' in answer.text


def test_what_is_no_form_to_fill_in_is_told_on_a_page(desk: Callable, fail: Callable) -> None:
    ada = desk("ada")
    fail(LockTimeout())

    answer = ada.send("/console/inspections/1/delete")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "<h1>Busy just now</h1>" in answer.text


def test_a_question_that_takes_too_long_is_told_on_a_page(
    office: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tire(*arguments: object) -> None:
        raise timed_out()

    monkeypatch.setattr(explain, "explain", tire)
    answer = office("ada").get("/console/why?kind=building&key=1")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "That took too long. Choose fewer" in answer.text
    assert "nothing was kept" not in answer.text
