"""/metrics: for the service key only, by route, summed over all workers."""

import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Response as FlaskResponse
from flask import g

from engine.interface.database import LockTimeout
from engine.storage.database import SqliteDatabase
from tests.support import tokens

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

NO_KEY = {"apikey": None, "Authorization": None}
CANARY = "canary-7f3a"
CALLS_TO_COUNT_MAX = 40


def figures(api: Callable) -> dict[str, float]:
    text = api("service").get("/metrics").text
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def requests_of(method: str, route: str, status: int) -> str:
    return f'walkthrough_requests_total{{method="{method}",route="{route}",status="{status}"}}'


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"apikey": tokens.SERVICE_KEY}, id="as-apikey"),
        pytest.param({"Authorization": f"Bearer {tokens.SERVICE_KEY}"}, id="as-bearer"),
        pytest.param({"Authorization": f"bearer  {tokens.SERVICE_KEY}"}, id="bearer-in-any-case"),
    ],
)
def test_metrics_accept_the_service_key(api: Callable, headers: dict) -> None:
    response = api("nobody").get("/metrics", headers={**NO_KEY, **headers})

    assert response.status == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    assert response.headers["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize("who", ["root", "ada", "moe", "nobody"])
def test_metrics_refuse_other_callers(api: Callable, who: str) -> None:
    response = api(who).get("/metrics")

    assert (response.status, response.code) == (401, "PGRST302")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"apikey": tokens.ANON_KEY}, id="anon-key"),
        pytest.param({"apikey": tokens.SERVICE_KEY[:-1]}, id="cut-off"),
        pytest.param({"apikey": ""}, id="empty"),
        pytest.param({"Authorization": "Bearer "}, id="empty-bearer"),
        pytest.param({"Authorization": f"Basic {tokens.SERVICE_KEY}"}, id="basic"),
        pytest.param({"Authorization": f"Bearer {tokens.SECRET_KEY}"}, id="secret-key"),
        pytest.param({"Authorization": "Bearer ü\xff"}, id="not-ascii"),
    ],
)
def test_metrics_refuse_other_keys(api: Callable, headers: dict) -> None:
    assert api("nobody").get("/metrics", headers={**NO_KEY, **headers}).status == 401


def test_absent_service_key_matches_nothing(world: Callable) -> None:
    api = world({}, SERVICE_KEY="")

    for headers in ({"apikey": ""}, {"Authorization": "Bearer "}, {"apikey": tokens.SERVICE_KEY}, {"apikey": "None"}):
        assert api("nobody").get("/metrics", headers={**NO_KEY, **headers}).status == 401


def test_requests_are_counted_by_method_route_and_status(world: Callable) -> None:
    api = world({})
    before = figures(api)

    api("service").get("/inspections?notes=eq.x")
    api("service").get("/inspections")
    api("service").get("/rest/v1/inspections")
    api("nobody").get("/inspections")
    api("service").get("/auth/v1/admin/users/00000000-0000-4000-8000-000000000001")
    api("service").post("/clients", {"name": "A"})
    after = figures(api)

    def more(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    assert more(requests_of("GET", "/inspections", 200)) == 2
    assert more(requests_of("GET", "/rest/v1/inspections", 200)) == 1
    assert more(requests_of("GET", "/inspections", 401)) == 1
    assert more(requests_of("GET", "/auth/v1/admin/users/<user_id>", 404)) == 1
    assert more(requests_of("POST", "/clients", 201)) == 1
    assert more('walkthrough_request_seconds_count{method="GET",route="/inspections"}') == 3
    assert more("walkthrough_write_lock_wait_seconds_count") == 1


def test_caller_input_creates_no_series(world: Callable) -> None:
    api = world({})

    api("service").get(f"/{CANARY}?{CANARY}=1")
    api("service").get(f"/rpc/{CANARY}")
    api("service").get(f"/inspections?notes=eq.{CANARY}", headers={"X-Request-Id": CANARY})
    api("service").get(f"/auth/v1/admin/users/{CANARY}")
    api("service").send("CANARY", "/inspections")
    text = api("service").get("/metrics").text

    assert "canary" not in text.lower()
    assert 'method="other",route="unmatched",status="405"' in text


def test_plan_caches_are_reported(world: Callable) -> None:
    api = world({})
    api("service").get("/clients?select=id,name&order=name")
    before = figures(api)
    api("service").get("/clients?select=id,name&order=name")
    after = figures(api)

    hits = 'walkthrough_plan_lookups_total{cache="plan_read",outcome="hit"}'
    assert after[hits] > before[hits]
    assert after['walkthrough_plans{cache="plan_read"}'] >= 1


def test_prepared_statements_are_reported(world: Callable) -> None:
    api = world({})
    api("service").rpc("get_due_summary")

    found = figures(api)

    assert found['walkthrough_plans{cache="plan_due"}'] >= 1
    assert found['walkthrough_plans{cache="plan_insert"}'] >= 0


def test_versions_are_reported(api: Callable) -> None:
    [build] = [name for name in figures(api) if name.startswith("walkthrough_build_info{")]

    assert {"version", "python", "sqlite", "flask", "gunicorn"} <= set(re.findall(r"(\w+)=", build))


def test_writer_lock_wait_includes_timeouts(tmp_path: Path) -> None:
    waits: list[float] = []
    database = SqliteDatabase(tmp_path / "a.db")
    database.observe_wait = waits.append
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with database.writing(wait_seconds_max=1):
            taken.set()
            done.wait(5)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(5)
    with pytest.raises(LockTimeout), database.writing(wait_seconds_max=0.05):
        pass
    done.set()
    holder.join()
    database.close()

    assert waits[0] < 0.05 <= waits[1] < 1


def calls_of(function: Callable, *arguments: object) -> int:
    """Count the Python and C functions that a call invokes. The number is the same on every machine."""
    events = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in events) - 1  # setprofile's own


def test_counting_a_request_makes_few_calls(pristine: object) -> None:
    counted = pristine.extensions["walkthrough.meters"]
    with pristine.test_request_context("/inspections"):
        g.began = time.monotonic()
        answer = FlaskResponse()
        counted.count(answer)  # the first of its kind makes its counters

        assert 1 < calls_of(counted.count, answer) < CALLS_TO_COUNT_MAX
