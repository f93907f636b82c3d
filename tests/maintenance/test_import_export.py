"""`flask export` and `flask import`: files, refusals and round trips."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config import PROJECT, SECRETS_NAME
from engine.storage.database import ServingLock
from tests.conftest import ROOT
from tests.support import databases, tokens
from tests.support.applications import open_app


@pytest.fixture
def app(base_file: Path, tmp_path: Path) -> object:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    return open_app(file)


def export(app: object, file: Path) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["export", str(file)])
    return done.exit_code, done.output


def test_export_is_readable_by_its_owner_only(app: object, tmp_path: Path) -> None:
    status, _ = export(app, tmp_path / "all.json")

    assert status == 0
    assert stat.S_IMODE((tmp_path / "all.json").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["clients"]


def test_export_to_an_unwritable_path_fails_with_one_line(app: object, tmp_path: Path) -> None:
    status, said = export(app, tmp_path / "nowhere" / "all.json")

    assert status == 1
    assert said.startswith("walkthrough: ")
    assert said.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.sqlite("names a file")
@pytest.mark.usefixtures("app")
def test_export_to_a_full_device_fails_with_one_line(tmp_path: Path) -> None:
    """The output is larger or smaller than a buffer, since the last write can fail, too."""
    environ = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path / 'walkthrough.db'}"}
    words = [sys.executable, "-m", "flask", "--app", "app", "export"]

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            words, cwd=PROJECT, env=environ, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr == "walkthrough: standard output: No space left on device\n"


@pytest.mark.sqlite("of the files that a database is")
@pytest.mark.parametrize("command", ["export", "backup"])
@pytest.mark.parametrize("name", ["walkthrough.db", "walkthrough.db-wal", "keys.json", "linked"])
def test_output_files_never_replace_the_database_or_its_keys(
    app: object, tmp_path: Path, command: str, name: str
) -> None:
    assert SECRETS_NAME == "keys.json"
    (tmp_path / "keys.json").write_text("the keys")
    (tmp_path / "linked").symlink_to(tmp_path / "walkthrough.db")
    before = (tmp_path / "walkthrough.db").read_bytes()

    done = app.test_cli_runner().invoke(args=[command, str(tmp_path / name)])

    assert done.exit_code == 1
    assert done.output == f"walkthrough: {tmp_path / name} belongs to the database itself\n"
    assert (tmp_path / "walkthrough.db").read_bytes() == before
    assert (tmp_path / "keys.json").read_text() == "the keys"


@pytest.mark.sqlite("a served file among its targets")
@pytest.mark.parametrize("command", ["export", "backup"])
def test_output_files_never_replace_a_served_database(
    app: object, base_file: Path, tmp_path: Path, command: str
) -> None:
    """Its server would continue and acknowledge writes that are lost."""
    other = tmp_path / "other" / "walkthrough.db"
    other.parent.mkdir()
    databases.copy(base_file, other)
    before = other.read_bytes()
    lock = ServingLock.take(other)

    done = app.test_cli_runner().invoke(args=[command, str(other)])
    lock.release()

    assert done.exit_code == 1
    assert done.output == f"walkthrough: {other} is being served by another process\n"
    assert other.read_bytes() == before


@pytest.mark.sqlite("a file among its targets")
def test_export_never_replaces_a_database(app: object, base_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    databases.copy(base_file, other)
    before = other.read_bytes()

    assert export(app, other) == (
        1,
        f"walkthrough: {other} is a database, and an export is JSON: choose another name\n",
    )
    assert other.read_bytes() == before


@pytest.mark.server("a file is written anew by it")
@pytest.mark.parametrize("words", [["backup", "kept"], ["restore", "kept"], ["compact"]])
def test_file_commands_refuse_a_postgresql_database(app: object, words: list[str]) -> None:
    done = app.test_cli_runner().invoke(args=words)

    assert done.exit_code == 1
    assert done.output == (
        "walkthrough: the database is not a file: use PostgreSQL's tools (pg_dump, pg_basebackup, VACUUM)\n"
    )


@pytest.mark.sqlite("copies a file")
def test_commands_checkpoint_the_log(app: object, tmp_path: Path) -> None:
    """A user who copies a file that is not served may not know of its log."""
    words = ["create-user", "new@acme.example", "--role", "super_admin", "--password", "-"]
    assert app.test_cli_runner().invoke(args=words).exit_code == 0

    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "walkthrough.db").write_bytes((tmp_path / "walkthrough.db").read_bytes())
    (tmp_path / "copy" / "walkthrough.db").chmod(0o600)
    copied = open_app(tmp_path / "copy" / "walkthrough.db")

    assert copied.test_cli_runner().invoke(args=["token", "new@acme.example"]).output.count(".") == 2


def imported(archive: Path, file: Path) -> object:
    """Return the database of an imported archive."""
    app = open_app(file)
    done = app.test_cli_runner().invoke(args=["import", str(archive)])
    assert done.exit_code == 0, done.output
    return app


def test_export_of_an_imported_archive_is_equal(app: object, tmp_path: Path) -> None:
    """The archive has all account fields except the password."""
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {tokens.SERVICE_KEY}"}
    banned = {
        "email": "banned@acme.example",
        "password": "is not exported",
        "ban_duration": "24h",
        "app_metadata": {"role": "client_admin", "client_id": 1, "plan": ["a", 1]},
        "user_metadata": {"nickname": "Bé"},
    }
    made = app.test_client().post("/auth/v1/admin/users", json=banned, headers=headers)
    assert made.status_code == 200
    for row in ({"id": 2**52, "name": "chosen"}, {"name": "after it"}):
        assert app.test_client().post("/inspectors", json=row, headers=headers).status_code == 201
    assert export(app, tmp_path / "one.json") == (0, "")

    other = imported(tmp_path / "one.json", tmp_path / "other.db")

    assert export(other, tmp_path / "two.json") == (0, "")
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    path = f"/auth/v1/admin/users/{made.json['id']}"
    found = other.test_client().get(path, headers=headers).json
    assert found["banned_until"] == made.json["banned_until"]
    assert found["app_metadata"] == made.json["app_metadata"]
    assert found["user_metadata"] == made.json["user_metadata"]
    assert "exported" not in (tmp_path / "one.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [0, 2**52 + 2**51 + 1, 2**53 - 1])
def test_import_refuses_an_id_without_successors(tmp_path: Path, number: int) -> None:
    """After the largest id no row could be inserted, even after its deletion."""
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"inspectors": [{"id": number, "name": "x"}]}))
    app = open_app(tmp_path / "new.db")

    ended = app.test_cli_runner().invoke(args=["import", str(file)])

    assert (ended.exit_code, "out of range for a chosen id" in ended.output) == (1, True)


def test_a_banned_super_admin_may_precede_an_enabled_one(app: object, tmp_path: Path) -> None:
    """The last enabled super admin is known only after all users are imported."""
    headers = {"apikey": tokens.ANON_KEY, "Authorization": f"Bearer {tokens.SERVICE_KEY}"}
    users = "/auth/v1/admin/users"
    other = {
        "id": "ffffffff-ffff-4fff-8fff-ffffffffffff",
        "email": "other@example.org",
        "app_metadata": {"role": "super_admin"},
    }
    assert app.test_client().post(users, json=other, headers=headers).status_code == 200
    ban = {"ban_duration": "24h"}
    assert app.test_client().put(f"{users}/{ROOT}", json=ban, headers=headers).status_code == 200
    assert export(app, tmp_path / "one.json") == (0, "")

    again = imported(tmp_path / "one.json", tmp_path / "again.db")

    assert export(again, tmp_path / "two.json") == (0, "")
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "one.json").read_bytes()


def test_an_archive_with_banned_super_admins_only_is_refused_with_its_row(app: object, tmp_path: Path) -> None:
    person = {"email": "a@x.example", "name": "A", "role": "super_admin"}
    (tmp_path / "in.json").write_text(json.dumps({"users": [person | {"banned_until": "2099-01-01T00:00:00Z"}]}))

    done = open_app(tmp_path / "new.db").test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert done.exit_code == 1
    assert done.output.startswith("walkthrough: users[0]: the last enabled super admin cannot be")


@pytest.mark.parametrize(
    "beside",
    [
        {"password": 7},
        {"app_metadata": []},
        {"user_metadata": "x"},
        {"banned_until": 7},
        {"banned_until": "soon"},
        {"user_metadata": {"x": "y" * 20_000}},
    ],
)
def test_invalid_account_fields_are_refused_with_their_row(app: object, tmp_path: Path, beside: dict) -> None:
    person = {"email": "n@a.example", "name": "N", "role": "client_admin", "client_id": 1, **beside}
    (tmp_path / "in.json").write_text(json.dumps({"users": [person]}))

    done = app.test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert done.exit_code == 1
    assert done.output.startswith("walkthrough: users[0]: ")
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    ("archive", "told"),
    [
        ({"inspectors": [{"name": "a"}, {"name": "\ud800"}]}, "inspectors[1]: 'utf-8' codec"),
        ({"users": [{"user_metadata": {"x": "\ud800"}}]}, "users[0]: 'utf-8' codec"),
        ({"users": [{"user_metadata": {"x": math.nan}}]}, "users[0]: Out of range float"),
        ({"inspectors": [{"no\nsuch": 1}]}, "inspectors[0]: Could not find the 'no\\nsuch'"),
        ({"clients": [{"id": "a\nb\x1b[2J"}]}, "clients[0], column id: invalid input syntax for type bigint"),
        ({"no\nsuch": []}, 'there is no table "no\\nsuch"'),
    ],
)
def test_invalid_text_is_refused_in_one_line_with_its_row(
    app: object, tmp_path: Path, archive: dict, told: str
) -> None:
    person = {"email": "a@x", "name": "A", "role": "super_admin"}
    archive |= {"users": [person | each for each in archive.get("users", [])]}
    (tmp_path / "in.json").write_text(json.dumps(archive))

    done = app.test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert done.exit_code == 1
    assert done.output.startswith(f"walkthrough: {told}")
    assert done.output.count("\n") == 1
    assert "\x1b" not in done.output


@pytest.mark.parametrize(
    ("said", "twice"),
    [
        ('{"inspectors": [{"name": "a"}], "clients": [], "inspectors": [{"name": "b"}]}', "inspectors"),
        ('{"inspectors": [{"name": "a", "email": "a@x", "name": "b"}]}', "name"),
    ],
)  # fmt: skip
def test_repeated_keys_are_refused(app: object, tmp_path: Path, said: str, twice: str) -> None:
    """In an archive merged by hand, a repeated key would drop the rows of the first."""
    (tmp_path / "in.json").write_text(said)

    done = app.test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert done.exit_code == 1
    assert done.output == f'walkthrough: an object of the archive has "{twice}" twice\n'


def test_null_account_fields_are_ignored(app: object, tmp_path: Path) -> None:
    beside = dict.fromkeys(("password", "app_metadata", "user_metadata", "banned_until"))
    person = {"email": "n@a.example", "name": "N", "role": "client_admin", "client_id": 1, **beside}
    (tmp_path / "in.json").write_text(json.dumps({"users": [person]}))

    done = app.test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert (done.exit_code, done.output) == (0, "1 users\n")


def test_users_without_an_id_get_one(app: object, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    person = {"email": "new@acme.example", "name": "New", "role": "super_admin", "password": "walks in"}
    file.write_text(json.dumps({"users": [person]}))

    done = app.test_cli_runner().invoke(args=["import", str(file)])

    assert (done.exit_code, done.output) == (0, "1 users\n")
    assert app.test_cli_runner().invoke(args=["token", "new@acme.example"]).exit_code == 0


def test_a_failed_export_leaves_the_old_file(app: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "all.json"
    file.write_text("the last one")
    monkeypatch.setattr("engine.maintenance.import_export.json.dumps", lambda *_, **__: 1 / 0)

    status, _ = export(app, file)

    assert status != 0
    assert file.read_text() == "the last one"
    assert [path.name for path in tmp_path.iterdir() if "all.json" in path.name] == ["all.json"]


def test_import_of_deeply_nested_json_fails_with_one_line(app: object, tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 200_000)

    refused = app.test_cli_runner().invoke(args=["import", str(file)])

    assert refused.exit_code == 1
    assert str(refused.exception) == "1"
    assert str(file) in refused.output
    assert refused.output.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["create-user", "a@x", "--role", "client_admin", "--client-id", "9" * 30, "--password", "-"],
        ["create-user", "a\udcff@x", "--role", "super_admin", "--password", "-"],
        ["create-user", "a@x", "--name", "\udcff", "--role", "super_admin", "--password", "-"],
        ["token", "a\udcff@x"],
    ],
)
def test_unusable_files_are_reported(app: object, words: list[str]) -> None:
    done = app.test_cli_runner().invoke(args=words)

    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)


def test_import_refuses_infinity(app: object, tmp_path: Path) -> None:
    file = tmp_path / "infinite.json"
    file.write_text('{"inspectors": [{"id": 1e400, "name": "a"}]}')

    done = app.test_cli_runner().invoke(args=["import", str(file)])

    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert done.output.startswith(f"walkthrough: {file}: ")


def test_import_skips_a_byte_order_mark(app: object, tmp_path: Path) -> None:
    file = tmp_path / "marked.json"
    file.write_text('\ufeff{"inspectors": [{"id": 900, "name": "Ann"}]}', encoding="utf-8")

    done = app.test_cli_runner().invoke(args=["import", str(file)])

    assert done.output == "1 inspectors\n"
