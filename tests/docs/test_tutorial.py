"""docs/TUTORIAL.md: every shell block runs against a server over an empty database and prints the answer below it."""

import os

import pytest

from tests.clients.server import environment, serving
from tests.docs import examples
from tests.docs.examples import Normalizer, Step
from tests.support import databases

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

TUTORIAL = examples.PROJECT / "docs" / "TUTORIAL.md"
STEPS = examples.steps(examples.blocks(TUTORIAL))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    directory = tmp_path_factory.mktemp("tutorial")
    with serving(directory) as server:
        environ = environment(DATABASE_URL=databases.url(directory / "walkthrough.db"), PATH=os.environ["PATH"])
        commands = [step.command.replace(examples.DEFAULT_URL, server.url) for step in STEPS]
        printed = examples.run_shell(commands, environ)
    databases.release_databases_below(directory)
    return printed


def test_every_step_prints_the_answer_in_the_tutorial(outputs: list[str]) -> None:
    documented, printed = Normalizer(), Normalizer()

    for step, output in zip(STEPS, outputs, strict=True):
        assert answer(printed, step, output) == expected(documented, step), step.command


def test_the_tutorial_ends_in_revocation_and_audit_log() -> None:
    commands = "\n".join(step.command for step in STEPS)

    assert len(STEPS) >= 12
    for part in ("create-user", "/auth/v1/admin/users", "explain_", "-X DELETE", "/audit_log"):
        assert part in commands


def expected(documented: Normalizer, step: Step) -> object:
    if step.answer is None:
        return ""
    return documented.answer(step.answer.language, step.answer.text)


def answer(printed: Normalizer, step: Step, output: str) -> object:
    language = step.answer.language if step.answer is not None else "text"
    return printed.answer(language, output)
