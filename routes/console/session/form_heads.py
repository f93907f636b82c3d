"""Which forms have files, and whether the head is enough to refuse one: the worker asks before it takes a body."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final

from flask import Flask
from werkzeug.http import parse_cookie

from models.vocabulary import BUCKETS
from routes.console.session.auth import COOKIE, CookieSigner
from routes.console.session.file_forms import form_bytes_max
from routes.console.session.urls import PATH
from routes.http.middleware import without_prefix
from routes.storage.bodies import limits_of

FORM_PATH: Final = re.compile(rf"{PATH}/(?:(?:{'|'.join(BUCKETS)})/[0-9]+/files|inspections/[0-9]+/add/findings)")


class FileFormHeads:
    """The rules of an application's forms with files."""

    def __init__(self, app: Flask) -> None:
        self.clock: Callable[[], float] = app.extensions.get("walkthrough.clock", time.time)
        self.signer = CookieSigner(app.extensions["walkthrough.authenticator"].signers.signer.secret_keys)
        self.prefix: str = app.config["URL_PREFIX"]
        self.bytes_max = form_bytes_max(limits_of(app.config).file_bytes)

    def body_bytes_max(self, request: Any) -> int | None:
        """Return the limit of the request's body: None if the request is no such form, 0 without a valid session."""
        if request.method != "POST" or not request.path.endswith(("/files", "/add/findings")):
            return None
        if FORM_PATH.fullmatch(without_prefix(request.path, self.prefix)) is None:
            return None
        headers = dict(request.headers)
        cookie = self.signer.decode(parse_cookie(headers.get("COOKIE", "")).get(COOKIE, ""))
        if cookie is not None and cookie.is_valid(int(self.clock())):
            return self.bytes_max
        return 0 if request.path.endswith("/files") else None  # the page after a sign-in shows the texts of a finding
