"""`bin/serve`: prepare keys and database, print how to sign in, and become gunicorn.

Preparations run as `flask --app app …` commands. gunicorn replaces this process, so that signals reach it.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import config
from engine.storage.server_lock import AlreadyServed, is_served
from serving.start import checks as start
from serving.start import demo
from serving.start.commands import CommandFailed
from serving.start.ports import address_text

ALLOCATOR: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
"""Settings of glibc for the server: all threads share one heap, and blocks of 1 MiB and more return to the system."""


def main(arguments: list[str]) -> None:
    try:
        environ = _environ(arguments)
        _serve(environ, is_demo="--demo" in arguments)
    except (config.ConfigurationError, start.StartRefused, CommandFailed) as error:
        sys.exit(f"walkthrough: {error}")


def _environ(arguments: list[str]) -> dict[str, str]:
    """Return the environment for gunicorn and flask, with the command line's settings."""
    parser = argparse.ArgumentParser(prog="bin/serve", add_help=False, allow_abbrev=False)
    parser.add_argument("--host")
    parser.add_argument("--port")
    parser.add_argument("--demo", action="store_true")
    options = parser.parse_args(arguments)
    changes = {"HOST": options.host, "PORT": options.port}
    environ = config.environment(**{name: text for name, text in changes.items() if text is not None})
    if options.demo:
        if not config.is_loopback(config.bind_address(environ)[0]):
            raise start.StartRefused("--demo serves this machine only: its passwords are printed")
        environ["DATABASE_URL"] = config.file_url(config.DEMONSTRATION)
    return environ


def _serve(environ: dict[str, str], *, is_demo: bool) -> None:
    config.refuse_debugging(environ)
    config.refuse_arguments(environ)
    config.log_level(environ)  # gunicorn would report a wrong one after all other output
    host, port = config.bind_address(environ)
    is_socket = host.startswith("unix:")
    start.refuse_taken_addresses([host.removeprefix("unix:") if is_socket else (host, port)])
    settings = config.prepare(None, environ)
    _warn_without_keys(settings)
    url = ("https://…" if is_socket else f"http://{address_text((host, port))}") + settings["URL_PREFIX"]
    path = config.database_path(settings["DATABASE_URL"])
    if is_served(path):  # before the address is printed
        raise start.StartRefused(str(AlreadyServed(path)))
    is_first = path is not None and not os.path.lexists(path)
    if path is not None:
        start.load("app")  # before the time of the check begins
        start.require_usable(None, partial(start.create_database, settings))
    lines = [f"listening    {host}"] if is_socket else []
    lines += _addresses(url, settings, path)
    if is_demo:
        lines += [demo.introduce(environ, url, settings["ANON_KEY"] or "")]
    else:
        lines += _how_to_sign_in(url, settings["ANON_KEY"] or "", is_first=is_first)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a locale without Unicode
    with suppress(OSError):  # output to a full disk
        print("\n".join(lines), flush=True)
    _become_gunicorn(environ)


def _become_gunicorn(environ: dict[str, str]) -> NoReturn:
    """Replace this process with the server."""
    gunicorn = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py"]
    os.chdir(config.PROJECT)
    os.execve(sys.executable, gunicorn, {**ALLOCATOR, **environ})  # noqa: S606


def _warn_without_keys(settings: config.Settings) -> None:
    if settings["REQUIRE_APIKEY"] and not (settings["ANON_KEY"] or settings["SERVICE_KEY"]):
        print(
            "walkthrough: warning: all requests are refused: REQUIRE_APIKEY is on, and neither ANON_KEY nor SERVICE_KEY"
            " is set; with SECRET_KEY in the environment keys.json is not read",
            file=sys.stderr,
        )


def _addresses(url: str, settings: config.Settings, path: Path | None) -> list[str]:
    lines = [
        f"Walkthrough  {url}",
        f"console      {url}/console/",
        f"apikey       {settings['ANON_KEY'] or 'none set'}",
    ]
    return lines if path is None else [*lines, f"database     {path}"]


def _how_to_sign_in(url: str, apikey: str, *, is_first: bool) -> list[str]:
    if is_first:
        return [
            "\nThis database is new. In another terminal, create its first super admin:\n",
            f"  cd {shlex.quote(str(config.PROJECT))}",
            f"  {config.CREATE_SUPER_ADMIN}",
            f"\nThen sign in at {url}/console/",
            "The dashboard leads through the first client, building, user and inspection.\n",
        ]
    return [
        f"\nSign in at {url}/console/ or by a request:\n",
        demo.sign_in_line(url, apikey, "you@example.org", "…"),
        "\nCreate a user who may do everything:\n",
        f"  {config.CREATE_SUPER_ADMIN}",
        "",
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
