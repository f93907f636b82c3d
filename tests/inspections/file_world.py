"""Files of the rows of `case_rows`: their bytes, and requests of a caller to the functions of inspections/files."""

import io
import pathlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PIL import Image

from access.access_token import Claims
from access.caller import SERVICE_CALLER, Caller
from access.roles import Role
from access.session import look_up_caller
from engine.interface.database import Transaction
from inspections.files.records import FileKey, FileRow, parse_key, put
from inspections.files.store import FileStore
from inspections.files.uploads import FileLimits, keep_upload

LIMITS = FileLimits(20 << 20, 10 << 30)


def image_bytes(kind: str = "JPEG", size: tuple[int, int] = (8, 6), color: object = "red", **options: object) -> bytes:
    """Return an image of one colour, another for each colour."""
    made = io.BytesIO()
    Image.new("RGB", size, color).save(made, kind, **options)
    return made.getvalue()


class Files:
    """The functions of files as one person over one database."""

    def __init__(self, api: Callable, store: FileStore, who: str) -> None:
        self.app = api(who).database.app_for("POST", "/")
        self.person = api(who).person
        self.store = store

    @contextmanager
    def transaction(self, writes: bool = False) -> Iterator[tuple[Transaction, Caller]]:
        database = self.app.extensions["walkthrough"]
        with database.writing() if writes else database.reading() as transaction:
            caller = self.look_up(transaction)
            if writes:
                transaction.set_actor(caller.id)
            yield transaction, caller

    def look_up(self, transaction: Transaction) -> Caller:
        person = self.person
        if not hasattr(person, "role"):
            return SERVICE_CALLER
        now = transaction.unix + 1  # a restore ends the tokens of its own second
        claims = Claims(person.id, Role(person.role), person.client_id, now, None, now + 60, None)
        return look_up_caller(transaction, claims)

    def put(self, path: str, content: bytes | None = None, *, upsert: bool = False, claimed: str | None = None,
            limits: FileLimits = LIMITS, **kept: str | None) -> FileRow:  # fmt: skip
        """Store content, by default that of the path, under `bucket/name`."""
        key = key_of(path)
        temporary = self.temporary(content if content is not None else image_bytes(color=color_of(path)))
        upload = keep_upload(self.store, temporary, claimed, limits, **kept)
        with self.transaction(writes=True) as (transaction, caller):
            return put(transaction, caller, self.store, key, upload, upsert=upsert, total_max=limits.total_bytes)

    def temporary(self, content: bytes) -> pathlib.Path:
        temporary = self.store.new_temporary()
        temporary.write_bytes(content)
        return temporary

    def read(self, function: Callable, *arguments: object, **options: object) -> object:
        with self.transaction() as (transaction, caller):
            return function(transaction, caller, *arguments, **options)

    def write(self, function: Callable, *arguments: object, **options: object) -> object:
        with self.transaction(writes=True) as (transaction, caller):
            return function(transaction, caller, *arguments, **options)


def key_of(path: str) -> FileKey:
    return parse_key(*path.split("/", 1))


def color_of(path: str) -> tuple[int, int, int]:
    number = zlib.crc32(path.encode())
    return number % 256, number // 256 % 256, number // 65_536 % 256
