"""Threads that issue and withdraw reports and change readings, and a check of what is left of them."""

import json
import random
from collections import defaultdict
from collections.abc import Callable
from http.client import HTTPException

from engine.storage.sqlite import driver
from inspections.reports.frozen import sha256_of
from models.locks import LOCK
from models.vocabulary import REPORT_KINDS
from tests.durability.load import Load
from tests.durability.served import Answer, Consumer

BUILDINGS = (1, 4)
"""One of client 1 and one of client 2."""
VISITS = 32
READINGS = 6
FINDINGS = 3
LOCK_TIMEOUT = 503
ISSUED_BY_ANOTHER = ("23505", 'duplicate key value violates unique constraint "issued_reports_active_key"')
WITHDRAWN_BY_ANOTHER = ("23514", "withdraw_report_status_check")
IS_LOCKED = ("23514", LOCK)

Issued = tuple[str, str]
"""Number and hash of an acknowledged report."""


def create_visits(consumer: Consumer) -> list[int]:
    """Create closed visits with readings and findings in both buildings, and return their ids."""
    visits = [
        {"building_id": BUILDINGS[number % 2], "inspection_type": "lead", "status": "completed", "inspector_id": 1,
         "date_visited": "2025-05-05"}
        for number in range(VISITS)
    ]  # fmt: skip
    answer = consumer.send("POST", "/inspections?select=id", visits, Prefer="return=representation")
    assert answer.status == 201, answer.body
    ids = [row["id"] for row in answer.json]
    readings = [
        {"inspection_id": key, "reading_no": number, "room": "Kitchen", "lead_mg_cm2": number / 4}
        for key in ids for number in range(READINGS)
    ]  # fmt: skip
    findings = [
        {"inspection_id": key, "description": f"Finding {number}", "severity": "moderate"}
        for key in ids for number in range(FINDINGS)
    ]  # fmt: skip
    for table, rows in (("reports_lead", readings), ("findings", findings)):
        answer = consumer.send("POST", f"/{table}", rows)
        assert answer.status == 201, answer.body
    return ids


def reason(answer: Answer) -> tuple[str | None, str | None]:
    """Return code and details of an error, or its message if it has no details."""
    return (answer.code, answer.json["details"] or answer.json["message"]) if answer.code is not None else (None, None)


def change_readings(consumer: Consumer, inspection_id: int, room: str) -> Answer:
    return consumer.send("PATCH", f"/reports_lead?inspection_id=eq.{inspection_id}", {"room": room})


class IssuesLoad(Load):
    """A load whose numbers are the seeds of its requests. `withdrawn` are the ids of withdrawn reports."""

    acked: list[Issued]

    def __init__(self, port: int, first: int, threads: int, visits: list[int]) -> None:
        super().__init__(port, first, 10_000_000, threads)
        self.visits = visits
        self.withdrawn: list[int] = []

    def run(self) -> None:
        consumer = Consumer(self.port)
        while (number := self.next()) is not None:
            dice = random.Random(number)
            kinds: list[Callable] = [self.issue, self.issue, self.issue, self.withdraw, self.withdraw, self.change]
            try:
                dice.choice(kinds)(consumer, dice, dice.choice(self.visits))
            except (OSError, HTTPException):
                if not self.stop.wait(0.02):
                    continue
                break
        consumer.close()

    def issue(self, consumer: Consumer, dice: random.Random, inspection_id: int) -> None:
        said = {
            "p_inspection_id": inspection_id, "p_kind": dice.choice(REPORT_KINDS), "p_signed_name": "Ines Park",
            "p_gaps_reason": "A test",
        }  # fmt: skip
        answer = consumer.send("POST", "/rpc/issue_report", said)
        if answer.status == 200:
            self.acked.append((answer.json["number"], answer.json["sha256"]))
        else:
            self.note(answer, ISSUED_BY_ANOTHER)

    def withdraw(self, consumer: Consumer, dice: random.Random, inspection_id: int) -> None:
        path = f"/issued_reports?inspection_id=eq.{inspection_id}&withdrawn_at=is.null&select=id"
        answer = consumer.send("GET", path)
        self.note(answer)
        for row in answer.json if answer.status == 200 else []:
            answer = consumer.send("POST", "/rpc/withdraw_report", {"p_id": row["id"], "p_note": "A test"})
            if answer.status == 200:
                self.withdrawn.append(row["id"])
            else:
                self.note(answer, WITHDRAWN_BY_ANOTHER)

    def change(self, consumer: Consumer, dice: random.Random, inspection_id: int) -> None:
        self.note(change_readings(consumer, inspection_id, f"Room {dice.randint(1, 99)}"), IS_LOCKED)

    def note(self, answer: Answer, *expected: tuple[str, str]) -> None:
        if answer.status not in (200, 204, LOCK_TIMEOUT) and reason(answer) not in expected:
            self.refused.append((0, answer.status, answer.body[:200]))


