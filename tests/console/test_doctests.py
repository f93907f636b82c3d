"""The examples in the console's own words are true."""

import doctest
from types import ModuleType

import pytest

from routes.console import charts
from routes.console import downloads
from routes.console import fields
from routes.console import listing
from routes.console import signing


@pytest.mark.parametrize(
    "module", [charts, downloads, fields, listing, signing], ids=lambda m: m.__name__
)
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
