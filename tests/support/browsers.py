"""A pytest plugin: the browser that tests drive. A process can start Playwright only once."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BINARY = next(filter(None, map(shutil.which, BROWSERS)), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """Provide Playwright, which starts browsers."""
    if BINARY is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="requirements/clients.txt is not installed")
    with playwright.sync_playwright() as found:
        yield found
