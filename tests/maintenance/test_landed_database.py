"""A database that the last landed commit made is migrated by a start, and keeps everything.

`tests/data/landed` holds it. `tests/support/landed_database.py` makes it anew.
"""

import json
import pathlib
import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from engine.maintenance.check import check
from engine.schema import migrations
from engine.storage.sqlite import driver
from tests.conftest import ADA, MAX, MIA, MOE, ROOT
from tests.support import databases
from tests.support.applications import folder_of_files, open_app
from tests.support.landed_database import FILE_NAME
from tests.support.schema_dump import dump_file, dump_server
from tests.support.set_clock import SetClock
from tests.support.signin import PASSWORDS, Service
from tests.support.storage import PDF, Storage

LANDED = pathlib.Path(__file__).parents[1] / "data" / "landed"
ENGINE = "sqlite" if databases.SERVER is None else "postgresql"
SERVER_DATABASES = ("landed", "of_this_version")
DEADLINES = "life_threatening=12h,severe=36h,moderate=21d,low=45d"
"""The setting of the deployment, whose rows the upgrade makes."""
NEXT_DAY = "2026-01-06T12:00:00+00:00"

CHANGED: dict[str, set[str]] = {"facts": {"value"}, "audit_context": {"at", "actor_id"}}
"""By table: the columns whose values a start or a migration changes. All others keep theirs."""

Rows = dict[str, list[dict[str, Any]]]

RENAMED = {"token_digest": "digest", "last_seen_at": "last_used_at"}
"""Columns of devices, as `tokens` names them."""

MADE = ("create_kiosk_display", "devices")
BORN, REBORN = '{"created_at": "2026-01-05T12:00:00+00:00"}', '{"created_at": "2026-01-05T12:09:00+00:00"}'
NOBODY = "00000000-0000-4000-8000-0000000000ff"
MAKERS: dict[str, tuple[list[tuple[str | None, str, str, str | None, str | None]], str | None]] = {
    "without an entry": ([], MOE),
    "of the service key": ([(None, *MADE, None, None)], MOE),
    "their own": ([(MOE, *MADE, None, None), (ROOT, "delete", "users", BORN, None)], MOE),
    "maker of a used id": ([(MIA, "delete", "users", BORN, None), (MIA, "insert", "users", None, REBORN),
                            (MIA, *MADE, None, None)], MIA),
    "moved maker": ([(MIA, *MADE, None, None), (ROOT, "delete", "users", BORN, None),
                     (ROOT, "insert", "users", None, BORN)], MIA),
    "maker whose id is used again": ([(MAX, *MADE, None, None), (ROOT, "delete", "users", BORN, None),
                                      (ROOT, "insert", "users", None, REBORN)], None),
    "deleted maker": ([(NOBODY, *MADE, None, None), (ROOT, "delete", "users", BORN, None)], None),
}  # fmt: skip
"""By display of Moe: entries of the audit log (actor, action, relation, before, after), and the maker by them."""


def displays_by_maker() -> Iterator[str]:
    """Yield the statements that add a display of each case to the database."""
    for name, (entries, _) in MAKERS.items():
        yield (
            "INSERT INTO devices (id, user_id, name, token_digest, created_at, last_seen_at, expires_at)"
            f" VALUES ('{name}', '{MOE}', '{name}', 'digest of {name}', 1767614520, 1767614530, 1767614540)"
        )
        maker = next((actor for actor, action, *_ in entries if action == MADE[0]), None)
        for actor, action, relation, before, after in entries:
            key = name if relation == "devices" else maker
            values = ("2026-01-05T12:10:00+00:00", actor, action, relation, key, before, after)
            texts = ", ".join("NULL" if each is None else f"'{each}'" for each in values)
            yield f"INSERT INTO audit_log (at, actor_id, action, relation, row_key, before, after) VALUES ({texts})"


