"""README.md: its examples run, with the values that `bin/serve --demo` prints, and give the answer it shows."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.start import demo
from tests.clients import node
from tests.clients.server import environment, serving
from tests.docs import examples
from tests.support import databases, tokens

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

README = examples.PROJECT / "README.md"
SECONDS_MAX = 60


def example(language: str) -> str:
    [text] = [block.text for block in examples.blocks(README) if block.language == language]
    return text


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Serve the demonstration; yield the variables of the `export` line that it prints."""
    directory = tmp_path_factory.mktemp("demo")
    with serving(directory) as server:
        environ = environment(DATABASE_URL=databases.url(directory / "walkthrough.db"))
        printed = demo.introduce(environ, server.url, tokens.ANON_KEY)
        [line] = [line for line in printed.splitlines() if line.startswith("  export ")]
        words = shlex.split(line)[1:]
        yield {"PATH": os.environ["PATH"], **dict(word.split("=", 1) for word in words)}
    databases.release_databases_below(directory)


@pytest.fixture
def answer() -> object:
    return json.loads(example("json"))


def run(command: list[str], directory: Path, environ: dict[str, str]) -> object:
    """Run an example and return the JSON that it prints."""
    ran = subprocess.run(
        command,
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    return json.loads(ran.stdout)


def test_the_curl_example_prints_the_answer(exported: dict[str, str], answer: object, tmp_path: Path) -> None:
    assert run(["bash", "-uc", example("sh")], tmp_path, exported) == answer


def test_the_supabase_js_example_prints_the_answer(exported: dict[str, str], answer: object, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(node.installed())
    (tmp_path / "example.mjs").write_text(example("js"), encoding="utf-8")

    assert run([str(node.NODE), "example.mjs"], tmp_path, exported) == answer


def test_the_supabase_py_example_prints_the_answer(exported: dict[str, str], answer: object, tmp_path: Path) -> None:
    pytest.importorskip("supabase", reason="the client libraries are not installed")

    assert run([sys.executable, "-c", example("python")], tmp_path, exported) == answer


def test_the_readme_fits_one_screen_and_links_to_every_document() -> None:
    text = README.read_text(encoding="utf-8")
    documents = sorted((examples.PROJECT / "docs").glob("*.md"))

    assert [file.name for file in documents if f"(docs/{file.name})" not in text] == []
