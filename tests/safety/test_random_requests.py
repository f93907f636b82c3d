"""Random people, requests and worlds: the service answers as the oracle says, and leaves behind what the model says.

The oracle and the model are written from docs/ACCESS.md and import nothing of the service.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.conftest import RESOURCES
from tests.safety import answers, model
from tests.safety.answers import Read
from tests.safety.examples import share
from tests.safety.model import End, Insert, Step
from tests.safety.sides import NOW
from tests.safety.sites import Answer, Asking, Site
from tests.safety.steps import Steps, said, written
from tests.safety.twins import dressed_world, seen_by
from tests.support import oracle

REQUESTS_PER_WORLD = 75
READS_PER_VISIT = 2
WRITES_PER_VISIT = 2
COMMIT_SEEDS = range(1, share(40) + 1)  # 3,000 requests
LONG_BLOCKS = [range(first, first + 667) for first in range(10_000, 23_340, 667)]  # 1,000,000
CONTROL_SEEDS = range(1, 41)

# What each end of a write is on the wire: statuses and code.
WIRE = {
    "privilege": (403, "42501"),
    "rule": (403, "42501"),
    "23503": (409, "23503"),
    "23505": (409, "23505"),
    "23514": (400, "23514"),
}


CONSTRAINTS = ("23503", "23505", "23514")


class OracleDiffers(AssertionError):
    """The service and the oracle say different things."""


@dataclass(slots=True)
class Journey:
    """Requests into one world, whose state the model keeps beside the service."""

    seed: int
    site: Site
    world: dict
    rng: random.Random
    steps: Steps
    dead: set[str] = field(default_factory=set)
    gone: list[dict] = field(default_factory=list)
    sent: int = 0

    def visit(self) -> None:
        """Two people read the same few things, somebody writes, and they read the last of them again."""
        users = [self.rng.choice(self.world["users"]) for _ in range(2)]
        seen = [seen_by(self.world, user) for user in users]
        for _ in range(READS_PER_VISIT):
            read = self.steps.read(self.world, users[0])
            for user, visible in zip(users, seen, strict=True):
                self.read(user, visible, read)
        for _ in range(WRITES_PER_VISIT):
            self.write(self.writer())
        for user in users:
            if user in self.world["users"]:
                self.read(user, seen_by(self.world, user), read)

    def writer(self) -> dict:
        """Client admins mostly, since they are who the row rules are for; now and then one who is gone."""
        if self.gone and self.rng.random() < 0.05:
            return self.rng.choice(self.gone)
        often = {"client_admin": 8, "super_admin": 8, "client_manager": 1}
        users = self.world["users"]
        return self.rng.choices(users, [often[user["role"]] for user in users])[0]

    def send(self, user: dict, request: Asking) -> Answer | None:
        """The answer, or None where the token is one that must not work any more."""
        self.sent += 1
        answer = self.site.send(user, request)
        if user["id"] not in self.dead:
            return answer
        if (answer.status, answer.code) != (401, "PGRST303"):
            self.fail(user, request, answer, "a token that died still works")
        return None

    def read(self, user: dict, seen: dict, read: Read) -> None:
        request = said(read)
        rows, total = answers.rows_of(seen, read)
        if (answer := self.send(user, request)) is None:
            return
        if answer.status == 416 and read.offset > max(total - 1, 0):
            return
        if answer.status not in (200, 206):
            self.fail(user, request, answer, "not answered")
        self.compare(user, request, answer, read, rows)
        if total >= 0 and answer.header("content-range").split("/")[1] != str(total):
            self.fail(user, request, answer, f"the count should be {total}")

    def compare(self, user: dict, request: Asking, answer: Answer, read: Read, rows: list[dict]) -> None:
        got, expected = list(map(canonical, answer.json)), list(map(canonical, rows))
        if read.order is None and read.limit is None:
            got, expected = sorted(got), sorted(expected)
        if got != expected:
            self.fail(user, request, answer, f"the rows should be {json.dumps(rows)}")

    def write(self, user: dict) -> None:
        step = self.steps.write(self.world, user)
        request = written(step)
        alive = user["id"] not in self.dead
        end = model.end_of(self.world, user, step, NOW) if alive else End("401", self.world)
        answer = self.send(user, request)
        if answer is not None:
            self.judge(user, request, step, end, answer)
        after = self.site.world()
        self.look_after(user, request, end, after)
        left = {row["id"] for row in after["users"]}
        self.gone += [row for row in self.world["users"] if row["id"] not in left]
        self.dead |= end.dead
        self.world = {table: after[table] for table in RESOURCES}

    def judge(self, user: dict, request: Asking, step: Step, end: End, answer: Answer) -> None:
        if end.how != "done":
            many = isinstance(step, Insert) and len(step.rows) > 1
            # Of several rows that are wrong in several ways, which is told of is nobody's promise.
            possible = [WIRE[how] for how in CONSTRAINTS] if many and end.how in CONSTRAINTS else []
            if (answer.status, answer.code) not in (WIRE[end.how], *possible):
                self.fail(user, request, answer, f"it should be refused as {end.how}")
            return
        expected = 201 if isinstance(step, Insert) else 204
        if answer.status != expected:
            self.fail(user, request, answer, "it should be done")
        total = answer.header("content-range").split("/")[1]
        if total != str(end.touched):
            self.fail(user, request, answer, f"it should touch {end.touched} rows")

    def look_after(self, user: dict, request: Asking, end: End, after: dict) -> None:
        """The world is as the model says; ids that the database chose are taken from it."""
        for table in RESOURCES:
            made = [row for row in end.world[table] if "id" in row and row["id"] is None]
            known = {oracle.key_of(table, row) for row in end.world[table]}
            new = [row for row in after[table] if oracle.key_of(table, row) not in known]
            for row, stored in zip(made, new, strict=False):
                row["id"] = stored["id"]
            complete = (
                [{**dict.fromkeys(after[table][0]), **row} for row in end.world[table]]
                if after[table]
                else end.world[table]
            )
            if model.bare(complete) != model.bare(after[table]):
                self.fail(user, request, None, f"{table} should now be {complete}\nand is {after[table]}")

    def fail(self, user: dict, request: Asking, answer: Answer | None, why: str) -> None:
        who = f"{user['role']} {user['id']} of client {user['client_id']}"
        raise OracleDiffers(f"seed {self.seed}, {who}:\n{request}\n{answer}\n{why}")


def canonical(row: dict) -> str:
    # To JSON a whole number is the same with a point and without one.
    text = json.dumps(row, sort_keys=True)
    return json.dumps(json.loads(text, parse_int=float), sort_keys=True)


def travel(seed: int, site: Site) -> int:
    """Send one world's requests; raises OracleDiffers at the first that is answered otherwise."""
    world, _ = dressed_world(seed)
    site.load(world)
    rng = random.Random(seed)
    journey = Journey(seed, site, site.world(), rng, Steps(rng))
    while journey.sent < REQUESTS_PER_WORLD:
        journey.visit()
    return journey.sent


