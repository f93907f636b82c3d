"""The structure of the console: no SQL, no role names, Flask only where needed, templates without inline code."""

import ast
import re
from pathlib import Path

import pytest

import routes.console
from access.roles import Role

pytestmark = pytest.mark.one_engine

PACKAGE = Path(routes.console.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
TEMPLATES = sorted((PACKAGE / "templates").glob("*.html"))
FLASK_FREE = {"charts", "display", "fields", "list_query", "tables", "template_filters"}
RULE_NAMES = {("template_filters", "super_admin")}
"""The access rule of super admins, which has the name of the role."""


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_console_has_no_sql(path: Path) -> None:
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

    assert "sqlalchemy" not in imported or path.stem == "queries"
    assert not [text for text in texts if text.startswith(("SELECT ", "INSERT ", "UPDATE ", "DELETE "))]
    assert not called & {"run", "all", "value", "execute", "one_or_none"}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_console_names_no_role(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    roles = {role.value for role in Role}
    named = {
        (path.stem, node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in roles
    }
    members = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert named <= RULE_NAMES
    assert not members & {role.name for role in Role}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_components_without_flask_do_not_import_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert path.stem not in FLASK_FREE or "from flask" not in text


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_templates_escape_values_and_have_no_inline_style_or_script(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    for unsafe in ("|safe", "| safe", "autoescape", "Markup", " style=", "<style", "javascript:"):
        assert unsafe not in text, unsafe
    assert not re.search(r"\son[a-z]+\s*=", text)
    assert text.count("<script") == text.count('<script src="{{ static_url(')


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_lines_of_templates_have_at_most_140_characters(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert [each for each in lines if len(each) > 140] == []
