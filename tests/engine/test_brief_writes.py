"""The writes that may share a COMMIT, because they take little time."""

from __future__ import annotations

from typing import Any

import pytest

from routes import resource
from tests.conftest import MOE
from tests.support.tokens import ANON_KEY

ONE = {"name": "New"}
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
def test_write_of_few_rows_by_key_is_brief(
    pristine: Any,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: object,
    headers: dict[str, str],
    is_brief: bool,
) -> None:
    recorded: list[bool] = []
    writing = resource.writing

    def recording(*, is_brief: bool, client_id: int | None) -> object:
        recorded.append(is_brief)
        return writing(is_brief=is_brief, client_id=client_id)

    monkeypatch.setattr(resource, "writing", recording)
    sent = {"apikey": ANON_KEY, "Authorization": f"Bearer {pristine.config['SERVICE_KEY']}"}
    sent["Prefer"] = ", ".join(filter(None, ["tx=rollback", headers.get("Prefer")]))
    response = pristine.test_client().open(path, method=method, json=body, headers=sent)

    assert response.status_code < 400, response.json
    assert recorded == [is_brief]
