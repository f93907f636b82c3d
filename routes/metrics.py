"""/metrics: how much is asked, how long it takes, what waits; for Prometheus, behind the service key.

Series are named by method, route template and status: never by a path, a caller or a value. Under
gunicorn each worker counts in files of its own, and any of them adds all of them up. Where there is no
place for files it counts by itself, and serves all the same.
"""

from __future__ import annotations

import logging
import os
import platform
import threading
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from functools import partial
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any
from typing import Final

from flask import Blueprint
from flask import Flask
from flask import Response
from flask import current_app
from flask import g
from flask import has_request_context
from flask import request
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client import CollectorRegistry
from prometheus_client import Counter
from prometheus_client import Gauge
from prometheus_client import Histogram
from prometheus_client import disable_created_metrics
from prometheus_client import generate_latest
from prometheus_client import values
from prometheus_client.core import InfoMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

import config
from access import request_state
from access.decorators import InvalidApiKey
from access.decorators import authenticator
from access.decorators import set_requirement
from engine.current import database
from engine.query.read import plan
from engine.query.write import plan as mutate
from engine.reporting import chart_statements
from engine.reporting import counts
from engine.storage.database import Database
from engine.storage.sqlite import driver
from engine.storage.writer_lock import WriterLock
from routes.metric_files import allocate

LOG = logging.getLogger("walkthrough")

KEPT: Final = "walkthrough.meters"
PUBLISH_SECONDS: Final = 1.0  # how old the figures of another worker's plan caches may be
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE: Final = "unmatched"
PACKAGES: Final = ("flask", "werkzeug", "sqlalchemy", "gunicorn", "marshmallow", "itsdangerous")

Observe = Callable[[float], None]

bp = Blueprint("metrics", __name__)


def requires_service_key(view: Callable[[], Response]) -> Callable[[], Response]:
    """The service key, as apikey or as bearer; anything else, where there is none too, is refused."""

    @wraps(view)
    def entered() -> Response:
        keys = authenticator()
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        # Both comparisons always run, so that the time tells nothing.
        if not (keys.is_service(request.headers.get("apikey", "")) | keys.is_service(bearer)):
            raise InvalidApiKey("Invalid API key", hint="This takes the service key.")
        return view()

    return set_requirement(entered, "service key")


@bp.get("/metrics")
@requires_service_key
def metrics() -> Response:
    meters: Meters = current_app.extensions[KEPT]
    return Response(meters.told(), 200, {"Content-Type": CONTENT_TYPE_LATEST})


def register_meters(app: Flask) -> None:
    """Count an application's requests, and how long its writers wait."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a second line a series, which nothing here needs
    meters = make_meters()
    app.extensions[KEPT] = meters
    app.after_request(meters.count)
    with app.app_context():
        tie(meters, database())


def make_meters() -> Meters:
    """An application's figures, in files that all workers read; in memory, where these have no place."""
    if counts_in_files():
        try:
            directory = MultiProcessCollector(None)._path  # type: ignore[no-untyped-call]
            allocate(Path(directory), os.getpid())
            return Meters()
        except (OSError, ValueError) as error:  # ValueError: there is no directory any more
            values.ValueClass = values.MutexValue
            reason = getattr(error, "strerror", None) or "there is no directory"
            LOG.warning({"event": "counted_in_memory", "reason": reason})
    return Meters()


def counts_in_files() -> bool:
    return bool(values.ValueClass._multiprocess)


def tie(meters: Meters, found: Database) -> None:
    """Have a database tell how long its writers wait, and who serves its reads."""
    measure_lock_waits(found, meters.lock_waits.observe)
    found.observe_reads(meters.count_read)


