"""A pytest plugin: which tests a tier of `bin/test` runs, by marks."""

import pathlib

import pytest

from tests.support import databases

TESTS = pathlib.Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run every test except the long ones")


FOLDER_MARKS = {
    "clients": ("slow", "one_engine"),
    "cluster": ("slow", "no_database"),
    "deploy": ("one_engine",),
    "durability": ("slow", "no_database"),
    "http": ("slow",),
    "maintenance": ("slow",),
    "postgres": ("slow",),
    "safety": ("slow",),
    "serving": ("no_database",),
    "storage": ("no_database",),
    "style": ("no_database",),
    "unit": ("no_database",),
}
"""The marks of all tests in a folder. Tests with the mark `server` have a database."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the tier does not run: see `bin/test --help`. A test named by its id always runs."""
    for item in items:
        for mark in FOLDER_MARKS.get(item.path.relative_to(TESTS).parts[0], ()):
            if mark == "slow" or not item.get_closest_marker("server"):
                item.add_marker(mark)
    if "long" in config.option.markexpr or any("::" in argument for argument in config.args):
        return
    absent = ("server",) if databases.SERVER is None else ("sqlite", "control", "no_database", "one_engine")
    items[:] = [item for item in items if not any(map(item.get_closest_marker, absent))]
    commit_only = not config.option.all and config.args_source is config.ArgsSource.TESTPATHS
    left_out = {
        item for item in items
        if item.get_closest_marker("long") or (commit_only and item.get_closest_marker("slow"))
    }  # fmt: skip
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
