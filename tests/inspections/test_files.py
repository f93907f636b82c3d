"""Rows of files: put, replace, read, move, copy and remove them, and who may."""

from collections.abc import Callable

import pytest

from inspections.faults import (
    BytesMissing,
    FileDenied,
    FileEmpty,
    FileExists,
    FileTooLarge,
    FileTypeMismatch,
    NoRoomForFile,
    NoSuchFile,
    UnknownFileType,
)
from inspections.files import records
from inspections.files.records import copy, find, find_all, move, put, remove, remove_all, require_writable
from inspections.files.store import FileStore, KeptBytes
from inspections.files.uploads import FileLimits, keep_upload
from tests.conftest import ADA, MIA
from tests.inspections.case_world import ELSEWHERE, FAILED, HIDDEN, MISSING, MOMENT, OLD, OPEN, case_rows
from tests.inspections.file_world import LIMITS, Files, image_bytes, key_of

OF_INSPECTION, OF_FINDING, OF_BUILDING = (
    f"inspections/{FAILED}/front.jpg",
    f"findings/{OPEN}/a/b.jpg",
    "buildings/1/x.jpg",
)
PATHS = (OF_INSPECTION, OF_FINDING, OF_BUILDING)


@pytest.fixture
def case(world: Callable) -> Callable:
    """The visit FAILED is under way: managers change no files of closed visits (test_closed_visits.py)."""
    rows = case_rows()
    [visit] = [row for row in rows["inspections"] if row["id"] == FAILED]
    visit["status"] = "in_progress"
    return world(rows, MOMENT)


@pytest.fixture
def files(case: Callable, tmp_path: object) -> Callable[[str], Files]:
    store = FileStore(tmp_path / "files")
    return lambda who: Files(case, store, who)


@pytest.mark.parametrize("path", PATHS)
def test_put_file_has_a_row_with_what_its_bytes_say(files: Callable, case: Callable, path: str) -> None:
    content = image_bytes(size=(40, 30))
    row = files("ada").put(path, content, cache_control="max-age=60", user_metadata='{"a": 1}')

    assert (row.width, row.height, row.mimetype, row.size) == (40, 30, "image/jpeg", len(content))
    assert (row.cache_control, row.user_metadata, row.created_by) == ("max-age=60", '{"a": 1}', ADA)
    assert files("ada").store.path(row.sha256).read_bytes() == content
    [stored] = case("ada").get(f"/files?id=eq.{row.id}").json
    assert f"{stored['bucket']}/{stored['name']}" == path
    assert (stored["created_at"], stored["sha256"]) == (row.created_at, row.sha256)


# ada: her client. bob: a grant on FAILED. moe: a grant on building 1. mia: the inspector. max: none.
READERS = {OF_INSPECTION: "root service ada bob moe mia", OF_FINDING: "root service ada bob moe mia",
           OF_BUILDING: "root service ada moe mia"}  # fmt: skip
ADDERS = {**READERS, OF_INSPECTION: "root service ada mia", OF_BUILDING: "root service ada"}
"""Who reads an open finding marks it fixed, and adds the proof."""
WRITERS = {OF_INSPECTION: "root service ada mia", OF_FINDING: "root service ada mia", OF_BUILDING: "root service ada"}
PEOPLE = ("root", "service", "ada", "bob", "moe", "mia", "max")


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("path", PATHS)
def test_file_is_read_and_written_as_its_row_says(files: Callable, case: Callable, path: str, who: str) -> None:
    made = files("ada").put(path)
    own = files(who)
    reads, writes = who in READERS[path].split(), who in WRITERS[path].split()

    found = own.read(find_all, key_of(path).bucket, [key_of(path).name])
    assert [row.is_writable for row in found.values()] == ([writes] if reads else [])
    assert [row["id"] for row in case(who).get("/files").json] == ([made.id] if reads else [])
    changed = case(who).patch(f"/files?id=eq.{made.id}", {"caption": "New"}, prefer="return=representation")
    privileged = changed.status == 200
    assert (len(changed.json) if privileged else 0) == (1 if writes else 0)
    if not writes:
        with pytest.raises(FileDenied):
            own.write(remove, key_of(path))
        if who in ADDERS[path].split():
            assert own.put(path + "2").name == key_of(path + "2").name
        else:
            with pytest.raises(FileDenied):
                own.put(path + "2")
        assert own.write(remove_all, key_of(path).bucket, [key_of(path).name]) == []
    else:
        assert own.put(path + "2").name == key_of(path + "2").name
        assert own.write(remove, key_of(path)).id == made.id


