"""Row policies as most write them: a manager's grants as `in (select …)`, evaluated once a query, too.

`policies.pg.sql` has them as arrays, with which PostgreSQL can start from an index; both are measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench.stores import Psql

LISTS: Final = {
    "buildings": "id in (select building_id from rule.manager_buildings)",
    "inspections": "building_id in (select building_id from rule.manager_buildings)"
    " or id in (select inspection_id from rule.manager_inspections)",
}
"""What a manager sees, by table."""


@contextmanager
def grants_as_lists(psql: Psql, database: str) -> Iterator[None]:
    """The manager's policies as lists, for the time of a block."""
    before = {table: condition(psql, database, table) for table in LISTS}
    try:
        for table, written in LISTS.items():
            alter(psql, database, table, written)
        yield
    finally:
        for table, written in before.items():
            alter(psql, database, table, written)


def condition(psql: Psql, database: str, table: str) -> str:
    asked = "select qual from pg_policies where policyname = 'visible_to_manager' and schemaname = 'api'"
    return psql.run(database, f"{asked} and tablename = '{table}'")


def alter(psql: Psql, database: str, table: str, written: str) -> None:
    psql.run(database, f"alter policy visible_to_manager on api.{table} using ({written})")
