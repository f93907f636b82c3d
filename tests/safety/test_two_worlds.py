"""Non-interference: two worlds that differ only in what is hidden from a caller answer them alike, to the byte.

The strongest single test there is of the promise: whatever a request looks at, if its answer depends on a row that is
not the caller's, in a status, a header, a count, an order, an error or a plan, the two worlds part.
"""

import random
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

import pytest
import sqlalchemy as sa

from access.caller import GRANT_PROFILES, Role
from access.policy import AccessRule
from engine.query import execute, operators
from engine.query.catalog import UnknownColumn
from engine.query.read import plan
from engine.query.read.embed import RowSelection, SelectBuilder
from engine.query.read.planner import AccessPath, Planner
from engine.query.shape import Shape
from engine.query.statement import Statement
from engine.query.write.constraint_diagnosis import missing_reference
from tests.conftest import RESOURCES
from tests.safety.examples import share
from tests.safety.grammar import Grammar
from tests.safety.planted import forget_plans
from tests.safety.sites import Answer, Asking, Site, asking
from tests.safety.spies import Spy
from tests.safety.twins import dressed_world, other_world, seen_by
from tests.safety.vocabulary import TEXT, Vocabulary
from tests.support import oracle
from tests.support.columns import COLUMNS

PAIRS_PER_WORLD = 50
COMMIT_SEEDS = range(1, share(40) + 1)  # 2,000 pairs
LONG_BLOCKS = [range(first, first + 100) for first in range(1_000, 3_000, 100)]  # 100,000
CONTROL_SEEDS = range(1, 41)
SEE_OTHER = 303  # as a form of the console is answered that was kept


# All that was written down of what happened, but for its numbers, whose gaps tell of others' writes (O18).
TRAIL = asking(
    "GET", "/audit_log?select=at,actor_id,action,relation,row_key,client_id,before,after&order=id", prefer="count=exact"
)


class WorldsDiffer(AssertionError):
    """The caller could tell the two worlds apart, or reached what is not theirs."""


