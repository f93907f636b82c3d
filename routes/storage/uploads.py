"""Store an upload: a form with the file in one of its parts, or the bytes alone with headers about them.

storage-js sends a Blob, a File and a FormData as a form, and everything else as bytes. storage-py sends forms. The
worker asks here whether the head is enough to refuse an upload, before it takes the body. A refused request reaches its
view without a body, and the view refuses it by the same checks.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import parse_qs

from flask import Flask, request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData
from werkzeug.wsgi import get_input_stream

from access.access_token import Claims, require_in_force
from access.caller import Caller
from access.session import Authenticator
from engine.interface.database import Transaction
from engine.open import database, reading, writing
from inspections.faults import FileTooLarge, InvalidLink, LinkSpent, NoRoomForFile
from inspections.files import links, records
from inspections.files.links import UPLOAD, Link
from inspections.files.records import FileKey, FileRow, Upload
from inspections.files.store import FileStore
from inspections.files.uploads import (
    discard,
    discard_bytes,
    keep_upload,
    reporting_disk,
    require_room_on_disk,
    sweep_if_due,
    sweep_soon,
)
from models.types import Fault
from models.vocabulary import BUCKETS
from routes.http.body import read_object
from routes.http.faults import UnsupportedContentEncoding
from routes.http.middleware import without_prefix
from routes.postgrest.representation import BadRequest
from routes.storage.bodies import file_limits, file_store, limits_of, signer_of
from settings import UPLOAD_FORM_BYTES_MAX

PIECE_BYTES: Final = 65_536
PARTS_MAX: Final = 20
CACHE_CONTROL_CHARACTERS_MAX: Final = 200
NO_CACHE: Final = "no-cache"
DIGITS: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """The bytes of an upload in a temporary file, and what the client says about them."""

    path: Path
    content_type: str | None
    cache_control: str
    user_metadata: str | None


def store_upload(
    key: FileKey, load: Callable[[Transaction], Caller], *, upsert: bool, link: Link | None = None
) -> FileRow:
    """Store the file of the request under a key, and return its row. `load` returns who stores it.

    The rights count before the body is read and again in the transaction that writes. A link is spent there.
    """
    limits, store = file_limits(), file_store()

    def check(upload: Upload | None) -> None:
        with reading() as transaction:
            existing = records.check_put(
                transaction, load(transaction), key, upload, upsert=upsert, total_max=limits.total_bytes
            )
            if upload is not None:
                require_unspent(transaction, link, existing, upload)
        if upload is not None and not is_same(existing, upload):
            require_room_on_disk(database(), store, upload.size, existing, limits.total_bytes)

    check(None)
    with sweeping_for_room(store), received_file(store, limits.file_bytes) as received:
        upload = keep_upload(
            store,
            received.path,
            received.content_type,
            limits,
            cache_control=received.cache_control,
            user_metadata=received.user_metadata,
            check=check,
        )
        with discarding(store, [upload]), writing() as transaction:
            caller = load(transaction)
            existing = records.check_put(transaction, caller, key, upload, upsert=upsert, total_max=limits.total_bytes)
            if link is not None and not is_same(existing, upload):
                links.spend(transaction, link)
            row = records.put(
                transaction, caller, store, key, upload,
                upsert=upsert, total_max=limits.total_bytes, source=received.path,
            )  # fmt: skip
    if existing is not None and not is_same(existing, upload):
        discard(database(), store, [existing])
    sweep_if_due(database(), store)
    return row


@contextmanager
def sweeping_for_room(store: FileStore) -> Iterator[None]:
    """Report a full disk as NoRoomForFile, and sweep soon after it."""
    try:
        with reporting_disk(store):
            yield
    except NoRoomForFile:
        sweep_soon(database(), store)
        raise


@contextmanager
def discarding(store: FileStore, uploads: Sequence[Upload]) -> Iterator[None]:
    """Remove the bytes of uploads whose rows are not committed."""
    try:
        yield
    except BaseException:
        discard_bytes(database(), store, uploads)
        raise


def is_same(existing: FileRow | None, upload: Upload) -> bool:
    return existing is not None and existing.sha256 == upload.sha256


def require_unspent(transaction: Transaction, link: Link | None, existing: FileRow | None, upload: Upload) -> None:
    """Raise LinkSpent for a second use of a signed upload, unless it repeats the first."""
    if link is not None and not is_same(existing, upload) and links.is_spent(transaction, link):
        raise LinkSpent


def body_bytes_max(file_bytes_max: int) -> int:
    """Return the limit of a body with a file of the largest size."""
    return file_bytes_max + UPLOAD_FORM_BYTES_MAX


@contextmanager
def received_file(store: FileStore, bytes_max: int) -> Iterator[ReceivedFile]:
    """Return the file of the request. The temporary file is removed at the end unless it was moved.

    Raise FileTooLarge, BadRequest or UnsupportedContentEncoding.
    """
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise UnsupportedContentEncoding(encoding)
    if (request.content_length or 0) > body_bytes_max(bytes_max):
        raise FileTooLarge(bytes_max)
    path = store.new_temporary()
    try:
        with path.open("wb") as file:
            received = read_upload(Destination(path, file, bytes_max))
        yield received
    finally:
        path.unlink(missing_ok=True)


class Destination:
    """A temporary file that takes the bytes of one upload."""

    def __init__(self, path: Path, file: IO[bytes], bytes_max: int) -> None:
        self.path, self.file, self.bytes_max = path, file, bytes_max
        self.size = 0

    def write(self, data: bytes) -> None:
        """Append bytes; raise FileTooLarge beyond the limit."""
        self.size += len(data)
        if self.size > self.bytes_max:
            raise FileTooLarge(self.bytes_max)
        self.file.write(data)


def read_upload(destination: Destination) -> ReceivedFile:
    kind, options = parse_options_header(request.headers.get("Content-Type"))
    if kind == "multipart/form-data":
        return read_form(destination, options.get("boundary", ""))
    for piece in pieces():
        destination.write(piece)
    return ReceivedFile(
        destination.path,
        request.headers.get("Content-Type"),
        read_cache_control(request.headers.get("Cache-Control")),
        read_metadata(decode_header(request.headers.get("X-Metadata"))),
    )


def pieces() -> Iterator[bytes]:
    """Yield the body of the request; raise BadRequest if it ends early."""
    stream = get_input_stream(request.environ)
    try:
        while piece := stream.read(PIECE_BYTES):
            yield piece
    except ClientDisconnected as error:
        raise BadRequest("The request body ended before its Content-Length") from error


def read_form(destination: Destination, boundary: str) -> ReceivedFile:
    """Read a form: the file is its first part with a file name. Fields may stand before and behind it."""
    if not boundary:
        raise BadRequest("The form has no boundary")
    form = UploadForm(destination)
    try:
        for event in form_events(MultipartDecoder(boundary.encode(), 2 * PIECE_BYTES, max_parts=PARTS_MAX)):
            form.add(event)
    except RequestEntityTooLarge as error:
        raise BadRequest(
            f"The form has more than {PARTS_MAX} parts, or its fields more than {UPLOAD_FORM_BYTES_MAX} bytes"
        ) from error
    except ValueError as error:
        raise BadRequest("The form could not be read") from error
    if not form.has_file:
        raise BadRequest("The form has no file")
    fields = form.texts()
    seconds = fields.get("cacheControl", "")
    return ReceivedFile(
        destination.path,
        fields.get("contentType") or form.content_type,
        read_cache_control(f"max-age={seconds}" if DIGITS.fullmatch(seconds) else seconds),
        read_metadata(fields.get("metadata", "").encode()),
    )


def form_events(decoder: MultipartDecoder) -> Iterator[Event]:
    """Yield the events of the request's form. Raise ValueError for a malformed one."""
    for piece in chain(pieces(), (None,)):
        decoder.receive_data(piece)
        while not isinstance(event := decoder.next_event(), NeedData | Epilogue):
            yield event


