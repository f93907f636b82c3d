"""What the views of files share: bodies of requests and responses, conditions and ranges, limits and the store.

A response shows a file as Supabase describes an object. Other keys of JSON bodies and query parameters are ignored, as
in Supabase. Conditional requests and ranges follow RFC 9110, sections 13 and 14.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from flask import Request, Response, current_app
from marshmallow import Schema, ValidationError, fields, validate
from werkzeug.routing import PathConverter

from inspections.files.links import DOWNLOAD_SECONDS_MAX, LinkSigner
from inspections.files.records import FileRow
from inspections.files.store import FileStore
from inspections.files.uploads import FileLimits
from routes.http.body import Object, StringField, json_object, load_values, read_body, read_object, text


def etag_of(row: FileRow) -> str:
    return f'"{row.sha256}"'


def modified_at(row: FileRow) -> datetime.datetime:
    return datetime.datetime.fromisoformat(row.updated_at)


def user_metadata(row: FileRow) -> object:
    return json.loads(row.user_metadata) if row.user_metadata is not None else None


def listed_object(row: FileRow, name: str) -> Object:
    """Return a file as an entry of a list, under a name relative to the list's folder."""
    return {
        "name": name,
        "id": row.id,
        "updated_at": row.updated_at,
        "created_at": row.created_at,
        "last_accessed_at": row.updated_at,
        "metadata": {
            "eTag": etag_of(row),
            "size": row.size,
            "mimetype": row.mimetype,
            "cacheControl": row.cache_control or "no-cache",
            "lastModified": row.updated_at,
            "contentLength": row.size,
            "httpStatusCode": 200,
        },
    }


def listed_folder(name: str) -> Object:
    """Return a folder as an entry of a list: the name alone."""
    keys = ("id", "updated_at", "created_at", "last_accessed_at", "metadata")
    return {"name": name, **dict.fromkeys(keys)}


def object_body(row: FileRow) -> Object:
    """Return a file that was copied or removed."""
    return {
        **listed_object(row, row.name),
        "bucket_id": row.bucket,
        "owner": row.created_by,
        "owner_id": row.created_by,
        "version": row.sha256,
        "user_metadata": user_metadata(row),
    }


def info_body(row: FileRow) -> Object:
    return {
        "id": row.id,
        "name": row.name,
        "version": row.sha256,
        "bucket_id": row.bucket,
        "size": row.size,
        "content_type": row.mimetype,
        "cache_control": row.cache_control or "no-cache",
        "etag": etag_of(row),
        "metadata": user_metadata(row) or {},
        "last_modified": row.updated_at,
        "created_at": row.created_at,
    }


NAMES_MAX: Final = 1_000
PIXELS_MAX: Final = 10_000
DIGITS_MAX: Final = 9


class FileConverter(PathConverter):
    """The name of a file in a path. It may begin with a slash, and `parse_key` checks it."""

    regex, part_isolating = r"[\s\S]+?", False


class NumberField(fields.Field[int]):
    """A whole number or its digits: storage-py sends `expiresIn` as a text."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if type(value) is int:
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= DIGITS_MAX:
            return int(value)
        raise ValidationError("must be a whole number")


class NamesField(fields.Field[list[str]]):
    """The names of files."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[str]:
        if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise ValidationError("must be a list of names: files have no versions")
        if len(value) > NAMES_MAX:
            raise ValidationError(f"has at most {NAMES_MAX} names")
        return value


class FlagField(fields.Field[bool]):
    """A boolean. marshmallow's own field also accepts words."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("must be true or false")
        return value


def number(minimum: int, maximum: int, default: int | None = None) -> NumberField:
    """Return a field of a whole number within bounds."""
    bounds = validate.Range(minimum, maximum, error=f"lies between {minimum} and {maximum}")
    return NumberField(load_default=default, allow_none=True, validate=bounds)


def flag(default: bool) -> FlagField:
    return FlagField(load_default=default)


def choice(*words: str) -> StringField:
    """Return a field of one of these words."""
    is_word = validate.OneOf(words, error=f"is one of: {', '.join(words)}")
    return StringField(load_default=None, allow_none=True, validate=is_word)


def seconds() -> NumberField:
    bounds = validate.Range(1, DOWNLOAD_SECONDS_MAX, error=f"lies between 1 and {DOWNLOAD_SECONDS_MAX}")
    return NumberField(required=True, validate=bounds)


def schema(**declared: fields.Field[Any]) -> Schema:
    made: Schema = Schema.from_dict(dict(declared))()
    return made


SIGNING: Final = schema(expiresIn=seconds(), transform=json_object())
SIGNING_ALL: Final = schema(expiresIn=seconds(), paths=NamesField(required=True))
REMOVAL: Final = schema(prefixes=NamesField(required=True))
RENAMING: Final = schema(
    bucketId=StringField(required=True),
    sourceKey=StringField(required=True),
    destinationKey=StringField(required=True),
    destinationBucket=text(),
    copyMetadata=flag(True),
)
TRANSFORM: Final = schema(
    width=number(1, PIXELS_MAX),
    height=number(1, PIXELS_MAX),
    resize=choice("cover", "contain", "fill"),
    quality=number(20, 100),
    format=choice("origin"),
)


def read_options(declared: Schema) -> Object:
    """Return the fields of the request's JSON body. Raise InvalidBody, BadJson or InvalidPayload."""
    return load_values(declared, read_object(read_body()))


