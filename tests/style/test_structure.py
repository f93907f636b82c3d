"""The structure of the product: imports, unique names, marks on views, and tables that have to be complete."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from access.decorators import UnguardedView, check_guards
from access.policy import POLICIES, AccessRule
from access.roles import GRANT_PROFILES, GrantProfile, Role
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read import expressions
from engine.query.read.planner import Planner, UnguardedRelation
from engine.query.statement import Action
from models import RESOURCES
from models.types import Fault
from routes.functions.rpc import FUNCTIONS
from routes.postgrest import querystring
from tests.style import structure
from tests.style.sources import files, name, nodes

WEB = {"flask", "flask_sqlalchemy", "werkzeug"}
WEB_IMPORTERS = {
    "app.py",
    "gunicorn.conf.py",
    "models/fields.py",
    "engine/open.py",
    "access/session.py",
    "access/decorators.py",
}
"""The files outside of `routes/` that import Flask."""

WEB_FREE = ("routes/postgrest/",)
IMPORTED_LATER = {
    "gunicorn.conf.py",  # the application, after gunicorn's fork
    "serving/__main__.py",  # the demonstration, if it is served
}
ROLE_NAMES = {"access/policy.py", "access/predicates.py", "access/roles.py", "access/assignments.py"}
"""The files that name a role."""

SHARED_FUNCTIONS_MAX = 30

WITHOUT_CODE = {
    # The console answers them with a page
    "KioskTokenRequired", "SignInRequired",
    # Its subclasses have codes
    "ConstraintViolation",
    # Commands print them
    "InvalidArchive", "NoSuchUser", "TargetNotEmpty", "CopyMismatch",
}  # fmt: skip
"""Errors with neither a code nor a status."""


def product() -> list[Path]:
    """Return the modules of the service, without the benchmark."""
    return [path for path in structure.modules().values() if not name(path).startswith("bench/")]


def test_packages_import_only_lower_layers() -> None:
    assert structure.upward_imports() == []


def test_modules_have_no_import_cycles() -> None:
    assert structure.cycles({module: structure.imports(module) for module in structure.modules()}) == []


def test_no_two_folders_import_each_other() -> None:
    assert structure.cycles(structure.folder_imports()) == []


def test_tarjan_finds_components_with_cycles() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": [], "e": ["e"], "f": ["a", "g"], "g": ["f"]}

    assert structure.cycles(graph) == [["b", "c"], ["e"], ["f", "g"]]


@pytest.mark.parametrize(
    ("importer", "imported", "expected"),
    [
        ("routes", "access", True),
        ("access", "routes", False),
        ("models", "models", True),
        ("models", "config", False),
        ("serving", "config", True),
        ("routes", "serving", False),
        ("wsgi", "app", True),
        ("models", "tests", False),
    ],
)
def test_layer_is_compared(importer: str, imported: str, expected: bool) -> None:
    assert structure.is_downward(importer, imported) is expected


def test_public_class_names_are_unique() -> None:
    repeated = {each: paths for each, paths in structure.definitions(ast.ClassDef).items() if len(paths) > 1}

    assert repeated == {}


def test_few_function_names_are_shared_by_modules() -> None:
    shared = [each for each, paths in structure.definitions(ast.FunctionDef).items() if len(paths) > 2]

    assert len(shared) <= SHARED_FUNCTIONS_MAX, sorted(shared)


def test_flask_is_imported_at_the_edge_only() -> None:
    importers = {name(path) for path in product() if packages_imported(path) & WEB}
    edge = {each for each in importers if each.startswith("routes/") and not each.startswith(WEB_FREE)}

    assert importers - edge == WEB_IMPORTERS


def test_only_the_engine_opens_sqlite() -> None:
    """Two copies of SQLite in one process ignore each other's locks and corrupt a file."""
    importers = {name(path) for path in files(".py") if {"sqlite3", "pysqlite3"} & packages_imported(path)}

    assert importers == {"engine/storage/sqlite.py"}


def test_engine_compiles_statements() -> None:
    """Other code uses engine/rows.py. The look-up of a caller has statements of its own."""
    compilers = {name(path) for path in product() if "compile_statement" in path.read_text()}

    assert {each for each in compilers if not each.startswith(("engine/", "postgres/"))} == {"access/session.py"}


