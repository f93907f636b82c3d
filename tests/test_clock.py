"""Time never goes back, whatever the system's clock says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from models.clock import Clock
from models.clock import share
from tests import databases
from tests import tokens
from tests.applications import open_app
from tests.conftest import MIA
from tests.conftest import ROOT
from tests.conftest import Bearer
from tests.conftest import Database
from tests.conftest import api_over

YEAR = 365 * 86_400
HALF_AN_HOUR = 1_800


def test_a_clock_that_is_set_back_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    seen = [clock()]
    present = time.time
    monkeypatch.setattr(time, "time", lambda: present() - YEAR)
    seen.append(clock())

    assert seen[0] <= seen[1] < seen[0] + 1


def test_a_stored_moment_is_past() -> None:
    clock = Clock()
    clock.advance("2999-01-01T00:00:00.5+00:00")

    assert clock() == 32472144000.5


def test_what_was_written_counts_after_a_start_in_the_past(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "walkthrough.db"
    application = open_app(file)
    with application.app_context(), application.extensions["walkthrough"].writing() as transaction:
        now = transaction.now
        transaction.run(
            f"INSERT INTO clients (name, created_at, updated_at) VALUES ('A', '{now}', '{now}')"
        )
    present = time.time
    expired = tokens.token_for(ROOT, "super_admin", None, exp=int(present()) - 1)
    monkeypatch.setattr(time, "time", lambda: present() - YEAR)

    app = open_app(file)
    answer = app.test_client().get(
        "/clients", headers={"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {expired}"}
    )

    assert (answer.status_code, answer.json["code"]) == (401, "PGRST303")
    assert answer.json["message"] == "JWT expired"


def test_updated_at_never_falls(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [
        api("root").patch("/buildings?id=eq.1&select=updated_at", {"floors": 1}, prefer="return=representation").json
    ]  # fmt: skip
    present = time.time
    monkeypatch.setattr(time, "time", lambda: present() - 60)
    changed.append(
        api("root").patch("/buildings?id=eq.1&select=updated_at", {"floors": 2}, prefer="return=representation").json
    )  # fmt: skip

    assert changed[0][0]["updated_at"] <= changed[1][0]["updated_at"]


def test_what_ends_tokens_ends_those_of_a_later_time_too(base_file: Path, tmp_path: Path) -> None:
    """A system's clock that lies behind what was written is not asked by the triggers either."""
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    api = api_over(Database(lambda: app, None, app))
    clock = app.extensions["walkthrough.clock"]
    clock.latest = time.time() + HALF_AN_HOUR
    token = tokens.token_for(MIA, "client_manager", 1, iat=int(clock()))
    assert api(Bearer(f"Bearer {token}")).get("/buildings").status == 200

    for role in ("client_admin", "client_manager"):
        assert api("root").patch(f"/users?id=eq.{MIA}", {"role": role}).status == 204

    assert api(Bearer(f"Bearer {token}")).get("/buildings").status == 401


@pytest.mark.sqlite("the hosts of a server keep their clocks by NTP")
def test_a_write_goes_on_from_the_moment_of_another_process(
    base_file: Path, tmp_path: Path
) -> None:
    """Each has a clock of its own; one of them was asked last before the system's clock was set back."""
    databases.copy(base_file, tmp_path / "own.db")
    ahead, behind = (open_app(tmp_path / "own.db") for _ in range(2))
    ahead.extensions["walkthrough.clock"].latest = time.time() + HALF_AN_HOUR
    changed = []
    for app, floors in ((ahead, 1), (behind, 2)):
        api = api_over(Database(lambda app=app: app, None, app))
        path = "/buildings?id=eq.1&select=updated_at"
        changed += api("root").patch(path, {"floors": floors}, prefer="return=representation").json

    assert changed[0]["updated_at"] <= changed[1]["updated_at"]
    told = api("root").get("/audit_log?relation=eq.buildings&order=id&select=at").json
    assert told[0]["at"] <= told[1]["at"]


@pytest.mark.sqlite("the hosts of a server keep their clocks by NTP")
def test_a_moment_that_is_none_is_written_over(base_file: Path, tmp_path: Path) -> None:
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    with app.app_context(), app.extensions["walkthrough"].writing() as transaction:
        transaction.run("UPDATE audit_context SET at = 'zzz'")
    api = api_over(Database(lambda: app, None, app))

    for floors in (1, 2):
        assert api("root").patch("/buildings?id=eq.1", {"floors": floors}).status == 204
    with app.extensions["walkthrough"].reading() as transaction:
        assert transaction.value("SELECT at FROM audit_context") < "zzz"


def test_processes_that_are_forked_share_the_latest_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "shared", None)  # for share() to be undone
    share()
    here = Clock()
    late = time.time() + HALF_AN_HOUR
    child = os.fork()
    if not child:
        there = Clock()
        there.latest = late
        there()
        os._exit(0)
    os.waitpid(child, 0)

    assert here() == late
