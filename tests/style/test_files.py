"""The project's files: how many and how long they are, and that each is named by another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.style import structure
from tests.style.sources import files, name, nodes

OTHER_FOLDERS = {"bench", "demo", "tests"}
PRODUCT_LINES_MAX = 58_000
PRODUCT_MODULES_MAX = 260
BENCHMARK_LINES_MAX = 1_800
FILE_LINES_MAX = 600

NAMED_BY_PATTERN = re.compile(
    r"\.gitignore|conftest\.py|__(?:init|main)__\.py|package\.json|pyproject\.toml|test_.*\.py|.*\.test\.js"
    r"|\d{4}_\w+\.(?:sqlite|postgresql)\.sql"
)
"""The names of files that Python, Git, npm, node, pytest and the service, as migrations, find on their own."""


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def folder(path: Path) -> str:
    return name(path).partition("/")[0]


def test_product_keeps_its_size() -> None:
    product = [path for path in files(".py") if folder(path) not in OTHER_FOLDERS]

    assert sum(map(lines, product)) <= PRODUCT_LINES_MAX
    assert len(product) <= PRODUCT_MODULES_MAX


def test_benchmark_keeps_its_size() -> None:
    assert sum(lines(path) for path in files(".py") if folder(path) == "bench") <= BENCHMARK_LINES_MAX


def test_files_have_at_most_600_lines() -> None:
    assert [name(path) for path in files(".py") if lines(path) > FILE_LINES_MAX] == []


def test_every_module_is_used() -> None:
    """A module that only tests import is no part of the product."""
    ours = [path for path in files() if folder(path) != "tests"]

    assert unused_modules(ours) + unused_modules(files(), of="tests") == []


def unused_modules(users: list[Path], of: str = "") -> list[str]:
    """Return the modules that none of the files imports or names."""
    imported = {each for path in users if path.suffix == ".py" for node in nodes(path) for each in imports(node)}
    modules = {path: structure.dotted(path) for path in users if path.suffix == ".py" and folder(path).startswith(of)}
    return [
        module
        for path, module in modules.items()
        if not NAMED_BY_PATTERN.fullmatch(path.name)
        and module not in imported
        and not any(module in text(other) or name(path) in text(other) for other in users if other != path)
    ]


def imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield node.module or ""


def test_every_other_file_is_named() -> None:
    unnamed = [
        name(path)
        for path in files()
        if path.suffix != ".py"
        and not NAMED_BY_PATTERN.fullmatch(path.name)
        and not any(path.name in text(other) for other in files() if other != path)
    ]

    assert unnamed == []


def test_no_file_is_a_database() -> None:
    assert [name(path) for path in files() if path.read_bytes().startswith(b"SQLite format 3")] == []


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
