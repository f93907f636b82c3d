"""Forms with large photographs at a running service: the worker takes their bodies into a file, or refuses the head."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.clients.server import password_of
from tests.console.conftest import EMAILS, TOKEN, Service
from tests.support.photographs import photograph

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("the worker is the same over both engines")]

FINDING = "/console/findings/1"
LARGE = photograph("large") + bytes(9 << 20)  # beyond the limit of other bodies, 6 MiB


@pytest.fixture
def ada(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        csrf = TOKEN.search(client.get("/console/sign-in").text)[1]
        sent = {"csrf": csrf, "email": EMAILS["ada"], "password": password_of("ada")}
        assert client.post("/console/sign-in", data=sent).status_code == 303
        yield client


def incoming(service: Service) -> list[str]:
    folder = service.directory / "walkthrough.db.files" / "incoming"
    return [each.name for each in folder.iterdir() if not each.name.startswith(".")] if folder.exists() else []


def files_of(*bodies: bytes) -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("file", (f"image {number}.jpg", body, "image/jpeg")) for number, body in enumerate(bodies)]


def test_form_with_large_photographs_is_stored(service: Service, ada: httpx.Client) -> None:
    csrf = TOKEN.search(ada.get(FINDING).text)[1]
    bodies = [LARGE + str(each).encode() for each in range(3)]

    answer = ada.post(f"{FINDING}/files", data={"csrf": csrf}, files=files_of(*bodies))

    assert (answer.status_code, answer.headers["Location"]) == (303, f"{FINDING}#photographs")
    kept = [each for each in Path(service.directory, "walkthrough.db.files").iterdir() if each.is_file()]
    assert sorted(each.stat().st_size for each in kept if len(each.name) == 64) == [len(each) for each in bodies]
    assert incoming(service) == []


def test_form_without_a_session_is_refused_by_its_head(service: Service, ada: httpx.Client) -> None:
    csrf = TOKEN.search(ada.get(FINDING).text)[1]
    for cookie in ("", "walkthrough_console=forged"):
        answer = httpx.post(
            f"{service.url}{FINDING}/files", data={"csrf": csrf}, files=files_of(LARGE), headers={"Cookie": cookie}
        )
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith("/console/sign-in")
    assert incoming(service) == []


def test_form_beyond_the_limit_is_refused_by_its_head(service: Service, ada: httpx.Client) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in ada.cookies.items())
    head = {
        "Host": ada.base_url.netloc.decode(), "Cookie": cookie, "Content-Length": str(101 << 20),
        "Content-Type": "multipart/form-data; boundary=b",
    }  # fmt: skip
    lines = [f"POST {FINDING}/files HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]

    with socket.create_connection((ada.base_url.host, ada.base_url.port), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = connection.recv(4_096)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert incoming(service) == []
