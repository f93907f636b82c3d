"""SIGKILL and power cuts during uploads: an acknowledged file has its bytes, and no row has none, or others."""

import contextlib
import random
from pathlib import Path

import pytest

from engine.storage.sqlite import ERRORS, driver
from inspections.files.store import FileStore
from tests.durability import shim
from tests.durability.conftest import scaled
from tests.durability.load import integrity_problems
from tests.durability.served import SHIPPED, Served
from tests.durability.test_kill import KILLS_FACTOR_MAX, THREADS, TRANSACTIONS, load_and_kill
from tests.durability.test_power_cuts import FAULTY, SEED, Outcome, cut_repeatedly, record_load
from tests.durability.uploads_load import UploadsLoad, create_inspections, damaged_bytes, uploads_problems

INSPECTIONS = 100


def store_of(served: Served) -> FileStore:
    return FileStore(served.database.with_name(f"{served.database.name}.files"))


def database_problems(served: Served, acked: set[int]) -> list[str]:
    connection = driver.connect(str(served.database))
    try:
        return integrity_problems(connection) + uploads_problems(connection, store_of(served), acked)
    finally:
        connection.close()


def kill_repeatedly(served: Served, kills: int, *, acked_min: int = 0) -> list[str]:
    """Kill a worker and the service in turn, at least `kills` times. Return the first problems."""
    dice, acked, first, number = random.Random(SEED), set(), 1, 0
    problems: list[str] = []
    try:
        served.start()
        with contextlib.closing(served.consumer()) as consumer:
            inspections = create_inspections(consumer, INSPECTIONS)
        while not problems and (number < kills or len(acked) < acked_min):
            assert number < kills * KILLS_FACTOR_MAX, f"{number} kills, {len(acked)} acknowledged"
            number += 1
            load = UploadsLoad(served.port, first, TRANSACTIONS, THREADS, inspections)
            load_and_kill(served, dice, load, is_whole_service=number % 2 == 0)
            acked |= set(load.acked)
            first = next(load.numbers) + THREADS
            problems += [f"{status}: {body!r}" for _, status, body in load.refused]
            if number % 2 == 0:
                served.start()
            problems += database_problems(served, acked) + damaged_bytes(store_of(served).folder)
        served.stop()
        checked = served.command("check")
        problems += [] if checked.returncode == 0 else [checked.stderr]
    finally:
        served.kill()
    print(f"seed {SEED}: {number} kills, {len(acked)} uploads acknowledged")
    return problems


def test_kills_lose_no_acknowledged_file(served: Served) -> None:
    assert not kill_repeatedly(served, 6, acked_min=50), f"seed {SEED}"


def test_row_before_its_bytes_is_detected(served: Served) -> None:
    served.application = f"{FAULTY}:row_before_bytes()"

    problems = kill_repeatedly(served, 20)  # it ends with the first problem

    assert any("without bytes" in problem for problem in problems), f"seed {SEED}: {problems}"


@pytest.mark.long
def test_many_kills_lose_no_acknowledged_file(served: Served) -> None:
    served.application = SHIPPED

    assert not kill_repeatedly(served, scaled(200), acked_min=scaled(5_000)), f"seed {SEED}"


# Power cuts


def file_problems(left: Path, acked: set[int], *, starts: bool) -> list[str]:
    try:
        connection = driver.connect(str(left / shim.DATABASE), isolation_level=None)
        try:
            problems = [f"unsound: {each}" for each in integrity_problems(connection)]
            return problems + uploads_problems(connection, FileStore(left), acked)
        finally:
            connection.close()
    except ERRORS as error:
        return [f"unsound: {error}"]


def cut_uploads(served: Served, application: str, uploads: int, cuts: int) -> Outcome:
    """Cut during uploads to the folder of the database, which the shim watches."""
    served.application = f"{FAULTY}:{application}"
    served.settled = {"FILES_DIR": str(served.directory)}
    disk, records = record_load(served, uploads, module="tests.durability.uploads_load")
    outcome = cut_repeatedly(disk, records, cuts, SEED, served.directory.parent / "left", check=file_problems)
    print(f"{application}: seed {SEED}, {uploads} uploads, {len(records)} records, {outcome}")
    return outcome


def test_power_cuts_lose_no_acknowledged_file(served: Served) -> None:
    outcome = cut_uploads(served, "files_beside_the_database()", 100, 100)

    assert outcome.faulty == 0, f"seed {SEED}: {outcome}"


@pytest.mark.parametrize("fault", ["bytes_without_sync()", "names_without_sync()"])
def test_unsynced_files_are_detected(served: Served, fault: str) -> None:
    outcome = cut_uploads(served, fault, 60, 60)

    assert outcome.lost + outcome.partial >= 5, f"seed {SEED}: {outcome}"


@pytest.mark.long
def test_many_power_cuts_lose_no_acknowledged_file(served: Served) -> None:
    outcome = cut_uploads(served, "files_beside_the_database()", scaled(1_500), scaled(500))

    assert outcome.faulty == 0, f"seed {SEED}: {outcome}"
