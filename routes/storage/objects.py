"""Files under /storage/v1/object: store, read, list, move, copy and remove them. `links.py` has those with a link."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast

from flask import Blueprint, Response, request

from access.caller import Caller
from access.decorators import load_caller, public, requires, requires_caller, requires_writer, set_requirement
from engine.current import reading, writing
from engine.query.rule import Action
from inspections.faults import NoSuchFile
from inspections.files import records
from inspections.files.keys import FileKey, parse_key, require_bucket
from inspections.files.records import FileRow
from inspections.files.thumbnails import WIDTHS, choose_width, thumbnail
from models import File
from models.vocabulary import JPEG
from routes.gotrue.bodies import json_response
from routes.gotrue.payload import Object
from routes.storage import payload
from routes.storage.bodies import info_body, modified_at, object_body
from routes.storage.downloads import FileBody, send_file
from routes.storage.state import file_limits, file_store
from routes.storage.uploads import store_upload

bp = Blueprint("storage", __name__, url_prefix="/storage/v1")


# Uploads


@bp.post("/object/<bucket>/<file:name>")
@requires_writer
def upload(caller: Caller, bucket: str, name: str) -> Response:
    return stored(parse_key(bucket, name), upsert=is_upsert())


@bp.put("/object/<bucket>/<file:name>")
@requires_writer
def update(caller: Caller, bucket: str, name: str) -> Response:
    return stored(parse_key(bucket, name), upsert=True)


def stored(key: FileKey, *, upsert: bool) -> Response:
    row = store_upload(key, load_caller, upsert=upsert)
    return json_response({"Id": row.id, "Key": key.path})


def is_upsert() -> bool:
    return request.headers.get("X-Upsert", "").lower() == "true"


# Downloads


@requires(Action.READ, File)
def visible_file(caller: Caller, bucket: str, name: str) -> FileRow:
    """Return a file that the caller of the request sees. Raise NoSuchFile, NoSuchBucket or InvalidFileName."""
    with reading() as transaction:
        return records.find(transaction, caller, parse_key(bucket, name))


def shows_file(view: Callable[[FileRow], Response]) -> Callable[[str, str], Response]:
    """Call the view with a visible file, after the transaction that found it."""

    @wraps(view)
    def found(bucket: str, name: str) -> Response:
        row = cast("Callable[..., FileRow]", visible_file)(bucket=bucket, name=name)
        return view(row)

    return set_requirement(found, visible_file.requires)  # type: ignore[attr-defined]


@bp.get("/object/<bucket>/<file:name>")
@bp.get("/object/authenticated/<bucket>/<file:name>")
@shows_file
def download(row: FileRow) -> Response:
    return send_bytes(row)


@bp.get("/render/image/authenticated/<bucket>/<file:name>")
@shows_file
def download_image(row: FileRow) -> Response:
    return send_thumbnail(row, chosen_width(row, payload.read_transform(request.args)))


@bp.get("/object/info/<bucket>/<file:name>")
@bp.get("/object/info/authenticated/<bucket>/<file:name>")
@shows_file
def info(row: FileRow) -> Response:
    return json_response(info_body(row))


@bp.get("/object/public/<file:name>")
@bp.get("/object/info/public/<file:name>")
@bp.get("/render/image/public/<file:name>")
@public("no bucket is public")
def download_public(name: str) -> Response:
    raise NoSuchFile


def send_bytes(row: FileRow) -> Response:
    """Return the file itself."""
    body = FileBody(file_store().path(row.sha256), row.size, row.mimetype, row.sha256, modified_at(row))
    return send_file(body, row.name, request.args.get("download"))


def send_thumbnail(row: FileRow, width: int) -> Response:
    path = thumbnail(file_store(), row.sha256, width)
    etag = f"{row.sha256}-{width}"
    body = FileBody(path, path.stat().st_size, JPEG, etag, modified_at(row))
    return send_file(body, row.name, request.args.get("download"))


def chosen_width(row: FileRow, transform: Object) -> int:
    """Return the width of the thumbnail for the options of an image, which `payload.read_transform` checked."""
    width, height = cast("tuple[int | None, int | None]", (transform["width"], transform["height"]))
    if width is None and height is None:
        return WIDTHS[-1]
    return choose_width(width, height, (row.width or 1, row.height or 1))


# Changes


@bp.post("/object/move")
@requires_writer
def move(caller: Caller) -> Response:
    options = payload.read_options(payload.RENAMING)
    source, target = renamed(options)
    with writing() as transaction:
        row = records.move(transaction, load_caller(transaction), source, target)
        return json_response({"message": "Successfully moved", "Id": row.id, "Key": target.path})


@bp.post("/object/copy")
@requires_writer
def copy(caller: Caller) -> Response:
    options = payload.read_options(payload.RENAMING)
    source, target = renamed(options)
    with writing() as transaction:
        row = records.copy(
            transaction,
            load_caller(transaction),
            source,
            target,
            upsert=is_upsert(),
            with_metadata=bool(options["copyMetadata"]),
            total_max=file_limits().total_bytes,
        )
        return json_response({**object_body(row), "Id": row.id, "Key": target.path})


def renamed(options: Object) -> tuple[FileKey, FileKey]:
    bucket, source, target = (str(options[name]) for name in ("bucketId", "sourceKey", "destinationKey"))
    return parse_key(bucket, source), parse_key(str(options["destinationBucket"] or bucket), target)


@bp.delete("/object/<bucket>")
@requires_writer
def remove_all(caller: Caller, bucket: str) -> Response:
    require_bucket(bucket)
    names = cast("list[str]", payload.read_options(payload.REMOVAL)["prefixes"])
    with writing() as transaction:
        rows = records.remove_all(transaction, load_caller(transaction), bucket, names)
        return json_response([object_body(row) for row in rows])


@bp.delete("/object/<bucket>/<file:name>")
@requires_writer
def remove(caller: Caller, bucket: str, name: str) -> Response:
    key = parse_key(bucket, name)
    with writing() as transaction:
        records.remove(transaction, load_caller(transaction), key)
        return json_response({"message": "Successfully deleted"})


@bp.delete("/cdn/<file:name>")
@requires_caller
def purge_cache(caller: Caller, name: str) -> Response:
    return json_response({"message": "success"})
