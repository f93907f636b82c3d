"""`flask check` finds and names damage. A foreign file is not changed (figures 4 and 31)."""

import os
import random
import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest

import config
from app import NotStarted
from engine.maintenance import check
from engine.schema import migrations
from engine.storage.sqlite import driver
from tests.conftest import MOE, RESOURCES
from tests.durability.conftest import scaled
from tests.durability.test_power_cuts import SEED
from tests.support.applications import open_app

TIMESTAMP = "2025-01-01T00:00:00+00:00"


@pytest.fixture
def file(base_file: Path, tmp_path: Path) -> Path:
    found = tmp_path / "walkthrough.db"
    shutil.copy(base_file, found)
    found.chmod(0o600)
    return found


def run_check(file: Path, *arguments: str) -> tuple[int, str]:
    app = open_app(file)
    run = app.test_cli_runner().invoke(args=["check", *arguments])
    app.extensions["walkthrough"].close()
    return run.exit_code, run.output


def execute(file: Path, sql: str) -> None:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        connection.execute(sql)


@pytest.mark.parametrize("scan", [each.value for each in check.Scan])
def test_check_of_a_sound_file_succeeds(file, scan):
    status, output = run_check(file, "--scan", scan)

    assert status == 0
    assert output.splitlines()[-1] == "sound"
    assert f"walkthrough: {config.__version__}" in output
    assert f"sqlite: {driver.sqlite_version}" in output
    assert f"schema: {migrations.schema_version()}" in output


@pytest.mark.parametrize(
    ("sql", "scan", "message"),
    [
        ("UPDATE buildings SET client_id = 999 WHERE id = 6", "quick", "buildings row 6 references"),
        (
            "UPDATE reports_lead SET client_id = 2 WHERE id = 1",
            "quick",
            "reports_lead row 1 has another client than its inspection",
        ),
        (
            f"INSERT INTO client_admin_building_access VALUES ('{MOE}', 2, NULL, '{TIMESTAMP}')",
            "full",
            f"client_admin_building_access holds 1 for user {MOE}, whose role is not client_admin",
        ),
    ],
)
def test_check_reports_inconsistent_rows(file, sql, scan, message):
    for trigger in (
        "client_admin_building_access_role_insert", "buildings_moved", "reports_lead_client_update",
    ):  # fmt: skip
        execute(file, f"DROP TRIGGER {trigger}")
    execute(file, sql)

    status, output = run_check(file, "--scan", scan)

    assert status == 1
    assert output.startswith("walkthrough: ")
    assert message in output
    assert output.count("\n") == 1


def test_check_reports_schema_differences(file):
    execute(file, "ALTER TABLE inspectors ADD COLUMN phone TEXT")
    execute(file, "DROP TRIGGER users_moved")

    status, output = run_check(file)

    assert status == 1
    assert "the table inspectors differs from the schema of this version" in output
    assert "the trigger users_moved differs from the schema of this version" in output
    assert run_check(file, "--scan", "quick")[0] == 0, "the quick check of a start passes"


@pytest.mark.parametrize("end", ["", ".lock"])
def test_check_reports_files_readable_by_others(file, end):
    other = file.with_name(file.name + end)
    other.touch()
    other.chmod(0o644)

    status, output = run_check(file)

    assert status == 1
    assert f"{other} can be read by others: chmod 600 it" in output
    assert output.count("\n") == 1


def root_pages(file: Path) -> dict[str, int]:
    """Return the first page of each table and index."""
    with closing(driver.connect(str(file))) as connection:
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage"))


def overwrite_page(file: Path, page: int) -> None:
    with closing(driver.connect(str(file))) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with file.open("r+b") as content:
        content.seek((page - 1) * size)
        content.write(b"\xff" * size)


def test_check_reports_damage_of_each_table_and_index(base_file, tmp_path):
    for name, page in root_pages(base_file).items():
        file = tmp_path / f"{name}.db"
        shutil.copy(base_file, file)
        file.chmod(0o600)
        overwrite_page(file, page)

        status, output = run_check(file)

        assert (status, output[:13], output.count("\n")) == (1, "walkthrough: ", 1), (name, output)


@pytest.mark.parametrize("at", ["2025-03-0q", "", "2025-03-01T10:00:00"])
def test_invalid_last_timestamp_does_not_prevent_opening(file, at):
    execute(file, f"UPDATE audit_context SET at = '{at}'")

    assert run_check(file)[0] == 0


def test_clock_continues_from_file_time_if_last_timestamp_is_damaged(file):
    overwrite_page(file, root_pages(file)["audit_context"])
    tomorrow = time.time() + 86_400
    os.utime(file, (tomorrow, tomorrow))

    database = open_app(file).extensions["walkthrough"]

    assert database.clock() == pytest.approx(tomorrow, abs=1)
    database.close()


def flip_bits(base_file: Path, into: Path, number: int) -> Path:
    """Return a copy with flipped bits at 1 to 50 random places."""
    dice = random.Random(SEED * 1_000_003 + number)
    content = bytearray(base_file.read_bytes())
    for _ in range(dice.choice((1, 1, 10, 50))):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    file = into / f"flipped{number}.db"
    file.write_bytes(content)
    file.chmod(0o600)
    return file


