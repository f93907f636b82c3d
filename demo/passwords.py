"""Passwords of the demo users. They are random and do not depend on the seed."""

from __future__ import annotations

import secrets

from demo.portfolio import Portfolio


def with_passwords(portfolio: Portfolio) -> tuple[Portfolio, dict[str, str]]:
    """Return the portfolio with a random password for each user, and the passwords by e-mail address."""
    passwords = {str(user["email"]): secrets.token_urlsafe(12) for user in portfolio["users"]}
    users = [{**user, "password": passwords[str(user["email"])]} for user in portfolio["users"]]
    return {**portfolio, "users": users}, passwords
