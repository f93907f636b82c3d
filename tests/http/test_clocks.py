"""Workers whose clocks differ: the times of consecutive responses never decrease."""

import datetime
import json
import time
from pathlib import Path

from tests.durability.served import serving
from tests.http.service import RUNNING_SERVICE, ask, served_over
from tests.http.two_clocks import AHEAD_SECONDS, MARKER_VARIABLE

pytestmark = RUNNING_SERVICE

DASHBOARD = "/rpc/get_inspections_dashboard_summary_fast"
REQUESTS = 60


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
