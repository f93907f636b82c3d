"""A signed link and a signed upload end with the credential that made them, at the next use."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from access.session import SESSION_SECONDS
from routes.storage.bodies import link_signer
from tests.access.api_keys import OWN, make
from tests.conftest import ADA, MOE
from tests.support import tokens
from tests.support.applications import open_app
from tests.support.signin import PASSWORDS, Service, open_service, reused_service
from tests.support.storage import Sent, Storage, at, link_path, picture

NAME, NEW = "buildings/1/a.png", "buildings/1/new.png"
GONE = (404, "NoSuchKey", "Object not found")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        assert Storage(found.api("ada")).upload(NAME).status == 200
        yield found


class Links:
    """A link to read, a link to an image and a signed upload, which one sender made."""

    def __init__(self, service: Service, **sent: str | None) -> None:
        self.nobody = Storage(service.api())
        options = {"expiresIn": 365 * 24 * 3_600}
        calls = [("sign", NAME, options), ("sign", NAME, {**options, "transform": {"width": 9}})]
        made = [self.nobody.send("POST", at(name, kind), body, **sent) for kind, name, body in calls]
        self.reads = [link_path(each.json["signedURL"]) for each in made]
        bucket, _, key = NAME.partition("/")
        every = self.nobody.send("POST", at(bucket, "sign"), {**options, "paths": [key]}, **sent)
        self.reads.append(link_path(every.json[0]["signedURL"]))
        upload = self.nobody.send("POST", at(NEW, "upload/sign"), {}, x_upsert="true", **sent)
        self.upload = link_path(upload.json["url"])

    def use(self) -> list[Sent]:
        """Use each link as a browser does, without a credential."""
        bare = {"apikey": None, "Authorization": None}
        answers = [self.nobody.send("GET", each, **bare) for each in self.reads]
        return [*answers, self.nobody.send("PUT", self.upload, picture("new"), **bare)]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def of_key(service: Service, **body: object) -> tuple[Links, str]:
    """Return the links of a new API key, sent in `apikey` alone, and the key's id."""
    key = make(service, "ada", **body)
    return Links(service, apikey=key["key"], Authorization=None), key["id"]


def of_session(service: Service) -> tuple[Links, str]:
    """Return the links of a new session, and its access token."""
    session = service.sign_in("ada")
    return Links(service, **bearer(session["access_token"])), session["access_token"]


def revoke_key(service: Service) -> Links:
    links, key_id = of_key(service)
    assert_used(links)
    assert service.api("ada").delete(f"{OWN}/{key_id}").status == 200
    return links


def expire_key(service: Service) -> Links:
    links, key_id = of_key(service, expires_at="2100-01-01T00:00:00Z")
    assert_used(links)
    service.sql("UPDATE tokens SET expires_at = ? WHERE id = ?", int(time.time()), key_id)
    return links


def disable_creator(service: Service) -> Links:
    """A key that another user made is suspended with that user."""
    links, _ = of_key(service)
    service.sql("UPDATE tokens SET created_by = ?", MOE)
    assert_used(links)
    service.sql("UPDATE credentials SET disabled_until = ? WHERE user_id = ?", 2**40, MOE)
    return links


def sign_out(service: Service) -> Links:
    links, token = of_session(service)
    assert_used(links)
    assert service.api(token=token).post("/auth/v1/logout?scope=local").status == 204
    return links


def sign_out_elsewhere(service: Service) -> Links:
    links, _ = of_session(service)
    assert_used(links)
    other = service.sign_in("ada")["access_token"]
    assert service.api(token=other).post("/auth/v1/logout?scope=others").status == 204
    return links


def expire_session(service: Service) -> Links:
    links, _ = of_session(service)
    assert_used(links)
    service.sql("UPDATE sessions SET last_used_at = last_used_at - ?", SESSION_SECONDS)
    return links


def change_password(service: Service) -> Links:
    links, _ = of_session(service)
    assert_used(links)
    other = service.sign_in("ada")["access_token"]
    changes = {"password": "another password", "current_password": PASSWORDS["ada"]}
    assert service.api(token=other).put("/auth/v1/user", changes).status == 200
    return links


def change_role(service: Service) -> Links:
    links, _ = of_session(service)
    assert_used(links)
    assert service.api("root").patch(f"/users?id=eq.{ADA}", {"role": "client_manager"}).status == 204
    return links


def assert_used(links: Links) -> None:
    assert [each.status for each in links.use()] == [200] * 4


ENDS = [revoke_key, expire_key, disable_creator, sign_out, sign_out_elsewhere, expire_session, change_password,
        change_role]  # fmt: skip


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_link_ends_with_the_credential_that_made_it(service: Service, end: Callable[[Service], Links]) -> None:
    links = end(service)

    assert [each.refusal for each in links.use()] == [GONE] * 4


@pytest.mark.parametrize("kind", ["key", "session"])
def test_other_credentials_of_the_maker_do_not_end_a_link(service: Service, kind: str) -> None:
    other_links, other_key = of_key(service)
    links, _ = of_key(service) if kind == "key" else of_session(service)
    assert service.api("ada").delete(f"{OWN}/{other_key}").status == 200
    signed_in = service.sign_in("ada")["access_token"]
    assert service.api(token=signed_in).post("/auth/v1/logout?scope=local").status == 204

    assert_used(links)
    assert [each.refusal for each in other_links.use()] == [GONE] * 4


def test_link_of_a_former_service_key_ends(tmp_path: pathlib.Path) -> None:
    service = open_service(tmp_path)
    assert Storage(service.api("ada")).upload(NAME).status == 200
    links = Links(service, apikey=tokens.SERVICE_KEY, Authorization=None)
    assert_used(links)

    for service_key in ("another-service-key-of-32-characters", None):
        later = Service(open_app(service.file, SERVICE_KEY=service_key), service.file)
        links.nobody = Storage(later.api())
        assert [each.refusal for each in links.use()] == [GONE] * 4
    links.nobody = Storage(Service(open_app(service.file), service.file).api())
    assert_used(links)


def test_link_without_the_credential_of_its_maker_is_refused(service: Service) -> None:
    """Before, a link named its maker alone: which credential made it cannot be told."""
    with service.app.app_context():
        token = link_signer().serializer.dumps(
            {"use": "download", "path": NAME, "maker": ADA, "issued_at": int(time.time()),
             "expires_at": int(time.time()) + 60, "id": "x", "upsert": False, "width": None}
        )  # fmt: skip

    answer = Storage(service.api()).send("GET", f"{at(NAME, 'sign')}?token={quote(token)}")

    assert answer.refusal[:2] == (400, "InvalidSignature")
