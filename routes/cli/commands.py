"""`flask --app app …`: a second wire, as thin as the first. Argument -> room -> one line out, exit status."""

from __future__ import annotations

import datetime
import io
import json
import sys
from contextlib import AbstractContextManager
from contextlib import closing
from pathlib import Path

import click
from flask import Blueprint
from flask import current_app

import config
from access.accounts import people
from access.accounts.user_import import furnish
from engine.attach import attach_url
from engine.current import database
from engine.current import reading
from engine.maintenance import backup
from engine.maintenance import check as database_check
from engine.maintenance import clock_reset
from engine.maintenance import copy as database_copy
from engine.maintenance import import_export
from engine.maintenance import readonly_file
from engine.query.write.insert import ID_MAX
from engine.storage import file_copies as copies
from engine.storage.database import Database
from engine.storage.server_lock import AlreadyServed
from engine.storage.server_lock import ServingLock
from engine.storage.server_lock import is_served
from engine.storage.transaction import Transaction
from models.errors import Fault
from routes.cli.command import REFUSAL
from routes.cli.command import TEXT
from routes.cli.command import Command
from routes.cli.command import Rescue
from routes.cli.command import refuse
from routes.cli.command import refuse_output
from routes.cli.command import require_output
from routes.cli.command import say
from routes.cli.command import say_done

NO_PASSWORD = "-"  # noqa: S105 - the word for none
SQLITE_BEGINS = b"SQLite format 3\0"
AHEAD_SECONDS_MIN = 5.0  # what a clock is put right by now and then is no matter

FILE = click.Path(path_type=Path, readable=False)
"""What is wrong with one is told by who opens it, in one line."""

bp = Blueprint("commands", __name__, cli_group=None)


