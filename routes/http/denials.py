"""Writes denied requests to the audit log, without making their answers wait for the writer lock."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from engine.interface.database import WRITE_WAIT_SECONDS_MAX, Database
from engine.interface.faults import Locked, LockTimeout
from engine.query.write import audit
from models.errors import Fault

WAIT_SECONDS_MAX = 0.02
PENDING_MAX = 1_000

LOG = logging.getLogger("walkthrough")


@dataclass(frozen=True, slots=True)
class DeniedRequest:
    """A request that a user sent without permission, as the audit log holds it."""

    relation: str
    actor_id: str
    client_id: int | None
    message: str


class DenialLog:
    """Writes denied requests at once if the writer lock is free, else later in a thread.

    The thread is no daemon, so a process that ends waits for it. Beyond PENDING_MAX requests the oldest is dropped.
    """

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.pending: deque[DeniedRequest] = deque(maxlen=PENDING_MAX)
        self.thread: threading.Thread | None = None

    def record(self, database: Database, denied: DeniedRequest) -> None:
        """Write a denied request, or keep it for the thread. Errors are logged."""
        try:
            write_entries(database, [denied], WAIT_SECONDS_MAX)
        except (Locked, LockTimeout):
            self.write_later(database, denied)
        except Fault:
            log_loss()

    def write_later(self, database: Database, denied: DeniedRequest) -> None:
        with self.mutex:
            self.pending.append(denied)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self.run, args=(database,), name="denials")
                self.thread.start()

    def run(self, database: Database) -> None:
        """Write what is pending until nothing is."""
        while entries := self.take_pending():
            try:
                write_entries(database, entries, WRITE_WAIT_SECONDS_MAX)
            except Fault:
                log_loss()

    def wait(self) -> None:
        """Wait until nothing is pending."""
        with self.mutex:
            thread = self.thread
        if thread is not None:
            thread.join()

    def take_pending(self) -> list[DeniedRequest]:
        with self.mutex:
            entries = list(self.pending)
            self.pending.clear()
            if not entries:
                self.thread = None
            return entries


def write_entries(database: Database, entries: Iterable[DeniedRequest], wait_seconds_max: float) -> None:
    with database.writing(wait_seconds_max=wait_seconds_max, is_brief=True) as transaction:
        for each in entries:
            audit.record_refusal(
                transaction, each.relation, actor_id=each.actor_id, client_id=each.client_id, message=each.message
            )


def log_loss() -> None:
    LOG.warning("a refusal was not written into the audit log")
