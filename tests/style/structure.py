"""Names and imports of the project's modules."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.style.sources import PROJECT, files, name, nodes, tree

LAYERS: Mapping[str, int] = {
    "gunicorn": 8, "wsgi": 8, "app": 7, "bench": 7,
    "serving": 6, "routes": 5, "inspections": 4, "access": 3, "postgres": 3, "engine": 2, "demo": 2,
    "models": 1, "config": 1, "settings": 0, "system": 0,
}  # fmt: skip
"""A package imports itself and packages of lower layers. `app.py`, `wsgi.py` and `gunicorn.conf.py` are on top."""


@cache
def modules() -> Mapping[str, Path]:
    """Return the product's modules by their dotted names."""
    return {
        dotted(path): path
        for path in files(".py")
        if path.relative_to(PROJECT).parts[0] not in {"tests", "docs", "bin"}
    }


def dotted(path: Path) -> str:
    """Return the name by which a module is imported.

    >>> dotted(PROJECT / "models" / "__init__.py"), dotted(PROJECT / "models" / "client.py")
    ('models', 'models.client')
    """
    return name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def package(module: str) -> str:
    return module.split(".")[0]


@cache
def imports(module: str) -> tuple[str, ...]:
    """Return the modules of the project that a module imports. TYPE_CHECKING imports are included."""
    known = modules()
    imported = dict.fromkeys(target for node in nodes(known[module]) for target in targets(node))
    return tuple(each for each in imported if each in known or package(each) == "tests")


def targets(node: ast.AST) -> Iterator[str]:
    """Yield the modules that an import statement names: of a package, the submodule rather than the package."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            yield submodule if submodule in modules() else node.module


def is_downward(importer: str, imported: str) -> bool:
    """Return whether a package may import another one."""
    if importer == imported:
        return True
    if imported not in LAYERS:
        return False
    return LAYERS[imported] < LAYERS.get(importer, 8)


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components with more than one node, or with an edge to itself (Tarjan).

    >>> cycles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["d"]})
    [['b', 'c'], ['d']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for neighbour in graph.get(node, ()):
            if neighbour not in index:
                visit(neighbour)
                low[node] = min(low[node], low[neighbour])
            elif neighbour in stack:
                low[node] = min(low[node], index[neighbour])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1 or node in graph.get(node, ()):
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return sorted(found)


def upward_imports() -> list[str]:
    """Return the imports of a package of the same layer or a higher one."""
    return sorted(
        f"{module} imports {imported}"
        for module in modules()
        for imported in imports(module)
        if not is_downward(package(module), package(imported))
    )


def definitions(kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> Mapping[str, set[str]]:
    """Return the public classes or functions of all modules by name: the paths that define each."""
    places: dict[str, set[str]] = defaultdict(set)
    for path in modules().values():
        for node in tree(path).body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                places[node.name].add(name(path))
    return places


def folder_imports() -> Mapping[str, set[str]]:
    """Return the folders that the modules of each folder import, without the project's own folder."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in modules().items():
        for target in imports(module):
            if target in modules():
                graph[name(path.parent)].add(name(modules()[target].parent))
    return {folder: others - {folder, "."} for folder, others in graph.items() if folder != "."}
