"""Photographs and documents of inspections, findings and buildings: the gallery, its form, and each file's page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final

from flask import Response, g, request

from access.caller import Caller
from access.decorators import load_caller
from engine.current import database, reading, writing
from engine.interface.transaction import Transaction
from engine.query.rule import Action
from inspections.faults import FileDenied, NoSuchFile
from inspections.files import records
from inspections.files.content import read_position
from inspections.files.keys import COLUMNS, SEGMENT_BYTES_MAX, FileKey, is_allowed, normalize, parse_key
from inspections.files.listing import files_of_row
from inspections.files.records import FileRow, Upload
from inspections.files.thumbnails import FORMATS, WIDTHS
from inspections.files.uploads import keep_upload, sweep_if_due
from models import File
from models.errors import Fault
from routes.console.components import queries
from routes.console.components.error_pages import fault_message, fault_status, is_shown_in_form, record_fault
from routes.console.components.page import bp, redirect_to, render_confirmation, render_page
from routes.console.components.submissions import once
from routes.console.components.tables import PATH, PRESENTATIONS, Presentation, Row, Section, Table, table_of
from routes.console.components.template_filters import name, short_name
from routes.console.pages.rows import own_view, show_page
from routes.console.session import auth
from routes.console.session.sent_files import SentFile, remove_sent_files, require_sizes
from routes.postgrest.requests import UnknownPath
from routes.storage.objects import send_bytes, send_thumbnail
from routes.storage.state import file_limits, file_store

NAME: Final = File.__tablename__
ANCHOR: Final = "photographs"
SHOWN: Final = "select=id,name,mimetype,sha256,caption,taken_at,created_at"
NO_NAME: Final = "photograph"
NAME_BYTES_MAX: Final = SEGMENT_BYTES_MAX - 10  # room for a number

bp.teardown_request(remove_sent_files)


# Parts of other pages


def photographs_section(bucket: str, caller: Caller, row: Row, *, is_first: bool = True) -> Section | None:
    """Return the gallery of a row, with a form if the caller may write its files; None if it would be empty.

    `is_first`: it stands above the values of the row, where a telephone shows it.
    """
    found = queries.select_rows(
        caller, NAME, f"{SHOWN}&{COLUMNS[bucket]}=eq.{row['id']}&order=created_at,id", limit=records.ROW_FILES_MAX
    ).rows
    may_write = may_write_files(caller, bucket, row["id"])
    if not found and not may_write:
        return None
    home = f"/{bucket}/{row['id']}"
    return "photographs.html", {
        "first": is_first,
        "files": [shown_file(each) for each in found],
        "may_write": may_write,
        "action": f"{PATH}{home}/files" if may_write and len(found) < records.ROW_FILES_MAX else "",
        "back": home,
        "all": f"{PATH}/{NAME}?{COLUMNS[bucket]}=eq.{row['id']}",
    }


def inspection_photographs(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    return photographs_section("inspections", caller, row)


def finding_photographs(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    return photographs_section("findings", caller, row)


def building_photographs(caller: Caller, row: Row, may_edit: bool) -> Section | None:
    return photographs_section("buildings", caller, row, is_first=False)


def may_write_files(caller: Caller, bucket: str, key: int) -> bool:
    with reading() as transaction:
        try:
            records.require_writable(transaction, caller, FileKey(bucket, key, str(key)))
        except FileDenied:
            return False
    return True


def photographs_of_findings(caller: Caller, ids: Iterable[int]) -> dict[int, list[Row]]:
    """Return the photographs of findings, oldest first, as far as the caller sees them."""
    text = f"{SHOWN},finding_id&finding_id=in.({','.join(map(str, ids))})&order=created_at,id"
    found: dict[int, list[Row]] = {}
    for row in queries.first_page(caller, NAME, text, queries.EMBEDDED_MAX).rows:
        found.setdefault(row["finding_id"], []).append(shown_file(row))
    return found


def shown_file(row: Row) -> Row:
    """Return a row of a gallery with its title, its URL and whether it is an image that has a thumbnail."""
    return {
        **row,
        "title": file_title(row),
        "url": f"{PATH}/{NAME}/{row['id']}",
        "is_image": row["mimetype"] in FORMATS,
    }


def file_title(row: Row) -> str:
    return name(row["caption"] or row["name"].partition("/")[2], 80)


# The form


@bp.post("/<any(inspections, findings, buildings):bucket>/<int:key>/files")
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
            return stored(f"/{bucket}/{key}", len(sent))
    return render_page(
        "photograph_form.html",
        status,
        title=f"Photographs of {table.describe(row)}",
        problem=problem,
        section={"action": f"{PATH}/{bucket}/{key}/files", "back": f"/{bucket}/{key}"},
    )


def stored(home: str, count: int) -> Response:
    """Return to the page of the row. A script, which sends one file at a time, loads the page itself."""
    response = redirect_to(home, "Stored." if count == 1 else f"{count} files stored.", anchor=ANCHOR)
    if request.headers.get("Accept") == "application/json":
        response.status_code = 204
        del response.headers["Location"]
    return response


def problem_text(fault: Fault) -> str:
    return " ".join(filter(None, (f"{fault_message(fault).rstrip('.')}.", fault.details, "Nothing was stored.")))


def put_all(caller: Caller, target: FileKey, sent: list[SentFile]) -> None:
    limits, store = file_limits(), file_store()
    require_sizes(sent, limits.file_bytes)

    def check(upload: Upload | None) -> None:
        with reading() as transaction:
            records.check_put(transaction, caller, target, upload, upsert=True, total_max=limits.total_bytes)

    check(None)
    uploads = [(each.name, keep_upload(store, each.path, None, limits, check=check)) for each in sent]
    for _, upload in uploads:
        g.form.add("sha256", upload.sha256)  # other files are another submission
    with writing() as transaction:
        now = load_caller(transaction)

        def put() -> int:
            for sent_name, upload in uploads:
                key = free_key(transaction, now, target, sent_name, upload)
                records.put(transaction, now, store, key, upload, upsert=False, total_max=limits.total_bytes)
            return len(uploads)

        once(transaction, now, NAME, put)
    sweep_if_due(database(), store)


def free_key(transaction: Transaction, caller: Caller, target: FileKey, sent_name: str, upload: Upload) -> FileKey:
    """Return a key of the row that no other bytes have. Telephones give every photograph the same name."""
    taken = {row.name: row.sha256 for row in files_of_row(transaction, caller, target.bucket, str(target.row_id))}
    same = next((name for name, sha256 in taken.items() if sha256 == upload.sha256), None)
    if same is not None:
        return parse_key(target.bucket, same)
    plain = PurePosixPath(clean_name(sent_name))
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
    last = normalize(sent.encode(errors="replace").decode()[-1_000:].replace("\\", "/")).rpartition("/")[2]
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


@bp.get(f"/{NAME}/<key>/original")
@auth.requires(Action.READ, File, shares_snapshot=False)
def show_original(caller: Caller, key: str) -> Response:
    return private(send_bytes(visible_file(caller, key)))


@bp.get(f"/{NAME}/<key>/thumbnail/<int:width>")
@auth.requires(Action.READ, File, shares_snapshot=False)
def show_thumbnail(caller: Caller, key: str, width: int) -> Response:
    row = visible_file(caller, key)
    if width not in WIDTHS:
        raise UnknownPath
    return private(send_thumbnail(row, width))


def file_section(caller: Caller, row: Row, may_edit: bool) -> Section:
    """Return the image, what it belongs to, and, for who may write the file, where it was taken."""
    position = read_position(file_store().path(row["sha256"])) if may_edit else None
    table = table_of(row["bucket"])
    whole = row.get(table.name)
    return "photograph.html", {
        "first": True,
        "file": shown_file(row),
        "whole": (table.label, table.title(whole), table.url(whole)) if whole else None,
        "position": position,
    }


def file_actions(caller: Caller, row: Row, may_edit: bool) -> list[tuple[str, str]]:
    url = f"{PATH}/{NAME}/{row['id']}"
    return [("Original", f"{url}/original"), *([("Delete", f"{url}/delete")] if may_edit else [])]


@own_view(NAME, "/{key}")
def show_file(table: Table, caller: Caller, key: str) -> Response:
    return show_page(table, caller, key, sections=(file_section,), actions=file_actions)


# Deletion


def home_of(row: FileRow) -> str:
    """Return the page of the row that a file belongs to."""
    key = parse_key(row.bucket, row.name)
    return f"/{key.bucket}/{key.row_id}"


@bp.get(f"/{NAME}/<key>/delete")
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


@bp.post(f"/{NAME}/<key>/delete")
@auth.requires(Action.UPDATE, File)
def delete_file(caller: Caller, key: str) -> Response:
    with writing() as transaction:
        now = load_caller(transaction)

        def delete() -> list[Any]:
            row = visible_file(now, key)
            records.remove(transaction, now, parse_key(row.bucket, row.name))
            return [home_of(row), f"{short_name(row.name.rpartition('/')[2])} deleted."]

        home, done = once(transaction, now, NAME, delete)
    sweep_if_due(database(), file_store())
    return redirect_to(home, done, anchor=ANCHOR)


def size_text(row: Row) -> tuple[str, str]:
    """Return a size in the unit in which it has two digits or more."""
    size, unit = row["size"], "bytes"
    for larger in ("KiB", "MiB"):
        if size >= 10_240:
            size, unit = size // 1_024, larger
    return f"{size:,} {unit}", ""


PRESENTATIONS[NAME] = Presentation(
    in_navigation=False,
    related=lambda caller, column, row: False,
    title=file_title,
    title_columns=("name", "caption"),
    hidden=("bucket", "inspection_id", "finding_id", "building_id", "caption", "cache_control", "user_metadata"),
    cells={
        "size": size_text,
        "mimetype": lambda row: (row["mimetype"], ""),
        "taken_at": lambda row: ((row["taken_at"] or "–").replace("T", " "), ""),
    },
)
