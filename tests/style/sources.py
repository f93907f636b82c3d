"""The project's own files, and the syntax trees of its modules."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = (
    ".ci", "access", "bench", "bin", "demo", "docs", "engine", "inspections", "models", "postgres",
    "requirements", "routes", "serving", "tests",
)  # fmt: skip
SKIPPED = {".cache", ".hypothesis", "__pycache__", "node_modules"}


@cache
def files(suffix: str = "") -> list[Path]:
    """Return the project's own files that end with a suffix, sorted by path."""
    paths = [path for path in PROJECT.iterdir() if path.is_file()]
    for top in FOLDERS:
        for folder, subfolders, names in os.walk(PROJECT / top):
            subfolders[:] = [each for each in subfolders if each not in SKIPPED]
            paths += [Path(folder, each) for each in names]
    return sorted(path for path in paths if path.name.endswith(suffix))


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
