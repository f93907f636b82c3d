"""The house itself: which room may import which, who may know Flask, that every door is marked."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from access.caller import STANDINGS
from access.caller import Role
from access.decorators import Unmarked
from access.decorators import check_marks
from access.policy import CALLS
from access.policy import POLICIES
from access.policy import AccessRule
from models import RESOURCES
from models.faults import Fault
from models.sql import operators
from models.sql.catalog import catalog
from models.sql.dialect import SPELLINGS
from models.sql.planner import Planner
from models.sql.planner import UnguardedRelation
from models.sql.rule import Action
from routes.gotrue import errors as gotrue_errors
from routes.postgrest import conditions
from routes.postgrest import errors
from routes.rpc import FUNCTIONS

PROJECT = Path(__file__).resolve().parent.parent
ROOMS = ("engine", "models", "access", "routes")
BESIDE = ("serving", "demo", "app.py", "config.py", "wsgi.py", "gunicorn.conf.py")
OURS = {
    "access",
    "app",
    "bench",
    "config",
    "demo",
    "engine",
    "models",
    "routes",
    "serving",
    "tests",
    "wsgi",
}
KNOWN = {
    "engine": {"engine", "models"},
    "models": {"models"},
    "access": {"engine", "models", "access"},
    "routes": {"models", "access", "routes", "config"},
    "demo": {"demo"},
    "serving": {"models", "config", "demo", "serving"},
    "config.py": set(),
    "app.py": {"models", "access", "routes", "config", "serving"},
    "wsgi.py": {"app"},
    "gunicorn.conf.py": {"app", "config", "serving"},
}
"""Of which of our rooms each may know."""
KNOWN_BESIDES = {
    "models/transaction.py": {"engine"},  # the positions that a look-up reads
    "routes/commands.py": {"serving"},  # what is served may not be restored or compacted
    "routes/metrics.py": {"serving"},  # the files in which the workers count
}
WEB = ("flask", "flask_sqlalchemy", "werkzeug")
WEB_KNOWN = {
    "app.py",
    "gunicorn.conf.py",
    "models/base.py",
    "models/attach.py",
    "models/db.py",
    "access/current.py",
    "access/decorators.py",
}
WEB_FREE = ("routes/postgrest/", "routes/gotrue/")
PSYCOPG_KNOWN = {
    *("psycopg", "psycopg.abc", "psycopg.adapt", "psycopg.conninfo", "psycopg.pq"),
    "psycopg.types.string",
}
IMPORTED_LATER = {"gunicorn.conf.py"}  # the application, once gunicorn has forked
ROLES_NAMED = {
    "access/policy.py",
    "access/caller.py",
    "access/assignments.py",  # whose functions are named by whom they grant something
}

TOLD_ELSEWHERE = {
    # By the console
    "ChangedMeanwhile", "DeviceNeeded", "ForgedForm", "NoSuchDevice", "SignInNeeded", "TooManyDownloads", "UnfitDevice",
    # By commands
    "InvalidArchive", "NoDatabaseUrl", "NoSuchPerson", "NotEmpty", "NotTheSame",
}  # fmt: skip


def modules() -> list[Path]:
    return [path for room in (*ROOMS, *BESIDE) for path in python_of(PROJECT / room)]


def python_of(room: Path) -> list[Path]:
    return [room] if room.is_file() else sorted(room.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def packages(path: Path) -> set[str]:
    return {imported.split(".")[0] for imported in imports(path)}


def name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


@pytest.mark.parametrize("path", modules(), ids=name)
def test_imports_point_one_way(path: Path) -> None:
    strangers = OURS - KNOWN[name(path).split("/")[0]]

    assert packages(path) & strangers == KNOWN_BESIDES.get(name(path), set())


@pytest.mark.parametrize("path", modules(), ids=name)
def test_flask_stays_at_the_edge(path: Path) -> None:
    knows = bool(packages(path) & set(WEB))

    at_the_edge = name(path).startswith("routes/") and not name(path).startswith(WEB_FREE)

    assert knows == (name(path) in WEB_KNOWN) or at_the_edge


@pytest.mark.parametrize("path", modules(), ids=name)
def test_psycopg_is_imported_by_the_postgres_engine_alone(path: Path) -> None:
    """And there only its documented modules: nothing private, and of `psycopg.pq` only enumerations."""
    driver = {each for each in imports(path) if each.split(".")[0] == "psycopg"}

    assert not driver or name(path).startswith("engine/postgres/")
    assert driver <= PSYCOPG_KNOWN


@pytest.mark.parametrize("path", python_of(PROJECT / "engine/postgres"), ids=name)
def test_no_statement_goes_past_psycopgs_connection(path: Path) -> None:
    used = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}

    assert not used & {"pgconn", "_pipeline", "_prepared", "_conn"}


@pytest.mark.parametrize("path", modules(), ids=name)
def test_nothing_is_imported_inside_a_function(path: Path) -> None:
    inside = [
        node.lineno
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert bool(inside) == (name(path) in IMPORTED_LATER)


@pytest.mark.parametrize("path", modules(), ids=name)
def test_a_role_is_named_where_it_is_decided(path: Path) -> None:
    """Whoever asks elsewhere which role it is says the rule a second time."""
    named: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            named |= {node.attr} if node.value.id == "Role" else set()
        elif isinstance(node, ast.ImportFrom) and node.module == "access.policy":
            named |= {alias.name for alias in node.names}

    assert not named & set(Role.__members__) or name(path) in ROLES_NAMED


@pytest.mark.parametrize("path", modules(), ids=name)
def test_the_environment_is_read_in_one_place(path: Path) -> None:
    """What a setting may be, and what else it may come from, is said once."""
    read = {
        node.attr
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    }

    assert bool(read & {"environ", "environb", "getenv"}) == (name(path) == "config.py")


def kinds(of: type[Fault]) -> set[type[Fault]]:
    return {each for direct in of.__subclasses__() for each in (direct, *kinds(direct))}


def test_every_fault_has_its_status() -> None:
    """One without a row is told as a bug of ours: by the API, at the sign-in's door, or where neither is asked."""
    for path in modules():
        if name(path).startswith(("engine/", "models/", "access/", "routes/")):
            import_module(
                name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            )
    told = errors.STATUSES.keys() | gotrue_errors.STATUSES.keys()

    untold = {
        each
        for each in kinds(Fault)
        if each.__module__.split(".")[0] != "tests" and not told & {*each.__mro__}
    }

    assert {each.__name__ for each in untold} == TOLD_ELSEWHERE


