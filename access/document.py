"""The table of docs/ACCESS.md, in the words of the predicates' docstrings."""

from __future__ import annotations

from pathlib import Path

from access.policy import POLICIES, Policy
from access.predicates import AllOf, AnyOf, Predicate, no_row
from access.roles import Role
from engine.query.statement import Action
from models import RESOURCES

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "ACCESS.md"
BEGIN, END = "<!-- policies: begin -->\n", "<!-- policies: end -->"
HEAD = (
    "| table | client admin reads | client admin writes | client manager reads | client manager writes |\n"
    "|---|---|---|---|---|\n"
)
_, *ROLES = Role
"""Super admins read and write every row, so the table omits them."""


def write_table(path: Path = DOCUMENT) -> str:
    """Replace the table between the comments of the document. Return a line for the command."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}{table_text()}{END}{after}", encoding="utf-8")
    return f"{path.name}: the table of the access policy"


def table_text() -> str:
    """Return the table, in the order of the registry. Tables with the same rules share a row."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, model in RESOURCES.items():
        policies = [POLICIES[model][role] for role in ROLES]
        cells = tuple(words for each in policies for words in (words_of(each.read), words_of_writes(each)))
        names.setdefault(cells, []).append(name)
    return HEAD + "".join(f"| {' | '.join([', '.join(tables), *cells])} |\n" for cells, tables in names.items())


def words_of(predicate: Predicate) -> str:
    """Return a predicate in words: a semicolon means or, a comma means and.

    >>> from access.predicates import all_of, any_of, building_grant, client_ownership
    >>> words_of(any_of(client_ownership, building_grant)), words_of(all_of(client_ownership, building_grant))
    ('rows of their client; granted buildings', 'rows of their client, granted buildings')
    """
    if isinstance(predicate, AnyOf):
        return "; ".join(words_of(each) for each in predicate.parts)
    if isinstance(predicate, AllOf):
        return ", ".join(words_of(each) for each in predicate.parts)
    text = predicate.__doc__
    assert text is not None, f"{predicate} has no docstring"
    return text[0].lower() + text[1:].removesuffix(".")


def words_of_writes(policy: Policy) -> str:
    """Return the rows that a role may write, and what also holds after the write."""
    actions = (Action.INSERT, Action.UPDATE, Action.DELETE)
    predicates = {action: policy.predicate(action) for action in actions}
    if len(set(predicates.values())) > 1:
        return "; ".join(f"{action.value}: {words_of_privilege(each)}" for action, each in predicates.items())
    if policy.write is None or policy.check is None:
        return words_of_privilege(predicates[Action.UPDATE])
    words = words_of(policy.write)
    before, after = parts_of(policy.write), parts_of(policy.check)
    assert set(before) <= set(after), "a check without the condition of the write needs words of its own"
    return f"{words}; after the write also: {', '.join(words_of(each) for each in after if each not in before)}"


def words_of_privilege(predicate: Predicate | None) -> str:
    return "no privilege" if predicate in (None, no_row) else words_of(predicate)


def parts_of(predicate: Predicate) -> tuple[Predicate, ...]:
    return predicate.parts if isinstance(predicate, AllOf) else (predicate,)
