"""Random users, requests and worlds: responses agree with the oracle, and stored rows with the model.

Oracle and models follow docs/ACCESS.md and import nothing of the service.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.safety import read_model, write_model
from tests.safety.database_access import NOW
from tests.safety.hypothesis_settings import scaled_count
from tests.safety.read_model import Read
from tests.safety.service_instances import HttpRequest, HttpResponse, ServiceInstance
from tests.safety.step_generator import StepGenerator, read_request, write_request
from tests.safety.world_pairs import random_unique_world, visible_rows
from tests.safety.write_model import Insert, Step, WriteOutcome
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES

REQUESTS_PER_WORLD = 75
READS_PER_ROUND = 2
WRITES_PER_ROUND = 2
COMMIT_SEEDS = range(1, scaled_count(40) + 1)  # 3,000 requests
LONG_BLOCKS = [range(first, first + 667) for first in range(10_000, 23_340, 667)]  # 1,000,000
CONTROL_SEEDS = range(1, 41)

# Status and code for each result of a refused write.
RESPONSES = {
    "privilege": (403, "42501"),
    "rule": (403, "42501"),
    "23503": (409, "23503"),
    "23505": (409, "23505"),
    "23514": (400, "23514"),
}


CONSTRAINT_CODES = ("23503", "23505", "23514")


class OracleDiffers(AssertionError):
    """The service and the oracle disagree."""


@dataclass(slots=True)
class OracleRun:
    """Requests to one world. The model tracks the expected state."""

    seed: int
    instance: ServiceInstance
    world: dict
    rng: random.Random
    steps: StepGenerator
    revoked_ids: set[str] = field(default_factory=set)
    deleted_users: list[dict] = field(default_factory=list)
    sent: int = 0

    def run_round(self) -> None:
        """Two users send the same reads, random users write, and both users repeat the last read."""
        users = [self.rng.choice(self.world["users"]) for _ in range(2)]
        seen = [visible_rows(self.world, user) for user in users]
        for _ in range(READS_PER_ROUND):
            read = self.steps.read(self.world, users[0])
            for user, visible in zip(users, seen, strict=True):
                self.read(user, visible, read)
        for _ in range(WRITES_PER_ROUND):
            self.write(self.writer())
        for user in users:
            if user in self.world["users"]:
                self.read(user, visible_rows(self.world, user), read)

    def writer(self) -> dict:
        """Return a random user, usually an admin. One draw in twenty returns a deleted user, once there are any."""
        if self.deleted_users and self.rng.random() < 0.05:
            return self.rng.choice(self.deleted_users)
        weights = {"client_admin": 8, "super_admin": 8, "client_manager": 1}
        users = self.world["users"]
        return self.rng.choices(users, [weights[user["role"]] for user in users])[0]

    def send(self, user: dict, request: HttpRequest) -> HttpResponse | None:
        """Return the response, or None for a revoked token, which must be refused."""
        self.sent += 1
        response = self.instance.send(user, request)
        if user["id"] not in self.revoked_ids:
            return response
        if (response.status, response.code) != (401, "PGRST303"):
            self.fail(user, request, response, "a revoked token is accepted")
        return None

    def read(self, user: dict, seen: dict, read: Read) -> None:
        request = read_request(read)
        rows, total = read_model.expected_rows(seen, read)
        if (response := self.send(user, request)) is None:
            return
        if response.status == 416 and read.offset > max(total - 1, 0):
            return
        if response.status not in (200, 206):
            self.fail(user, request, response, "the read fails")
        self.compare(user, request, response, read, rows)
        if total >= 0 and response.header("content-range").split("/")[1] != str(total):
            self.fail(user, request, response, f"the count should be {total}")

    def compare(self, user: dict, request: HttpRequest, response: HttpResponse, read: Read, rows: list[dict]) -> None:
        got, expected = list(map(canonical, response.json)), list(map(canonical, rows))
        if read.order is None and read.limit is None:
            got, expected = sorted(got), sorted(expected)
        if got != expected:
            self.fail(user, request, response, f"the rows should be {json.dumps(rows)}")

    def write(self, user: dict) -> None:
        step = self.steps.write(self.world, user)
        request = write_request(step)
        alive = user["id"] not in self.revoked_ids
        outcome = (
            write_model.expected_outcome(self.world, user, step, NOW) if alive else WriteOutcome("401", self.world)
        )
        response = self.send(user, request)
        if response is not None:
            self.check_write_response(user, request, step, outcome, response)
        after = self.instance.world()
        self.check_world(user, request, outcome, after)
        left = {row["id"] for row in after["users"]}
        self.deleted_users += [row for row in self.world["users"] if row["id"] not in left]
        self.revoked_ids |= outcome.revoked_ids
        self.world = {table: after[table] for table in MODELLED_TABLES}

    def check_write_response(
        self, user: dict, request: HttpRequest, step: Step, outcome: WriteOutcome, response: HttpResponse
    ) -> None:
        if outcome.result != "done":
            many = isinstance(step, Insert) and len(step.rows) > 1
            # With several invalid rows, the constraint that the response reports is unspecified.
            possible = (
                [RESPONSES[result] for result in CONSTRAINT_CODES]
                if many and outcome.result in CONSTRAINT_CODES
                else []
            )
            if (response.status, response.code) not in (RESPONSES[outcome.result], *possible):
                self.fail(user, request, response, f"the expected refusal is {outcome.result}")
            return
        expected = 201 if isinstance(step, Insert) else 204
        if response.status != expected:
            self.fail(user, request, response, "the write should succeed")
        total = response.header("content-range").split("/")[1]
        if total != str(outcome.affected_rows):
            self.fail(user, request, response, f"the write should affect {outcome.affected_rows} rows")

    def check_world(self, user: dict, request: HttpRequest, outcome: WriteOutcome, after: dict) -> None:
        """Compare the stored rows with the model. Ids of the database's choice come from the stored rows."""
        for table in MODELLED_TABLES:
            made = [row for row in outcome.world[table] if "id" in row and row["id"] is None]
            known = {oracle.key_of(table, row) for row in outcome.world[table]}
            new = [row for row in after[table] if oracle.key_of(table, row) not in known]
            for row, stored in zip(made, new, strict=False):
                row["id"] = stored["id"]
            complete = (
                [{**dict.fromkeys(after[table][0]), **row} for row in outcome.world[table]]
                if after[table]
                else outcome.world[table]
            )
            if write_model.comparable_rows(complete) != write_model.comparable_rows(after[table]):
                self.fail(user, request, None, f"{table} should be {complete}\nand is {after[table]}")

    def fail(self, user: dict, request: HttpRequest, response: HttpResponse | None, why: str) -> None:
        who = f"{user['role']} {user['id']} of client {user['client_id']}"
        raise OracleDiffers(f"seed {self.seed}, {who}:\n{request}\n{response}\n{why}")