def mapped() -> list[Path]:
    """What the code map names file by file: neither packages, nor resources' two lines, nor the console's pages."""
    found = [path for room in (*ROOMS, "serving") for path in (PROJECT / room).rglob("*.py")]
    two_lines = {PROJECT / "routes" / f"{resource}.py" for resource in RESOURCES}
    return [
        path
        for path in sorted(set(found) - two_lines)
        if not path.name.startswith("__") and path.parent.name != "console"
    ]


@pytest.mark.parametrize("path", mapped(), ids=name)
def test_the_code_map_names_every_module(path: Path) -> None:
    document = (PROJECT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")

    assert f"`{path.name}`" in document or f"`{name(path)}`" in document, (
        "docs/ARCHITECTURE.md says where a stranger finds what: give the module its place there"
    )


def test_a_view_without_a_mark_does_not_start() -> None:
    app = Flask("house")
    app.add_url_rule("/open", view_func=lambda: "open")

    with pytest.raises(Unmarked):
        check_marks(app)


def test_every_resource_has_a_policy_for_every_role() -> None:
    assert set(POLICIES) == set(RESOURCES.values())
    assert all(set(policies) == set(Role) for policies in POLICIES.values())


def test_every_function_names_its_roles() -> None:
    assert set(CALLS) == set(FUNCTIONS)
    assert all(roles for roles in CALLS.values())


def test_the_grammar_and_the_engine_know_the_same_operators() -> None:
    """And the grammar bounds what a pattern's engine is given."""
    known = operators.OPERATORS.keys() | operators.ELSEWHERE.keys()

    assert known | {"in", "is"} == conditions.OPERATORS
    assert {
        name for name, each in operators.OPERATORS.items() if each.text_only
    } == conditions.PATTERNS


@pytest.mark.parametrize("standing", STANDINGS.values(), ids=map(str, range(len(STANDINGS))))
def test_a_plan_that_forgets_the_rule_is_not_made(standing: object) -> None:
    planner = Planner(SPELLINGS["sqlite"], AccessRule(standing))
    forgotten = catalog().relations["inspections"].table
    readings = catalog().relations["reports_lead"].table
    building, scope = planner.scoped(catalog().relations["buildings"], Action.READ)

    for statement in (
        sa.select(forgotten.c.id),
        sa.select(forgotten.alias("t").c.id),
        sa.select(sa.exists().where(forgotten.alias("t").c.id == 1)),
        sa.select(sa.select(forgotten.c.id).subquery()),
        sa.select(sa.literal(1)).where(sa.literal(1).in_(sa.select(forgotten.c.id))),
        sa.select(sa.literal(1)).select_from(building.join(forgotten, sa.true())).where(scope),
        sa.update(readings).values(result="x").where(readings.c.inspection_id == forgotten.c.id),
    ):
        with pytest.raises(UnguardedRelation):
            planner.finish(statement)


def test_a_plan_under_the_rule_is_made() -> None:
    planner = Planner(SPELLINGS["sqlite"], AccessRule(STANDINGS[Role.CLIENT_ADMIN, True, True]))
    alias, scope = planner.scoped(catalog().relations["inspections"], Action.READ)

    statement = planner.finish(sa.select(alias.c.id).where(scope))

    assert "client_id" in statement.sql
