"""Images whose heads or pictures cost a decoder much more than their size, as people sent them to stop a service."""

import io
import os
import struct
import zlib
from collections.abc import Callable
from typing import Final

from PIL import Image

FULL_BYTES: Final = 4 << 20
JPEG_START, JPEG_END = b"\xff\xd8", b"\xff\xd9"


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    made = io.BytesIO()
    image.save(made, kind, **options)
    return made.getvalue()


def segment(marker: int, body: bytes) -> bytes:
    return b"\xff" + bytes((marker,)) + struct.pack(">H", len(body) + 2) + body


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"WEBP" + b"".join(
        kind + struct.pack("<I", len(each)) + each + b"\0" * (len(each) % 2) for kind, each in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


def png(*before: bytes, size: tuple[int, int] = (8, 8), picture: bytes | None = None, after: bytes = b"") -> bytes:
    """Return a grey PNG with chunks before its picture, and behind it."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress((b"\0" + bytes(size[0])) * size[1])) if picture is None else picture
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(before) + rows + after + chunk(b"IEND")


def repeated(part: bytes, size: int = FULL_BYTES) -> bytes:
    return part * (size // len(part))


EXIF_SEGMENTS: Final = JPEG_START + repeated(segment(0xE1, b"Exif\0\0" + bytes(92))) + JPEG_END
WEBP_START: Final = b"VP8X", bytes((0x10, 0, 0, 0, 7, 0, 0, 7, 0, 0))

MANY_SEGMENTS: Final[dict[str, Callable[[], bytes]]] = {
    "JPEG of Exif segments": lambda: EXIF_SEGMENTS,
    "JPEG of empty comments": lambda: JPEG_START + repeated(segment(0xFE, b"")) + JPEG_END,
    "JPEG of multi-picture segments": lambda: JPEG_START + repeated(segment(0xE2, b"MPF\0MM\0*" + bytes(40))),
    "JPEG of fill bytes": lambda: JPEG_START + repeated(b"\xff"),
    "JPEG of restart markers": lambda: JPEG_START + b"\xff\xd0" * (FULL_BYTES // 2),
    "JPEG of tables": lambda: JPEG_START + repeated(segment(0xC4, b"")),
    "PNG of texts": lambda: png(repeated(chunk(b"tEXt", b"k\0v"))),
    "PNG of empty chunks": lambda: png(repeated(chunk(b"prVt"))),
    "PNG of eXIf": lambda: png(repeated(chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\0"))),
    "APNG of controls": lambda: png(repeated(chunk(b"fcTL", bytes(26)))),
    "WebP of empty chunks": lambda: riff(WEBP_START, *[(b"JUNK", b"")] * (FULL_BYTES // 8)),
    "animated WebP of frames": lambda: riff(WEBP_START, *[(b"ANMF", bytes(16))] * (FULL_BYTES // 24)),
}
"""Their heads do not end within the bounds, so that they have no dimensions."""

BEHIND: Final[dict[str, Callable[[], bytes]]] = {
    "PNG of empty picture chunks": lambda: png(picture=repeated(chunk(b"IDAT"))),
    "JPEG of comments between scans": lambda: in_picture(repeated(segment(0xFE, b""))),
    "JPEG of empty scans": lambda: in_picture(repeated(b"\xff\xda\0\2")),
}
"""Their pictures have too many parts."""

LARGE_PARTS: Final[dict[str, Callable[[], bytes]]] = {
    "PNG with a profile of 1 MiB": lambda: png(chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(1 << 30), 9))),
    "PNG with a text of 1 MiB": lambda: png(chunk(b"zTXt", b"k\0\0" + zlib.compress(os.urandom(1 << 20)))),
    "PNG with chunks behind its picture": lambda: png(after=repeated(chunk(b"tEXt", b"k\0v"))),
    "JPEG with bytes behind its picture": lambda: in_picture(b"") + repeated(b"\xff\xda\0\2"),
    "JPEG with 900 Exif segments of 64 KB": lambda: (
        JPEG_START + segment(0xE1, b"Exif\0\0" + bytes(65_000)) * 250 + in_picture(b"")[2:]
    ),
}
"""They are cheap, and have a thumbnail: the decoder gets none of these parts."""


def in_picture(parts: bytes) -> bytes:
    """Return a JPEG with these parts at the end of its picture."""
    content = encoded(Image.new("RGB", (8, 8)), "JPEG")
    end = content.rindex(JPEG_END)
    return content[:end] + parts + content[end:]


def progressive(size: tuple[int, int], scans: int) -> bytes:
    """Return a progressive JPEG of so many scans, cut off at its end. Each scan refines all coefficients."""
    content = encoded(Image.new("RGB", size, "gray"), "JPEG", progressive=True, quality=50)
    end = content.rindex(JPEG_END)
    begin = content.rindex(b"\xff\xda")
    count = content.count(b"\xff\xda")
    return content[:end] + content[begin:end] * (scans - count)
