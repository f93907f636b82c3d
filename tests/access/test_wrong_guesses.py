"""A right key, link, token or code is never refused for wrong ones from the same address."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from access.accounts import kiosk_display, password
from access.accounts.api_key import create_key, new_calendar_link
from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from tests.access.api_keys import make, read
from tests.conftest import ADA, MOE
from tests.support.signin import EMAILS, ORIGIN, PASSWORDS, Service, reused_service
from tests.support.storage import Storage, at

ADMIN = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])
NAME = "buildings/1/a.png"
FROM_ORIGIN = {"REMOTE_ADDR": ORIGIN}


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        assert Storage(found.api("ada")).upload(NAME).status == 200
        yield found


class Secrets:
    """One right secret of each kind, and a request with any secret of the kind."""

    def __init__(self, service: Service) -> None:
        self.service = service
        with service.app.app_context(), service.app.extensions["walkthrough"].writing() as transaction:
            _, calendar = create_key(transaction, ADMIN, ADA, new_calendar_link("Phone"))
            _, self.code = kiosk_display.create_display(transaction, ADMIN, MOE, "Hall", 1)
        self.right = {
            "api key": make(service, "ada")["key"],
            "calendar link": calendar,
            "signed link": Storage(service.api("ada")).sign(NAME).partition("?token=")[2],
            "refresh token": service.sign_in("ada")["refresh_token"],
            "kiosk code": self.code,
        }
        self.sends: dict[str, Callable[[str], int]] = {
            "api key": lambda key: read(service, key).status,
            "calendar link": lambda token: service.api().get(f"/calendar/{token}.ics", environ=FROM_ORIGIN).status,
            "signed link": lambda token: Storage(service.api()).send("GET", f"{at(NAME, 'sign')}?token={token}").status,
            "refresh token": lambda token: service.refresh(token).status,
            "kiosk code": self.pair,
        }

    def pair(self, code: str) -> int:
        with self.service.app.app_context(), self.service.app.extensions["walkthrough"].writing() as transaction:
            return 401 if kiosk_display.pair_display(transaction, code, ORIGIN) is None else 200

    def use(self, kind: str) -> int:
        return self.sends[kind](self.right[kind])

    def guess(self, kind: str, times: int) -> set[int]:
        """Send wrong secrets of the right form, and return their statuses."""
        statuses = set()
        for number in range(times):
            right = self.right[kind]
            wrong = right[: len(right) - 4] + f"{number:04}"
            try:
                statuses.add(self.sends[kind](wrong))
            except password.RateLimitExceeded:
                statuses.add(429)
        return statuses


KINDS = ["api key", "calendar link", "signed link", "refresh token", "kiosk code"]


@pytest.mark.parametrize("kind", KINDS)
def test_right_secret_works_after_wrong_ones_from_the_same_address(service: Service, kind: str) -> None:
    secrets = Secrets(service)

    statuses = secrets.guess(kind, password.ORIGIN_ATTEMPTS_MAX + 1)

    assert not any(200 <= each < 400 for each in statuses)
    assert secrets.use(kind) == 200


def test_wrong_secrets_of_all_kinds_refuse_no_password_and_wrong_passwords_no_secret(service: Service) -> None:
    secrets = Secrets(service)
    for kind in KINDS:
        secrets.guess(kind, password.ORIGIN_ATTEMPTS_MAX + 1)
    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"]).status == 200

    with service.app.app_context(), service.app.extensions["walkthrough"].writing() as transaction:
        for number in range(password.ORIGIN_ATTEMPTS_MAX):
            password.record_sign_in_attempt(transaction, password.sign_in_attempt(f"{number}@x.org", ORIGIN, None))
    assert service.try_password(EMAILS["bob"], PASSWORDS["bob"]).status == 429

    assert {kind: secrets.use(kind) for kind in KINDS} == dict.fromkeys(KINDS, 200)
