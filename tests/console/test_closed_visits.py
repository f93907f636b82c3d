"""What the console offers on the pages of a closed visit, and of a finding that was moved."""

from collections.abc import Callable

import pytest

from tests.console.inspection_rows import LATE, LATE_VISIT, add_findings, add_visits, set_clock
from tests.console.test_photographs import DOOR, links, stored
from tests.support.photographs import photograph

pytestmark = pytest.mark.one_engine

VISIT, FINDING = f"/console/inspections/{LATE_VISIT}", f"/console/findings/{LATE}"
CLOSED = {"status": "failed"}


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)
    add_findings(api)


def offered(page: str, path: str) -> list[str]:
    """Return which of the ways to change a row its page offers."""
    return [each for each in ("edit", "delete", "files") if f'"{path}/{each}"' in page]


def test_inspector_adds_only_proof_of_open_findings(browse: Callable, api: Callable) -> None:
    mia, ada = browse("mia"), browse("ada")
    [of_visit] = stored(mia, VISIT, ("a.jpg", DOOR))
    [of_finding] = stored(mia, FINDING, ("b.jpg", DOOR))
    assert [offered(mia.page(each), each) for each in (VISIT, FINDING, of_visit, of_finding)] == [
        ["files"], ["edit", "delete", "files"], ["edit", "delete"], ["edit", "delete"]
    ]  # fmt: skip

    assert api("service").patch(f"/inspections?id=eq.{LATE_VISIT}", CLOSED).status == 204

    assert [offered(mia.page(each), each) for each in (VISIT, FINDING, of_visit, of_finding)] == [
        [], ["files"], [], []
    ]  # fmt: skip
    assert f"{VISIT}/add/findings" not in mia.page(VISIT)
    stored(mia, FINDING, ("proof.jpg", photograph("proof")))
    assert len(links(mia, FINDING)) == 2
    assert offered(ada.page(VISIT), VISIT) == ["edit", "delete", "files"]
    assert offered(ada.page(of_finding), of_finding) == ["edit", "delete"]


def test_finding_that_was_moved_has_no_delete_button(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    assert offered(ada.page(FINDING), FINDING) == ["edit", "delete", "files"]

    assert (
        api("service").rpc("move_findings", {"p_finding_ids": [LATE], "p_to": "remark", "p_note": "Seen."}).status
        == 200
    )
    assert offered(ada.page(FINDING), FINDING) == ["edit", "delete", "files"]
    assert api("service").rpc("move_findings", {"p_finding_ids": [LATE], "p_to": "fixed"}).status == 200

    assert offered(ada.page(FINDING), FINDING) == ["edit", "files"]
