"""Photographs and documents of inspections, findings and buildings: the gallery, its form, and each file's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, Final

from flask import Response, g

from access.caller import Caller
from access.decorators import load_caller
from engine.interface.database import Transaction
from engine.open import database, reading, writing
from engine.query.catalog import CheckViolation
from engine.query.statement import Action
from engine.rows import EMBEDDED_MAX
from inspections.faults import FileDenied, FileTooLarge, NoSuchFile
from inspections.files import records
from inspections.files.images import Position
from inspections.files.listing import files_of_row
from inspections.files.records import (
    COLUMNS,
    SEGMENT_BYTES_MAX,
    FileKey,
    FileRow,
    Upload,
    is_allowed,
    normalize,
    parse_key,
)
from inspections.files.thumbnails import FORMATS, WIDTHS
from inspections.files.uploads import discard, keep_upload, read_position, require_room_on_disk, sweep_if_due
from models import File
from models.types import Fault
from routes.console.components import queries
from routes.console.components.error_pages import fault_message, fault_status, is_shown_in_form, record_fault
from routes.console.components.page import redirect_to, render_confirmation, render_page
from routes.console.components.queries import once
from routes.console.components.tables import Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import byte_size, name, short_name
from routes.console.pages.rows import show_page
from routes.console.session import auth
from routes.console.session.file_forms import SentFile, require_sizes
from routes.console.session.urls import console_url
from routes.http.faults import UnknownPath
from routes.storage.bodies import file_limits, file_store
from routes.storage.objects import send_bytes, send_thumbnail
from routes.storage.uploads import discarding, sweeping_for_room

NAME: Final = File.__tablename__
ANCHOR: Final = "photographs"
SHOWN: Final = "select=id,name,mimetype,sha256,caption,taken_at,created_at"
NO_NAME: Final = "photograph"
NAME_BYTES_MAX: Final = SEGMENT_BYTES_MAX - 10  # room for a number
SENT_CHARACTERS_MAX: Final = 700  # `normalize` accepts all of them

# Parts of other pages


def photographs_section(bucket: str, caller: Caller, row: Row, *, is_first: bool = True) -> Section | None:
    """Return the gallery of a row, with a form if the caller may write its files; None if it would be empty.

    `is_first`: it stands above the values of the row, where a telephone shows it.
    """
    found = queries.select_rows(
        caller, NAME, f"{SHOWN}&{COLUMNS[bucket]}=eq.{row['id']}&order=created_at,id", limit=records.ROW_FILES_MAX
    ).rows
    may_add = may(records.require_addable, caller, bucket, row["id"], adds_only=True)
    if not found and not may_add:
        return None
    home = f"/{bucket}/{row['id']}"
    return "photographs.html", {
        "first": is_first,
        "tab": (ANCHOR, "Photographs", len(found)),
        "files": [shown_file(each) for each in found],
        "may_write": bool(found) and may(records.require_writable, caller, bucket, row["id"], adds_only=False),
        "action": console_url(f"{home}/files") if may_add and len(found) < records.ROW_FILES_MAX else "",
        "back": home,
        "all": console_url(f"/{NAME}?{COLUMNS[bucket]}=eq.{row['id']}"),
    }


def inspection_photographs(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    return photographs_section("inspections", caller, row)


def finding_photographs(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    return photographs_section("findings", caller, row)


def building_photographs(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    return photographs_section("buildings", caller, row, is_first=False)


def may(
    require: Callable[[Transaction, Caller, FileKey], None], caller: Caller, bucket: str, key: int, *, adds_only: bool
) -> bool:
    """Return whether the caller adds or writes files of a row, by its right and the state of its visit."""
    file = FileKey(bucket, key, str(key))
    with reading() as transaction:
        try:
            require(transaction, caller, file)
            records.require_open(transaction, caller, file, adds_only=adds_only)
        except (FileDenied, CheckViolation):
            return False
    return True


def photographs_of_findings(caller: Caller, ids: Iterable[int]) -> dict[int, list[Row]]:
    """Return the photographs of findings, oldest first, as far as the caller sees them."""
    text = f"{SHOWN},finding_id&finding_id=in.({','.join(map(str, ids))})&order=created_at,id"
    found: dict[int, list[Row]] = {}
    for row in queries.first_page(caller, NAME, text, EMBEDDED_MAX).rows:
        found.setdefault(row["finding_id"], []).append(shown_file(row))
    return found


def shown_file(row: Row) -> Row:
    """Return a row of a gallery with its title, its URL and whether it is an image that has a thumbnail."""
    return {
        **row,
        "title": file_title(row),
        "url": console_url(f"/{NAME}/{row['id']}"),
        "is_image": row["mimetype"] in FORMATS,
    }


def file_title(row: Row) -> str:
    return name(row["caption"] or row["name"].partition("/")[2], 80)


# The form


@auth.requires_files()
def store_files(caller: Caller, bucket: str, key: int) -> Response:
    """Store the files of the form under free names, all of them or none."""
    table = table_of(bucket)
    row = queries.first_row(caller, bucket, f"select={table.title_select}&id=eq.{key}")
    if row is None:
        raise UnknownPath
    target, sent = parse_key(bucket, f"{key}/{NO_NAME}"), g.get("sent_files", [])
    problem, status = "Choose a photograph or a document first.", 400
    if sent:
        try:
            put_all(caller, target, sent)
        except Fault as fault:
            if not is_shown_in_form(fault):
                raise
            record_fault(fault)
            problem, status = problem_text(fault), fault_status(fault)
        else:
            text = "Stored." if len(sent) == 1 else f"{len(sent)} files stored."
            return redirect_to(f"/{bucket}/{key}", text, anchor=ANCHOR)
    return render_page(
        "photograph_form.html",
        status,
        title=f"Photographs of {table.describe(row)}",
        problem=problem,
        section={"action": console_url(f"/{bucket}/{key}/files"), "back": f"/{bucket}/{key}"},
    )


def problem_text(fault: Fault) -> str:
    details = None if isinstance(fault, FileTooLarge) else fault.details
    return " ".join(filter(None, (f"{fault_message(fault).rstrip('.')}.", details, "Nothing was stored.")))


def put_all(caller: Caller, target: FileKey, sent: list[SentFile]) -> None:
    def check(upload: Upload | None) -> None:
        with reading() as transaction:
            records.check_put(transaction, caller, target, upload, upsert=True, total_max=file_limits().total_bytes)

    check(None)
    with keeping(sent, check) as uploads, writing() as transaction:
        now = load_caller(transaction)
        once(transaction, now, NAME, lambda: put_files(transaction, now, target, sent, uploads))


def insert_with_files(bucket: str, row: Row, sent: list[SentFile]) -> str:
    """Insert a row with the files of its form in one transaction, and return its key as text."""

    def put(transaction: Transaction, caller: Caller, key: str) -> None:
        put_files(transaction, caller, parse_key(bucket, f"{key}/{NO_NAME}"), sent, uploads)

    with keeping(sent) as uploads:
        return queries.insert(bucket, row, put)


@contextmanager
def keeping(sent: list[SentFile], check: Callable[[Upload], None] = lambda upload: None) -> Iterator[list[Upload]]:
    """Keep the bytes of a form's files, and remove them again if the block fails. `check` may refuse each."""
    limits, store = file_limits(), file_store()
    require_sizes(sent, limits.file_bytes)

    def check_room(upload: Upload) -> None:
        check(upload)
        require_room_on_disk(database(), store, upload.size, None, limits.total_bytes)

    uploads: list[Upload] = []
    with sweeping_for_room(store), discarding(store, uploads):
        for each in sent:
            upload = keep_upload(store, each.path, None, limits, check=check_room)
            uploads.append(upload)
            g.form.add("sha256", upload.sha256)  # other files are another submission
        yield uploads
    sweep_if_due(database(), store)


