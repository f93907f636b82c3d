"""The parts of gunicorn below its settings, by name: an update that renames one fails here first."""

import inspect

import gunicorn.http.message
import gunicorn.http.wsgi
import gunicorn.util
import pytest
from gunicorn.http.message import Request
from gunicorn.http.wsgi import Response
from gunicorn.workers.base import Worker
from gunicorn.workers.gthread import PollableMethodQueue, ThreadWorker

from serving.worker import connection

REPLACED = [
    (gunicorn.http.message, "MAX_REQUEST_LINE", Request.__init__),
    (gunicorn.util, "write_error", Worker.handle_error),
    (gunicorn.http.wsgi, "Response", connection.create_uncached),
    (gunicorn.http.wsgi, "create", ThreadWorker.handle_request),
]
"""What `replace_internals` replaces, and gunicorn's function that reads it when it runs."""

OVERRIDDEN = {
    Request: ("set_body_reader", "parse_request_line", "parse_headers", "_apply_header_policy"),
    Response: ("process_headers", "send_headers", "_emit_body", "close", "default_headers"),
    PollableMethodQueue: ("close", "defer"),
    ThreadWorker: (
        "accept", "handle_error", "handle_quit", "handle_request", "init_signals", "is_parent_alive", "load_wsgi",
        "murder_keepalived", "murder_pending", "notify", "set_accept_enabled", "wait_for_and_dispatch_events",
    ),
}  # fmt: skip
"""Methods that the service overrides or calls."""

ATTRIBUTES = ("method_queue", "nr_conns", "poller", "tpool")
"""What the main loop shares with gunicorn's worker."""


@pytest.mark.parametrize(("module", "name", "user"), REPLACED, ids=[name for _, name, _ in REPLACED])
def test_gunicorn_reads_what_is_replaced(module: object, name: str, user: object) -> None:
    assert hasattr(module, name)
    assert name in inspect.getsource(user)


def test_every_replacement_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {}
    for module, name, _ in REPLACED:
        before[name] = getattr(module, name)
        monkeypatch.setattr(module, name, before[name])  # restored after the test

    connection.replace_internals()

    assert [name for module, name, _ in REPLACED if getattr(module, name) == before[name]] == []
    assert inspect.getsource(connection.replace_internals).count(" = ") == len(REPLACED)


@pytest.mark.parametrize(("parent", "names"), OVERRIDDEN.items(), ids=[each.__name__ for each in OVERRIDDEN])
def test_gunicorn_has_the_methods(parent: type, names: tuple[str, ...]) -> None:
    assert [each for each in names if not callable(getattr(parent, each, None))] == []


def test_worker_has_the_attributes() -> None:
    source = inspect.getsource(ThreadWorker)

    assert [each for each in ATTRIBUTES if f"self.{each} = " not in source] == []
