"""Metric files of the workers: the service also runs without them."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.durability.served import Served, serving
from tests.http.service import AS_IT_IS_RUN, HONEST, ask, log_lines, served_over
from tests.support import tokens
from tests.support.waiting import until

pytestmark = AS_IT_IS_RUN

ONE_READ = 'walkthrough_requests_total{method="GET",route="/buildings",status="200"}'


def figures(service: Served) -> str:
    answer = ask(service, "nobody", "GET", "/metrics", apikey=tokens.SERVICE_KEY)
    assert answer.status == 200
    return answer.body.decode()


def counts(file: Path) -> bool:
    """Return whether a worker has opened its last metric file: the first 4 bytes are the used length."""
    return int.from_bytes(file.read_bytes()[:4], sys.byteorder) > 8


def test_a_worker_that_comes_after_the_directory_was_removed_serves(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.watched["TMPDIR"] = str(tmp_path)
    with serving(own):
        (directory,) = tmp_path.glob("walkthrough-metrics-*")
        until(lambda: [counts(file) for file in directory.glob("counter_*.db")] == [True, True])
        shutil.rmtree(directory)
        old = own.workers()
        os.kill(old[0], signal.SIGKILL)
        until(lambda: len(own.workers()) == 2 and old[0] not in own.workers())
        os.kill(old[1], signal.SIGKILL)
        until(lambda: len(own.workers()) == 2 and not {*old} & {*own.workers()})
        own.await_answer()

        assert ask(own, "ada", "GET", HONEST).status == 200
        assert "walkthrough_build_info" in figures(own)

        def told() -> list[str]:
            return [line.get("reason", "") for line in log_lines(own)
                    if line.get("event") == "counted_in_memory"]  # fmt: skip

        until(lambda: told() == ["there is no directory"] * 2)


@pytest.mark.skipif(
    not os.access("/dev/shm", os.W_OK),  # noqa: S108
    reason="gunicorn needs a directory for its own files",
)
def test_where_no_temporary_file_can_be_made_it_serves_and_counts(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.settings = "tests/http/placeless.py"
    with serving(own):
        assert ask(own, "ada", "GET", HONEST).status == 200
        until(lambda: ONE_READ in figures(own))  # each worker counts its own requests

    assert [line["message"] for line in log_lines(own) if line["level"] == "warning"] == [
        "no directory for temporary files: each worker counts for itself"
    ]
    assert not own.database.with_name(f"{own.database.name}.serving").exists()
