"""Which forms have files, and whether the head is enough to refuse one: the worker asks before it takes a body."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final

from flask import Flask
from werkzeug.http import parse_cookie

from models.vocabulary import BUCKETS
from routes.console.session.auth import COOKIE, PATH
from routes.console.session.sent_files import form_bytes_max
from routes.console.session.session_cookie import CookieSigner
from routes.http.proxies import without_prefix
from routes.storage.state import limits_of

FORM_PATH: Final = re.compile(rf"{PATH}/(?:{'|'.join(BUCKETS)})/[0-9]+/files")


class FileFormHeads:
    """The rules of an application's forms with files."""

    def __init__(self, app: Flask) -> None:
        self.clock: Callable[[], float] = app.extensions.get("walkthrough.clock", time.time)
        self.signer = CookieSigner(app.extensions["walkthrough.authenticator"].signers.signer.secret_keys)
        self.prefix: str = app.config["URL_PREFIX"]
        self.bytes_max = form_bytes_max(limits_of(app.config).file_bytes)

    def body_bytes_max(self, request: Any) -> int | None:
        """Return the limit of the request's body: None if the request is no such form, 0 without a valid session."""
        if request.method != "POST" or not request.path.endswith("/files"):
            return None
        if FORM_PATH.fullmatch(without_prefix(request.path, self.prefix)) is None:
            return None
        header = next((value for name, value in request.headers if name == "COOKIE"), "")
        cookie = self.signer.decode(parse_cookie(header).get(COOKIE, ""))
        return self.bytes_max if cookie is not None and cookie.is_valid(int(self.clock())) else 0
