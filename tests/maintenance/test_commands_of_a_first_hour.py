"""The commands of a first hour: no empty database by accident, CSV and standard input, keys, next steps."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import click.testing
import flask.cli
import jinja2
import pytest

import config
import settings
from app import create_app
from inspections.reporting.dashboard import OPTIONAL, FirstStep, StepState, read_first_steps
from routes.cli import commands
from tests.support import databases, tokens
from tests.support.applications import import_world, open_app

TEMPLATES = config.PROJECT / "routes" / "console" / "templates"
READING = (
    ["check"],
    ["clock"],
    ["export"],
    ["backup", "kept"],
    ["compact"],
    ["token", "a@acme.example"],
    ["new-passwords", "a@acme.example"],
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without a database, and without DATABASE_URL in the environment."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr(config, "PROJECT", tmp_path)
    monkeypatch.setattr(settings, "PROJECT", tmp_path)
    monkeypatch.setattr(config, "DEMONSTRATION", tmp_path / "instance" / "demo.db")
    return tmp_path


def run(*words: str, stdin: str | None = None) -> click.testing.Result:
    """Run a command as `flask --app app` does."""
    runner = click.testing.CliRunner()
    return runner.invoke(flask.cli.cli, words, obj=flask.cli.ScriptInfo(create_app=create_app), input=stdin)


@pytest.mark.sqlite
@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
@pytest.mark.parametrize("has_demonstration", [False, True])
def test_reading_command_creates_no_database(project: Path, words: list[str], has_demonstration: bool) -> None:
    (project / "instance").mkdir()
    if has_demonstration:
        config.DEMONSTRATION.touch()

    ended = run(*words)

    assert ended.exit_code == 1
    assert "there is no database" in ended.output
    assert ("DATABASE_URL=sqlite:////" in ended.output) is has_demonstration
    assert not (project / "instance" / "walkthrough.db").exists()


@pytest.mark.sqlite
def test_writing_command_creates_the_database_and_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "is_terminal", lambda: True)
    words = ("create-user", "root@example.org", "--role", "super_admin", "--password", "correct horse battery")

    ended = run(*words)

    assert ended.exit_code == 0, ended.output
    assert f"created {project / 'instance' / 'walkthrough.db'}" in ended.output
    assert f"the user is in {project / 'instance' / 'walkthrough.db'}" in ended.output
    assert "Next: run bin/serve, open the console that it prints and sign in as root@example.org" in ended.output
    assert run("check").exit_code == 0
    second = run(*words[:1], "two@example.org", *words[2:])
    assert (second.exit_code, "Next" in second.output) == (0, False)


@pytest.mark.sqlite
def test_keys_are_printed_without_a_database(project: Path) -> None:
    ended = run("keys")

    printed = dict(line.split("=", 1) for line in ended.output.splitlines())
    stored = json.loads((project / "instance" / "keys.json").read_text())
    assert printed == {name: stored[name] for name in ("SECRET_KEY", "ANON_KEY", "SERVICE_KEY")}
    assert not (project / "instance" / "walkthrough.db").exists()


@pytest.mark.parametrize("keys", [["a" * 40], ["a" * 40, "b" * 40], ["a," * 20], ["[" + "a" * 40]])
def test_printed_secret_key_is_read_as_printed(
    tmp_path: Path, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(tmp_path / "walkthrough.db", SECRET_KEY=keys)

    line = app.test_cli_runner().invoke(args=["keys"]).output.splitlines()[0]

    monkeypatch.setenv("SECRET_KEY", line.removeprefix("SECRET_KEY="))
    assert config.load({"ANON_KEY": tokens.ANON_KEY})["SECRET_KEY"] == keys


CSV = 'id,name,city,client_id,client\n7,"Ash, ""The"" Lofts",Boston,1,Acme\n8,\'=C:\\photos,NULL,1,Acme\n'


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_rows_of_one_table_are_imported(tmp_path: Path, form: str, source: str) -> None:
    app = open_app(tmp_path / "walkthrough.db")
    import_world(app, tmp_path / "walkthrough.db", {"clients": [{"id": 1, "name": "Acme"}]})
    rows = [
        {"id": 7, "name": 'Ash, "The" Lofts', "city": "Boston", "client_id": 1},
        {"id": 8, "name": "=C:\\photos", "city": None, "client_id": 1},
    ]
    text = CSV if form == "csv" else json.dumps(rows)
    file = tmp_path / "rows"
    file.write_text("\ufeff" + text, encoding="utf-8")
    words = ["import", "--table", "buildings", "-" if source == "standard input" else str(file)]

    ended = app.test_cli_runner().invoke(args=words, input=file.read_bytes())

    assert (ended.exit_code, ended.output) == (0, "2 buildings\n")
    stored = databases.sql(tmp_path / "walkthrough.db", "SELECT id, name, city, client_id FROM buildings ORDER BY id")
    assert stored == [tuple(row.values()) for row in rows]


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        pytest.param([], "name\nAcme\n", "needs --table NAME", id="csv-without-table"),
        pytest.param([], "[]", "an archive is a JSON object", id="array-without-table"),
        pytest.param([], '{"building": []}', "the tables are clients, users", id="unknown-table"),
        pytest.param(["--table", "building"], "name\nAcme\n", "is not one of 'clients'", id="unknown-option"),
        pytest.param(["--table", "buildings"], "name,client_id\nX,7\n", "(7)", id="no-such-client"),
        pytest.param(["--table", "clients"], "nam\nAcme\n", "'nam'", id="unknown-column"),
        pytest.param(["--table", "clients"], "id,name\n1\n", "same number of fields", id="short-row"),
        pytest.param(["--table", "clients"], "", "csv", id="empty"),
        pytest.param(["--table", "clients"], "[{]", "line 1", id="broken-json"),
    ],
)
def test_refused_import_says_what_is_expected(tmp_path: Path, words: list[str], text: str, expected: str) -> None:
    app = open_app(tmp_path / "walkthrough.db")

    ended = app.test_cli_runner().invoke(args=["import", *words, "-"], input=text)

    assert ended.exit_code != 0
    assert expected in ended.output
    assert databases.sql(tmp_path / "walkthrough.db", "SELECT count(*) FROM buildings") == [(0,)]


LINES = "building_id,inspection_type,date_visited\n1,fire,2026-01-31\n\n,,\n"


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        ("inspections", f"{LINES}1,fire,01/02/2024\n", ("line 5, column date_visited: ", '"01/02/2024"', "2024-01-31")),
        ("inspections", f"{LINES}x,fire,2026-01-31\n", ("line 5, column building_id: ", 'bigint: "x"')),
        ("inspections", f"{LINES}9,fire,2026-01-31\n", ("line 5, column building_id: ", "is not present")),
        ("inspections", f"{LINES}1,,2026-01-31\n", ("line 5, column inspection_type: ", "null value")),
        ("inspections", "building_id,date,Type 1,nots\n", ("'date', 'Type 1', 'nots'", '"notes" instead of "nots"')),
        ("buildings", "name;client_id\nX;1\n", ("a comma. The header has a semicolon",)),
        ("buildings", '[{"name": "X", "client_id": 1}, {"floors": "x"}]', ("buildings[1], column floors: ",)),
        ("buildings", json.dumps([{f"x{n}": 1 for n in range(70_000)}]), ("buildings[0]: ", "at most 100 names")),
        ("buildings", ",".join(f"x{n}" for n in range(101)) + "\n", ("at most 100 names",)),
        ("buildings", json.dumps([{f"x{n}": 1 for n in range(100)}]), ("'x19' and 80 other columns",)),
        ("users", "name,email,role,client_id\nX,x@a.org,boss,1\n", ("line 2, column role: ", "users_role_check")),
    ],
)  # fmt: skip
def test_refused_rows_are_located_as_by_the_api(
    tmp_path: Path, table: str, text: str, expected: tuple[str, ...]
) -> None:
    app = open_app(tmp_path / "walkthrough.db")
    building = {"id": 1, "name": "Depot", "client_id": 1}
    world = {"clients": [{"id": 1, "name": "Acme"}], "buildings": [building]}
    import_world(app, tmp_path / "walkthrough.db", world)

    ended = app.test_cli_runner().invoke(args=["import", "--table", table, "-"], input=text)

    assert ended.exit_code != 0
    assert [part for part in expected if part not in ended.output] == [], ended.output
    assert len(ended.output) < 2_000


def test_help_of_import_shows_both_formats() -> None:
    text = run("import", "--help").output

    assert '{"clients": [{"id": 1' in text
    assert "import --table buildings buildings.csv" in text


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--all", "--help"], ["tests/unit", "-h"]])
def test_help_of_the_tests_installs_nothing(tmp_path: Path, words: list[str]) -> None:
    for name in ("bin/test", "bin/venv.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((config.PROJECT / name).read_bytes())

    done = subprocess.run(["sh", tmp_path / "bin/test", *words], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: bin/test")
    assert {each.name for each in tmp_path.iterdir()} == {"bin"}


ACME, DEPOT = {"id": 1, "name": "Acme"}, {"id": 1, "name": "Depot", "client_id": 1}
MOE = {"email": "moe@acme.example", "name": "Moe", "role": "client_manager", "client_id": 1}
IVO = {"id": 1, "name": "Ivo"}
VISIT = {"id": 1, "building_id": 1, "inspection_type": "annual"}


@pytest.mark.parametrize(
    ("rows", "done"),
    [
        ({}, ""),
        ({"clients": [ACME]}, "client"),
        ({"clients": [ACME], "users": [MOE]}, "client user"),
        ({"clients": [ACME], "buildings": [DEPOT], "inspections": [VISIT]}, "client building inspection"),
        (
            {"clients": [ACME], "buildings": [DEPOT], "users": [MOE], "inspectors": [IVO], "inspections": [VISIT]},
            "client building user inspector inspection",
        ),
    ],
)
def test_first_steps_are_listed_until_all_are_done(tmp_path: Path, rows: dict, done: str) -> None:
    app = open_app(tmp_path / "walkthrough.db")
    import_world(app, tmp_path / "walkthrough.db", rows)
    with app.extensions["walkthrough"].reading() as transaction:
        steps = read_first_steps(transaction)

    following = next(step for step in FirstStep if step.value not in done.split() and step is not OPTIONAL)
    assert steps == [StepState(step, step.value in done.split(), step is following) for step in FirstStep]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    environment.globals["console_url"] = "/console{}".format
    page = environment.get_template("first_steps.html").render(first_steps=steps)
    links = re.findall(r'href="([^"]*)"', page)
    assert set(links) <= {rule.rule for rule in app.url_map.iter_rules()}
    assert page.count("<li>") == 7
    assert page.count('aria-current="step"') == 1
    assert page.count("(done)") == len(done.split())


def test_no_first_step_is_listed_once_all_are_done(base_file: Path, tmp_path: Path) -> None:
    databases.copy(base_file, tmp_path / "walkthrough.db")
    with open_app(tmp_path / "walkthrough.db").extensions["walkthrough"].reading() as transaction:
        assert read_first_steps(transaction) == []