def put_files(
    transaction: Transaction, caller: Caller, target: FileKey, sent: list[SentFile], uploads: list[Upload]
) -> int:
    """Write the rows of kept files under free names, and return their number."""
    for each, upload in zip(sent, uploads, strict=True):
        key = free_key(transaction, caller, target, clean_name(each.name), upload)
        records.put(
            transaction, caller, file_store(), key, upload,
            upsert=False, total_max=file_limits().total_bytes, source=each.path,
        )  # fmt: skip
    return len(uploads)


def free_key(transaction: Transaction, caller: Caller, target: FileKey, clean: str, upload: Upload) -> FileKey:
    """Return a key of the row that no other bytes have. Telephones give every photograph the same name."""
    taken = {row.name: row.sha256 for row in files_of_row(transaction, caller, target.bucket, str(target.row_id))}
    same = next((name for name, sha256 in taken.items() if sha256 == upload.sha256), None)
    if same is not None:
        return parse_key(target.bucket, same)
    plain = PurePosixPath(clean)
    number, key = 1, f"{target.row_id}/{plain}"
    while key in taken:
        number += 1
        key = f"{target.row_id}/{plain.stem} {number}{plain.suffix}"
    return parse_key(target.bucket, key)


def clean_name(sent: str) -> str:
    """Return the name of a file of a form as a segment of a key.

    >>> clean_name("C:\\\\fakepath\\\\Tür #1.jpg"), clean_name("../.."), clean_name("x" * 300 + ".jpg")[-6:]
    ('Tür -1.jpg', 'photograph', 'xx.jpg')
    """
    end = sent.encode(errors="replace").decode()[-SENT_CHARACTERS_MAX:]
    last = normalize(end.replace("\\", "/")).rpartition("/")[2]
    allowed = "".join(each if is_allowed(each) else "-" for each in last).strip(" .")
    path = PurePosixPath(allowed or NO_NAME)
    suffix = path.suffix if len(path.suffix.encode()) <= 10 else ""
    stem = str(path).removesuffix(suffix).encode()[: NAME_BYTES_MAX - len(suffix.encode())].decode(errors="ignore")
    return f"{stem}{suffix}"


