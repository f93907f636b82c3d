"""The sentence splitter, by examples."""

from __future__ import annotations

import pytest

from tests.style.sentences import prose, sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("One\nline. Two.", ["One line.", "Two."]),
        ("No stop at the end", ["No stop at the end"]),
        ("Is it? Yes! Good.", ["Is it?", "Yes!", "Good."]),
        ("Version 3.51.3 or later. It works.", ["Version 3.51.3 or later.", "It works."]),
        ("It takes 0.5 ms. 20 ms is slow.", ["It takes 0.5 ms.", "20 ms is slow."]),
        ("Use e.g. a lock. Or i.e. Locks.", ["Use e.g. a lock.", "Or i.e. Locks."]),
        ("Rows, columns etc. are data.", ["Rows, columns etc. are data."]),
        ("Rows, columns, etc. They are data.", ["Rows, columns, etc.", "They are data."]),
        ("By D. Knuth. He wrote.", ["By D. Knuth.", "He wrote."]),
        ("Wait ... then go. Done.", ["Wait ... then go.", "Done."]),
        ("It ends (with a bracket.) Next one.", ["It ends (with a bracket.)", "Next one."]),
        ('It says "stop." Next one.', ['It says "stop."', "Next one."]),
        ("A lock. gunicorn starts workers.", ["A lock.", "gunicorn starts workers."]),
        ("See app.py for it. Then stop.", ["See app.py for it.", "Then stop."]),
        ("One; two: three, four.", ["One; two: three, four."]),
        ("", []),
        ("***", []),
    ],
)
def test_paragraph_is_split_at_the_ends_of_sentences(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_inline_code_is_no_word_and_can_begin_or_end_a_sentence() -> None:
    found = sentences("Call `a.b. c` twice. `d` returns `e`. The end.")

    assert [each.text for each in found] == ["Call § twice.", "§ returns §.", "The end."]
    assert [each.words for each in found] == [2, 1, 2]


def test_link_counts_by_its_text() -> None:
    assert texts("See [the docs](https://a.example/b. c) now. ![A chart](a.png) follows.") == [
        "See the docs now.",
        "A chart follows.",
    ]


def test_emphasis_and_tags_are_removed() -> None:
    assert texts("**Context.** A *lock*. <br>Next 2 * 3 is.") == ["Context.", "A lock.", "Next 2 * 3 is."]


def test_headings_and_list_items_are_blocks_of_their_own() -> None:
    text = "# Title\nText goes on\nhere\n\n- one\n  and a half\n- two. Three\n1. four"

    assert texts(text) == [
        "Title", "Text goes on here", "one and a half", "two.", "Three", "four",
    ]  # fmt: skip


def test_code_blocks_doctests_and_tables_are_skipped() -> None:
    text = "\n".join(
        [
            "Before:", "", "```sh", "not prose. At all", "```", "", "    indented code. Here", "",
            ">>> call()", "result. Here", "", "| a | b. C |", "|---|---|", "| d. E | f |", "",
            "record | decision", "---|---", "1 | a. B", "", "After.",
        ]
    )  # fmt: skip

    assert texts(text) == ["Before:", "After."]


def test_nested_list_items_are_prose() -> None:
    assert texts("- one\n    - two\n    more") == ["one", "two more"]


def test_lines_are_counted_from_one() -> None:
    text = "# Title\n\nOne. Two\nis here. Three\nis too.\n\n- `a\n  b` four."

    assert [(each.line, each.text) for each in sentences(text)] == [
        (1, "Title"), (3, "One."), (3, "Two is here."), (4, "Three is too."), (7, "§ four."),
    ]  # fmt: skip


def test_prose_keeps_its_lines() -> None:
    assert prose("a `b`\n\n```\nc\n```\nd") == "a §\n\n\n\n\nd"
