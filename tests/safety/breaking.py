"""Ways to break what was well-formed: bytes flipped, cut off, said again, nested too deep, put in where they hurt."""

from hypothesis import strategies as st

WORDS = (
    b"(", b")", b"((((", b",", b",,", b"!", b"!!", b":", b"::", b"::int", b"...", b".", b"..", b"->", b"->>",
    b"%", b"%2", b"%ff", b"%00", b"%ed%a0%80", b"%F0%9F%92%A9", b"&", b"&&", b"=", b";", b"+", b"\\", b"%22",
    b"*", b"{", b"}", b"{{", b"not.", b"and(", b"or(", b"in.(", b"is.null", b"like(any).{", b"eq.", b"eq",
    b"select=", b"order=", b"limit=-1", b"limit=1e3", b"limit=99999999999999999999", b"offset=", b"and=()",
    b"\xff", b"\x00", b"\xed\xa0\x80", b"\xc3", b"null", b"NaN", b"1e400", b"-0", b"9223372036854775808",
    b"inspections(", b"users", b"!inner", b"count()", b".sum()", b"on_conflict=", b"columns=",
)  # fmt: skip


def flipped(raw: bytes, place: int, value: int) -> bytes:
    at = place % (len(raw) or 1)
    return raw[:at] + bytes([value]) + raw[at + 1 :]


def cut(raw: bytes, place: int, value: int) -> bytes:
    return raw[: place % (len(raw) + 1)]


def put_in(raw: bytes, place: int, value: int) -> bytes:
    at = place % (len(raw) + 1)
    return raw[:at] + WORDS[value % len(WORDS)] + raw[at:]


def taken_out(raw: bytes, place: int, value: int) -> bytes:
    at = place % (len(raw) or 1)
    return raw[:at] + raw[at + 1 + value % 8 :]


def said_again(raw: bytes, place: int, value: int) -> bytes:
    at = place % (len(raw) or 1)
    part = raw[at : at + 1 + value % 24]
    return raw[:at] + part * (2 + value % 40) + raw[at:]


def swapped(raw: bytes, place: int, value: int) -> bytes:
    at = place % (len(raw) or 1)
    return raw[at:] + raw[:at]


BREAKS = (flipped, cut, put_in, put_in, taken_out, said_again, swapped)

places = st.integers(0, 2_000)
values = st.integers(0, 255)
breaks = st.lists(st.tuples(st.sampled_from(BREAKS), places, values), max_size=4)


def broken(raw: bytes, steps: list) -> bytes:
    for step, place, value in steps:
        raw = step(raw, place, value)
    return raw
