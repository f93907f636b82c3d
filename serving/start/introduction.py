"""The text that `bin/serve` prints when the server is ready: the addresses, and how to sign in."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Mapping

import config
from serving.start.checks import address_text
from settings import Settings, database_path


def compose(settings: Settings, environ: Mapping[str, str], *, is_first: bool) -> str:
    """Return the text for a database, which may be new."""
    url, apikey = public_url(settings, environ), settings["ANON_KEY"] or ""
    command = config.create_super_admin(settings["DATABASE_URL"], environ)
    return "\n".join([*addresses(settings, environ), *_how_to_sign_in(url, apikey, command, is_first=is_first)])


def public_url(settings: Settings, environ: Mapping[str, str]) -> str:
    """Return the URL of the service. Behind a socket is a proxy, whose name is unknown."""
    process = config.process_settings(environ)
    host, port = process["HOST"], process["PORT"]
    server = "https://…" if host.startswith("unix:") else f"http://{address_text((host, port))}"
    return server + settings["URL_PREFIX"]


def addresses(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    host, url = config.process_settings(environ)["HOST"], public_url(settings, environ)
    path = database_path(settings["DATABASE_URL"])
    return [
        *([f"listening    {host}"] if host.startswith("unix:") else []),
        f"Walkthrough  {url}",
        f"console      {url}/console/",
        f"apikey       {settings['ANON_KEY'] or 'none set'}",
        *([] if path is None else [f"database     {path}"]),
        f"time zone    {settings['TIMEZONE']}",
    ]


def _how_to_sign_in(url: str, apikey: str, command: str, *, is_first: bool) -> list[str]:
    if is_first:
        return [
            "\nThis database is new. In another terminal, create its first super admin:\n",
            f"  cd {shlex.quote(str(config.PROJECT))}",
            f"  {command}",
            f"\nThen sign in at {url}/console/",
            "The dashboard leads through the first client, building, user and inspection.\n",
        ]
    return [
        f"\nSign in at {url}/console/ or by a request:\n",
        sign_in_line(url, apikey, "you@example.org", "…"),
        "\nCreate a user who may do everything:\n",
        f"  {command}",
        "",
    ]


def sign_in_line(url: str, apikey: str, email: str, password: str) -> str:
    body = shlex.quote(json.dumps({"email": email, "password": password}, ensure_ascii=False))
    return (
        f"  curl -s '{url}/auth/v1/token?grant_type=password' \\\n    -H 'apikey: {apikey}' \\\n"
        f"    -H 'Content-Type: application/json' -d {body}"
    )


def write(text: str) -> None:
    """Print a text. What the locale cannot encode is escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    print(text, flush=True)
