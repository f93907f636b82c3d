"""Request bodies of the tests of the payload parser."""

from __future__ import annotations

from hypothesis import strategies as st

from routes.postgrest.payload import Payload, parse_payload

CSV = "text/csv"
FORM = "application/x-www-form-urlencoded"

CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, max_size=20)


def parse_body(text: str | bytes, content_type: str | None = "application/json") -> Payload:
    return parse_payload(text.encode() if isinstance(text, str) else text, content_type)
