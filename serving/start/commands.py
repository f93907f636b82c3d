"""How does the launcher ask the service for something? By its own commands, each a short process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from config import PROJECT
from serving.start.checks import last_line

COMMAND_SECONDS_MAX = 120.0  # the demo's import is the longest, some seconds on a slow board


class CommandFailed(Exception):
    """A `flask` command said no. The message is its last line."""


def flask(environ: Mapping[str, str], *words: str, fed: str = "") -> str:
    """Run `flask --app app WORDS` with `fed` as its input, and return what it printed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "flask", "--app", "app", *words],
            cwd=PROJECT,
            env=environ,
            input=fed,
            capture_output=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"flask {words[0]} did not end") from error
    if done.returncode != 0:
        line = last_line(done.stderr.strip() or done.stdout)
        raise CommandFailed(f"flask {words[0]}: {line}")
    return done.stdout