def canonical(row: dict) -> str:
    # JSON does not distinguish 1 and 1.0.
    text = json.dumps(row, sort_keys=True)
    return json.dumps(json.loads(text, parse_int=float), sort_keys=True)


def run_against_oracle(seed: int, instance: ServiceInstance) -> int:
    """Send the requests of one seed and return their number. Raise OracleDiffers at the first difference."""
    world, _ = random_unique_world(seed)
    instance.load(world)
    rng = random.Random(seed)
    run = OracleRun(seed, instance, instance.world(), rng, StepGenerator(rng))
    while run.sent < REQUESTS_PER_WORLD:
        run.run_round()
    return run.sent


@pytest.mark.parametrize("seed", COMMIT_SEEDS)
def test_service_agrees_with_oracle(instance: ServiceInstance, seed: int) -> None:
    assert run_against_oracle(seed, instance) >= REQUESTS_PER_WORLD


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_service_agrees_with_oracle_long(instance: ServiceInstance, seeds: range) -> None:
    assert all(run_against_oracle(seed, instance) >= REQUESTS_PER_WORLD for seed in seeds)


# ── controls: three wrong oracles, each of which must disagree with the service ──────────────────────────


SEES_BUILDING = oracle.sees_building


def inspection_grant_shows_its_building(patch: pytest.MonkeyPatch) -> None:
    def sees_building(world: dict, user: dict, building: dict) -> bool:
        return SEES_BUILDING(world, user, building) or any(
            inspection["building_id"] == building["id"]
            and oracle.has_grant(world, user, oracle.INSPECTION_GRANTS, "inspection_id", inspection["id"])
            for inspection in world["inspections"]
        )

    patch.setitem(oracle.SEES, "buildings", sees_building)


def admin_grants_allow_writing(patch: pytest.MonkeyPatch) -> None:
    within_reach = oracle.is_in_write_scope

    def writes_visible_rows(world: dict, user: dict, table: str, row: dict) -> bool:
        if table in ("buildings", "inspections") and user["role"] == oracle.ADMIN and "id" in row:
            return oracle.visible(world, user, table, row)
        return within_reach(world, user, table, row)

    patch.setattr(oracle, "is_in_write_scope", writes_visible_rows)


def grants_stay_when_their_row_moves(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(write_model, "drop_grants_of_client", lambda *_: None)


WRONG_ORACLES: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    inspection_grant_shows_its_building,
    admin_grants_allow_writing,
    grants_stay_when_their_row_moves,
)


@pytest.mark.control
@pytest.mark.parametrize("mistake", WRONG_ORACLES, ids=lambda mistake: mistake.__name__)
def test_wrong_oracle_is_detected(
    instance: ServiceInstance, monkeypatch: pytest.MonkeyPatch, mistake: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mistake(monkeypatch)

    with pytest.raises(OracleDiffers):
        sum(run_against_oracle(seed, instance) for seed in CONTROL_SEEDS)


def test_steps_are_deterministic_by_seed() -> None:
    def generated() -> list:
        world, _ = random_unique_world(5)
        steps = StepGenerator(random.Random(5))
        user = world["users"][1]
        return [(read_request(steps.read(world, user)), write_request(steps.write(world, user))) for _ in range(100)]

    assert generated() == generated()
