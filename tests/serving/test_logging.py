"""The log: one JSON object a line, with user, request and result, and without secrets."""

import io
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import config
from models.types import read_integer
from routes import resource
from routes.http import middleware
from serving import logging as logs
from tests.conftest import ADA, uuid
from tests.support import tokens

PROJECT = Path(__file__).resolve().parent.parent.parent
CANARY = "canary-5d1e"
REQUEST_KEYS = [
    "time", "level", "event", "request_id", "method", "path", "status", "milliseconds",
    "user_id", "role", "refusal",
]  # fmt: skip


class Log:
    """The output of the service's logger."""

    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.text.split("\n") if line]


@pytest.fixture
def log() -> Iterator[Log]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    logger = logging.getLogger("walkthrough")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield Log(stream)
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_request_is_logged_on_one_line(api: Callable, log: Log) -> None:
    api("ada").get("/buildings?name=eq.Mill&select=id")

    [line] = log.lines
    assert list(line) == REQUEST_KEYS
    assert (line["event"], line["level"]) == ("request", "info")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/buildings", 200)
    assert (line["user_id"], line["role"], line["refusal"]) == (ADA, "client_admin", None)
    assert line["time"].endswith("+00:00")
    assert 0 <= line["milliseconds"] < 10_000


@pytest.mark.parametrize(
    ("who", "method", "path", "status", "role", "refusal"),
    [
        pytest.param("nobody", "GET", "/buildings", 401, None, "AnonymousDenied", id="nobody"),
        pytest.param("moe", "POST", "/buildings", 403, "client_manager", "PermissionDenied", id="privilege"),
        pytest.param("ada", "GET", "/nope", 404, None, "UnknownRelation", id="no-table"),
        pytest.param("ada", "GET", "/buildings?nope=eq.1", 400, "client_admin", "UnknownColumn", id="column"),
        pytest.param("service", "GET", "/buildings", 200, "super_admin", None, id="service"),
    ],
)
def test_refusal_is_logged_with_its_class(
    api: Callable, log: Log, who: str, method: str, path: str, status: int, role: str, refusal: str
) -> None:
    api(who).send(method, path, {} if method == "POST" else None)

    [line] = log.lines
    assert (line["status"], line["role"], line["refusal"]) == (status, role, refusal)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/a%0d%0a%7b%22level%22:%22forged%22%7d", id="cr-lf"),
        pytest.param("/a%1b%5b31mred", id="esc"),
        pytest.param("/a%e2%80%aetxt", id="bidi"),
        pytest.param("/a%7f%c2%85%e2%80%a8", id="del-nel-ls"),
    ],
)
def test_control_characters_are_escaped(api: Callable, log: Log, path: str) -> None:
    api("ada").get(path)

    assert len(log.lines) == 1
    assert log.text.count("\n") == 1
    assert all(character == "\n" or " " <= character <= "~" for character in log.text)


def test_long_path_is_truncated(api: Callable, log: Log) -> None:
    api("ada").get("/" + "a" * 20_000)

    assert len(log.text) < 1_000


def secrets_of(api: Callable) -> dict[str, str]:
    """Return the secrets of one caller by name."""
    return {
        "anon key": tokens.ANON_KEY,
        "service key": tokens.SERVICE_KEY,
        "secret key": tokens.SECRET_KEY,
        "token": api("ada").person.authorization().removeprefix("Bearer ").split(".")[2],
        "value": CANARY,
    }


def test_log_contains_no_secret(api: Callable, log: Log) -> None:
    secrets = secrets_of(api)
    headers_with_value = {
        "User-Agent": CANARY,
        "X-Request-Id": CANARY,
        "X-Client-Info": CANARY,
        "Referer": f"http://x/?a={CANARY}",
        "Origin": f"http://{CANARY}.example",
        "Cookie": f"session={CANARY}",
        "X-Forwarded-For": CANARY,
        "Prefer": f"handling=strict,{CANARY}",
        "Range": CANARY,
    }
    ada, service = api("ada"), api("service")

    ada.get(f"/buildings?name=eq.{CANARY}&{CANARY}=eq.1")
    ada.get(f"/buildings?id=eq.{CANARY}")
    ada.get(f"/buildings?apikey={tokens.SERVICE_KEY}", headers=headers_with_value)
    ada.get("/buildings", headers={"apikey": f"{CANARY}{tokens.SERVICE_KEY}"})
    ada.get("/buildings", headers={"Authorization": f"Bearer {CANARY}.{CANARY}.{CANARY}"})
    ada.post("/buildings", {"name": CANARY, "client_id": CANARY})
    ada.post("/buildings", f'{{"name": "{CANARY}')
    ada.rpc("get_building_stats", {"building_id": CANARY})
    ada.rpc("get_building_stats", {"building_id": CANARY}, method="GET")
    service.post("/inspectors", {"name": CANARY, "email": f"{CANARY}@a.example"})
    for grant in ("password", "refresh_token"):
        body = {"email": f"{CANARY}@a.example", "password": CANARY, "refresh_token": CANARY}
        ada.post(f"/auth/v1/token?grant_type={grant}&{CANARY}={CANARY}", body)
    user = {"email": f"{CANARY}@a.example", "password": CANARY, "app_metadata": {"role": CANARY}}
    service.post("/auth/v1/admin/users", user)
    service.get("/metrics")

    assert len(log.lines) == 14
    assert [name for name, secret in secrets.items() if secret in log.text] == []
    assert "eyJ" not in log.text


