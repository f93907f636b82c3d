"""The clock is monotonic and continues after the stored time, whatever the system clock shows."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from access.accounts import password
from engine.interface import clock as clocks
from engine.interface.clock import Clock, share
from engine.interface.database import stored_timestamp
from models.types import write_timestamp
from tests.conftest import MIA, ROOT, Bearer, Database, api_over
from tests.support import databases, tokens
from tests.support.applications import open_app

YEAR = 365 * 86_400
HALF_AN_HOUR = 1_800


class Machine:
    """The clocks of a machine, as a test sets them."""

    CLOCK_MONOTONIC = clocks.RUNNING

    def __init__(self, system: float, running: float) -> None:
        self.system = system
        self.running = running

    def go_on(self, seconds: float) -> None:
        self.system += seconds
        self.running += seconds

    def time(self) -> float:
        return self.system

    def clock_gettime(self, which: int) -> float:
        assert which == clocks.RUNNING
        return self.running


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The clock's system time is a year in the past. The rest of the process uses the real time."""
    found = Machine(float(int(time.time()) - YEAR), 12.5)
    monkeypatch.setattr(clocks, "time", found)
    return found


def test_clock_continues_when_the_system_clock_goes_back(machine: Machine) -> None:
    clock = Clock()
    began = clock()
    assert began == pytest.approx(machine.system, abs=0.001)
    machine.system -= YEAR
    seen = [clock()]
    machine.go_on(60)
    seen.append(clock())

    assert seen == pytest.approx([began, began + 60], abs=0.001)
    assert began <= seen[0]


def test_clock_follows_a_system_clock_set_ahead(machine: Machine) -> None:
    clock = Clock()
    clock()
    machine.system += YEAR

    assert clock() == pytest.approx(machine.system, abs=0.001)


def test_clock_follows_a_system_clock_ahead_of_the_stored_time(machine: Machine) -> None:
    clock = Clock()
    clock.advance("2999-01-01T00:00:00+00:00")
    machine.system = 32472144000.0 + YEAR

    assert clock() == pytest.approx(machine.system, abs=0.001)


def test_clock_is_monotonic(machine: Machine) -> None:
    clock = Clock()
    seen = []
    for seconds in (0, 5, -5, -YEAR, 3, YEAR, 0.1, -0.1, 1e-7, -1e-7, 0):
        machine.go_on(1e-7)
        machine.system += seconds
        seen.append(clock())

    assert seen == sorted(seen)
    assert seen[-1] - seen[0] == pytest.approx(5, abs=0.001)


def test_clock_continues_after_the_stored_time(machine: Machine) -> None:
    clock = Clock()
    clock.advance("2999-01-01T00:00:00.5+00:00")

    assert clock() == 32472144000.5
    machine.go_on(60)
    assert clock() == 32472144060.5


@pytest.mark.parametrize("year", [2026, 2040, 2105])
def test_stored_time_is_never_later_than_the_clock(machine: Machine, year: int) -> None:
    """Rounding of doubles does not matter."""
    machine.running = 2**-23
    for microsecond in range(1, 1_000_000, 9_991):
        clock = Clock()
        moment = datetime.datetime(year, 1, 1, 0, 0, 0, microsecond, datetime.UTC)
        stored = write_timestamp(moment)
        clock.advance(stored)

        assert clock() >= moment.timestamp()
        assert stored_timestamp(clock()) == stored


def test_tokens_expire_on_a_machine_with_a_late_clock(base_file: Path, tmp_path: Path, machine: Machine) -> None:
    """The stored time is a year later than the system clock."""
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    clock = app.extensions["walkthrough.clock"]
    clock.advance(stored_timestamp(time.time()))
    now = int(clock())
    api = api_over(Database(lambda: app, None, app))
    token = tokens.token_for(MIA, "client_manager", 1, iat=now, exp=now + 3_600)
    assert api(Bearer(f"Bearer {token}")).get("/buildings").status == 200

    machine.go_on(3_601)

    answer = api(Bearer(f"Bearer {token}")).get("/buildings")
    assert (answer.status, answer.json["message"]) == (401, "JWT expired")


def test_lock_out_ends_on_a_machine_with_a_late_clock(base_file: Path, tmp_path: Path, machine: Machine) -> None:
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    app.extensions["walkthrough.clock"].advance(stored_timestamp(time.time()))
    guess = password.sign_in_attempt("mia@acme.example", "192.0.2.7", MIA)

    def try_once() -> None:
        with app.extensions["walkthrough"].writing() as transaction:
            password.record_sign_in_attempt(transaction, guess)

    for _ in range(password.ACCOUNT_ATTEMPTS_MAX):
        try_once()
    with pytest.raises(password.RateLimitExceeded):
        try_once()
    machine.go_on(password.WINDOWS[password.SIGN_IN])

    try_once()


def test_timestamps_increase_on_a_machine_with_a_late_clock(base_file: Path, tmp_path: Path, machine: Machine) -> None:
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    app.extensions["walkthrough.clock"].advance(stored_timestamp(time.time()))
    api = api_over(Database(lambda: app, None, app))
    changed = []
    for floors in (1, 2):
        path = "/buildings?id=eq.1&select=updated_at"
        changed += api("service").patch(path, {"floors": floors}, prefer="return=representation").json
        machine.go_on(1)

    assert changed[0]["updated_at"] < changed[1]["updated_at"]


