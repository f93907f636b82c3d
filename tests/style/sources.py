"""Collect the prose of the project: documents, docstrings, comments, messages, and the text of the console's pages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from tests.style.sentences import CODE

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "access", "bench", "bin", "demo", "docs", "engine", "inspections", "models",
    "requirements", "routes", "serving", "tests",
)  # fmt: skip
GENERATED = {"bench/RESULTS.md"}
SKIPPED = {".cache", ".venv", "__pycache__", "node_modules"}
SETTING = re.compile(r"#\s*(?:noqa|type:|fmt:|pragma|mypy:|ruff:|nosec|!)")
"""Comments that instruct a tool."""

MESSAGES = {"hint", "message", "details", "description", "help", "reason"}
"""Keyword arguments that hold text for people."""

JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
QUOTED = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
ATTRIBUTES = {"alt", "aria-label", "placeholder", "title"}


class Kind(StrEnum):
    """Where a piece of prose stands."""

    DOCUMENT = "document"
    DOCSTRING = "docstring"
    COMMENT = "comment"
    MESSAGE = "message"
    TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Prose:
    """A piece of prose: the file's path in the project, its first line, and the text."""

    path: str
    line: int
    kind: Kind
    text: str


def files(suffix: str) -> list[Path]:
    """Return the project's own files that end with a suffix, sorted by path."""
    found = [path for path in PROJECT.glob(f"*{suffix}") if path.is_file()]
    for folder in FOLDERS:
        found += (PROJECT / folder).rglob(f"*{suffix}")
    return sorted(path for path in found if not SKIPPED & {*path.parts} and name(path) not in GENERATED)


def name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(read(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module's syntax tree."""
    return tuple(ast.walk(tree(path)))


@cache
def collect() -> tuple[Prose, ...]:
    """Return all prose of the project."""
    found = [Prose(name(path), 1, Kind.DOCUMENT, read(path)) for path in files(".md")]
    for path in files(".py"):
        found += docstrings(path)
        found += comments(path)
        found += messages(path)
    for path in files(".html"):
        found += template(path)
    return tuple(found)


def docstrings(path: Path) -> Iterator[Prose]:
    """Yield each string that stands alone as a statement: docstrings, and those of attributes."""
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Prose(name(path), node.lineno, Kind.DOCSTRING, dedent(node.value.value))


def dedent(text: str) -> str:
    """Return a docstring without the indentation of its lines; each line keeps its number."""
    first, *rest = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:] for line in rest)])


def comments(path: Path) -> Iterator[Prose]:
    """Yield comments; those on adjacent lines of their own are one."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(read(path)).readline):
        if token.type != tokenize.COMMENT or SETTING.match(token.string):
            continue
        line = token.start[0]
        alone = not token.line[: token.start[1]].strip()
        text = token.string.lstrip("#").strip()
        if block and alone and line == last + 1:
            block.append(text)
        else:
            if block:
                yield Prose(name(path), first, Kind.COMMENT, "\n".join(block))
            block, first = [text], line
        last = line if alone else 0
    if block:
        yield Prose(name(path), first, Kind.COMMENT, "\n".join(block))


def messages(path: Path) -> Iterator[Prose]:
    """Yield texts for people: in what is raised, in calls of `super().__init__`, and in arguments such as `hint`."""
    seen: set[int] = set()
    for node in nodes(path):
        for argument in message_arguments(node):
            for part in ast.walk(argument):
                text = text_of(part)
                if text is None or id(part) in seen or not isinstance(part, ast.expr):
                    continue
                seen |= {id(each) for each in ast.walk(part)}
                if " " in text.strip():
                    yield Prose(name(path), part.lineno, Kind.MESSAGE, text)


def message_arguments(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return [*node.exc.args, *(keyword.value for keyword in node.exc.keywords)]
    if not isinstance(node, ast.Call):
        return []
    named = [keyword.value for keyword in node.keywords if keyword.arg in MESSAGES]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
        return [*node.args, *named]
    return named


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string or an f-string, with a placeholder for each expression in it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or CODE for part in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


class PageText(HTMLParser):
    """The text of a page, by line: what a browser shows, and attributes that are read aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in {"script", "style"}
        for attribute, value in attrs:
            if attribute in ATTRIBUTES and value:
                self.found.append((self.getpos()[0], value))

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if data.strip() and not self.hidden:
            blanks = len(data) - len(data.lstrip())
            self.found.append((self.getpos()[0] + data.count("\n", 0, blanks), data.strip()))


def template(path: Path) -> Iterator[Prose]:
    """Yield the text of a Jinja template, and the strings with a blank in its expressions."""
    text = read(path)
    for expression in JINJA.finditer(text):
        if expression[0].startswith("{#"):
            continue
        for quoted in QUOTED.finditer(expression[0]):
            string = quoted[1] or quoted[2] or ""
            if " " in string.strip():
                line = text.count("\n", 0, expression.start() + quoted.start()) + 1
                yield Prose(name(path), line, Kind.TEMPLATE, string)
    page = PageText()
    page.feed(JINJA.sub(lambda found: CODE + "\n" * found[0].count("\n"), text))
    page.close()
    for line, shown in page.found:
        if any(each.isalpha() for each in shown):
            yield Prose(name(path), line, Kind.TEMPLATE, shown)
