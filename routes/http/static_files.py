"""Static files from a fixed table, so that no path is formed from a request.

A URL has a hash of the content, so that browsers keep the file for a year. The plain name works too and is not cached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources.abc import Traversable
from typing import Final

from flask import Response, request

from routes.http.compression import accepts_gzip, gzipped
from routes.postgrest.requests import UnknownPath

CACHE_FOR_A_YEAR: Final = "public, max-age=31536000, immutable"
HASH_DIGITS: Final = 12
COMPRESSION_LEVEL: Final = 9


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file's content, its compressed content if that is smaller, and its name with the hash."""

    content: bytes
    compressed: bytes | None
    hashed_name: str


class StaticFiles:
    """The files of a page: each name with its directory and content type."""

    def __init__(self, path: str, table: Mapping[str, tuple[Traversable, str]], content_policy: str) -> None:
        self.path, self.table, self.content_policy = path, table, content_policy
        self.load = lru_cache(maxsize=None)(self.read)

    def read(self, name: str) -> StaticFile:
        content = (self.table[name][0] / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:HASH_DIGITS]
        stem, _, suffix = name.rpartition(".")
        compressed = gzipped(content, COMPRESSION_LEVEL)
        return StaticFile(content, compressed if len(compressed) < len(content) else None, f"{stem}.{digest}.{suffix}")

    def url(self, name: str) -> str:
        """Return the path of a file, with its hash."""
        return f"{self.path}/{self.load(name).hashed_name}"

    def respond(self, requested: str) -> Response:
        """Return a file by its name with or without the hash; raise UnknownPath."""
        stem, _, suffix = requested.rpartition(".")
        name = requested if requested in self.table else f"{stem.rpartition('.')[0]}.{suffix}"
        if name not in self.table:
            raise UnknownPath
        file = self.load(name)
        headers = {"Content-Type": self.table[name][1], "Content-Security-Policy": self.content_policy}
        if requested == file.hashed_name:
            headers["Cache-Control"] = CACHE_FOR_A_YEAR
        elif requested != name:
            raise UnknownPath
        if file.compressed is not None and accepts_gzip(request.headers.get("Accept-Encoding", "")):
            return Response(file.compressed, 200, {**headers, "Content-Encoding": "gzip"})
        return Response(file.content, 200, headers)