def test_the_second_engine_is_loaded_by_name_only() -> None:
    importers = {name(path) for path in product() if "postgres" in packages_imported(path)}

    assert {importer for importer in importers if not importer.startswith(("postgres/", "bench/"))} == set()


def test_only_its_package_imports_psycopg() -> None:
    importers = {name(path) for path in product() if "psycopg" in packages_imported(path)}

    assert {Path(importer).parent.as_posix() for importer in importers} <= {"postgres", "bench"}


def packages_imported(path: Path) -> set[str]:
    return {structure.package(target) for node in nodes(path) for target in structure.targets(node)}


def test_functions_import_nothing() -> None:
    importers = {
        name(path)
        for path in product()
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }

    assert importers == IMPORTED_LATER


def test_roles_are_named_in_the_policy_only() -> None:
    """A role that another file names is a second copy of the rule."""
    named = {name(path) for path in product() if names_of_roles(path)}

    assert {path for path in named if not path.startswith("demo/")} == ROLE_NAMES


def names_of_roles(path: Path) -> set[str]:
    attributes = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
    return (attributes | {node.id for node in nodes(path) if isinstance(node, ast.Name)}) & set(Role.__members__)


def test_environment_is_read_in_config_only() -> None:
    readers = {
        name(path)
        for path in product()
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
        if node.attr in {"environ", "environb", "getenv"}
    }

    assert readers == {"config.py"}


def subclasses(of: type[Fault]) -> set[type[Fault]]:
    return {each for direct in of.__subclasses__() for each in (direct, *subclasses(direct))}


def test_every_error_class_has_a_code() -> None:
    """An error without a code is answered as an internal error."""
    for module in structure.modules():
        if structure.package(module) in {"models", "engine", "postgres", "access", "inspections", "routes"}:
            import_module(module)
    codeless = {
        each.__name__
        for each in subclasses(Fault)
        if structure.package(each.__module__) != "tests" and each.code == Fault.code and each.status is None
    }

    assert codeless == WITHOUT_CODE


def test_app_with_an_unmarked_view_does_not_start() -> None:
    app = Flask("unmarked")
    app.add_url_rule("/open", view_func=lambda: "open")

    with pytest.raises(UnguardedView):
        check_guards(app)


def test_every_resource_has_a_policy_for_every_role() -> None:
    assert set(POLICIES) == set(RESOURCES.values())
    assert all(set(policies) == set(Role) for policies in POLICIES.values())


def test_every_function_names_its_roles() -> None:
    assert all(each.roles for each in FUNCTIONS.values())


def test_parser_and_engine_have_the_same_operators() -> None:
    """The parser limits the length of a pattern, so both name the same pattern operators as well."""
    known = expressions.OPERATORS.keys() | expressions.UNSUPPORTED_SYMBOLS.keys()

    assert known | {"in", "is"} == querystring.OPERATOR_NAMES
    assert {operator for operator, each in expressions.OPERATORS.items() if each.text_only} == querystring.PATTERNS


@pytest.mark.parametrize("profile", GRANT_PROFILES.values(), ids=map(str, range(len(GRANT_PROFILES))))
def test_planner_refuses_a_statement_without_the_rule(profile: GrantProfile) -> None:
    planner = Planner(DIALECTS["sqlite"], AccessRule(profile))
    unguarded = catalog().relations["inspections"].table
    readings = catalog().relations["reports_lead"].table
    building, scope = planner.scoped(catalog().relations["buildings"], Action.READ)

    for statement in (
        sa.select(unguarded.c.id),
        sa.select(unguarded.alias("t").c.id),
        sa.select(sa.exists().where(unguarded.alias("t").c.id == 1)),
        sa.select(sa.select(unguarded.c.id).subquery()),
        sa.select(sa.literal(1)).where(sa.literal(1).in_(sa.select(unguarded.c.id))),
        sa.select(sa.literal(1)).select_from(building.join(unguarded, sa.true())).where(scope),
        sa.update(readings).values(result="x").where(readings.c.inspection_id == unguarded.c.id),
    ):
        with pytest.raises(UnguardedRelation):
            planner.finish(statement)


def test_planner_accepts_a_statement_with_the_rule() -> None:
    planner = Planner(DIALECTS["sqlite"], AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True]))
    alias, scope = planner.scoped(catalog().relations["inspections"], Action.READ)

    statement = planner.finish(sa.select(alias.c.id).where(scope))

    assert "client_id" in statement.sql
