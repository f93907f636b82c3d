"""Split prose into sentences, and count their words.

The input is Markdown or a docstring. Code blocks, doctests, tables and inline code do not count as prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

CODE = "§"
"""The placeholder for inline code: not a word, but a sentence can begin or end with it."""

ABBREVIATIONS = frozenset({"al", "approx", "ca", "cf", "e.g", "etc", "fig", "i.e", "no", "p", "pp", "resp", "st", "vs"})

FENCE = re.compile(r"^\s*(```|~~~)")
DELIMITER_ROW = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
RULE = re.compile(r"^\s*([-=*_])(\s*\1){2,}\s*$")
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])")
EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])")
END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s|$)")
WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the line on which it begins, counted from 1."""

    line: int
    text: str

    @property
    def words(self) -> int:
        return count_words(self.text)


def count_words(text: str) -> int:
    """Return the number of words. Punctuation between blanks and inline code are no words.

    >>> count_words("A lock - § - of 5 s.")
    5
    """
    return sum(WORD.search(each) is not None for each in text.split())


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a Markdown text or a docstring."""
    return [Sentence(line + offset, sentence) for line, block in blocks(text) for offset, sentence in split(block)]


def prose(text: str) -> str:
    """Return the text without code blocks, tables and inline code; the lines stay where they are."""
    lines = [""] * (text.count("\n") + 1)
    for first, block in blocks(text):
        for offset, line in enumerate(block.split("\n")):
            lines[first - 1 + offset] = line
    return "\n".join(lines)


def split(block: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of one paragraph: the offset of the first line, and the text on one line."""
    begin = 0
    for end in END.finditer(block):
        if is_end(block, end):
            yield from sentence_at(block, begin, end.end())
            begin = end.end()
    yield from sentence_at(block, begin, len(block))


def sentence_at(block: str, begin: int, end: int) -> Iterator[tuple[int, str]]:
    text = block[begin:end]
    if WORD.search(text):
        blanks = len(text) - len(text.lstrip())
        yield block.count("\n", 0, begin + blanks), " ".join(text.split())


def is_end(block: str, end: re.Match[str]) -> bool:
    """Return whether a full stop ends a sentence: not that of an abbreviation, an initial or an ellipsis."""
    following = block[end.end() :].lstrip()
    if not following:
        return True
    if end[0][0] != ".":
        return True
    if end[0].startswith("..") and following[0].islower():
        return False
    token = block[: end.start()].split()[-1:] or [""]
    last = token[0].lstrip("([\"'“‘*_")
    if last.lower() in ABBREVIATIONS:
        return last.lower() in {"etc", "no"} and following[0].isupper()
    return not (len(last) == 1 and last.isupper() and following[0].isupper())


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, heading and list item: its first line, and its text without markup."""
    lines = without_markup(text).expandtabs(4).split("\n")
    is_skipped = skipped_lines(lines)
    first, block = 0, list[str]()
    for number, line in enumerate([*lines, ""], start=1):
        skipped = number <= len(lines) and is_skipped[number - 1]
        starts = bool(LIST_ITEM.match(line) or HEADING.match(line))
        if block and (skipped or starts or not line.strip()):
            yield first, "\n".join(block)
            block = []
        if skipped or not line.strip():
            continue
        if not block:
            first = number
        block.append(HEADING.sub("", LIST_ITEM.sub("", line)).lstrip("> "))
        if HEADING.match(line):
            yield first, "\n".join(block)
            block = []


def without_markup(text: str) -> str:
    """Return the text without inline code, links' targets, comments, tags and emphasis. Line ends stay."""
    text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    fenced = False
    kept = list[str]()
    for line in text.split("\n"):
        fences = FENCE.match(line) is not None
        kept.append("```" if fences else "" if fenced else line)
        fenced ^= fences
    text = INLINE_CODE.sub(
        lambda found: found[0] if "\n\n" in found[0] or "```" in found[0] else CODE + "\n" * found[0].count("\n"),
        "\n".join(kept),
    )
    text = LINK.sub(r"\1", IMAGE.sub(r"\1", text))
    return EMPHASIS.sub("", TAG.sub("", text))


def skipped_lines(lines: list[str]) -> list[bool]:
    """Tell for each line whether it is a fence, a table, a doctest, a rule, or indented code."""
    skipped = [False] * len(lines)
    doctest = code = in_list = False
    previous_is_blank = True
    for index, line in enumerate(lines):
        blank = not line.strip()
        doctest = not blank and (doctest or line.lstrip().startswith(">>> "))
        if LIST_ITEM.match(line):
            in_list = True
        elif not blank and not line.startswith(" "):
            in_list = False
        indented = line.startswith("    ") and not in_list
        code = indented and (code or previous_is_blank)
        skipped[index] = doctest or code or bool(FENCE.match(line) or RULE.match(line))
        previous_is_blank = blank
        if DELIMITER_ROW.match(line) and "-" in line:
            mark_table(lines, skipped, index)
        if line.lstrip().startswith("|"):
            skipped[index] = True
    return skipped


def mark_table(lines: list[str], skipped: list[bool], delimiter: int) -> None:
    """Mark the header above a delimiter row and all rows below it."""
    if delimiter == 0 or "|" not in lines[delimiter - 1] or "|" not in lines[delimiter] + lines[delimiter - 1]:
        return
    skipped[delimiter - 1] = True
    row = delimiter
    while row < len(lines) and "|" in lines[row]:
        lines[row] = "| " + lines[row].strip().lstrip("|")
        skipped[row] = True
        row += 1