class UploadForm:
    """The parts of a form while they arrive."""

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self.content_type: str | None = None
        self.has_file = False
        self.fields: dict[str, bytearray] = {}
        self.part: Callable[[bytes], object] = ignore

    def add(self, event: Event) -> None:
        if isinstance(event, File):
            self.part = ignore if self.has_file else self.destination.write
            self.content_type = self.content_type if self.has_file else event.headers.get("Content-Type")
            self.has_file = True
        elif isinstance(event, Field):
            self.part = self.fields.setdefault(event.name or "", bytearray()).extend
        elif isinstance(event, Data):
            self.part(event.data)
            if sum(map(len, self.fields.values())) > UPLOAD_FORM_BYTES_MAX:
                raise RequestEntityTooLarge

    def texts(self) -> dict[str, str]:
        return {name: value.decode() for name, value in self.fields.items()}


def ignore(data: bytes) -> None:
    """Drop the data of a part behind the file's."""


def decode_header(text: str | None) -> bytes:
    """Return the JSON of an X-Metadata header; raise BadRequest unless it is base64."""
    try:
        return base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest("x-metadata is not base64") from error


def read_metadata(text: bytes) -> str | None:
    """Return the metadata of a user, a JSON object; raise BadJson or InvalidPayload."""
    return json.dumps(read_object(text), ensure_ascii=False) if text else None


def read_cache_control(text: str | None) -> str:
    """Return how long the client wants the file cached. The value is kept and has no effect.

    >>> read_cache_control("max-age=3600"), read_cache_control(None)
    ('max-age=3600', 'no-cache')
    """
    if not text:
        return NO_CACHE
    if len(text) > CACHE_CONTROL_CHARACTERS_MAX or not text.isprintable():
        raise BadRequest(f"cacheControl has at most {CACHE_CONTROL_CHARACTERS_MAX} printable characters")
    return text


UPLOAD_PATH: Final = re.compile(rf"/storage/v1/object/(upload/sign/)?(?:{'|'.join(BUCKETS)})/.*")


class UploadHeads:
    """The rules of an application's uploads, for `serving.worker.connection.UploadRules`."""

    def __init__(self, app: Flask, other_bytes_max: Callable[[Any], int | None]) -> None:
        """`other_bytes_max` returns the limit of a request that is no upload of /storage/v1."""
        self.other_bytes_max = other_bytes_max
        self.store: FileStore = app.extensions["walkthrough.files"]
        self.authenticator: Authenticator = app.extensions["walkthrough.authenticator"]
        self.clock: Callable[[], float] = app.extensions.get("walkthrough.clock", time.time)
        self.signer = signer_of(app.config)
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
