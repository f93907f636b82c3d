"""gunicorn's settings and start-up hooks. Figures are from a machine with two cores."""

from __future__ import annotations

import gc
import logging
import os
import sys
from functools import partial
from pathlib import Path

PROJECT = Path(__file__).resolve().parent
if str(PROJECT) not in sys.path:
    sys.path.insert(0, str(PROJECT))  # gunicorn may be started in any directory

# Imports create no garbage; collections would take a tenth of the start.
gc.disable()  # until `checks.load` has imported the application

from gunicorn.arbiter import Arbiter  # noqa: E402
from gunicorn.workers.base import Worker  # noqa: E402

import config as configuration  # noqa: E402  (`config` is a gunicorn setting)
from routes.http import metric_files  # noqa: E402
from serving import logging as logs  # noqa: E402
from serving import shutdown  # noqa: E402
from serving.logging import STANDARD_ERROR  # noqa: E402
from serving.start import checks  # noqa: E402
from serving.worker import connection  # noqa: E402
from settings import database_path  # noqa: E402
from system import bound_heap  # noqa: E402

bound_heap()  # before any thread has a heap of its own; workers inherit the settings

try:
    process = configuration.process_settings()
except configuration.ConfigurationError as error:
    sys.exit(f"walkthrough: {error}")

# Imported for PostgreSQL only.
POSTGRESQL = ("postgres.schema", "postgres.dialect")

KEYS_DRAWN = "no keys.json beside the database: created new keys; tokens signed with older keys are invalid"
KEYLESS = (
    "all requests are refused: REQUIRE_APIKEY is on, and neither ANON_KEY nor SERVICE_KEY is set;"
    " with SECRET_KEY in the environment keys.json is not read"
)
CLOCK_AHEAD = "the database's time is %d s ahead of this machine's: see the command `clock`"

SOCKET_MODE = 0o660  # a proxy in the service's group may connect, and its headers count

wsgi_app = "wsgi:app"
chdir = str(PROJECT)
proc_name = "walkthrough"

# This machine only by default: outside a local network, put a buffering proxy in front.
bind = [checks.address_text((process["HOST"], process["PORT"]))]

# SQLite has one writer. Two processes keep two cores busy with reads.
workers = 2
# Every request takes a thread. Idle connections and incomplete requests hold no thread.
threads = 32
worker_class = "serving.worker.loop.BufferingWorker"
# A client without a descriptor would end the worker, so the open-file limit is raised to fit.
worker_connections = checks.clients_max()
# One accept queue per worker. With a shared queue, connections pile up on one worker, and throughput
# varies by a factor of four. With SO_REUSEPORT a bind never fails, so on_starting checks the port.
reuse_port = True
# An SQLite connection must not survive a fork, so each worker creates the application.
preload_app = False
# There is no leak. A restart would reset the connections in the worker's accept queue.
max_requests = 0
# Clients reuse a connection for up to a minute; a write fails if the server closes it first.
# An idle connection holds no thread.
keepalive = process["KEEPALIVE_SECONDS"]
# The main loop only receives and dispatches. If it blocks for 30 s, the worker is broken.
timeout = 30
# Longer than any request's database time (reads 2 s; writes 5 s of waiting and 4 s of work).
graceful_timeout = 15

connection.replace_internals()
# 64 KiB: 1,000 UUIDs in an `in` list need 41 KB.
limit_request_line = connection.REQUEST_LINE_BYTES_MAX
limit_request_fields = connection.HEADER_FIELDS_MAX
limit_request_field_size = connection.HEADER_BYTES_MAX
# The C parser (`gunicorn[fast]`) is not used: 27.0.1 requires gunicorn_h1c 0.6.14, and the
# newest available release is 0.6.9. "python" ignores an installed copy of it.
http_parser = "python"

# Drop names with an underscore: WSGI cannot tell `X_Forwarded_For` from `X-Forwarded-For`.
header_map = "drop"
# No request header changes the application's path, scheme or server.
forwarder_headers = ""
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}

# SingleWriteResponse sends the head with the body; sendfile would bypass it.
sendfile = False

# gunicorn's default, 0, would make the database world-readable.
umask = 0o077
# gunicorn opens a control socket by default; it is not needed.
control_socket_disable = True
# The application logs each request as JSON. gunicorn's access log would contain query values.
accesslog = None
# One JSON object per line on standard error, gunicorn's messages included. LOG_LEVEL sets the level.
logger_class = "serving.logging.JsonLogger"
loglevel = process["LOG_LEVEL"]
# A worker's heartbeat is an unnamed file, in memory if possible. On a full disk, gunicorn could not replace a
# worker and would end.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # noqa: S108


