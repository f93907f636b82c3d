"""Readers, writers, sign-ins, revocations and closings of visits; each acknowledged write is recorded outside."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import ADA, MOE
from tests.support.signin import EMAILS, PASSWORDS
from tests.support.tokens import ANON_KEY, token_for

ANSWER_SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any = None

    @property
    def is_kept(self) -> bool:
        return self.status in (200, 201, 204)


@dataclass(slots=True)
class Record:
    """What the service acknowledged, and what contradicts it."""

    visits: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    revocations: int = 0
    pairs: int = 0
    acknowledged_at: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    stale: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    def longest_gap(self, start: float, end: float) -> float:
        """Return the longest time without an acknowledged write, in seconds."""
        moments = [start, *(at for at in sorted(self.acknowledged_at) if start < at < end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(moments))


class Load:
    """Threads that send requests until the end of the block."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.record = Record()
        self.ended = threading.Event()
        self.ada = token_for(ADA, "client_admin", 1)
        self.moe = token_for(MOE, "client_manager", 1)
        works = [self.write, self.write, self.read, self.revoke, self.sign_in, self.close_visits]
        self.threads = [threading.Thread(target=self.repeat, args=[work]) for work in works]

    def __enter__(self) -> Load:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def repeat(self, work: Callable[[], None]) -> None:
        while not self.ended.is_set():
            work()
            self.ended.wait(0.02)

    def send(self, token: str, method: str, path: str, body: object = None) -> Answer:
        """Send a request, and record if it gets no answer, or none that says when to come again."""
        headers = {
            "apikey": ANON_KEY, "Authorization": f"Bearer {token}", "Content-Type": "application/json",
            "Prefer": "return=representation",
        }  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.record.unanswered.append(f"{method} {path}: {error!r}")
            return Answer(0)
        finally:
            connection.close()
        self.record.statuses[response.status] += 1
        is_unresolved = b"08007" in text or b"did not say" in text
        is_told = response.status == 503 and (is_unresolved or response.headers["Retry-After"])
        if response.status >= 500 and not is_told:
            self.record.unanswered.append(f"{method} {path}: {response.status} {text[:200]!r}")
        return Answer(response.status, json.loads(text) if text else None)

    def try_until_answered(self, token: str, method: str, path: str, body: object = None) -> Answer:
        """Repeat a request that reads, as a client does after 503."""
        while (answer := self.send(token, method, path, body)).status in (0, 503):
            if self.ended.wait(0.2):
                break
        return answer

    def note_write(self) -> None:
        self.record.acknowledged_at.append(time.monotonic())

    def require(self, condition: bool, answer: Answer, what: str) -> None:
        if answer.status not in (0, 503) and not condition:
            self.record.stale.append(f"{what}: {answer}")

    def write(self) -> None:
        """Add a visit, and read it at once."""
        kept = self.send(self.ada, "POST", "/inspections", {"building_id": 1, "inspection_type": "fire"})
        if not kept.is_kept:
            return
        self.note_write()
        visit = kept.body[0]["id"]
        self.record.visits.append(visit)
        read = self.try_until_answered(self.ada, "GET", f"/inspections?id=eq.{visit}&select=id")
        self.require(read.body == [{"id": visit}], read, f"visit {visit} is missing")
        self.record.pairs += read.status == 200

    def read(self) -> None:
        self.send(self.ada, "GET", "/inspections?select=id,buildings(name)&order=id.desc&limit=20")

    def revoke(self) -> None:
        """Grant a building, revoke it, and look with the eyes of the one who had it."""
        grant = {"manager_id": MOE, "building_id": 2}
        self.send(self.ada, "POST", "/client_manager_building_access", grant)
        path = f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.2"
        revoked = self.send(self.ada, "DELETE", path)
        if not revoked.is_kept:
            return
        self.note_write()
        for _ in range(3):
            read = self.try_until_answered(self.moe, "GET", "/buildings?id=eq.2&select=id")
            self.require(read.body == [], read, "a revoked building is shown")
        self.record.revocations += read.status == 200

    def sign_in(self) -> None:
        """Begin two sessions, and end one of them."""
        for is_ended in (False, True):
            body = {"email": EMAILS["mia"], "password": PASSWORDS["mia"]}
            begun = self.send(ANON_KEY, "POST", "/auth/v1/token?grant_type=password", body)
            if not begun.is_kept:
                continue
            token = begun.body["access_token"]
            if not is_ended:
                self.record.sessions.append(token)
            elif self.send(token, "POST", "/auth/v1/logout?scope=local").is_kept:
                read = self.try_until_answered(token, "GET", "/auth/v1/user")
                self.require(read.status in (401, 403), read, "an ended session is accepted")
        self.ended.wait(0.5)

    def close_visits(self) -> None:
        made = self.send(self.ada, "POST", "/inspections", {"building_id": 3, "inspection_type": "fire"})
        if not made.is_kept:
            return
        visit = made.body[0]["id"]
        body = {"p_inspection_id": visit, "p_status": "completed"}
        if self.send(self.ada, "POST", "/rpc/close_visit", body).is_kept:
            self.note_write()
            self.record.closed.append(visit)

    def lost(self, rows: list[tuple[int, str]]) -> list[str]:
        """Return the acknowledged writes that are not among the primary's visits and sessions."""
        status = dict(rows)
        lost = [f"visit {visit}" for visit in self.record.visits if visit not in status]
        lost += [f"closing of {visit}" for visit in self.record.closed if status.get(visit) != "completed"]
        sessions = self.record.sessions
        return lost + ["a session" for token in sessions if self.send(token, "GET", "/auth/v1/user").status != 200]