CLOSED = ("update", '{"status": "scheduled"}', '{"status": "failed"}')
MADE_ONCE, MADE_AGAIN = (f'{{"status": "failed", "created_at": "{day}"}}' for day in ("2026-01-01", "2026-01-02"))
CLOSERS: dict[int, tuple[list[tuple[str | None, str, str | None, str | None]], int | None, str | None]] = {
    60: ([], None, None),
    61: ([(MOE, *CLOSED)], 0, MOE),
    62: ([(None, *CLOSED)], 0, None),
    63: ([(NOBODY, *CLOSED)], 0, None),
    64: ([(MOE, "insert", None, MADE_ONCE)], 0, MOE),
    65: ([(MOE, *CLOSED), (MIA, "update", '{"notes": "a"}', '{"notes": "b"}')], 0, MOE),
    66: ([(MOE, *CLOSED), (MOE, "update", '{"status": "failed"}', '{"status": "scheduled"}'), (MIA, *CLOSED)], 2, MIA),
    67: ([(MOE, *CLOSED), (MIA, "update", '{"status": "failed"}', '{"status": "completed"}')], 0, MOE),
    68: ([(MOE, *CLOSED), (MIA, "delete", MADE_ONCE, None), (MIA, "insert", None, MADE_ONCE)], 0, MOE),
    69: ([(MOE, *CLOSED), (MIA, "delete", MADE_ONCE, None), (MIA, "insert", None, MADE_AGAIN)], 2, MIA),
}
"""By failed visit: entries of the audit log (actor, action, before, after), the one that closed it, and its user."""


PAUSE_AND_RESUME = {
    "sqlite": (
        "DELETE FROM audit_context",
        "INSERT INTO audit_context (one, at) VALUES (1, '2026-01-05T12:10:00+00:00')",
    ),
    "postgresql": tuple(f"SELECT set_config('walkthrough.audit', '{state}', true)" for state in ("off", "")),
}


def visits_by_closer() -> Iterator[str]:
    """Yield the statements that add a failed visit of each case to the database."""
    pause, resume = PAUSE_AND_RESUME[ENGINE]
    for key, (entries, _, _) in CLOSERS.items():
        yield pause
        yield (
            "INSERT INTO inspections (id, building_id, inspection_type, status, created_at, updated_at, client_id)"
            f" VALUES ({key}, 6, 'annual', 'failed', '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00+00:00', 1)"
        )
        yield resume
        for minute, (actor, action, before, after) in enumerate(entries):
            values = (f"2026-01-05T12:2{minute}:00+00:00", actor, action, "inspections", str(key), before, after)
            texts = ", ".join("NULL" if each is None else f"'{each}'" for each in values)
            yield f"INSERT INTO audit_log (at, actor_id, action, relation, row_key, before, after) VALUES ({texts})"