def on_starting(server: Arbiter) -> None:
    os.register_at_fork(after_in_parent=shutdown.unblock_stop_signals)
    try:
        configuration.refuse_debugging()
        is_missing_keys = configuration.is_missing_keys()
        settings = configuration.prepare()
        configuration.set_inherited(settings)
        if is_missing_keys:
            server.log.warning(KEYS_DRAWN)
        if (lack := checks.descriptor_shortage()) is not None:
            raise checks.StartRefused(lack)
        checks.require_temporary_directory(server.cfg.worker_tmp_dir)
        if any(isinstance(address, str) for address in server.address):
            server.cfg.set("reuse_port", False)  # workers share a Unix socket: each bind would replace the file
        checks.refuse_taken_addresses(server.address)
        server.ports = checks.PortClaims()
        server.ports.claim(server.address)
        # Workers count in files, so that each can sum up all. prometheus-client reads the directory at import.
        server.metrics_directory = metric_files.make_directory()
        if server.metrics_directory is None:
            server.log.warning("no directory for temporary files: each worker counts for itself")
        configuration.set_metrics_directory(server.metrics_directory)
        server.exit_flags = shutdown.ExitFlags()
        database = database_path(settings["DATABASE_URL"])
        server.serving_lock = checks.claim(database) if database is not None else None
        checks.load("app", *(POSTGRESQL if database is None else ()))
        checks.share_clock()
        _check_database(server)
        if ahead_seconds := checks.seconds_ahead():
            server.log.warning(CLOCK_AHEAD, ahead_seconds)
        checks.expect_file(database)
        if database is None:
            checks.expect_server(settings["DATABASE_URL"])
        if settings["REQUIRE_APIKEY"] and not (settings["ANON_KEY"] or settings["SERVICE_KEY"]):
            server.log.warning(KEYLESS)
    except (configuration.ConfigurationError, checks.StartRefused, checks.PortTaken) as error:
        metric_files.remove_directory(getattr(server, "metrics_directory", None))
        sys.exit(f"walkthrough: {error}")


def when_ready(server: Arbiter) -> None:
    """Log the addresses, also those of `--bind`. gunicorn would log the arbiter's sockets; workers have their own."""
    for address in server.address:
        if isinstance(address, str):
            Path(address).chmod(SOCKET_MODE)
    addresses = [checks.address_text(address) for address in server.address]
    logging.getLogger("walkthrough").info({"event": "listening", "addresses": addresses})


def on_reload(server: Arbiter) -> None:
    """At SIGHUP, reread the settings for the new workers. Invalid settings are ignored, and no keys are created."""
    gc.enable()
    try:
        configuration.set_inherited(configuration.load())
    except configuration.ConfigurationError as error:
        server.log.error("the settings stay as they are: %s", error)


def pre_exec(server: Arbiter) -> None:
    """At SIGUSR2, refuse in the forked child. A second server could lock neither the file nor the port."""
    server.log.warning("USR2 is refused: only one server may run; stop it and start it again")
    STANDARD_ERROR.flush()
    os._exit(0)


def pre_fork(server: Arbiter, worker: Worker) -> None:
    worker.exit_flag = server.exit_flags.create()
    shutdown.block_stop_signals()  # until the worker has installed its handlers


def post_fork(server: Arbiter, worker: Worker) -> None:
    logs.watch_threads()
    server.ports.release()


def worker_exit(server: Arbiter, worker: Worker) -> None:
    """Close the database. The arbiter also calls this hook, for a worker that is about to be killed."""
    if worker.pid == os.getpid():
        shutdown.close_database(getattr(worker, "wsgi", None))
        worker.exit_flag.set()
        STANDARD_ERROR.flush()


def child_exit(server: Arbiter, worker: Worker) -> None:
    """Keep a dead worker's counters and remove its live gauges."""
    server.exit_flags.collect(worker.exit_flag)
    metric_files.retire_process(server.metrics_directory, worker.pid)


def on_exit(server: Arbiter) -> None:
    """Release the serving lock as clean only here, and only if no worker was killed."""
    metric_files.remove_directory(server.metrics_directory)
    if server.serving_lock is not None:
        if server.exit_flags.are_set():
            server.serving_lock.release()
        else:
            server.serving_lock.abandon()


def _check_database(server: Arbiter) -> None:
    """Check the database before it is served, with a scan if the last server did not stop cleanly."""
    lock = server.serving_lock
    if lock is None:
        checks.require_usable(None, partial(_run_check, server))
    elif lock.found_unclean:
        checks.require_usable(lock, partial(_run_check, server, "quick"), "the check after an unclean stop")
    else:
        checks.require_usable(lock, partial(_run_check, server, "none"))


def _run_check(server: Arbiter, scan: str | None = None) -> None:
    """Run `flask check` in a forked process, with the modules that are already imported.

    Without a scan, creating the application is enough: it creates or migrates the tables and reports errors.
    """
    from flask.cli import ScriptInfo

    from app import create_app

    application = create_app(has_right_to_serve=True)
    try:
        if scan is not None:
            words = ["check", "--scan", scan]
            application.cli.main(words, obj=ScriptInfo(create_app=lambda: application))
    finally:
        shutdown.close_database(application)
        metric_files.discard_process(server.metrics_directory, os.getpid())
