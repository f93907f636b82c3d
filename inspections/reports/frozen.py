"""What is issued and never changes: numbers, hashes, thumbnails, and pages with placeholders for their images.

The content of an issued report or letter is one JSON object. Its canonical text is stored and hashed. It holds the
data, the thumbnails and the page. The page names each image by a placeholder, so that the image is stored once.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from typing import Any, Final

import sqlalchemy as sa
from PIL import Image

from engine.interface.database import Transaction
from engine.query.catalog import catalog
from inspections.faults import ContentTooLarge, NoThumbnail
from inspections.files.store import FileStore
from inspections.files.thumbnails import FORMATS, HEIGHT_FACTOR, thumbnail
from inspections.reports.content import ReportedFile
from models.types import canonical_json as canonical_json
from models.vocabulary import JPEG, PNG

THUMBNAIL_WIDTH: Final = 640
THUMBNAIL_BYTES_MAX: Final = 40 << 10
THUMBNAILS_MAX: Final = 200
"""The thumbnails of one report or letter: 11 MB at most."""
CONTENT_BYTES_MAX: Final = 16 << 20
"""The bytes of a content as canonical JSON in UTF-8. SQLite takes no statement above 32 MiB."""
SMALLER: Final = ((640, 65), (640, 45), (480, 45), (320, 45), (160, 45))
"""Widths and qualities, the best first, for a thumbnail that is too large."""
PLACEHOLDER: Final = re.compile(r'src="(?:thumbnail:([0-9a-f]{64})|(signature:))"')
"""The source of an image. Escaped text has no quotation mark, so no name of a person can be one."""

RENDERERS: Final[dict[str, Callable[..., str]]] = {}
"""By kind of a report, or `notice`: what renders its page. routes/ adds them, since the templates are there."""
STORES: Final[dict[str, Callable[[], FileStore]]] = {}
"""Under `files`: what returns the folder of files of the running application. routes/ adds it."""


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal.

    >>> sha256_of("")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def require_size(content_text: str) -> None:
    """Raise ContentTooLarge if a canonical text has more than CONTENT_BYTES_MAX bytes in UTF-8."""
    if len(content_text) > CONTENT_BYTES_MAX or len(content_text.encode()) > CONTENT_BYTES_MAX:
        raise ContentTooLarge(CONTENT_BYTES_MAX)


def next_number(transaction: Transaction, table: str, client_id: int) -> str:
    """Return the next number of a client in the year of TIMEZONE: the highest one and 1, such as `2026-000017`.

    An archive may have brought numbers of another form. They do not count.
    `transaction` holds the writer lock, or that of this client, so that no other transaction takes the number.
    """
    assert transaction.writes, "numbers need the writer lock"
    transaction.require_client(client_id)
    rows = catalog().relations[table].table.c
    year = f"{transaction.today.year:04}"
    in_year = sa.and_(
        rows.client_id == client_id,
        rows.number.between(f"{year}-000001", f"{year}-999999"),
        sa.func.length(rows.number) == len(f"{year}-000001"),
    )
    highest = transaction.execute(sa.select(sa.func.max(rows.number)).where(in_year)).scalar()
    return f"{year}-{int(highest[5:]) + 1 if highest is not None else 1:06}"


def thumbnails_of(files: Iterable[ReportedFile]) -> dict[str, str]:
    """Return the thumbnails of photographs by the SHA-256 of the original: JPEG in base64, or an empty text.

    A file of which no thumbnail can be made has the empty text, and so have those after THUMBNAILS_MAX photographs.
    This reads and decodes files: call it without the writer lock. Raise TooManyThumbnails, or BytesMissing: what is
    issued does not lack a photograph for a disk that is away.
    """
    store = STORES["files"]()
    found: dict[str, str] = {}
    left = THUMBNAILS_MAX
    for file in files:
        if file.sha256 not in found:
            is_tried = left > 0 and file.mimetype in FORMATS
            found[file.sha256] = small_thumbnail(store, file) if is_tried else ""
            left -= is_tried
    return found


def small_thumbnail(store: FileStore, file: ReportedFile) -> str:
    """Return a thumbnail of THUMBNAIL_BYTES_MAX bytes at most, in base64; an empty text if none can be made."""
    try:
        image = thumbnail(store, file.id, file.sha256, THUMBNAIL_WIDTH)
    except NoThumbnail:
        return ""
    return base64.b64encode(reduced(image)).decode()


def reduced(image: bytes) -> bytes:
    """Return a JPEG as it is, or else the best of SMALLER that has THUMBNAIL_BYTES_MAX bytes at most."""
    if len(image) <= THUMBNAIL_BYTES_MAX:
        return image
    with Image.open(BytesIO(image), formats=["JPEG"]) as picture:
        for width, quality in SMALLER:
            picture.thumbnail((width, width * HEIGHT_FACTOR))  # decodes it once, and shrinks it step by step
            out = BytesIO()
            picture.save(out, "JPEG", quality=quality)
            if out.tell() <= THUMBNAIL_BYTES_MAX:
                break
    return out.getvalue()


def image_source(thumbnails: Mapping[str, str]) -> Callable[[ReportedFile], str]:
    """Return what gives the source of a photograph in a page: its placeholder, or an empty text without a thumbnail."""
    return lambda file: f"thumbnail:{file.sha256}" if thumbnails.get(file.sha256) else ""


def filled_page(content: Mapping[str, Any], signature: str | None = None) -> str:
    """Return the page of a content with its images as data: URIs. `signature` is a PNG in base64."""
    thumbnails = content["thumbnails"]

    def data(place: re.Match[str]) -> str:
        if place[2]:
            return f'src="data:{PNG};base64,{signature or ""}"'
        return f'src="data:{JPEG};base64,{thumbnails.get(place[1], "")}"'

    return PLACEHOLDER.sub(data, content["page"])
