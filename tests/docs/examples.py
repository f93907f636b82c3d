"""The fenced blocks of a document, how shell blocks run, and how an answer compares with the one that is printed."""

import datetime
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DEFAULT_URL = "http://127.0.0.1:8000"

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00")
ANSWERS = ("json", "text")
SEPARATOR = "\x1e"
SECONDS_MAX = 120


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language and its text."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A shell block, and the answer block that follows it, if there is one."""

    command: str
    answer: Block | None


def blocks(document: Path) -> list[Block]:
    """Return the fenced blocks of a Markdown file, in order."""
    return blocks_of(document.read_text(encoding="utf-8"))


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a text, in order."""
    return [Block(*found) for found in FENCE.findall(text)]


def steps(found: Sequence[Block]) -> list[Step]:
    """Pair each `sh` block with the answer block directly after it."""
    following = [*found[1:], Block("", "")]
    return [
        Step(block.text, after if after.language in ANSWERS else None)
        for block, after in zip(found, following, strict=True)
        if block.language == "sh"
    ]


def run_shell(commands: Sequence[str], environ: dict[str, str]) -> list[str]:
    """Run the commands in one bash, in the project's directory; return what each printed."""
    script = "".join(f"{command}\nprintf '{SEPARATOR}'\n" for command in commands)
    ran = subprocess.run(
        ["bash", "-u", "-c", script],
        cwd=PROJECT,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    outputs = ran.stdout.split(SEPARATOR)[:-1]
    assert len(outputs) == len(commands), f"the shell stopped early: {ran.stdout}{ran.stderr}"
    assert ran.stderr == ""
    return outputs


WRITTEN_ON = "2026-11-28"


class Normalizer:
    """Replaces UUIDs, timestamps and the present day by placeholders. Documents write WRITTEN_ON for the present day.

    Equal UUIDs of one document get the same placeholder, numbered in the order of their appearance.
    """

    def __init__(self) -> None:
        self.uuids: dict[str, str] = {}

    def text(self, text: str) -> str:
        numbered = UUID.sub(self._placeholder, text)
        without_times = TIMESTAMP.sub("<time>", numbered)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        return without_times.replace(WRITTEN_ON, "<today>").replace(today, "<today>")

    def answer(self, language: str, text: str) -> object:
        """Return JSON parsed, so that its layout does not matter; any other text stripped."""
        normal = self.text(text.strip())
        return json.loads(normal) if language == "json" else normal

    def _placeholder(self, found: re.Match[str]) -> str:
        return self.uuids.setdefault(found[0], f"<uuid {len(self.uuids) + 1}>")
