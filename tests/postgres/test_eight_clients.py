"""Eight clients write at the same time, while a super admin moves rows and rights between them.

The audit log is then replayed in its order. At every entry the oracle permits the write of its actor: what the rule
read held at COMMIT. At the end the replayed rows are the stored ones.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from engine.interface.database import Parameters
from postgres.transaction import WriteTransaction
from tests.access.test_audit_log_replay import Rows, apply, rows_of
from tests.conftest import Person, Response, uuid
from tests.support import oracle

pytestmark = pytest.mark.server("a file has one writer at a time")

CLIENTS = range(1, 9)
WRITES = 40
SLEEP_SECONDS_MAX = 0.005
MOMENT = f"{oracle.TODAY}T12:00:00+00:00"
VISITS = 2

ADMINS = {client: Person(uuid(f"1{client}"), "client_admin", client) for client in CLIENTS}
INSPECTORS = {client: Person(uuid(f"2{client}"), "client_manager", client) for client in CLIENTS}
REFS = [f"00000000-0000-4000-8000-0000000009{number:02}" for number in range(60)]
"""References of findings, which are unique among all clients."""


def inspector_of(building: int, number: int) -> int:
    """Return the inspector of a visit. The inspector of the next client makes every second visit."""
    return building if number else building % len(CLIENTS) + 1


def portfolio() -> dict[str, list[dict]]:
    """Return eight clients with a building each, whose id is the client's, an admin and an inspector who signs in."""
    people = [
        {"id": person.id, "email": f"{person.id}@x.example", "name": "N", "role": person.role, "client_id": client}
        for staff in (ADMINS, INSPECTORS)
        for client, person in staff.items()
    ]
    root = {"id": uuid("01"), "email": "root@example.org", "name": "Root", "role": "super_admin", "client_id": None}
    return {
        "clients": [{"id": client, "name": f"Client {client}"} for client in CLIENTS],
        "users": [root, *people],
        "inspectors": [{"id": each, "name": f"I{each}", "user_id": INSPECTORS[each].id} for each in CLIENTS],
        "buildings": [{"id": each, "name": f"B{each}", "client_id": each} for each in CLIENTS],
        "inspections": [
            {
                "id": building * 10 + number, "building_id": building, "inspection_type": "annual",
                "status": "scheduled", "inspector_id": inspector_of(building, number),
            }
            for building in CLIENTS for number in range(VISITS)
        ],
        "reports_lead": [
            {"inspection_id": building * 10 + number, "gun_id": 7} for building in CLIENTS for number in range(VISITS)
        ],
    }  # fmt: skip


def random_visit(draw: random.Random, client: int) -> int:
    return draw.choice([client, client, client, client % len(CLIENTS) + 1]) * 10 + draw.randrange(VISITS)


def findings(draw: random.Random, client: int) -> list[dict]:
    refs = draw.sample(REFS, draw.randint(1, 3))
    return [
        {"inspection_id": random_visit(draw, client), "description": "D", "severity": "low", "ref": ref} for ref in refs
    ]


def write_as_admin(draw: random.Random, api: Callable, client: int) -> Response:
    admin, building = api(ADMINS[client]), draw.choice([client, client % len(CLIENTS) + 1])
    visit, note = random_visit(draw, client), {"notes": f"{draw.random()}"}
    others = [
        partial(admin.post, "/inspections", {"building_id": building, "inspection_type": "fire"}),
        partial(admin.post, "/inspections", [{"building_id": building, "inspection_type": "fire"}] * 3),
        partial(admin.patch, f"/inspections?id=eq.{visit}", note),
        partial(admin.patch, f"/inspections?building_id=eq.{building}", note, prefer="return=representation"),
        partial(admin.post, "/reports_lead", {"inspection_id": visit, "lead_mg_cm2": draw.random()}),
        partial(admin.patch, f"/reports_lead?inspection_id=eq.{visit}", {"lead_mg_cm2": draw.random()}),
        partial(admin.post, "/findings", findings(draw, client)),
    ]
    # An inspector loses a cancelled visit without a date.
    status = {"status": draw.choice(["scheduled", "scheduled", "cancelled"])}
    return draw.choice([draw.choice(others), partial(admin.patch, f"/inspections?id=eq.{visit}", status)])()


