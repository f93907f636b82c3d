"""Thumbnails: JPEG images of three widths, upright and without EXIF, made once for each row from its bytes.

A thumbnail belongs to a row: the bytes of another row, which may be equal, do not make it faster. An empty one says
that none can be made. One thread of a process makes thumbnails at a time, and a few wait for their turn.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Final

from PIL import Image

from inspections.faults import FilesUnavailable, NoThumbnail, TooManyThumbnails
from inspections.files.images import REDUCING_GAP, SIDEWAYS, decodable, read_head
from inspections.files.store import FileStore
from models.vocabulary import JPEG, PNG, WEBP

WIDTHS: Final = (160, 640, 1_600)
HEIGHT_FACTOR: Final = 4
"""A thumbnail is at most this often as high as it is wide."""
QUALITY: Final = 80
BACKGROUND: Final = "white"
TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""By EXIF orientation: the turn that makes an image upright."""
FORMATS: Final = {JPEG: "JPEG", PNG: "PNG", WEBP: "WEBP"}
CHANNELS: Final = frozenset({"L", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "LAB"})
"""The modes whose pixels can be averaged."""

IMAGE_ERRORS: Final = (OSError, SyntaxError, ValueError, LookupError, TypeError, EOFError, struct.error, zlib.error)
"""What Pillow raises for a damaged image."""
Image.MAX_IMAGE_PIXELS = None  # images.py bounds the memory

TURN: Final = threading.Lock()
WAITING: Final = threading.BoundedSemaphore(8)
"""The threads that wait for their turn or have it. The other threads of a worker stay free."""
WAIT_SECONDS_MAX = 5.0


def choose_width(width: int | None, height: int | None, original: tuple[int, int]) -> int:
    """Return the smallest kept width that covers a box of this size, or else the largest.

    >>> choose_width(200, None, (4000, 3000)), choose_width(None, 600, (4000, 3000)), choose_width(4000, 10, (1, 1))
    (640, 1600, 1600)
    """
    needed = max(width or 0, (height or 0) * original[0] / max(original[1], 1))
    return next((each for each in WIDTHS if each >= needed), WIDTHS[-1])


def thumbnail(store: FileStore, file_id: str, sha256: str, width: int) -> bytes:
    """Return the thumbnail of a row in one of WIDTHS, which may have to be made.

    Raise NoThumbnail, TooManyThumbnails, or BytesMissing.
    """
    assert width in WIDTHS
    kept = store.read_thumbnail(file_id, sha256, width)
    if kept is None:
        with turn():
            kept = store.read_thumbnail(file_id, sha256, width)
            if kept is None:
                kept = make_or_fail(store, sha256, width)
                with suppress(OSError, FilesUnavailable):  # a full disk: it is made again at the next request
                    store.keep_thumbnail(file_id, sha256, width, kept)
    if not kept:
        raise NoThumbnail
    return kept


@contextmanager
def turn() -> Iterator[None]:
    """Be the only one who makes a thumbnail. Raise TooManyThumbnails if that takes too long."""
    if not WAITING.acquire(blocking=False):
        raise TooManyThumbnails
    try:
        if not TURN.acquire(timeout=WAIT_SECONDS_MAX):
            raise TooManyThumbnails
        try:
            yield
        finally:
            TURN.release()
    finally:
        WAITING.release()


def make_or_fail(store: FileStore, sha256: str, width: int) -> bytes:
    """Return a thumbnail, or empty bytes if none can be made."""
    try:
        return make(store.read(sha256), width)
    except NoThumbnail:
        return b""


def make(data: bytes, width: int) -> bytes:
    """Return a thumbnail of an image. Raise NoThumbnail if it is none, is damaged, or costs too much to decode."""
    head = read_head(BytesIO(data))
    if head is None:
        raise NoThumbnail
    orientation = head.exif.orientation
    target = fit((head.width, head.height), width, is_sideways=orientation in SIDEWAYS)
    picture = decodable(data, head, target)
    del data
    made = BytesIO()
    try:
        with Image.open(BytesIO(picture.stream), formats=[FORMATS[head.mimetype]]) as image:
            if image.size != (head.width, head.height):
                raise NoThumbnail
            if picture.scale > 1:
                image.draft(None, (head.width // picture.scale, head.height // picture.scale))
            small = shrink(image, target)
        upright = small.transpose(TURNS[orientation]) if orientation in TURNS else small
        flatten(upright).save(made, "JPEG", quality=QUALITY)
    except IMAGE_ERRORS as error:
        raise NoThumbnail from error
    return made.getvalue()


def fit(size: tuple[int, int], width: int, *, is_sideways: bool) -> tuple[int, int]:
    """Return the size of a thumbnail, before it is turned: a small image is not enlarged.

    >>> fit((4000, 3000), 160, is_sideways=False), fit((4000, 3000), 160, is_sideways=True)
    ((160, 120), (213, 160))
    """
    box = (width, width * HEIGHT_FACTOR)
    across, down = box[::-1] if is_sideways else box
    factor = min(across / size[0], down / size[1], 1.0)
    return max(1, round(size[0] * factor)), max(1, round(size[1] * factor))


def shrink(image: Image.Image, target: tuple[int, int]) -> Image.Image:
    """Return the image at this size in channels."""
    if image.mode not in CHANNELS or (image.has_transparency_data and image.mode not in ("LA", "RGBA")):
        image = image.convert("RGBA" if image.has_transparency_data else "L" if image.mode == "1" else "RGB")
    return image.resize(target, Image.Resampling.LANCZOS, reducing_gap=REDUCING_GAP)


def flatten(image: Image.Image) -> Image.Image:
    """Return the image in RGB, on the background where it is transparent."""
    if image.mode not in ("LA", "RGBA"):
        return image if image.mode == "RGB" else image.convert("RGB")
    flat = Image.new("RGB", image.size, BACKGROUND)
    flat.paste(image.convert("RGB"), mask=image.getchannel("A"))
    return flat
