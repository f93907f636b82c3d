"""Cached lists and counts over HTTP: each response is that of a process that caches nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from flask import Flask

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine import execute
from engine.interface.versioned_cache import VersionedCache
from engine.open import writing
from engine.query.catalog import catalog
from engine.query.statement import Binding
from engine.storage.sqlite import driver
from routes.postgrest.querystring import parse
from tests.conftest import CAST, MIA, MOE, Api, Database
from tests.support import databases
from tests.support.applications import open_app

DASHBOARD = "get_inspections_dashboard_summary_fast"
LIST = "/inspections?select=id,status,buildings(name)&order=date_visited.desc"


class Fetches:
    """Counts the statements that are run for rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        fetch = execute.fetch_rows

        def count_of(*arguments: object) -> list[str]:
            self.count += 1
            return fetch(*arguments)

        monkeypatch.setattr(execute, "fetch_rows", count_of)


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> Fetches:
    return Fetches(monkeypatch)


@pytest.fixture
def file(tmp_path: Path, base_file: Path) -> Path:
    copy = tmp_path / "walkthrough.db"
    databases.copy(base_file, copy)
    return copy


@pytest.fixture
def workers(file: Path) -> list[Callable[[str], Api]]:
    """Two applications on one file, as two workers are."""
    return [people_of(open_app(file)) for _ in range(2)]


def people_of(app: Flask) -> Callable[[str], Api]:
    return lambda who: Api(Database(lambda: app, None), CAST[who])


# Lists


@pytest.mark.sqlite("a server has no data version")
@pytest.mark.parametrize("accept", ["*/*", "text/csv", "application/vnd.pgrst.array+json;nulls=stripped"])
def test_list_is_read_once_and_the_responses_are_equal(
    workers: list[Callable[[str], Api]], fetches: Fetches, accept: str
) -> None:
    first, *others = [workers[0]("moe").get(LIST, headers={"Accept": accept}) for _ in range(3)]

    assert [(other.status, other.text) for other in others] == [(first.status, first.text)] * 2
    assert fetches.count == 1


@pytest.mark.sqlite("a server has no data version")
@pytest.mark.parametrize("path", ["/inspections?id=eq.1", f"/inspections?status=not.in.({'x' * 2_001})"])
def test_row_by_key_and_long_statement_are_not_cached(
    workers: list[Callable[[str], Api]], fetches: Fetches, path: str
) -> None:
    for _ in range(2):
        workers[0]("ada").get(path)

    assert fetches.count == 2


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia", "max"])
def test_each_caller_gets_their_own_list(api: Callable, who: str) -> None:
    alone = api(who).get(LIST).json
    for other in ("root", "ada", "bob", "moe", "mia", "max"):
        api(other).get(LIST)

    assert api(who).get(LIST).json == alone


CHANGES = {
    "insert": ("ada", "POST", "/inspections", {"building_id": 1, "inspection_type": "fire"}),
    "change": ("ada", "PATCH", "/inspections?id=eq.1", {"status": "cancelled"}),
    "delete": ("ada", "DELETE", "/inspections?id=eq.1", None),
    "rename": ("ada", "PATCH", "/buildings?id=eq.1", {"name": "Renamed"}),
    "grant": ("ada", "POST", "/client_manager_building_access", {"manager_id": MIA, "building_id": 1}),
    "revoke": ("ada", "DELETE", f"/client_manager_building_access?manager_id=eq.{MOE}", None),
    "revoke-one": ("ada", "DELETE", f"/client_manager_inspection_access?manager_id=eq.{MOE}", None),
    "move": ("root", "PATCH", "/buildings?id=eq.1", {"client_id": 2}),
    "demote": ("root", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}),
    "remove": ("root", "DELETE", f"/users?id=eq.{MOE}", None),
}  # fmt: skip


