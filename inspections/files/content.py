"""What the bytes of a file say: type, dimensions, and when and where a photograph was taken."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image

from inspections.faults import FileTypeMismatch, UnknownFileType
from models.vocabulary import FILE_TYPES, HEIC, JPEG, PDF, PNG, WEBP

HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
HEAD_BYTES = 32
FORMATS = {JPEG: "JPEG", PNG: "PNG"}
"""The types whose head Pillow reads without the pixels."""
SIDEWAYS = (5, 6, 7, 8)
"""The EXIF orientations that swap width and height."""

SAME_TYPES = {"image/jpg": JPEG, "image/pjpeg": JPEG, "image/heif": HEIC, "image/x-png": PNG}
UNCHOSEN_TYPES = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
"""Types that clients send unless their caller names one. They contradict no content."""

Image.MAX_IMAGE_PIXELS = None  # heads are read of images of any size; thumbnails.py limits the pixels

IMAGE_ERRORS = (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError)
"""What Pillow raises for a damaged image."""


@dataclass(frozen=True, slots=True)
class Content:
    """Type, dimensions as shown, and the local time at which the camera took the photograph."""

    mimetype: str
    width: int | None = None
    height: int | None = None
    taken_at: str | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a photograph was taken, in degrees."""

    latitude: float
    longitude: float


def read_content(path: Path, claimed: str | None) -> Content:
    """Return what a file holds. Raise UnknownFileType, or FileTypeMismatch for another claimed content type."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    mimetype = type_of(head)
    if mimetype is None:
        raise UnknownFileType
    require_match(mimetype, claimed)
    if mimetype == WEBP:
        return Content(mimetype, *(webp_dimensions(head) or (None, None)))
    if mimetype not in FORMATS:
        return Content(mimetype)
    with suppress(*IMAGE_ERRORS), Image.open(path, formats=[FORMATS[mimetype]]) as image:
        return content_of_image(mimetype, image)
    return Content(mimetype)  # a damaged image: its bytes are kept as they are


def type_of(head: bytes) -> str | None:
    """Return the type of a file that begins with these bytes; None for other types.

    >>> type_of(b"%PDF-1.7"), type_of(b"<svg xmlns=")
    ('application/pdf', None)
    """
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[4:8] == b"ftyp" and head[8:12] in HEIC_BRANDS:
        return HEIC
    return PDF if head.startswith(b"%PDF-") else None


def require_match(mimetype: str, claimed: str | None) -> None:
    """Raise FileTypeMismatch if a content type contradicts the type of the bytes."""
    named = (claimed or "").partition(";")[0].strip().lower()
    if named not in UNCHOSEN_TYPES and SAME_TYPES.get(named, named) != mimetype:
        raise FileTypeMismatch(named if named in FILE_TYPES else "of that type", mimetype)


def webp_dimensions(head: bytes) -> tuple[int, int] | None:
    """Return width and height of a WebP image. Pillow would allocate its pixels."""
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(head) >= 30:
        size = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
        width, height = size
        return (width, height) if width and height else None
    return None


def content_of_image(mimetype: str, image: Image.Image) -> Content:
    width, height = image.size
    taken_at = None
    with suppress(*IMAGE_ERRORS):
        exif = exif_of(image)
        if exif.get(ExifTags.Base.Orientation) in SIDEWAYS:
            width, height = height, width
        own = exif.get_ifd(ExifTags.IFD.Exif)
        taken_at = read_camera_time(own.get(ExifTags.Base.DateTimeOriginal) or exif.get(ExifTags.Base.DateTime))
    return Content(mimetype, width, height, taken_at)


def exif_of(image: Image.Image) -> Image.Exif:
    """Return the EXIF data that precede the pixels. Pillow would decode a PNG without them, to search behind."""
    return image.getexif() if image.format != "PNG" or "exif" in image.info else Image.Exif()


def read_camera_time(value: object) -> str | None:
    """Return a time of EXIF in ISO 8601, without a zone: a camera's clock has none.

    >>> read_camera_time("2026:11:28 14:05:09"), read_camera_time("0000:00:00 00:00:00"), read_camera_time(None)
    ('2026-11-28T14:05:09', None, None)
    """
    if not isinstance(value, str):
        return None
    try:
        return datetime.datetime.strptime(value.strip("\0 "), "%Y:%m:%d %H:%M:%S").isoformat()  # noqa: DTZ007
    except ValueError:
        return None


def read_position(path: Path) -> Position | None:
    """Return where a photograph was taken, which EXIF may say. Only who may write the row learns it."""
    with suppress(*IMAGE_ERRORS, ZeroDivisionError), Image.open(path, formats=list(FORMATS.values())) as image:
        gps = exif_of(image).get_ifd(ExifTags.IFD.GPSInfo)
        tags = ExifTags.GPS
        latitude = degrees(gps, tags.GPSLatitude, tags.GPSLatitudeRef, "S")
        longitude = degrees(gps, tags.GPSLongitude, tags.GPSLongitudeRef, "W")
        if abs(latitude) <= 90 and abs(longitude) <= 180:
            return Position(latitude, longitude)
    return None


def degrees(gps: Mapping[int, Any], tag: int, reference: int, negative: str) -> float:
    """Return an angle in degrees; raise KeyError without one."""
    whole, minutes, seconds = (float(part) for part in gps[tag])
    angle = whole + minutes / 60 + seconds / 3_600
    return round(-angle if gps.get(reference) == negative else angle, 6)
