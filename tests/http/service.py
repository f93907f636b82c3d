"""Requests of the tests of a running service, and the sizes of costly ones."""

import json
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import CAST
from tests.durability.served import Answer, Served
from tests.support import databases, tokens
from tests.support.raw import RawResponse

RUNNING_SERVICE = pytest.mark.skipif(sys.platform != "linux", reason="the tests read signals and sockets from /proc")

MIB = 1 << 20
NOTE = "a" * 65_536
HEAVY_ROWS = 600  # of 64 KiB each: more than the limit of a response
PATTERN = "*" + "a" * 253 + "b"  # almost matches at each position of a note: about 25 ms a row
COSTLY_READ = "/inspections?select=id&or=(" + ",".join([f"notes.ilike.{PATTERN}"] * 99) + ")"
COSTLIEST_PATCH = "/inspections?" + "&".join([f"notes=not.like.{PATTERN}"] * 99)
COSTLIEST_OR = "/inspections?select=id&or=(" + ",".join(
    [f"notes.like.{PATTERN[:-3]}{number:02}b" for number in range(99)]
) + ")"  # fmt: skip
CHEAP_READ = "/buildings?select=id&id=eq.1"


def served_over(file: Path, directory: Path, application: str = "wsgi:app") -> Served:
    """Return the service over a copy of a database, on either engine. It is not started."""
    directory.mkdir(mode=0o700)
    own = Served(directory, application, {"LOG_LEVEL": "info"})
    databases.copy(file, own.database)
    if own.database.exists():
        own.database.chmod(0o600)
    return own


def head_lines(who: str = "service", **more: str) -> bytes:
    """Return the header lines of an authorised request."""
    sent = {"Host": "a", "apikey": tokens.ANON_KEY, "Authorization": CAST[who].authorization()}
    sent |= {"Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in more.items()}
    return "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value).encode()


def ask(service: Served, who: str, method: str, path: str, body: object = None, **headers: str) -> Answer:
    with closing(service.consumer(who)) as consumer:
        return consumer.send(method, path, body, **headers)


def error_body(answer: RawResponse | Answer) -> dict:
    """Return the error body; assert that it has the four keys and no internals."""
    found = json.loads(answer.body)
    assert set(found) == {"code", "message", "details", "hint"}
    assert not re.search(
        r"Traceback|gunicorn|werkzeug|sqlite|psycopg|libpq|/home|\.py", json.dumps(found), re.IGNORECASE
    )
    return found


def count_names(service: Served, table: str, name: str) -> int:
    question = f"SELECT count(*) FROM {table} WHERE name LIKE ?"
    [(found,)] = databases.sql(service.database, question, f"{name}%")
    return int(found)


def log_lines(service: Served) -> list[dict]:
    return [json.loads(line) for line in service.log.read_text().split("\n") if line]
