"""`python -m tests.support.landed_database FOLDER`: make a database of this commit, for the test of migrations.

The script writes `sqlite.sql` or, with WALKTHROUGH_TEST_SERVER, `postgresql.sql`; the bytes of its file, below `files`;
and the secrets that only their holders know, in `secrets.json`. docs/EXTENDING.md says when and how it is run.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from access.accounts import api_key, kiosk_display
from access.caller import Caller
from access.roles import Role, grant_profile
from tests.conftest import CAST, DATASET, MIA, MOE
from tests.support import databases
from tests.support.applications import folder_of_files, import_world, open_app
from tests.support.set_clock import SetClock
from tests.support.signin import PASSWORDS, Service
from tests.support.storage import PDF, Storage

MOMENT = "2026-01-05T12:00:00+00:00"
"""The time of the service while the database is made. The test continues on the following day."""
FILE_NAME = "inspections/1/plan.pdf"


def rows_with_passwords() -> dict[str, list[dict]]:
    rows = json.loads(DATASET.read_text())
    for user in rows["users"]:
        user["password"] = PASSWORDS[user["email"].partition("@")[0]]
    rows["inspectors"][1]["user_id"] = MIA
    return rows


def open_at_moment(file: pathlib.Path) -> Service:
    """Return the service over a database whose clock shows MOMENT. Tokens have the time of the machine."""
    app = open_app(file)
    app.extensions["walkthrough"].clock = SetClock(MOMENT)
    return Service(app, file)


def add_secrets(service: Service) -> dict[str, str]:
    """Make a session, an API key, a calendar link and a kiosk display. Return what their holders know."""
    ada = CAST["ada"]
    caller = Caller(ada.id, ada.client_id, grant_profile(Role(ada.role), False, False, False))
    with service.app.extensions["walkthrough"].writing() as transaction:
        _, key = api_key.create_key(transaction, caller, ada.id, api_key.NewApiKey("Export", is_read_only=False))
        _, link = api_key.create_key(transaction, caller, ada.id, api_key.new_calendar_link("Phone"))
        _, code = kiosk_display.create_display(transaction, caller, MOE, "Hall", 90)
        display = kiosk_display.pair_display(transaction, code, "192.0.2.1")
    refresh_token = service.sign_in("moe")["refresh_token"]
    return {"api_key": key, "calendar_link": link, "display": display, "refresh_token": refresh_token}


def add_work(service: Service) -> None:
    """Make schedules with closed, booked and untouched visits, a re-inspection, readings, findings and a file."""
    root, clock = service.api("root"), service.app.extensions["walkthrough"].clock
    plain = {"building_id": 6, "inspection_type": "fire", "every": 3, "unit": "month", "first_due": "2026-01-05"}
    send(root, "/schedules", [{**plain, "title": title, "inspector_id": 2} for title in ("Alarms", "Doors", "Lift")])
    plans = root.get("/inspection_plans?outcome=is.null&order=inspection_id.desc&limit=3").json
    lift, doors, alarms = (each["inspection_id"] for each in plans)
    clock.unix += 60
    for visit in (alarms, lift):
        send(root, "/rpc/start_visit", {"p_inspection_id": visit})
    send(root, "/rpc/close_visit", {"p_inspection_id": alarms, "p_status": "completed"})
    found = {"inspection_id": lift, "description": "Door sticks.", "severity": "moderate", "place": "2"}
    send(root, "/findings", found)
    [finding] = root.get("/findings?description=eq.Door%20sticks.").json
    clock.unix += 60
    closing_of_lift = {"p_inspection_id": lift, "p_status": "failed", "p_reinspect_on": "2026-01-20"}
    send(root, "/rpc/close_visit", closing_of_lift)
    send(root, "/rpc/move_findings", {"p_finding_ids": [finding["id"]], "p_to": "fixed", "p_note": "Planed."})
    booked = root.patch(f"/inspections?id=eq.{doors}", {"date_visited": "2026-01-09"})
    assert booked.status == 204, booked.text
    reading = {"inspection_id": 2, "gun_id": 20417, "reading_no": 9, "room": "Kitchen", "lead_mg_cm2": 1.4}
    send(root, "/reports_lead", {**reading, "taken_at": "2026-01-05T11:00:00+00:00"})
    stored = Storage(root).upload(FILE_NAME, PDF)
    assert stored.status == 200, stored.body


def send(api: object, path: str, body: object) -> None:
    answer = api.post(path, body)
    assert answer.status in (200, 201), answer.text


DUMP_FILE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
for name in ("application_id", "user_version"):
    print(f"PRAGMA {name} = {connection.execute(f'PRAGMA {name}').fetchone()[0]};")
print(*connection.iterdump(), sep="\\n")
"""
"""The service's driver has no `iterdump`, and a process must not load two copies of SQLite."""


def dump_file(file: pathlib.Path) -> str:
    """Return the statements that make a file, with its application id and version."""
    return subprocess.run([sys.executable, "-c", DUMP_FILE, file], capture_output=True, text=True, check=True).stdout


def dump_server(name: str) -> str:
    """Return the statements that make a database of the server, without psql's own commands."""
    url = databases.SERVER.format(database=name).replace("+psycopg", "")
    words = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema=public", f"--dbname={url}"]
    dumped = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    left_out = ("--", "\\", "SET transaction_timeout", "CREATE SCHEMA public", "COMMENT ON SCHEMA")
    return "\n".join(line for line in dumped.splitlines() if line.strip() and not line.startswith(left_out))


def main(folder: pathlib.Path) -> None:
    engine = "sqlite" if databases.SERVER is None else "postgresql"
    with tempfile.TemporaryDirectory() as temporary:
        file = pathlib.Path(temporary) / "landed.db"
        service = open_at_moment(file)
        import_world(service.app, file, rows_with_passwords())
        add_work(service)
        secrets = add_secrets(service)
        databases.close_for_copy(service.app, file)
        dumped = dump_file(file) if databases.SERVER is None else dump_server(databases.DATABASE_NAMES[file])
        (folder / "files").mkdir(exist_ok=True)
        for stored in filter(pathlib.Path.is_file, folder_of_files(file).iterdir()):
            shutil.copy(stored, folder / "files")
    (folder / f"{engine}.sql").write_text(f"{dumped.rstrip()}\n", encoding="utf-8")
    kept = folder / "secrets.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    kept.write_text(json.dumps({**known, engine: secrets}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