class LandedDatabase:
    """The service over the migrated database, and the rows as they were before."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.file = folder / "landed.db"
        script = (LANDED / f"{ENGINE}.sql").read_text(encoding="utf-8")
        more = "".join(f"{each};\n" for each in (*displays_by_maker(), *visits_by_closer()))
        if databases.SERVER is None:
            with closing(driver.connect(str(self.file))) as connection:
                connection.executescript(script + more)
        else:
            databases.create(SERVER_DATABASES[0], "template0")
            databases.DATABASE_NAMES[self.file] = SERVER_DATABASES[0]
            with databases.connect_to(SERVER_DATABASES[0]) as connection:
                connection.execute(f"{script};\nSET search_path = public;\n{more}")
        self.file.chmod(0o600) if self.file.exists() else None
        shutil.copytree(LANDED / "files", folder_of_files(self.file))
        self.before = self.rows()
        self.service = Service(open_app(self.file, FINDING_DEADLINES=DEADLINES), self.file)
        self.after = self.rows()
        self.problems = check(self.service.app.extensions["walkthrough"])
        extensions = self.service.app.extensions
        extensions["walkthrough"].clock = extensions["walkthrough.clock"] = SetClock(NEXT_DAY)
        self.secrets = json.loads((LANDED / "secrets.json").read_text(encoding="utf-8"))[ENGINE]

    def rows(self) -> Rows:
        """Return the rows of all tables by column."""
        return {table: self.rows_of(table) for table in databases.tables(self.file) if not table.startswith("sqlite_")}

    def rows_of(self, table: str) -> list[dict[str, Any]]:
        if databases.SERVER is None:
            names = [name for (name,) in databases.sql(self.file, f"SELECT name FROM pragma_table_info('{table}')")]
            return [dict(zip(names, row, strict=True)) for row in databases.sql(self.file, f"SELECT * FROM {table}")]
        return [json.loads(row) for (row,) in databases.sql(self.file, f"SELECT to_json(t)::text FROM {table} t")]

    def token(self, who: str) -> str:
        return str(self.service.sign_in(who)["access_token"])


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LandedDatabase]:
    made = LandedDatabase(tmp_path_factory.mktemp("landed"))
    yield made
    made.service.app.extensions["walkthrough"].close()
    if databases.SERVER is not None:
        databases.unregister_app(made.service.app, made.file)
        databases.DATABASE_NAMES.pop(made.file)
        with databases.connect_to("postgres") as connection:
            connection.execute(f"DROP DATABASE {SERVER_DATABASES[0]} WITH (FORCE)")


def test_start_migrates_to_the_current_version(landed: LandedDatabase) -> None:
    found = databases.sql(
        landed.file,
        "PRAGMA user_version" if databases.SERVER is None else "SELECT value FROM facts WHERE name = 'release_schema'",
    )

    assert [(int(version),) for (version,) in found] == [(migrations.schema_version(),)]


def test_every_row_stays(landed: LandedDatabase) -> None:
    """Rows keep all columns that they had. A migration may add rows and columns."""
    assert sum(map(len, landed.before.values())) > 100
    before = landed.before.copy()
    displays = [{RENAMED.get(name, name): value for name, value in row.items()} for row in before.pop("devices")]
    keys = [{**row, "digest": row["digest"].removeprefix("calendar:")} for row in before.pop("api_keys")]
    assert len(landed.after["tokens"]) == len(displays) + len(keys)
    for table, rows in [*before.items(), ("tokens", displays), ("tokens", keys)]:
        kept = [
            {name: row.get(name, "lost") for name in (rows[0] if rows else ()) if name not in CHANGED.get(table, ())}
            for row in landed.after[table]
        ]
        for row in rows:
            expected = {name: value for name, value in row.items() if name not in CHANGED.get(table, ())}
            assert expected in kept, table


def test_use_of_a_token_is_a_column(landed: LandedDatabase) -> None:
    uses = {row["name"]: (row["use"], row["read_only"]) for row in landed.after["tokens"] if row["name"] not in MAKERS}

    assert uses == {"Export": ("api_key", 0), "Phone": ("calendar_link", 1), "Hall": ("display", 1)}


def test_maker_of_a_display_becomes_a_column(landed: LandedDatabase) -> None:
    makers = {row["name"]: row["created_by"] for row in landed.after["tokens"] if row["use"] == "display"}

    assert makers == {name: maker for name, (_, maker) in MAKERS.items()} | {"Hall": ADA}


def test_closer_of_a_visit_becomes_a_column(landed: LandedDatabase) -> None:
    closings = {row.pop("inspection_id"): row for row in landed.after["visit_closings"]}

    assert closings == {
        10: {"closed_at": "2026-01-05T12:01:00+00:00", "closed_by": ROOT},
        12: {"closed_at": "2026-01-05T12:02:00+00:00", "closed_by": ROOT},
        **{
            key: {"closed_at": f"2026-01-05T12:2{minute}:00+00:00", "closed_by": closer}
            for key, (_, minute, closer) in CLOSERS.items()
            if minute is not None
        },
    }


def test_displays_of_before_keep_what_they_show(landed: LandedDatabase) -> None:
    assert {row["is_public"] for row in landed.after["tokens"]} == {0}


def test_deadlines_of_the_setting_become_rules_of_everybody(landed: LandedDatabase) -> None:
    rules = landed.after["deadline_rules"]

    assert ",".join(f"{each['severity']}={each['amount']}{each['unit']}" for each in rules) == DEADLINES
    assert {each["basis"] for each in rules} == {"FINDING_DEADLINES of this deployment"}
    assert {each[name] for each in rules for name in ("client_id", "inspection_type", "valid_from")} == {None}


def test_schema_equals_a_new_one(landed: LandedDatabase, tmp_path: pathlib.Path) -> None:
    """The order of columns does not matter."""
    if databases.SERVER is None:
        open_app(tmp_path / "new.db").extensions["walkthrough"].close()
        old, new = dump_file(landed.file), dump_file(tmp_path / "new.db")
    else:
        open_app(tmp_path / "new.db")
        old, new = (dump_server(databases.DATABASE_NAMES[file]) for file in (landed.file, tmp_path / "new.db"))

    assert {name: (old.get(name), new[name]) for name in new if old.get(name) != new[name]} == {}
    assert set(old) == set(new)


def test_check_finds_nothing(landed: LandedDatabase) -> None:
    """The server of the tests does not flush to disk, which the check says."""
    assert [each for each in landed.problems if not each.endswith(" is off")] == []


@pytest.mark.parametrize("who", sorted(PASSWORDS))
def test_password_still_signs_in(landed: LandedDatabase, who: str) -> None:
    token = landed.token(who)

    assert landed.service.api(token=token).get("/buildings?select=id").status == 200


def test_session_goes_on(landed: LandedDatabase) -> None:
    answer = landed.service.refresh(landed.secrets["refresh_token"])

    assert (answer.status, answer.json["user"]["id"]) == (200, MOE), answer.text
    landed.secrets["refresh_token"] = answer.json["refresh_token"]


def test_api_key_reads_and_writes(landed: LandedDatabase) -> None:
    keyed = {"apikey": landed.secrets["api_key"]}
    api = landed.service.api()

    changed = api.patch("/buildings?id=eq.1", {"units": 24}, headers=keyed, prefer="return=representation")

    assert (changed.status, changed.json[0]["units"]) == (200, 24), changed.text


def test_calendar_link_answers(landed: LandedDatabase) -> None:
    answer = landed.service.api().get(f"/calendar/{landed.secrets['calendar_link']}.ics", headers={"apikey": None})

    assert answer.status == 200, answer.text
    assert "BEGIN:VEVENT" in answer.text


def test_kiosk_display_shows_its_page(landed: LandedDatabase) -> None:
    client = landed.service.app.test_client()
    client.set_cookie("walkthrough_kiosk", landed.secrets["display"], path="/console/kiosk")

    answer = client.get("/console/kiosk")

    assert (answer.status_code, "Harbor House" in answer.text) == (200, True)


def test_file_has_its_bytes(landed: LandedDatabase) -> None:
    answer = Storage(landed.service.api(token=landed.token("ada"))).download(FILE_NAME)

    assert (answer.status, answer.body) == (200, PDF)


def test_audit_log_goes_on_after_its_last_entry(landed: LandedDatabase) -> None:
    root = landed.service.api(token=landed.token("root"))
    last = max(row["id"] for row in landed.before["audit_log"])

    made = root.post("/clients", {"name": "New"})

    assert made.status == 201, made.text
    [entry] = root.get("/audit_log?relation=eq.clients&order=id.desc&limit=1").json
    assert entry["id"] > last


def test_open_visit_of_a_schedule_closes_and_the_next_is_made(landed: LandedDatabase) -> None:
    root = landed.service.api(token=landed.token("root"))
    [plan] = root.get("/inspection_plans?outcome=is.null&schedule_id=eq.5&select=inspection_id").json

    closed = root.rpc("close_visit", {"p_inspection_id": plan["inspection_id"], "p_status": "completed"})

    assert closed.status == 200, closed.text
    assert closed.json["next_inspection_id"] is not None
