"""What is shown at `bin/serve --demo`: the made-up people, how to be one of them, and what to ask."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from datetime import datetime

from demo.passwords import with_passwords
from demo.portfolio import SEED
from demo.portfolio import Portfolio
from demo.portfolio import compose
from serving.start.commands import CommandFailed
from serving.start.commands import flask

QUESTIONS = (
    "/inspections?select=id,date_visited,notes,buildings(name)&status=eq.failed&limit=3",
    "/buildings?select=name,address,inspections(count)&order=name&limit=3",
    "/rpc/get_inspections_dashboard_summary_fast",
)


def introduce(environ: Mapping[str, str], url: str, apikey: str) -> str:
    """Load the portfolio if it is not there, and tell what a visitor needs."""
    portfolio = compose(datetime.now(UTC).date(), SEED)
    speakers = _one_of_each_role(portfolio)
    passwords: dict[str, str] = {}
    try:
        tokens = _tokens(environ, speakers)
    except CommandFailed:
        portfolio, passwords = with_passwords(portfolio)
        _load(environ, portfolio)
        tokens = _tokens(environ, speakers)
    return "\n".join(
        [
            "",
            *_people(portfolio, passwords),
            "",
            *_questions(url, apikey, tokens),
            *_values(url, apikey, tokens, *_somebody(speakers, passwords)),
            "Or sign in:",
            "",
            sign_in_line(url, apikey, *_somebody(speakers, passwords)),
            "",
        ]
    )


def sign_in_line(url: str, apikey: str, email: str, password: str) -> str:
    body = shlex.quote(json.dumps({"email": email, "password": password}, ensure_ascii=False))
    return (
        f"  curl -s '{url}/auth/v1/token?grant_type=password' \\\n    -H 'apikey: {apikey}' \\\n"
        f"    -H 'Content-Type: application/json' -d {body}"
    )


def _load(environ: Mapping[str, str], portfolio: Portfolio) -> None:
    """Hand the portfolio over through a pipe: its passwords are in clear and touch no disk."""
    try:
        flask(environ, "import", "/dev/stdin", fed=json.dumps(portfolio))
    except CommandFailed as error:
        remedy = "remove instance/demo.db* to have the demo made anew"
        raise CommandFailed(f"{error}; {remedy}") from error


def _one_of_each_role(portfolio: Portfolio) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for user in portfolio["users"]:
        chosen.setdefault(str(user["role"]), str(user["email"]))
    return chosen


def _tokens(environ: Mapping[str, str], speakers: Mapping[str, str]) -> dict[str, str]:
    """Have the service sign a token for each, side by side: a process takes most of a second."""
    with ThreadPoolExecutor(len(speakers)) as pool:
        printed = pool.map(lambda email: flask(environ, "token", email), speakers.values())
        return dict(zip(speakers.values(), (text.strip() for text in printed), strict=True))


def _people(portfolio: Portfolio, passwords: Mapping[str, str]) -> list[str]:
    clients = {row["id"]: row["name"] for row in portfolio["clients"]}
    told = [
        f"  {user['role']:<15} {user['email']:<31} "
        f"{passwords.get(str(user['email']), ''):<17} {clients.get(user['client_id'], '')}".rstrip()
        for user in portfolio["users"]
    ]
    if passwords:
        return [
            "The demo's people and passwords (shown this once, kept as hashes only):",
            "",
            *told,
        ]
    again = "(their passwords were shown at the first start; for new ones remove instance/demo.db*)"
    return ["The demo's people:", "", *told, "", again]


def _questions(url: str, apikey: str, tokens: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for (email, token), question in zip(tokens.items(), QUESTIONS, strict=True):
        lines += [f"Ask as {email}:", ""]
        lines += [f"  curl -s '{url}{question}' \\"]
        lines += [f"    -H 'apikey: {apikey}' \\", f"    -H 'Authorization: Bearer {token}'", ""]
    return lines


def _values(
    url: str, apikey: str, tokens: Mapping[str, str], email: str, password: str
) -> list[str]:
    """Return the shell line that sets the variables of README.md's examples."""
    values = {"URL": url, "APIKEY": apikey, "TOKEN": tokens[email], "PASSWORD": password}
    line = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
    return [f"Values for the examples in README.md, as {email}:", "", f"  export {line}", ""]


def _somebody(speakers: Mapping[str, str], passwords: Mapping[str, str]) -> tuple[str, str]:
    email = speakers["client_manager"]
    return email, passwords.get(email, "…")
