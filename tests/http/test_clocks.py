"""Workers whose clocks differ, and a database that was written while the clock was far ahead."""

import datetime
import json
import time
from pathlib import Path

import pytest

from engine.interface.database import stored_timestamp
from tests.conftest import Database, api_over
from tests.durability.served import Served, serving
from tests.http.service import RUNNING_SERVICE, ask, log_lines, served_over
from tests.http.two_clocks import AHEAD_SECONDS, MARKER_VARIABLE
from tests.support.applications import open_app

pytestmark = RUNNING_SERVICE

DASHBOARD = "/rpc/get_inspections_dashboard_summary_fast"
GAUGE = "walkthrough_clock_ahead_seconds"
REQUESTS = 60
TEN_YEARS = 3_652 * 86_400
WEEK = 7 * 86_400
MARGIN_SECONDS = 600  # of a busy machine


def test_times_of_responses_never_decrease(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served", "tests.http.two_clocks:create()")
    own.watched[MARKER_VARIABLE] = str(tmp_path / "taken")
    with serving(own):
        ahead = time.time() + AHEAD_SECONDS - 60
        times: list[float] = []
        for _ in range(REQUESTS):
            answer = ask(own, "ada", "GET", DASHBOARD)
            assert answer.status == 200
            moment = json.loads(answer.body)["generated_at"]
            times.append(datetime.datetime.fromisoformat(moment).timestamp())

    assert times == sorted(times)
    assert times[-1] > ahead, "no request reached the worker that is ahead"


def told_seconds(own: Served) -> tuple[dict, float, list[str]]:
    """Return what `/ready`, the gauge and the warnings of the start say."""
    ready = ask(own, "nobody", "GET", "/ready")
    assert ready.status == 200
    lines = ask(own, "service", "GET", "/metrics").body.decode().splitlines()
    [gauge] = [float(line.split()[1]) for line in lines if line.startswith(f"{GAUGE} ")]
    warned = [line["message"] for line in log_lines(own) if line["level"] == "warning" and "time" in line["message"]]
    return ready.json, gauge, warned


@pytest.mark.parametrize("seconds", [TEN_YEARS, WEEK])
def test_start_ready_and_gauge_report_a_database_written_ahead(base_file: Path, tmp_path: Path, seconds: int) -> None:
    own = served_over(base_file, tmp_path / "served")
    app = open_app(own.database)
    app.extensions["walkthrough.clock"].advance(stored_timestamp(time.time() + seconds))
    sender = api_over(Database(lambda: app, None, app))("service")  # its key does not expire
    assert sender.patch("/buildings?id=eq.1", {"floors": 3}).status == 204
    app.extensions["walkthrough"].close()
    with serving(own):
        ready, gauge, [warned] = told_seconds(own)

    started = int(warned.removeprefix("the database's time is ").partition(" ")[0])
    for told in (ready.pop("clock_ahead_seconds"), gauge, started):
        assert seconds - MARGIN_SECONDS < told <= seconds + 1
    assert ready == {"status": "ready"}


def test_nothing_is_reported_of_a_clock_that_is_right(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    with serving(own):
        assert told_seconds(own) == ({"status": "ready"}, 0, [])
