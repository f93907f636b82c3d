"""By which index the rows of a relation are looked for: one whose rows are the caller's, or few.

What is hidden is not looked at, be it named by a filter or not: how long that takes would tell how much of it there is.
A search begins with what the rule says of every row; with a key that is named; with a parent that is named, if the rule
holds of that; or with the few that were granted.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import contextmanager
from operator import eq
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from engine.query import operators
from engine.query.catalog import ForeignKey
from engine.query.catalog import Relation
from engine.query.catalog import aliased
from engine.query.catalog import catalog
from engine.query.dialect.base import Spelling
from engine.query.dialect.common import Among
from engine.query.dialect.common import AmongFew
from engine.query.dialect.common import is_among
from engine.query.operands import Operands
from engine.query.read.disjuncts import Arm
from engine.query.read.disjuncts import disjoint
from engine.query.read.disjuncts import parts_of
from engine.query.read.skip_scan import Parts
from engine.query.read.skip_scan import parts_to_walk
from engine.query.read.skip_scan import values_said
from engine.query.read.tenant_index import owner_column
from engine.query.read.tenant_index import owner_of
from engine.query.read.tenant_index import parent_of
from engine.query.shape import Filter
from engine.query.shape import Node

Expression = sa.ColumnElement[Any]


class Search(Operands):
    """What one plan in the making knows of the rows that the rule hides."""

    def __init__(self, spelling: Spelling) -> None:
        super().__init__(spelling)
        self.catalog = catalog()
        self.restricted: dict[Any, Expression] = {}  # aliases of whose rows some may be hidden
        self.tied_to: set[Any] = set()  # those of them that are embeds
        self.narrow: set[Any] = set()  # aliases of which the rule knows few rows best
        self.leading: dict[
            Any, frozenset[str]
        ] = {}  # what leads to rows within each of the few that a search begins with
        self.beside: dict[Any, frozenset[str]] = {}  # what leads to their rows beside the rule

    # What the rule says, as a search

    def sought(self, node: Node, relation: Relation, alias: Any, scope: Expression) -> Expression:
        """The rule on rows of which a node's filters hold, said so that a search by either looks at no hidden rows."""
        said = {
            flt.column: flt
            for flt in node.conditions
            if isinstance(flt, Filter) and flt.names_few and not flt.is_long
        }
        if alias not in self.restricted:
            owners = {name: self.owner_sought(relation, name) for name in said}
            return sa.and_(
                scope,
                *(
                    self.comes_first(said[name], owner, relation, alias)
                    for name, owner in owners.items()
                    if owner is not None
                ),
            )
        parts = [self.sought_part(part, said, relation, alias) for part in parts_of(scope)]
        return parts[0] if len(parts) == 1 else sa.or_(*parts)

    def sought_part(
        self, part: Expression, said: dict[str, Filter], relation: Relation, alias: Any
    ) -> Expression:
        """One arm of the rule, searched by what is said of the rows, each column by its values."""
        equal = {name: flt for name, flt in said.items() if flt.is_equality}
        if not isinstance(part, AmongFew):
            named = [fk for fk in relation.foreign_keys if fk.column in said]
            tried = [self.by_parent(part, said[fk.column], fk, relation, alias) for fk in named]
            asked = [each for each in tried if each is not None]
            is_one = isinstance(part, Among) and part.column.name in equal
            return sa.and_(part.of_one_row() if asked and is_one else part, *asked)
        if set(relation.key) <= equal.keys():
            return part.of_one_row()
        name = part.column.name
        if name in said:
            part = part.chosen_by(lambda found: self.named_by(said[name], relation, found))
        within = relation.model.indexed_within.get(name, ())
        more = {each: equal[each] for each in within if each in equal}
        if not more:
            return part
        values = {alias.c[each]: self.equal_to(flt, relation) for each, flt in more.items()}
        filters = [self.named_by(flt, relation, alias.c[each]) for each, flt in more.items()]
        return self.spelling.sought_by(part, values, filters)

    def owner_sought(self, relation: Relation, name: str) -> str | None:
        """Behind which column one stands in a file's index, by which its rows are looked for."""
        return owner_column(relation, name) if self.spelling.walks_by_owner else None

    def comes_first(self, flt: Filter, owner: str, relation: Relation, alias: Any) -> Expression:
        """That the owner is one of those of the parents that a filter names: so the index is entered."""
        there, owned_by = parent_of(relation, flt.column)
        owners = sa.select(owned_by).where(self.named_by(flt, relation, there))
        return is_among([alias.c[owner]], owners)

    def ties(
        self, pairs: Iterable[tuple[str, str]], relation: Relation, rows: Any, parent: Any
    ) -> list[Expression]:
        """What ties rows to their parent's: that they are its owner's, too, where that comes first in their index."""
        found: list[Expression] = []
        for here, there in pairs:
            found.append(rows.c[there] == parent.c[here])
            owner = self.owner_sought(relation, there)
            if owner is not None:
                found.append(rows.c[owner] == owner_of(relation, there, parent.c[here]))
        return found

    def by_parent(
        self, part: Expression, flt: Filter, fk: ForeignKey, relation: Relation, alias: Any
    ) -> Expression | None:
        """That the named parent is one of which the rule holds, where a row has of it all that the rule looks at.

        Then the parent's rows are all the caller's, and there are none to search where it is somebody else's.
        """
        inherited = {fk.column: fk.referred_column, **relation.model.inherited.get(fk.column, {})}
        parent = aliased(self.catalog.relations[fk.referred].table, "rule_parent")
        looks_elsewhere = False

        def asked_of_parent(element: Any, **_: Any) -> Expression | None:
            nonlocal looks_elsewhere
            if not isinstance(element, sa.Column) or element.table is not alias:
                return None
            if element.name not in inherited:
                looks_elsewhere = True
                return None
            found: Expression = parent.c[inherited[element.name]]
            return found

        asked: Expression = visitors.replacement_traverse(part, {}, asked_of_parent)
        if looks_elsewhere:
            return None
        if isinstance(asked, Among) and flt.is_equality:
            asked = asked.of_one_row()
        key = parent.c[fk.referred_column]
        keys = sa.select(key).where(self.named_by(flt, relation, key), asked)
        column: Expression = alias.c[fk.column]
        return column == keys.scalar_subquery() if flt.is_equality else is_among([column], keys)

    def named_by(self, flt: Filter, relation: Relation, column: Expression) -> Expression:
        """What a filter that names few says of its column, of another that has the same values."""
        kind = relation.attribute(flt.column).type
        return self.comparison(flt, operators.OPERATORS["eq"], column, kind)

    def arms(self, alias: Any, scope: Expression, sought: Expression) -> list[Arm]:
        """The rule in arms that are searched one by one, where it knows few rows by any; else as it is."""
        return disjoint(scope, sought) if alias in self.narrow else [Arm(scope, sought, ())]

    def parts(self, node: Node, relation: Relation, alias: Any, arm: Arm) -> Parts | None:
        """The parts in which an arm's rows are best looked for; None where an index leads to them at once."""
        if not self.spelling.walks_by_owner:
            return None
        return parts_to_walk(node, relation, alias, arm.said)

    @contextmanager
    def looking(self, alias: Any, arm: Arm, within: frozenset[str] | None) -> Iterator[None]:
        """A block in which rows are looked for by one arm of the rule and no other, `within` each of the few it begins
        with, if it does, by these columns."""
        scope = self.restricted.get(alias)
        if scope is not None:
            self.restricted[alias] = arm.said
        if within is not None:
            self.leading[alias] = within
        try:
            yield
        finally:
            self.leading.pop(alias, None)
            if scope is not None:
                self.restricted[alias] = scope

    def walks(self, scope: Expression) -> bool:
        """Whether rows within it are best found owner by owner: all there are, in no index that holds all of them."""
        return self.spelling.walks_by_owner and isinstance(scope, sa.True_)

    # Columns, by whose indexes rows are looked for or not

    def column(
        self, relation: Relation, alias: Any, name: str, *, names_few: bool = False
    ) -> Expression:
        """A column to filter by. Where rows may be hidden, one by whose index none of those are looked at.

        So a row's key leads to it, and beside what the rule says of every row, what an index has beside that: nothing
        else, and in an embed, where a search is made for each of a thousand parents, nothing at all. How long it takes
        to look at what is hidden would tell how much there is.
        """
        column: Expression = alias.c[name]
        if alias not in self.restricted and alias not in self.leading:
            return column
        named = relation.model.named_within.get(self.asked_of(alias), ())
        leads = alias not in self.tied_to and (
            name in self.beside[alias] or (names_few and (relation.key == (name,) or name in named))
        )
        return column if leads else self.spelling.not_sought(column)

    def asked_of(self, alias: Any) -> str:
        """The column of which the rule asks for one value; nothing, where it is another rule."""
        scope: Any = self.restricted.get(alias)
        is_of_value = isinstance(scope, sa.BinaryExpression) and scope.operator is eq
        return str(scope.left.name) if is_of_value else ""

    def known_beside(self, node: Node, relation: Relation, alias: Any) -> frozenset[str]:
        """The columns that an index knows of the rows of one of the few, or of the one value that the rule asks for."""
        if alias in self.leading:
            return self.leading[alias]
        model, asked = relation.model, self.asked_of(alias)
        known = frozenset(model.indexed_within.get(asked, ()))
        said = values_said(node)
        return known | {
            walk.order
            for walk in model.walks
            if walk.owner == asked
            and walk.order not in relation.key  # which has an index of everybody's
            and (walk.alike in said or not self.spelling.walks_by_owner)
        }

    def order_column(self, relation: Relation, alias: Any, name: str) -> Expression:
        """A column to order a list by; where the rule knows the rows best, none that leads elsewhere."""
        column: Expression = alias.c[name]
        leads = name in relation.key or any(fk.column == name for fk in relation.foreign_keys)
        return column if leads or alias not in self.narrow else self.spelling.not_leading(column)
