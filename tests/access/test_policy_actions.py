"""A policy that tells insert, update and delete apart."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from access.policy import POLICIES, Policy
from access.predicates import client_ownership, every_row, no_row
from access.roles import Role
from engine.query.statement import Action
from models import Finding
from tests.conftest import privilege
from tests.safety.plan_caches import clear_plan_caches

FINDING = {"inspection_id": 1, "description": "No smoke alarm", "severity": "moderate"}
BY_ID = "/findings?id=eq.{}"


@pytest.fixture
def changed_policy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Provide a function that changes what client admins may do with findings."""

    def change(**predicates: object) -> None:
        policies = POLICIES[Finding]
        changed = replace(policies[Role.CLIENT_ADMIN], **predicates)
        monkeypatch.setitem(POLICIES, Finding, {**policies, Role.CLIENT_ADMIN: changed})
        clear_plan_caches()

    yield change
    monkeypatch.undo()
    clear_plan_caches()


def test_rows_that_may_not_be_deleted_are_still_written(api: Callable, changed_policy: Callable) -> None:
    changed_policy(delete=no_row)

    [finding] = api("ada").post("/findings", FINDING, prefer="return=representation").json
    path = BY_ID.format(finding["id"])

    assert api("ada").patch(path, {"place": "Hall"}).status == 204
    assert api("ada").delete(path).refusal == privilege("findings")
    assert api("root").delete(path).status == 204


def test_rows_that_may_not_be_inserted_are_still_changed_and_deleted(api: Callable, changed_policy: Callable) -> None:
    [finding] = api("root").post("/findings", FINDING, prefer="return=representation").json
    path = BY_ID.format(finding["id"])

    changed_policy(insert=no_row)

    assert api("ada").post("/findings", FINDING).refusal == privilege("findings")
    assert api("ada").patch(path, {"place": "Hall"}).status == 204
    assert api("ada").delete(path).status == 204


def test_rows_that_may_not_be_changed_are_still_inserted_and_not_merged(
    api: Callable, changed_policy: Callable
) -> None:
    changed_policy(update=no_row)

    [finding] = api("ada").post("/findings", FINDING, prefer="return=representation").json
    path = BY_ID.format(finding["id"])

    assert api("ada").patch(path, {"place": "Hall"}).refusal == privilege("findings")
    merged = {**FINDING, "id": finding["id"], "place": "Hall"}
    assert api("ada").put(path, merged).refusal == privilege("findings")
    upsert = api("ada").post("/findings", merged, prefer="resolution=merge-duplicates")
    assert upsert.refusal == privilege("findings")
    assert api("root").get(path).json[0]["place"] == finding["place"]
    assert api("ada").delete(path).status == 204


@pytest.mark.parametrize("action", [Action.INSERT, Action.UPDATE, Action.DELETE])
def test_write_is_the_shorthand_for_each_action(action: Action) -> None:
    policy = Policy(read=every_row, write=client_ownership)

    assert policy.predicate(action) is client_ownership
    assert replace(policy, **{action.value: no_row}).predicate(action) is no_row