@pytest.mark.parametrize("by", [0, 1], ids=["same-worker", "other-worker"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_is_read_by_the_next_request(
    workers: list[Callable[[str], Api]], file: Path, change: tuple[str, str, str, object], by: int
) -> None:
    reader, people = workers[0], ("root", "ada", "bob", "moe", "mia", "max")
    before = [answered(reader(who)) for who in people for _ in range(2)][::2]
    who, method, path, body = change
    assert workers[by](who).send(method, path, body).status in (201, 204)

    after = [answered(reader(who)) for who in people]

    anew = people_of(open_app(file))
    assert after == [answered(anew(who)) for who in people]
    assert after != before


@pytest.mark.sqlite("reaches into the file")
def test_commit_of_another_program_is_read_by_the_next_request(workers: list[Callable[[str], Api]], file: Path) -> None:
    for _ in range(2):
        workers[0]("moe").get(LIST)
    other = driver.connect(str(file), isolation_level=None)
    other.execute("DELETE FROM audit_context")  # so that the deletion has no audit line
    other.execute("DELETE FROM client_manager_building_access")
    other.close()

    assert [row["id"] for row in workers[0]("moe").get(LIST).json] == [3]


def test_rolled_back_write_is_never_listed(api: Callable) -> None:
    before = api("moe").get(LIST).json
    api("ada").delete("/inspections?id=eq.1", prefer="tx=rollback")

    assert api("moe").get(LIST).json == before


def answered(person: Api) -> tuple[int, str]:
    answer = person.get(LIST)
    return answer.status, answer.text


# Counts


def total_shown(api: Callable, who: str) -> int:
    return api(who).get(f"/rpc/{DASHBOARD}").json["total_inspections"]


def total_counted(api: Callable, who: str) -> int:
    return count_of(api, who, "/inspections")


def count_of(api: Callable, who: str, path: str) -> int:
    """Return the count in the Content-Range of a page; assert that HEAD returns the same."""
    page = f"{path}{'&' if '?' in path else '?'}limit=1&offset=1"
    found = {ask(page, prefer="count=exact").total for ask in (api(who).get, api(who).head)}
    assert len(found) == 1
    return int(found.pop())


any_total = pytest.mark.parametrize("total", [total_shown, total_counted])


@any_total
def test_new_inspection_is_counted_at_once(api: Callable, total: Callable) -> None:
    before = total(api, "ada"), total(api, "moe"), total(api, "bob")

    api("ada").post("/inspections", {"building_id": 1, "inspection_type": "fire"})

    assert (total(api, "ada"), total(api, "moe"), total(api, "bob")) == (before[0] + 1, before[1] + 1, before[2])


@any_total
def test_grant_and_revocation_change_the_count_at_once(api: Callable, total: Callable) -> None:
    seen = [total(api, "mia")]
    api("ada").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 1})
    seen.append(total(api, "mia"))
    api("ada").delete(f"/client_manager_building_access?manager_id=eq.{MIA}")
    seen.append(total(api, "mia"))

    assert seen == [0, 3, 0]


def test_moved_building_changes_the_count_at_once(api: Callable) -> None:
    before = total_counted(api, "ada"), total_counted(api, "bob")

    api("root").patch("/buildings?id=eq.1", {"client_id": 2})

    assert (total_counted(api, "ada"), total_counted(api, "bob")) == (before[0] - 3, before[1] + 3)


@any_total
def test_rolled_back_write_is_never_counted(api: Callable, total: Callable) -> None:
    before = total(api, "ada")

    api("ada").delete("/inspections?id=eq.1", prefer="tx=rollback")

    assert total(api, "ada") == before
    api("ada").delete("/inspections?id=eq.1")
    assert total(api, "ada") == before - 1


def test_count_in_a_write_transaction_is_not_cached(database: Database, api: Callable) -> None:
    """The next change gets the audit line of the one that was rolled back."""
    before = total_counted(api, "root")
    inspections = catalog().relations["inspections"]
    count = partial(execute.count, relation=inspections, query=parse(b""), total=True)
    rule, everything = (AccessRule(GRANT_PROFILES[Role.SUPER_ADMIN, False, False]), Binding(limit=1_000))
    with database.app_for("DELETE", "/inspections").app_context(), writing() as transaction:
        transaction.run("DELETE FROM inspections WHERE id = 9")
        assert count(transaction, rule, everything).total == before - 1
        transaction.roll_back_at_end()

    api("root").patch("/inspections?id=eq.9", {"notes": "still there"})

    assert total_counted(api, "root") == before


@any_total
def test_each_caller_gets_their_own_count(api: Callable, total: Callable) -> None:
    users = ("root", "ada", "moe", "mia", "bob", "max")

    assert [total(api, who) for who in users] == [9, 7, 4, 0, 4, 2]


FILTERS = {
    "another-column": ("inspection_type=eq.fire", "status=eq.fire"),
    "another-value": ("id=gt.1", "id=gt.2"),
    "the-opposite": ("id=gt.3", "id=not.gt.3"),
    "another-embed": ("select=id,buildings!inner(id)&buildings.id=eq.1",
                      "select=id,buildings!inner(id)&buildings.id=eq.2"),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), FILTERS.values(), ids=FILTERS)
def test_counts_are_cached_by_filter(api: Callable, one: str, other: str) -> None:
    first = [count_of(api, "root", f"/inspections?{query}") for query in (one, other)]
    rows = [len(api("root").get(f"/inspections?{query}").json) for query in (one, other)]

    again = [count_of(api, "root", f"/inspections?{query}") for query in (one, other)]

    assert first == again == rows
    assert rows[0] != rows[1]


@pytest.fixture
def computed_keys(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The key of each count that is computed through the cache."""
    found: list[object] = []
    get = VersionedCache.get

    def noting(cache: VersionedCache, version: int, key: tuple, compute: Callable, *more: object) -> object:
        if "count(*)" not in str(key[0]):
            return get(cache, version, key, compute, *more)
        return get(cache, version, key, lambda: found.append(key) or compute(), *more)

    monkeypatch.setattr(VersionedCache, "get", noting)
    return found


@pytest.mark.sqlite("a server has no data version")
def test_pages_of_one_list_share_a_count(api: Callable, computed_keys: list[object]) -> None:
    for offset in (1, 2, 3):
        page = f"/inspections?id=lt.1000003&order=id&limit=1&offset={offset}"
        assert api("ada").get(page, prefer="count=exact").headers["Content-Range"].endswith("/7")

    assert len(computed_keys) == 1


def test_counts_with_long_filters_are_not_cached(api: Callable, computed_keys: list[object]) -> None:
    assert count_of(api, "ada", "/inspections?notes=neq." + "x" * 2_001) > 0

    assert computed_keys == []
