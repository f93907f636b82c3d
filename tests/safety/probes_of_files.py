"""Probes of files: rights by the REST dialect and by the functions of /storage/v1, audit entries, and the schema."""

from collections import Counter
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace

from inspections.faults import FileDenied
from inspections.files.listing import list_page
from inspections.files.records import find_all, require_writable
from inspections.files.store import FileStore
from tests.conftest import CAST, MOE
from tests.inspections.file_world import Files, key_of
from tests.safety.probe import PEOPLE, ROLLBACK_PREFERENCE, Probe, cast_world, expect, send
from tests.safety.service_instances import ServiceInstance

OWNERS = {
    "inspections/2": 1, "inspections/3": 1, "inspections/5": 1, "inspections/6": 2, "inspections/8": 2,
    "findings/1": 1, "findings/2": 2, "findings/3": 1, "findings/4": 2, "findings/500": 1,
    "buildings/1": 1, "buildings/2": 1, "buildings/4": 2, "buildings/5": 2,
}  # fmt: skip
"""The client of each row that has a file. Finding 500 is of inspection 5."""

OF_CLIENT_1 = {row for row, client in OWNERS.items() if client == 1}
OF_CLIENT_2 = {*OWNERS} - OF_CLIENT_1
READABLE = {
    "root": {*OWNERS},
    "ada": OF_CLIENT_1 | {"inspections/8", "findings/4", "buildings/5"},
    "bob": OF_CLIENT_2 | {"inspections/3", "findings/3"},
    "moe": {"inspections/2", "inspections/3", "findings/1", "findings/3", "buildings/1"},
    "mia": set(),
    "max": {"inspections/6", "findings/2", "buildings/4"},
}
WRITABLE = {"root": {*OWNERS}, "ada": OF_CLIENT_1, "bob": OF_CLIENT_2, "moe": set(), "mia": set(), "max": set()}
OWN_VISITS = {"inspections/5", "findings/500", "inspections/6", "findings/2"}
"""Moe as the inspector of inspections 5 and 6 also reads and writes these, and reads buildings 3 and 4."""

OF_CLOSED_VISIT = {"inspections/6", "findings/2"}
"""Moe may write these files of a visit, which is closed."""

COLUMNS = "id, bucket, name, {column}, sha256, size, mimetype, created_at, updated_at, client_id"
DONE, NO_ROWS, PRIVILEGE, CLOSED = "done", "no rows", "permission denied", "closed"
AT = "2025-06-10T14:00:00+00:00"
SHA256 = "a" * 64


def insertion(row: str, client_id: int) -> str:
    bucket, key = row.split("/")
    number = sorted((*OWNERS, "buildings/3")).index(row)
    names = COLUMNS.format(column=f"{bucket.removesuffix('s')}_id")
    id_ = f"00000000-0000-4000-b000-{number:012}"
    values = f"'{id_}', '{bucket}', '{key}/x.jpg', {key}, '{SHA256}', 1, 'image/jpeg', '{AT}', '{AT}', {client_id}"
    return f"INSERT INTO files ({names}) VALUES ({values})"


def over_files(probe: Callable[[ServiceInstance], None]) -> Callable[[ServiceInstance], None]:
    """Return the probe over the cast's world and a file of each row of OWNERS, and of building 3."""

    @wraps(probe)
    def run(instance: ServiceInstance) -> None:
        sql = instance.direct_database.sql
        sql(
            "INSERT INTO findings (id, inspection_id, case_id, description, severity, found_at, created_at, updated_at,"
            f" client_id) VALUES (500, 5, 5, 'Found', 'low', '{AT}', '{AT}', '{AT}', 1)"
        )
        for row, client_id in (*OWNERS.items(), ("buildings/3", 1)):
            sql(insertion(row, client_id))
        try:
            probe(instance)
        finally:
            send(instance, "root", "PATCH", "/inspectors?id=eq.3", {"user_id": None})
            sql("DELETE FROM files")
            sql("DELETE FROM findings WHERE id = 500")
            instance.load(cast_world())

    return run


