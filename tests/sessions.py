"""What the sessions of a server are told."""

from __future__ import annotations

import pytest

from models.sql.direct import DirectSession

WAITED_FOR = ("run", "say")


def listen(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Everything that sessions are told from now on by these ways, in order."""
    words: list[str] = []

    def noting(name: str) -> None:
        original = getattr(DirectSession, name)

        def say(session: DirectSession, sql: str, *parameters: object) -> object:
            words.append(sql)
            return original(session, sql, *parameters)

        monkeypatch.setattr(DirectSession, name, say)

    for name in names:
        noting(name)
    return words
