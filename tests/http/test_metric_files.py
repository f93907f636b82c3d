"""Metric files of the workers: the service also runs without them."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.durability.served import Served, serving
from tests.http.service import CHEAP_READ, RUNNING_SERVICE, ask, log_lines, served_over
from tests.support import tokens
from tests.support.waiting import until

pytestmark = [RUNNING_SERVICE, pytest.mark.one_engine]

COUNTED_READ = 'walkthrough_requests_total{method="GET",route="/buildings",status="200"}'


def metrics_text(service: Served) -> str:
    answer = ask(service, "nobody", "GET", "/metrics", apikey=tokens.SERVICE_KEY)
    assert answer.status == 200
    return answer.body.decode()


def has_opened_all_files(file: Path) -> bool:
    """Return whether a worker has opened its last metric file: the first 4 bytes are the used length."""
    return int.from_bytes(file.read_bytes()[:4], sys.byteorder) > 8


def test_worker_without_the_metrics_directory_serves(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.watched["TMPDIR"] = str(tmp_path)
    with serving(own):
        (directory,) = tmp_path.glob("walkthrough-metrics-*")
        until(lambda: [has_opened_all_files(file) for file in directory.glob("counter_*.db")] == [True, True])
        shutil.rmtree(directory)
        old = own.workers()
        os.kill(old[0], signal.SIGKILL)
        until(lambda: len(own.workers()) == 2 and old[0] not in own.workers())
        os.kill(old[1], signal.SIGKILL)
        until(lambda: len(own.workers()) == 2 and not {*old} & {*own.workers()})
        own.await_answer()

        assert ask(own, "ada", "GET", CHEAP_READ).status == 200
        assert "walkthrough_build_info" in metrics_text(own)

        def reasons() -> list[str]:
            return [line.get("reason", "") for line in log_lines(own)
                    if line.get("event") == "counted_in_memory"]  # fmt: skip

        until(lambda: reasons() == ["there is no directory"] * 2)


@pytest.mark.skipif(
    not os.access("/dev/shm", os.W_OK),  # noqa: S108
    reason="gunicorn needs a directory for its own files",
)
def test_service_without_temporary_files_serves_and_counts(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.settings = "tests/http/no_temporary_directory.py"
    with serving(own):
        assert ask(own, "ada", "GET", CHEAP_READ).status == 200
        until(lambda: COUNTED_READ in metrics_text(own))  # each worker counts its own requests

    assert [line["message"] for line in log_lines(own) if line["level"] == "warning"] == [
        "no directory for temporary files: each worker counts for itself"
    ]
    assert not own.database.with_name(f"{own.database.name}.serving").exists()