ISSUED = """
SELECT id, client_id, inspection_id, kind, number, sha256, replaces_id, withdrawn_at IS NOT NULL
FROM issued_reports ORDER BY id
"""
ROOMS = "SELECT id, room FROM reports_lead WHERE inspection_id = ?"


def issues_problems(connection: driver.Connection, acked: set[Issued], withdrawn: set[int]) -> list[str]:
    """Return the problems of a database: numbers with holes, lost reports and withdrawals, wrong replacements."""
    problems, found, taken, former = [], set(), defaultdict(list), {}
    for key, client, visit, kind, number, sha256, replaces_id, is_withdrawn in connection.execute(ISSUED):
        found.add((number, sha256))
        taken[client, number[:4]].append(int(number[5:]))
        last_id, was_withdrawn = former.get((visit, kind), (None, True))
        if replaces_id != last_id or not was_withdrawn:
            problems.append(f"report {key} replaces {replaces_id}, and not the withdrawn {last_id}")
        former[visit, kind] = key, is_withdrawn
        if key in withdrawn and not is_withdrawn:
            problems.append(f"the withdrawal of report {key} is lost")
    for whose, numbers in taken.items():
        if numbers != list(range(1, len(numbers) + 1)):
            problems.append(f"the numbers of {whose} have holes, repeat or go back: {numbers[-20:]}")
    if lost := sorted(acked - found):
        problems.append(f"{len(lost)} acknowledged and lost, such as {lost[0]}")
    return problems


def content_problems(connection: driver.Connection, after: int = 0) -> list[str]:
    """Return the problems of the contents of reports with ids above `after`.

    Those are hashes that differ, a report that does not name what it replaces, and readings that differ from those of a
    report that is not withdrawn.
    """
    problems = []
    former = {row[0]: (row[4], row[5]) for row in connection.execute(ISSUED)}
    rows = connection.execute(
        "SELECT id, inspection_id, kind, number, sha256, replaces_id, withdrawn_at IS NULL, content FROM issued_reports"
        " WHERE id > ? ORDER BY id",
        (after,),
    ).fetchall()
    for key, visit, kind, number, sha256, replaces_id, is_active, text in rows:
        if sha256_of(text) != sha256:
            problems.append(f"the content of report {key} differs from its hash")
        content = json.loads(text)
        if content["issued"]["number"] != number or number not in content["page"]:
            problems.append(f"the content of report {key} has another number")
        said = content["issued"]["replaces"] or {}
        if (said.get("number"), said.get("sha256")) != former.get(replaces_id, (None, None)):
            problems.append(f"report {key} does not name what it replaces: {said}")
        if is_active and kind == "lead":
            frozen = {each["id"]: each["room"] for each in content["report"]["readings"]}
            if frozen != dict(connection.execute(ROOMS, (visit,)).fetchall()):
                problems.append(f"the readings of visit {visit} changed after report {key}")
    return problems


def lock_problems(connection: driver.Connection, consumer: Consumer, visits: list[int], room: str) -> list[str]:
    """Return the visits that are not locked by their report, or locked without one. Nobody else writes meanwhile.

    `room` is a new one, since an update that changes nothing is not refused.
    """
    query = "SELECT DISTINCT inspection_id FROM issued_reports WHERE withdrawn_at IS NULL"
    locked = {row[0] for row in connection.execute(query)}
    problems = []
    for visit in visits:
        deleted = consumer.send("DELETE", f"/findings?inspection_id=eq.{visit}", None, Prefer="tx=rollback")
        problems += [
            f"visit {visit}, {visit in locked=}: {answer.status} {answer.body[:200]!r}"
            for answer in (change_readings(consumer, visit, room), deleted)
            if not (reason(answer) == IS_LOCKED if visit in locked else answer.status in (200, 204))
        ]
    return problems
