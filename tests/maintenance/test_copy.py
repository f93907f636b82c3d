"""`flask copy` moves a deployment to another database and back."""

import pathlib
from contextlib import closing

import pytest

from engine.interface import database as transaction
from engine.maintenance import import_export
from engine.open import database
from engine.storage.sqlite import driver
from tests.conftest import MOE, ROOT
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import ORIGIN, Service, open_service

CLOSINGS = "SELECT inspection_id, closed_at, closed_by FROM visit_closings"


def invoke(app: object, *words: str) -> object:
    return app.test_cli_runner().invoke(args=list(words))


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


def test_round_trip_exports_the_same_bytes(service: Service, tmp_path: pathlib.Path) -> None:
    there, back = tmp_path / "there.db", tmp_path / "back.db"
    before = invoke(service.app, "export").output

    assert invoke(service.app, "copy", "--to", databases.url(there)).exit_code == 0
    copied = open_app(there)
    assert invoke(copied, "copy", "--to", f"sqlite:///{back}").exit_code == 0

    assert invoke(copied, "export").output == before
    with closing(driver.connect(back)) as connection:
        assert connection.execute("SELECT count(*) FROM credentials").fetchone()[0] >= 5


def test_negative_zero_is_copied_and_exported_as_zero(service: Service, tmp_path: pathlib.Path) -> None:
    """PostgreSQL keeps the sign of zero; SQLite does not."""
    root, back = service.api("root"), tmp_path / "back.db"
    assert root.patch("/buildings?id=eq.1", {"latitude": -0.0}).status == 204
    before = invoke(service.app, "export").output

    copied = invoke(service.app, "copy", "--to", f"sqlite:///{back}")

    assert copied.exit_code == 0, copied.output
    assert '"latitude": 0.0' in before
    with closing(driver.connect(back)) as connection:
        found = connection.execute("SELECT latitude FROM buildings WHERE id = 1").fetchone()
    assert found == (0.0,)


def test_a_copy_keeps_sessions_passwords_and_sequences(service: Service, tmp_path: pathlib.Path) -> None:
    session = service.sign_in("moe")
    root = service.api("root")
    assert root.patch("/inspections?id=eq.3", {"status": "failed"}).status == 204
    last = root.post("/clients", {"name": "Gone"}, prefer="return=representation").json[0]["id"]
    assert root.delete(f"/clients?id=eq.{last}").status == 204
    there = tmp_path / "there.db"

    answer = invoke(service.app, "copy", "--to", databases.url(there))
    assert answer.exit_code == 0, answer.output

    copied = Service(open_app(there), there)
    assert copied.refresh(session["refresh_token"]).status == 200
    assert copied.sign_in("ada", ORIGIN)["user"]["id"]
    made = copied.api("root").post("/clients", {"name": "New"}, prefer="return=representation")
    assert made.json[0]["id"] == last + 1
    assert copied.sql("SELECT DISTINCT user_id FROM sessions WHERE user_id = ?", MOE) == [(MOE,)]
    assert copied.api("root").get("/audit_log?action=eq.sign_in&limit=1").json
    assert copied.sql(CLOSINGS) == service.sql(CLOSINGS)
    assert str(copied.sql(CLOSINGS)[0][2]) == ROOT


def test_a_target_with_rows_is_refused(service: Service, tmp_path: pathlib.Path) -> None:
    there = tmp_path / "there.db"
    assert invoke(service.app, "copy", "--to", databases.url(there)).exit_code == 0

    again = invoke(service.app, "copy", "--to", databases.url(there))

    assert again.exit_code == 1
    assert "not empty" in again.output
    assert invoke(service.app, "copy", "--to", "nonsense").exit_code == 1


@pytest.mark.server("a file has no sessions")
def test_idle_timeout_does_not_end_a_copy(
    service: Service, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison of a large table takes longer than `idle_in_transaction_session_timeout`."""
    bounds: list[str] = []
    advance_sequences = import_export.advance_sequences

    def look_and_go_on(*sides: object) -> None:
        asked = "SELECT current_setting('idle_in_transaction_session_timeout')"
        bounds.extend(side.value(asked) for side in sides)
        advance_sequences(*sides)

    monkeypatch.setattr(import_export, "advance_sequences", look_and_go_on)

    copied = invoke(service.app, "copy", "--to", databases.url(tmp_path / "there.db"))

    assert copied.exit_code == 0, copied.output
    assert bounds == ["0", "0"]


def test_batches_of_long_texts_have_few_rows(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy and export hold a few copies of one batch in memory."""
    monkeypatch.setattr(transaction, "PAGE_CHARACTERS_MAX", 20)
    names = "SELECT name FROM buildings ORDER BY id"

    with service.app.app_context(), database().reading() as reading:
        pages = list(reading.pages(names, 4))

    assert [row for page in pages for row in page] == service.sql(names)
    assert [len(page) for page in pages] == [2, 2, 2]
