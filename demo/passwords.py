"""Who gets in, and with what? Drawn anew for every portfolio, never from its seed."""

from __future__ import annotations

import secrets

from demo.portfolio import Portfolio


def with_passwords(portfolio: Portfolio) -> tuple[Portfolio, dict[str, str]]:
    """Give every user a password of their own, and say whose is which."""
    passwords = {str(user["email"]): secrets.token_urlsafe(12) for user in portfolio["users"]}
    users = [{**user, "password": passwords[str(user["email"])]} for user in portfolio["users"]]
    return {**portfolio, "users": users}, passwords
