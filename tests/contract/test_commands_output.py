"""Commands report each failure on one line, without a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config import PROJECT
from routes.cli.files import FILE
from tests.clients.server import Server, environment, stop, wait_until_live
from tests.support import databases, tokens
from tests.support.applications import open_app
from tests.support.ports import free_port

pytestmark = [pytest.mark.sqlite("names files"), pytest.mark.slow]

FLASK = [sys.executable, "-m", "flask", "--app", "app"]
KEYS = {"SECRET_KEY": tokens.SECRET_KEY, "ANON_KEY": tokens.ANON_KEY, "SERVICE_KEY": tokens.SERVICE_KEY}
MADE = ["create-user", "new@acme.example", "--role", "super_admin", "--password", "-"]
OUTPUTS = [
    pytest.param(">/dev/full", "No space left on device", id="full"),
    pytest.param(">&-", "Bad file descriptor", id="closed"),
]


@pytest.fixture
def file(base_file: Path, tmp_path: Path) -> Path:
    databases.copy(base_file, tmp_path / "walkthrough.db")
    (tmp_path / "walkthrough.db").chmod(0o600)
    return tmp_path / "walkthrough.db"


def run(file: Path, words: list[str], output: str = "", **more: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, **KEYS, "DATABASE_URL": f"sqlite:///{file}", **more}
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {output}', "sh", *FLASK, *words],
        cwd=PROJECT, env=environ, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


def test_result_is_printed_in_any_output_encoding(file):
    kept = file.with_name("kept…")

    ended = run(file, ["backup", str(kept)], PYTHONIOENCODING="latin-1")

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout == f"{file.parent}/kept\\u2026: {kept.stat().st_size} bytes\n".encode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(("output", "expected"), OUTPUTS)
@pytest.mark.parametrize(
    ("words", "done"),
    [
        (["export"], ""),
        (["check"], ""),
        (["keys"], ""),
        (["clock"], ""),
        (["token", "{1}"], ""),
        (["backup", "{0}/kept"], "; {0}/kept: "),
        (["compact"], "; "),
    ],
)
def test_failing_output_is_reported_on_one_line(file, words, done, output, expected):
    [(email,), *_] = databases.sql(file, "SELECT email FROM users WHERE role = 'super_admin'")
    words = [word.format(file.parent, email) for word in words]

    ended = run(file, words, output)

    assert ended.returncode == 1
    said = ended.stderr.decode()
    assert said.startswith(f"walkthrough: standard output: {expected}{done.format(file.parent)}")
    assert said.count("\n") == 1
    assert (done != "") == (len(said) > len(f"walkthrough: standard output: {expected}\n"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(("output", "expected"), OUTPUTS)
def test_created_user_is_reported_despite_failing_output(file, output, expected):
    ended = run(file, MADE, output)

    said = ended.stderr.decode()
    [(user_id,)] = databases.sql(file, "SELECT id FROM users WHERE email = 'new@acme.example'")
    assert said == f"walkthrough: standard output: {expected}; created user {user_id}\n"
    assert ended.returncode == 1


def test_export_is_independent_of_locale(file, tmp_path):
    databases.sql(file, "UPDATE clients SET name = 'Größe Ж 😀' WHERE id = 1")
    assert run(file, ["export", str(tmp_path / "all.json")]).returncode == 0

    ended = run(file, ["export"], PYTHONIOENCODING="latin-1")

    assert ended.stderr == b""
    assert ended.stdout == (tmp_path / "all.json").read_bytes()
    assert json.loads(ended.stdout)["clients"][0]["name"] == "Größe Ж 😀"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["import", "{0}/none.json"], "{0}/none.json: No such file or directory"),
        (["export", "{0}/none/x"], "{0}/none/x: No such file or directory"),
        (["backup", "{0}/none/x"], "{0}/none/x was not written: No such file or directory"),
        (["restore", "{0}/none/x"], "{0}/none/x does not exist"),
        (["restore", "{0}"], "{0} is not a regular file"),
        (["backup", ""], ". is not a file name"),
        (["backup", "/"], "/ is not a file name"),
        (["export", "."], ". is not a file name"),
        (["backup", "{0}/" + "x" * 256], "{0}/" + "x" * 256 + ": File name too long"),
    ],
)
def test_missing_file_is_named_once(file, words, expected):
    app = open_app(file)

    ended = app.test_cli_runner().invoke(args=[word.format(file.parent) for word in words])

    assert ended.exit_code == 1
    assert ended.output == f"walkthrough: {expected.format(file.parent)}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_server_starts_with_failing_output(tmp_path):
    """A full disk that holds the output does not prevent serving a database on another disk."""
    port = free_port()
    with open("/dev/full", "w") as full, (tmp_path / "gunicorn.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "serving", "--port", str(port)],
            cwd=PROJECT, env=environment(DATABASE_URL=f"sqlite:///{tmp_path / 'a.db'}"), stdout=full, stderr=log,
        )  # fmt: skip
        server = Server(f"http://127.0.0.1:{port}", tmp_path)
        try:
            wait_until_live(process, server)
        finally:
            stop(process, server)

    assert "Traceback" not in server.log


@pytest.mark.parametrize("word", ["backup", "export"])
def test_empty_database_does_not_replace_a_backup(file, tmp_path, word):
    """A missing mount or a wrong DATABASE_URL creates an empty database."""
    kept, again = tmp_path / "kept", [word, str(tmp_path / "kept")]
    assert run(file, again).returncode == 0
    good = kept.read_bytes()
    made = tmp_path / "made" / "new.db"

    for _ in range(2):
        refused = run(file, again, DATABASE_URL=f"sqlite:///{made}")
        assert (refused.returncode, refused.stderr.decode()) == (
            1,
            f"walkthrough: the database is empty (check DATABASE_URL): {kept} is not changed\n",
        )

    assert kept.read_bytes() == good
    assert run(file, [word, str(tmp_path / "another")], DATABASE_URL=f"sqlite:///{made}").returncode == 0


def test_failed_import_leaves_no_wal(file, tmp_path):
    """A leftover WAL would keep a full disk full."""
    rows = [{"id": 1_000 + number, "name": "n" * 1_000} for number in range(2_000)]
    (tmp_path / "rows.json").write_text(json.dumps({"inspectors": [*rows, {"id": 1, "name": 5}]}))

    refused = run(file, ["import", str(tmp_path / "rows.json")])

    assert refused.returncode == 1
    log = file.with_name(f"{file.name}-wal")
    assert not log.exists() or log.stat().st_size == 0
    assert databases.sql(file, "SELECT count(*) FROM inspectors WHERE id >= 1000") == [(0,)]


def test_closed_standard_input_is_reported(file):
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "flask", "--app", "app", *MADE[:-2]],
        cwd=PROJECT, env={**os.environ, **KEYS, "DATABASE_URL": f"sqlite:///{file}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == ("walkthrough: standard input is closed: set --password\n")


def test_unreadable_file_is_reported(monkeypatch, tmp_path):
    (tmp_path / "rows.json").touch()
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # as for whom it is not

    assert FILE.convert(str(tmp_path / "rows.json"), None, None) == tmp_path / "rows.json"


def test_help_works_with_invalid_settings():
    environ = {**os.environ, "PORT": "abc"}

    expected = subprocess.run(
        ["bin/serve", "--help"], cwd=PROJECT, env=environ, capture_output=True, text=True, check=False
    )

    assert (expected.returncode, expected.stderr) == (0, "")
    assert "PORT, by default 8000" in expected.stdout


def test_operating_document_lists_all_commands(file: Path) -> None:
    document = (PROJECT / "docs" / "OPERATING.md").read_text(encoding="utf-8")
    table = document.split("\n## Commands\n")[1].split("\n## ")[0]

    listed = re.findall(r"^\| `([a-z-]+)", table, re.MULTILINE)

    assert sorted(listed) == sorted(open_app(file).cli.commands)
