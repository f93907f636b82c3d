"""What the bytes of a file say, and its thumbnails."""

import io
import pathlib
import struct
import zlib

import pytest
from PIL import ExifTags, Image

from inspections.faults import BytesMissing, FileTypeMismatch, NoThumbnail, UnknownFileType
from inspections.files.images import Position
from inspections.files.store import FileStore, measure
from inspections.files.thumbnails import choose_width, thumbnail
from inspections.files.uploads import Content, read_content, read_position
from tests.inspections.file_world import image_bytes

HEIC_HEAD = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"
PDF_HEAD = b"%PDF-1.7\n%"


@pytest.fixture
def store(tmp_path: pathlib.Path) -> FileStore:
    return FileStore(tmp_path / "files")


def temporary(store: FileStore, content: bytes) -> pathlib.Path:
    path = store.new_temporary()
    path.write_bytes(content)
    return path


def exif(orientation: int | None = None, taken: str | None = None, gps: dict | None = None) -> Image.Exif:
    made = Image.Exif()
    if orientation is not None:
        made[ExifTags.Base.Orientation] = orientation
    if taken is not None:
        made.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = taken
    if gps is not None:
        made.get_ifd(ExifTags.IFD.GPSInfo).update(gps)
    return made


def png_head(width: int, height: int) -> bytes:
    """Return a PNG that says these dimensions and has the pixels of one row."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    row = zlib.compress(b"\0" + bytes(width))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", row) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (image_bytes("JPEG", (40, 30)), Content("image/jpeg", 40, 30)),
        (image_bytes("PNG", (40, 30)), Content("image/png", 40, 30)),
        (image_bytes("WEBP", (40, 30)), Content("image/webp", 40, 30)),
        (image_bytes("WEBP", (40, 30), lossless=True), Content("image/webp", 40, 30)),
        (image_bytes("JPEG", (40, 30), exif=exif(6, "2026:11:28 14:05:09")),
         Content("image/jpeg", 30, 40, "2026-11-28T14:05:09")),
        (image_bytes("JPEG", (40, 30), exif=exif(3, "yesterday")), Content("image/jpeg", 40, 30)),
        (HEIC_HEAD, Content("image/heic")),
        (PDF_HEAD, Content("application/pdf")),
        (b"\r\n" + PDF_HEAD, Content("application/pdf")),
        (b"\x1b%-12345X@PJL\n" + PDF_HEAD, Content("application/pdf")),
        (b"\xff\xd8\xff\xe0 damaged", Content("image/jpeg")),
        (b"\x89PNG\r\n\x1a\n damaged", Content("image/png")),
        (png_head(30_000, 30_000), Content("image/png", 30_000, 30_000)),
    ],
)  # fmt: skip
def test_first_bytes_decide(store: FileStore, content: bytes, expected: Content) -> None:
    assert read_content(temporary(store, content), None) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"", b"<svg xmlns='http://www.w3.org/2000/svg'>", b"<?xml version='1.0'?><svg/>", b"<!doctype html>", b"<html>",
        b"GIF89a", b"BM", b"II*\0", b"PK\3\4", b"text", b" " * 1_024 + b"%PDF-1.7", b"\0\0\0\x18ftypisom",
        b"RIFF\0\0\0\0AVI ",
        b"\x7fELF", b"\xff\xd8", b"#!/bin/sh",
    ],
)  # fmt: skip
def test_other_types_are_refused(store: FileStore, content: bytes) -> None:
    with pytest.raises(UnknownFileType):
        read_content(temporary(store, content), "image/jpeg")


@pytest.mark.parametrize("claimed", [None, "", "text/plain;charset=UTF-8", "application/octet-stream", "image/jpeg",
                                     "IMAGE/JPEG; q=1", "image/jpg"])  # fmt: skip
def test_content_type_that_nobody_chose_contradicts_nothing(store: FileStore, claimed: str | None) -> None:
    assert read_content(temporary(store, image_bytes()), claimed).mimetype == "image/jpeg"


@pytest.mark.parametrize("claimed", ["image/png", "image/svg+xml", "text/html", "application/pdf", "image/*", "\r\nx"])
def test_content_type_that_contradicts_the_bytes_is_refused(store: FileStore, claimed: str) -> None:
    with pytest.raises(FileTypeMismatch) as caught:
        read_content(temporary(store, image_bytes()), claimed)
    assert caught.value.message.isprintable()


def test_position_of_a_photograph(store: FileStore) -> None:
    tags = ExifTags.GPS
    south_west = {tags.GPSLatitudeRef: "S", tags.GPSLatitude: (33, 30, 36), tags.GPSLongitudeRef: "W",
                  tags.GPSLongitude: (70, 15, 0)}  # fmt: skip
    photo = temporary(store, image_bytes(exif=exif(gps=south_west)))

    assert read_position(photo) == Position(-33.51, -70.25)
    for content in (image_bytes(), PDF_HEAD, b"\xff\xd8\xff"):
        assert read_position(temporary(store, content)) is None


# Thumbnails


ROW = "11111111-1111-4111-8111-111111111111"
OTHER_ROW = "22222222-2222-4222-8222-222222222222"


def keep(store: FileStore, content: bytes) -> str:
    path = temporary(store, content)
    kept = measure(path)
    store.keep(path, kept)
    path.unlink()
    return kept.sha256


def make(store: FileStore, content: bytes, width: int = 160) -> Image.Image:
    return Image.open(io.BytesIO(thumbnail(store, ROW, keep(store, content), width)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_thumbnail_has_its_width_and_no_metadata(store: FileStore, kind: str) -> None:
    gps = {ExifTags.GPS.GPSLatitudeRef: "N", ExifTags.GPS.GPSLatitude: (1, 2, 3)}
    made = make(store, image_bytes(kind, (800, 600), exif=exif(1, "2026:11:28 14:05:09", gps)))

    assert (made.format, made.size, dict(made.getexif())) == ("JPEG", (160, 120), {})


@pytest.mark.parametrize("orientation", [*range(1, 9), 0, 99])
def test_thumbnail_is_upright(store: FileStore, orientation: int) -> None:
    """The image is red at its top left corner as seen; elsewhere it is blue."""
    is_sideways = orientation in (5, 6, 7, 8)
    seen = Image.new("RGB", (400, 800), "blue")
    seen.paste("red", (0, 0, 200, 400))
    undo = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
            5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
            8: Image.Transpose.ROTATE_270}  # fmt: skip
    stored = seen.transpose(undo[orientation]) if orientation in undo else seen
    content = io.BytesIO()
    stored.save(content, "JPEG", exif=exif(orientation))

    made = make(store, content.getvalue())
    assert (stored.size == seen.size, made.size) == (not is_sideways, (160, 320))
    corners = [made.getpixel(at) for at in ((8, 8), (150, 8), (8, 310), (150, 310))]
    assert [red > blue for red, _, blue in corners] == [True, False, False, False]


def test_transparent_image_is_shown_on_white(store: FileStore) -> None:
    content = io.BytesIO()
    Image.new("RGBA", (200, 200), (255, 0, 0, 0)).save(content, "PNG")

    assert make(store, content.getvalue()).getpixel((80, 80)) == (255, 255, 255)


def test_small_image_is_not_enlarged(store: FileStore) -> None:
    assert make(store, image_bytes(size=(40, 30)), 640).size == (40, 30)


def test_thumbnail_is_made_once_for_each_row(store: FileStore) -> None:
    """Equal bytes of another row do not show by their thumbnail."""
    sha256 = keep(store, image_bytes(size=(800, 600)))
    first = thumbnail(store, ROW, sha256, 160)
    store.path(sha256).unlink()

    assert thumbnail(store, ROW, sha256, 160) == first
    with pytest.raises(BytesMissing):
        thumbnail(store, OTHER_ROW, sha256, 160)
    assert list(store.incoming.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        HEIC_HEAD, PDF_HEAD, b"\xff\xd8\xff damaged", png_head(30_000, 30_000), image_bytes("PNG", (300, 300))[:200],
        b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff", b"RIFF\0\0\0\0WEBPVP8 short",
    ],
)  # fmt: skip
def test_file_without_readable_pixels_has_no_thumbnail(store: FileStore, content: bytes) -> None:
    with pytest.raises(NoThumbnail):
        make(store, content)
    assert [path.read_bytes() for path in store.thumbnails.iterdir()] == [b""]
    assert list(store.incoming.iterdir()) == []


def test_failure_is_remembered(store: FileStore) -> None:
    sha256 = keep(store, image_bytes("PNG", (300, 300))[:200])
    for _ in range(2):
        with pytest.raises(NoThumbnail):
            thumbnail(store, ROW, sha256, 160)
        store.path(sha256).unlink(missing_ok=True)  # the second time, nothing is read


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [(1, None, 160), (160, None, 160), (161, None, 640), (1_600, None, 1_600), (5_000, None, 1_600), (None, 120, 160),
     (None, 121, 640), (100, 1_000, 1_600), (None, None, 160)],
)  # fmt: skip
def test_nearest_width_that_is_not_smaller_answers(width: int | None, height: int | None, expected: int) -> None:
    assert choose_width(width, height, (800, 600)) == expected
