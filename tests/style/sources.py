"""The project's own files, and the syntax trees of its modules."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = (
    ".ci", "access", "bench", "bin", "demo", "docs", "engine", "inspections", "models",
    "requirements", "routes", "serving", "tests",
)  # fmt: skip
SKIPPED = {".cache", ".hypothesis", "__pycache__", "node_modules"}


def files(suffix: str = "") -> list[Path]:
    """Return the project's own files that end with a suffix, sorted by path."""
    candidates = [*PROJECT.glob(f"*{suffix}")]
    for folder in FOLDERS:
        candidates += (PROJECT / folder).rglob(f"*{suffix}")
    return sorted(path for path in candidates if path.is_file() and not SKIPPED & {*path.parts})


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
