"""The text that `bin/serve --demo` prints: the fictional users, how to sign in, and example requests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import config
from demo.photographs import photographs
from demo.portfolio import SEED, Portfolio, compose, with_passwords
from inspections.files.store import FileStore, measure
from serving.start.checks import CommandFailed, flask, run_module
from serving.start.introduction import addresses, public_url, sign_in_line
from settings import Settings

REQUESTS = (
    "/inspections?select=id,date_visited,notes,buildings(name)&status=eq.failed&limit=3",
    "/buildings?select=name,address,inspections(count)&order=name&limit=3",
    "/rpc/get_inspections_dashboard_summary_fast",
)


def introduce_all(settings: Settings, environ: Mapping[str, str]) -> str:
    """Return the addresses and the text for a visitor; import the portfolio unless it is there."""
    text = introduce(environ, public_url(settings, environ), settings["ANON_KEY"] or "")
    return "\n".join([*addresses(settings, environ), text])


def introduce(environ: Mapping[str, str], url: str, apikey: str) -> str:
    """Import the portfolio unless it is there; return the text for a visitor."""
    portfolio = compose(datetime.now(ZoneInfo(config.time_zone(environ))).date(), SEED)
    examples = _one_user_per_role(portfolio)
    passwords: dict[str, str] = {}
    try:
        tokens = _tokens(environ, examples)
    except CommandFailed:
        portfolio, passwords = with_passwords(portfolio)
        _load(environ, portfolio)
        tokens = _tokens(environ, examples)
    return "\n".join(
        [
            "",
            *_users(portfolio, passwords),
            "",
            *_requests(url, apikey, tokens),
            *_values(url, apikey, tokens, *_credentials(examples, passwords)),
            "Or sign in:",
            "",
            sign_in_line(url, apikey, *_credentials(examples, passwords)),
            "",
        ]
    )


def renew_passwords(environ: Mapping[str, str]) -> str:
    """Give the fictional users new passwords; return the users with them. The service may be running."""
    portfolio = compose(datetime.now(UTC).date(), SEED)
    printed = flask(environ, "new-passwords", *(str(user["email"]) for user in portfolio["users"]))
    return "\n".join(_users(portfolio, dict(line.split() for line in printed.splitlines())))


def _load(environ: Mapping[str, str], portfolio: Portfolio) -> None:
    """Import the portfolio through a pipe: its plain passwords must not reach a disk. Its photographs are drawn."""
    drawn = photographs(portfolio["findings"], portfolio["buildings"])
    store = FileStore(config.load(environ=environ)["FILES_DIR"])
    for each in drawn:
        temporary = store.new_temporary()
        temporary.write_bytes(each.content)
        store.keep(temporary, measure(temporary))
        temporary.unlink(missing_ok=True)
    try:
        flask(environ, "import", "/dev/stdin", stdin=json.dumps({**portfolio, "files": [each.row for each in drawn]}))
        run_module(environ, "issue of reports", "demo.evidence", str(portfolio["users"][0]["email"]))
    except CommandFailed as error:
        remedy = "remove instance/demo.db* to create the demonstration anew"
        raise CommandFailed(f"{error}; {remedy}") from error


def _one_user_per_role(portfolio: Portfolio) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for user in portfolio["users"]:
        chosen.setdefault(str(user["role"]), str(user["email"]))
    return chosen


def _tokens(environ: Mapping[str, str], examples: Mapping[str, str]) -> dict[str, str]:
    """Return a token for each user, signed by concurrent commands: one takes most of a second."""
    with ThreadPoolExecutor(len(examples)) as pool:
        printed = pool.map(lambda email: flask(environ, "token", email), examples.values())
        return dict(zip(examples.values(), (text.strip() for text in printed), strict=True))


def _users(portfolio: Portfolio, passwords: Mapping[str, str]) -> list[str]:
    clients = {row["id"]: row["name"] for row in portfolio["clients"]}
    inspectors = {row["user_id"] for row in portfolio["inspectors"]}
    lines = [
        f"  {user['role']:<15} {user['email']:<31} "
        f"{passwords.get(str(user['email']), ''):<17} {clients.get(user['client_id'], '')}"
        f"{', an inspector' if user['id'] in inspectors else ''}".rstrip()
        for user in portfolio["users"]
    ]
    if passwords:
        return ["The demo's users and passwords (shown once; only hashes are stored):", "", *lines]
    again = "(their passwords were shown at the first start; `bin/serve --demo --passwords` sets and prints new ones)"
    return ["The demo's users:", "", *lines, "", again]


def _requests(url: str, apikey: str, tokens: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for (email, token), request in zip(tokens.items(), REQUESTS, strict=True):
        lines += [f"Request as {email}:", ""]
        lines += [f"  curl -s '{url}{request}' \\"]
        lines += [f"    -H 'apikey: {apikey}' \\", f"    -H 'Authorization: Bearer {token}'", ""]
    return lines


def _values(url: str, apikey: str, tokens: Mapping[str, str], email: str, password: str) -> list[str]:
    """Return the shell line that sets the variables of README.md's examples."""
    values = {"URL": url, "APIKEY": apikey, "TOKEN": tokens[email], "PASSWORD": password}
    line = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
    return [f"Values for the examples in README.md, as {email}:", "", f"  export {line}", ""]


def _credentials(examples: Mapping[str, str], passwords: Mapping[str, str]) -> tuple[str, str]:
    email = examples["client_manager"]
    return email, passwords.get(email, "…")
