"""The names and rows of files: put, read, move, copy and remove them under the caller's rule.

All of it runs in the transaction of the request. A name is a bucket, the id of a row, and one to three segments, such
as `inspections/417/front door.jpg`. A caller may write the files of a visible row that `policy.FILE_WRITES` gives them.
They may add files to a visible row that `policy.FILE_ADDITIONS` gives them. The service writes the rows, since the REST
dialect inserts and deletes none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import sqlalchemy as sa

from access.caller import Caller
from access.explain import ROW_ID
from access.policy import FILE_ADDITIONS, FILE_WRITES, WRITES_CLOSED_VISITS, has_right
from engine.interface.database import Transaction
from engine.query.catalog import CheckViolation, catalog
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, parameter
from engine.query.write.statements import RowExpressions
from engine.rows import Select, delete_rows, insert_rows, prepared, read_rows, update_rows
from inspections.faults import (
    BytesMissing,
    FileDenied,
    FileExists,
    InvalidFileName,
    NoRoomForFile,
    NoSuchBucket,
    NoSuchFile,
)
from inspections.files.store import FileStore, KeptBytes
from inspections.retention import locked_visits
from models import Building, BuildingDetail, File, Finding, Inspection
from models.finding_move import UNRESOLVED
from models.inspection import CLOSED_CHECK
from models.locks import HOLD, LOCK
from models.types import INT64, MARKS_MAX, TEXT, composed, has_long_marks
from models.vocabulary import BUCKETS, CLOSED_STATUSES

COLUMNS = MappingProxyType(dict(zip(BUCKETS, ("inspection_id", "finding_id", "building_id"), strict=True)))
"""By bucket: the column that refers to the row of a file. The bucket has the name of the row's table."""

OF_INSPECTION = (Inspection.__tablename__, "building_id")
PARENTS = MappingProxyType(
    {
        Inspection.__tablename__: (OF_INSPECTION,),
        Finding.__tablename__: ((Finding.__tablename__, "inspection_id"), OF_INSPECTION),
        Building.__tablename__: (),
    }
)
"""By bucket: the tables and columns that lead from the row of a file to its building."""

SEGMENTS_MAX = 3
SEGMENT_BYTES_MAX = 255
NAME_BYTES_MAX = 1_024
PUNCTUATION = frozenset(" !-_.*'()&$=@;:+,")
QUOTED_MAX = 100


@dataclass(frozen=True, slots=True)
class FileKey:
    """A checked name within a bucket. `name` begins with the id of the row."""

    bucket: str
    row_id: int
    name: str

    @property
    def column(self) -> str:
        """The column of `files` that refers to the row."""
        return COLUMNS[self.bucket]

    @property
    def path(self) -> str:
        """The bucket and the name, as clients know the file."""
        return f"{self.bucket}/{self.name}"


def require_bucket(bucket: str) -> str:
    """Return the bucket; raise NoSuchBucket."""
    if bucket not in BUCKETS:
        raise NoSuchBucket
    return bucket


def parse_key(bucket: str, name: str) -> FileKey:
    """Return the key of a decoded name. Raise NoSuchBucket or InvalidFileName.

    >>> parse_key("inspections", "/417/front door.jpg/")
    FileKey(bucket='inspections', row_id=417, name='417/front door.jpg')
    """
    require_bucket(bucket)
    normal = normalize(name)
    row, *segments = normal.split("/")
    row_id = read_row_id(row)
    if row_id is None:
        raise invalid(name, "a name begins with the id of its row")
    if not 1 <= len(segments) <= SEGMENTS_MAX:
        raise invalid(name, f"the id of the row precedes one to {SEGMENTS_MAX} segments")
    for segment in segments:
        require_segment(segment, name)
    if len(normal.encode()) > NAME_BYTES_MAX:
        raise invalid(name, f"a name has at most {NAME_BYTES_MAX} bytes")
    return FileKey(bucket, row_id, normal)


def parse_keys(bucket: str, names: Iterable[str]) -> dict[str, FileKey]:
    """Return the keys of names. A name that no file can have is absent."""
    keys = {}
    for name in names:
        with suppress(InvalidFileName):
            keys[name] = parse_key(bucket, name)
    return keys


