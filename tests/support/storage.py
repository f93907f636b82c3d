"""Requests to /storage/v1, and small files to send."""

import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from PIL import Image

from tests.conftest import Api
from tests.support import tokens

OBJECT = "/storage/v1/object"
RENDER = "/storage/v1/render/image"
PDF = b"%PDF-1.4\n%%EOF\n"
BOUNDARY = "frontier"
FORM = f"multipart/form-data; boundary={BOUNDARY}"


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer of the storage."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)

    @property
    def refusal(self) -> tuple[int, str, str]:
        """Status, code and message of an error, whose body has the documented keys."""
        assert set(self.json) == {"statusCode", "code", "error", "message"}, self.body
        assert self.json["statusCode"] == str(self.status)
        return self.status, self.json["code"], self.json["message"]

    @property
    def whole(self) -> tuple:
        """All that a client sees, without what differs for equal requests."""
        headers = tuple(sorted((name.lower(), value) for name, value in self.headers.items() if name.lower() != "date"))
        return self.status, headers, self.body


@dataclass(frozen=True, slots=True)
class Storage:
    """Requests of one sender. Names in paths are given decoded."""

    api: Api

    def send(self, method: str, path: str, body: object = None, **headers: str | None) -> Sent:
        """Send bytes as they are, and other values as JSON. A header of None is left out."""
        sent: dict[str, str | None] = {"apikey": tokens.ANON_KEY, "Authorization": self.api.person.authorization()}
        if body is not None and not isinstance(body, bytes):
            body, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        app = self.api.database.app_for("POST", path)  # its folder of files is the test's own
        answer = app.test_client().open(
            path, method=method, headers={name: value for name, value in sent.items() if value is not None}, data=body
        )
        with answer:
            return Sent(answer.status_code, dict(answer.headers), answer.get_data())

    def upload(self, name: str, body: bytes | None = None, **headers: str) -> Sent:
        """Upload a picture, by default one that differs for each name."""
        return self.send("POST", at(name), picture(name) if body is None else body, **headers)

    def download(self, name: str, **headers: str) -> Sent:
        return self.send("GET", at(name), **headers)

    def sign(self, name: str, seconds: int = 60, **options: object) -> str:
        """Return the path of a signed link, as a client asks for it."""
        answer = self.send("POST", at(name, "sign"), {"expiresIn": seconds, **options})
        assert answer.status == 200, answer.body
        return link_path(answer.json["signedURL"])

    def list(self, bucket: str, prefix: str = "", **options: object) -> list[dict]:
        answer = self.send("POST", f"{OBJECT}/list/{bucket}", {"prefix": prefix, **options})
        assert answer.status == 200, answer.body
        return answer.json


def storage_of(api: Callable) -> Callable[[str], Storage]:
    """Return `storage("ada")`, which sends requests as ada."""
    return lambda who: Storage(api(who))


def at(name: str, kind: str = "") -> str:
    """Return the path of an object: `at("inspections/1/a.jpg", "sign")`."""
    return f"{OBJECT}{f'/{kind}' if kind else ''}/{quote(name)}"


def link_path(signed: str) -> str:
    """Return the path of a signed link, which the service does not encode."""
    path, _, token = signed.partition("?token=")
    return f"/storage/v1{quote(path)}?token={token}"


def picture(name: str = "", kind: str = "PNG", size: tuple[int, int] = (8, 6)) -> bytes:
    """Return an image of a colour that depends on the name."""
    made = io.BytesIO()
    number = zlib.crc32(name.encode())
    Image.new("RGB", size, (number % 256, number // 256 % 256, number // 65_536 % 256)).save(made, kind)
    return made.getvalue()


def form(*parts: tuple[str, bytes, str | None, str | None]) -> bytes:
    """Return a form of parts: name, content, file name and content type."""
    body = bytearray()
    for name, content, filename, content_type in parts:
        body += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'.encode()
        body += f'; filename="{filename}"'.encode() if filename is not None else b""
        body += f"\r\nContent-Type: {content_type}".encode() if content_type else b""
        body += b"\r\n\r\n" + content + b"\r\n"
    return bytes(body + f"--{BOUNDARY}--\r\n".encode())


def jpeg_width(image: bytes) -> int:
    """Return the width of a baseline JPEG, from its frame header."""
    begin = image.index(b"\xff\xc0")
    return int.from_bytes(image[begin + 7 : begin + 9])
