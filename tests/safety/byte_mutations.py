"""Mutations of well-formed bytes: replace, truncate, insert tokens, delete, repeat, rotate."""

from hypothesis import strategies as st

TOKENS = (
    b"(", b")", b"((((", b",", b",,", b"!", b"!!", b":", b"::", b"::int", b"...", b".", b"..", b"->", b"->>",
    b"%", b"%2", b"%ff", b"%00", b"%ed%a0%80", b"%F0%9F%92%A9", b"&", b"&&", b"=", b";", b"+", b"\\", b"%22",
    b"*", b"{", b"}", b"{{", b"not.", b"and(", b"or(", b"in.(", b"is.null", b"like(any).{", b"eq.", b"eq",
    b"select=", b"order=", b"limit=-1", b"limit=1e3", b"limit=99999999999999999999", b"offset=", b"and=()",
    b"\xff", b"\x00", b"\xed\xa0\x80", b"\xc3", b"null", b"NaN", b"1e400", b"-0", b"9223372036854775808",
    b"inspections(", b"users", b"!inner", b"count()", b".sum()", b"on_conflict=", b"columns=",
)  # fmt: skip


def replace_byte(raw: bytes, position: int, value: int) -> bytes:
    offset = position % (len(raw) or 1)
    return raw[:offset] + bytes([value]) + raw[offset + 1 :]


def truncate(raw: bytes, position: int, value: int) -> bytes:
    return raw[: position % (len(raw) + 1)]


def insert_token(raw: bytes, position: int, value: int) -> bytes:
    offset = position % (len(raw) + 1)
    return raw[:offset] + TOKENS[value % len(TOKENS)] + raw[offset:]


def delete_bytes(raw: bytes, position: int, value: int) -> bytes:
    offset = position % (len(raw) or 1)
    return raw[:offset] + raw[offset + 1 + value % 8 :]


def repeat_bytes(raw: bytes, position: int, value: int) -> bytes:
    offset = position % (len(raw) or 1)
    part = raw[offset : offset + 1 + value % 24]
    return raw[:offset] + part * (2 + value % 40) + raw[offset:]


def rotate(raw: bytes, position: int, value: int) -> bytes:
    offset = position % (len(raw) or 1)
    return raw[offset:] + raw[:offset]


BYTE_MUTATIONS = (replace_byte, truncate, insert_token, insert_token, delete_bytes, repeat_bytes, rotate)

positions = st.integers(0, 2_000)
values = st.integers(0, 255)
mutation_steps = st.lists(st.tuples(st.sampled_from(BYTE_MUTATIONS), positions, values), max_size=4)


def mutated(raw: bytes, steps: list) -> bytes:
    for step, position, value in steps:
        raw = step(raw, position, value)
    return raw