@pytest.mark.parametrize("path", [f"inspections/{OLD}/x.jpg", f"inspections/{ELSEWHERE}/x.jpg", "buildings/2/x.jpg",
                                  f"findings/{HIDDEN}/x.jpg", f"inspections/{MISSING}/x.jpg"])  # fmt: skip
def test_row_out_of_reach_and_missing_row_have_one_refusal(files: Callable, path: str) -> None:
    """mia, the inspector, reads visits of the last 90 days."""
    files("root").put(OF_INSPECTION)
    if str(MISSING) not in path:
        files("root").put(path)
    mia = files("mia")

    with pytest.raises(FileDenied, match=r"^permission denied to write files of this row$"):
        mia.put(path)
    with pytest.raises(FileDenied, match=r"^permission denied to write files of this row$"):
        mia.read(require_writable, key_of(path))
    with pytest.raises(NoSuchFile):
        mia.read(find, key_of(path))
    with pytest.raises(NoSuchFile):
        mia.write(move, key_of(path), key_of(OF_INSPECTION))


def test_same_bytes_answer_as_the_first_time(files: Callable) -> None:
    first = files("ada").put(OF_INSPECTION, cache_control="max-age=1")

    assert files("ada").put(OF_INSPECTION, cache_control="max-age=2") == first
    assert files("mia").put(OF_INSPECTION, upsert=True) == first


def test_other_bytes_need_upsert(files: Callable) -> None:
    first = files("ada").put(OF_INSPECTION)
    other = image_bytes("PNG", (2, 3), "blue")

    with pytest.raises(FileExists):
        files("ada").put(OF_INSPECTION, other)
    second = files("mia").put(OF_INSPECTION, other, upsert=True)
    assert (second.id, second.created_by) == (first.id, ADA)
    assert (second.sha256 != first.sha256, second.mimetype, second.width) == (True, "image/png", 2)


@pytest.mark.parametrize("who", ["mia", "moe", "bob"])
def test_existing_name_is_revealed_to_writers_only(files: Callable, who: str) -> None:
    files("ada").put(OF_INSPECTION)

    with pytest.raises(FileExists if who == "mia" else FileDenied):
        files(who).put(OF_INSPECTION, image_bytes(color="blue"))


def test_row_has_a_limited_number_of_files(files: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "ROW_FILES_MAX", 2)
    ada = files("ada")
    ada.put(OF_INSPECTION)
    ada.put(OF_INSPECTION + "2")

    with pytest.raises(NoRoomForFile, match="a row has at most 2 files"):
        ada.put(OF_INSPECTION + "3")
    with pytest.raises(NoRoomForFile):
        ada.write(copy, key_of(OF_INSPECTION), key_of(OF_INSPECTION + "3"), upsert=False, with_metadata=True,
                  total_max=LIMITS.total_bytes)  # fmt: skip
    ada.put(OF_FINDING)
    with pytest.raises(NoRoomForFile):
        ada.write(move, key_of(OF_FINDING), key_of(OF_INSPECTION + "3"))
    assert ada.write(move, key_of(OF_INSPECTION), key_of(OF_INSPECTION + "3")).name.endswith("3")


def test_all_files_have_a_limited_number_of_bytes(files: Callable) -> None:
    size = len(image_bytes())
    limits = FileLimits(size, 2 * size)
    root = files("root")
    root.put(OF_INSPECTION, image_bytes(), limits=limits)
    root.put(OF_FINDING, image_bytes(color="blue"), limits=limits)

    with pytest.raises(NoRoomForFile, match=f"at most {2 * size} bytes"):
        root.put(OF_BUILDING, image_bytes(), limits=limits)
    replaced = root.put(OF_FINDING, image_bytes(color="lime"), upsert=True, limits=limits)
    assert replaced.size == size


def test_upload_is_refused_by_its_size_or_type_and_leaves_nothing(files: Callable) -> None:
    ada = files("ada")
    cases = [
        (b"", None, FileEmpty),
        (image_bytes(), None, FileTooLarge),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", UnknownFileType),
        (b"<!doctype html><script>", None, UnknownFileType),
        (image_bytes(), "image/png", FileTypeMismatch),
    ]
    for content, claimed, fault in cases:
        limits = FileLimits(10, 1 << 30) if fault is FileTooLarge else LIMITS
        temporary = ada.temporary(content)
        with pytest.raises(fault):
            keep_upload(ada.store, temporary, claimed, limits)
        assert temporary.read_bytes() == content
    assert list(ada.store.hashes()) == []


