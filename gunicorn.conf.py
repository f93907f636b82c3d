"""How is the service run? gunicorn's settings, each with its reason, and the questions at its start.

Figures are from a 2-core machine; measure again before undoing one.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

PROJECT = Path(__file__).resolve().parent
if str(PROJECT) not in sys.path:
    sys.path.insert(0, str(PROJECT))  # so that gunicorn may be started in any directory

# What is imported is there to stay: looking through it again and again, a tenth of a start, finds nothing.
gc.disable()  # until `start.load` has imported the rest

import gunicorn.http.message  # noqa: E402
from gunicorn.arbiter import Arbiter  # noqa: E402
from gunicorn.workers.base import Worker  # noqa: E402

import config as configuration  # noqa: E402  (`config` is a setting's name)
from routes import metric_files as meters  # noqa: E402
from serving import logging as logs  # noqa: E402
from serving import shutdown as stop  # noqa: E402
from serving import standard_error as stderr  # noqa: E402
from serving.start import checks as start  # noqa: E402
from serving.start import descriptors  # noqa: E402
from serving.start import memory  # noqa: E402
from serving.start import ports  # noqa: E402
from serving.worker import limits  # noqa: E402

Stated = TypeVar("Stated")


def stated(read: Callable[[], Stated]) -> Stated:
    """What the environment says. What is wrong with it is told in one line, not by where it was raised."""
    try:
        return read()
    except configuration.ConfigurationError as error:
        sys.exit(f"walkthrough: {error}")


# What a service on PostgreSQL needs besides, and one on a file starts without.
POSTGRESQL = ("engine.postgres.schema", "engine.query.dialect.postgresql")

KEYS_DRAWN = (
    "no keys.json beside the database: new keys were drawn, and what older ones signed is void"
)

wsgi_app = "wsgi:app"
chdir = str(PROJECT)
proc_name = "walkthrough"

# This machine only, unless told: beyond the local network a buffering proxy belongs in front.
_host, _port = stated(configuration.bind_address)
bind = [f"[{_host}]:{_port}" if ":" in _host else f"{_host}:{_port}"]

# SQLite has one writer; two processes are enough to keep two cores busy with reading.
workers = 2
# Slow requests hold threads, not cores: 64 of them wait cheaply. Clients that say nothing, or half a head, hold none.
threads = 32
worker_class = "serving.worker.loop.BufferingWorker"
# One client more than there are descriptors would end a worker; the limit of open files is raised for as many.
worker_connections = descriptors.clients_max()
# One accept queue per worker. With a shared one connections pile up on one worker, and throughput
# swings by a factor of four. A bind then never fails, hence the probe and the claim in on_starting.
reuse_port = True
# An SQLite connection must not live across a fork: each worker makes the application itself.
preload_app = False
# No leak to hide; a restart would reset whoever waits in the worker's accept queue.
max_requests = 0
# Clients reuse a connection for up to a minute; a server that closes first makes their writes fail.
# An idle connection costs no thread.
keepalive = stated(configuration.keepalive_seconds)
# The main loop only dispatches. One that stands still for 30 s is broken.
timeout = 30
# Longer than any request may take the database (reads 2 s, writes 5 s of waiting and 4 s of work).
graceful_timeout = 15

# 64 KiB are taken: 1,000 UUIDs in an `in` list need 41 KB. gunicorn lowers any larger value
# to its own constant without a word, and reads 0 as "no limit"; so both are set.
gunicorn.http.message.MAX_REQUEST_LINE = limits.REQUEST_LINE_BYTES_MAX + 1
limit_request_line = limits.REQUEST_LINE_BYTES_MAX
limit_request_fields = limits.HEADER_FIELDS_MAX
limit_request_field_size = limits.HEADER_BYTES_MAX
# The C parser (`gunicorn[fast]`) is left out: 27.0.1 asks for gunicorn_h1c 0.6.14, and the newest that
# could be had was 0.6.9. "python" keeps a stray copy of it from being picked up.
http_parser = "python"

# `X_Forwarded_For` must not pass for `X-Forwarded-For`: names with an underscore are dropped.
header_map = "drop"
# No header moves the application to another path, scheme or server, whoever sends it.
forwarder_headers = ""
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}

# The head of a response waits for its body (SingleWriteResponse), and sendfile would pass it.
sendfile = False

# gunicorn's default, 0, would make the database readable by everybody.
umask = 0o077
# On by default: a door into the arbiter that nobody here needs.
control_socket_disable = True
# The application writes one JSON line a request; gunicorn's own line would show query values.
accesslog = None
# One JSON object a line on standard error, gunicorn's own messages too (LOG_LEVEL; info has a line a request).
logger_class = "serving.logging.JsonLogger"
loglevel = stated(configuration.log_level)
# A worker's sign of life is a file without a name. In memory, where there is a place for such: a worker that is to
# take another's place needs one, and without it gunicorn ends.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108


def on_starting(server: Arbiter) -> None:
    os.register_at_fork(after_in_parent=stop.let_signals_through)
    memory.share_one_arena()
    try:
        configuration.refuse_debugging()
        has_lost_keys = configuration.has_lost_keys()
        settings = configuration.prepare()
        configuration.hand_down(settings)
        if has_lost_keys:
            server.log.warning(KEYS_DRAWN)
        if (lack := descriptors.too_few()) is not None:
            raise start.StartRefused(lack)
        start.require_place_for_signs(server.cfg.worker_tmp_dir)
        start.refuse_taken_addresses(server.address)
        server.ports = ports.Ports()
        server.ports.claim(server.address)
        # Workers count for /metrics in files, so that each of them can add up all; it has to be known
        # before they import what counts.
        server.metrics_directory = meters.make_directory()
        if server.metrics_directory is None:
            server.log.warning("no place for temporary files: each worker counts for itself")
        configuration.count_in(server.metrics_directory)
        server.exit_flags = stop.ExitFlags()
        database = configuration.database_path(settings["DATABASE_URL"])
        server.serving_lock = start.claim(database) if database is not None else None
        start.load("app", *(POSTGRESQL if database is None else ()))
        start.share_clock()
        _look_at_database(server)
        start.expect_file(database)
        if database is None:
            start.expect_server(settings["DATABASE_URL"])
    except (configuration.ConfigurationError, start.StartRefused, ports.PortTaken) as error:
        meters.remove_directory(getattr(server, "metrics_directory", None))
        sys.exit(f"walkthrough: {error}")


def when_ready(server: Arbiter) -> None:
    """gunicorn names sockets of the arbiter's, which has none: each worker listens for itself."""
    logging.getLogger("walkthrough").info({"event": "listening", "addresses": bind})


