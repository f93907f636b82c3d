"""The base of the command line: arguments, signals, output and errors."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import click
from flask import Flask
from flask.cli import ScriptInfo

DATABASE_ERROR: Final = "walkthrough.refusal"
"""The key of `app.extensions` that holds the reason why the database cannot be opened."""


MISSING_DATABASE: Final = "walkthrough.missing_database"
"""The key of `app.extensions` that holds a MissingDatabase."""


@dataclass(frozen=True, slots=True)
class MissingDatabase:
    """The default database file, which does not exist. A command that only reads must not create an empty one."""

    path: Path
    demonstration: Path
    create: Callable[[], None]

    def message(self) -> str:
        text = f"there is no database {self.path}: bin/serve creates one"
        if not self.demonstration.exists():
            return text
        return f"{text}; for the demonstration, set DATABASE_URL=sqlite:///{self.demonstration}"


class Utf8Text(click.ParamType[str]):
    """A text argument. A terminal may send any bytes."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("these bytes are not UTF-8", param, ctx)
        return value


TEXT = Utf8Text()


class Command(click.Command):
    """A command that cleans up on SIGTERM and SIGHUP as on Ctrl-C. Signals ignored by the parent (nohup)
    stay ignored.
    """

    def invoke(self, ctx: click.Context) -> object:
        self.require_database(ctx.ensure_object(ScriptInfo).load_app())
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        for number, handler in before.items():
            if handler is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        finally:
            for number, handler in before.items():
                if handler is signal.SIG_DFL:
                    signal.signal(number, handler)

    def require_database(self, app: Flask) -> None:
        """Raise ClickException if the database is missing or cannot be opened."""
        if (missing := app.extensions.get(MISSING_DATABASE)) is not None:
            raise click.ClickException(missing.message())
        if (reason := app.extensions.get(DATABASE_ERROR)) is not None:
            raise click.ClickException(reason)


class CreatingCommand(Command):
    """A command that creates a missing database."""

    def require_database(self, app: Flask) -> None:
        missing: MissingDatabase | None = app.extensions.pop(MISSING_DATABASE, None)
        if missing is not None:
            missing.create()
            click.echo(f"walkthrough: created {missing.path}", err=True)
        super().require_database(app)


class KeysCommand(Command):
    """A command that needs no database file."""

    def require_database(self, app: Flask) -> None:
        app.extensions.pop(MISSING_DATABASE, None)
        super().require_database(app)


class StandaloneCommand(Command):
    """A command that uses no database."""

    def require_database(self, app: Flask) -> None:
        """Do nothing."""


class RecoveryCommand(Command):
    """A command that also works if the database cannot be opened for writing."""

    def require_database(self, app: Flask) -> None:
        """Raise ClickException if the database is missing. The command opens the file itself."""
        if (missing := app.extensions.get(MISSING_DATABASE)) is not None:
            raise click.ClickException(missing.message())


def print_line(line: str, *, done: str = "") -> None:
    """Write a line to standard output. If that fails, standard error reports `done`, the completed work."""
    try:
        require_output(done)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # The locale's encoding may lack characters; standard error escapes them in the same way.
            sys.stdout.reconfigure(errors="backslashreplace")
        click.echo(line)
    except OSError as error:
        fail_output(error, done)


def print_result(line: str) -> None:
    """Report the completed work. It contains no secret."""
    print_line(line, done=line)


def require_output(done: str = "") -> None:
    if sys.stdout is None:  # closed by the parent process
        fail_output(OSError(errno.EBADF, os.strerror(errno.EBADF)), done)


def fail_output(error: OSError, done: str = "") -> NoReturn:
    """Exit because standard output fails. It is redirected to /dev/null so that the flush at exit does not
    fail as well.
    """
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    fail(f"standard output: {error.strerror}" + (f"; {done}" if done else ""))


def fail(reason: str) -> NoReturn:
    """Print the reason on one line and exit with status 1."""
    line = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in reason)
    click.echo(f"walkthrough: {line}", err=True)
    sys.exit(1)
