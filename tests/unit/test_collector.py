"""The garbage collector of the test processes."""

import gc
import importlib

import pytest

pytestmark = pytest.mark.no_database


def test_import_of_the_start_leaves_the_collector_enabled() -> None:
    """Each application of a test refers to itself: without the collector, none is ever freed."""
    importlib.reload(importlib.import_module("serving.__main__"))

    assert gc.isenabled()