def read_transform(options: Mapping[str, object]) -> Object:
    """Return the checked options of an image. Raise InvalidBody."""
    return load_values(TRANSFORM, options)


RANGE: Final = re.compile(r"[ \t]*bytes[ \t]*=[ \t]*([0-9]*)[ \t]*-[ \t]*([0-9]*)[ \t]*", re.ASCII | re.IGNORECASE)
RANGE_DIGITS_MAX: Final = 18
LARGEST: Final = 10**RANGE_DIGITS_MAX

Part = tuple[int, int]
"""The first byte, and the one after the last."""


class Unsatisfiable(Exception):
    """A range that has no byte of the file."""


def apply_conditions(response: Response, request: Request, size: int) -> Part | None:
    """Set the status that the conditions of a GET or HEAD give, and return the part that the body has.

    None is no body. `response` has an ETag and a Last-Modified. Raise Unsatisfiable.
    """
    response.accept_ranges = "bytes"
    etag, modified = response.get_etag()[0] or "", response.last_modified
    if not is_met(request, etag, modified):
        response.status_code, response.content_length = HTTPStatus.PRECONDITION_FAILED, 0
        del response.headers["Content-Type"]
        return None
    if is_current(request, etag, modified):
        response.status_code = HTTPStatus.NOT_MODIFIED
        del response.headers["Content-Length"]
        return None
    part = requested_part(request, etag, modified, size)
    if part is None:
        return None if request.method == "HEAD" else (0, size)
    begin, end = part
    response.status_code, response.content_length = HTTPStatus.PARTIAL_CONTENT, end - begin
    response.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
    return part


def is_met(request: Request, etag: str, modified: datetime.datetime | None) -> bool:
    """Return whether the preconditions hold: If-Match, or If-Unmodified-Since without it."""
    if request.if_match:
        return request.if_match.contains(etag)
    since = request.if_unmodified_since
    return since is None or modified is None or modified <= since


def is_current(request: Request, etag: str, modified: datetime.datetime | None) -> bool:
    """Return whether the client's copy is current: by If-None-Match, or by If-Modified-Since without it."""
    if request.if_none_match:
        return request.if_none_match.contains_weak(etag)
    since = request.if_modified_since
    return since is not None and modified is not None and modified <= since


def requested_part(request: Request, etag: str, modified: datetime.datetime | None, size: int) -> Part | None:
    """Return the range of a GET, or None for the whole file: another unit, several ranges, or an older copy.

    Raise Unsatisfiable.
    """
    if request.method != "GET" or not size:
        return None
    found = RANGE.fullmatch(request.headers.get("Range", ""))
    if found is None or not (found[1] or found[2]):
        return None
    first, last = map(read_position, found.groups())
    if first is not None and last is not None and first > last:
        return None
    if "If-Range" in request.headers and not is_same(request, etag, modified):
        return None
    if first is None:
        first, last = size - min(last or 0, size), size - 1
    if first >= size:
        raise Unsatisfiable
    return first, size if last is None else min(last + 1, size)


def is_same(request: Request, etag: str, modified: datetime.datetime | None) -> bool:
    """Return whether the client has a part of this file. If-Range compares strongly."""
    copy, is_weak = request.if_range, request.headers["If-Range"].strip().startswith("W/")
    return copy.date == modified if copy.date is not None else copy.etag == etag and not is_weak


def read_position(digits: str) -> int | None:
    """Return a position, at most LARGEST; None for an absent one."""
    plain = digits.lstrip("0")
    return None if not digits else LARGEST if len(plain) > RANGE_DIGITS_MAX else int(plain or "0")


def file_store() -> FileStore:
    store: FileStore = current_app.extensions["walkthrough.files"]
    return store


def file_limits() -> FileLimits:
    return limits_of(current_app.config)


def limits_of(config: Mapping[str, Any]) -> FileLimits:
    return FileLimits(config["FILE_BYTES_MAX"], config["FILES_BYTES_MAX"])


def link_signer() -> LinkSigner:
    return signer_of(current_app.config)


def signer_of(config: Mapping[str, Any]) -> LinkSigner:
    return LinkSigner(config["SECRET_KEY"], config["SERVICE_KEY"])
