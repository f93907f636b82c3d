"""The commands that read and write files: import, export, copy, backup, restore and compact."""

from __future__ import annotations

import io
import json
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path

import click
from flask import Blueprint, current_app

import settings
from access.accounts.administration import import_user
from engine.interface.database import Database, Transaction
from engine.maintenance import backup, check, import_export
from engine.maintenance import import_export as database_copy
from engine.open import database, open_database, reading
from engine.query.catalog import catalog
from engine.query.write.row_layout import ID_MAX
from engine.storage import file_copies
from engine.storage.database import AlreadyServed, ServingLock, SqliteDatabase, is_served
from inspections.files import store as copies
from inspections.files.store import FileStore
from inspections.reports.client_export import write_client
from models.types import BYTE_ORDER_MARK, Fault
from routes.cli.command import (
    DATABASE_ERROR,
    Command,
    CreatingCommand,
    RecoveryCommand,
    fail,
    fail_output,
    print_result,
    require_output,
)
from routes.postgrest import payload
from routes.postgrest.lexer import LIMITS

STANDARD_INPUT = "-"
SQLITE_MAGIC = b"SQLite format 3\0"

FILE = click.Path(path_type=Path, readable=False, allow_dash=True)
"""The command that opens the file reports its errors on one line."""

BACKUP_ATTEMPTS = 2
"""A file that is removed while its bytes are copied is absent from the second copy of the database."""
PROBLEMS_MAX = 10
bp = Blueprint("file_commands", __name__, cli_group=None)


PlaceOf = Callable[[str, int], str]
"""Names the place of a table's row in a file."""

EXPECTED_ARCHIVE = (
    'a JSON object of tables and their rows is expected, such as {"clients": [{"name": "Acme"}]};'
    " CSV, or a JSON array of rows, needs --table NAME"
)


IMPORT_FORMATS = f"""\b
FILE is a JSON object of tables and their rows, as `export` writes it:
  {{"clients": [{{"id": 1, "name": "Acme"}}], "buildings": [{{"name": "Depot", "client_id": 1}}]}}
With --table NAME, FILE is a JSON array of rows, or CSV whose first line names the columns:
  flask --app app import --table buildings buildings.csv
An omitted id is chosen. A user's row may also have a password.
\b
{textwrap.fill("The tables are " + ", ".join(import_export.archive_tables()) + ".")}
"""