@pytest.mark.parametrize("seed", COMMIT_SEEDS)
def test_the_service_does_what_the_oracle_says(patient_site: Site, seed: int) -> None:
    assert travel(seed, patient_site) >= REQUESTS_PER_WORLD


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_the_service_does_what_the_oracle_says_at_length(patient_site: Site, seeds: range) -> None:
    assert all(travel(seed, patient_site) >= REQUESTS_PER_WORLD for seed in seeds)


# ── controls: three wrong oracles, each of which must differ from the service ────────────────────────────


SEES_BUILDING = oracle.sees_building


def inspection_grant_shows_its_building(patch: pytest.MonkeyPatch) -> None:
    def sees(world: dict, user: dict, building: dict) -> bool:
        return SEES_BUILDING(world, user, building) or any(
            inspection["building_id"] == building["id"]
            and oracle.has_grant(world, user, oracle.INSPECTION_GRANTS, "inspection_id", inspection["id"])
            for inspection in world["inspections"]
        )

    patch.setitem(oracle.SEES, "buildings", sees)


def admin_grants_allow_writing(patch: pytest.MonkeyPatch) -> None:
    within_reach = oracle.is_in_write_scope

    def reaches(world: dict, user: dict, table: str, row: dict) -> bool:
        if table in ("buildings", "inspections") and user["role"] == oracle.ADMIN and "id" in row:
            return oracle.visible(world, user, table, row)
        return within_reach(world, user, table, row)

    patch.setattr(oracle, "is_in_write_scope", reaches)


def grants_stay_when_their_row_moves(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(model, "fall", lambda *_: None)


WRONG: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    inspection_grant_shows_its_building,
    admin_grants_allow_writing,
    grants_stay_when_their_row_moves,
)


@pytest.mark.control
@pytest.mark.parametrize("mistake", WRONG, ids=lambda mistake: mistake.__name__)
def test_a_wrong_oracle_differs(
    site: Site, monkeypatch: pytest.MonkeyPatch, mistake: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mistake(monkeypatch)

    with pytest.raises(OracleDiffers):
        sum(travel(seed, site) for seed in CONTROL_SEEDS)


def test_the_same_seed_makes_the_same_steps() -> None:
    def drawn() -> list:
        world, _ = dressed_world(5)
        steps = Steps(random.Random(5))
        user = world["users"][1]
        return [(said(steps.read(world, user)), written(steps.write(world, user))) for _ in range(100)]

    assert drawn() == drawn()