# The page of a file, and its bytes


def visible_file(caller: Caller, key: str) -> FileRow:
    """Return a file that the caller sees; raise UnknownPath for a hidden and for a missing one alike."""
    row = queries.first_row(caller, NAME, f"select=bucket,name&{table_of(NAME).filters(key)}")
    if row is None:
        raise UnknownPath
    try:
        with reading() as transaction:
            return records.find(transaction, caller, parse_key(row["bucket"], row["name"]))
    except NoSuchFile as fault:
        raise UnknownPath from fault


def private(response: Response) -> Response:
    """Return bytes for the pages of this console only."""
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["Vary"] = "Cookie"
    return response


@auth.requires(Action.READ, File, shares_snapshot=False)
def show_original(caller: Caller, key: str) -> Response:
    return private(send_bytes(visible_file(caller, key)))


@auth.requires(Action.READ, File, shares_snapshot=False)
def show_thumbnail(caller: Caller, key: str, width: int) -> Response:
    row = visible_file(caller, key)
    if width not in WIDTHS:
        raise UnknownPath
    return private(send_thumbnail(row, width))


def file_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the image, what it belongs to, and, for who may write the file, where it was taken."""
    position = position_of(row["sha256"]) if may_edit else None
    table = table_of(row["bucket"])
    whole = row.get(table.name)
    return "photograph.html", {
        "first": True,
        "file": shown_file(row),
        "whole": (table.label, table.title(whole), table.url(whole)) if whole else None,
        "position": position,
    }


def position_of(sha256: str) -> Position | None:
    """Return where a photograph was taken; None also while its bytes cannot be read."""
    try:
        return read_position(file_store().path(sha256))
    except FileNotFoundError:
        return None


def file_actions(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    url = console_url(f"/{NAME}/{row['id']}")
    return [("Original", f"{url}/original"), *([("Delete", f"{url}/delete")] if may_edit else [])]


def show_file(table: Table, caller: Caller, key: str) -> Response:
    return show_page(table, caller, key, sections=(file_section,), actions=file_actions)


# Deletion


def home_of(row: FileRow) -> str:
    """Return the page of the row that a file belongs to."""
    key = parse_key(row.bucket, row.name)
    return f"/{key.bucket}/{key.row_id}"


@auth.requires(Action.UPDATE, File, shares_snapshot=False)
def confirm_deletion(caller: Caller, key: str) -> Response:
    row = visible_file(caller, key)
    if not row.is_writable:
        raise FileDenied
    return render_confirmation(
        "Delete this file?",
        "Its bytes are removed, too. This cannot be undone.",
        verb="Delete",
        action=f"/{NAME}/{key}/delete",
        back=home_of(row),
        names=[file_title({"caption": row.caption, "name": row.name})],
    )


@auth.requires(Action.UPDATE, File)
def delete_file(caller: Caller, key: str) -> Response:
    removed: list[FileRow] = []
    with writing() as transaction:
        now = load_caller(transaction)

        def delete() -> list[Any]:
            row = visible_file(now, key)
            removed.append(records.remove(transaction, now, parse_key(row.bucket, row.name)))
            return [home_of(row), f"{short_name(row.name.rpartition('/')[2])} deleted."]

        home, done = once(transaction, now, NAME, delete)
    discard(database(), file_store(), removed)
    sweep_if_due(database(), file_store())
    return redirect_to(home, done, anchor=ANCHOR)


def size_text(row: Row) -> tuple[str, str]:
    return byte_size(row["size"]), ""


PRESENTATIONS = {
    NAME: Presentation(
        in_navigation=False,
        related_by=(),
        title=file_title,
        title_columns=("name", "caption"),
        hidden=("bucket", "inspection_id", "finding_id", "building_id", "caption", "cache_control", "user_metadata"),
        cells={
            "size": size_text,
            "mimetype": lambda row: (row["mimetype"], ""),
            "taken_at": lambda row: ((row["taken_at"] or "–").replace("T", " "), ""),
        },
    )
}
