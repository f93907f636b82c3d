"""The commands for users, keys, checks and schemas. Each calls one package and prints one line."""

from __future__ import annotations

import datetime
import json
import secrets
import sys
from pathlib import Path

import click
from flask import Blueprint, current_app

import config
from access import explain
from access.accounts import people
from access.accounts.password import hash_new_password
from engine.maintenance import check as clock_reset
from engine.maintenance import check as database_check
from engine.open import database
from engine.query.write.row_layout import ID_MAX
from engine.schema.script import schema_script, write_schemas
from engine.schema.tables import ENGINES, SQLITE
from engine.storage.database import is_served
from inspections.files import store
from models.types import Fault
from routes.cli.command import (
    TEXT,
    Command,
    CreatingCommand,
    KeysCommand,
    StandaloneCommand,
    fail,
    print_line,
    print_result,
    require_output,
)
from routes.cli.files import checkpoint, claim_serving_lock, file_store

PASSWORD_NONE = "-"  # noqa: S105 - the word for none
PASSWORD_BYTES = 12  # of a random password: 96 bits, 16 characters

bp = Blueprint("commands", __name__, cli_group=None)


@bp.cli.command("create-user", cls=CreatingCommand)
@click.argument("email", type=TEXT)
@click.option("--name", type=TEXT, help="The user's name. Default: the local part of EMAIL.")
@click.option("--role", type=TEXT, required=True, help="super_admin, client_admin or client_manager.")
@click.option("--client-id", type=click.IntRange(1, ID_MAX), help="The user's client. A super admin has none.")
@click.option("--password", type=TEXT, help="The password, or - for none. Default: a prompt.")
def create_user(email: str, name: str | None, role: str, client_id: int | None, password: str | None) -> None:
    """Create a user who signs in with EMAIL."""
    if password is None:
        if sys.stdin is None:  # closed by the parent process
            fail("standard input is closed: set --password")
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    try:
        with database().writing(seconds_max=60) as transaction:
            user_id = people.create_user_with_password(
                transaction, email, name, role, client_id, None if password == PASSWORD_NONE else password
            )
            is_first = transaction.value("SELECT count(*) FROM users") == 1
    except Fault as fault:
        fail(str(fault))
    checkpoint()
    print_line(str(user_id), done=f"created user {user_id}")
    if is_terminal():
        click.echo(f"walkthrough: the user is in {config.database_name(current_app.config['DATABASE_URL'])}", err=True)
    if is_first and is_terminal():
        # The server may listen at another address than this command's environment names.
        where = "open the console" if is_served(database().path) else "run bin/serve, open the console that it prints"
        click.echo(
            f"Next: {where} and sign in as {email}."
            " The dashboard leads through the first client, building, user and inspection.",
            err=True,
        )


@bp.cli.command("new-passwords", cls=Command)
@click.argument("emails", type=TEXT, nargs=-1, required=True)
def new_passwords(emails: tuple[str, ...]) -> None:
    """Give the users with EMAILS new random passwords, and print these. The sessions of the users end."""
    require_output()
    passwords = {email: secrets.token_urlsafe(PASSWORD_BYTES) for email in emails}
    hashes = {email: hash_new_password(password) for email, password in passwords.items()}
    try:
        with database().writing(seconds_max=60) as transaction:
            for email, password_hash in hashes.items():
                people.replace_password(transaction, people.require_user(transaction, email).id, password_hash)
    except Fault as fault:
        fail(str(fault))
    checkpoint()
    for email, password in passwords.items():
        print_line(f"{email} {password}", done="the passwords are new")