def on_reload(server: Arbiter) -> None:
    """At a HUP these settings are read again, and all is imported. So are the application's, by their new workers, as
    long as nothing is wrong with them; no keys are drawn."""
    gc.enable()
    try:
        configuration.hand_down(configuration.load())
    except configuration.ConfigurationError as error:
        server.log.error("the settings stay as they are: %s", error)


def pre_exec(server: Arbiter) -> None:
    """At a USR2, in a child that would become a second server: neither the file nor the port would be its own."""
    server.log.warning(
        "USR2 is refused: there is one server at a time; to start anew, stop it and start it"
    )
    stderr.flush_all()
    os._exit(0)


def pre_fork(server: Arbiter, worker: Worker) -> None:
    worker.exit_flag = server.exit_flags.create()
    stop.hold_back_signals()  # the worker lets them through once it has handlers


def post_fork(server: Arbiter, worker: Worker) -> None:
    logs.watch_threads()
    server.ports.let_go()


def worker_exit(server: Arbiter, worker: Worker) -> None:
    """In the worker, when its requests are answered; in the arbiter, for one that is gone before it is killed."""
    if worker.pid == os.getpid():
        stop.close_database(getattr(worker, "wsgi", None))
        worker.exit_flag.set()
        stderr.flush_all()


def child_exit(server: Arbiter, worker: Worker) -> None:
    """What a dead worker counted stays; what it had at the moment goes."""
    server.exit_flags.collect(worker.exit_flag)
    meters.forget(server.metrics_directory, worker.pid)


def on_exit(server: Arbiter) -> None:
    """The workers are gone. A stop is a clean one here alone, and if none of them had to be killed."""
    meters.remove_directory(server.metrics_directory)
    if server.serving_lock is not None:
        if server.exit_flags.are_set():
            server.serving_lock.release()
        else:
            server.serving_lock.abandon()


def _look_at_database(server: Arbiter) -> None:
    """Have a database looked at before it is served; closely, if it is a file whose last server ended badly."""
    lock = server.serving_lock
    if lock is None:
        start.require_usable(None, partial(_check, server))
    elif lock.found_unclean:
        start.require_usable(
            lock, partial(_check, server, "quick"), "the check after an unclean stop"
        )
    else:
        start.require_usable(lock, partial(_check, server, "none"))


def _check(server: Arbiter, scan: str | None = None) -> None:
    """In a process of its own: what `flask check` does, with what is imported by now; without a scan it is enough that
    there is an application, which has a server's tables made or brought up to date, and tells why it cannot."""
    from flask.cli import ScriptInfo

    from app import create_app

    application = create_app(has_right_to_serve=True)
    try:
        if scan is not None:
            words = ["check", "--scan", scan]
            application.cli.main(words, obj=ScriptInfo(create_app=lambda: application))
    finally:
        stop.close_database(application)
        meters.forget_all(server.metrics_directory, os.getpid())
