"""Database URLs of a server: supported forms, and errors of URLs that do not connect."""

import pathlib
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest

from app import NotStarted
from engine.interface.database import Unreachable
from engine.open import open_database
from postgres.schema import reason
from tests.conftest import Database, api_over
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import Service, open_service

pytestmark = pytest.mark.server("a file's URL is a path")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


def database_name_at(url: str) -> str:
    """Return the name of the database that a URL connects to."""
    with closing(open_database(url)) as found, found.reading() as reading:
        name: str = reading.value("SELECT current_database()")
        return name


@pytest.mark.parametrize(
    "url_template",
    [
        "postgresql://walkthrough@/{name}?host=/nowhere:1&host={directory}:5432",
        "postgresql://walkthrough@/{name}?host=/nowhere,{directory}&port=1,5432",
        "postgresql://walkthrough@/{name}?host=/nowhere,{directory}&port=5432",
        "postgresql+psycopg:///?service=mine",
        "postgresql://walkthrough@/{name}?host={directory}&options=-c%20geqo=off&options=-c%20jit=on",
    ],
    ids=["several-hosts", "libpqs-list", "one-port", "service", "options-twice"],
)
def test_url_forms_of_libpq_are_supported(
    service: Service, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, url_template: str
) -> None:
    name, directory = databases.DATABASE_NAMES[service.file], databases.url(service.file).split("host=")[1]
    services = tmp_path / "services"
    services.write_text(f"[mine]\nhost={directory}\ndbname={name}\nuser=walkthrough\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))

    assert database_name_at(url_template.format(name=name, directory=directory)) == name


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("&foo=bar", "cannot be used: PostgreSQL has no setting 'foo' in a URL"),
        # parameters of the driver
        ("&autocommit=false", "cannot be used: PostgreSQL has no setting 'autocommit' in a URL"),
        ("&row_factory=dict_row", "cannot be used: PostgreSQL has no setting 'row_factory' in a URL"),
        ("&sslmode=require&sslmode=prefer", "cannot be used: its URL sets 'sslmode' twice"),
        ("&sslmode=banana", 'the database does not answer (connection is bad: invalid sslmode value: "banana")'),
        ("&service=none", "does not answer (connection is bad: service file"),
        ("&options=-c%20nothing=1", 'FATAL: unrecognized configuration parameter "nothing"'),
    ],
    ids=["unknown", "drivers", "drivers-too", "twice", "wrong", "no-service", "no-setting"],
)  # fmt: skip
def test_unusable_url_is_reported_with_its_reason(
    service: Service, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, parameters: str, message: str
) -> None:
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    url = databases.url(service.file).replace("walkthrough@", "walkthrough:hush@") + parameters

    with pytest.raises(NotStarted) as refused:
        open_app(tmp_path / "a.db", DATABASE_URL=url)
    copied = service.app.test_cli_runner().invoke(args=["copy", "--to", url])

    assert message in refused.value.message
    assert "\n" not in refused.value.message
    assert "hush" not in refused.value.message
    assert copied.output == f"walkthrough: {refused.value.message}\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ('FATAL:  database "none" does not exist', "the server knows no such database or user"),
        ('FATAL:  role "none" does not exist', "the server knows no such database or user"),
        (
            'root certificate file "/root.crt" does not exist',
            'the database does not answer (root certificate file "/root.crt" does not exist)',
        ),
    ],
)
def test_missing_file_is_not_reported_as_a_missing_database(error: str, message: str) -> None:
    fault = Unreachable("the database does not answer")
    fault.__cause__ = psycopg.OperationalError(error)

    assert reason(fault) == message


@pytest.mark.parametrize("name", ["a%b", "[x]"])
def test_settings_of_the_url_do_not_change_responses(service: Service, tmp_path: pathlib.Path, name: str) -> None:
    odd = ("TimeZone=Asia/Kolkata", "DateStyle=SQL", "standard_conforming_strings=off")
    options = quote(" ".join(f"-c {setting}" for setting in odd))
    url = f"{databases.url(service.file)}&options={options}"
    app = open_app(tmp_path / "a.db", DATABASE_URL=url)
    path = f'/buildings?id=eq.1&select=created_at,"{quote(name)}":name'

    answer = api_over(Database(lambda: app, None, app))("root").get(path)

    assert (answer.status, answer.json) == (200, service.api("root").get(path).json)
    app.extensions["walkthrough"].close()
