"""Drawn photographs of a portfolio's open findings and of a building, with the time at which they were taken."""

from __future__ import annotations

import hashlib
import io
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from PIL import ExifTags, Image, ImageDraw

from demo.visits import Row
from models.vocabulary import JPEG, OPEN

PHOTOGRAPHED_FINDINGS = 5
VIEWS = ("as found", "close-up")
SIZE = (800, 600)
ID_BASE = uuid.UUID("f0701ab1-0000-4000-8000-000000000000")
WALL, FLOOR, FRAME, DARK = "#d9d2c3", "#8d8271", "#6b4f3a", "#3b3f45"
QUALITY = 70


class Photograph(NamedTuple):
    """A row of `files` and its bytes."""

    row: Row
    content: bytes


def photographs(findings: Iterable[Row], buildings: Iterable[Row]) -> list[Photograph]:
    """Return two photographs of each of the newest open findings, and one of the first building."""
    return [_photograph(number, *each) for number, each in enumerate(_subjects(findings, buildings), 1)]


def _subjects(findings: Iterable[Row], buildings: Iterable[Row]) -> Iterator[tuple[str, str, Row, str]]:
    """Yield the bucket, the reference, the row and the caption of each photograph."""
    newest = sorted((row for row in findings if row["status"] == OPEN), key=lambda row: (row["created_at"], row["id"]))
    for finding in newest[-PHOTOGRAPHED_FINDINGS:]:
        for view in VIEWS:
            yield "findings", "finding_id", finding, f"{finding['item']}, {finding['place']}: {view}."
    for building in list(buildings)[:1]:
        yield "buildings", "building_id", building, f"{building['name']}, the front."


def _photograph(number: int, bucket: str, reference: str, row: Row, caption: str) -> Photograph:
    at = str(row["created_at"])
    taken = datetime.fromisoformat(at)
    content = _draw(number, caption, taken)
    return Photograph(
        {
            "id": str(uuid.UUID(int=ID_BASE.int + number)),
            "bucket": bucket,
            "name": f"{row['id']}/image {number}.jpg",
            reference: row["id"],
            "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "mimetype": JPEG,
            "width": SIZE[0],
            "height": SIZE[1],
            "taken_at": f"{taken:%Y-%m-%dT%H:%M:%S}",
            "caption": caption,
            "created_at": at,
            "updated_at": at,
        },
        content,
    )


def _draw(number: int, text: str, taken: datetime) -> bytes:
    """Return a picture of a wall with a door and a window, or of one of them from near."""
    image = Image.new("RGB", SIZE, WALL)
    pen = ImageDraw.Draw(image)
    near = 2 if number % 2 == 0 else 1
    pen.rectangle((0, 500, 800, 600), FLOOR)
    left = 60 + 40 * (number % 5)
    pen.rectangle((left, 500 - 330 * near, left + 150 * near, 500), FRAME, DARK, 6)
    pen.ellipse((left + 120 * near, 340, left + 120 * near + 18, 358), "#d8b04a")
    pen.rectangle((480, 120, 480 + 130 * near, 120 + 120 * near), "#a9c7d8", "#f4f1ea", 10)
    pen.line((480, 120, 480 + 130 * near, 120 + 120 * near), "#f4f1ea", 6)
    pen.rectangle((0, 560, 800, 600), DARK)
    pen.text((16, 568), text, "#ffffff", font_size=18)
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"{taken:%Y:%m:%d %H:%M:%S}"
    made = io.BytesIO()
    image.save(made, "JPEG", quality=QUALITY, exif=exif)
    return made.getvalue()
