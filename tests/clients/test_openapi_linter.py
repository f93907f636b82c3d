"""Redocly's recommended rules over both versions of the API's description."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients import node

LINT_SECONDS_MAX = 120
SKIPPED_RULE = "info-license"
"""The service has no license to name."""


@pytest.fixture(scope="module")
def linter() -> Path:
    return node.installed() / "@redocly" / "cli" / "bin" / "cli.js"


def problems(linter: Path, document: Path) -> Iterator[str]:
    ran = subprocess.run(
        [str(node.NODE), str(linter), "lint", "--extends=recommended", f"--skip-rule={SKIPPED_RULE}", "--format=json",
         document.name],
        cwd=document.parent,
        env={"PATH": "/usr/bin:/bin", "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LINT_SECONDS_MAX,
        check=False,
    )  # fmt: skip
    for problem in json.loads(ran.stdout)["problems"]:
        yield f"{problem['ruleId']}: {problem['message']} {problem['location'][0].get('pointer')}"


@pytest.mark.parametrize("media", ["application/json", "application/openapi+json"])
def test_description_follows_the_recommended_rules(api: Callable, linter: Path, tmp_path: Path, media: str) -> None:
    document = tmp_path / "document.json"
    document.write_text(api("root").get("/", accept=media).text)

    assert list(problems(linter, document)) == []


def test_missing_summary_is_reported(linter: Path, tmp_path: Path) -> None:
    """Control: the linter reports a fault."""
    document = tmp_path / "document.json"
    paths = {"/": {"get": {"responses": {"200": {"description": "OK"}}}}}
    document.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": paths}))

    assert any(problem.startswith("operation-summary: ") for problem in problems(linter, document))
