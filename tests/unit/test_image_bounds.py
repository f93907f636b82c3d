"""The work on an image is bounded by what its head says: reads of the head, bytes of memory, visits of pixels."""

import io
import pathlib
import struct
from collections.abc import Callable

import pytest
from PIL import ExifTags, Image

from inspections.faults import NoThumbnail, TooManyThumbnails
from inspections.files import images, thumbnails
from inspections.files.images import (
    MEMORY_BYTES_MAX,
    NOTHING,
    SEGMENTS_MAX,
    Exif,
    ImageHead,
    decodable,
    read_exif,
    read_head,
    type_of,
)
from inspections.files.store import FileStore, measure
from inspections.files.thumbnails import fit, make, thumbnail
from inspections.files.uploads import Content, read_content
from models.vocabulary import PNG, WEBP
from tests.inspections.file_world import image_bytes
from tests.support import hostile_images as hostile

READS_OF_SEGMENT_MAX = 2
ROWS = tuple(f"{number:08d}-0000-4000-8000-000000000000" for number in range(2))


class CountedFile(io.BytesIO):
    """A file that counts reads and bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.reads = self.bytes = 0

    def read(self, count: int = -1) -> bytes:
        found = super().read(count)
        self.reads += 1
        self.bytes += len(found)
        return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The streams that Pillow was given."""
    found: list[bytes] = []
    real = Image.open

    def open_counted(stream: io.BytesIO, **options: object) -> Image.Image:
        found.append(stream.getvalue())
        return real(stream, **options)

    monkeypatch.setattr(Image, "open", open_counted)
    return found


# Heads


@pytest.mark.parametrize("name", hostile.MANY_SEGMENTS)
def test_head_of_many_segments_is_given_up(name: str, tmp_path: pathlib.Path, opened: list[bytes]) -> None:
    """Such a file is kept, and no part of the service parses it: neither upload, nor position, nor thumbnail."""
    content = hostile.MANY_SEGMENTS[name]()
    file, path = CountedFile(content), tmp_path / "file"
    path.write_bytes(content)

    assert len(content) > 3 << 20
    assert read_head(file) is None
    assert file.reads <= SEGMENTS_MAX * READS_OF_SEGMENT_MAX + 3
    assert file.bytes < 64 << 10 if "Exif" not in name else file.bytes < SEGMENTS_MAX * 200
    assert read_content(path, None) == Content(type_of(content))
    with pytest.raises(NoThumbnail):
        make(content, 160)
    assert opened == []


@pytest.mark.parametrize("name", hostile.BEHIND)
def test_picture_of_many_parts_is_not_decoded(name: str, opened: list[bytes]) -> None:
    with pytest.raises(NoThumbnail):
        make(hostile.BEHIND[name](), 160)
    assert opened == []


@pytest.mark.parametrize("name", hostile.LARGE_PARTS)
def test_decoder_gets_the_picture_alone(name: str, opened: list[bytes]) -> None:
    made = make(hostile.LARGE_PARTS[name](), 160)

    assert Image.open(io.BytesIO(made)).size == (8, 8)
    assert len(opened[0]) < 2_000


