"""Non-interference: two worlds that differ only in rows hidden from a caller give equal responses, byte for byte.

A response that depends on a hidden row differs, in its status, headers, count, order, error or plan.
"""

import random
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

import pytest
import sqlalchemy as sa

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine import execute
from engine.query.catalog import UnknownColumn
from engine.query.read import expressions, plan
from engine.query.read.embed import RowSelection, SelectBuilder
from engine.query.read.planner import AccessPath, Planner
from engine.query.shape import Shape
from engine.query.statement import Statement
from engine.query.write.rules import missing_reference
from tests.safety.filter_spy import FilterSpy
from tests.safety.hypothesis_settings import scaled_count
from tests.safety.plan_caches import clear_plan_caches
from tests.safety.request_generator import RequestGenerator
from tests.safety.service_instances import HttpRequest, HttpResponse, ServiceInstance, make_request
from tests.safety.vocabulary import TEXT, Vocabulary
from tests.safety.world_pairs import indistinguishable_world, random_unique_world, visible_rows
from tests.support import oracle
from tests.support.columns import COLUMNS, MODELLED_TABLES

PAIRS_PER_WORLD = 50
COMMIT_SEEDS = range(1, scaled_count(40) + 1)  # 2,000 pairs
LONG_BLOCKS = [range(first, first + 100) for first in range(1_000, 3_000, 100)]  # 100,000
CONTROL_SEEDS = range(1, 41)
SEE_OTHER = 303  # the response to a successful console form


# All columns of the audit log except the id, whose gaps reveal other writes (O18).
AUDIT_LOG_REQUEST = make_request(
    "GET", "/audit_log?select=at,actor_id,action,relation,row_key,client_id,before,after&order=id", prefer="count=exact"
)


class WorldsDiffer(AssertionError):
    """The responses reveal a hidden row, or a write changed one."""


