"""The documents about the code: every path and every name in backticks exists in the code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from tests.style import structure
from tests.style.sources import PROJECT, read, tree

pytestmark = pytest.mark.one_engine

DOCUMENTS = ("docs/ARCHITECTURE.md", "docs/EXTENDING.md", "docs/GLOSSARY.md")
EXAMPLES = {"models/key.py"}
"""Names of the changes that docs/EXTENDING.md takes as examples."""

FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+/[\w./-]*|[\w./-]+\.(?:conf\.py|in|md|py|sql|toml|txt)")
CLASS = re.compile(r"[A-Z][a-z]\w*")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def spans(document: str) -> list[str]:
    """Return the texts in backticks of a document, without those in fenced blocks."""
    return SPAN.findall(FENCED.sub("", read(PROJECT / document)))


def bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that the statements of a module or class define."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))


@cache
def scopes() -> Mapping[str, set[str]]:
    """Return the names defined in each module and each class, by the last part of the module's or class's name."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in structure.modules().items():
        found[module.rpartition(".")[2]].update(bound_names(tree(path).body))
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].update(bound_names(node.body))
    return found


@cache
def classes() -> set[str]:
    return set(structure.definitions(ast.ClassDef))


def exists(span: str) -> bool:
    """Return whether a path, a dotted name or a class exists; True for any other text.

    >>> exists("models/client.py"), exists("client.Client"), exists("RESOURCES"), exists("/metrics")
    (True, True, True, True)
    >>> exists("models/none.py"), exists("client.none"), exists("NoSuchClass"), exists("docs/x/")
    (False, False, False, False)
    """
    if PATH.fullmatch(span):
        return (PROJECT / span).exists()
    if DOTTED.fullmatch(span):
        *scope, name = span.split(".")
        return name in scopes().get(scope[-1], ())
    return not CLASS.fullmatch(span) or span in classes()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_and_names_exist(document: str) -> None:
    missing = [span for span in spans(document) if span not in EXAMPLES and not exists(span)]

    assert missing == []


def test_examples_are_used() -> None:
    assert {*spans("docs/EXTENDING.md")} >= EXAMPLES


@pytest.mark.parametrize(
    "span", ["models/none.py", "engine/none/", "client.none", "Database.none", "NoSuchClass", "none.md"]
)
def test_missing_name_is_found(span: str) -> None:
    assert not exists(span)


def test_architecture_names_every_package() -> None:
    names = {structure.package(each) for each in structure.modules()}
    packages = {f"{each}/" for each in names if (PROJECT / each).is_dir()}

    assert packages - {*spans("docs/ARCHITECTURE.md")} == set()
