"""Texts that are no e-mail address are refused at every door."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.support.signin import Service, error, reused_service

pytestmark = pytest.mark.one_engine

MALFORMED = (
    "<a@c.org>",
    "x@y..z",
    "a b@c.org",
    "a.@c.org",
    '"a b"@c.org',
    "a@-c.org",
    "a@c_d.org",
    "a",
    "@c.org",
    "a@",
)


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("email", MALFORMED)
def test_sign_in_api_refuses_a_malformed_address(service: Service, email: str) -> None:
    body = {"email": email, "app_metadata": {"role": "client_manager", "client_id": 1}}

    refused = service.api("root").post("/auth/v1/admin/users", body)

    assert error(refused) == (400, "validation_failed")


@pytest.mark.parametrize("email", MALFORMED)
def test_data_api_refuses_a_malformed_address(service: Service, email: str) -> None:
    row = {"email": email, "name": "Eva", "role": "client_manager", "client_id": 1}

    refused = service.api("root").post("/users", row)

    assert (refused.status, refused.json["code"]) == (400, "23514")
    assert "users_email_check" in refused.json["message"]


@pytest.mark.parametrize("email", ["admin@kiosk.local", "o'neil+tag@acme.example", "\u00fc@ex\u00e4mple.org", "a@host"])
def test_address_without_a_public_domain_is_taken(service: Service, email: str) -> None:
    row = {"email": email, "name": "Eva", "role": "client_manager", "client_id": 1}

    assert service.api("root").post("/users", row).status == 201


def test_command_refuses_a_malformed_address(service: Service) -> None:
    made = service.app.test_cli_runner().invoke(
        args=["create-user", "<a@c.org>", "--role", "super_admin", "--password", "-"], input="a long password"
    )

    assert made.exit_code != 0
    assert "invalid format" in made.output
