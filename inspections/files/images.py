"""The head of an image, its EXIF data, and what a decoder is given of it.

A head says the type, the dimensions, and where the picture begins. EXIF data say the orientation, and when and where a
photograph was taken. Segments are skipped without their content. An image with more than SEGMENTS_MAX has no dimensions
and no thumbnail. Three EXIF directories are read, each once, up to a number of entries, and only the wanted tags. So
offsets that form a loop, and counts of billions, cost nothing. A decoder reads a stream of the picture and the tables
that it needs, and no other segment. The cost of a decoding is its memory and the visits of pixels.
"""

from __future__ import annotations

import datetime
import re
import struct
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import BinaryIO, Final

from PIL.ExifTags import GPS, IFD, Base

from inspections.faults import NoThumbnail
from models.vocabulary import HEIC, JPEG, PDF, PNG, WEBP

ENTRIES_MAX: Final = 1_000
"""The entries of a directory that are read."""
TEXT_BYTES_MAX: Final = 64
BYTE_ORDERS: Final = {b"II*\0": "<", b"MM\0*": ">"}
ASCII, SHORT, LONG, RATIONAL = 2, 3, 4, 5

Value = str | int | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a photograph was taken, in degrees."""

    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Exif:
    """The orientation (1 to 8, or another number), the camera's local time, and the position."""

    orientation: int | None = None
    taken_at: str | None = None
    position: Position | None = None


NOTHING: Final = Exif()


def read_exif(block: bytes) -> Exif:
    """Return what a block of EXIF data says. A damaged block says nothing, or less."""
    block = block.removeprefix(b"Exif\0\0")
    order = BYTE_ORDERS.get(block[:4])
    if order is None or len(block) < 8:
        return NOTHING
    main = read_directory(
        block, order, integer(block, order, 4), (Base.Orientation, Base.DateTime, IFD.Exif, IFD.GPSInfo)
    )
    own = linked_directory(block, order, main.get(IFD.Exif), (Base.DateTimeOriginal,))
    gps = linked_directory(block, order, main.get(IFD.GPSInfo), tuple(GPS_TAGS))
    orientation = main.get(Base.Orientation)
    return Exif(
        orientation if isinstance(orientation, int) else None,
        read_camera_time(own.get(Base.DateTimeOriginal) or main.get(Base.DateTime)),
        read_position(gps),
    )


# Directories


def linked_directory(block: bytes, order: str, offset: Value | None, wanted: Collection[int]) -> dict[int, Value]:
    return read_directory(block, order, offset, wanted) if isinstance(offset, int) else {}