def functions_of(instance: ServiceInstance, who: str) -> Files:
    database = SimpleNamespace(app_for=lambda method, path: instance.app)
    store = FileStore(instance.app.config["FILES_DIR"])
    return Files(lambda name: SimpleNamespace(database=database, person=CAST[name]), store, who)


def row_of(bucket: str, name: str) -> str:
    return f"{bucket}/{name.split('/')[0]}"


@over_files
def files_are_read_by_those_who_may(instance: ServiceInstance) -> None:
    for who in PEOPLE:
        require_read(instance, who, READABLE[who] | ({"buildings/3"} if who in ("root", "ada") else set()))
    link_moe(instance)
    require_read(instance, "moe", READABLE["moe"] | OWN_VISITS | {"buildings/3", "buildings/4"})


def link_moe(instance: ServiceInstance) -> None:
    linked = send(instance, "root", "PATCH", "/inspectors?id=eq.3", {"user_id": MOE})
    expect(linked.status == 204, linked)


def require_read(instance: ServiceInstance, who: str, readable: set[str]) -> None:
    """Expect that a person reads the files of these rows, at each door."""
    found = send(instance, who, "GET", "/files?select=bucket,name")
    expect({row_of(each["bucket"], each["name"]) for each in found.json} == readable, (who, found))
    files = functions_of(instance, who)
    for bucket in ("inspections", "findings", "buildings"):
        keys = {row for row in readable if row.startswith(f"{bucket}/")}
        names = [f"{row.split('/')[1]}/x.jpg" for row in (*OWNERS, "buildings/3")]
        looked_up = {row_of(bucket, name) for name in files.read(find_all, bucket, names)}
        listed = {row_of(bucket, row.name) for row in files.read(list_page, bucket, "").files}
        rows = send(instance, who, "GET", f"/{bucket}?select=id,files(name)").json
        embedded = {f"{bucket}/{row['id']}" for row in rows if row["files"]}
        expect(looked_up == listed == embedded == keys, (who, bucket, looked_up, listed, embedded, keys))


@over_files
def files_are_written_by_those_who_may(instance: ServiceInstance) -> None:
    for who in PEOPLE:
        require_written(instance, who, WRITABLE[who] | ({"buildings/3"} if who in ("root", "ada") else set()))
    link_moe(instance)
    require_written(instance, "moe", OWN_VISITS)


def require_written(instance: ServiceInstance, who: str, writable: set[str]) -> None:
    """Expect that a person writes files of these rows alone, at each door."""
    may_change = bool(writable)
    files = functions_of(instance, who)
    for row in (*OWNERS, "buildings/3"):
        bucket, key = row.split("/")
        path = f"/files?bucket=eq.{bucket}&name=eq.{key}/x.jpg"
        is_closed = who == "moe" and row in OF_CLOSED_VISIT
        changed = (CLOSED if is_closed else DONE) if row in writable else NO_ROWS
        require_outcome(instance, who, "PATCH", path, {"caption": "c"}, changed if may_change else PRIVILEGE)
        require_outcome(instance, who, "DELETE", path, None, PRIVILEGE)
        require_outcome(instance, who, "POST", "/files", {"caption": "c"}, PRIVILEGE)
        try:
            files.read(require_writable, key_of(f"{row}/new.jpg"))
            is_allowed = True
        except FileDenied:
            is_allowed = False
        found = files.read(find_all, bucket, [f"{key}/x.jpg"])
        stated = {row_of(bucket, name) for name, each in found.items() if each.is_writable}
        expected = row in writable
        expect(is_allowed == expected == (row in stated), (who, row, is_allowed, stated))


def require_outcome(instance: ServiceInstance, who: str, method: str, path: str, body: object, expected: str) -> None:
    answer = send(instance, who, method, path, body, prefer=ROLLBACK_PREFERENCE)
    if expected == PRIVILEGE:
        expect(answer.code == "42501" and expected in answer.json["message"], (who, method, path, answer))
    elif expected == CLOSED:
        expect(answer.code == "23514", (who, method, path, answer))
    else:
        written = answer.status in (200, 201) and answer.json != []
        expect(answer.status in (200, 201) and written == (expected == DONE), (who, method, path, answer))