@bp.cli.command("import", cls=CreatingCommand, epilog=IMPORT_FORMATS)
@click.argument("file", type=FILE)
@click.option(
    "--table", type=click.Choice(import_export.archive_tables()), metavar="NAME", help="The table of the rows in FILE."
)
def import_file(file: Path, table: str | None) -> None:
    """Import FILE, completely or not at all. `-` is standard input."""
    try:
        archive, place_of = read_archive(read_input(file), table)
        counts = import_export.import_archive(database(), archive, import_user, place_of)
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    except (ValueError, OverflowError, RecursionError) as error:
        fail(f"{file}: {error}; {EXPECTED_ARCHIVE}" if table is None else f"{file}: {error}")
    except import_export.InvalidArchive as fault:
        fail(fault.message)
    except Fault as fault:
        fail(f"{file}: {import_export.text_of(fault)}")
    finally:
        checkpoint()  # also after a failure: on a full disk, this frees the WAL's space
    print_result(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing")


def read_input(file: Path) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if str(file) != STANDARD_INPUT:
        return file.read_text(encoding="utf-8")
    if sys.stdin is None:  # closed by the parent process
        fail("standard input is closed: name a file")
    return sys.stdin.buffer.read().decode()


def read_archive(text: str, table: str | None) -> tuple[object, PlaceOf]:
    """Return the tables of a JSON object, or of the rows of one table in JSON or CSV, and the places of their rows."""
    json_text = text.removeprefix(BYTE_ORDER_MARK)
    if table is not None and json_text.lstrip()[:1] != "[":
        parsed = payload.parse_csv(text, replace(LIMITS, payload_rows=sys.maxsize))
        relation = catalog().relations[table]
        references = (each.column for each in relation.foreign_keys)
        rows, names = payload.without_titles(parsed.rows, parsed.header, references)
        accounts = import_export.ACCOUNT_FIELDS if table == "users" else ()
        payload.require_header(relation, tuple(name for name in names if name not in accounts))
        return {table: rows}, lambda _, number: f"line {parsed.lines[number]}"
    content = json.loads(json_text, object_pairs_hook=import_export.unique_keys)
    return (content if table is None else {table: content}), "{}[{}]".format


@bp.cli.command("export", cls=RecoveryCommand)
@click.argument("file", type=FILE, required=False)
@click.option("--client", "client_id", type=click.IntRange(1, ID_MAX), help="The client whose data to write.")
@click.option("--files", "zip_file", type=FILE, help="The ZIP file of the client: rows, files, reports, letters.")
def export_file(file: Path | None, client_id: int | None, zip_file: Path | None) -> None:
    """Write all data except secrets to FILE or to standard output. Equal data gives equal bytes.

    With --client ID --files OUT.zip, write all of one client: its rows and the shared ones that they name, the bytes
    of its files, and its issued reports and letters as pages.
    """
    if client_id is not None or zip_file is not None:
        export_client(client_id, zip_file, file)
    else:
        export_everything(file)


def export_everything(file: Path | None) -> None:
    if file is None:
        require_output()
    else:
        require_separate_file(file)
        if is_database(file):
            fail(f"{file} is a database, and an export is JSON: choose another name")
        require_not_empty(file)
    try:
        with reading_all() as transaction:
            if file is None:
                if isinstance(sys.stdout, io.TextIOWrapper):
                    sys.stdout.reconfigure(encoding="utf-8")  # independent of the locale
                sys.stdout.writelines(import_export.export_archive(transaction))
                sys.stdout.flush()
            else:
                import_export.write_archive(transaction, file)
            say_where_bytes_are(transaction.value("SELECT count(*) FROM files"))
    except (check.MaintenanceError, file_copies.UnsoundCopy) as error:
        fail(str(error))
    except OSError as error:
        if file is None:
            fail_output(error)
        fail(f"{file}: {error.strerror}")
    except Fault as fault:
        fail(str(fault))


def export_client(client_id: int | None, file: Path | None, other: Path | None) -> None:
    if client_id is None or file is None or other is not None:
        fail("--client ID and --files OUT.zip go together, without FILE")
    require_separate_file(file)
    if is_database(file):
        fail(f"{file} is a database, and an export is a ZIP file: choose another name")
    try:
        with reading_all() as transaction:
            missing = write_client(transaction, client_id, file_store(), file)
    except (check.MaintenanceError, file_copies.UnsoundCopy) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    except Fault as fault:
        fail(str(fault))
    warn_of_bytes([f"the bytes of {name} are missing" for name in missing])
    print_result(f"{file}: {file.stat().st_size} bytes")


def reading_all() -> AbstractContextManager[Transaction]:
    if is_unopened():
        return backup.read_snapshot(sqlite_path(database()))
    return database().reading(seconds_max=import_export.IMPORT_SECONDS_MAX)


def is_unopened() -> bool:
    """Return whether the database could not be opened for writing. Exit if a server uses it."""
    reason = current_app.extensions.get(DATABASE_ERROR)
    if reason is not None and is_served(database().path):
        fail(reason)
    return reason is not None


@bp.cli.command("copy", cls=Command)
@click.option("--to", "url", required=True, help="The DATABASE_URL of an empty database.")
def copy_database(url: str) -> None:
    """Copy all data into an empty SQLite or PostgreSQL database, with users, sessions, grants and ids.

    Stop all writers first. Changes made during the copy are not copied.
    """
    source = database()
    try:
        target_url = settings.read_database_url(url, Path.cwd())
    except ValueError as error:
        fail(f"--to {error}")
    try:
        with closing(open_database(target_url)) as target:
            check.ensure_schema(target, is_served_by_others=is_served(target.path))
            total = database_copy.count_all_rows(source)
            with click.progressbar(length=total, label="rows", file=sys.stderr) as bar:
                counts = database_copy.copy_all(source, target, bar.update)
    except check.MaintenanceError as error:
        fail(str(error))
    except Fault as fault:
        fail(str(fault))
    say_where_bytes_are(counts["files"])
    print_result(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing")


@bp.cli.command("backup", cls=RecoveryCommand)
@click.argument("file", type=FILE)
def back_up(file: Path) -> None:
    """Write a checked copy of the database to FILE, and the bytes of files to FILE.files.

    The server may run meanwhile.
    """
    path = sqlite_path(database())
    require_separate_file(file)
    require_not_empty(file)
    store, target = file_store(), FileStore(settings.files_folder(file))
    try:
        for _ in range(BACKUP_ATTEMPTS):
            copies.copy_new(store, target)  # before: bytes are removed whose row the copy still has
            backup.back_up(path, file, backup.open_immutable if is_unopened() else file_copies.opened_to_copy)
            copies.copy_new(store, target)
            problems = copies.finish_backup(file, target)
            if not problems:
                break
    except (check.MaintenanceError, OSError) as error:
        fail(str(error))
    warn_of_bytes(problems)
    print_result(f"{file}: {file.stat().st_size} bytes")


@bp.cli.command("restore", cls=CreatingCommand)
@click.argument("file", type=FILE)
def restore(file: Path) -> None:
    """Replace the database with the backup FILE, and end every session. Stop the server first.

    The bytes of files come from FILE.files.
    """
    path = sqlite_path(database())
    lock = claim_serving_lock(path)
    database().close()
    try:
        copies.restore(FileStore(settings.files_folder(file)), file_store(), like=path)
        backup.restore(file, path, database().clock)
    except (check.MaintenanceError, Fault, OSError) as error:
        lock.give_back()
        fail(str(error))
    adopt_replaced_file()
    lock.release()
    warn_of_bytes(restored_problems())
    print_result("restored; all users must sign in again")


@bp.cli.command("compact", cls=Command)
def compact() -> None:
    """Rewrite the database file without unused space. Stop the server first."""
    path = sqlite_path(database())
    lock = claim_serving_lock(path)
    checkpoint()
    before = path.stat().st_size
    try:
        backup.compact(path)
    except (check.MaintenanceError, Fault, OSError) as error:
        fail(str(error))
    finally:
        lock.give_back()
    adopt_replaced_file()
    print_result(f"{before} bytes before, {path.stat().st_size} now")


def file_store() -> FileStore:
    store: FileStore = current_app.extensions["walkthrough.files"]
    return store


def restored_problems() -> list[str]:
    """Return the files of the database without bytes."""
    try:
        return copies.problems(database(), file_store(), reads_bytes=False)
    except Fault:  # a backup of an earlier version, which the next start migrates
        return []


def warn_of_bytes(problems: list[str]) -> None:
    """Say which files lack their bytes. The rows are complete."""
    if problems:
        click.echo(f"warning: {'; '.join(problems[:PROBLEMS_MAX])} ({len(problems)} in all)", err=True)


def say_where_bytes_are(rows: int) -> None:
    """Say that rows of files were written without their bytes."""
    if rows:
        click.echo(f"the bytes of {rows} files are not included: they are in {file_store().folder}", err=True)


def claim_serving_lock(path: Path) -> ServingLock:
    """Return the exclusive lock on serving a file. Exit if another process holds it."""
    try:
        return ServingLock.take(path)
    except AlreadyServed as error:
        fail(str(error))
    except OSError as error:
        fail(f"{path}.serving cannot be opened: {error.strerror}")


def sqlite_path(served: Database) -> Path:
    if served.path is None:
        fail("the database is not a file: use PostgreSQL's tools (pg_dump, pg_basebackup, VACUUM)")
    return served.path


def require_separate_file(file: Path) -> None:
    """Exit if the file belongs to this database or to another served one."""
    if not file.name:
        fail(f"{file} is not a file name")
    path = database().path
    try:
        if path is not None and backup.belongs_to(file, path):
            fail(f"{file} belongs to the database itself")
        if is_served(file):
            fail(str(AlreadyServed(file)))
    except OSError as error:
        fail(f"{file}: {error.strerror}")


def require_not_empty(file: Path) -> None:
    """Exit if an empty database would replace an existing file.

    A missing mount or a wrong DATABASE_URL creates a new, empty database.
    """
    if not file.is_file() or current_app.extensions.get(DATABASE_ERROR) is not None:
        return
    with reading() as transaction:
        if import_export.has_no_rows(transaction):
            fail(f"the database is empty (check DATABASE_URL): {file} is not changed")


def is_database(file: Path) -> bool:
    """Return whether a file starts with SQLite's magic bytes."""
    try:
        if not file.is_file():  # opening a pipe would block
            return False
        with file.open("rb") as stream:
            return stream.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


def checkpoint() -> None:
    """Move the WAL into the database file. A copy made without the WAL then holds all data."""
    served = database()
    if served.path is not None:
        served.shut_down()


def adopt_replaced_file() -> None:
    """Accept the file that replaced the database."""
    served = database()
    if isinstance(served, SqliteDatabase):
        served.identity.record()