def test_start_in_the_past_continues_after_the_last_write(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "walkthrough.db"
    application = open_app(file)
    with application.app_context(), application.extensions["walkthrough"].writing() as transaction:
        now = transaction.now
        transaction.run(f"INSERT INTO clients (name, created_at, updated_at) VALUES ('A', '{now}', '{now}')")
    present = time.time
    expired = tokens.token_for(ROOT, "super_admin", None, exp=int(present()) - 1)
    monkeypatch.setattr(time, "time", lambda: present() - YEAR)

    app = open_app(file)
    answer = app.test_client().get(
        "/clients", headers={"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {expired}"}
    )

    assert (answer.status_code, answer.json["code"]) == (401, "PGRST303")
    assert answer.json["message"] == "JWT expired"


def test_updated_at_never_decreases(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [
        api("root").patch("/buildings?id=eq.1&select=updated_at", {"floors": 1}, prefer="return=representation").json
    ]  # fmt: skip
    present = time.time
    monkeypatch.setattr(time, "time", lambda: present() - 60)
    changed.append(
        api("root").patch("/buildings?id=eq.1&select=updated_at", {"floors": 2}, prefer="return=representation").json
    )  # fmt: skip

    assert changed[0][0]["updated_at"] <= changed[1][0]["updated_at"]


def test_sign_out_ends_tokens_with_a_later_time(base_file: Path, tmp_path: Path) -> None:
    """Triggers do not use a system clock that is behind the stored time, either."""
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    api = api_over(Database(lambda: app, None, app))
    clock = app.extensions["walkthrough.clock"]
    clock.advance(stored_timestamp(time.time() + HALF_AN_HOUR))
    token = tokens.token_for(MIA, "client_manager", 1, iat=int(clock()))
    assert api(Bearer(f"Bearer {token}")).get("/buildings").status == 200

    for role in ("client_admin", "client_manager"):
        assert api("root").patch(f"/users?id=eq.{MIA}", {"role": role}).status == 204

    assert api(Bearer(f"Bearer {token}")).get("/buildings").status == 401


@pytest.mark.sqlite("the hosts of a server keep their clocks by NTP")
def test_a_write_continues_after_the_time_of_another_process(base_file: Path, tmp_path: Path) -> None:
    """Each process has its own clock. One read it last before the system clock went back."""
    databases.copy(base_file, tmp_path / "own.db")
    ahead, behind = (open_app(tmp_path / "own.db") for _ in range(2))
    late = stored_timestamp(time.time() + HALF_AN_HOUR)
    ahead.extensions["walkthrough.clock"].advance(late)
    changed = []
    for app, floors in ((ahead, 1), (behind, 2)):
        api = api_over(Database(lambda app=app: app, None, app))
        path = "/buildings?id=eq.1&select=updated_at"
        changed += api("root").patch(path, {"floors": floors}, prefer="return=representation").json

    assert changed[0]["updated_at"] <= changed[1]["updated_at"]
    told = api("root").get("/audit_log?relation=eq.buildings&order=id&select=at").json
    assert told[0]["at"] <= told[1]["at"]


@pytest.mark.parametrize(("ahead", "told"), [(10 * YEAR, 10 * YEAR), (5, 5), (4.75, 0), (-YEAR, 0)])
def test_a_difference_of_seconds_is_normal_and_told_as_0(machine: Machine, ahead: float, told: int) -> None:
    clock = Clock()
    clock.advance(stored_timestamp(machine.system + ahead))

    assert clock.seconds_ahead() == told


@pytest.mark.sqlite("the hosts of a server keep their clocks by NTP")
def test_an_invalid_stored_time_is_overwritten(base_file: Path, tmp_path: Path) -> None:
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    with app.app_context(), app.extensions["walkthrough"].writing() as transaction:
        transaction.run("UPDATE audit_context SET at = 'zzz'")
    api = api_over(Database(lambda: app, None, app))

    for floors in (1, 2):
        assert api("root").patch("/buildings?id=eq.1", {"floors": floors}).status == 204
    with app.extensions["walkthrough"].reading() as transaction:
        assert transaction.value("SELECT at FROM audit_context") < "zzz"


def test_forked_processes_share_one_clock(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    monkeypatch.setattr(Clock, "shared", None)  # for share() to be undone
    share()
    here = Clock()
    began = here()
    child = os.fork()
    if not child:
        machine.go_on(HALF_AN_HOUR)  # with a system's clock that was set
        machine.running -= HALF_AN_HOUR
        Clock()()
        os._exit(0)
    os.waitpid(child, 0)
    seen = [here()]
    machine.go_on(60)
    seen.append(Clock()())

    assert seen == pytest.approx([began + HALF_AN_HOUR, began + HALF_AN_HOUR + 60], abs=0.001)


@pytest.mark.sqlite("the hosts of a server keep their clocks by NTP")
def test_a_start_continues_after_the_last_disk_probe(base_file: Path, tmp_path: Path, machine: Machine) -> None:
    """Reads store no time; the readiness probe does."""
    databases.copy(base_file, tmp_path / "own.db")
    app = open_app(tmp_path / "own.db")
    app.extensions["walkthrough.clock"].advance(stored_timestamp(time.time()))
    machine.go_on(HALF_AN_HOUR)
    late = app.extensions["walkthrough.clock"]()
    assert app.extensions["walkthrough"].is_writable()
    app.extensions["walkthrough"].close()
    machine.go_on(-HALF_AN_HOUR)  # it boots again

    again = open_app(tmp_path / "own.db").extensions["walkthrough.clock"]

    assert again() >= int(late)
