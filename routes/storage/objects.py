"""Files under /storage/v1/object: store, read, list, move, copy and remove them.

`links.py` has the files with a link. The bytes are sent whole, in part, or not at all if the client's copy is current.
Slow clients of large downloads keep threads, so each link maker and each address takes a share of slots only.
"""

from __future__ import annotations

import datetime
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import IO, Final, NamedTuple, cast
from urllib.parse import quote

from flask import Blueprint, Response, request

from access import session
from access.caller import Caller
from access.decorators import load_caller, public, requires, requires_caller, requires_writer, set_requirement
from engine.open import database, reading, writing
from engine.query.statement import Action
from inspections.faults import BytesMissing, NoSuchFile
from inspections.files import records
from inspections.files.records import FileKey, FileRow, parse_key, parse_keys, require_bucket
from inspections.files.thumbnails import WIDTHS, choose_width, thumbnail
from inspections.files.uploads import discard
from models import File
from models.types import Fault
from models.vocabulary import JPEG
from routes.http.body import Object, json_response
from routes.http.flask_app import ApiResponse
from routes.http.middleware import client_address
from routes.storage import bodies
from routes.storage.bodies import (
    Unsatisfiable,
    apply_conditions,
    file_limits,
    file_store,
    info_body,
    modified_at,
    object_body,
)
from routes.storage.uploads import store_upload

LARGE_MAX: Final = 16  # of a process' 32 threads: slow clients keep the others free
ADDRESS_MAX: Final = 8
MAKER_MAX: Final = 4
WAITING_MAX: Final = 8  # threads that wait for a slot; the next request is refused at once
WAIT_SECONDS_MAX: Final = 1.0


