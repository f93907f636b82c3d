"""The files of /metrics: shared by workers, kept after a worker ends, and replaced by memory on a full disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from routes.http import metric_files as meters
from tests.contract.test_metrics import requests_of

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

PROJECT = Path(__file__).resolve().parents[2]


WORKER = """
import sys
from app import create_app
app = create_app({"DATABASE_URL": sys.argv[1], "SECRET_KEY": "s" * 40, "SERVICE_KEY": "k" * 40})
client = app.test_client()
for _ in range(int(sys.argv[2])):
    client.get("/live")
print(client.get("/metrics", headers={"apikey": "k" * 40}).get_data(as_text=True))
"""


def test_each_worker_reports_all_workers(tmp_path: Path) -> None:
    directory = meters.make_directory()
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(directory)}
    words = [sys.executable, "-c", WORKER, f"sqlite:///{tmp_path / 'a.db'}"]

    def work(count: int) -> str:
        done = subprocess.run(
            [*words, str(count)], cwd=PROJECT, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    try:
        work(3)
        text = work(4)
        live = sorted(file.name for file in directory.glob("gauge_live*"))
        meters.retire_process(directory, int(live[0].removesuffix(".db").rpartition("_")[2]))
        left = len(list(directory.glob("gauge_live*")))
    finally:
        meters.remove_directory(directory)

    assert requests_of("GET", "/live", 200) + " 7.0" in text
    assert (len(live), left) == (2, 1)
    assert not directory.exists()


def run_in_process(script: str, directory: Path, *words: str) -> tuple[str, str]:
    """Return the output of a process that counts in files of a directory."""
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=PROJECT,
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = tmp_path / "figures"
    found.mkdir(mode=0o700)
    return found


EVERY_SERIES = """
import os, sys
from pathlib import Path
from app import create_app
from routes.http import metric_files as meters
app = create_app({"DATABASE_URL": sys.argv[1], "SECRET_KEY": "s" * 40, "SERVICE_KEY": "k" * 40})
found = app.extensions["walkthrough.meters"]
pairs = {(rule.rule, method) for rule in app.url_map.iter_rules() for method in rule.methods}
pairs |= {("unmatched", method) for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER")}
for rule, method in pairs:
    for status in (200, 201, 204, 206, 400, 401, 403, 404, 409, 429, 500, 503):
        found.series(method, rule, status)
for kind, size_bytes in meters.FILES.items():
    path = Path(sys.argv[2]) / f"{kind}_{os.getpid()}.db"
    used_bytes = int.from_bytes(path.read_bytes()[:4], sys.byteorder)
    print(kind, size_bytes, path.stat().st_size, used_bytes)
"""


def test_files_fit_every_possible_series(tmp_path: Path, directory: Path) -> None:
    """Growing files have holes, and a full disk has no blocks for them at the first write."""
    expected, _ = run_in_process(EVERY_SERIES, directory, f"sqlite:///{tmp_path / 'a.db'}", str(directory))

    lines = expected.splitlines()
    assert len(lines) == len(meters.FILES)
    for line in lines:
        kind, size_bytes, *found = line.split()
        assert int(found[0]) == int(size_bytes), kind
        assert int(found[1]) < 0.9 * int(size_bytes), kind


def test_files_are_allocated_before_use(directory: Path) -> None:
    meters.allocate(directory, 7)

    sizes = {file.name: file.stat() for file in directory.iterdir()}
    assert set(sizes) == {"counter_7.db", "histogram_7.db", "gauge_livesum_7.db"}
    assert all(found.st_blocks * 512 >= found.st_size >= 1 << 16 for found in sizes.values())


def test_dead_workers_files_are_truncated_and_keep_counts(tmp_path: Path, directory: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    run_in_process(WORKER, directory, url, "3")
    (counter,) = directory.glob("counter_*.db")
    pid = int(counter.stem.removeprefix("counter_"))

    meters.retire_process(directory, pid)
    expected, _ = run_in_process(WORKER, directory, url, "4")
    cut = counter.stat().st_size
    meters.allocate(directory, pid)  # a worker with the same number

    assert cut < 16_384 < meters.FILES["counter"] == counter.stat().st_size
    assert requests_of("GET", "/live", 200) + " 7.0" in expected
    assert not list(directory.glob(f"gauge_live*_{pid}.draft"))


FULL = """
import os
def full(*words):
    raise OSError(28, "No space left on device")
os.posix_fallocate = full
"""
REMOVED = """
import shutil, sys
from flask import Flask
def removed(app, *words, run=Flask.test_client, **more):
    shutil.rmtree(sys.argv[3])
    return run(app, *words, **more)
Flask.test_client = removed
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="it has no posix_fallocate")
def test_full_disk_makes_worker_count_in_memory_and_log_once(tmp_path: Path, directory: Path) -> None:
    expected, log = run_in_process(FULL + WORKER, directory, f"sqlite:///{tmp_path / 'a.db'}", "3")

    assert requests_of("GET", "/live", 200) + " 3.0" in expected
    assert log.count("counted_in_memory") == 1
    assert "No space left on device" in log
    assert list(directory.iterdir()) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="it has no posix_fallocate")
