"""Thumbnails: JPEG images of three widths, upright and without EXIF, made once from the bytes of a file.

The work is bounded by the number of pixels and of JPEG scans. One thread of a process makes thumbnails at a time.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from PIL import ExifTags, Image

from inspections.faults import NoThumbnail
from inspections.files.content import IMAGE_ERRORS, SIDEWAYS, type_of, webp_dimensions
from inspections.files.store import FileStore
from models.vocabulary import JPEG, PNG, WEBP

WIDTHS: Final = (160, 640, 1_600)
PIXELS_MAX = 50_000_000
SCANS_MAX = 100
"""Scans of a progressive JPEG. Each one costs time for all pixels. Cameras write about ten."""
HEIGHT_FACTOR = 4
"""A thumbnail is at most this often as high as it is wide."""
QUALITY = 80
BACKGROUND = "white"
SCAN = b"\xff\xda"
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""By EXIF orientation: the turn that makes an image upright."""
FORMATS = {JPEG: "JPEG", PNG: "PNG", WEBP: "WEBP"}
MAKING = threading.Lock()


def choose_width(width: int | None, height: int | None, original: tuple[int, int]) -> int:
    """Return the smallest kept width that covers a box of this size, or else the largest.

    >>> choose_width(200, None, (4000, 3000)), choose_width(None, 600, (4000, 3000)), choose_width(4000, 10, (1, 1))
    (640, 1600, 1600)
    """
    needed = max(width or 0, (height or 0) * original[0] / max(original[1], 1))
    return next((each for each in WIDTHS if each >= needed), WIDTHS[-1])


def thumbnail(store: FileStore, sha256: str, width: int) -> Path:
    """Return the path of a thumbnail of one of WIDTHS, which may have to be made. Raise NoThumbnail."""
    assert width in WIDTHS
    path = store.thumbnail_path(sha256, width)
    if not path.exists():
        with MAKING:
            if not path.exists():
                make(store, store.path(sha256), path, width)
    return path


def make(store: FileStore, source: Path, target: Path, width: int) -> None:
    """Write a thumbnail of an image. Raise NoThumbnail if it is none, is damaged or is too large."""
    mimetype = require_bounded(source)
    temporary = store.new_temporary()
    try:
        try:
            with Image.open(source, formats=[FORMATS[mimetype]]) as image:
                if image.width * image.height > PIXELS_MAX:
                    raise NoThumbnail
                image.draft(None, (width * 2, width * 2))  # a JPEG is decoded at a fraction of its size
                small = reduce(image, width)
        except IMAGE_ERRORS as error:
            raise NoThumbnail from error
        small.save(temporary, "JPEG", quality=QUALITY)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def require_bounded(source: Path) -> str:
    """Return the type of an image that is cheap to open. Raise NoThumbnail for another file."""
    with source.open("rb") as file:
        head = file.read(32)
        mimetype = type_of(head)
        if mimetype not in FORMATS:
            raise NoThumbnail
        if mimetype == JPEG and (head + file.read()).count(SCAN) > SCANS_MAX:
            raise NoThumbnail
    if mimetype == WEBP:
        width, height = webp_dimensions(head) or (PIXELS_MAX, PIXELS_MAX)
        if width * height > PIXELS_MAX:
            raise NoThumbnail
    return mimetype


def reduce(image: Image.Image, width: int) -> Image.Image:
    """Return an image as it is to be seen, at most this wide, in RGB and without metadata."""
    orientation = image.getexif().get(ExifTags.Base.Orientation)
    pixels = image.convert("RGBA" if image.has_transparency_data else "RGB")
    box = (width, width * HEIGHT_FACTOR)
    pixels.thumbnail(box[::-1] if orientation in SIDEWAYS else box, Image.Resampling.LANCZOS)
    if orientation in TURNS:
        pixels = pixels.transpose(TURNS[orientation])
    flat = Image.new("RGB", pixels.size, BACKGROUND)
    flat.paste(pixels, mask=pixels.getchannel("A") if pixels.mode == "RGBA" else None)
    return flat
