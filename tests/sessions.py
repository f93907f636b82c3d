"""What the sessions of a server are told."""

from __future__ import annotations

from typing import Any

import pytest

from models.sql.direct import DirectSession

WAITED_FOR = ("run", "steps", "say")


def listen(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Everything that sessions are told from now on by these ways, in order."""
    words: list[str] = []

    def noting(name: str) -> None:
        original = getattr(DirectSession, name)

        def say(session: DirectSession, said: Any, *parameters: object) -> object:
            words.append(said if isinstance(said, str) else "; ".join(sql for sql, _ in said))
            return original(session, said, *parameters)

        monkeypatch.setattr(DirectSession, name, say)

    for name in names:
        noting(name)
    return words