@pytest.mark.parametrize(
    ("sent", "is_accepted"),
    [
        pytest.param("0123456789abcdef0123456789abcdef", True, id="nginx"),
        pytest.param("2f1c6a9e-0b7d-4c7e-9a50-3a1b9f6d2c11", True, id="uuid"),
        pytest.param("0123456789abcdef", False, id="short"),
        pytest.param("0123456789abcdef0123456789abcdef\n", False, id="line-end"),
        pytest.param("sb_secret_0123456789abcdef01234567", False, id="key"),
        pytest.param("", False, id="empty"),
        pytest.param(None, False, id="none"),
    ],
)
def test_valid_request_id_of_a_proxy_is_kept(sent: str | None, is_accepted: bool) -> None:
    chosen = middleware.chosen_id(sent)

    assert (chosen == sent) is is_accepted
    assert middleware.PROXY_IDS.fullmatch(chosen)


def test_incident_is_logged_without_input_of_the_caller(
    world: Callable, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        try:
            read_integer("bigint", 0, 1)(CANARY)
        except Exception as error:
            raise RuntimeError(f"while reading {CANARY}", {"sql": CANARY}) from error

    api = world({})
    monkeypatch.setattr(resource.execute, "select", fail)

    response = api("service").get(f"/buildings?name=eq.{CANARY}")

    incident, request = log.lines[-2:]
    assert (response.status, response.code) == (500, "XX000")
    assert response.json["details"] == f"incident {incident['request_id']}"
    assert (incident["event"], incident["level"]) == ("incident", "error")
    assert request["request_id"] == incident["request_id"]
    assert [each["type"] for each in incident["exception"]] == ["RuntimeError", "InvalidInput"]
    assert incident["exception"][0]["frames"][-1].startswith("tests/serving/test_logging.py:")
    assert CANARY not in log.text
    assert CANARY not in response.text


def test_lines_below_the_level_are_not_written(api: Callable, log: Log) -> None:
    logging.getLogger("walkthrough").setLevel(logging.WARNING)

    api("ada").get("/buildings")

    assert log.text == ""


# Log lines


def line_of(name: str, level: int, message: object, *values: object) -> str:
    record = logging.LogRecord(name, level, "a.py", 1, message, values, None)
    return logs.JsonLines().format(record)


def test_value_that_is_not_json_is_logged_as_its_type() -> None:
    written = json.loads(line_of("walkthrough", logging.INFO, {"event": "e", "value": {CANARY}}))

    assert written["value"] == "set"


@pytest.mark.parametrize(
    ("level", "message", "values", "expected"),
    [
        (logging.INFO, "Booting worker with pid: %s", (7,), "Booting worker with pid: 7"),
        (
            logging.WARNING,
            f"Invalid request from ip=::1: GET /?a={CANARY}",
            (),
            "Invalid request from ip=::1: KeyError",
        ),
        (logging.ERROR, "Error handling request %s %s", ("GET", f"/?{CANARY}"), "Error handling request: KeyError"),
        (logging.ERROR, "Error handling request %s", (f"/?{CANARY}",), "Error handling request: KeyError"),
        (logging.DEBUG, "Ignored. %s", (CANARY,), "Ignored. %s"),
    ],
)  # fmt: skip
def test_gunicorn_lines_contain_no_part_of_a_request(level: int, message: str, values: tuple, expected: str) -> None:
    try:
        raise KeyError(CANARY)
    except KeyError:
        line = line_of("gunicorn.error", level, message, *values)

    assert json.loads(line)["message"] == expected
    assert CANARY not in line


def fail() -> None:
    raise RuntimeError(CANARY)


def run_in_thread() -> None:
    thread = threading.Thread(target=fail, name="background")
    thread.start()
    thread.join()


def run_in_pool() -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="background") as pool:
        pool.submit(logs.run_logged, fail)


@pytest.mark.parametrize("run", [run_in_thread, run_in_pool])
def test_exception_of_a_thread_is_logged(log: Log, monkeypatch: pytest.MonkeyPatch, run: Callable[[], None]) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    logs.watch_threads()

    run()

    [line] = log.lines
    assert line["event"] == "thread_ended"
    assert line["thread"].startswith("background")
    assert line["exception"][0]["type"] == "RuntimeError"
    assert CANARY not in log.text


@pytest.mark.parametrize(("stated", "level"), [("", "info"), ("Debug", "debug"), (" error ", "error")])
def test_log_level_is_read(stated: str, level: str) -> None:
    assert config.process_settings({"LOG_LEVEL": stated})["LOG_LEVEL"] == level


def test_unknown_log_level_is_refused_in_one_line() -> None:
    with pytest.raises(config.ConfigurationError, match=r"LOG_LEVEL is one of .*, not 'loud'"):
        config.process_settings({"LOG_LEVEL": "loud"})


CONFIGURE_SCRIPT = """
import logging
import sys
from serving import logging as logs
logs.configure(sys.argv[1])
logs.configure(sys.argv[1])
logging.getLogger("walkthrough").info({"event": "request"})
logging.getLogger("somebody").info("nothing")
logging.getLogger("somebody").warning("a\\nb")
"""


def test_each_line_is_written_to_standard_error_once() -> None:
    def lines(level: str) -> list[dict]:
        words = [sys.executable, "-c", CONFIGURE_SCRIPT, level]
        done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)
        assert done.stdout == ""
        return [json.loads(line) for line in done.stderr.splitlines()]

    expected = [line.get("event") or line["message"] for line in lines("INFO")]
    assert expected == ["request", "a\nb"]
    assert [line["message"] for line in lines("WARNING")] == ["a\nb"]


def test_user_id_is_logged(api: Callable, log: Log) -> None:
    api("moe").get("/buildings")

    assert log.lines[0]["user_id"] == uuid("12")
