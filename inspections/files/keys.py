"""The names of files: bucket, id of a row, and one to three segments, such as `inspections/417/front door.jpg`."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from types import MappingProxyType

from inspections.faults import InvalidFileName, NoSuchBucket
from models.types import INT64
from models.vocabulary import BUCKETS

COLUMNS = MappingProxyType(dict(zip(BUCKETS, ("inspection_id", "finding_id", "building_id"), strict=True)))
"""By bucket: the column that refers to the row of a file. The bucket has the name of the row's table."""

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


def normalize(name: str) -> str:
    """Return a name in NFC without slashes at its ends. Raise InvalidFileName for text that is not Unicode."""
    if len(name) > NAME_BYTES_MAX * 4:
        raise invalid(name, f"a name has at most {NAME_BYTES_MAX} bytes")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise invalid(ascii(name), "a name is Unicode text") from None
    return unicodedata.normalize("NFC", name).strip("/")


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