def test_worker_counting_in_memory_reports_files(tmp_path: Path, directory: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    run_in_process(WORKER, directory, url, "3")

    expected, _ = run_in_process(FULL + WORKER, directory, url, "5")

    assert requests_of("GET", "/live", 200) + " 3.0" in expected


FILL = """
with open(Path(sys.argv[2], "else"), "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4_096))
    except OSError:
        pass
"""
MOUNT = 'mount -t tmpfs -o size=10m tmpfs "$1"'


def run_on_small_disk(directory: Path, *words: str) -> subprocess.CompletedProcess:
    """Run a process whose directory is a disk of 10 MiB."""
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{MOUNT} && shift && exec "$@"', "sh", str(directory), *words],
        cwd=PROJECT, env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(directory)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_disk_filling_up_does_not_end_worker(tmp_path: Path, directory: Path) -> None:
    """A worker was killed by SIGBUS when it counted its first request on a full disk."""
    if run_on_small_disk(directory, "true").returncode:
        pytest.skip("to mount a disk takes rights")
    script = EVERY_SERIES.replace("found = ", f"{FILL}found = ", 1)
    url = f"sqlite:///{tmp_path / 'a.db'}"

    done = run_on_small_disk(directory, sys.executable, "-c", script, url, str(directory))

    assert (done.returncode, done.stderr) == (0, "")


def test_worker_starts_without_directory(tmp_path: Path, directory: Path) -> None:
    directory.rmdir()

    expected, log = run_in_process(WORKER, directory, f"sqlite:///{tmp_path / 'a.db'}", "3")

    assert requests_of("GET", "/live", 200) + " 3.0" in expected
    assert log.count("counted_in_memory") == 1


def test_worker_survives_removed_directory(tmp_path: Path, directory: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"

    expected, log = run_in_process(REMOVED + WORKER, directory, url, "3", str(directory))

    assert requests_of("GET", "/live", 200) + " 3.0" in expected
    assert log == ""


def test_no_temporary_directory_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(**where: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.mkdtemp", nowhere)
    directory = meters.make_directory()

    assert directory is None
    meters.retire_process(directory, 7)
    meters.discard_process(directory, 7)
    meters.remove_directory(directory)


def test_directories_of_killed_servers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked directories, targets of symbolic links and other users' directories stay."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    left, other = (tmp_path / f"{meters.PREFIX}{name}" for name in ("left", "other"))
    aim, link = tmp_path / "aim", tmp_path / f"{meters.PREFIX}link"
    for directory in (left, other, aim):
        directory.mkdir()
        (directory / "counter_7.db").touch()
    link.symlink_to(aim)
    (left / "link.db").symlink_to(aim / "counter_7.db")
    held = meters.make_directory()
    assert not left.exists()
    left.mkdir()
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    other.mkdir()

    with meters.open_directory(tmp_path) as at:
        meters.sweep(at)
    assert other.exists(), "of another user"
    monkeypatch.undo()
    with meters.open_directory(tmp_path) as at:
        meters.sweep(at)

    assert sorted(tmp_path.iterdir()) == sorted([aim, held, link])
    assert (aim / "counter_7.db").exists()
    meters.remove_directory(held)
    assert not held.exists()


def test_directory_is_private() -> None:
    directory = meters.make_directory()

    assert directory.stat().st_mode & 0o777 == 0o700
    meters.remove_directory(directory)