def read_directory(block: bytes, order: str, offset: int, wanted: Collection[int]) -> dict[int, Value]:
    """Return the wanted tags of the directory at an offset; the first one counts of several."""
    found: dict[int, Value] = {}
    if not 8 <= offset <= len(block) - 2:
        return found
    (count,) = struct.unpack_from(f"{order}H", block, offset)
    begin = offset + 2
    entries = block[begin : begin + 12 * min(count, ENTRIES_MAX)]
    for tag, kind, number, value in struct.iter_unpack(f"{order}HHI4s", entries[: len(entries) // 12 * 12]):
        if tag in wanted and tag not in found:
            read = read_value(block, order, kind, number, value)
            if read is not None:
                found[tag] = read
    return found


def read_value(block: bytes, order: str, kind: int, number: int, value: bytes) -> Value | None:
    """Return the value of an entry: a text, a number or up to three fractions; None for others."""
    if kind == ASCII and number <= TEXT_BYTES_MAX:
        begin = integer(value, order)
        text = value[:number] if number <= 4 else block[begin : begin + number]
        return text.decode("ascii", "replace")
    if number == 1 and kind == SHORT:
        return integer(value[:2], order, width="H")
    if number == 1 and kind == LONG:
        return integer(value, order)
    if kind == RATIONAL and 1 <= number <= 3:
        begin = integer(value, order)
        parts = block[begin : begin + 8 * number]
        if len(parts) == 8 * number:
            fractions = struct.iter_unpack(f"{order}II", parts)
            return tuple(above / below if below else float("nan") for above, below in fractions)
    return None


def integer(data: bytes, order: str, at: int = 0, *, width: str = "I") -> int:
    (number,) = struct.unpack_from(f"{order}{width}", data, at)
    return int(number)


# Values


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


GPS_TAGS: Final = (GPS.GPSLatitude, GPS.GPSLatitudeRef, GPS.GPSLongitude, GPS.GPSLongitudeRef)


def read_position(gps: Mapping[int, Value]) -> Position | None:
    latitude = degrees(gps, GPS.GPSLatitude, GPS.GPSLatitudeRef, "S")
    longitude = degrees(gps, GPS.GPSLongitude, GPS.GPSLongitudeRef, "W")
    if latitude is None or longitude is None or not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return None
    return Position(latitude, longitude)


def degrees(gps: Mapping[int, Value], tag: int, reference: int, negative: str) -> float | None:
    """Return an angle in degrees; None without one."""
    parts = gps.get(tag)
    if not isinstance(parts, tuple) or len(parts) != 3:
        return None
    whole, minutes, seconds = parts
    angle = whole + minutes / 60 + seconds / 3_600
    direction = gps.get(reference)
    return round(-angle if isinstance(direction, str) and direction.strip("\0 ") == negative else angle, 6)


SEGMENTS_MAX: Final = 1_000
"""The segments of a JPEG, or chunks of a PNG or WebP image, before the picture."""
EXIF_BYTES_MAX: Final = 65_536
START_BYTES: Final = 1_024
"""The bytes that decide about the type. The mark of a PDF may stand behind a line break or a printer's commands."""
SIDEWAYS: Final = (5, 6, 7, 8)
"""The EXIF orientations that swap width and height."""

HEIC_BRANDS: Final = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
PNG_MARK: Final = b"\x89PNG\r\n\x1a\n"
PDF_MARK: Final = b"%PDF-"

SCAN, END, APP1 = 0xDA, 0xD9, 0xE1
LONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""The JPEG markers without a segment."""
FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The JPEG markers of a frame header."""
DECODING: Final = frozenset({0xC4, 0xCC, 0xDB, 0xDD, 0xE0, 0xEE})
"""The JPEG markers of tables, and of the segments that name the colours. A frame header belongs to them."""


@dataclass(frozen=True, slots=True)
class ImageHead:
    """What a head says. `width` and `height` are those of the stored picture, which EXIF may turn.

    `frame` is the frame header of a JPEG with its marker, or the header of a PNG. `parts` are the offsets and lengths
    of what a decoder needs of the head, and `picture` is the offset of the pixels.
    """

    mimetype: str
    width: int
    height: int
    exif: Exif = NOTHING
    frame: bytes = b""
    parts: tuple[tuple[int, int], ...] = ()
    picture: int = 0

    @property
    def shown_size(self) -> tuple[int, int]:
        """Width and height of the image as it is seen."""
        is_sideways = self.exif.orientation in SIDEWAYS
        return (self.height, self.width) if is_sideways else (self.width, self.height)


def type_of(start: bytes) -> str | None:
    """Return the type of a file that begins with these bytes; None for other types.

    >>> type_of(b"\\n%PDF-1.7"), type_of(b"<svg xmlns=")
    ('application/pdf', None)
    """
    if start.startswith(b"\xff\xd8\xff"):
        return JPEG
    if start.startswith(PNG_MARK):
        return PNG
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return WEBP
    if start[4:8] == b"ftyp" and start[8:12] in HEIC_BRANDS:
        return HEIC
    return PDF if PDF_MARK in start[:START_BYTES] else None  # as readers of PDF look for it


def read_head(file: BinaryIO) -> ImageHead | None:
    """Return the head of an image; None for another file, a damaged head, or one beyond the bounds."""
    file.seek(0)
    reader = HEAD_READERS.get(type_of(file.read(START_BYTES)) or "")
    head = reader(file) if reader is not None else None
    return head if head is not None and head.width and head.height else None


def read_at(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)


def read_jpeg(file: BinaryIO) -> ImageHead | None:
    exif, frame, at = NOTHING, b"", 2
    parts: list[tuple[int, int]] = []
    for _ in range(SEGMENTS_MAX):
        start = read_at(file, at, 4)
        if len(start) < 4 or start[0] != 0xFF or start[1] == END:
            return None
        marker, length = start[1], int.from_bytes(start[2:], "big")
        if marker == SCAN:
            height, width = int.from_bytes(frame[5:7], "big"), int.from_bytes(frame[7:9], "big")
            return ImageHead(JPEG, width, height, exif, frame, tuple(parts), at)
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker in LONE:
            at += 2
            continue
        if marker in FRAMES:
            frame = read_at(file, at, 2 + length)
        elif marker == APP1 and exif is NOTHING and (block := file.read(length - 2)).startswith(b"Exif\0\0"):
            exif = read_exif(block)
        if marker in FRAMES or marker in DECODING:
            parts.append((at, 2 + length))
        at += 2 + max(length, 2)
    return None


def read_png(file: BinaryIO) -> ImageHead | None:
    exif, header, at = NOTHING, b"", len(PNG_MARK)
    parts: list[tuple[int, int]] = []
    for _ in range(SEGMENTS_MAX):
        start = read_at(file, at, 8)
        length, kind = int.from_bytes(start[:4], "big"), start[4:]
        if len(start) < 8 or (not header and kind != b"IHDR"):
            return None
        if kind == b"IDAT":
            width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
            return ImageHead(PNG, width, height, exif, header, tuple(parts), at)
        if kind == b"IHDR":
            header = file.read(13)
        elif kind == b"eXIf" and exif is NOTHING and length <= EXIF_BYTES_MAX:
            exif = read_exif(file.read(length))
        if kind in (b"IHDR", b"PLTE", b"tRNS"):
            parts.append((at, 12 + length))
        at += 12 + length
    return None


def read_webp(file: BinaryIO) -> ImageHead | None:
    """EXIF data follow the picture, so all chunks are visited."""
    size, exif, at = webp_dimensions(read_at(file, 0, 32)), NOTHING, 12
    if size is None:
        return None
    for _ in range(SEGMENTS_MAX):
        start = read_at(file, at, 8)
        if len(start) < 8:
            return ImageHead(WEBP, *size, exif)
        length = int.from_bytes(start[4:], "little")
        if start[:4] == b"EXIF" and exif is NOTHING and length <= EXIF_BYTES_MAX:
            exif = read_exif(file.read(length))
        at += 8 + length + length % 2
    return None


def webp_dimensions(head: bytes) -> tuple[int, int] | None:
    """Return width and height of a WebP image from its first chunk."""
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(head) >= 30:
        width, height = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
        return width, height
    return None


HEAD_READERS: Final = {JPEG: read_jpeg, PNG: read_png, WEBP: read_webp}


MEMORY_BYTES_MAX: Final = 112 << 20
"""The memory that one thumbnail may take: the stream, the pixels and their copies. A worker stays below 200 MiB."""
VISITS_MAX: Final = 128_000_000
"""Pixels × scans. A progressive JPEG has about ten scans, and each one costs time for all pixels."""
CHUNKS_MAX: Final = 20_000
"""The chunks of a PNG picture. Writers use chunks of 8 KiB and more."""

PIXEL_BYTES: Final = 4  # Pillow keeps three and four channels in four bytes
WEBP_PIXEL_BYTES: Final = 22  # libwebp has two canvases and its own pixels, Pillow two copies
REDUCING_GAP: Final = 2.0
"""Pixels are averaged to so many times the size of the thumbnail before they are resampled."""
SCALES: Final = (8, 4, 2, 1)
"""The fractions of a JPEG's size at which it can be decoded."""
MARKER: Final = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)
WINDOW_BYTES: Final = 1 << 20
SUPPORTED_FRAMES: Final = {0xC0: False, 0xC1: False, 0xC2: True}
"""Whether the frames of these markers are progressive."""
INTERLEAVED_CHANNELS: Final = {1: 1, 3: PIXEL_BYTES, 4: PIXEL_BYTES}
"""The bytes of a decoded pixel by the number of a JPEG's components."""


@dataclass(frozen=True, slots=True)
class Decodable:
    """A stream for a decoder, and the memory that decoding takes. A JPEG is decoded at 1/`scale` of its size."""

    stream: bytes
    memory: int
    scale: int = 1


def decodable(data: bytes, head: ImageHead, target: tuple[int, int]) -> Decodable:
    """Return what to decode of an image that is to be shrunk to `target`, as it is stored. Raise NoThumbnail."""
    found = READERS[head.mimetype](data, head, target)
    if found.memory > MEMORY_BYTES_MAX:
        raise NoThumbnail
    return found


def parts_of(data: bytes, head: ImageHead) -> Sequence[memoryview]:
    view = memoryview(data)
    return [view[at : at + length] for at, length in head.parts]


def pixel_bytes(size: tuple[int, int], target: tuple[int, int], each: int) -> int:
    """Return the memory for decoded pixels of so many bytes, and for their copies on the way to a thumbnail."""
    gaps = [max(1, int(length / to / REDUCING_GAP)) for length, to in zip(size, target, strict=True)]
    width, height = (ceil(length / gap) for length, gap in zip(size, gaps, strict=True))
    averaged = width * height if max(gaps) > 1 else 0
    shrunk = averaged + target[0] * height + 2 * target[0] * target[1]
    return size[0] * size[1] * each + shrunk * PIXEL_BYTES


# JPEG


def jpeg(data: bytes, head: ImageHead, target: tuple[int, int]) -> Decodable:
    marker, components = head.frame[1], head.frame[9] if len(head.frame) > 9 else 0
    channels = INTERLEAVED_CHANNELS.get(components)
    if marker not in SUPPORTED_FRAMES or channels is None or len(head.frame) < 10 + 3 * components:
        raise NoThumbnail
    scans, end = measure_scans(data, head.picture)
    if head.width * head.height * scans > VISITS_MAX:
        raise NoThumbnail
    stream = b"".join((b"\xff\xd8", *parts_of(data, head), memoryview(data)[head.picture : end]))
    scanned = int.from_bytes(data[head.picture + 4 : head.picture + 5], "big")
    is_whole_at_once = not SUPPORTED_FRAMES[marker] and scans == 1 and scanned == components
    fixed = len(stream) + (0 if is_whole_at_once else coefficient_bytes(head, components))
    sizes = {
        scale: pixel_bytes((ceil(head.width / scale), ceil(head.height / scale)), target, channels) for scale in SCALES
    }
    fitting = [scale for scale in SCALES if fixed + sizes[scale] <= MEMORY_BYTES_MAX] or [SCALES[0]]
    sharp = [scale for scale in fitting if scale == 1 or head.width // scale >= 2 * target[0]]
    scale = sharp[0] if sharp else fitting[-1]
    return Decodable(stream, fixed + sizes[scale], scale)


def measure_scans(data: bytes, start: int) -> tuple[int, int]:
    """Return the number of scans of a JPEG picture, and where it ends. Raise NoThumbnail beyond the bounds.

    A picture that is cut off ends with the data.
    """
    at, scans = start, 0
    for _ in range(SEGMENTS_MAX):
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == END:
            return scans, at + 2
        scans += marker == SCAN
        at = next_marker(data, at + 2 + length)
        if at < 0:
            return scans, len(data)
    raise NoThumbnail


def next_marker(data: bytes, at: int) -> int:
    """Return the offset of the next marker that is no restart; -1 without one."""
    while at < len(data) - 1:
        found = MARKER.search(data, at, at + WINDOW_BYTES)  # in windows, between which other threads run
        if found is not None:
            return found.start()
        at += WINDOW_BYTES - 1
    return -1


def coefficient_bytes(head: ImageHead, components: int) -> int:
    """Return the memory for the coefficients of all components, which libjpeg keeps until the last scan."""
    factors = [(head.frame[11 + 3 * each] >> 4 or 1, head.frame[11 + 3 * each] & 15 or 1) for each in range(components)]
    across, down = (8 * max(column) for column in zip(*factors, strict=True))
    units = ceil(head.width / across) * ceil(head.height / down)
    blocks: int = units * sum(horizontal * vertical for horizontal, vertical in factors)
    return blocks * 64 * 2


# PNG


def png(data: bytes, head: ImageHead, target: tuple[int, int]) -> Decodable:
    depth, colour = head.frame[8], head.frame[9]
    has_alpha = colour in (4, 6) or any(data[at + 4 : at + 8] == b"tRNS" for at, _ in head.parts)
    stored = 2 if colour == 0 and depth == 16 else 1 if colour in (0, 3) else PIXEL_BYTES
    converted = PIXEL_BYTES if stored != PIXEL_BYTES else 0  # to channels of their own
    blended = PIXEL_BYTES if has_alpha else 0
    picture = b"".join(picture_chunks(data, head.picture))
    chunk = b"IDAT" + picture
    del picture
    stream = b"".join((
        PNG_MARK, *parts_of(data, head), (len(chunk) - 4).to_bytes(4, "big"), chunk,
        zlib.crc32(chunk).to_bytes(4, "big"), PNG_END,
    ))  # fmt: skip
    each = stored + converted + blended
    return Decodable(stream, len(stream) + pixel_bytes((head.width, head.height), target, each))


PNG_END: Final = b"\0\0\0\0IEND" + zlib.crc32(b"IEND").to_bytes(4, "big")


def picture_chunks(data: bytes, at: int) -> list[memoryview]:
    """Return the content of the consecutive IDAT chunks. Raise NoThumbnail for too many."""
    view, found = memoryview(data), []
    while data[at + 4 : at + 8] == b"IDAT":
        length = int.from_bytes(data[at : at + 4], "big")
        found.append(view[at + 8 : at + 8 + length])
        at += 12 + length
        if len(found) > CHUNKS_MAX:
            raise NoThumbnail
    return found


# WebP


def webp(data: bytes, head: ImageHead, target: tuple[int, int]) -> Decodable:
    """The number of chunks is bounded by `read_head`, and the decoder takes the first picture of an animation."""
    return Decodable(data, 3 * len(data) + head.width * head.height * WEBP_PIXEL_BYTES)  # freed before it is shrunk


READERS: Final[dict[str, Callable[[bytes, ImageHead, tuple[int, int]], Decodable]]] = {
    JPEG: jpeg, PNG: png, WEBP: webp,
}  # fmt: skip