def is_terminal() -> bool:
    """Return whether a person reads standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


@bp.cli.command("create-database", cls=CreatingCommand)
def create_database() -> None:
    """Create the database if it is missing."""


@bp.cli.command("token", cls=Command)
@click.argument("email", type=TEXT)
def token(email: str) -> None:
    """Print an access token for the user with EMAIL."""
    seconds: int = current_app.config["ACCESS_TOKEN_SECONDS"]
    try:
        with database().reading() as transaction:
            signers = current_app.extensions["walkthrough.authenticator"].signers
            issued = people.issue_token(transaction, signers, email, seconds)
    except Fault as fault:
        fail(str(fault))
    print_line(issued)


@bp.cli.command("keys", cls=KeysCommand)
def keys() -> None:
    """Print all keys, as the environment takes them on another host.

    ANON_KEY is the public apikey. SERVICE_KEY acts as super admin, and SECRET_KEY signs tokens: keep both secret.
    """
    signing: list[str] = current_app.config["SECRET_KEY"]
    is_plain = len(signing) == 1 and "," not in signing[0] and not signing[0].startswith("[")
    print_line(f"SECRET_KEY={signing[0] if is_plain else json.dumps(signing)}")
    print_line(f"ANON_KEY={current_app.config['ANON_KEY'] or ''}")
    print_line(f"SERVICE_KEY={current_app.config['SERVICE_KEY'] or ''}")


@bp.cli.command("check", cls=Command)
@click.option(
    "--scan",
    type=click.Choice([each.value for each in database_check.Scan]),
    default=database_check.Scan.FULL.value,
    help="How much of the file to read: all, as much as after an unclean stop, or nothing.",
)
def check(scan: str) -> None:
    """Check the database: integrity, foreign keys, grants, versions, settings, file modes and the bytes of files."""
    problems = database_check.check(database(), database_check.Scan(scan))
    if not problems and scan == database_check.Scan.FULL.value:  # missing bytes are no reason to refuse a start
        problems = store.problems(database(), file_store(), reads_bytes=True)
    if problems:
        fail("; ".join(problems[:10]))
    try:
        for name, value in {"walkthrough": config.__version__, **database_check.versions(database())}.items():
            print_line(f"{name}: {value}")
    except Fault as fault:
        fail(str(fault))
    if ahead_seconds := database().clock.seconds_ahead():
        print_line(f"clock: {clock_difference(ahead_seconds)} (see the command `clock`)")
    print_line("sound")


@bp.cli.command("clock", cls=Command)
@click.option("--set-back", is_flag=True, help="Set the database's time to this machine's.")
@click.option("--key-is-new", is_flag=True, help="SECRET_KEY in the environment is a new one.")
def clock(set_back: bool, key_is_new: bool) -> None:
    """Print how far the database's time is ahead of this machine's. The database's time never goes back.

    --set-back sets the database's time to this machine's. Stop the server first. It ends every session, token
    and kiosk display, and creates a new SECRET_KEY.
    """
    ahead_seconds = database().clock.seconds_ahead()
    if not set_back:
        print_line(clock_difference(ahead_seconds))
        return
    path = database().path
    if path is None:
        fail("--set-back works on SQLite files only: other servers may use a PostgreSQL database")
    if not ahead_seconds:
        fail("the database's time already equals this machine's")
    moment = set_back_file(path, key_is_new=key_is_new)
    print_result(f"the database's time is {moment}; all users must sign in again")


def set_back_file(path: Path, *, key_is_new: bool) -> str:
    """Create the new key first, so that an interrupted command never leaves valid old tokens."""
    lock = claim_serving_lock(path)
    try:
        if not key_is_new:
            current_app.extensions["walkthrough.renew_signing_key"](path)
        return clock_reset.reset_clock(database())
    except click.ClickException as error:
        fail(f"{error.message}: tokens signed with it would become valid again; change it there, then add --key-is-new")
    except (Fault, OSError) as error:
        fail(str(error))
    finally:
        lock.give_back()


def clock_difference(seconds: int) -> str:
    """Return the difference of the clocks as text.

    >>> clock_difference(90_061), clock_difference(0)
    ("the database's time is 1 day, 1:01:01 ahead of this machine's", "the database's time is this machine's")
    """
    if not seconds:
        return "the database's time is this machine's"
    ahead = datetime.timedelta(seconds=seconds)
    return f"the database's time is {ahead} ahead of this machine's"


@bp.cli.command("schema", cls=StandaloneCommand)
@click.option("--engine", type=click.Choice(ENGINES), default=SQLITE, help="The engine whose schema to print.")
@click.option("--write", is_flag=True, help="Write the schema files and the table of docs/ACCESS.md.")
def schema(engine: str, write: bool) -> None:
    """Print the schema that follows from the models."""
    if not write:
        print_line(schema_script(engine).removesuffix("\n"))
        return
    try:
        lines = [*write_schemas(), explain.write_table()]
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    print_result("\n".join(lines))
