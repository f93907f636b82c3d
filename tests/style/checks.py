"""The rules of style that a program can decide. Each check returns its violations.

`folders` limits a check to paths below them; `""` is the whole project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from tests.style import sources, structure
from tests.style.sentences import count_words, prose, sentences
from tests.style.sources import Kind

SENTENCE_WORDS_MAX = 25
DOCUMENTS_WORDS_MAX = 20_000
MODULES_MAX = 2
SHARED_FUNCTIONS_MAX = 30
EXCERPT_CHARACTERS = 90

BANNED = (
    "whoever", "whomever", "somebody", "nobody", "anybody", "everybody",
    "of those that", "of those who", "unless said", "told", "is said", "was said", "but for",
    "the trail", "audit trail", "turn to write", "turn to hash", "turns to write",
    "board", "boards", "door", "doors", "crew", "seat", "seats", "the house",
)  # fmt: skip
"""Words of the project's former private language. Each is a whole word, in any case.

`room`, `turn`, `walk` and `trip` have plain meanings as well, so a program cannot decide about them.
"""

BANNED_PATTERN = re.compile(
    r"(?<![\w-])(" + "|".join(each.replace(" ", r"\s+") for each in BANNED) + r")(?![\w-])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """A place that breaks a rule."""

    path: str
    line: int
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.detail}"


def is_within(path: str, folders: Collection[str]) -> bool:
    """Return whether a path is one of the folders or files, or below one.

    >>> is_within("docs/a.md", {"docs"}), is_within("docsets.md", {"docs"}), is_within("a", {""})
    (True, False, True)
    """
    return any(not each or path == each or path.startswith(f"{each}/") for each in folders)


def long_sentences(folders: Collection[str]) -> Iterator[Violation]:
    """Yield the sentences of documents and docstrings with more than SENTENCE_WORDS_MAX words."""
    for piece in sources.collect():
        if piece.kind not in {Kind.DOCUMENT, Kind.DOCSTRING} or not is_within(piece.path, folders):
            continue
        for sentence in sentences(piece.text):
            if sentence.words > SENTENCE_WORDS_MAX:
                line = piece.line + sentence.line - 1
                detail = f"{sentence.words} words: {excerpt(sentence.text)}"
                yield Violation(piece.path, line, "long sentence", detail)


def excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARACTERS else f"{text[:EXCERPT_CHARACTERS]}…"


def banned_words(folders: Collection[str]) -> Iterator[Violation]:
    """Yield the banned words of all prose."""
    for piece in sources.collect():
        if not is_within(piece.path, folders):
            continue
        text = prose(piece.text) if piece.kind is not Kind.TEMPLATE else piece.text
        for found in BANNED_PATTERN.finditer(text):
            line = piece.line + text.count("\n", 0, found.start())
            around = " ".join(text[max(0, found.start() - 35) : found.end() + 35].split())
            detail = f"{' '.join(found[0].split())} ({piece.kind}): {around}"
            yield Violation(piece.path, line, "banned word", detail)


def document_words(folders: Collection[str]) -> Mapping[str, int]:
    """Return the number of words of each document."""
    return {
        piece.path: count_words(piece.text)
        for piece in sources.collect()
        if piece.kind is Kind.DOCUMENT and is_within(piece.path, folders)
    }


def repeated_classes(folders: Collection[str]) -> Iterator[Violation]:
    """Yield the public classes whose name stands in more than one module."""
    for name, places in structure.definitions(ast.ClassDef).items():
        if len({path for path, _ in places}) > 1:
            for path, line in places:
                if is_within(path, folders):
                    others = ", ".join(each for each, _ in places if each != path)
                    yield Violation(path, line, "repeated class", f"{name}: also in {others}")


def shared_functions(folders: Collection[str]) -> Mapping[str, list[tuple[str, int]]]:
    """Return the public functions whose name stands in more than MODULES_MAX modules."""
    found: dict[str, list[tuple[str, int]]] = {}
    for name, places in structure.definitions(ast.FunctionDef).items():
        within = [place for place in places if is_within(place[0], folders)]
        if len({path for path, _ in within}) > MODULES_MAX:
            found[name] = within
    return found


def repeated_functions(folders: Collection[str]) -> Iterator[Violation]:
    """Yield the functions of `shared_functions`."""
    for name, places in shared_functions(folders).items():
        for path, line in places:
            yield Violation(path, line, "repeated function", f"{name}: in {len(places)} modules")


def upward_imports(folders: Collection[str]) -> Iterator[Violation]:
    """Yield the imports of a package of the same layer or a higher one."""
    for module, path in structure.modules().items():
        if not is_within(sources.name(path), folders):
            continue
        for imported, line in structure.imports(module):
            if not structure.is_downward(structure.package(module), structure.package(imported)):
                yield Violation(sources.name(path), line, "upward import", f"{module} imports {imported}")


def import_cycles(folders: Collection[str]) -> Iterator[Violation]:
    """Yield the imports between modules of one import cycle."""
    graph = {module: [imported for imported, _ in structure.imports(module)] for module in structure.modules()}
    for number, cycle in enumerate(structure.cycles(graph), start=1):
        for module in cycle:
            path = sources.name(structure.modules()[module])
            if not is_within(path, folders):
                continue
            for imported, line in structure.imports(module):
                if imported in cycle:
                    detail = f"{module} imports {imported} (cycle {number}, {len(cycle)} modules)"
                    yield Violation(path, line, "import cycle", detail)


CHECKS: Mapping[str, Callable[[Collection[str]], Iterator[Violation]]] = {
    "long sentence": long_sentences,
    "banned word": banned_words,
    "repeated class": repeated_classes,
    "repeated function": repeated_functions,
    "upward import": upward_imports,
    "import cycle": import_cycles,
}