@bp.cli.command("import", cls=Command)
@click.argument("file", type=FILE)
def import_file(file: Path) -> None:
    """Load FILE, a JSON object of table -> rows: all of it, or nothing."""
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=import_export.unique_keys)
        counts = import_export.import_archive(database(), content, furnish)
    except OSError as error:
        refuse(f"{file}: {error.strerror}")
    except (ValueError, OverflowError, RecursionError) as error:
        refuse(f"{file}: {error}")
    except Fault as fault:
        refuse(str(fault))
    finally:
        fold()  # of what was refused, too: on a disk that is full nothing else would give back the log's room
    say_done(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing")


@bp.cli.command("export", cls=Rescue)
@click.argument("file", type=FILE, required=False)
def export_file(file: Path | None) -> None:
    """Write everything but secrets to FILE, or to standard output; the same data, the same bytes."""
    if file is None:
        require_output()
    else:
        require_apart(file)
        if is_database(file):
            refuse(f"{file} is a database, and an export is none: choose another name")
        require_rows(file)
    try:
        with reading_all() as transaction:
            if file is None:
                if isinstance(sys.stdout, io.TextIOWrapper):
                    sys.stdout.reconfigure(encoding="utf-8")  # as a file's, whatever the locale
                sys.stdout.writelines(import_export.export_archive(transaction))
                sys.stdout.flush()
            else:
                import_export.write_archive(transaction, file)
    except (database_check.MaintenanceError, copies.UnsoundCopy) as error:
        refuse(str(error))
    except OSError as error:
        if file is None:
            refuse_output(error)
        refuse(f"{file}: {error.strerror}")
    except Fault as fault:
        refuse(str(fault))


def reading_all() -> AbstractContextManager[Transaction]:
    if is_refused():
        return readonly_file.read_snapshot(file_of(database()))
    return database().reading(seconds_max=import_export.IMPORT_SECONDS_MAX)


def is_refused() -> bool:
    """Whether the database cannot be opened as any other, as its disk takes nothing; that of a server is let be."""
    reason = current_app.extensions.get(REFUSAL)
    if reason is not None and is_served(database().path):
        refuse(reason)
    return reason is not None


@bp.cli.command("copy", cls=Command)
@click.option("--to", "url", required=True, help="Where to: the DATABASE_URL of an empty database.")
def copy_database(url: str) -> None:
    """Copy everything into an empty database of either kind: users, sign-ins, grants, ids and all.

    Nobody may write meanwhile: what changes after the copy has begun is not copied.
    """
    source = database()
    try:
        with closing(attach_url(url)) as target:
            database_check.ensure_schema(target, is_served_by_others=is_served(target.path))
            total = database_copy.count_all_rows(source)
            with click.progressbar(length=total, label="rows", file=sys.stderr) as bar:
                counts = database_copy.copy_all(source, target, bar.update)
    except database_check.MaintenanceError as error:
        refuse(str(error))
    except Fault as fault:
        refuse(str(fault))
    say_done(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing")


@bp.cli.command("create-user", cls=Command)
@click.argument("email", type=TEXT)
@click.option("--name", type=TEXT, help="The person's name; else the e-mail's local part.")
@click.option(
    "--role", type=TEXT, required=True, help="super_admin, client_admin or client_manager."
)
@click.option(
    "--client-id",
    type=click.IntRange(1, ID_MAX),
    help="The client they belong to; a super admin has none.",
)
@click.option("--password", type=TEXT, help="Asked for if it is not given; - for none.")
def create_user(
    email: str, name: str | None, role: str, client_id: int | None, password: str | None
) -> None:
    """Make somebody who can sign in with EMAIL."""
    if password is None:
        if sys.stdin is None:  # closed by whoever started us
            refuse("standard input: no password can be asked for; --password says one")
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    try:
        with database().writing(seconds_max=60) as transaction:
            user_id = people.create_person(
                transaction,
                email,
                name,
                role,
                client_id,
                None if password == NO_PASSWORD else password,
            )
    except Fault as fault:
        refuse(str(fault))
    fold()
    say(str(user_id), done=f"the user was made, {user_id}")


@bp.cli.command("token", cls=Command)
@click.argument("email", type=TEXT)
def token(email: str) -> None:
    """Print an access token of the user with EMAIL."""
    seconds: int = current_app.config["ACCESS_TOKEN_SECONDS"]
    try:
        with database().reading() as transaction:
            signers = current_app.extensions["walkthrough.authenticator"].signers
            issued = people.issue_token(transaction, signers, email, seconds)
    except Fault as fault:
        refuse(str(fault))
    say(issued)


@bp.cli.command("keys", cls=Command)
def keys() -> None:
    """Print the apikeys: what clients send as `apikey`, and what acts as super admin."""
    say(f"ANON_KEY={current_app.config['ANON_KEY'] or ''}")
    say(f"SERVICE_KEY={current_app.config['SERVICE_KEY'] or ''}")


@bp.cli.command("check", cls=Command)
@click.option(
    "--scan",
    type=click.Choice([each.value for each in database_check.Scan]),
    default=database_check.Scan.FULL.value,
    help="How much of the file to read: all, what a start after an unclean stop reads, or nothing.",
)
def check(scan: str) -> None:
    """Look the database over: integrity, foreign keys, grants, versions, settings, file modes."""
    problems = database_check.check(database(), database_check.Scan(scan))
    if problems:
        refuse("; ".join(problems[:10]))
    try:
        for name, value in {
            "walkthrough": config.__version__,
            **database_check.versions(database()),
        }.items():
            say(f"{name}: {value}")
    except Fault as fault:
        refuse(str(fault))
    ahead_seconds = database().clock.seconds_before_system()
    if ahead_seconds >= AHEAD_SECONDS_MIN:
        say(f"clock: {how_far_ahead(ahead_seconds)} (`clock` says more)")
    say("sound")


@bp.cli.command("clock", cls=Command)
@click.option("--set-back", is_flag=True, help="Give the database this machine's time.")
@click.option("--key-is-new", is_flag=True, help="SECRET_KEY was changed where it is set.")
def clock(set_back: bool, key_is_new: bool) -> None:
    """Say how the database's time, which never goes back, and this machine's differ.

    With --set-back, which is refused while a server runs, it is this machine's again, and nobody stays signed in: every
    session, token and board ends, by a new SECRET_KEY, too.
    """
    ahead_seconds = database().clock.seconds_before_system()
    if not set_back:
        say(how_far_ahead(ahead_seconds))
        return
    path = database().path
    if path is None:
        refuse("--set-back is for files: a PostgreSQL server may have others that serve it")
    if ahead_seconds < AHEAD_SECONDS_MIN:
        refuse("the database's time is this machine's: there is nothing to set back")
    moment = set_back_file(path, key_is_new=key_is_new)
    say_done(f"it is {moment}; everybody has to sign in again")


def set_back_file(path: Path, *, key_is_new: bool) -> str:
    """Make the key new first: of a command that is cut short nothing is left but that."""
    lock = unserved(path)
    try:
        if not key_is_new:
            current_app.extensions["walkthrough.renew_signing_key"](path)
        return clock_reset.reset_clock(database())
    except click.ClickException as error:  # of the configuration
        refuse(
            f"{error.message}: tokens that it signed would live again; change it there, and say --key-is-new"
        )
    except (Fault, OSError) as error:
        refuse(str(error))
    finally:
        lock.give_back()


def how_far_ahead(seconds: float) -> str:
    """
    >>> how_far_ahead(90_061.5), how_far_ahead(-0.1)
    ("the database's time is 1 day, 1:01:01 ahead of this machine's", "the database's time is this machine's")
    """
    if seconds < AHEAD_SECONDS_MIN:
        return "the database's time is this machine's"
    ahead = datetime.timedelta(seconds=int(seconds))
    return f"the database's time is {ahead} ahead of this machine's"


@bp.cli.command("backup", cls=Rescue)
@click.argument("file", type=FILE)
def back_up(file: Path) -> None:
    """Copy the database to FILE, whole and checked, while it is in use."""
    path = file_of(database())
    require_apart(file)
    require_rows(file)
    try:
        backup.back_up(
            path, file, readonly_file.open_immutable if is_refused() else copies.opened_to_copy
        )
    except (database_check.MaintenanceError, OSError) as error:
        refuse(str(error))
    say_done(f"{file}: {file.stat().st_size} bytes")


@bp.cli.command("restore", cls=Command)
@click.argument("file", type=FILE)
def restore(file: Path) -> None:
    """Put the backup FILE in the database's place. Refused while a server runs; ends every session."""
    path = file_of(database())
    lock = unserved(path)
    database().close()
    try:
        backup.restore(file, path, database().clock)
    except (database_check.MaintenanceError, Fault, OSError) as error:
        lock.give_back()
        refuse(str(error))
    settle_in()
    lock.release()
    say_done("restored; everybody has to sign in again")


@bp.cli.command("compact", cls=Command)
def compact() -> None:
    """Write the database anew: smaller where rows were deleted, quicker where it grew. Refused while a server runs."""
    path = file_of(database())
    lock = unserved(path)
    fold()
    before = path.stat().st_size
    try:
        backup.compact(path)
    except (database_check.MaintenanceError, Fault, OSError) as error:
        refuse(str(error))
    finally:
        lock.give_back()
    settle_in()
    say_done(f"{before} bytes before, {path.stat().st_size} now")


def unserved(path: Path) -> ServingLock:
    """The right to serve a file, which nobody else has then."""
    try:
        return ServingLock.take(path)
    except AlreadyServed as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{path}.serving cannot be opened: {error.strerror}")


def file_of(found: Database) -> Path:
    if found.path is None:
        refuse(
            "the database is no file: a PostgreSQL server has its own means (pg_dump, pg_basebackup, VACUUM)"
        )
    return found.path


def require_apart(file: Path) -> None:
    """Refuse to write over what this service lives with, or another one: what that keeps from then on would be lost."""
    if not file.name:
        refuse(f"{file} is no name of a file")
    path = database().path
    try:
        if path is not None and backup.belongs_to(file, path):
            refuse(f"{file} belongs to the database itself")
        if is_served(file):
            refuse(str(AlreadyServed(file)))
    except OSError as error:
        refuse(f"{file}: {error.strerror}")


def require_rows(file: Path) -> None:
    """Refuse to put a copy of nothing in a file's place: where a disk is not mounted, or DATABASE_URL says another
    file, a new database was just made."""
    if not file.is_file() or current_app.extensions.get(REFUSAL) is not None:
        return
    with reading() as transaction:
        if import_export.has_no_rows(transaction):
            refuse(
                f"the database holds nothing yet (is it the right one?): {file} is left as it is"
            )


def is_database(file: Path) -> bool:
    """Whether a file begins as SQLite's do."""
    try:
        if not file.is_file():  # a pipe would have to be waited for
            return False
        with file.open("rb") as begun:
            return begun.read(len(SQLITE_BEGINS)) == SQLITE_BEGINS
    except OSError:
        return False


def fold() -> None:
    """Leave all that was written in the file itself: whoever copies it may not know that its log belongs to it."""
    found = database()
    if found.path is not None:
        found.shut_down()


def settle_in() -> None:
    """Go on with the file that was put in the database's place."""
    place = database().identity
    if place is not None:
        place.record()
