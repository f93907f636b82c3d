"""Records whether functions run while their thread has the writer lock."""

from typing import Any

import pytest

from engine.interface.database import CURRENT


class LockRecord:
    """The calls of replaced functions, and those among them in a transaction that writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.calls: list[tuple[Any, ...]] = []
        self.under_lock: list[tuple[Any, ...]] = []

    def watch(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            transaction = CURRENT.get()
            self.calls.append((name, *arguments))
            if transaction is not None and transaction.writes:
                self.under_lock.append((name, *arguments))
            return original(*arguments, **named)

        self.monkeypatch.setattr(owner, name, watched)