def test_telephone_s_segments_are_no_hindrance(opened: list[bytes]) -> None:
    """A gain map, a depth map and a film follow the picture of a telephone, and its colour profile precedes it."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    content = image_bytes("JPEG", (400, 300), exif=exif, icc_profile=bytes(200_000))
    maps = hostile.segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + bytes(60_000)) * 100
    film = b"\0\0\0\x18ftypmp42" + b"\xff\xda" * 500_000

    made = Image.open(io.BytesIO(make(content[:2] + maps + content[2:] + content + film, 160)))
    assert made.size == (160, 213)
    assert len(opened[0]) < len(content)


# EXIF


def directory(*entries: tuple[int, int, int, bytes], count: int | None = None) -> bytes:
    body = b"".join(struct.pack(">HHI4s", *entry) for entry in entries)
    return struct.pack(">H", len(entries) if count is None else count) + body


def pointer(offset: int) -> bytes:
    return struct.pack(">I", offset)


HEAD = b"MM\0*" + pointer(8)
LOOP = directory((ExifTags.IFD.Exif, 4, 1, pointer(8)), (ExifTags.IFD.GPSInfo, 4, 1, pointer(8))) + pointer(8)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"", NOTHING),
        (b"Exif\0\0MM\0*", NOTHING),
        (HEAD + LOOP, NOTHING),
        (b"MM\0*" + pointer(2**32 - 1), NOTHING),
        (HEAD + directory((ExifTags.Base.DateTime, 2, 2**32 - 1, pointer(8)), count=65_535), NOTHING),
        (HEAD + directory((ExifTags.Base.Orientation, 3, 2**32 - 1, pointer(8))), NOTHING),
        (HEAD + directory((ExifTags.Base.Orientation, 3, 1, b"\0\6\0\0"), count=65_535), Exif(6)),
        (HEAD + directory(*[(9, 7, 60_000, pointer(0))] * 5_000, (ExifTags.Base.Orientation, 3, 1, b"\0\6\0\0")),
         NOTHING),
        (HEAD + directory((ExifTags.IFD.GPSInfo, 4, 1, pointer(26)))
         + directory((2, 5, 3, pointer(26)), (4, 5, 3, pointer(2**31))), NOTHING),
    ],
)  # fmt: skip
def test_hostile_exif_says_nothing(block: bytes, expected: Exif) -> None:
    """Directories that form a loop, counts of billions, offsets outside, and values that overlap."""
    assert read_exif(block) == expected


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_exif_is_read_of_each_type(kind: str, tmp_path: pathlib.Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 8
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2026:11:28 14:05:09"
    path = tmp_path / "file"
    path.write_bytes(image_bytes(kind, (40, 30), exif=exif))

    assert read_content(path, None) == Content(f"image/{kind.lower()}", 30, 40, "2026-11-28T14:05:09")


# Memory and time of the decoder


def png_of(colour: int, depth: int, size: tuple[int, int], *chunks: bytes) -> bytes:
    header = hostile.chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + hostile.chunk(b"IDAT")


@pytest.mark.parametrize(
    ("colour", "depth", "chunks", "each"),
    [(0, 8, (), 1 + 4), (0, 16, (), 2 + 4), (2, 8, (), 4), (3, 8, (), 1 + 4), (3, 1, (), 1 + 4),
     (3, 8, (hostile.chunk(b"tRNS", b"\0"),), 1 + 4 + 4), (4, 8, (), 4 + 4), (6, 16, (), 4 + 4)],
)  # fmt: skip
def test_png_counts_the_bytes_of_its_modes(colour: int, depth: int, chunks: tuple[bytes, ...], each: int) -> None:
    """A pixel has the bytes of the mode that is decoded, of the mode that it is converted to, and of blending."""
    data = png_of(colour, depth, (1_000, 1_000), *chunks)
    head = read_head(io.BytesIO(data))
    assert head is not None

    memory = decodable(data, head, (1_000, 1_000)).memory
    assert each * 1_000_000 <= memory <= each * 1_000_000 + 13_000_000
    side = int((MEMORY_BYTES_MAX / each) ** 0.5) + 1
    larger = png_of(colour, depth, (side, side), *chunks)
    with pytest.raises(NoThumbnail):
        make(larger, 160)


@pytest.mark.parametrize(
    "head", [ImageHead(WEBP, 7_000, 7_000), ImageHead(WEBP, 16_383, 16_383), ImageHead(WEBP, 2_400, 2_400)]
)
def test_webp_counts_all_copies_of_its_canvas(head: ImageHead) -> None:
    with pytest.raises(NoThumbnail):
        decodable(b"", head, (160, 160))
    assert decodable(b"", ImageHead(WEBP, 2_200, 2_200), (160, 160)).memory <= MEMORY_BYTES_MAX


def jpeg_of(size: tuple[int, int], *, marker: int = 0xC0, scans: int = 1, factors: bytes = b"\x11\x11\x11") -> bytes:
    components = b"".join(bytes((number, factor, 0)) for number, factor in enumerate(factors, 1))
    frame = hostile.segment(marker, struct.pack(">BHHB", 8, size[1], size[0], len(factors)) + components)
    scan = hostile.segment(0xDA, bytes((len(factors),)) + bytes(3 + 2 * len(factors))) + b"\0" * 10
    return hostile.JPEG_START + frame + scan * scans + hostile.JPEG_END


@pytest.mark.parametrize(
    ("size", "width", "scale"),
    [((8_160, 6_120), 160, 8), ((8_160, 6_120), 1_600, 2), ((12_000, 9_000), 1_600, 2), ((16_382, 3_780), 1_600, 4),
     ((4_000, 3_000), 640, 2), ((1_600, 1_200), 1_600, 1), ((3_190, 16_000), 1_600, 4), ((4_400, 5_200), 1_600, 2)],
)  # fmt: skip
def test_jpeg_of_a_telephone_is_decoded_at_a_fraction(size: tuple[int, int], width: int, scale: int) -> None:
    """Sharp at twice the width, and at less where that takes too much memory."""
    data = jpeg_of(size)
    head = read_head(io.BytesIO(data))
    assert head is not None

    found = decodable(data, head, fit(size, width, is_sideways=False))
    assert found.scale >= scale
    assert found.memory <= MEMORY_BYTES_MAX
    assert size[0] // found.scale >= fit(size, width, is_sideways=False)[0] / 2


@pytest.mark.parametrize(
    ("content", "has_thumbnail"),
    [
        (jpeg_of((8_160, 6_120), scans=2), True),
        (jpeg_of((8_160, 6_120), scans=3), False),  # visits
        (jpeg_of((8_160, 6_120), marker=0xC2), False),  # coefficients of all components
        (jpeg_of((4_000, 3_000), marker=0xC2, scans=10, factors=b"\x22\x11\x11"), True),
        (jpeg_of((4_000, 3_000), marker=0xC2, scans=11, factors=b"\x22\x11\x11"), False),
        (jpeg_of((1_000, 1_000), marker=0xC2, scans=99), True),
        (jpeg_of((1_200, 1_200), marker=0xC2, scans=99), False),
        (jpeg_of((100, 100), marker=0xC2, scans=SEGMENTS_MAX), False),
        (jpeg_of((100, 100), marker=0xC3), False),  # lossless
        (jpeg_of((100, 100), factors=b"\x11\x11"), False),
        (jpeg_of((65_535, 65_535), factors=b"\x11"), False),
    ],
)  # fmt: skip
def test_jpeg_is_bounded_by_visits_and_coefficients(content: bytes, has_thumbnail: bool) -> None:
    head = read_head(io.BytesIO(content))
    assert head is not None
    if has_thumbnail and head.width < 8_000:
        assert decodable(content, head, (160, 120)).memory <= MEMORY_BYTES_MAX
    elif not has_thumbnail:
        with pytest.raises(NoThumbnail):
            decodable(content, head, (160, 120))


def test_markers_within_tables_are_no_scans() -> None:
    data = jpeg_of((100, 100), marker=0xC2)
    scan = data.index(b"\xff\xda")
    table = hostile.segment(0xC4, b"\xff\xd9\xff\xda" * 20)
    between = data[:-2] + table + data[scan:-2] + b"\xff\x00\xff\xd0\xff" + table + data[-2:]

    assert images.measure_scans(between, scan) == (2, len(between))
    assert images.measure_scans(between[:-2], scan) == (2, len(between) - 2)  # cut off


def test_picture_chunks_are_joined() -> None:
    content = image_bytes("PNG", (300, 200))
    begin = content.index(b"IDAT") - 4
    length = int.from_bytes(content[begin : begin + 4], "big")
    body = content[begin + 8 : begin + 8 + length]
    parts = b"".join(hostile.chunk(b"IDAT", body[at : at + 7]) for at in range(0, length, 7))

    whole = content[:begin] + parts + content[begin + 12 + length :]
    assert make(whole, 160) == make(content, 160)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_each_mode_of_png_has_a_thumbnail(mode: str) -> None:
    made = make(hostile.encoded(Image.new(mode, (400, 200)), "PNG"), 160)

    assert Image.open(io.BytesIO(made)).size == (160, 80)
    head = read_head(io.BytesIO(png_of(0, 8, (8, 8))))
    assert head is not None
    assert head.mimetype == PNG


def test_animation_is_shown_by_its_first_picture() -> None:
    frames = [Image.new("RGB", (200, 100), colour) for colour in ("red", "blue")]
    for kind in ("PNG", "WEBP"):
        made = make(hostile.encoded(frames[0], kind, save_all=True, append_images=frames[1:]), 160)
        red, _, blue = Image.open(io.BytesIO(made)).getpixel((80, 40))
        assert red > 200 > blue, kind


# Turns


@pytest.fixture
def kept(tmp_path: pathlib.Path) -> Callable[[bytes], tuple[FileStore, str]]:
    def keep(content: bytes) -> tuple[FileStore, str]:
        store = FileStore(tmp_path / "files")
        path = store.new_temporary()
        path.write_bytes(content)
        found = measure(path)
        store.keep(path, found)
        return store, found.sha256

    return keep


def test_who_waits_too_long_for_a_thumbnail_is_sent_away(kept: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    store, sha256 = kept(image_bytes(size=(300, 200)))
    monkeypatch.setattr(thumbnails, "WAIT_SECONDS_MAX", 0.01)
    made = thumbnail(store, ROWS[0], sha256, 160)

    with thumbnails.turn():
        assert thumbnail(store, ROWS[0], sha256, 160) == made
        with pytest.raises(TooManyThumbnails):
            thumbnail(store, ROWS[1], sha256, 160)
        taken = [thumbnails.WAITING.acquire(blocking=False) for _ in range(9)].count(True)
        with pytest.raises(TooManyThumbnails):
            thumbnail(store, ROWS[1], sha256, 160)
    for _ in range(taken):
        thumbnails.WAITING.release()
    assert taken == 7
    assert thumbnail(store, ROWS[1], sha256, 160) == made


def test_failure_holds_for_its_row_alone(kept: Callable, opened: list[bytes]) -> None:
    """A failure that other rows shared would tell of equal bytes, as a thumbnail would."""
    store, sha256 = kept(hostile.progressive((64, 64), 20)[:-30])
    for row in (ROWS[0], ROWS[0], ROWS[1]):
        with pytest.raises(NoThumbnail):
            thumbnail(store, row, sha256, 160)

    assert len(opened) == 2
