"""Which writes are so little work that others may wait for them: those may share a COMMIT."""

from __future__ import annotations

from typing import Any

import pytest

from routes import resource
from tests.conftest import MOE
from tests.tokens import ANON_KEY

ONE = {"name": "New"}
GRANTS = "/client_manager_building_access"
MERGE = {"Prefer": "resolution=merge-duplicates"}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "is_brief"),
    [
        ("POST", "/inspectors", ONE, {}, True),
        ("POST", "/inspectors", [ONE] * 10, {}, True),
        ("POST", "/inspectors", [ONE] * 11, {}, False),
        ("POST", "/inspectors", [{"name": "x" * 9_000}] * 9, {}, False),
        ("POST", "/inspectors", {"id": 1, **ONE}, {"Prefer": "resolution=ignore-duplicates"}, True),
        ("POST", "/inspectors", {"id": 1, **ONE}, MERGE, False),
        ("POST", "/inspectors?select=name,inspections(id)", ONE, {}, False),
        ("PUT", "/inspectors?id=eq.1", {"id": 1, **ONE}, {}, False),
        ("PATCH", "/inspectors?id=eq.1", ONE, {}, True),
        ("PATCH", "/inspectors?id=eq.1&name=eq.Nobody", ONE, {}, True),
        ("PATCH", "/inspectors?id=eq.1&name=match.x", ONE, {}, False),
        ("PATCH", "/inspectors?id=in.(1)", ONE, {}, False),
        ("PATCH", "/inspectors?name=eq.Nobody", ONE, {}, False),
        ("PATCH", "/inspectors?id=eq.1", {"id": 1}, {}, False),
        ("PATCH", "/buildings?id=eq.1", {"client_id": 2}, {}, False),
        ("PATCH", f"/users?id=eq.{MOE}", {"name": "Moe"}, {}, True),
        ("PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}, {}, False),
        ("DELETE", "/inspections?id=eq.900", None, {}, False),
    ],
)
def test_what_is_little_work_is_brief(
    pristine: Any,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: object,
    headers: dict[str, str],
    is_brief: bool,
) -> None:
    asked: list[bool] = []
    writing = resource.writing

    def noting(seconds_max: float, *, is_brief: bool, guessed: bool) -> object:
        asked.append(is_brief)
        assert not guessed  # since nothing is to be kept
        return writing(seconds_max, is_brief=is_brief)

    monkeypatch.setattr(resource, "writing", noting)
    sent = {"apikey": ANON_KEY, "Authorization": f"Bearer {pristine.config['SERVICE_KEY']}"}
    sent["Prefer"] = ", ".join(filter(None, ["tx=rollback", headers.get("Prefer")]))
    answer = pristine.test_client().open(path, method=method, json=body, headers=sent)

    assert answer.status_code < 400, answer.json
    assert asked == [is_brief]


class Stopped(Exception):
    """It was told how it is to be written."""


@pytest.mark.parametrize(
    ("method", "path", "body", "prefer", "guessed"),
    [
        ("POST", "/inspectors", ONE, "", True),
        ("POST", "/inspectors", [ONE], "return=headers-only", True),
        ("POST", "/inspectors", ONE, "return=representation", True),
        ("POST", "/inspectors", {"id": 9, **ONE}, "return=representation", True),
        ("POST", GRANTS, {"building_id": 2, "manager_id": MOE}, "", True),
        (
            "POST",
            GRANTS,
            {"building_id": 2, "manager_id": MOE},
            "return=representation",
            True,
        ),
        ("POST", "/inspectors", [ONE] * 2, "", False),
        ("POST", "/inspectors", ONE, "tx=rollback", False),
        ("POST", "/inspectors", ONE, "handling=strict, max-affected=1", True),
        ("POST", "/inspectors", ONE, "handling=strict, max-affected=0", False),
        ("POST", "/inspectors?select=inspections(id)", ONE, "return=representation", False),
        ("POST", "/inspectors", {"id": 1, **ONE}, "resolution=ignore-duplicates", False),
        ("POST", "/inspectors", {"id": 1, **ONE}, "resolution=merge-duplicates", False),
        ("PUT", "/inspectors?id=eq.1", {"id": 1, **ONE}, "", False),
        ("PATCH", "/inspectors?id=eq.1", ONE, "", True),
        ("PATCH", "/inspectors?id=eq.1", ONE, "return=representation", True),
        ("PATCH", "/inspectors?id=in.(1,2)", ONE, "", False),
        ("PATCH", f"/users?id=eq.{MOE}", {"name": "Moe"}, "", True),
        ("PATCH", f"/users?id=eq.{MOE}", {"email": "moe@acme.example"}, "", False),
        ("DELETE", "/inspections?id=eq.900", None, "", False),
    ],
)
def test_whose_caller_is_guessed(
    pristine: Any,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: object,
    prefer: str,
    guessed: bool,
) -> None:
    """A write of one row that nothing can stop once it is written."""
    asked: list[bool] = []

    def stop(seconds_max: float, *, is_brief: bool, guessed: bool) -> object:
        asked.append(guessed)
        raise Stopped

    monkeypatch.setattr(resource, "writing", stop)
    sent = {"apikey": ANON_KEY, "Authorization": f"Bearer {pristine.config['SERVICE_KEY']}"}
    pristine.test_client().open(path, method=method, json=body, headers={**sent, "Prefer": prefer})

    assert asked == [guessed]
