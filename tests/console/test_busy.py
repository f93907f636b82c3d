"""Responses of a busy service: the form with its input, or an error page, with Retry-After."""

from collections.abc import Callable

import pytest

from access import explain
from engine.interface.database import LockTimeout, TimedOut
from models.types import Fault
from tests.conftest import MOE
from tests.console.conftest import EMAILS, Form

pytestmark = pytest.mark.slow

BUSY = "The service is busy, and nothing was saved. Submit the form again."
LONG = "The request took too long, and nothing was saved. Submit the form again."
FAULTS = [pytest.param(LockTimeout(), BUSY, id="lock timeout"), pytest.param(TimedOut(), LONG, id="late")]

FORMS = [
    (
        "/console/inspections/new",
        {"inspection_type": "fire", "building_id": "1", "date_visited": "2026-01-01", "notes": "typed"},
    ),
    ("/console/inspections/1/edit", {"notes": "typed"}),
    ("/console/reports_lead/new?inspection_id=2", {"result": "positive"}),
    ("/console/reports_lead/1/edit", {"result": "negative"}),
    ("/console/buildings/new", {"name": "typed"}),
    ("/console/buildings/1/edit", {"name": "typed"}),
    ("/console/people/new", {"name": "typed", "email": "n@acme.example", "password": "n walks far"}),
    (f"/console/people/{MOE}/edit", {"name": "typed"}),
]


@pytest.fixture
def fail(app: object, monkeypatch: pytest.MonkeyPatch) -> Callable[[Fault], None]:
    """Return a function that makes each later write raise a fault."""

    def fail_writes(fault: Fault) -> None:
        def refuse(*arguments: object, **named: object) -> None:
            raise fault

        monkeypatch.setattr(app.extensions["walkthrough"], "writing", refuse)

    return fail_writes


@pytest.mark.parametrize(("fault", "words"), FAULTS)
@pytest.mark.parametrize(("path", "typed"), FORMS, ids=[path for path, _ in FORMS])
def test_busy_service_returns_the_form_with_its_input(
    browse: Callable, fail: Callable, path: str, typed: dict[str, str], fault: Fault, words: str
) -> None:
    ada = browse("ada")
    fail(fault)

    answer = ada.fill_in(path, typed)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert f'<p class="problem" role="alert">{words}</p>' in answer.text
    shown = dict(Form(answer.text).fields)
    assert {name: shown[name] for name in typed if name != "password"} == {
        name: text for name, text in typed.items() if name != "password"
    }


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_busy_service_returns_kiosk_and_sign_in_forms(
    browse: Callable, fail: Callable, fault: Fault, words: str
) -> None:
    ada, person = browse("ada"), browse()
    fail(fault)

    display = ada.send("/console/devices", {"name": "Hall", "person": MOE, "days": "30"})
    signed_in = person.send("/console/sign-in", {"email": EMAILS["moe"], "password": "x"})

    for answer, typed in ((display, "Hall"), (signed_in, EMAILS["moe"])):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert words in answer.text
        assert f'value="{typed}"' in answer.text


def test_busy_service_returns_an_error_page_for_deletions(browse: Callable, fail: Callable) -> None:
    ada = browse("ada")
    fail(LockTimeout())

    answer = ada.send("/console/inspections/1/delete")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "<h1>Service busy</h1>" in answer.text


def test_timeout_returns_an_error_page(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*arguments: object) -> None:
        raise TimedOut()

    monkeypatch.setattr(explain, "explain", time_out)
    answer = browse_shared("ada").get("/console/why?kind=building&key=1")

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "The request took too long. Filter the list" in answer.text
    assert "nothing was saved" not in answer.text
