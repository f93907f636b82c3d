"""Run the service's own `flask` commands, each in a process of its own, for at most COMMAND_SECONDS_MAX."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from config import PROJECT
from serving.start.checks import last_line

COMMAND_SECONDS_MAX = 120.0  # the demonstration's import takes some seconds on a slow machine


class CommandFailed(Exception):
    """A `flask` command failed. The message is its last line."""


def flask(environ: Mapping[str, str], *arguments: str, stdin: str = "") -> str:
    """Run `flask --app app ARGUMENTS`; return what it prints. Raise CommandFailed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "flask", "--app", "app", *arguments],
            cwd=PROJECT,
            env=environ,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"flask {arguments[0]} did not end") from error
    if done.returncode != 0:
        line = last_line(done.stderr.strip() or done.stdout)
        raise CommandFailed(f"flask {arguments[0]}: {line}")
    return done.stdout
