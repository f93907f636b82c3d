"""Names of files: what a bucket takes, and what it refuses."""

import unicodedata

import pytest

from inspections.faults import InvalidFileName, NoSuchBucket
from inspections.files.records import parse_key

VALID = [
    "1/a",
    "1/a.jpg",
    "417/front door.jpg",
    "1/a/b/c",
    "9007199254740993/ß",
    "1/日本.png",
    "1/!-_.*'()&$=@;:+,",
    "1/a..b",
]


@pytest.mark.parametrize("name", VALID)
def test_valid_name_is_kept(name: str) -> None:
    key = parse_key("findings", name)
    assert (key.name, key.row_id, key.path) == (name, int(name.split("/")[0]), f"findings/{name}")


def test_slashes_at_the_ends_go_and_text_is_composed() -> None:
    assert parse_key("buildings", "//1/u\u0308.jpg/").name == unicodedata.normalize("NFC", "1/u\u0308.jpg")


@pytest.mark.parametrize(
    "name",
    [
        "", "/", "1", "1/", "a/b", "0/a", "01/a", "-1/a", "+1/a", "1.0/a", "٣/a", "9223372036854775808/a", "1/a/b/c/d",
        "1//a", "1/./a", "1/../a", "1/..", "../1/a", "1/.hidden", "1/a\\b", "1/a?b", "1/a#b", "1/a%2e", "1/a\0b",
        "1/a\nb", "1/a\u202eb", "1/a\u200bb", "1/a\ud800", "1/" + "a" * 256, "1/" + "ä" * 128, "1/" + "a" * 10_000,
        "1/a|b", "1/<a>",
        "1/" + "/".join(["a" * 255] * 3) + "b",
        "9" * 19 + "/" + "/".join(["日" * 85] * 4),
    ],
)  # fmt: skip
def test_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidFileName, match=r"^Invalid key") as caught:
        parse_key("inspections", name)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 1_200


@pytest.mark.parametrize("bucket", ["", "users", "Inspections", "inspections ", "../inspections"])
def test_there_are_three_buckets(bucket: str) -> None:
    with pytest.raises(NoSuchBucket):
        parse_key(bucket, "1/a")
