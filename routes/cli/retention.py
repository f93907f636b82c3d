"""The command that removes what is old enough: purge."""

from __future__ import annotations

import datetime

import click
from flask import Blueprint, current_app

from engine.open import database
from inspections import purge as purging
from models.types import Fault
from routes.cli.command import Command, fail, print_line, print_result, require_output
from routes.cli.files import checkpoint

bp = Blueprint("retention_commands", __name__, cli_group=None)


@bp.cli.command("purge", cls=Command)
@click.option("--before", required=True, type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="A day: 2023-01-31.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Remove without asking.")
def purge_command(before: datetime.datetime, is_confirmed: bool) -> None:
    """Remove the visits before DATE with their records, files and reports, and letters without findings.

    It says first what it removes, and asks. DATE is at most today less RETENTION_YEARS. A visit stays while its
    building is held, one of its findings is open, a schedule counts from it or waits for it, a report, letter or event
    of it is not older, or another visit of its case stays.
    """
    require_output()
    day = before.date()
    try:
        with database().reading(seconds_max=purging.SECONDS_MAX) as transaction:
            latest = purging.latest_day(transaction, current_app.config["RETENTION_YEARS"])
            planned = purging.plan_purge(transaction, day) if day <= latest else None
        if planned is None:
            fail(f"--before is {latest} at the latest: what was reported is kept for RETENTION_YEARS")
        say(planned)
        if not planned.removed:
            print_result("nothing")
            return
        if not is_confirmed:
            click.confirm(f"Remove what is before {day}?", abort=True)
        removed = sum(purging.purge(database(), day))
    except Fault as fault:
        fail(str(fault))
    checkpoint()
    print_result(f"removed: {removed} visits and letters; the bytes of their files follow with the next sweep")


def say(planned: purging.Purge) -> None:
    """Print what a purge removes, a line for each client, and what it keeps."""
    for client_id, tables in planned.removed.items():
        print_line(f"client {client_id}: {', '.join(f'{rows} {name}' for name, rows in tables.items())}")
    for reason, visits in planned.kept.items():
        print_line(f"kept: {visits} inspections {reason}")