def normalize(name: str) -> str:
    """Return a name in NFC without slashes at its ends. Raise InvalidFileName for text that no name can be."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise invalid(ascii(name[:QUOTED_MAX]), "a name is Unicode text") from None
    if size > NAME_BYTES_MAX * 3:  # the largest ratio of a text and its NFC
        raise invalid(name, f"a name has at most {NAME_BYTES_MAX} bytes")
    if has_long_marks(name):
        raise invalid(name, f"a character has at most {MARKS_MAX} marks")
    return composed(name).strip("/")


def read_row_id(text: str) -> int | None:
    """Return the id that a segment spells in the one canonical way, else None.

    >>> read_row_id("417"), read_row_id("0417"), read_row_id("4٢")
    (417, None, None)
    """
    is_number = text.isascii() and text.isdigit() and len(text) < 20
    return int(text) if is_number and text == str(int(text)) and 1 <= int(text) <= INT64[1] else None


def require_segment(segment: str, name: str) -> None:
    if not segment:
        raise invalid(name, "no segment is empty")
    if segment.startswith("."):
        raise invalid(name, "no segment begins with a dot")
    if len(segment.encode()) > SEGMENT_BYTES_MAX:
        raise invalid(name, f"a segment has at most {SEGMENT_BYTES_MAX} bytes")
    for each in segment:
        if not is_allowed(each):
            raise invalid(name, f"no segment has the character {each!a}")


def is_allowed(character: str) -> bool:
    """Return whether a character is a letter, a mark or a digit of any script, or one of PUNCTUATION."""
    return character in PUNCTUATION or unicodedata.category(character)[0] in "LMN"


def invalid(name: str, reason: str) -> InvalidFileName:
    quoted = name if len(name) <= QUOTED_MAX else name[:QUOTED_MAX] + "…"
    printable = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in quoted)
    return InvalidFileName(f"Invalid key: {printable}", f"In a name, {reason}.")


TABLE: Final = File.__tablename__
ROW_FILES_MAX: Final = 200
"""The number of files of a row."""

BUCKET = parameter("file_bucket", sa.Text)


@dataclass(frozen=True, slots=True)
class Upload:
    """What a row says of its bytes. `user_metadata` is JSON."""

    sha256: str
    size: int
    mimetype: str
    width: int | None = None
    height: int | None = None
    taken_at: str | None = None
    cache_control: str | None = None
    user_metadata: str | None = None

    def changes(self) -> dict[str, Any]:
        return dict(zip((each.name for each in fields(Upload)), astuple(self), strict=True))


@dataclass(frozen=True, slots=True)
class FileRow:
    """A visible file, and whether the caller may write it. Timestamps are as the API prints them."""

    id: str
    bucket: str
    name: str
    inspection_id: int | None
    finding_id: int | None
    building_id: int | None
    sha256: str
    size: int
    mimetype: str
    width: int | None
    height: int | None
    taken_at: str | None
    caption: str | None
    cache_control: str | None
    user_metadata: str | None
    created_by: str | None
    created_at: str
    updated_at: str
    is_writable: bool

    @property
    def kept(self) -> KeptBytes:
        return KeptBytes(self.sha256, self.size)


COLUMN_NAMES: Final = tuple(each.name for each in fields(FileRow))[:-1]


# Reading


def find(transaction: Transaction, caller: Caller, key: FileKey) -> FileRow:
    """Return a visible file. Raise NoSuchFile."""
    found = find_all(transaction, caller, key.bucket, [key.name]).get(key.name)
    if found is None:
        raise NoSuchFile
    return found


def find_all(transaction: Transaction, caller: Caller, bucket: str, names: Sequence[str]) -> dict[str, FileRow]:
    """Return the visible files of these names by name. Hidden and missing ones are absent."""
    found = files_statement.all(transaction, caller, keys=set(names), file_bucket=bucket)
    return {row.name: row for row in map(file_row, found)}


def file_row(row: Sequence[Any]) -> FileRow:
    """Return a row of `file_columns`."""
    return FileRow(*(*row[:-1], bool(row[-1])))


def require_writable(transaction: Transaction, caller: Caller, key: FileKey) -> None:
    """Raise FileDenied unless the caller may write all files of the row that a key names."""
    require_parent(transaction, caller, key, adds_only=False)


def require_addable(transaction: Transaction, caller: Caller, key: FileKey) -> None:
    """Raise FileDenied unless the caller may add files to the row that a key names."""
    require_parent(transaction, caller, key, adds_only=True)


def require_parent(transaction: Transaction, caller: Caller, key: FileKey, *, adds_only: bool) -> None:
    if not parent_statement.value(transaction, caller, key.bucket, adds_only, row_id=key.row_id):
        raise FileDenied


def require_open(transaction: Transaction, caller: Caller, key: FileKey, *, adds_only: bool) -> None:
    """Raise CheckViolation if the visit of the row is closed to the caller, or has an issued report.

    Proof of an open finding is still added. Triggers refuse the same writes. This comes before the bytes of an upload.
    """
    if key.bucket == Building.__tablename__:
        return
    inspection_id = key.row_id
    is_proof = False
    if key.bucket == Finding.__tablename__:
        columns = ("inspection_id", "status")
        [finding] = read_rows(transaction, UNRESTRICTED, Finding.__tablename__, columns, id=key.row_id)
        if adds_only and finding["status"] in UNRESOLVED:
            return
        inspection_id, is_proof = finding["inspection_id"], adds_only
    if not is_proof and locked_visits(transaction, [inspection_id]):
        raise CheckViolation(LOCK)
    if WRITES_CLOSED_VISITS[caller.role]:
        return
    [visit] = read_rows(transaction, UNRESTRICTED, Inspection.__tablename__, ("status",), id=inspection_id)
    if visit["status"] in CLOSED_STATUSES:
        raise CheckViolation(CLOSED_CHECK)


def require_not_held(transaction: Transaction, key: FileKey) -> None:
    """Raise CheckViolation if the building of the row is held: its files keep their bytes, as a trigger says, too."""
    row_id = key.row_id
    for table, column in PARENTS[key.bucket]:
        [row] = read_rows(transaction, UNRESTRICTED, table, (column,), id=row_id)
        row_id = row[column]
    details = BuildingDetail.__tablename__
    for row in read_rows(transaction, UNRESTRICTED, details, ("hold_reason",), building_id=row_id):
        if row["hold_reason"] is not None:
            raise CheckViolation(HOLD)


# Writing


def check_put(
    transaction: Transaction, caller: Caller, key: FileKey, upload: Upload | None, *, upsert: bool, total_max: int
) -> FileRow | None:
    """Return the file that `put` would replace or leave as it is, or None. Raise what `put` raises.

    Without an upload, its bytes have not arrived yet: a file of this name may still turn out to be the same.
    """
    require_addable(transaction, caller, key)
    existing = find_all(transaction, caller, key.bucket, [key.name]).get(key.name)
    if existing is not None and (upload is None or existing.sha256 == upload.sha256):
        return existing
    require_open(transaction, caller, key, adds_only=existing is None)
    if upload is None:
        return None
    if existing is not None and not upsert:
        raise FileExists
    if existing is not None and not existing.is_writable:
        raise FileDenied
    if existing is not None:
        require_not_held(transaction, key)
    require_room(transaction, key, existing, upload.size, total_max)
    return existing


def put(
    transaction: Transaction,
    caller: Caller,
    store: FileStore,
    key: FileKey,
    upload: Upload,
    *,
    upsert: bool,
    total_max: int,
    source: Path | None = None,
) -> FileRow:
    """Write the row of an upload whose bytes are kept, and return it. `source` is another name of the bytes.

    The same bytes under the same name change nothing. Raise FileDenied, FileExists, NoRoomForFile or BytesMissing.
    """
    existing = check_put(transaction, caller, key, upload, upsert=upsert, total_max=total_max)
    if existing is not None and existing.sha256 == upload.sha256:
        return existing
    # Who removes bytes holds the writer lock, too. Bytes that were removed have no row yet.
    kept = KeptBytes(upload.sha256, upload.size)
    if not store.has(kept):
        if source is None or not source.exists():
            raise BytesMissing
        store.keep(source, kept)
    write(transaction, key, existing, upload.changes())
    return find(transaction, caller, key)


def write(transaction: Transaction, key: FileKey, existing: FileRow | None, values: dict[str, Any]) -> None:
    if existing is None:
        insert_rows(transaction, TABLE, [{"bucket": key.bucket, "name": key.name, key.column: key.row_id, **values}])
    else:
        update_rows(transaction, TABLE, [(existing.id,)], values)


def move(transaction: Transaction, caller: Caller, source: FileKey, target: FileKey) -> FileRow:
    """Give a file another name, and return it. Raise NoSuchFile, FileDenied, FileExists or NoRoomForFile."""
    moved = find(transaction, caller, source)
    if not moved.is_writable:
        raise FileDenied
    require_writable(transaction, caller, target)
    for key in (source, target):
        require_open(transaction, caller, key, adds_only=False)
    if source == target:
        return moved
    if find_all(transaction, caller, target.bucket, [target.name]):
        raise FileExists
    if (source.bucket, source.row_id) != (target.bucket, target.row_id):
        require_place(transaction, target)
    parents = dict.fromkeys(COLUMNS.values()) | {target.column: target.row_id}
    update_rows(transaction, TABLE, [(moved.id,)], {"bucket": target.bucket, "name": target.name, **parents})
    return find(transaction, caller, target)


def copy(
    transaction: Transaction,
    caller: Caller,
    source: FileKey,
    target: FileKey,
    *,
    upsert: bool,
    with_metadata: bool,
    total_max: int,
) -> FileRow:
    """Add a row with the bytes and the caption of another, and return it. Raise NoSuchFile, or as `put`."""
    original = find(transaction, caller, source)
    values = {each.name: getattr(original, each.name) for each in fields(Upload)}
    if not with_metadata:
        values |= {"cache_control": None, "user_metadata": None}
    existing = check_put(transaction, caller, target, Upload(**values), upsert=upsert, total_max=total_max)
    if existing is None or existing.sha256 != original.sha256:
        write(transaction, target, existing, {**values, "caption": original.caption})
    return find(transaction, caller, target)


def remove(transaction: Transaction, caller: Caller, key: FileKey) -> FileRow:
    """Delete the row of a file, and return it. Raise FileDenied or NoSuchFile."""
    require_writable(transaction, caller, key)
    require_open(transaction, caller, key, adds_only=False)
    removed = find(transaction, caller, key)
    delete_rows(transaction, TABLE, [(removed.id,)])
    return removed


def remove_all(transaction: Transaction, caller: Caller, bucket: str, names: Sequence[str]) -> list[FileRow]:
    """Delete the rows of these names of keys that the caller may write, and return them in this order.

    Skip the others.
    """
    found = find_all(transaction, caller, bucket, names)
    removed = [found[name] for name in dict.fromkeys(names) if name in found and found[name].is_writable]
    delete_rows(transaction, TABLE, [(row.id,) for row in removed])
    return removed


# Room


def require_room(transaction: Transaction, key: FileKey, existing: FileRow | None, size: int, total_max: int) -> None:
    """Raise NoRoomForFile for too many files of a row, or too many bytes of all files."""
    if existing is None:
        require_place(transaction, key)
    total: int = transaction.execute(sa.select(sa.func.coalesce(sa.func.sum(File.size), 0))).scalar_one()
    if total + size - (existing.size if existing is not None else 0) > total_max:
        raise NoRoomForFile(f"There is no room: all files together have at most {total_max} bytes.")


def require_place(transaction: Transaction, key: FileKey) -> None:
    count = sa.select(sa.func.count()).select_from(File).where(File.__table__.c[key.column] == key.row_id)
    if transaction.execute(count).scalar_one() >= ROW_FILES_MAX:
        raise NoRoomForFile(f"There is no room: a row has at most {ROW_FILES_MAX} files.")


# Statements


def visible_files(planner: Planner) -> tuple[Any, sa.Select[Any]]:
    """Return the columns of visible files, and the query for the fields of FileRow."""
    row, scope = planner.visible(File)
    is_writable = has_right(FILE_WRITES, planner.rule, row.c)
    columns = [*(row.c[name] for name in COLUMN_NAMES), sa.case((is_writable, 1), else_=0)]
    return row.c, sa.select(*columns).where(scope)


@prepared(Planner)
def files_statement(planner: Planner) -> Select:
    """Return the query for the visible files of a bucket whose names are in `Binding.keys`."""
    columns, files = visible_files(planner)
    is_named = planner.dialect.in_list(columns.name, TEXT, parameter("keys", sa.Text))
    return files.where(columns.bucket == BUCKET, is_named)


@prepared(Planner)
def parent_statement(planner: Planner, bucket: str, adds_only: bool) -> Select:
    """Return the query for whether the caller may write, or only add, files of one visible row."""
    row, scope = planner.scoped(catalog().relations[bucket])
    file = RowExpressions({COLUMNS[bucket]: row.c.id, "client_id": row.c.client_id}, catalog().relations[TABLE].table)
    rights = FILE_ADDITIONS if adds_only else FILE_WRITES
    is_writable = has_right(rights, planner.rule, file)
    return sa.select(sa.case((is_writable, 1), else_=0)).where(row.c.id == ROW_ID, scope)
