"""A running service in place of an application of the tests: their requests go over HTTP."""

import http.client
import pathlib
from dataclasses import dataclass, field
from string import punctuation
from urllib.parse import quote, urlsplit

from tests.conftest import reads_only
from tests.support.applications import open_app

SECONDS_MAX = 30


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response with the attributes of werkzeug's."""

    status_code: int
    headers: http.client.HTTPMessage
    body: bytes

    def get_data(self, *, as_text: bool) -> str:
        assert as_text
        return self.body.decode()


@dataclass(slots=True)
class HttpApp:
    """An application, as far as `tests.conftest.Api` uses it. `has_written`: whether a request may have written.

    `file` names the database, of which `extensions` has the rows.
    """

    url: str
    file: pathlib.Path
    has_written: bool = False
    connection: http.client.HTTPConnection | None = field(default=None)

    def test_client(self) -> "HttpApp":
        return self

    @property
    def extensions(self) -> dict:
        return open_app(self.file).extensions

    def open(
        self, path: str, *, method: str, headers: dict, data: str | bytes | None, environ_overrides: dict
    ) -> HttpAnswer:
        """Send a request over the kept connection."""
        assert not environ_overrides, "a client cannot set a variable of the server"
        self.has_written |= not reads_only(method, path)
        if self.connection is None:
            self.connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=SECONDS_MAX)
        body = data.encode() if isinstance(data, str) else data
        self.connection.request(method, quote(path, safe=punctuation), body, headers)
        answer = self.connection.getresponse()
        return HttpAnswer(answer.status, answer.headers, answer.read())
