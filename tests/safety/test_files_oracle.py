"""Files in random worlds: every person reads and writes the files that the oracle says, by each door."""

import pytest

from inspections.faults import FileDenied
from inspections.files.records import find_all, require_writable
from inspections.files.store import FileStore
from tests.inspections.file_world import Files, key_of
from tests.safety.hypothesis_settings import scaled_count
from tests.safety.service_instances import ServiceInstance, make_request
from tests.support import oracle
from tests.support.worlds import person, random_world

AT = "2025-06-10T14:00:00+00:00"
BUCKETS = ("inspections", "findings", "buildings")


def files_of(world: dict) -> list[dict]:
    """Return a file of each row."""
    return [
        {
            "id": f"00000000-0000-4000-b{place:03}-{row['id']:012}", "bucket": bucket, "name": f"{row['id']}/x.jpg",
            **{f"{each[:-1]}_id": row["id"] if each == bucket else None for each in BUCKETS},
        }
        for place, bucket in enumerate(BUCKETS) for row in world[bucket]
    ]  # fmt: skip


def load_with_files(instance: ServiceInstance, world: dict) -> list[dict]:
    sql = instance.direct_database.sql
    sql("DELETE FROM files")
    instance.load(world)
    made = files_of(world)
    for file in made:
        parent, key = next((name, value) for name, value in file.items() if name.endswith("_id") and value is not None)
        table, row = oracle.row_of_file(world, file)
        client_id = row["client_id"] if table == "buildings" else oracle.client_of_file(world, table, row)
        sql(
            f"INSERT INTO files (id, bucket, name, {parent}, sha256, size, mimetype, created_at, updated_at, client_id)"
            f" VALUES ('{file['id']}', '{file['bucket']}', '{file['name']}', {key}, '{'a' * 64}', 1, 'image/jpeg',"
            f" '{AT}', '{AT}', {client_id})"
        )
    return made


def functions_of(instance: ServiceInstance, user: dict) -> Files:
    class Doors:
        database = type("Database", (), {"app_for": staticmethod(lambda method, path: instance.app)})

    Doors.person = person(user)
    return Files(lambda who: Doors, FileStore(instance.app.config["FILES_DIR"]), "someone")


def require_equal(instance: ServiceInstance, world: dict, made: list[dict], user: dict) -> None:
    seen = {file["id"] for file in made if oracle.sees_file(world, user, file)}
    written = {file["id"] for file in made if oracle.writes_file(world, user, file)}

    listed = instance.send(user, make_request("GET", "/files?select=id")).json
    assert {row["id"] for row in listed} == seen, user
    for bucket in BUCKETS:
        rows = instance.send(user, make_request("GET", f"/{bucket}?select=id,files(id)")).json
        assert {file["id"] for row in rows for file in row["files"]} == {
            file["id"] for file in made if file["id"] in seen and file["bucket"] == bucket
        }
    files = functions_of(instance, user)
    for file in made:
        found = files.read(find_all, file["bucket"], [file["name"]])
        assert bool(found) == (file["id"] in seen), (user, file)
        is_stated = any(row.is_writable for row in found.values())
        try:
            files.read(require_writable, key_of(f"{file['bucket']}/{file['name']}"))
            is_writable = True
        except FileDenied:
            is_writable = False
        assert is_writable == is_stated == (file["id"] in written & seen), (user, file)


@pytest.mark.parametrize("seed", range(scaled_count(6)))
def test_files_are_read_and_written_as_the_oracle_says(instance: ServiceInstance, seed: int) -> None:
    world = random_world(seed)
    try:
        made = load_with_files(instance, world)
        for user in world["users"]:
            require_equal(instance, world, made, user)
    finally:
        instance.direct_database.sql("DELETE FROM files")


@pytest.mark.control
@pytest.mark.parametrize("function", ["sees_file", "writes_file"])
def test_wrong_oracle_is_detected(instance: ServiceInstance, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    right = getattr(oracle, function)
    monkeypatch.setattr(
        oracle, function, lambda world, user, file: file["finding_id"] is None and right(world, user, file)
    )

    with pytest.raises(AssertionError):
        test_files_are_read_and_written_as_the_oracle_says(instance, 0)