class Slots:
    """The slots of a process. A download holds one slot of all, one of its address and one of its maker.

    The maker is the caller of the request, or who made its link.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.taken: Counter[tuple[str, str]] = Counter()
        self.waiting = 0

    def acquire(self, maker: str, address: str) -> bool:
        """Take the slots of a download. Return False if they are not free, or become free too late."""
        shares = shares_of(maker, address)
        with self.changed:
            if not self.are_free(shares):
                if self.waiting >= WAITING_MAX:
                    return False
                self.waiting += 1
                try:
                    if not self.changed.wait_for(lambda: self.are_free(shares), WAIT_SECONDS_MAX):
                        return False
                finally:
                    self.waiting -= 1
            self.taken.update(shares.keys())
            return True

    def are_free(self, shares: dict[tuple[str, str], int]) -> bool:
        return all(self.taken[share] < count_max for share, count_max in shares.items())

    def release(self, maker: str, address: str) -> None:
        with self.changed:
            for share in shares_of(maker, address):
                self.taken[share] -= 1
                if not self.taken[share]:
                    del self.taken[share]
            self.changed.notify_all()


def shares_of(maker: str, address: str) -> dict[tuple[str, str], int]:
    """Return the shares that a download takes of, each with its number of slots."""
    return {("all", ""): LARGE_MAX, ("address", address): ADDRESS_MAX, ("maker", maker): MAKER_MAX}


SERVICE: Final = "service key"
PIECE_BYTES: Final = 65_536
LARGE_BYTES: Final = 1 << 20  # what is smaller, the socket's buffer takes at once

NOT_PLAIN: Final = re.compile(r'[^ -~]|["\\%]')
"""What stands not for itself in a quoted string of every client."""

LARGE_SLOTS = Slots()

HEADERS: Final = {
    # A copy has to be validated at each use: the caller may have lost the row.
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    # A page of another origin shows an image by its signed link.
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class RangeNotSatisfiable(Fault, status=416):
    """A range that lies outside of the file."""

    def __init__(self, size: int) -> None:
        super().__init__("The requested range is not satisfiable")
        self.size = size


class TooManyLargeFiles(Fault, status=503):
    """All slots for large files are taken, or all that the request has a share in. A retry is right."""

    def __init__(self) -> None:
        super().__init__("The server is sending too many large files")


class FileBody(NamedTuple):
    """What is sent: a file or bytes, their type, a text that changes with them, and when they changed."""

    content: Path | bytes
    size: int
    mimetype: str
    etag: str
    modified: datetime.datetime


def send_file(body: FileBody, name: str, download: str | None) -> Response:
    """Return the response for GET and HEAD. `download` makes it an attachment, of that name unless it is empty.

    Raise RangeNotSatisfiable or TooManyLargeFiles.
    """
    headers = HEADERS | {"Content-Type": body.mimetype, "Content-Disposition": disposition(name, download)}
    response = ApiResponse(headers=headers, direct_passthrough=True)
    response.content_length = body.size
    response.last_modified = body.modified
    response.set_etag(body.etag)
    try:
        part = apply_conditions(response, request, body.size)
    except Unsatisfiable as error:
        raise RangeNotSatisfiable(body.size) from error
    if part is not None:
        response.response = FilePieces(body.content, *part)
    return response


def disposition(name: str, download: str | None) -> str:
    """Return a Content-Disposition (RFC 6266), with a name in ASCII for clients that read no other.

    >>> print(disposition("417/Tür 2.jpg", None))
    inline; filename="T-r 2.jpg"; filename*=UTF-8''T%C3%BCr%202.jpg
    """
    kind = "inline" if download is None else "attachment"
    shown = download or name.rpartition("/")[2]
    plain = NOT_PLAIN.sub("-", shown)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"


class FilePieces:
    """A part of a file, read while it is sent. A large one holds a slot until it is sent or the client is gone."""

    def __init__(self, content: Path | bytes, begin: int, end: int) -> None:
        self.is_large = end - begin > LARGE_BYTES
        self.takers = (session.state().caller.id or SERVICE, client_address())
        if self.is_large and not LARGE_SLOTS.acquire(*self.takers):
            raise TooManyLargeFiles
        try:
            self.file: IO[bytes] = BytesIO(content) if isinstance(content, bytes) else content.open("rb")
        except FileNotFoundError as error:
            self.release()
            raise BytesMissing from error
        except BaseException:
            self.release()
            raise
        self.file.seek(begin)
        self.rest = end - begin

    def __iter__(self) -> Iterator[bytes]:
        while self.rest and (piece := self.file.read(min(self.rest, PIECE_BYTES))):
            self.rest -= len(piece)
            yield piece

    def release(self) -> None:
        if self.is_large:
            self.is_large = False
            LARGE_SLOTS.release(*self.takers)

    def close(self) -> None:
        self.file.close()
        self.release()


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
    return send_thumbnail(row, chosen_width(row, bodies.read_transform(request.args)))


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
    content = thumbnail(file_store(), row.id, row.sha256, width)
    body = FileBody(content, len(content), JPEG, f"{row.sha256}-{width}", modified_at(row))
    return send_file(body, row.name, request.args.get("download"))


def chosen_width(row: FileRow, transform: Object) -> int:
    """Return the width of the thumbnail for the options of an image, which `bodies.read_transform` checked."""
    width, height = cast("tuple[int | None, int | None]", (transform["width"], transform["height"]))
    if width is None and height is None:
        return WIDTHS[-1]
    return choose_width(width, height, (row.width or 1, row.height or 1))


# Changes


@bp.post("/object/move")
@requires_writer
def move(caller: Caller) -> Response:
    options = bodies.read_options(bodies.RENAMING)
    source, target = renamed(options)
    with writing() as transaction:
        row = records.move(transaction, load_caller(transaction), source, target)
        return json_response({"message": "Successfully moved", "Id": row.id, "Key": target.path})


@bp.post("/object/copy")
@requires_writer
def copy(caller: Caller) -> Response:
    options = bodies.read_options(bodies.RENAMING)
    source, target = renamed(options)
    with writing() as transaction:
        caller = load_caller(transaction)
        replaced = records.find_all(transaction, caller, target.bucket, [target.name]).get(target.name)
        row = records.copy(
            transaction,
            caller,
            source,
            target,
            upsert=is_upsert(),
            with_metadata=bool(options["copyMetadata"]),
            total_max=file_limits().total_bytes,
        )
    if replaced is not None and replaced.sha256 != row.sha256:
        discard(database(), file_store(), [replaced])
    return json_response({**object_body(row), "Id": row.id, "Key": target.path})


def renamed(options: Object) -> tuple[FileKey, FileKey]:
    bucket, source, target = (str(options[name]) for name in ("bucketId", "sourceKey", "destinationKey"))
    return parse_key(bucket, source), parse_key(str(options["destinationBucket"] or bucket), target)


@bp.delete("/object/<bucket>")
@requires_writer
def remove_all(caller: Caller, bucket: str) -> Response:
    require_bucket(bucket)
    keys = parse_keys(bucket, cast("list[str]", bodies.read_options(bodies.REMOVAL)["prefixes"]))
    names = [key.name for key in keys.values()]
    with writing() as transaction:
        rows = records.remove_all(transaction, load_caller(transaction), bucket, names)
    discard(database(), file_store(), rows)
    return json_response([object_body(row) for row in rows])


@bp.delete("/object/<bucket>/<file:name>")
@requires_writer
def remove(caller: Caller, bucket: str, name: str) -> Response:
    key = parse_key(bucket, name)
    with writing() as transaction:
        row = records.remove(transaction, load_caller(transaction), key)
    discard(database(), file_store(), [row])
    return json_response({"message": "Successfully deleted"})


@bp.delete("/cdn/<file:name>")
@requires_caller
def purge_cache(caller: Caller, name: str) -> Response:
    return json_response({"message": "success"})
