"""Small photographs for tests, as a camera makes them: a picture with EXIF."""

import io
import zlib

from PIL import ExifTags, Image, ImageDraw

TAKEN = "2026:03:10 14:05:09"
TAKEN_TEXT = "2026-03-10 14:05:09"
LATITUDE, LONGITUDE = 42.466667, -70.949722


def photograph(text: str, size: tuple[int, int] = (400, 300), *, has_place: bool = True) -> bytes:
    """Return a JPEG that shows a text. Other texts make other bytes."""
    colour = zlib.crc32(text.encode()) & 0x7F7F7F
    image = Image.new("RGB", size, (colour >> 16, colour >> 8 & 0xFF, colour & 0xFF))
    ImageDraw.Draw(image).text((10, 10), text, "white")
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = TAKEN
    if has_place:
        tags = ExifTags.GPS
        exif.get_ifd(ExifTags.IFD.GPSInfo).update(
            {
                tags.GPSLatitudeRef: "N",
                tags.GPSLatitude: (42.0, 28.0, 0.0),
                tags.GPSLongitudeRef: "W",
                tags.GPSLongitude: (70.0, 56.0, 59.0),
            }
        )
    made = io.BytesIO()
    image.save(made, "JPEG", exif=exif)
    return made.getvalue()
