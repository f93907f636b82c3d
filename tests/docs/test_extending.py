"""docs/EXTENDING.md: its edits and commands, applied to a copy of the project in order, pass the tests that it names.

A `diff` block edits one file: `--- path`, then hunks of lines, separated by `@@`. Without the file, it creates it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from engine.maintenance.check import ensure_schema
from engine.open import open_database
from tests.clients.server import POLL_SECONDS
from tests.docs.examples import PROJECT, Block, blocks_of
from tests.support.extended_models import ROWS
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

TITLES = ("A column", "A table", "A function", "A page of the console")
CHOSEN = {
    "A column": "buildings or schema",
    "A table": "keys or document",
    "A function": "count_buildings or protocol",
    "A page of the console": "keys",
}
"""The tests of the named files that concern the extension, as `-k` takes them. The project itself passes the others."""
WITH_MIGRATION = ("A column", "A table")
STATUS = "A status of findings"
TOUCHES = {"A column": 3, "A table": 6, "A function": 3}
SCHEMAS = {"schema.sql", "postgres/schema.sql"}
GENERATED = {"A column": SCHEMAS, "A table": SCHEMAS | {"docs/ACCESS.md"}}
"""What the command rewrites."""
STEP = re.compile(r"^\d+\. ", re.MULTILINE)
SECONDS_MAX = 900
ATTEMPTS_MAX = 3_000


def section(title: str) -> str:
    text = (PROJECT / "docs" / "EXTENDING.md").read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def edits(title: str) -> list[Block]:
    return [block for block in blocks_of(section(title)) if block.language == "diff"]


def commands(title: str, program: str) -> list[list[str]]:
    """Return the words after a program, of each command that runs it."""
    lines = (line for block in blocks_of(section(title)) if block.language == "sh" for line in block.text.splitlines())
    return [words[1:] for words in map(shlex.split, lines) if words[0] == program]


def edited_path(project: Path, block: Block) -> str:
    """Return the path of a block. A migration, `NNNN_title`, has the next free number, the same for both engines."""
    path = block.text.partition("\n")[0].removeprefix("--- ")
    folder, _, name = path.rpartition("/NNNN_")
    if not folder:
        return path
    title = name.partition(".")[0]
    scripts = [each.name for each in (project / folder).glob("*.sql")]
    others = [int(each[:4]) for each in scripts if each[5:].partition(".")[0] != title]
    own = [int(each[:4]) for each in scripts if each[5:].partition(".")[0] == title]
    return f"{folder}/{next(iter(own), max(others, default=1) + 1):04}_{name}"


def apply_edit(project: Path, block: Block) -> None:
    """Apply a block. Each hunk changes the first place with its lines after the hunk before."""
    path, hunks = project / edited_path(project, block), block.text.partition("\n")[2].split("@@\n")
    done, rest = "", path.read_text(encoding="utf-8") if path.exists() else ""
    for hunk in hunks:
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
        assert old in rest, f"{path} does not contain:\n{old}"
        assert old or not rest, f"{path} exists"
        before, _, rest = rest.partition(old) if old else ("", "", "")
        done += before + new
    path.write_text(done + rest, encoding="utf-8")


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project, env=environ, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip


def contents(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def listed_files() -> list[str]:
    """Return the files of the project that Git does not ignore."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (PROJECT / name).is_file()]


class ExtendedProject:
    """A copy of the project with all edits, and the files that changed with each section."""

    def __init__(self, folder: Path, titles: tuple[str, ...] = TITLES) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=PROJECT, capture_output=True, text=True, check=True
        )
        for name in filter(lambda each: (PROJECT / each).is_file(), listed.stdout.splitlines()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, folder / name)
        self.changed: dict[str, set[str]] = {}
        run(folder, "flask", "--app", "app", "schema")  # creates the keys of the service
        for title in titles:
            before = contents(folder)
            for block in edits(title):
                apply_edit(folder, block)
            for words in commands(title, "flask"):
                ran = run(folder, "flask", *words)
                assert ran.returncode == 0, ran.stderr
            self.changed[title] = {name for name, content in contents(folder).items() if before.get(name) != content}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> ExtendedProject:
    return ExtendedProject(tmp_path_factory.mktemp("extended"))


@pytest.mark.parametrize(
    "title", [each if each in WITH_MIGRATION else pytest.param(each, marks=pytest.mark.one_engine) for each in TITLES]
)
def test_extended_project_passes_the_tests_of_the_section(extended: ExtendedProject, title: str) -> None:
    (words,) = commands(title, "bin/test")

    ran = run(extended.folder, "pytest", "-q", "-p", "no:cacheprovider", "--all", "-k", CHOSEN[title], *words)

    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr


@pytest.mark.one_engine
@pytest.mark.parametrize("title", TOUCHES)
def test_touches_are_the_numbered_steps(extended: ExtendedProject, title: str) -> None:
    assert len(STEP.findall(section(title))) == TOUCHES[title]


@pytest.mark.one_engine
@pytest.mark.parametrize("title", TITLES)
def test_no_other_file_changes(extended: ExtendedProject, title: str) -> None:
    by_hand = {edited_path(extended.folder, block) for block in edits(title)}

    assert extended.changed[title] == by_hand | GENERATED.get(title, set())


def test_a_status_of_findings_is_one_line(tmp_path: Path) -> None:
    """The line is applied to a new database. Its words are in the console, and nothing else of the product changes."""
    project = ExtendedProject(tmp_path / "status", (STATUS,))
    (words,) = commands(STATUS, "bin/test")

    ran = run(project.folder, "pytest", "-q", "-p", "no:cacheprovider", *words, "tests/console/test_spelling.py")

    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr
    assert project.changed[STATUS] == {"models/finding_move.py", *words} | SCHEMAS
    (added, _) = edits(STATUS)
    assert [line[:1] for line in added.text.splitlines()[1:]].count("+") == 1


SECRET_KEY, SERVICE_KEY = "s" * 40, "k" * 40


@pytest.mark.sqlite("starts the service over a file")
def test_service_migrates_a_file_of_the_version_before_and_answers(extended: ExtendedProject, tmp_path: Path) -> None:
    """The file has a building, made by the project without the edits."""
    file, port = tmp_path / "walkthrough.db", free_port()
    with closing(open_database(f"sqlite:///{file}")) as database:
        ensure_schema(database)
        with database.writing() as transaction:
            for statement in ROWS:
                transaction.run(statement.format(now="2025-05-05T09:30:15+00:00"))
    environ = {
        "PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{file}", "PORT": str(port),
        "SECRET_KEY": SECRET_KEY, "SERVICE_KEY": SERVICE_KEY,
    }  # fmt: skip

    server = subprocess.Popen(
        [sys.executable, "-m", "serving"], cwd=extended.folder, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        printed = server.stdout.readline()
        rows = get(f"http://127.0.0.1:{port}/buildings?select=name,heating")
        keys = get(f"http://127.0.0.1:{port}/keys?select=id")
    finally:
        server.terminate()
        server.communicate(timeout=SECONDS_MAX)

    assert str(port) in printed
    assert (rows, keys) == ([{"name": "b", "heating": None}], [])
    checked = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "check"],
        cwd=extended.folder, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


def get(url: str) -> object:
    """Return the rows at a URL, once the service answers."""
    headers = {"apikey": SERVICE_KEY, "Authorization": f"Bearer {SERVICE_KEY}"}
    for _ in range(ATTEMPTS_MAX):
        try:
            return httpx.get(url, headers=headers).json()
        except httpx.ConnectError:
            time.sleep(POLL_SECONDS)
    raise TimeoutError
