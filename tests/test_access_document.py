"""docs/ACCESS.md and access/policy.py say the same."""

from __future__ import annotations

from pathlib import Path

from access.caller import Role
from access.policy import EVERYTHING
from access.policy import POLICIES
from access.policy import Policy
from access.predicate import Both
from access.predicate import Either
from models import RESOURCES

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "ACCESS.md"


def words(predicate: object) -> str:
    if isinstance(predicate, Either):
        return " or ".join(words(arm) for arm in predicate.arms)
    if isinstance(predicate, Both):
        return " and ".join(words(claim) for claim in predicate.claims)
    return predicate.__name__ if predicate is not None else "–"


def cell(policy: Policy) -> str:
    if policy is EVERYTHING:
        return "everything"
    said = f"read: {words(policy.read)}; write: {words(policy.write)}"
    return f"{said}; check: {words(policy.check)}" if policy.check is not None else said


def test_the_document_is_the_policy_in_words() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.split("<!-- policies: begin -->")[1].split("<!-- policies: end -->")[0]

    expected = [
        "| " + " | ".join([name, *(cell(POLICIES[model][role]) for role in Role)]) + " |"
        for name, model in RESOURCES.items()
    ]

    assert table.strip().splitlines()[2:] == expected


def test_every_claim_is_explained() -> None:
    text = DOCUMENT.read_text(encoding="utf-8").split("What the words claim of a row:")[1]

    for policies in POLICIES.values():
        for policy in policies.values():
            for predicate in (policy.read, policy.write, policy.check):
                for name in words(predicate).replace(" and ", " or ").split(" or "):
                    assert name in text or name in ("–", "every_row", "no_row"), name
