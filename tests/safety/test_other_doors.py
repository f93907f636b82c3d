"""The two worlds of `test_two_worlds.py` at the other doors: the administration of users, one's own account, the trail,
the console. What is kept beside hidden people to sign in differs, too.
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
from access.session import caller_of_user
from engine.current import reading
from engine.query.rule import Action
from models.types import InvalidInput
from routes.console.components import user_choice
from tests.safety.doors import Doors, furnish
from tests.safety.examples import share
from tests.safety.planted import forget_plans
from tests.safety.sites import Site
from tests.safety.spies import Spy
from tests.safety.test_two_worlds import TRAIL, Meeting, WorldsDiffer, callers, with_hidden_values
from tests.safety.twins import dressed_world, other_world, seen_by
from tests.safety.vocabulary import Vocabulary

PAIRS_PER_WORLD = 50
COMMIT_SEEDS = range(1, share(12) + 1)
LONG_BLOCKS = [range(first, first + 100) for first in range(1_000, 2_000, 100)]
CONTROL_SEEDS = range(1, 41)


class Source:
    """UUIDs that both worlds count alike, and that no two requests have in common: a form makes one for nobody, who
    would else be whom a form before has made."""

    def __init__(self, still: types.SimpleNamespace) -> None:
        self.still = still
        self.begun = 0

    def restart(self) -> None:
        first = (self.begun // 2) * 1_000
        self.begun += 1
        self.still.uuids = (
            uuid.UUID(int=(0xC0 << 120) | (4 << 76) | (8 << 60) | n) for n in itertools.count(first + 1)
        )


def meet(seed: int, sites: tuple[Site, Site], spies: tuple[Spy, ...], still: types.SimpleNamespace) -> Counter:
    """Send one world's requests; raises WorldsDiffer at the first that tells the worlds apart."""
    world, writer = dressed_world(seed)
    rng = random.Random(seed)
    user = callers(world, rng)
    worlds = [world, other_world(world, user, writer)]
    seen = seen_by(world, user)
    for place, (site, each) in enumerate(zip(sites, worlds, strict=True)):
        site.load(each)
        furnish(site, each, user, seen["users"], f"{seed} {place}")
    kept = [with_hidden_values(each, user) for each in worlds]
    meeting = Meeting(seed, user, sites, kept, spies, Source(still))
    doors = Doors(rng, Vocabulary.of(seen, *worlds), user, seen["users"])
    for _ in range(PAIRS_PER_WORLD):
        meeting.ask(doors.request())
    meeting.ask(TRAIL)
    return meeting.statuses


@pytest.mark.parametrize("seed", COMMIT_SEEDS)
def test_two_worlds_answer_alike_at_every_door(
    sites: tuple[Site, Site], spies: tuple[Spy, ...], still: types.SimpleNamespace, seed: int
) -> None:
    statuses = meet(seed, sites, spies, still)

    assert statuses[2] > PAIRS_PER_WORLD / 5, "hardly a request that was answered proves nothing"


@pytest.mark.long
@pytest.mark.parametrize("seeds", LONG_BLOCKS, ids=str)
def test_two_worlds_answer_alike_at_every_door_at_length(
    sites: tuple[Site, Site], spies: tuple[Spy, ...], still: types.SimpleNamespace, seeds: range
) -> None:
    answered = sum((meet(seed, sites, spies, still) for seed in seeds), Counter())

    assert answered[2] > len(seeds) * PAIRS_PER_WORLD / 5


# ── controls: three planted faults, each of which must part the worlds ───────────────────────────────────


def hidden_is_not_unknown(patch: pytest.MonkeyPatch) -> None:
    """Of a user whom the caller does not see it is told that they are there."""
    found = administration.find_user

    def telling(transaction, caller, user_id, action=Action.READ) -> object:
        try:
            return found(transaction, caller, user_id, action)
        except administration.UserNotFound:
            if caller_of_user(transaction, user_id) is None:
                raise
            raise administration.UserNotAllowed("User not allowed") from None

    patch.setattr(administration, "find_user", telling)


def anybody_is_asked_about(patch: pytest.MonkeyPatch) -> None:
    """Why somebody sees something is told of whoever is there."""

    def asked_about(transaction, caller, user_id) -> object:
        user = caller_of_user(transaction, user_id)
        if user is None:
            raise explain.UserNotReadable
        return user

    patch.setattr(explain, "readable_user", asked_about)


def nobodys_email_is_refused_at_once(patch: pytest.MonkeyPatch) -> None:
    """A form of the console finds nobody by an e-mail that is nobody's, and goes on with one that is somebody's."""

    def of_email(email) -> str:
        with reading() as transaction:
            found = people.by_email(transaction, email)
        if found is None:
            raise InvalidInput("there is nobody of that e-mail")
        return found.id

    patch.setattr(user_choice, "user_id_by_email", of_email)


@pytest.mark.control
@pytest.mark.parametrize(
    "fault",
    [hidden_is_not_unknown, anybody_is_asked_about, nobodys_email_is_refused_at_once],
    ids=lambda fault: fault.__name__,
)
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
