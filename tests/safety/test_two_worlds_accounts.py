"""The two worlds of `test_two_worlds.py` for user administration, own account, audit log and console.

Hidden users also differ in credentials and devices.
"""

import itertools
import random
import types
import uuid
from collections import Counter
from collections.abc import Callable

import pytest

from access import explain
from access.accounts import administration, people
from access.caller import Caller
from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from access.session import caller_of_user
from engine.open import reading
from engine.query.read.planner import Planner
from engine.query.statement import Action
from models.types import InvalidInput
from routes.console.components import queries, row_choice
from routes.console.components.list_query import SEARCH_EMBED
from routes.console.pages import audit_log
from tests.safety.account_request_generator import AccountRequestGenerator, insert_session_state
from tests.safety.files_of_worlds import insert_files
from tests.safety.filter_spy import FilterSpy
from tests.safety.hypothesis_settings import scaled_count
from tests.safety.plan_caches import clear_plan_caches
from tests.safety.service_instances import ServiceInstance
from tests.safety.test_two_worlds import (
    AUDIT_LOG_REQUEST,
    WorldComparison,
    WorldsDiffer,
    random_caller,
    with_hidden_values,
)
from tests.safety.vocabulary import Vocabulary
from tests.safety.world_pairs import indistinguishable_world, random_unique_world, visible_rows

FILE_PAIRS_PER_WORLD = 8
PAIRS_PER_WORLD = 50
COMMIT_SEEDS = range(1, scaled_count(12) + 1)
LONG_BLOCKS = [range(first, first + 100) for first in range(1_000, 2_000, 100)]
CONTROL_SEEDS = (*range(105, 130), *range(1, 81))  # among 105 to 129 are worlds whose hidden users an admin may guess


class PairedUuids:
    """UUIDs that are equal in both worlds and different in each request.

    A form without a matching user creates an id. A repeated UUID would match the user of an earlier form.
    """

    def __init__(self, uuid_source: types.SimpleNamespace) -> None:
        self.uuid_source = uuid_source
        self.restarts = 0

    def restart(self) -> None:
        first = (self.restarts // 2) * 1_000
        self.restarts += 1
        self.uuid_source.uuids = (
            uuid.UUID(int=(0xC0 << 120) | (4 << 76) | (8 << 60) | n) for n in itertools.count(first + 1)
        )


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
    seen = visible_rows(world, user)
    for position, (instance, each) in enumerate(zip(instances, worlds, strict=True)):
        instance.load(each)
        insert_session_state(instance, each, user, seen["users"], f"{seed} {position}")
        insert_files(instance, each, seen, f"{seed} {position}")
    kept = [with_hidden_values(each, user) for each in worlds]
    comparison = WorldComparison(seed, user, instances, kept, spies, PairedUuids(uuid_source))
    generator = AccountRequestGenerator(rng, Vocabulary.from_worlds(seen, *worlds), user, seen["users"])
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:
            patch.setattr(row_choice, "CHOICES_MAX", 0)
            patch.setattr(audit_log, "USERS_LISTED_MAX", 0)
        for _ in range(PAIRS_PER_WORLD):
            comparison.compare(generator.request())
        for _ in range(FILE_PAIRS_PER_WORLD):
            comparison.compare(generator.console_file())
    comparison.compare(AUDIT_LOG_REQUEST)
    return comparison.statuses


@pytest.mark.parametrize("seed", COMMIT_SEEDS)
def test_hidden_rows_do_not_change_account_and_console_responses(
    instances: tuple[ServiceInstance, ServiceInstance],
    spies: tuple[FilterSpy, ...],
    uuid_source: types.SimpleNamespace,
    seed: int,
) -> None:
    statuses = compare_worlds(seed, instances, spies, uuid_source)

    assert statuses[2] > PAIRS_PER_WORLD / 5, "too few successful responses"


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_hidden_rows_do_not_change_account_and_console_responses_long(
    instances: tuple[ServiceInstance, ServiceInstance],
    spies: tuple[FilterSpy, ...],
    uuid_source: types.SimpleNamespace,
    seeds: range,
) -> None:
    answered = sum((compare_worlds(seed, instances, spies, uuid_source) for seed in seeds), Counter())

    assert answered[2] > len(seeds) * PAIRS_PER_WORLD / 5


# ── controls: five planted leaks, each of which must be detected ─────────────────────────────────────────


def hidden_user_is_forbidden_not_missing(patch: pytest.MonkeyPatch) -> None:
    """The error for a hidden user reveals that the user exists."""
    found = administration.find_user

    def find_user_revealing_existence(transaction, caller, user_id, action=Action.READ) -> object:
        try:
            return found(transaction, caller, user_id, action)
        except administration.UserNotFound:
            if caller_of_user(transaction, user_id) is None:
                raise
            raise administration.UserNotAllowed("User not allowed") from None

    patch.setattr(administration, "find_user", find_user_revealing_existence)


def any_user_is_explained(patch: pytest.MonkeyPatch) -> None:
    """The explanation of access answers for every existing user."""

    def any_existing_user(transaction, caller, user_id) -> object:
        user = caller_of_user(transaction, user_id)
        if user is None:
            raise explain.UserNotReadable
        return user

    patch.setattr(explain, "readable_user", any_existing_user)


def unknown_email_is_refused_first(patch: pytest.MonkeyPatch) -> None:
    """A console form refuses an unknown e-mail address, but continues with a hidden user's address."""

    def user_id_of_known_email(email) -> str:
        with reading() as transaction:
            found = people.by_email(transaction, email)
        if found is None:
            raise InvalidInput("no user has this e-mail address")
        return found.id

    patch.setattr(row_choice, "user_id_by_email", user_id_of_known_email)


EVERYTHING = GRANT_PROFILES[Role.SUPER_ADMIN, False, False]


def suggestions_without_rule(patch: pytest.MonkeyPatch) -> None:
    """The suggestions of a field are rows of all clients."""

    def find_in_all_rows(choice, text, limit) -> list:
        return queries.select_rows(Caller(None, None, EVERYTHING), choice.table.name, text, limit=limit).rows

    patch.setattr(row_choice.RowChoice, "select", find_in_all_rows)


def search_in_hidden_rows(patch: pytest.MonkeyPatch) -> None:
    """A search looks into the names of hidden rows to which visible rows refer."""
    exists = Planner.embed_exists

    def embed_exists_in_all_rows(planner, embed, relation, alias) -> object:
        rule = planner.rule
        if embed.name.startswith(SEARCH_EMBED):
            planner.rule = AccessRule(EVERYTHING)
        try:
            return exists(planner, embed, relation, alias)
        finally:
            planner.rule = rule

    patch.setattr(Planner, "embed_exists", embed_exists_in_all_rows)


@pytest.mark.control
@pytest.mark.parametrize(
    "fault",
    [
        hidden_user_is_forbidden_not_missing,
        any_user_is_explained,
        unknown_email_is_refused_first,
        suggestions_without_rule,
        search_in_hidden_rows,
    ],
    ids=lambda fault: fault.__name__,
)
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