@over_files
def changes_of_files_are_audited(instance: ServiceInstance) -> None:
    sql = instance.direct_database.sql
    entries = sql("SELECT action FROM audit_log WHERE relation = 'files'")
    expect(Counter(action for (action,) in entries)["insert"] == len(OWNERS) + 1, entries)
    changed = send(instance, "root", "PATCH", "/files?bucket=eq.buildings&name=eq.1/x.jpg", {"caption": "c"})
    expect(changed.status == 204, changed)
    sql("DELETE FROM files WHERE finding_id = 1")
    found = sql("SELECT action, client_id FROM audit_log WHERE relation = 'files' AND action <> 'insert'")
    expect(sorted(map(tuple, found)) == [("delete", 1), ("update", 1)], found)


@over_files
def moved_files_are_audited(instance: ServiceInstance) -> None:
    """The files of a building, its inspections and their findings go to another client with the building."""
    moved = send(instance, "root", "PATCH", "/buildings?id=eq.1", {"client_id": 2})
    expect(moved.status == 204, moved)
    rows = instance.direct_database.sql("SELECT bucket, name FROM files WHERE client_id = 2")
    of_building = {"buildings/1", "inspections/2", "findings/1"}
    expect({row_of(*row) for row in rows} == OF_CLIENT_2 | of_building, rows)
    entries = instance.direct_database.sql("SELECT action, client_id FROM audit_log WHERE relation = 'files'")
    counts = Counter(map(tuple, entries))
    expect(counts["delete", 1] == counts["insert", 2] - len(OF_CLIENT_2) == len(of_building), counts)


@over_files
def files_go_with_their_row(instance: ServiceInstance) -> None:
    instance.direct_database.sql("DELETE FROM issued_reports WHERE inspection_id = 8")  # it keeps its visit
    for row, path in (("inspections/8", "/inspections?id=eq.8"), ("findings/1", "/findings?id=eq.1")):
        removed = send(instance, "root", "DELETE", path)
        expect(removed.status == 204, removed)
        found = instance.direct_database.sql(f"SELECT 1 FROM files WHERE {is_of(row)}")
        logged = instance.direct_database.sql("SELECT 1 FROM audit_log WHERE relation = 'files' AND action = 'delete'")
        expect(not found and logged, (row, found, logged))


@over_files
def schema_keeps_client_of_file(instance: ServiceInstance) -> None:
    """The schema refuses a file whose client differs from that of its row, and one under another row's name."""
    own = insertion("inspections/2", 1)
    others = {row: client for row, client in OWNERS.items() if not row.startswith("buildings")}
    refused = [f"UPDATE files SET client_id = {3 - client} WHERE {is_of(row)}" for row, client in others.items()]
    refused.append("DELETE FROM files")
    refused += [insertion(row, 3 - client) for row, client in others.items()]
    refused += [own.replace("'2/x.jpg'", "'3/x.jpg'"), own.replace("'inspections'", "'findings'")]
    for statement in refused:
        try:
            instance.direct_database.sql(statement)
        except instance.direct_database.constraint_errors:
            continue
        expect(statement.startswith("DELETE"), statement)


def is_of(row: str) -> str:
    bucket, key = row.split("/")
    return f"bucket = '{bucket}' AND name = '{key}/x.jpg'"


TAGS = ("files", "ada", "moe", "root")
FILE_PROBES = [
    Probe("files are read by those who may", frozenset((*TAGS, "read")), files_are_read_by_those_who_may),
    Probe("files are written by those who may", frozenset((*TAGS, "write")), files_are_written_by_those_who_may),
    Probe("the schema keeps a file's client", frozenset((*TAGS, "cascade")), schema_keeps_client_of_file),
    Probe("moves of files are audited", frozenset((*TAGS, "audit", "cascade")), moved_files_are_audited),
    Probe("files go with their row", frozenset((*TAGS, "audit", "cascade")), files_go_with_their_row),
    Probe("changes of files are audited", frozenset((*TAGS, "audit")), changes_of_files_are_audited),
]