def write_as_inspector(draw: random.Random, api: Callable, client: int) -> Response:
    inspector, visit = api(INSPECTORS[client]), random_visit(draw, client)
    room = {"room": f"{draw.random()}"}
    others = [
        partial(inspector.post, "/findings", findings(draw, client)),
        partial(inspector.post, "/reports_lead", {"inspection_id": visit, "gun_id": 7}),
    ]
    of_visit = partial(inspector.patch, f"/reports_lead?inspection_id=eq.{visit}", room)
    return draw.choice([draw.choice(others), of_visit, of_visit])()


def decide(draw: random.Random, api: Callable) -> Response:
    """Move a row or a right away from its client and back, as a super admin."""
    root, client, other = api("root"), draw.choice(CLIENTS), draw.choice(CLIENTS)
    inspector, visit = INSPECTORS[client].id, client * 10 + 1
    away, back = draw.choice(
        [
            (partial(root.patch, f"/buildings?id=eq.{client}", {"client_id": each}) for each in (other, client)),
            (partial(root.patch, f"/inspections?id=eq.{visit}", {"inspector_id": each}) for each in (other, client)),
            (partial(root.patch, f"/inspectors?id=eq.{client}", {"user_id": each}) for each in (None, inspector)),
        ]
    )
    away()
    time.sleep(random.random() * SLEEP_SECONDS_MAX)
    return back()


def replay(lines: list[dict], rows: Rows) -> Counter:
    """Apply the lines to the rows. Assert that the oracle permits each, and return their number by actor's role."""
    counts: Counter = Counter()
    for line in lines:
        table, key = line["relation"], line["row_key"]
        user = rows["users"].get(line["actor_id"])
        before = {name: list(those.values()) for name, those in rows.items()}
        old = rows[table].get(key)
        apply(line, rows)
        if user is not None and table not in oracle.WRITTEN_BY_SERVICE:
            result = oracle.result_of_write(before, user, line["action"], table, old, rows[table].get(key))
            assert result == "ok", (line, user)
            counts[user["role"]] += 1
    return counts


@pytest.fixture
def slow_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widen the time between the statements of a write, in which other writers may commit."""
    run = WriteTransaction.run

    def run_late(transaction: WriteTransaction, sql: str, parameters: Parameters = ()) -> object:
        time.sleep(random.random() * SLEEP_SECONDS_MAX)
        return run(transaction, sql, parameters)

    monkeypatch.setattr(WriteTransaction, "run", run_late)


@pytest.mark.usefixtures("slow_statements")
@pytest.mark.parametrize("seed", range(2))
def test_every_write_is_permitted_at_its_commit(world: Callable, seed: int) -> None:
    api = world(portfolio(), MOMENT)
    rows = rows_of(api)
    last = api("root").get("/audit_log?select=id.max()").json[0]["max"]
    answers: list[Response] = []
    written = threading.Event()

    def write(client: int, draw: random.Random) -> None:
        answers.extend(draw.choice([write_as_admin, write_as_inspector])(draw, api, client) for _ in range(WRITES))

    def decide_until_written(draw: random.Random) -> None:
        while not written.is_set():
            answers.append(decide(draw, api))
            time.sleep(random.random() * SLEEP_SECONDS_MAX)

    with ThreadPoolExecutor(len(CLIENTS) + 1) as pool:
        decider = pool.submit(decide_until_written, random.Random(seed))
        try:
            for each in [pool.submit(write, client, random.Random(seed * 100 + client)) for client in CLIENTS]:
                each.result(300)
        finally:
            written.set()
        decider.result(60)

    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 201, 204, 400, 403, 409}, statuses
    api("root").database.app_for("POST", "/").extensions["walkthrough.denials"].wait()
    lines: list[dict] = []
    while page := api("service").get(f"/audit_log?order=id&id=gt.{last}&action=neq.refused").json:
        lines += page
        last = page[-1]["id"]
    counts = replay(lines, rows)
    assert rows == rows_of(api)
    assert min(counts[role] for role in ("super_admin", "client_admin", "client_manager")) > 20, counts
