"""The locks of writers: writers of different clients write at the same time, and writes that decide rights alone.

A service without one of the locks fails one of these tests (the mutants at the end).
"""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest

from engine.interface.database import BeyondClient, LockTimeout, SerializationConflict, Transaction
from engine.open import database
from postgres import database as postgres
from routes import resource
from tests.access.api_keys import make
from tests.conftest import MIA, MOE, Response
from tests.support import databases
from tests.support.signin import Service, open_service
from tests.support.waiting import until

pytestmark = pytest.mark.server("a file has one writer at a time")

ACME, BOROUGH = 1, 2
INES, UMA = 1, 3

INSPECTION = {"building_id": 1, "inspection_type": "fire"}
FINDING = {"inspection_id": 2, "description": "Loose.", "severity": "low"}
GRANT = "/client_manager_building_access?manager_id=eq." + MOE


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


# Which locks a write takes


@pytest.fixture
def locked_clients(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Provide the clients of the locks that requests took; None is the writer lock alone."""
    recorded: list[int | None] = []
    writing = resource.writing

    def recording(*, is_brief: bool, client_id: int | None) -> object:
        recorded.append(client_id)
        return writing(is_brief=is_brief, client_id=client_id)

    monkeypatch.setattr(resource, "writing", recording)
    return recorded


def link_to_ines(service: Service, user_id: str) -> None:
    """Link a user to Ines, who has open visits at both clients: inspections 3 and 7."""
    service.sql("UPDATE inspectors SET user_id = ? WHERE id = ?", user_id, INES)
    service.sql("UPDATE inspections SET inspector_id = ?, status = 'scheduled' WHERE id IN (3, 7)", INES)


@pytest.mark.parametrize(
    ("who", "method", "path", "body", "clients"),
    [
        pytest.param("ada", "POST", "/inspections", INSPECTION, [ACME], id="inspection"),
        pytest.param("ada", "POST", "/inspections", [INSPECTION] * 20, [ACME], id="inspections"),
        pytest.param("bob", "POST", "/buildings", {"name": "New", "client_id": 2}, [BOROUGH], id="building"),
        pytest.param("ada", "PATCH", "/inspections?id=eq.1", {"notes": "x"}, [ACME], id="notes"),
        pytest.param("ada", "PATCH", "/inspections?status=not.is.null", {"notes": "x"}, [ACME], id="all notes"),
        pytest.param("ada", "PATCH", "/inspections?id=eq.4", {"status": "completed"}, [ACME], id="status"),
        pytest.param("ada", "POST", "/reports_lead", {"inspection_id": 1, "gun_id": 7}, [ACME], id="reading"),
        pytest.param("ada", "PATCH", "/reports_lead?id=eq.1", {"result": "negative"}, [ACME], id="result"),
        pytest.param("ada", "POST", "/findings", FINDING, [ACME], id="finding"),
        pytest.param("mia", "POST", "/findings", {**FINDING, "inspection_id": 3}, [ACME], id="own visit"),
        pytest.param("mia", "POST", "/findings", {**FINDING, "inspection_id": 7}, [ACME, None], id="visit elsewhere"),
        pytest.param("ada", "PATCH", "/reports_lead?id=eq.1", {"gun_id": 8}, [ACME, None], id="deciding column"),
        pytest.param("ada", "PATCH", "/inspections?id=eq.1", {"inspector_id": UMA}, [None], id="inspector"),
        pytest.param("ada", "PATCH", "/inspections?id=eq.1", {"building_id": 2}, [None], id="move"),
        pytest.param("ada", "PATCH", f"/users?id=eq.{MOE}", {"name": "Moe"}, [None], id="user"),
        pytest.param("ada", "DELETE", "/inspections?id=eq.4", None, [None], id="deletion"),
        pytest.param("ada", "DELETE", GRANT, None, [None], id="revocation"),
        pytest.param("root", "PATCH", "/inspections?id=eq.1", {"notes": "x"}, [None], id="super admin"),
        pytest.param("service", "POST", "/inspections", INSPECTION, [None], id="service key"),
    ],
)
def test_write_takes_the_lock_of_its_client_or_all(
    service: Service, locked_clients: list, who: str, method: str, path: str, body: object, clients: list
) -> None:
    link_to_ines(service, MIA)

    answer = service.api(who).send(method, path, body)

    assert answer.status in (201, 204), answer.text
    assert locked_clients == clients


def test_visit_with_a_schedule_of_another_client_takes_the_writer_lock_alone(
    service: Service, locked_clients: list
) -> None:
    """Inspection 3 keeps schedule 4 of Acme when it moves to a building of Borough."""
    assert service.api("root").patch("/inspections?id=eq.3", {"building_id": 4}).status == 204

    answer = service.api("bob").patch("/inspections?id=eq.3", {"status": "completed", "date_visited": "2025-06-01"})

    assert answer.status == 204, answer.text
    assert locked_clients == [None, BOROUGH, None]


def test_upsert_takes_the_writer_lock_alone(service: Service, locked_clients: list) -> None:
    answer = service.api("ada").post("/inspections", {"id": 1, **INSPECTION}, prefer="resolution=merge-duplicates")

    assert answer.status == 200, answer.text
    assert locked_clients == [None]


def test_api_key_takes_the_lock_of_its_users_client(service: Service, locked_clients: list) -> None:
    key = service.api(token=make(service, "ada")["key"])

    assert key.patch("/inspections?id=eq.1", {"notes": "x"}).status == 204
    assert locked_clients == [ACME]


def test_repeated_write_is_written_once(service: Service, locked_clients: list) -> None:
    link_to_ines(service, MIA)
    rows = [{**FINDING, "inspection_id": number} for number in (3, 7)]

    answer = service.api("mia").post("/findings", rows, prefer="return=representation")

    assert answer.status == 201, answer.text
    assert locked_clients == [ACME, None]
    assert [row["inspection_id"] for row in answer.json] == [3, 7]
    found = service.sql(
        "SELECT count(*) FROM audit_log WHERE relation = 'findings' AND action = 'insert' AND actor_id = ?", MIA
    )
    assert found == [(2,)]


@pytest.mark.parametrize(
    "fault", [SerializationConflict("deadlock detected"), BeyondClient()], ids=["deadlock", "beyond"]
)
def test_rolled_back_write_runs_again_alone(
    service: Service, locked_clients: list, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    load_caller, raised = resource.load_caller, []

    def fail_once(transaction: Transaction) -> object:
        if not raised:
            raised.append(fault)
            raise fault
        return load_caller(transaction)

    monkeypatch.setattr(resource, "load_caller", fail_once)

    assert service.api("ada").patch("/inspections?id=eq.1", {"notes": "again"}).status == 204
    assert locked_clients == [ACME, None]


def test_references_of_two_clients_do_not_wait_for_each_other(service: Service) -> None:
    """Two writers insert the same references in opposite orders. References are unique within a client."""
    refs = [f"00000000-0000-4000-8000-0000000001{number:02}" for number in range(2)]
    start = threading.Barrier(2)

    def insert(who: str, inspection_id: int, ordered: list[str]) -> Response:
        rows = [{**FINDING, "inspection_id": inspection_id, "ref": ref} for ref in ordered]
        start.wait(10)
        return service.api(who).post("/findings", rows)

    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            answers = [pool.submit(insert, "ada", 2, refs), pool.submit(insert, "bob", 6, refs[::-1])]
            assert sorted(each.result(60).status for each in answers) == [201, 201], number
            service.api("service").delete(f"/findings?ref=in.({','.join(refs)})")


# What the locks exclude


@contextmanager
def open_write(service: Service, client_id: int | None) -> Iterator[Transaction]:
    """Provide a transaction that holds the locks of a write, and commits at the end of the block."""
    with service.app.app_context(), database().writing(client_id=client_id) as transaction:
        yield transaction


def waits(service: Service, client_id: int | None, request: Callable[[], Response]) -> bool:
    """Return whether a request waits for an open write."""
    name = databases.DATABASE_NAMES[service.file]
    with ThreadPoolExecutor(1) as pool:
        with open_write(service, client_id):
            sent: Future[Response] = pool.submit(request)
            until(lambda: sent.done() or databases.waiting_sessions(name))
            has_waited = not sent.done()
        assert sent.result(30).status in (200, 201, 204), sent.result().text
    return has_waited


def edits(service: Service, who: str, inspection_id: int) -> Callable[[], Response]:
    return partial(service.api(who).patch, f"/inspections?id=eq.{inspection_id}", {"notes": "x"})


def revokes(service: Service) -> Callable[[], Response]:
    return partial(service.api("ada").delete, GRANT)


def other_client_writes(service: Service) -> bool:
    return not waits(service, ACME, edits(service, "bob", 6))


def own_client_waits(service: Service) -> bool:
    return waits(service, ACME, edits(service, "ada", 1))


def deciding_write_waits(service: Service) -> bool:
    return waits(service, BOROUGH, revokes(service))


def client_waits_for_deciding_write(service: Service) -> bool:
    return waits(service, None, edits(service, "ada", 1))


def is_refused(service: Service, statement: str) -> bool:
    try:
        with open_write(service, ACME) as transaction:
            transaction.run(statement)
            transaction.roll_back_at_end()
    except BeyondClient:
        return True
    return False


def row_of_other_client_is_refused(service: Service) -> bool:
    return is_refused(service, "UPDATE inspections SET notes = 'x' WHERE id = 6")


def deciding_entry_is_refused(service: Service) -> bool:
    return is_refused(service, "UPDATE inspections SET inspector_id = 1 WHERE id = 4")


PROMISES = [
    other_client_writes,
    own_client_waits,
    deciding_write_waits,
    client_waits_for_deciding_write,
    row_of_other_client_is_refused,
    deciding_entry_is_refused,
]


@pytest.mark.parametrize("promise", PROMISES)
def test_locks_of_writers(service: Service, promise: Callable[[Service], bool]) -> None:
    assert promise(service)


def test_manual_statement_waits_for_writers_of_clients(service: Service) -> None:
    """A statement without the service takes the writer lock in its audit trigger."""
    statement = "UPDATE buildings SET floors = 1 WHERE id = 4"
    name = databases.DATABASE_NAMES[service.file]
    with ThreadPoolExecutor(1) as pool:
        with open_write(service, ACME):
            ran = pool.submit(service.sql, statement)
            until(lambda: ran.done() or databases.waiting_sessions(name))
            assert not ran.done()
        ran.result(30)


def test_waits_for_both_locks_share_one_limit(service: Service) -> None:
    """A writer that waits for another client's deciding write and then for its own client waits no longer."""
    with open_write(service, ACME), ThreadPoolExecutor(1) as pool:

        def write() -> None:
            with service.app.app_context(), database().writing(wait_seconds_max=0.2, client_id=ACME):
                raise AssertionError("a lock that another writer holds")

        with pytest.raises(LockTimeout):
            pool.submit(write).result(30)


# A service without one of the locks

SHARED = f"pg_advisory_xact_lock_shared({postgres.WRITER_LOCK})"
OF_CLIENT = f"pg_advisory_xact_lock({postgres.WRITER_LOCK}, ($2::text::bigint % {2**31 - 1})::int)"
NAMED = "set_config('walkthrough.client', $2::text, true)"
NOTHING = "NULL"


def without(name: str, part: str) -> Callable[[pytest.MonkeyPatch, Service], None]:
    """Return a function that removes a part of the statement that takes the locks."""

    def remove(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
        statement = getattr(postgres, name)
        assert part in statement
        monkeypatch.setattr(postgres, name, statement.replace(part, NOTHING))

    return remove


def without_trigger(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    service.sql("DROP TRIGGER audit_log_beyond_client ON audit_log")


def one_lock_for_all(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    monkeypatch.setattr(postgres, "LOCK_CLIENT", postgres.LOCK_CLIENT.replace("_shared", ""))


def rights_ignored(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    service.sql(
        "CREATE OR REPLACE FUNCTION decides_rights(action text, relation text, before json, after json) RETURNS boolean"
        " LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN false; END $$"
    )


MUTANTS = [
    pytest.param(without("LOCK_CLIENT", SHARED), {deciding_write_waits, client_waits_for_deciding_write}, id="shared"),
    pytest.param(without("LOCK_CLIENT", OF_CLIENT), {own_client_waits}, id="client"),
    pytest.param(
        without("LOCK", f"pg_advisory_xact_lock({postgres.WRITER_LOCK})"), {client_waits_for_deciding_write}, id="alone"
    ),
    pytest.param(
        without("LOCK_CLIENT", NAMED), {row_of_other_client_is_refused, deciding_entry_is_refused}, id="name of client"
    ),
    pytest.param(without_trigger, {row_of_other_client_is_refused, deciding_entry_is_refused}, id="trigger"),
    pytest.param(rights_ignored, {deciding_entry_is_refused}, id="rights"),
    pytest.param(one_lock_for_all, {other_client_writes}, id="not shared"),
]


@pytest.mark.parametrize(("mutate", "broken"), MUTANTS)
def test_forgotten_lock_is_detected(
    service: Service, monkeypatch: pytest.MonkeyPatch, mutate: Callable[..., None], broken: set[Callable]
) -> None:
    mutate(monkeypatch, service)
    try:
        assert broken <= {promise for promise in PROMISES if not promise(service)}
    finally:
        databases.discard(service.file)
