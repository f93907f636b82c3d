"""Strict decoding of percent-encoded UTF-8."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from models.errors import Fault


class Undecodable(Fault):
    """Bytes that are not UTF-8, lone surrogates included."""

    def __init__(self, invalid: bytes) -> None:
        shown = " ".join(f"0x{byte:02x}" for byte in invalid[:4])
        super().__init__(f'invalid byte sequence for encoding "UTF8": {shown}')
        self.invalid = invalid


def decode_pairs(encoded: bytes) -> list[tuple[str, str | None]]:
    """Split `key=value&key` and decode both sides. A key without `=` has the value None.

    Only `&` separates pairs, `+` is a space, and a `%` without two hexadecimal digits stands for itself.

    >>> decode_pairs(b"name=eq.a+b%26c&id&or=(a.eq.1)&x=100%")
    [('name', 'eq.a b&c'), ('id', None), ('or', '(a.eq.1)'), ('x', '100%')]
    >>> decode_pairs(b"&&"), decode_pairs(b"a;b=1"), decode_pairs(b"=")
    ([], [('a;b', '1')], [('', '')])
    >>> decode_pairs(b"name=eq.%ff")
    Traceback (most recent call last):
    routes.postgrest.encoding.Undecodable: invalid byte sequence for encoding "UTF8": 0xff
    """
    pairs: list[tuple[str, str | None]] = []
    for part in encoded.split(b"&"):
        if part:
            key, equals, value = part.partition(b"=")
            pairs.append((_decode(key), _decode(value) if equals else None))
    return pairs


def decode_utf8(encoded: bytes) -> str:
    """Decode UTF-8 without NUL; raise Undecodable otherwise.

    >>> decode_utf8(b"Z\\xc3\\xbcrich")
    'Zürich'
    """
    try:
        text = encoded.decode()
    except UnicodeDecodeError as error:
        raise Undecodable(encoded[error.start : error.end]) from error
    if "\0" in text:
        raise Undecodable(b"\0")
    return text


def _decode(part: bytes) -> str:
    part = part.replace(b"+", b" ")
    return decode_utf8(unquote_to_bytes(part) if b"%" in part else part)
