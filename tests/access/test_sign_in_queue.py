"""The queue for hashing: its length, and its deadline, which counts the wait for a thread."""

import pathlib
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import config
from access.accounts import password
from tests.conftest import Response
from tests.support.signin import EMAILS, PASSWORDS, Service, error, reused_service

pytestmark = pytest.mark.one_engine


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as running:
        yield running


def send_late(service: Service, grant: str, body: dict, late_seconds: float) -> Response:
    """Send a request that has waited for a thread for some seconds."""
    environ = {"walkthrough.arrived": time.monotonic() - late_seconds}
    return service.api().post(f"/auth/v1/token?grant_type={grant}", body, environ=environ)


def test_full_queue_refuses_at_once(service: Service) -> None:
    with ExitStack() as stack:
        for _ in range(password.QUEUE_MAX):
            stack.enter_context(password.HASHING_QUEUE)

        refused = service.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert refused.headers["Retry-After"] == "1"
    service.sign_in("moe")


def test_sign_ins_never_hold_every_thread() -> None:
    threads = re.search(r"^threads = ([0-9]+)$", (config.PROJECT / "gunicorn.conf.py").read_text(), re.MULTILINE)

    assert threads is not None
    assert int(threads[1]) > password.QUEUE_MAX


def test_wait_for_a_thread_counts_towards_the_deadline(service: Service) -> None:
    session = service.sign_in("moe")
    with password.HASHING_SLOTS:
        sign_in = send_late(service, "password", {"email": EMAILS["moe"], "password": PASSWORDS["moe"]}, 60)
    refresh = {"refresh_token": session["refresh_token"]}

    assert error(sign_in) == (429, "over_request_rate_limit")
    assert send_late(service, "refresh_token", refresh, 0).status == 200
