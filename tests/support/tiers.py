"""A pytest plugin: which tests a tier of `bin/test` runs, by marks."""

import pathlib

import pytest
from xdist.scheduler import LoadFileScheduling

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

SPLIT_FILES = (
    "tests/safety/test_policy_mutants.py",
    "tests/safety/test_schemathesis.py",
    "tests/console/test_browser_pages.py",
)
"""The files whose tests run in several processes: each test takes a minute or more."""

LONGEST_FILES = (
    *SPLIT_FILES,
    "tests/docs/test_extending.py",
    "tests/console/test_odd_input.py",
    "tests/durability/test_check.py",
    "tests/durability/test_compact.py",
    "tests/access/test_rights.py",
    "tests/engine/test_consistent_reads.py",
    "tests/console/test_paper.py",
    "tests/contract/test_resource_matrix.py",
    "tests/console/test_session.py",
    "tests/durability/test_backup.py",
    "tests/docs/test_readme.py",
    "tests/durability/test_file_identity.py",
)
"""The files that begin first, so that no process waits for them at the end."""


class FilesToProcesses(LoadFileScheduling):
    """Give each process whole files, except SPLIT_FILES."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in SPLIT_FILES else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesToProcesses | None:
    return FilesToProcesses(config, log) if config.getvalue("dist") == "loadfile" else None


def place_of(item: pytest.Item) -> int:
    file = item.nodeid.partition("::")[0]
    return LONGEST_FILES.index(file) if file in LONGEST_FILES else len(LONGEST_FILES)


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
    items[:] = sorted((item for item in items if item not in left_out), key=place_of)
