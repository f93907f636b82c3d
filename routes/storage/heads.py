"""Which requests upload a file, and whether the head is enough to refuse one: the worker asks before it takes a body.

A refused request reaches its view without a body, and the view refuses it by the same checks.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from flask import Flask

from access.access_token import Claims, require_in_force
from access.authentication import Authenticator
from inspections.faults import InvalidLink
from inspections.files.links import UPLOAD, LinkSigner
from inspections.files.store import FileStore
from models.errors import Fault
from models.vocabulary import BUCKETS
from routes.http.proxies import without_prefix
from routes.storage.state import limits_of
from routes.storage.uploads import body_bytes_max

UPLOAD_PATH: Final = re.compile(rf"/storage/v1/object/(upload/sign/)?(?:{'|'.join(BUCKETS)})/.*")


class UploadHeads:
    """The rules of an application's uploads, for `serving.worker.connection.UploadRules`."""

    def __init__(self, app: Flask, other_bytes_max: Callable[[Any], int | None]) -> None:
        """`other_bytes_max` returns the limit of a request that is no upload of /storage/v1."""
        self.other_bytes_max = other_bytes_max
        self.store: FileStore = app.extensions["walkthrough.files"]
        self.authenticator: Authenticator = app.extensions["walkthrough.authenticator"]
        self.clock: Callable[[], float] = app.extensions.get("walkthrough.clock", time.time)
        self.signer = LinkSigner(app.config["SECRET_KEY"])
        self.prefix: str = app.config["URL_PREFIX"]
        self.bytes_max = body_bytes_max(limits_of(app.config).file_bytes)

    @property
    def directory(self) -> Path:
        """The folder for unfinished uploads. It exists; raise OSError if it cannot be made."""
        self.store.prepare()
        return self.store.incoming

    def body_bytes_max(self, request: Any) -> int | None:
        """Return the limit of the request's body: None if the request is no upload, 0 if it is refused."""
        if request.method not in ("POST", "PUT") or "/storage/v1/object/" not in request.path:
            return self.other_bytes_max(request)
        match = UPLOAD_PATH.fullmatch(without_prefix(request.path, self.prefix))
        if match is None or (match[1] and request.method == "POST"):
            return None
        try:
            if match[1]:
                self.require_link(request.query)
            else:
                self.require_credentials(dict(request.headers))
        except Fault:
            return 0
        return self.bytes_max

    def require_link(self, query: str) -> None:
        link = self.signer.parse(parse_qs(query).get("token", [""])[0])
        if link.use != UPLOAD or link.expires_at <= self.clock():
            raise InvalidLink

    def require_credentials(self, headers: dict[str, str]) -> None:
        """Raise a fault for a request whose token or apikey is absent, malformed or expired."""
        found = self.authenticator.authenticate(headers.get("APIKEY"), headers.get("AUTHORIZATION"))
        if found.is_anonymous:
            raise InvalidLink
        if isinstance(found.credential, Claims):
            require_in_force(found.credential, int(self.clock()))
