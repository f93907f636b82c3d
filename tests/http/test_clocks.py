"""Workers whose clocks differ: the times of consecutive responses never decrease."""

import datetime
import json
import time
from pathlib import Path

from tests.durability.served import serving
from tests.http.service import AS_IT_IS_RUN, ask, served_over
from tests.http.two_clocks import AHEAD_SECONDS, MARK

pytestmark = AS_IT_IS_RUN

DASHBOARD = "/rpc/get_inspections_dashboard_summary_fast"
REQUESTS = 60


def test_no_worker_lags_behind_another(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served", "tests.http.two_clocks:make()")
    own.watched[MARK] = str(tmp_path / "taken")
    with serving(own):
        late = time.time() + AHEAD_SECONDS - 60
        told: list[float] = []
        for _ in range(REQUESTS):
            answer = ask(own, "ada", "GET", DASHBOARD)
            assert answer.status == 200
            moment = json.loads(answer.body)["generated_at"]
            told.append(datetime.datetime.fromisoformat(moment).timestamp())

    assert told == sorted(told)
    assert told[-1] > late, "no request reached the worker that is ahead"
