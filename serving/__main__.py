"""`bin/serve`, once there is an environment: what is to be made before the start, and said at it.

Everything it asks of the service goes through `flask --app app …`; what it starts at the end is
gunicorn, in its own place, so that signals reach it.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import config
from engine.storage.server_lock import AlreadyServed
from engine.storage.server_lock import is_served
from serving.start import checks as start
from serving.start import demo as demonstration
from serving.start.commands import CommandFailed
from serving.start.commands import flask

DESCRIPTION = "Serve Walkthrough, making keys and database on the first start."


def main(words: list[str]) -> None:
    try:
        environ = _environ(words)
        _serve(environ, is_demo="--demo" in words)
    except (config.ConfigurationError, start.StartRefused, CommandFailed) as error:
        sys.exit(f"walkthrough: {error}")


def _environ(words: list[str]) -> dict[str, str]:
    """Say in the environment what the words said: gunicorn and flask are started with it."""
    parser = argparse.ArgumentParser(prog="bin/serve", description=DESCRIPTION, allow_abbrev=False)
    host, port = config.bind_address({})
    parser.add_argument("--host", help=f"address to listen at (HOST; {host})")
    parser.add_argument("--port", help=f"port to listen at (PORT; {port})")
    parser.add_argument(
        "--demo",
        action="store_true",
        help="serve a made-up portfolio from a database of its own, to this machine only",
    )
    chosen = parser.parse_args(words)
    said = {"HOST": chosen.host, "PORT": chosen.port}
    environ = config.environment(**{name: text for name, text in said.items() if text is not None})
    if chosen.demo:
        if not config.is_loopback(config.bind_address(environ)[0]):
            raise start.StartRefused("--demo serves this machine only: its passwords are printed")
        environ["DATABASE_URL"] = config.file_url(config.PROJECT / "instance" / "demo.db")
    return environ


def _serve(environ: dict[str, str], *, is_demo: bool) -> None:
    config.refuse_debugging(environ)
    config.refuse_arguments(environ)
    config.log_level(environ)  # gunicorn would refuse it once everything else was said
    host, port = config.bind_address(environ)
    start.refuse_taken_addresses([(host, port)])
    settings = config.prepare(None, environ)
    _warn_if_nobody_gets_in(settings)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    path = config.database_path(settings["DATABASE_URL"])
    if is_served(path):  # before anything is said of where
        raise start.StartRefused(str(AlreadyServed(path)))
    is_first = path is not None and not os.path.lexists(path)
    if is_first:
        flask(environ, "check")
    if path is not None and not start.may_be_ours(path):
        _go_on(environ)  # and be refused, before anything is said of where
    told = _where(url, settings, path)
    if is_demo:
        told += [demonstration.introduce(environ, url, settings["ANON_KEY"] or "")]
    else:
        told += _how_to_sign_in(url, settings["ANON_KEY"] or "", is_first=is_first)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a locale of few letters
    with suppress(OSError):  # a full disk, where the output is kept: no reason not to serve
        print("\n".join(told), flush=True)
    _go_on(environ)


def _go_on(environ: dict[str, str]) -> NoReturn:
    """As the server, in this process's place."""
    gunicorn = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py"]
    os.chdir(config.PROJECT)
    os.execve(sys.executable, gunicorn, environ)  # noqa: S606


def _warn_if_nobody_gets_in(settings: config.Settings) -> None:
    if settings["REQUIRE_APIKEY"] and not (settings["ANON_KEY"] or settings["SERVICE_KEY"]):
        print(
            "walkthrough: warning: nobody can ask anything: an apikey is required (REQUIRE_APIKEY), and neither"
            " ANON_KEY nor SERVICE_KEY is set; with a SECRET_KEY in the environment keys.json is not read",
            file=sys.stderr,
        )


def _where(url: str, settings: config.Settings, path: Path | None) -> list[str]:
    told = [
        f"Walkthrough  {url}",
        f"console      {url}/console/",
        f"apikey       {settings['ANON_KEY'] or 'none set'}",
    ]
    return told if path is None else [*told, f"database     {path}"]


def _how_to_sign_in(url: str, apikey: str, *, is_first: bool) -> list[str]:
    return [
        "\nMake the first user, there is none yet:\n" if is_first else "\nMake a user:\n",
        "  .venv/bin/flask --app app create-user you@example.org --role super_admin",
        "\nSign in:\n",
        demonstration.sign_in_line(url, apikey, "you@example.org", "…"),
        "",
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
