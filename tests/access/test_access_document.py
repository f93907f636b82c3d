"""The tables of docs/ACCESS.md and access/policy.py state the same rules."""

from __future__ import annotations

from pathlib import Path

from access import policy
from access.caller import Role
from access.policy import EVERYTHING, FUNCTION_ROLES, POLICIES, Policy
from access.predicate import AllOf, AnyOf
from models import RESOURCES, AuditLog, Building, Inspection

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "ACCESS.md"

WORDS: dict[object, str] = {
    policy.every_row: "every row",
    policy.no_row: "no row",
    policy.client_ownership: "rows of their client",
    policy.building_grant: "granted buildings",
    policy.through_building: "inspections of granted buildings",
    policy.inspection_grant: "granted inspections",
    policy.of_granted_inspection: "readings of inspections that a grant shows",
    policy.on_visible_inspection: "inspectors of inspections that they read",
    policy.own_client: "their client",
    policy.own_manager: "managers of their client",
    policy.own_user: "themselves",
    policy.to_own_user: "grants to users of their client",
    policy.to_own_manager: "grants to managers of their client",
    policy.to_caller: "grants to themselves",
    policy.on_own_building: "on buildings of their client",
    policy.on_own_inspection: "on inspections of their client",
    policy.signed_by_caller_or_unsigned: "with `assigned_by` null or themselves",
    None: "no privilege",
}


def claims_of(predicate: object) -> list[object]:
    return list(predicate.parts) if isinstance(predicate, AllOf) else [predicate]


def words_of(predicate: object) -> str:
    if isinstance(predicate, AnyOf):
        return "; ".join(words_of(each) for each in predicate.parts)
    return ", ".join(WORDS[each] for each in claims_of(predicate))


def words_of_writes(rule: Policy) -> str:
    words = words_of(rule.write)
    if rule.check is None:
        return words
    added = [each for each in claims_of(rule.check) if each not in claims_of(rule.write)]
    assert len(added) + len(claims_of(rule.write)) == len(claims_of(rule.check))
    return f"{words}; after the write also: {', '.join(WORDS[each] for each in added)}"


def section(title: str) -> str:
    return DOCUMENT.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def test_table_of_rules_equals_policy() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.split("<!-- policies: begin -->")[1].split("<!-- policies: end -->")[0]

    expected = []
    for name, model in RESOURCES.items():
        cells = [name]
        for role in (Role.CLIENT_ADMIN, Role.CLIENT_MANAGER):
            rule = POLICIES[model][role]
            cells += [words_of(rule.read), words_of_writes(rule)]
        expected.append(f"| {' | '.join(cells)} |")

    assert sorted(table.strip().splitlines()[2:]) == sorted(expected)


def test_super_admin_reads_all_rows_and_writes_all_except_the_audit_log() -> None:
    rules = {model: POLICIES[model][Role.SUPER_ADMIN] for model in RESOURCES.values()}

    assert rules.pop(AuditLog) == Policy(read=policy.every_row)
    assert set(rules.values()) == {EVERYTHING}


def test_functions_with_restricted_privileges_are_named() -> None:
    text = section("Privileges and row rules")

    for name, roles in FUNCTION_ROLES.items():
        assert (f"`{name}`" in text) == (roles != frozenset(Role)), name


def test_every_reason_of_an_explanation_is_documented() -> None:
    text = section("Checks and explanations")

    for role in Role:
        for model in (Building, Inspection):
            read = POLICIES[model][role].read
            for rule in read.parts if isinstance(read, AnyOf) else (read,):
                name = role.value if rule is policy.every_row else rule.__name__
                assert f"| `{name}` |" in text, name