def test_row_without_bytes_is_not_written(files: Callable) -> None:
    """As if the sweep came between the bytes and the row."""
    ada = files("ada")
    upload = keep_upload(ada.store, ada.temporary(image_bytes()), None, LIMITS)
    ada.store.path(upload.sha256).unlink()

    with pytest.raises(BytesMissing):
        ada.write(put, ada.store, key_of(OF_INSPECTION), upload, upsert=False, total_max=LIMITS.total_bytes)
    assert not ada.store.has(KeptBytes(upload.sha256, upload.size))
    assert ada.read(find_all, "inspections", [key_of(OF_INSPECTION).name]) == {}


@pytest.mark.parametrize("target", [OF_INSPECTION + "2", OF_FINDING, OF_BUILDING])
def test_moved_file_belongs_to_the_row_of_its_name(files: Callable, case: Callable, target: str) -> None:
    made = files("ada").put(OF_INSPECTION)
    moved = files("ada").write(move, key_of(OF_INSPECTION), key_of(target))

    assert (moved.id, moved.sha256, f"{moved.bucket}/{moved.name}") == (made.id, made.sha256, target)
    bob_reads = "bob" in READERS[target if target in READERS else OF_INSPECTION].split()
    assert len(case("bob").get("/files").json) == bob_reads
    with pytest.raises(NoSuchFile):
        files("ada").read(find, key_of(OF_INSPECTION))


def test_file_of_another_client_moves_and_is_audited_there(files: Callable, case: Callable) -> None:
    files("root").put("buildings/1/x.jpg")
    files("root").write(move, key_of("buildings/1/x.jpg"), key_of("buildings/2/x.jpg"))

    for who, actions in (("ada", ["insert", "delete"]), ("bob", ["insert"])):
        entries = case(who).get("/audit_log?relation=eq.files&order=id&select=action").json
        assert [each["action"] for each in entries] == actions


def test_move_needs_the_right_to_write_both_rows(files: Callable) -> None:
    files("root").put(OF_INSPECTION)
    files("root").put(OF_BUILDING)
    files("root").put("buildings/2/x.jpg")

    for who, source, target, fault in (
        ("mia", OF_INSPECTION, "buildings/1/y.jpg", FileDenied),
        ("mia", OF_BUILDING, OF_INSPECTION + "2", FileDenied),
        ("bob", OF_INSPECTION, "buildings/2/y.jpg", FileDenied),
        ("bob", OF_BUILDING, "buildings/2/y.jpg", NoSuchFile),
        ("ada", OF_INSPECTION, OF_BUILDING, FileExists),
    ):
        with pytest.raises(fault):
            files(who).write(move, key_of(source), key_of(target))


def test_copy_needs_the_right_to_read_the_source(files: Callable) -> None:
    made = files("ada").put(OF_INSPECTION, user_metadata='{"a": 1}', cache_control="max-age=1")
    options = {"upsert": False, "with_metadata": True, "total_max": LIMITS.total_bytes}
    target = key_of("buildings/2/copy.jpg")

    copied = files("bob").write(copy, key_of(OF_INSPECTION), target, **options)
    assert (copied.sha256, copied.user_metadata, copied.width) == (made.sha256, made.user_metadata, made.width)
    assert copied.id != made.id
    again = files("bob").write(copy, key_of(OF_INSPECTION), target, **options)
    assert again == copied
    plain = files("ada").write(copy, key_of(OF_INSPECTION), key_of(OF_FINDING), **{**options, "with_metadata": False})
    assert (plain.user_metadata, plain.cache_control) == (None, None)
    with pytest.raises(NoSuchFile):
        files("max").write(copy, key_of(OF_INSPECTION), target, **options)
    with pytest.raises(FileDenied):
        files("moe").write(copy, key_of(OF_INSPECTION), key_of(OF_INSPECTION + "2"), **options)


def test_removal_returns_only_what_went(files: Callable) -> None:
    ada = files("ada")
    made = ada.put(OF_INSPECTION)
    names = [key_of(OF_INSPECTION).name, f"{FAILED}/missing.jpg", "../etc/passwd", key_of(OF_INSPECTION).name]

    assert files("bob").write(remove_all, "inspections", names) == []
    assert [row.id for row in ada.write(remove_all, "inspections", names)] == [made.id]
    assert ada.write(remove_all, "inspections", names) == []
    with pytest.raises(NoSuchFile):
        ada.write(remove, key_of(OF_INSPECTION))