def outcome_of(file: Path) -> str:
    """Return `refused` (by the start), `found` (by the check) or `harmless` (every row can be read)."""
    try:
        app = open_app(file)
    except NotStarted:
        return "refused"
    try:
        run = app.test_cli_runner().invoke(args=["check"])
        if run.exit_code == 1:
            assert run.output.startswith("walkthrough: ")
            return "found"
        headers = {"apikey": app.config["ANON_KEY"], "Authorization": f"Bearer {app.config['SERVICE_KEY']}"}
        for resource in RESOURCES:
            answer = app.test_client().get(f"/{resource}", headers=headers)
            body = answer.get_data(as_text=True)
            assert answer.status_code == 200 or '"XX001"' in body, body
        return "harmless"
    finally:
        app.extensions["walkthrough"].close()


def flip_bits_in_many_copies(base_file: Path, into: Path, count: int) -> None:
    outcomes = [outcome_of(flip_bits(base_file, into, number)) for number in range(count)]
    print(f"seed {SEED}:", {each: outcomes.count(each) for each in sorted(set(outcomes))})
    assert "found" in outcomes or "refused" in outcomes, "the control: some damage is found"


def test_flipped_bit_is_detected_or_harmless(base_file, tmp_path):
    flip_bits_in_many_copies(base_file, tmp_path, 20)


@pytest.mark.long
def test_many_flipped_bits_are_detected_or_harmless(base_file, tmp_path):
    flip_bits_in_many_copies(base_file, tmp_path, scaled(1_000))


def foreign(file: Path) -> None:
    file.unlink()
    execute(file, "CREATE TABLE theirs (id INTEGER)")


def newer(file: Path) -> None:
    execute(file, "PRAGMA user_version = 999")


def garbage(file: Path) -> None:
    file.write_bytes(b"not a database at all " * 1_000)


def link(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))
    file.symlink_to(file.with_name("elsewhere.db"))


def second_name(file: Path) -> None:
    file.with_name("second.db").hardlink_to(file)


def directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


REFUSED = [
    pytest.param(foreign, "is another program's database", id="foreign"),
    pytest.param(newer, "was made by a later version", id="newer"),
    pytest.param(garbage, "is not a sound SQLite database", id="garbage"),
    pytest.param(link, "is not a regular file", id="link"),
    pytest.param(second_name, "has a second name", id="hard-link"),
    pytest.param(directory, "is not a regular file", id="directory"),
]


@pytest.mark.parametrize(("damage", "message"), REFUSED)
def test_unusable_file_is_refused_in_one_line_and_unchanged(file, damage, message):
    damage(file)
    before = file.read_bytes() if file.is_file() else b""

    with pytest.raises(NotStarted, match=message) as refusal:
        open_app(file)

    assert "\n" not in refusal.value.message
    assert (file.read_bytes() if file.is_file() else b"") == before


def test_file_without_wal_mode_is_refused(file, monkeypatch):
    """Network and read-only file systems silently fall back to another journal mode."""
    execute(file, "PRAGMA journal_mode = DELETE")
    with closing(driver.connect(str(file))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM users").fetchone()
        monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 50)

        with pytest.raises(NotStarted) as refusal:
            open_app(file)

    assert "\n" not in refusal.value.message


@pytest.mark.parametrize("name", ["foreign_keys", "synchronous"])
def test_ineffective_pragma_is_refused(file, monkeypatch, name):
    planted = tuple((each, value, expected if each != name else 99)
                    for each, value, expected in check.sqlite.PRAGMAS)  # fmt: skip
    monkeypatch.setattr("engine.storage.sqlite.PRAGMAS", planted)

    with pytest.raises(NotStarted, match=f"PRAGMA {name} is . not 99|PRAGMA {name} is") as refusal:
        open_app(file)

    assert "\n" not in refusal.value.message


def refused_start(served) -> str:
    """Start the server and return its one line of output."""
    done = served.gunicorn()
    assert done.returncode != 0
    output = [line for line in done.stderr.splitlines() if not line.startswith(("[", "{"))]
    assert len(output) == 1, done.stderr
    return output[0]


@pytest.mark.parametrize(("damage", "message"), [REFUSED[0], REFUSED[1], REFUSED[3]])
def test_server_does_not_start_over_an_unusable_file(served, damage, message):
    damage(served.database)

    output = refused_start(served)

    assert output.startswith("walkthrough: the check at the start failed: ")
    assert message in output


def test_damaged_file_is_not_served_after_an_unclean_stop(served):
    (served.directory / "walkthrough.db.serving").touch(0o600)
    with served.database.open("r+b") as file:
        file.seek(4096 * 5)
        file.write(random.Random(SEED).randbytes(4096 * 3))

    output = refused_start(served)

    assert output.startswith("walkthrough: the check after an unclean stop failed: ")
    assert output.endswith("restore a backup: flask --app app restore FILE")
    assert (served.directory / "walkthrough.db.serving").exists()


def test_old_sqlite_version_is_refused(tmp_path, monkeypatch):
    """SQLite 3.40 creates the file, and then refuses each write that the audit triggers log."""
    monkeypatch.setattr(driver, "sqlite_version_info", (3, 42, 0))

    with pytest.raises(NotStarted, match=r"is too old: 3\.43 or later is needed"):
        open_app(tmp_path / "walkthrough.db")