@dataclass(slots=True)
class Meeting:
    """One caller before two worlds."""

    seed: int
    user: dict
    sites: tuple[Site, Site]
    worlds: list[dict]
    spies: tuple[Spy, ...]
    source: types.SimpleNamespace
    statuses: Counter = field(default_factory=Counter)

    def ask(self, request: Asking) -> None:
        answers = []
        for site, spy, world in zip(self.sites, self.spies, self.worlds, strict=True):
            self.source.restart()
            spy.begin(unsaid(world["hidden values"], request))
            answers.append(site.send(self.user, request))
            if spy.saw:
                self.fail(request, f"a filter was run on hidden values: {sorted(spy.saw)[:5]}")
        one, other = answers
        if one != other:
            self.fail(request, f"the first answers\n{one}\nthe second\n{other}")
        if one.status >= 500:
            self.fail(request, f"a server error\n{one}")
        self.statuses[one.status // 100] += 1
        if request.method not in ("GET", "HEAD"):
            self.look_after(request, one)

    def look_after(self, request: Asking, answer: Answer) -> None:
        """Refused or taken back, a write has changed nothing; else the visible part has stayed alike."""
        after = [site.world() for site in self.sites]
        refused = answer.status >= 300 and answer.status != SEE_OTHER
        undone = refused or any("tx=rollback" in value for _, value in request.headers)
        before = [{table: world[table] for table in RESOURCES} for world in self.worlds]
        if after == before:
            return
        if undone:
            self.fail(request, f"it changed something all the same\n{answer}")
        seen = [seen_by(world, self.user) for world in after]
        if seen[0] != seen[1]:
            self.fail(request, f"it left different visible rows\n{answer}")
        for old, new in zip(before, after, strict=True):
            for complaint in touched(old, new, self.user):
                self.fail(request, complaint)
        self.worlds[:] = [with_hidden_values(world, self.user) for world in after]

    def fail(self, request: Asking, why: str) -> None:
        user = f"{self.user['role']} {self.user['id']}"
        raise WorldsDiffer(f"seed {self.seed}, {user}:\n{request}\n{why}")


def unsaid(values: set[str], request: Asking) -> set[str]:
    """The values that the request itself does not name: SQLite puts `name = 'x'` into the other filters, and then
    tries them on that x, once, whether or not there is such a row."""
    said = f"{unquote(request.path)} {request.body.decode(errors='replace')}".lower()
    return {value for value in values if value not in said}


def touched(old: dict, new: dict, user: dict) -> Iterator[str]:
    """What became of rows that the user could not see, beyond the cascades that there are."""
    gone = {
        (table, row["id"])
        for table in RESOURCES
        if table not in oracle.KEYS
        for row in old[table]
        if not any(row["id"] == other["id"] for other in new[table])
    }
    for table in RESOURCES:
        kept = {oracle.key_of(table, row): row for row in new[table]}
        for row in old[table]:
            if oracle.visible(old, user, table, row):
                continue
            now = kept.get(oracle.key_of(table, row))
            if now != row and not follows(table, row, now, gone):
                yield f"a hidden row of {table} changed: {row} -> {now}"
        before = {oracle.key_of(table, row) for row in old[table]}
        for row in new[table]:
            if oracle.key_of(table, row) not in before and not oracle.visible(new, user, table, row):
                yield f"a hidden row of {table} appeared: {row}"


POINTS_AT = {
    "building_id": "buildings",
    "inspection_id": "inspections",
    "inspector_id": "inspectors",
    "admin_id": "users",
    "manager_id": "users",
    "assigned_by": "users",
}


def follows(table: str, row: dict, now: dict | None, gone: set) -> bool:
    """Is that what a deletion of a row it points at does to a row?"""
    lost = {column for column, other in POINTS_AT.items() if (other, row.get(column)) in gone}
    if now is None:
        return bool(lost - {"assigned_by", "inspector_id"})
    nulled = dict.fromkeys(lost & {"assigned_by", "inspector_id"})
    return now == {**row, **nulled}


def with_hidden_values(world: dict, user: dict) -> dict:
    """The world, and beside it the texts that only hidden rows hold."""
    hidden: set[str] = set()
    shown: set[str] = set()
    for table in RESOURCES:
        for row in world[table]:
            side = shown if oracle.visible(world, user, table, row) else hidden
            side.update(str(row[c]) for c in COLUMNS[table] if c in TEXT and row[c] is not None)
    folded = {value.lower() for value in hidden} - {value.lower() for value in shown}
    return {**world, "hidden values": folded}


def callers(world: dict, rng: random.Random) -> dict:
    """Draw who asks: admins, who may write, more often; a super admin never, who sees everything."""
    role = rng.choice(("client_admin", "client_admin", "client_manager"))
    return rng.choice([user for user in world["users"] if user["role"] == role])


def meet(seed: int, sites: tuple[Site, Site], spies: tuple[Spy, ...], source: types.SimpleNamespace) -> Counter:
    """Send one world's requests; raises WorldsDiffer at the first that tells the worlds apart."""
    world, writer = dressed_world(seed)
    rng = random.Random(seed)
    user = callers(world, rng)
    worlds = [world, other_world(world, user, writer)]
    for site, each in zip(sites, worlds, strict=True):
        site.load(each)
    words = Vocabulary.of(seen_by(world, user), *worlds)
    meeting = Meeting(seed, user, sites, [with_hidden_values(each, user) for each in worlds], spies, source)
    grammar = Grammar(rng, words, user)
    for _ in range(PAIRS_PER_WORLD):
        meeting.ask(grammar.request())
    meeting.ask(TRAIL)
    return meeting.statuses


@pytest.mark.parametrize("seed", COMMIT_SEEDS)
def test_two_worlds_answer_alike(
    sites: tuple[Site, Site], spies: tuple[Spy, ...], still: types.SimpleNamespace, seed: int
) -> None:
    statuses = meet(seed, sites, spies, still)

    assert statuses[2] > PAIRS_PER_WORLD / 4, "hardly a request that was answered proves nothing"


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_two_worlds_answer_alike_at_length(
    sites: tuple[Site, Site], spies: tuple[Spy, ...], still: types.SimpleNamespace, seeds: range
) -> None:
    answered = sum((meet(seed, sites, spies, still) for seed in seeds), Counter())

    assert answered[2] > len(seeds) * PAIRS_PER_WORLD / 4


# ── controls: five planted faults, each of which must part the worlds ────────────────────────────────────


def count_without_the_rule(patch: pytest.MonkeyPatch) -> None:
    """The total is of all rows that the filters match."""
    counted = plan.count_rows
    everything = AccessRule(GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
    patch.setattr(plan, "count_rows", lambda planner, *rest: counted(Planner(planner.dialect, everything), *rest))


def no_barrier(patch: pytest.MonkeyPatch) -> None:
    """Filters that can raise, or take their time, stand where the database may run them first."""
    trusting = {name: replace(operator, leak_proof=True) for name, operator in operators.OPERATORS.items()}
    patch.setattr(operators, "OPERATORS", trusting)

    def read_rows(planner: Planner, name: str, shape: Shape) -> Statement:
        relation = planner.catalog.relations[name]
        source, scope = planner.scoped(relation)
        conditions = planner.conditions(shape.root, relation, source, scope)
        path = AccessPath(source, [*conditions, sa.case((scope, 1)) == 1])
        selection = RowSelection(source, [path], (plan.ROOT_LIMIT, plan.ROOT_OFFSET))
        builder = SelectBuilder(planner, in_timezone=shape.timezone)
        return planner.finish(builder.rows(shape.root, relation, selection))

    patch.setattr(plan, "read_rows", read_rows)


def foreign_keys_first(patch: pytest.MonkeyPatch) -> None:
    """A reference to nothing is told before the rule has spoken."""
    insert = execute.insert

    def checking(transaction, rule, binding, *, relation, insertion, **rest: object) -> object:
        for row in insertion.rows:
            if (missing := missing_reference(transaction, relation, row)) is not None:
                raise missing
        return insert(transaction, rule, binding, relation=relation, insertion=insertion, **rest)

    patch.setattr(execute, "insert", checking)


def ids_as_postgrest(patch: pytest.MonkeyPatch) -> None:
    """Whoever chooses an id learns whether it is taken."""
    patch.setattr(execute, "require_writable_columns", lambda *_: None)


def hint_of_a_hidden_row(patch: pytest.MonkeyPatch) -> None:
    """Nothing found? Perhaps another was meant."""
    select = execute.select

    def helpful(transaction, rule, binding, *, relation, **rest: object) -> object:
        found = select(transaction, rule, binding, relation=relation, **rest)
        if not found.rows and "name" in relation.attributes:
            names = sa.select(relation.table.c.name).order_by(relation.table.c.name.desc()).limit(1)
            name = transaction.value(str(names.compile(compile_kwargs={"literal_binds": True})))
            raise UnknownColumn("no row is like that", hint=f"Perhaps you meant {name}.")
        return found

    patch.setattr(execute, "select", helpful)


CONTROLS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    count_without_the_rule,
    no_barrier,
    foreign_keys_first,
    ids_as_postgrest,
    hint_of_a_hidden_row,
)


@pytest.mark.control
@pytest.mark.parametrize("fault", CONTROLS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_parts_the_worlds(
    sites: tuple[Site, Site],
    spies: tuple[Spy, ...],
    still: types.SimpleNamespace,
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        forget_plans()
        try:
            with pytest.raises(WorldsDiffer):
                sum((meet(seed, sites, spies, still) for seed in CONTROL_SEEDS), Counter())
        finally:
            forget_plans()


def test_the_same_seed_makes_the_same_worlds_and_requests() -> None:
    def drawn() -> tuple:
        world, writer = dressed_world(3)
        rng = random.Random(3)
        user = callers(world, rng)
        other = other_world(world, user, writer)
        grammar = Grammar(rng, Vocabulary.of(seen_by(world, user), world, other), user)
        return world, other, [grammar.request() for _ in range(100)]

    assert drawn() == drawn()


def test_the_worlds_differ_in_what_is_hidden_and_in_nothing_else() -> None:
    differing = Counter()
    for seed in CONTROL_SEEDS:
        world, writer = dressed_world(seed)
        user = callers(world, random.Random(seed))
        other = other_world(world, user, writer)
        assert seen_by(world, user) == seen_by(other, user), seed
        differing.update(table for table in RESOURCES if world[table] != other[table])

    assert set(differing) == set(RESOURCES)
