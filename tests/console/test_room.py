"""The room itself: no SQL, no role and no rule of its own, and few modules that know Flask."""

import ast
import re
from pathlib import Path

import pytest

import routes.console
from access.caller import Role

ROOM = Path(routes.console.__file__).parent
MODULES = sorted(ROOM.glob("*.py"))
TEMPLATES = sorted((ROOM / "templates").glob("*.html"))
FLASK_FREE = {"charts", "choosing", "engine", "fields", "listing", "seal", "wording"}
RULE_NAMES = {("wording", "super_admin")}
"""What an explanation calls the rule that lets super admins see everything."""


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_nothing_is_asked_but_through_the_engine(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        each.name if isinstance(node, ast.Import) else node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    }
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [constant for constant in constants if isinstance(constant, str)]
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {call.attr for call in calls if isinstance(call, ast.Attribute)}

    assert "sqlalchemy" not in imported or path.stem == "engine"
    assert not [
        text for text in texts if text.startswith(("SELECT ", "INSERT ", "UPDATE ", "DELETE "))
    ]
    assert not called & {"run", "all", "value", "execute", "one_or_none"}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_no_role_is_named(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    roles = {role.value for role in Role}
    named = {
        (path.stem, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in roles
    }
    members = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert named <= RULE_NAMES
    assert not members & {role.name for role in Role}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_flask_stays_in_the_views(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert path.stem not in FLASK_FREE or "from flask" not in text


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_templates_escape_everything_and_hold_no_style_or_script(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    for hole in ("|safe", "| safe", "autoescape", "Markup", " style=", "<style", "javascript:"):
        assert hole not in text, hole
    assert not re.search(r"\son[a-z]+\s*=", text)
    assert text.count("<script") == text.count('<script src="/console/static/')
