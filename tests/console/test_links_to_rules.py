"""The rules of deadlines and the lead standards: who may read them reaches them from a list, and others do not."""

import re
from collections.abc import Callable

import pytest

from routes.console.components.tables import table_of

pytestmark = pytest.mark.one_engine

LINKED = {
    "deadline_rules": ("/console/findings", "Deadline rules"),
    "lead_standards": ("/console/inspectors", "Lead standards"),
}


@pytest.mark.parametrize("table", LINKED)
@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_list_links_to_the_rules(browse_shared: Callable, who: str, table: str) -> None:
    path, label = LINKED[table]
    user = browse_shared(who)

    assert re.search(rf'<a class="button" href="/console/{table}">{label}</a>', user.page(path))
    page = user.page(f"/console/{table}")
    assert f"<h1>{label}</h1>" in page
    assert (f"/console/{table}/new" in page) is (who != "moe")


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_rule_page_shows_its_basis(browse_shared: Callable, who: str) -> None:
    page = browse_shared(who).page("/console/deadline_rules/1")

    assert "HUD" in page
    assert table_of("deadline_rules").plural in page
