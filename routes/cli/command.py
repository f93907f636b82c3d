"""What all commands have in common: what they take, how they end, and what they say and where."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from typing import Final
from typing import NoReturn

import click
from flask import Flask
from flask.cli import ScriptInfo

REFUSAL: Final = "walkthrough.refusal"
"""The extension of an application whose database cannot be opened, as its disk takes nothing: the reason."""


class Text(click.ParamType[str]):
    """An argument that is text: a terminal can send any bytes."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("these bytes are not UTF-8", param, ctx)
        return value


TEXT = Text()


class Command(click.Command):
    """A command that is told to end (TERM), or whose terminal is gone (HUP), ends as by Ctrl-C: what it was making is
    taken away. Who was told to outlast its terminal (nohup) does."""

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
        """Refuse where the database cannot be opened."""
        if (reason := app.extensions.get(REFUSAL)) is not None:
            raise click.ClickException(reason)


class Rescue(Command):
    """A command that saves what it can, also from a disk that takes nothing."""

    def require_database(self, app: Flask) -> None:
        """It looks by itself."""


def say(line: str, *, done: str = "") -> None:
    """Write a line to standard output; where that cannot be, it is told what was `done` all the same."""
    try:
        require_output(done)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A locale may have few letters; standard error tells of others in the same way.
            sys.stdout.reconfigure(errors="backslashreplace")
        click.echo(line)
    except OSError as error:
        refuse_output(error, done)


def say_done(line: str) -> None:
    """Write what was done; nothing of it is secret."""
    say(line, done=line)


def require_output(done: str = "") -> None:
    if sys.stdout is None:  # closed by whoever started us
        refuse_output(OSError(errno.EBADF, os.strerror(errno.EBADF)), done)


def refuse_output(error: OSError, done: str = "") -> NoReturn:
    """Say that standard output takes nothing more; what could not be written is not tried again at the end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    refuse(f"standard output: {error.strerror}" + (f"; {done}" if done else ""))


def refuse(reason: str) -> NoReturn:
    """End for a reason, which is told in one line, whatever it quotes."""
    line = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in reason
    )
    click.echo(f"walkthrough: {line}", err=True)
    sys.exit(1)
