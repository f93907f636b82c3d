"""Parse the JSON bodies and query parameters of Storage's calls. Other keys are ignored, as in Supabase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, validate
from werkzeug.routing import PathConverter

from inspections.files.links import DOWNLOAD_SECONDS_MAX
from routes.gotrue.payload import Object, StringField, json_object, load_values, read_object, text
from routes.http.body import read_body

NAMES_MAX: Final = 1_000
PIXELS_MAX: Final = 10_000
DIGITS_MAX: Final = 9


class FileConverter(PathConverter):
    """The name of a file in a path. It may begin with a slash, and `parse_key` checks it."""

    regex, part_isolating = r"[\s\S]+?", False


class NumberField(fields.Field[int]):
    """A whole number or its digits: storage-py sends `expiresIn` as a text."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if type(value) is int:
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= DIGITS_MAX:
            return int(value)
        raise ValidationError("must be a whole number")


class NamesField(fields.Field[list[str]]):
    """The names of files."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[str]:
        if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise ValidationError("must be a list of names: files have no versions")
        if len(value) > NAMES_MAX:
            raise ValidationError(f"has at most {NAMES_MAX} names")
        return value


class FlagField(fields.Field[bool]):
    """A boolean. marshmallow's own field also accepts words."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("must be true or false")
        return value


def number(minimum: int, maximum: int, default: int | None = None) -> NumberField:
    """Return a field of a whole number within bounds."""
    bounds = validate.Range(minimum, maximum, error=f"lies between {minimum} and {maximum}")
    return NumberField(load_default=default, allow_none=True, validate=bounds)


def flag(default: bool) -> FlagField:
    return FlagField(load_default=default)


def choice(*words: str) -> StringField:
    """Return a field of one of these words."""
    is_word = validate.OneOf(words, error=f"is one of: {', '.join(words)}")
    return StringField(load_default=None, allow_none=True, validate=is_word)


def seconds() -> NumberField:
    bounds = validate.Range(1, DOWNLOAD_SECONDS_MAX, error=f"lies between 1 and {DOWNLOAD_SECONDS_MAX}")
    return NumberField(required=True, validate=bounds)


def schema(**declared: fields.Field[Any]) -> Schema:
    made: Schema = Schema.from_dict(dict(declared))()
    return made


SIGNING: Final = schema(expiresIn=seconds(), transform=json_object())
SIGNING_ALL: Final = schema(expiresIn=seconds(), paths=NamesField(required=True))
REMOVAL: Final = schema(prefixes=NamesField(required=True))
RENAMING: Final = schema(
    bucketId=StringField(required=True),
    sourceKey=StringField(required=True),
    destinationKey=StringField(required=True),
    destinationBucket=text(),
    copyMetadata=flag(True),
)
TRANSFORM: Final = schema(
    width=number(1, PIXELS_MAX),
    height=number(1, PIXELS_MAX),
    resize=choice("cover", "contain", "fill"),
    quality=number(20, 100),
    format=choice("origin"),
)


def read_options(declared: Schema) -> Object:
    """Return the fields of the request's JSON body. Raise InvalidBody, BadJson or InvalidPayload."""
    return load_values(declared, read_object(read_body()))


def read_transform(options: Mapping[str, object]) -> Object:
    """Return the checked options of an image. Raise InvalidBody."""
    return load_values(TRANSFORM, options)
