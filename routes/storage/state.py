"""What the views of files share: the store of the application, its limits and its signer of links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import current_app

from inspections.files.links import LinkSigner
from inspections.files.store import FileStore
from inspections.files.uploads import FileLimits


def file_store() -> FileStore:
    store: FileStore = current_app.extensions["walkthrough.files"]
    return store


def file_limits() -> FileLimits:
    return limits_of(current_app.config)


def limits_of(config: Mapping[str, Any]) -> FileLimits:
    return FileLimits(config["FILE_BYTES_MAX"], config["FILES_BYTES_MAX"])


def link_signer() -> LinkSigner:
    return LinkSigner(current_app.config["SECRET_KEY"])
