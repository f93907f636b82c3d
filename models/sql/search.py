"""By which index the rows of a relation are looked for: one whose rows are the caller's, or few.

What is hidden is not looked at, be it named by a filter or not: how long that takes would tell how much of it there is.
A search begins with what the rule says of every row; with a key that is named; with a parent that is named, if the rule
holds of that; or with the few that were granted.
"""

from __future__ import annotations

from operator import eq
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from models.sql import operators
from models.sql.arms import Arm
from models.sql.arms import disjoint
from models.sql.arms import parts_of
from models.sql.catalog import ForeignKey
from models.sql.catalog import Relation
from models.sql.catalog import aliased
from models.sql.catalog import catalog
from models.sql.dialect import Spelling
from models.sql.operands import Operands
from models.sql.query import Filter
from models.sql.query import Node
from models.sql.spelling import Among
from models.sql.spelling import AmongFew
from models.sql.spelling import Led
from models.sql.spelling import is_among
from models.sql.walk import by_owner

Expression = sa.ColumnElement[Any]


class Search(Operands):
    """What one plan in the making knows of the rows that the rule hides."""

    def __init__(self, spelling: Spelling) -> None:
        super().__init__(spelling)
        self.catalog = catalog()
        self.restricted: dict[Any, Expression] = {}  # aliases of whose rows some may be hidden
        self.tied_to: set[Any] = set()  # those of them that are embeds
        self.narrow: dict[Any, Expression] = {}  # aliases of which the rule knows the rows best

    # What the rule says, as a search

    def sought(self, node: Node, relation: Relation, alias: Any, scope: Expression) -> Expression:
        """The rule on rows of which a node's filters hold, said so that a search by either looks at no hidden rows."""
        if alias not in self.restricted:
            return scope
        said = {
            flt.column: flt
            for flt in node.conditions
            if isinstance(flt, Filter) and flt.names_few and not flt.is_long
        }
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

    def arms(self, alias: Any, sought: Expression) -> list[Arm]:
        """The rule in arms that are searched one by one, where it knows few rows by each; else as it is."""
        whole = self.narrow.get(alias)
        return [Arm(sought, ())] if whole is None else disjoint(whole, sought)

    def led(self, node: Node, relation: Relation, alias: Any, arm: Arm) -> Led | None:
        """An arm as a join that begins with the few that it looks for, be they the owners of all that there is; None
        where the database does by itself."""
        few = by_owner(node, relation, alias) if self.walks(arm.sought) else arm.sought
        return self.spelling.led_by(few, alias) if isinstance(few, AmongFew) else None

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
        if alias not in self.restricted:
            return column
        leads = alias not in self.tied_to and (
            (names_few and relation.key == (name,))
            or self.is_known_beside(relation, alias, name, names_few=names_few)
        )
        return column if leads else self.spelling.not_sought(column)

    def is_known_beside(
        self, relation: Relation, alias: Any, name: str, *, names_few: bool
    ) -> bool:
        """Whether an index knows it of the rows that have the one value that the rule asks for."""
        scope: Any = self.restricted[alias]
        if not (isinstance(scope, sa.BinaryExpression) and scope.operator is eq):
            return False
        model, asked = relation.model, scope.left.name
        named = model.named_within.get(asked, ()) if names_few else ()
        return name in named or name in model.indexed_within.get(asked, ())

    def order_column(self, relation: Relation, alias: Any, name: str) -> Expression:
        """A column to order a list by; where the rule knows the rows best, none that leads elsewhere."""
        column: Expression = alias.c[name]
        leads = name in relation.key or any(fk.column == name for fk in relation.foreign_keys)
        return column if leads or alias not in self.narrow else self.spelling.not_leading(column)