class Meters:
    """An application's figures."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "walkthrough_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.durations = Histogram(
            "walkthrough_request_seconds",
            "How long requests took.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.lock_waits = Histogram(
            "walkthrough_write_lock_wait_seconds",
            "Seconds that writes waited for the writer lock, or until they gave up.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.reads = Counter(
            "walkthrough_reads",
            "Reads where there are standbys, by the server that answered, and why it did.",
            ("server", "reason"),
            registry=self.registry,
        )
        self.plans = PlanMeters(self.registry)
        self.kept: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.publish_at = 0.0
        # Every file is opened now: at a request the directory may have been removed.
        self.plans.publish()

    def count(self, response: Response) -> Response:
        """Count a request: 3 us, or 5 with several workers."""
        request = request_state.request()
        rule = request.url_rule
        key = (request.method, rule.rule if rule is not None else NO_ROUTE, response.status_code)
        series = self.kept.get(key) or self.series(*key)
        now = time.monotonic()
        series[0].inc()
        series[1].observe(now - request_state.state().began)
        if now >= self.publish_at:
            self.publish_at = now + PUBLISH_SECONDS
            self.plans.publish()
        return response

    def count_read(self, server: str, reason: str) -> None:
        self.reads.labels(server, reason).inc()

    def series(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        told = method if method in METHODS else "other"
        found = (self.requests.labels(told, route, status), self.durations.labels(told, route))
        if told == method:
            self.kept[method, route, status] = found
        return found

    def told(self) -> bytes:
        """Everybody's figures, as Prometheus reads them, and which versions they are of."""
        self.plans.publish()
        everybody = CollectorRegistry()
        everybody.register(Build())
        everybody.register(Figures(self.families()))
        return generate_latest(everybody)

    def families(self) -> Iterable[Any]:
        """What all workers have counted in files, else what this process has counted. One that counts in memory
        tells of the others, too: figures that some answers leave out go back and forth, and mean nothing."""
        try:
            found = list(MultiProcessCollector(None).collect())  # type: ignore[no-untyped-call]
        except (OSError, ValueError):  # no directory, or none any more
            found = []
        return found or self.registry.collect()


class PlanMeters:
    """The caches of plans: `lru_cache` counts by itself, here it is only read."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.sizes = Gauge(
            "walkthrough_plans",
            "Plans kept, in all workers together.",
            ("cache",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.lookups = Counter(
            "walkthrough_plan_lookups",
            "Plans asked for.",
            ("cache", "outcome"),
            registry=registry,
        )
        self.told: dict[tuple[str, str], int] = {}
        self.publishing = threading.Lock()

    def publish(self) -> None:
        with self.publishing:
            for name, cache in CACHES.items():
                found = cache.cache_info()
                self.sizes.labels(name).set(found.currsize)
                self.add(name, "hit", found.hits)
                self.add(name, "miss", found.misses)

    def add(self, name: str, outcome: str, total: int) -> None:
        more = total - self.told.get((name, outcome), 0)
        self.told[name, outcome] = total
        self.lookups.labels(name, outcome).inc(max(more, 0))  # less: the cache was emptied


def caches_of(*modules: ModuleType) -> dict[str, Any]:
    """The kept plans' functions that are defined in these modules."""
    return {
        name: each
        for module in modules
        for name, each in vars(module).items()
        if hasattr(each, "cache_info") and each.__module__ == module.__name__
    }


CACHES: Final = caches_of(plan, mutate, counts, chart_statements)


class Figures(Collector):
    """What was collected elsewhere, as a part of a registry."""

    def __init__(self, families: Iterable[Any]) -> None:
        self.families = families

    def collect(self) -> Iterator[Any]:
        yield from self.families


class Build(Collector):
    """Which versions run."""

    def collect(self) -> Iterator[Any]:
        told = {name: version(name) for name in PACKAGES}
        told |= {"python": platform.python_version(), "sqlite": driver.sqlite_version}
        told["version"] = config.__version__
        yield InfoMetricFamily("walkthrough_build", "The versions that run.", told)


# Turns to write


class MeasuredWriterLock(WriterLock):
    """A writer lock that reports how long each acquisition waited, in seconds."""

    def __init__(self, path: Path, observe: Observe) -> None:
        super().__init__(path)
        self.observe = observe

    def acquire(self, wait_seconds_max: float, *, joins: bool = False) -> None:
        began = time.monotonic()
        try:
            super().acquire(wait_seconds_max, joins=joins)
        finally:
            observe_wait(self.observe, time.monotonic() - began)


def observe_wait(observe: Observe, seconds: float) -> None:
    observe(seconds)
    if has_request_context():
        g.lock_seconds = seconds


def measure_lock_waits(found: Database, observe: Observe) -> None:
    if found.writer_lock is not None:
        found.writer_lock = MeasuredWriterLock(found.writer_lock.path, observe)
    found.observe_wait = partial(observe_wait, observe)
