"""The tables of docs/ACCESS.md and access/policy.py state the same rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from access import explain, predicates
from access.explain import DOCUMENT
from access.policy import EVERYTHING, POLICIES, Policy
from access.predicates import AnyOf
from access.roles import Role
from models import RESOURCES, AuditLog, Building, File, FindingEvent, Inspection, InspectionPlan, IssuedReport, Notice
from routes.functions.rpc import FUNCTIONS

pytestmark = pytest.mark.one_engine


def section(title: str) -> str:
    return DOCUMENT.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def test_table_of_rules_equals_policy() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")

    assert text.partition(explain.BEGIN)[2].partition(explain.END)[0] == explain.table_text(), "flask schema --write"


def test_table_is_written_between_its_comments(tmp_path: Path) -> None:
    file = tmp_path / "ACCESS.md"
    file.write_text(f"before\n{explain.BEGIN}stale\n{explain.END}\nafter\n", encoding="utf-8")

    explain.write_table(file)

    assert file.read_text(encoding="utf-8") == f"before\n{explain.BEGIN}{explain.table_text()}{explain.END}\nafter\n"


def test_super_admin_reads_all_rows_and_writes_all_except_those_of_the_service() -> None:
    rules = {model: POLICIES[model][Role.SUPER_ADMIN] for model in RESOURCES.values()}

    for model in (AuditLog, FindingEvent, InspectionPlan, IssuedReport, Notice):
        assert rules.pop(model) == Policy(read=predicates.every_row)
    assert rules.pop(File) == Policy(
        predicates.every_row, None, predicates.no_row, predicates.every_row, predicates.no_row
    )
    assert set(rules.values()) == {EVERYTHING}


def test_functions_with_restricted_privileges_are_named() -> None:
    text = section("Privileges and row rules")

    for name, function in FUNCTIONS.items():
        assert (f"`{name}`" in text) == (function.roles != frozenset(Role)), name


def test_every_reason_of_an_explanation_is_documented() -> None:
    text = section("Checks and explanations")

    for role in Role:
        for model in (Building, Inspection):
            read = POLICIES[model][role].read
            for rule in read.parts if isinstance(read, AnyOf) else (read,):
                name = role.value if rule is predicates.every_row else rule.__name__
                assert f"| `{name}` |" in text, name
