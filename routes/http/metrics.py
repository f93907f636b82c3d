"""/metrics: Prometheus metrics for the service key only. /live and /ready: whether the process responds and can serve.

Metrics count requests, lock waits and plan caches. /live and /ready reveal no data. Series are labelled by method,
route template and status, never by a path, caller or value. Under gunicorn, each worker counts in files, and every
worker reports the sum. Without a directory for files, each worker counts in memory.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flask import Blueprint, Flask, Response, current_app, request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

import config
from access import session
from access.decorators import public, set_requirement
from access.session import InvalidApiKey, authenticator
from engine.interface.clock import Clock
from engine.interface.database import Database
from engine.open import database, reading
from engine.query.read import plan as read_plan
from engine.query.write import statements
from engine.rows import PREPARED
from engine.storage.sqlite import driver
from inspections.files.store import FREE_BYTES_MIN, FileStore
from models.types import Fault
from routes.http.metric_files import allocate

LOG = logging.getLogger("walkthrough")

METERS_KEY: Final = "walkthrough.meters"
PUBLISH_SECONDS: Final = 1.0  # the maximum age of another worker's plan cache figures
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE: Final = "unmatched"
PACKAGES: Final = ("flask", "werkzeug", "sqlalchemy", "gunicorn", "marshmallow", "itsdangerous")

Observe = Callable[[float], None]

bp = Blueprint("metrics", __name__)


def requires_service_key(view: Callable[[], Response]) -> Callable[[], Response]:
    """Require the service key, as apikey or as bearer token; raise NoApiKey otherwise."""

    @wraps(view)
    def guarded() -> Response:
        keys = authenticator()
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        # Both comparisons always run, so that the response time reveals nothing.
        if not (keys.is_service(request.headers.get("apikey", "")) | keys.is_service(bearer)):
            raise InvalidApiKey("Invalid API key", hint="This path requires the service key.")
        return view()

    return set_requirement(guarded, "service key")


@bp.get("/metrics")
@requires_service_key
def metrics() -> Response:
    meters: Meters = current_app.extensions[METERS_KEY]
    return Response(meters.render(database().clock), 200, {"Content-Type": CONTENT_TYPE_LATEST})


def register_meters(app: Flask) -> None:
    """Count an application's requests and measure its lock waits."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # creation timestamps double the output
    meters = make_meters()
    app.extensions[METERS_KEY] = meters
    app.after_request(meters.count)
    with app.app_context():
        observe_database(meters, database())


def make_meters() -> Meters:
    """Return the application's metrics, in shared files if possible, else in memory."""
    if counts_in_files():
        try:
            directory = MultiProcessCollector(None)._path  # type: ignore[no-untyped-call]
            allocate(Path(directory), os.getpid())
            return Meters()
        except (OSError, ValueError) as error:  # ValueError: the directory was removed
            values.ValueClass = values.MutexValue
            reason = getattr(error, "strerror", None) or "there is no directory"
            LOG.warning({"event": "counted_in_memory", "reason": reason})
    return Meters()


def counts_in_files() -> bool:
    return bool(values.ValueClass._multiprocess)


def observe_database(meters: Meters, served: Database) -> None:
    """Connect a database's lock waits and reads to the metrics."""
    served.observe_wait = meters.lock_waits.observe
    served.observe_reads(meters.count_read)