@dataclass(slots=True)
class WorldComparison:
    """One caller and two worlds."""

    seed: int
    user: dict
    instances: tuple[ServiceInstance, ServiceInstance]
    worlds: list[dict]
    spies: tuple[FilterSpy, ...]
    uuid_source: types.SimpleNamespace
    statuses: Counter = field(default_factory=Counter)

    def compare(self, request: HttpRequest) -> None:
        responses = []
        for instance, spy, world in zip(self.instances, self.spies, self.worlds, strict=True):
            self.uuid_source.restart()
            spy.reset(values_not_in_request(world["hidden values"], request))
            responses.append(instance.send(self.user, request))
            if spy.hidden_values_seen:
                self.fail(request, f"a filter ran on hidden values: {sorted(spy.hidden_values_seen)[:5]}")
        one, other = responses
        if one != other:
            self.fail(request, f"the first responds\n{one}\nthe second\n{other}")
        if one.status >= 500:
            self.fail(request, f"a server error\n{one}")
        self.statuses[one.status // 100] += 1
        if request.method not in ("GET", "HEAD"):
            self.check_worlds(request, one)

    def check_worlds(self, request: HttpRequest, response: HttpResponse) -> None:
        """Check rows after a write. A refused or rolled back write changes nothing; visible rows stay equal."""
        after = [instance.world() for instance in self.instances]
        refused = response.status >= 300 and response.status != SEE_OTHER
        must_not_write = refused or any("tx=rollback" in value for _, value in request.headers)
        before = [{table: world[table] for table in MODELLED_TABLES} for world in self.worlds]
        if after == before:
            return
        if must_not_write:
            self.fail(request, f"the refused write changed rows\n{response}")
        seen = [visible_rows(world, self.user) for world in after]
        if seen[0] != seen[1]:
            self.fail(request, f"the write left different visible rows\n{response}")
        for old, new in zip(before, after, strict=True):
            for complaint in hidden_row_changes(old, new, self.user):
                self.fail(request, complaint)
        self.worlds[:] = [with_hidden_values(world, self.user) for world in after]

    def fail(self, request: HttpRequest, why: str) -> None:
        user = f"{self.user['role']} {self.user['id']}"
        raise WorldsDiffer(f"seed {self.seed}, {user}:\n{request}\n{why}")


def values_not_in_request(values: set[str], request: HttpRequest) -> set[str]:
    """Return the values that the request does not contain.

    SQLite substitutes x for name in other filters if `name = 'x'`. It evaluates them once, even without such a row.
    """
    request_text = f"{unquote(request.path)} {request.body.decode(errors='replace')}".lower()
    return {value for value in values if value not in request_text}


def hidden_row_changes(old: dict, new: dict, user: dict) -> Iterator[str]:
    """Yield changes of hidden rows that no cascade explains."""
    deleted_keys = {
        (table, oracle.key_of(table, row)[0])
        for table in MODELLED_TABLES
        if table not in oracle.KEYS
        for row in old[table]
        if not any(oracle.key_of(table, row) == oracle.key_of(table, other) for other in new[table])
    }
    for table in MODELLED_TABLES:
        kept = {oracle.key_of(table, row): row for row in new[table]}
        for row in old[table]:
            if oracle.visible(old, user, table, row):
                continue
            now = kept.get(oracle.key_of(table, row))
            if now != row and not is_cascade(table, row, now, deleted_keys):
                yield f"a hidden row of {table} changed: {row} -> {now}"
        before = {oracle.key_of(table, row) for row in old[table]}
        for row in new[table]:
            if oracle.key_of(table, row) not in before and not oracle.visible(new, user, table, row):
                yield f"a hidden row of {table} appeared: {row}"


REFERENCES = {
    "building_id": "buildings",
    "inspection_id": "inspections",
    "inspector_id": "inspectors",
    "admin_id": "users",
    "manager_id": "users",
    "assigned_by": "users",
    "user_id": "users",
    "schedule_id": "schedules",
    "finding_id": "findings",
    "issued_by": "users",
    "withdrawn_by": "users",
}
NULLED = {"assigned_by", "inspector_id", "user_id", "schedule_id", "issued_by", "withdrawn_by"}
"""The references that a deletion of the referenced row sets to null."""


def is_cascade(table: str, row: dict, now: dict | None, deleted_keys: set) -> bool:
    """Return whether a deletion of referenced rows explains the change of a row."""
    lost_references = {column for column, other in REFERENCES.items() if (other, row.get(column)) in deleted_keys}
    if now is None:
        return bool(lost_references - NULLED)
    nulled = dict.fromkeys(lost_references & NULLED)
    return now == {**row, **nulled}


def with_hidden_values(world: dict, user: dict) -> dict:
    """Return the world with the set of texts that only hidden rows contain."""
    hidden: set[str] = set()
    shown: set[str] = set()
    for table in MODELLED_TABLES:
        for row in world[table]:
            texts = shown if oracle.visible(world, user, table, row) else hidden
            texts.update(str(row[c]) for c in COLUMNS[table] if c in TEXT and row[c] is not None)
    folded = {value.lower() for value in hidden} - {value.lower() for value in shown}
    return {**world, "hidden values": folded}


def random_caller(world: dict, rng: random.Random) -> dict:
    """Return a random caller except super admins, who see everything. Admins are more frequent because they write."""
    role = rng.choice(("client_admin", "client_admin", "client_manager"))
    return rng.choice([user for user in world["users"] if user["role"] == role])


def compare_worlds(
    seed: int,
    instances: tuple[ServiceInstance, ServiceInstance],
    spies: tuple[FilterSpy, ...],
    uuid_source: types.SimpleNamespace,
) -> Counter:
    """Send the requests of one seed. Raise WorldsDiffer at the first response that reveals a hidden row."""
    world, unique_values = random_unique_world(seed)
    rng = random.Random(seed)
    user = random_caller(world, rng)
    worlds = [world, indistinguishable_world(world, user, unique_values)]
    for instance, each in zip(instances, worlds, strict=True):
        instance.load(each)
    vocabulary = Vocabulary.from_worlds(visible_rows(world, user), *worlds)
    comparison = WorldComparison(
        seed, user, instances, [with_hidden_values(each, user) for each in worlds], spies, uuid_source
    )
    generator = RequestGenerator(rng, vocabulary, user)
    for _ in range(PAIRS_PER_WORLD):
        comparison.compare(generator.request())
    comparison.compare(AUDIT_LOG_REQUEST)
    return comparison.statuses


@pytest.mark.parametrize("seed", COMMIT_SEEDS)
def test_hidden_rows_do_not_change_responses(
    instances: tuple[ServiceInstance, ServiceInstance],
    spies: tuple[FilterSpy, ...],
    uuid_source: types.SimpleNamespace,
    seed: int,
) -> None:
    statuses = compare_worlds(seed, instances, spies, uuid_source)

    assert statuses[2] > PAIRS_PER_WORLD / 4, "too few successful responses"


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_hidden_rows_do_not_change_responses_long(
    instances: tuple[ServiceInstance, ServiceInstance],
    spies: tuple[FilterSpy, ...],
    uuid_source: types.SimpleNamespace,
    seeds: range,
) -> None:
    answered = sum((compare_worlds(seed, instances, spies, uuid_source) for seed in seeds), Counter())

    assert answered[2] > len(seeds) * PAIRS_PER_WORLD / 4


# ── controls: five planted leaks, each of which must be detected ─────────────────────────────────────────


def count_without_rule(patch: pytest.MonkeyPatch) -> None:
    """The total counts all rows that match the filters."""
    counted = plan.count_rows
    everything = AccessRule(GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
    patch.setattr(plan, "count_rows", lambda planner, *rest: counted(Planner(planner.dialect, everything), *rest))


def no_barrier(patch: pytest.MonkeyPatch) -> None:
    """The database may run filters that raise or take long before the rule."""
    leak_proof_operators = {
        name: replace(operator, leak_proof=True) for name, operator in expressions.OPERATORS.items()
    }
    patch.setattr(expressions, "OPERATORS", leak_proof_operators)

    def read_rows(planner: Planner, name: str, shape: Shape) -> Statement:
        relation = planner.catalog.relations[name]
        source, scope = planner.scoped(relation)
        conditions = planner.conditions(shape.root, relation, source, scope)
        path = AccessPath(source, [*conditions, sa.case((scope, 1)) == 1])
        selection = RowSelection(source, [path], (plan.ROOT_LIMIT, plan.ROOT_OFFSET))
        builder = SelectBuilder(planner, in_timezone=shape.timezone)
        return planner.finish(builder.rows(shape.root, relation, selection))

    patch.setattr(plan, "read_rows", read_rows)


def references_before_rule(patch: pytest.MonkeyPatch) -> None:
    """A missing reference is reported before the rule is checked."""
    insert = execute.insert

    def insert_checking_references(transaction, rule, binding, *, relation, insertion, **rest: object) -> object:
        for row in insertion.rows:
            if (missing := missing_reference(transaction, relation, row)) is not None:
                raise missing
        return insert(transaction, rule, binding, relation=relation, insertion=insertion, **rest)

    patch.setattr(execute, "insert", insert_checking_references)


def chosen_ids_allowed(patch: pytest.MonkeyPatch) -> None:
    """Admins may choose ids, which reveals whether an id exists."""
    patch.setattr(execute, "require_writable_columns", lambda *_: None)


def hint_of_hidden_row(patch: pytest.MonkeyPatch) -> None:
    """An empty result suggests the name of a hidden row."""
    select = execute.select

    def select_with_hint(transaction, rule, binding, *, relation, **rest: object) -> object:
        found = select(transaction, rule, binding, relation=relation, **rest)
        if not found.rows and "name" in relation.attributes:
            names = sa.select(relation.table.c.name).order_by(relation.table.c.name.desc()).limit(1)
            name = transaction.value(str(names.compile(compile_kwargs={"literal_binds": True})))
            raise UnknownColumn("no row matches", hint=f"Perhaps you meant {name}.")
        return found

    patch.setattr(execute, "select", select_with_hint)


PLANTED_FAULTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    count_without_rule,
    no_barrier,
    references_before_rule,
    chosen_ids_allowed,
    hint_of_hidden_row,
)


@pytest.mark.control
@pytest.mark.parametrize("fault", PLANTED_FAULTS, ids=lambda fault: fault.__name__)
def test_planted_leak_is_detected(
    instances: tuple[ServiceInstance, ServiceInstance],
    spies: tuple[FilterSpy, ...],
    uuid_source: types.SimpleNamespace,
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        clear_plan_caches()
        try:
            with pytest.raises(WorldsDiffer):
                sum((compare_worlds(seed, instances, spies, uuid_source) for seed in CONTROL_SEEDS), Counter())
        finally:
            clear_plan_caches()


def test_worlds_and_requests_are_deterministic_by_seed() -> None:
    def generated() -> tuple:
        world, unique_values = random_unique_world(3)
        rng = random.Random(3)
        user = random_caller(world, rng)
        other = indistinguishable_world(world, user, unique_values)
        generator = RequestGenerator(rng, Vocabulary.from_worlds(visible_rows(world, user), world, other), user)
        return world, other, [generator.request() for _ in range(100)]

    assert generated() == generated()


def test_worlds_differ_in_hidden_rows_only() -> None:
    differing = Counter()
    for seed in CONTROL_SEEDS:
        world, unique_values = random_unique_world(seed)
        user = random_caller(world, random.Random(seed))
        other = indistinguishable_world(world, user, unique_values)
        assert visible_rows(world, user) == visible_rows(other, user), seed
        differing.update(table for table in MODELLED_TABLES if world[table] != other[table])

    assert set(differing) == set(MODELLED_TABLES)