@pytest.mark.parametrize("row", [f"/inspections?id=eq.{OLD}", "/buildings?id=eq.2", f"/findings?id=eq.{OPEN}"])
def test_deleted_row_deletes_its_files(files: Callable, case: Callable, row: str) -> None:
    root = files("root")
    paths = {f"/inspections?id=eq.{OLD}": f"inspections/{OLD}/x.jpg", "/buildings?id=eq.2": "buildings/2/x.jpg",
             f"/findings?id=eq.{OPEN}": OF_FINDING}  # fmt: skip
    made = root.put(paths[row])
    if "buildings" in row:
        assert case("root").delete("/inspections?building_id=eq.2").status == 204
    deleted = case("root").delete(row)

    assert deleted.status == 204, deleted.text
    assert case("root").get("/files").json == []
    [entry] = case("root").get("/audit_log?relation=eq.files&action=eq.delete").json
    assert entry["before"]["sha256"] == made.sha256


def test_files_of_a_building_that_moves_to_another_client_move_with_it(files: Callable, case: Callable) -> None:
    for path in PATHS:
        files("ada").put(path)
    assert case("root").patch("/buildings?id=eq.1", {"client_id": 2}).status == 204

    assert case("ada").get("/files").json == []
    assert len(case("bob").get("/files").json) == 3


def test_id_of_a_row_with_files_stays(files: Callable, case: Callable) -> None:
    files("ada").put(OF_INSPECTION)
    changed = case("root").patch(f"/inspections?id=eq.{FAILED}", {"id": 5000})

    assert (changed.status, changed.code) == (400, "23514"), changed.text
    assert files("ada").read(find, key_of(OF_INSPECTION)).inspection_id == FAILED


def test_rest_dialect_changes_captions_only(files: Callable, case: Callable) -> None:
    made = files("ada").put(OF_INSPECTION)
    new = {"bucket": "inspections", "name": f"{FAILED}/y.jpg", "inspection_id": FAILED, "sha256": made.sha256,
           "size": 1, "mimetype": "image/jpeg"}  # fmt: skip

    for who in ("root", "service", "ada", "mia"):
        assert case(who).post("/files", new).status == 403
        assert case(who).delete(f"/files?id=eq.{made.id}").status == 403
        for column, value in (*new.items(), ("id", made.id), ("created_at", MOMENT), ("taken_at", "x"), ("width", 1)):
            refused = case(who).patch(f"/files?id=eq.{made.id}", {column: value})
            assert (refused.status, refused.code) == (400, "428C9"), (who, column, refused.text)
        assert case(who).patch(f"/files?id=eq.{made.id}", {"caption": who}).status == 204
    [entry] = case("ada").get("/audit_log?relation=eq.files&action=eq.update&order=id.desc&limit=1").json
    assert (entry["after"]["caption"], entry["actor_id"]) == ("mia", MIA)


def test_files_are_embedded_as_far_as_their_row_is_read(files: Callable, case: Callable) -> None:
    for path in PATHS:
        files("ada").put(path)

    for who, inspections, findings, buildings in (
        ("ada", 1, 1, 1),
        ("bob", 1, 1, 0),
        ("mia", 1, 1, 1),
        ("max", 0, 0, 0),
    ):
        counts = []
        for table in ("inspections", "findings", "buildings"):
            rows = case(who).get(f"/{table}?select=id,files(id,name)").json
            counts.append(sum(len(row["files"]) for row in rows))
        assert counts == [inspections, findings, buildings], who
    [row] = case("bob").get("/files?select=name,findings(id,inspections(id))&finding_id=not.is.null").json
    assert row["findings"] == {"id": OPEN, "inspections": {"id": FAILED}}


def test_revoked_grant_counts_at_the_next_read(files: Callable, case: Callable) -> None:
    files("ada").put(OF_INSPECTION)
    moe = files("moe")
    assert moe.read(find, key_of(OF_INSPECTION)).is_writable is False
    case("root").delete("/client_manager_building_access?building_id=eq.1")

    with pytest.raises(NoSuchFile):
        moe.read(find, key_of(OF_INSPECTION))
    assert case("moe").get("/files").json == []