class Meters:
    """The metrics of an application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "walkthrough_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.durations = Histogram(
            "walkthrough_request_seconds",
            "Request duration in seconds.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.lock_waits = Histogram(
            "walkthrough_write_lock_wait_seconds",
            "Seconds that writes waited for the writer lock, timeouts included.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.reads = Counter(
            "walkthrough_reads",
            "Reads by database server and the reason for its choice, if standbys are configured.",
            ("server", "reason"),
            registry=self.registry,
        )
        self.plans = PlanMeters(self.registry)
        self.series_cache: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.publish_at = 0.0
        # Open every file now: the directory may be removed later.
        self.plans.publish()

    def count(self, response: Response) -> Response:
        """Count a request. It takes 3 us, or 5 us with several workers."""
        request = session.request()
        rule = request.url_rule
        key = (request.method, rule.rule if rule is not None else NO_ROUTE, response.status_code)
        series = self.series_cache.get(key) or self.series(*key)
        now = time.monotonic()
        series[0].inc()
        series[1].observe(now - session.state().began)
        if now >= self.publish_at:
            self.publish_at = now + PUBLISH_SECONDS
            self.plans.publish()
        return response

    def count_read(self, server: str, reason: str) -> None:
        self.reads.labels(server, reason).inc()

    def series(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        label = method if method in METHODS else "other"
        found = (self.requests.labels(label, route, status), self.durations.labels(label, route))
        if label == method:
            self.series_cache[method, route, status] = found
        return found

    def render(self, clock: Clock) -> bytes:
        """Return the metrics of all workers, the clock and the versions, in Prometheus' text format."""
        self.plans.publish()
        registry = CollectorRegistry()
        registry.register(BuildInfo())
        ahead = GaugeMetricFamily(
            "walkthrough_clock_ahead_seconds", "Seconds that the database's time is ahead of this machine's."
        )
        ahead.add_metric([], clock.seconds_ahead())
        registry.register(CollectedFamilies([ahead]))
        registry.register(CollectedFamilies(self.families()))
        return generate_latest(registry)

    def families(self) -> Iterable[Any]:
        """Return the sums over all workers' files, else this process's counts.

        A worker that counts in memory also reports the files: otherwise counters would go back and forth
        between scrapes.
        """
        try:
            families_in_files = list(MultiProcessCollector(None).collect())  # type: ignore[no-untyped-call]
        except (OSError, ValueError):  # there is no directory
            families_in_files = []
        return families_in_files or self.registry.collect()


class PlanMeters:
    """The plan caches' metrics, read from `lru_cache`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.sizes = Gauge(
            "walkthrough_plans",
            "Cached plans in all workers.",
            ("cache",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.lookups = Counter(
            "walkthrough_plan_lookups", "Plan cache lookups.", ("cache", "outcome"), registry=registry
        )
        self.published: dict[tuple[str, str], int] = {}
        self.publishing = threading.Lock()

    def publish(self) -> None:
        with self.publishing:
            for name, cache in (CACHES | PREPARED).items():
                info = cache.cache_info()
                self.sizes.labels(name).set(info.currsize)
                self.add(name, "hit", info.hits)
                self.add(name, "miss", info.misses)

    def add(self, name: str, outcome: str, total: int) -> None:
        more = total - self.published.get((name, outcome), 0)
        self.published[name, outcome] = total
        self.lookups.labels(name, outcome).inc(max(more, 0))  # negative after the cache was cleared


CACHES: Final = {
    name: each
    for module in (read_plan, statements)
    for name, each in vars(module).items()
    if name.startswith("plan_") and hasattr(each, "cache_info")
}
"""The caches of the plans that are made of queries. Prepared statements register themselves."""


class CollectedFamilies(Collector):
    """Metric families collected elsewhere, as a collector."""

    def __init__(self, families: Iterable[Any]) -> None:
        self.families = families

    def collect(self) -> Iterator[Any]:
        yield from self.families


class BuildInfo(Collector):
    """The running versions, as a collector."""

    def collect(self) -> Iterator[Any]:
        label = {name: version(name) for name in PACKAGES}
        label |= {"python": platform.python_version(), "sqlite": driver.sqlite_version}
        label["version"] = config.__version__
        yield InfoMetricFamily("walkthrough_build", "The versions that run.", label)


health = Blueprint("health", __name__)


@health.get("/live")
@public("a supervisor has no key")
def live() -> Response:
    return status_response(200, "live")


@health.get("/ready")
@public("a load balancer has no key")
def ready() -> Response:
    served = database()
    if served.is_file_replaced():
        served.is_writable()  # logs and handles the replaced file as a write does
        return status_response(503, "the database file was removed or replaced")
    try:
        with reading() as transaction:
            transaction.one("SELECT 1 FROM facts LIMIT 1")
            read_server = served.read_server(transaction)
    except Fault:
        return status_response(503, "the database does not answer")
    if not served.is_writable():
        return status_response(503, "the database cannot be written")
    files: FileStore = current_app.extensions["walkthrough.files"]
    if (problem := files.problem()) is not None:
        return status_response(503, problem)
    path = served.path
    if path is not None and shutil.disk_usage(path.parent).free < FREE_BYTES_MIN:
        return status_response(503, "the disk is almost full")
    more: dict[str, str | int] = {}
    if read_server is not None:  # with standbys only; an unused one does not make the service unready
        more["reads"] = read_server
    if ahead_seconds := served.clock.seconds_ahead():
        more["clock_ahead_seconds"] = ahead_seconds
    return status_response(200, "ready", more)


def status_response(status: int, word: str, more: Mapping[str, str | int] = MappingProxyType({})) -> Response:
    body = json.dumps({"status": word, **more})
    return Response(body, status, {"Content-Type": "application/json; charset=utf-8"})
