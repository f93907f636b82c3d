"""The OpenAPI document is kept, by what `documented` draws from it."""

import importlib
from types import ModuleType

import pytest

from tests.safety.examples import share
from tests.safety.sites import Site

COMMIT_EXAMPLES = share(3)
LONG_EXAMPLES = 500
WHO = ("root", "ada", "moe", None)


@pytest.fixture(scope="module")
def documented() -> ModuleType:
    return importlib.import_module("tests.safety.documented")


@pytest.mark.parametrize("who", WHO)
def test_the_document_keeps_its_word(documented: ModuleType, site: Site, who: str | None) -> None:
    assert documented.try_out(site, who, COMMIT_EXAMPLES) > 100


@pytest.mark.long
@pytest.mark.parametrize("who", WHO)
def test_the_document_keeps_its_word_at_length(documented: ModuleType, site: Site, who: str | None) -> None:
    assert documented.try_out(site, who, LONG_EXAMPLES) > 100


@pytest.mark.control
def test_a_view_that_breaks_is_found(documented: ModuleType, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: one route that fails."""

    def broken(**named: object) -> object:
        raise ValueError("planted")

    monkeypatch.setitem(site.app.view_functions, "buildings.read", broken)

    with pytest.raises(documented.COMPLAINTS):
        documented.try_out(site, "root", COMMIT_EXAMPLES)
