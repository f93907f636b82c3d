"""The photographs of the demo portfolio are drawn, and their rows say what is in them."""

from __future__ import annotations

import hashlib
from datetime import date

import pytest

from demo.photographs import Photograph, photographs
from demo.portfolio import SEED, compose
from inspections.files.records import parse_key
from inspections.files.uploads import Content, read_content

pytestmark = pytest.mark.one_engine

TODAY = date(2026, 11, 20)
PORTFOLIO = compose(TODAY, SEED)


@pytest.fixture(scope="module")
def drawn() -> list[Photograph]:
    return photographs(PORTFOLIO["findings"], PORTFOLIO["buildings"])


def test_rows_describe_their_bytes(drawn, tmp_path):
    for row, content in drawn:
        path = tmp_path / "photograph.jpg"
        path.write_bytes(content)

        assert (row["sha256"], row["size"]) == (hashlib.sha256(content).hexdigest(), len(content))
        assert read_content(path, None) == Content(row["mimetype"], row["width"], row["height"], row["taken_at"])
        assert len(content) < 50_000


def test_photographs_are_of_open_findings_and_of_a_building(drawn):
    statuses = {row["id"]: row["status"] for row in PORTFOLIO["findings"]}
    keys = [parse_key(row["bucket"], row["name"]) for row, _ in drawn]

    assert {statuses[key.row_id] for key in keys if key.bucket == "findings"} == {"open"}
    assert all(row[key.column] == key.row_id for key, (row, _) in zip(keys, drawn, strict=True))
    assert {key.bucket for key in keys} == {"findings", "buildings"}
    assert len({row["sha256"] for row, _ in drawn}) == len({row["id"] for row, _ in drawn}) == len(drawn)
